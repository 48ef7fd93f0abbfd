"""How it was done: model, search, measures, options and versions."""

from parsimon.report.document import Block, Section
from parsimon.report.findings import Findings
from parsimon.report.writing.blocks import Sentence, paragraph
from parsimon.report.writing.front_page import again
from parsimon.report.writing.phrases import clean, count, joined, spelled
from parsimon.report.writing.references import is_sparse, uses_one_standard_error
from parsimon.report.writing.scope import Scope

_BASES = {
    "se": "smooth functions (SE)",
    "per": "periodic functions (PER)",
    "lin": "straight lines (LIN)",
    "matern": "rougher functions (Matérn)",
    "rq": "functions with several scales (RQ)",
}
_GUIDES = {
    "cv_error": "the cross-validated error",
    "cv_logloss": "the cross-validated log loss",
    "loo_logloss": "the leave-one-out log loss",
    "nlml": "the negative log marginal likelihood",
    "bic": "the Bayesian information criterion",
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
        paragraph(*_model(scopes[0])),
        paragraph(*_search(scopes[0])),
        paragraph(*_measures(scopes[0])),
        *((paragraph(*_classes(scopes[0])),) if len(scopes) > 1 else ()),
    ]
    for scope in scopes:
        blocks.append(paragraph(*_course(scope)))
        blocks += scope.figures(scope.study.search.picture)
    blocks.append(paragraph(*_options(findings)))
    blocks += again(findings)
    return Section("methods", "Methods", tuple(blocks))


def _model(scope: Scope) -> tuple[str, ...]:
    inference = clean(scope.study.search.inference)
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


def _search(scope: Scope) -> tuple[str, ...]:
    search = scope.study.search
    bases = joined([_BASES.get(one, clean(one)) for one in search.base])
    chosen = ""
    if uses_one_standard_error(scope.findings):
        chosen = (
            "Of the structures within one standard error of the best, the simplest was taken "
            "(Breiman et al. 1984)."
        )
    return (
        "The structure was found by a search over kernels (Duvenaud et al. 2013; He 2016): it "
        f"starts with {bases} of single variables and joins further ones by sum or product, at "
        f"most {spelled(search.depth)} in all, keeping the best {spelled(search.beam)} of each "
        "size.",
        f"It minimised {_GUIDES.get(search.guide, clean(search.guide))}, with "
        f"{count(search.n_folds, 'fold')} that all kernels shared.",
        "A structure counts only if its evidence beats that of a constant by more than the number "
        "of kernels tried explains.",
        chosen,
    )


def _measures(scope: Scope) -> tuple[str, ...]:
    honest = ""
    if scope.study.honest is not None:
        honest = (
            "The honest error comes from outer folds: everything, from filling cells to the "
            "search, is done again without the rows that are then predicted. Its interval is the "
            "corrected t interval of Nadeau and Bengio (2003)."
        )
    evidence = (
        "Differences of log evidence are read on the scale of Kass and Raftery (1995). How surely "
        "a function rises or falls throughout is the share of posterior draws that do. The four "
        "grades of evidence for a variable alone are those of He (2016)."
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
        f"{whose} judged {count(search.n_kernels, 'kernel')} on {scope.searched}, cross-validated "
        f"{search.n_cross_validated:,} of them, and ended because {why}.",
        scope.shown(search.picture, "shows its course"),
    )


def _options(findings: Findings) -> tuple[Sentence, ...]:
    run = findings.run
    sentences: list[Sentence] = []
    if run.options:
        options = "; ".join(f"{clean(name)} {clean(value)}" for name, value in run.options)
        sentences.append(f"Options: {options}.")
    if run.skipped:
        left_out = joined([_SKIPPED.get(one, clean(one)) for one in run.skipped])
        sentences.append(f"To save time the run left out {left_out}.")
    versions = [f"{clean(name)} {clean(version)}" for name, version in run.libraries]
    software = f"It was computed by Parsimon {run.version}"
    sentences.append(f"{software} with {joined(versions)}." if versions else f"{software}.")
    return tuple(sentences)
