"""How it was done: model, search, measures, options, versions, and the works behind them."""

from parsimon.report.document import Block, Section
from parsimon.report.findings import Findings, KernelSearchFindings, SearchFindings
from parsimon.report.sections._blocks import Sentence, paragraph
from parsimon.report.sections._phrases import NARROW, clean, count, joined, spelled
from parsimon.report.sections._run import again, options, software
from parsimon.report.sections._scope import Scope
from parsimon.report.sections._works import in_full
from parsimon.report.sections.table.claims import pairs_sentence
from parsimon.structures.claims import CERTAIN


def references(findings: Findings) -> tuple[tuple[str, str], ...]:
    """Return the works that this report cites, short and in full, by name."""
    return in_full(cited(findings))


def cited(findings: Findings) -> tuple[str, ...]:
    """Return the short forms of the works that this report cites."""
    studies, short = findings.studies, list[str]()
    if any(isinstance(one.search, KernelSearchFindings) for one in studies):
        short += ["Rasmussen and Williams 2006", "Duvenaud et al. 2013", "He 2016"]
        short.append("Kass and Raftery 1995")
    searches = [one.search for one in studies if one.task == "classification"]
    inference = {_inference(one) for one in searches}
    short += ["Minka 2001"] * any("expectation" in text for text in inference)
    short += ["Williams and Barber 1998"] * any("laplace" in text for text in inference)
    short += ["Hensman et al. 2015"] * is_sparse(findings)
    short += ["Bates et al. 2023"] * any(one.honest is not None for one in studies)
    short += ["Breiman et al. 1984"] * uses_one_standard_error(findings)
    if findings.table.task == "classification":
        short += ["Cox 1958", "DeLong et al. 1988", "Fawcett 2006"]
    return tuple(short)


def is_sparse(findings: Findings) -> bool:
    """Return whether the final models have inducing points."""
    studies = [one for one in findings.studies if isinstance(one.search, KernelSearchFindings)]
    texts = [_inference(one.search) for one in studies]
    sources = [one.checks.source for one in studies]
    said = any("sparse" in text or "variational" in text for text in texts)
    return said or "training rows" in sources


def _inference(search: SearchFindings) -> str:
    return search.inference.lower() if isinstance(search, KernelSearchFindings) else ""


def uses_one_standard_error(findings: Findings) -> bool:
    """Return whether the simplest structure within a standard error was chosen."""
    return Scope(findings=findings).choice == "one_se"


_BASES = {
    "se": "smooth functions (SE)",
    "per": "periodic functions (PER)",
    "lin": "straight lines (LIN)",
    "matern": "rougher functions (Matérn)",
    "rq": "functions with several scales (RQ)",
}
_ENDINGS = {
    "depth": "the greatest number of terms was reached",
    "no_improvement": "no larger structure was better",
    "exhausted": "there was nothing left to try",
    "time_limit": "the time was up",
    "interrupt": "it was interrupted",
}
_SKIPPED = {
    "outer folds": "the outer folds (hence no honest error and nothing about stability)",
    "interactions": "the comparison of interactions with sums",
    "restarts": "further starts of the fits",
}


def methods(scopes: tuple[Scope, ...]) -> Section:
    """Return the section about how everything was measured."""
    findings = scopes[0].findings
    blocks: list[Block] = [
        *_kernels(scopes[0]),
        paragraph(*_measures(scopes[0])),
        *((paragraph(*_classes(scopes[0])),) if len(scopes) > 1 else ()),
    ]
    for scope in scopes:
        blocks.append(paragraph(*_course(scope)))
        blocks += scope.figures(scope.study.search.picture)
    run = findings.run
    blocks.append(paragraph(options(run), _skipped(findings), software(run)))
    blocks += again(run)
    return Section("methods", "Methods", tuple(blocks))


def _kernels(scope: Scope) -> tuple[Block, ...]:
    """Return what Gaussian processes are and how their kernels were searched."""
    search = scope.study.search
    if not isinstance(search, KernelSearchFindings):
        return ()
    return (
        paragraph(*_model(scope, search)),
        paragraph(*_search(scope, search)),
        paragraph(*_claims(scope)),
    )


