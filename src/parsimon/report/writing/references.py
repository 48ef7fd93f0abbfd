"""The works that a report cites."""

from parsimon.report.findings import Findings

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
