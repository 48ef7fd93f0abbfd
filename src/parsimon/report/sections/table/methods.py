"""How it was done: model, search, measures, options, versions, and the works behind them."""

import math

from parsimon.report.document import Block, Code, Section
from parsimon.report.findings import Findings, KernelSearchFindings, SearchFindings
from parsimon.report.sections import _phrases as say
from parsimon.report.sections._blocks import Sentence, paragraph
from parsimon.report.sections._page import again, software
from parsimon.report.sections.table.scope import Scope
from parsimon.structures.claims import CERTAIN


def cited(findings: Findings) -> tuple[str, ...]:
    """Return the short forms of the works that this report cites."""
    studies, short = findings.studies, list[str]()
    if any(isinstance(one.search, KernelSearchFindings) for one in studies):
        short += ["Rasmussen and Williams 2006", "Duvenaud et al. 2013", "He 2016"]
    searches = [one.search for one in studies if one.search and one.task == "classification"]
    inference = {_inference(one) for one in searches}
    short += ["Minka 2001"] * any("expectation" in text for text in inference)
    short += ["Williams and Barber 1998"] * any("laplace" in text for text in inference)
    short += ["Hensman et al. 2015"] * is_sparse(findings)
    short += ["Bates et al. 2023"] * (findings.studies[0].honest is not None)
    short += ["Breiman et al. 1984"] * uses_one_standard_error(findings)
    return tuple(short)


def is_sparse(findings: Findings) -> bool:
    """Return whether the final models have inducing points."""
    studies = [one for one in findings.studies if isinstance(one.search, KernelSearchFindings)]
    texts = [_inference(one.search) for one in studies]
    sources = [one.checks.source for one in studies]
    said = any("sparse" in text or "variational" in text for text in texts)
    return said or "training rows" in sources


def _inference(search: SearchFindings | None) -> str:
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
_CUT_SHORT = {"time_limit": "the time was up", "interrupt": "it was interrupted"}
_SKIPPED = {
    "outer folds": "the outer folds (hence no honest error and nothing about stability)",
    "outer folds of the search": "the search on outer folds (hence no honest error of the kernel "
    "search, and nothing about the stability of what is claimed)",
    "interactions beside sums": "the comparison of interactions with sums",
    "sums of parts": "the errors of sums of some parts",
    "restarts": "further starts of the fits",
}


def methods(scopes: tuple[Scope, ...]) -> Section:
    """Return the section about how everything was measured."""
    first, run = scopes[0], scopes[0].findings.run
    blocks: list[Block] = [
        *_kernels(first),
        paragraph(*_measures(first), *(_classes(first) if len(scopes) > 1 else ())),
    ]
    course = _course(first) if len(scopes) == 1 else ()
    left_out = say.joined([_SKIPPED.get(what, say.clean(what)) for what in run.skipped])
    skipped = f"To save time the run left out {left_out}." if left_out else ""
    blocks.append(paragraph(*course, skipped, f"Seed {run.seed}; {software(run)}"))
    blocks += again(run)
    return Section("methods", "Methods", tuple(blocks), folded=True)


def _chosen(scope: Scope) -> tuple[Sentence, ...]:
    """Return the model in symbols, with its evidence."""
    model, baseline = scope.study.model, scope.study.baseline
    if scope.several or not scope.study.structure_found:
        return ()
    gain = baseline.negative_log_evidence - model.negative_log_evidence
    evidence = ""
    if math.isfinite(gain):
        evidence = f"; its log Bayes factor against a constant is {say.decimal(gain, 1)}"
    return (("Its model is ", Code(say.clean(model.expression)), f"{evidence}."),)


def _kernels(scope: Scope) -> tuple[Block, ...]:
    """Return what Gaussian processes are and how their kernels were searched."""
    search = scope.study.search
    if not isinstance(search, KernelSearchFindings):
        return ()
    return (
        paragraph(*_model(scope, search), *_search(scope, search), *_chosen(scope)),
        paragraph(*_claims(scope)),
    )