def _model(scope: Scope, search: KernelSearchFindings) -> tuple[str, ...]:
    inference = clean(search.inference)
    if scope.numeric:
        model = (
            f"A Gaussian process (Rasmussen and Williams 2006) models {scope.target} as an unknown "
            "function of the variables plus noise, and the posterior is exact."
        )
    else:
        work = ""
        if "expectation" in inference.lower():
            work = " (Minka 2001)"
        elif "laplace" in inference.lower():
            work = " (Williams and Barber 1998)"
        model = (
            "A Gaussian process (Rasmussen and Williams 2006) gives each row a latent score, and a "
            f"probit function turns the score into a probability. Its posterior is approximated by "
            f"{inference}{work}."
        )
    sparse = ""
    if is_sparse(scope.findings):
        sparse = (
            "For all rows of the table the final model uses inducing points (Hensman et al. 2015)."
        )
    return (
        model,
        "The kernel says what kind of function is expected: a sum lets each part act by itself, a "
        "product lets variables act together.",
        "Hyperparameters are those of greatest marginal likelihood.",
        sparse,
    )


def _search(scope: Scope, search: KernelSearchFindings) -> tuple[str, ...]:
    bases = joined([_BASES.get(one, clean(one)) for one in search.base])
    return (
        "The structure was found by a search over kernels (Duvenaud et al. 2013; He 2016): it "
        f"starts with {bases} of single variables and joins further ones by sum or product, at "
        f"most {spelled(search.depth)} in all, keeping the best {spelled(search.beam)} of each "
        "size.",
        f"It minimised the {scope.guide}, with "
        f"{count(search.n_folds, 'fold')} that all kernels shared.",
        pairs_sentence(scope),
    )


_RULES = {
    "supported": "The structure that is described holds the variables and interactions that are "
    "more probable than not.",
    "one_se": "The structure that is described is the simplest within one standard error of the "
    "least {guide} (Breiman et al. 1984).",
    "least_error": "The structure that is described is that of the least {guide}.",
}


def _claims(scope: Scope) -> tuple[str, ...]:
    """Return where the probabilities of claims come from, and which rule chose the structure."""
    folds = ""
    if scope.study.honest is not None:
        folds = "What the outer folds do not bear out is called a suggestion, however probable."
    return (
        "What is claimed has a probability: that of all structures tried which hold it, each "
        "weighed by its evidence and by a prior that pays for its size and for the number of "
        "others of that size.",
        f"From {100 * CERTAIN:.0f}{NARROW}% on it is called beyond doubt, from one half on a "
        "suggestion, and below that it is not said.",
        "Two variables interact only if products of them win against sums.",
        folds,
        _RULES.get(scope.choice, "").format(guide=scope.guide),
    )


def _measures(scope: Scope) -> tuple[str, ...]:
    honest = ""
    if scope.study.honest is not None:
        honest = (
            "The honest error comes from outer folds: everything, from filling cells to the "
            "search, is done again without the rows that are then predicted. Intervals come from "
            "the losses of these rows one by one, wider than if the rows were independent, since "
            "they have helped to fit each other's models (Bates et al. 2023)."
        )
    evidence = ""
    if isinstance(scope.study.search, KernelSearchFindings):
        evidence = (
            "A log Bayes factor (Kass and Raftery 1995) is a difference of log evidence. How "
            "surely a function rises or falls is the posterior probability of the sign of its "
            "average slope along the ranks of the rows; a turn is said if 95 of 100 posterior "
            "draws make it."
        )
    if scope.numeric:
        return (honest, evidence)
    curves = (
        "Curves and their hull follow Fawcett (2006), the interval of their area DeLong et al. "
        "(1988) on the logit scale, and slope and intercept of calibration Cox (1958)."
    )
    return (honest, evidence, curves)


def _classes(scope: Scope) -> tuple[str, ...]:
    n = len(scope.findings.table.classes)
    return (
        f"Each of {spelled(n, 'class', 'classes')} has a model of its own against all others; the "
        "probabilities of a row are then scaled so that they add up to one.",
    )


def _course(scope: Scope) -> tuple[Sentence, ...]:
    search = scope.study.search
    whose = f"The search for {scope.positive}" if scope.several else "The search"
    why = _ENDINGS.get(search.stopped_by, f"of this: {clean(search.stopped_by)}")
    return (
        f"{whose} judged {count(search.n_candidates, search.noun)} on {scope.searched}, "
        f"cross-validated {search.n_cross_validated:,} of them, and ended because {why}.",
        scope.shown(search.picture, "shows its course"),
    )


def _skipped(findings: Findings) -> str:
    left_out = joined([_SKIPPED.get(one, clean(one)) for one in findings.run.skipped])
    return f"To save time the run left out {left_out}." if left_out else ""
