"""How it was done: model, search, measures, options and versions.

The works that a report cites.
"""

from parsimon.report.document import Block, Section
from parsimon.report.findings import Findings
from parsimon.report.sections._blocks import Sentence, paragraph
from parsimon.report.sections._phrases import clean, count, joined, spelled
from parsimon.report.sections._scope import Scope
from parsimon.report.sections.front_page import again

_WORKS = {
    "Rasmussen and Williams 2006": "Rasmussen, C. E. and Williams, C. K. I. (2006). Gaussian "
    "Processes for Machine Learning. MIT Press.",
    "Minka 2001": "Minka, T. P. (2001). Expectation propagation for approximate Bayesian "
    "inference. Uncertainty in Artificial Intelligence 17, 362–369.",
    "Williams and Barber 1998": "Williams, C. K. I. and Barber, D. (1998). Bayesian "
    "classification with Gaussian processes. IEEE Transactions on Pattern Analysis and Machine "
    "Intelligence 20, 1342–1351.",
    "Hensman et al. 2015": "Hensman, J., Matthews, A. G. de G. and Ghahramani, Z. (2015). Scalable "
    "variational Gaussian process classification. Artificial Intelligence and Statistics 18, "
    "351–360.",
    "Duvenaud et al. 2013": "Duvenaud, D., Lloyd, J. R., Grosse, R., Tenenbaum, J. B. and "
    "Ghahramani, Z. (2013). Structure discovery in nonparametric regression through compositional "
    "kernel search. International Conference on Machine Learning 30, 1166–1174.",
    "He 2016": "He, Q. (2016). The Automatic Statistician for Classification. Project report, "
    "Department of Engineering, University of Cambridge.",
    "Kass and Raftery 1995": "Kass, R. E. and Raftery, A. E. (1995). Bayes factors. Journal of the "
    "American Statistical Association 90, 773–795.",
    "Nadeau and Bengio 2003": "Nadeau, C. and Bengio, Y. (2003). Inference for the generalization "
    "error. Machine Learning 52, 239–281.",
    "Breiman et al. 1984": "Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984). "
    "Classification and Regression Trees. Wadsworth.",
    "Cox 1958": "Cox, D. R. (1958). Two further applications of a model for binary regression. "
    "Biometrika 45, 562–565.",
    "DeLong et al. 1988": "DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). "
    "Comparing the areas under two or more correlated receiver operating characteristic curves. "
    "Biometrics 44, 837–845.",
    "Fawcett 2006": "Fawcett, T. (2006). An introduction to ROC analysis. Pattern Recognition "
    "Letters 27, 861–874.",
}


def references(findings: Findings) -> tuple[tuple[str, str], ...]:
    """Return the works that this report cites, short and in full, by name."""
    return tuple(sorted((short, _WORKS[short]) for short in cited(findings)))


def cited(findings: Findings) -> tuple[str, ...]:
    """Return the short forms of the works that this report cites."""
    studies = findings.studies
    short = ["Rasmussen and Williams 2006", "Duvenaud et al. 2013", "He 2016"]
    short.append("Kass and Raftery 1995")
    inference = {one.search.inference.lower() for one in studies if one.task == "classification"}
    short += ["Minka 2001"] * any("expectation" in text for text in inference)
    short += ["Williams and Barber 1998"] * any("laplace" in text for text in inference)
    short += ["Hensman et al. 2015"] * is_sparse(findings)
    short += ["Nadeau and Bengio 2003"] * any(one.honest is not None for one in studies)
    short += ["Breiman et al. 1984"] * uses_one_standard_error(findings)
    if findings.table.task == "classification":
        short += ["Cox 1958", "DeLong et al. 1988", "Fawcett 2006"]
    return tuple(short)


def is_sparse(findings: Findings) -> bool:
    """Return whether the final models have inducing points."""
    texts = [one.search.inference.lower() for one in findings.studies]
    sources = [one.checks.source for one in findings.studies]
    said = any("sparse" in text or "variational" in text for text in texts)
    return said or "training rows" in sources


def uses_one_standard_error(findings: Findings) -> bool:
    """Return whether the simplest structure within a standard error was chosen."""
    return any(value.replace("-", "_") == "one_se" for _, value in findings.run.options)


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