def _model(scope: Scope, search: KernelSearchFindings) -> tuple[str, ...]:
    inference, work = say.clean(search.inference), ""
    if "expectation" in inference.lower():
        work = " (Minka 2001)"
    elif "laplace" in inference.lower():
        work = " (Williams and Barber 1998)"
    how = f" by {inference}{work}: a score, turned into a probability by a probit function."
    if scope.numeric:
        how = ": an unknown function of the columns plus noise."
    model = f"The kernel search fits a Gaussian process (Rasmussen and Williams 2006){how}"
    sparse = ""
    if is_sparse(scope.findings):
        sparse = "For all rows the final model uses inducing points (Hensman et al. 2015)."
    return (model, sparse)


def _search(scope: Scope, search: KernelSearchFindings) -> tuple[str, ...]:
    bases = say.joined([_BASES.get(one, say.clean(one)) for one in search.base])
    if "per" not in search.base and any(one.shape == "periodic" for one in scope.claimed):
        bases += f", with {_BASES['per']} where waves are more probable than not,"
    joins = f"joins (Duvenaud et al. 2013; He 2016) {bases} of single columns"
    by = f"by {scope.guide} on {say.count(search.n_folds, 'fold')}"
    if search.depth < 2:
        return (f"It {joins} that are more probable than not, judged {by}.",)
    return (
        f"It {joins} by sum or product, at most {say.spelled(search.depth)}, keeping the best "
        f"{say.spelled(search.beam)} of each size, {by}.",
    )


_RULES = {
    "one_se": "Its model is the simplest within one standard error of the least {guide} (Breiman "
    "et al. 1984), and is not a claim in itself.",
    "least_error": "Its model is that of the least {guide}, and is not a claim in itself.",
}


def _claims(scope: Scope) -> tuple[str, ...]:
    """Return where the probabilities of claims come from, and which rule chose the structure."""
    folds = ""
    doubted = (one.probability >= CERTAIN and not one.certain for one in scope.study.claims)
    honest = scope.study.honest
    looked = honest is not None and any(one.claims is not None for one in honest.folds)
    if looked or any(doubted):
        folds = "What the outer folds do not bear out is only suggested."
    rows = scope.rows_seen
    return (
        "A claim’s probability is that of all structures tried which hold it, weighed by evidence "
        f"and by a prior on size: from {100 * CERTAIN:.0f}{say.NARROW}% on it is certain, from one "
        "half on suggested.",
        "" if scope.numeric else "A line is straight in the score, not in the probability.",
        "" if rows == "these rows" else f"Claims rest on {rows}, drawn at random.",
        folds,
        _RULES.get(scope.choice, "").format(guide=scope.guide),
        "Looked for are lines, curves and waves along each column, interactions of two columns, "
        "and of up to 100 columns products of three; not interactions of four or more, nor effects "
        "of the order of the rows.",
    )


def _measures(scope: Scope) -> tuple[str, ...]:
    honest = ""
    if scope.study.honest is not None:
        honest = (
            "For the honest error everything, from filling cells on, is done again without the "
            "rows that are then predicted (Bates et al. 2023)."
        )
    sure = ""
    if isinstance(scope.study.search, KernelSearchFindings):
        sure = "A rise or fall is as sure as the sign of the average slope."
    return (honest, sure)


def _classes(scope: Scope) -> tuple[str, ...]:
    n = len(scope.findings.table.classes)
    return (
        f"Each of {say.spelled(n, 'class', 'classes')} has a model of its own against all others; "
        "the probabilities of a row are then scaled so that they add up to one.",
    )


def _course(scope: Scope) -> tuple[Sentence, ...]:
    search = scope.study.search
    if search is None:
        return ()
    judged = f"The search judged {say.count(search.n_candidates, search.noun)} on {scope.searched}"
    why = _CUT_SHORT.get(search.stopped_by)
    if why is not None:
        return (f"{judged} until {why}.",)
    return (f"{judged}.",) if scope.n_rows < scope.findings.table.n_rows_used else ()
