"""How well species of unseen clades are predicted."""

import math

from parsimon.report.document import Block, Cell, Heading, Reference, Section, Table
from parsimon.report.phylogeny.findings import CladeError, Judged, TraitFindings
from parsimon.report.phylogeny.names import CALLED, MEANING, SPOKEN
from parsimon.report.phylogeny.writing.words import (
    ends,
    ends_cell,
    figure,
    short,
    target_of,
    value_cell,
    within,
)
from parsimon.report.writing.blocks import Sentence, bullets, note, paragraph, share_cell
from parsimon.report.writing.phrases import (
    DASH,
    NARROW,
    joined,
    opened,
    percent,
    percent_cell,
    spelled,
)

_LEAK = 0.95


def error_sentences(findings: TraitFindings) -> tuple[str, ...]:
    """Return how far off predictions for a new clade are, beside the mean and random folds."""
    error = findings.error
    if error is None:
        return (no_error(findings),)
    own = error.of(findings.model)
    baseline, beside = error.of("mean"), error.of(findings.model, random=True)
    if own is None or baseline is None or beside is None:
        return ()
    return (
        f"For species of a clade that was not seen, {_called(findings)} is off by "
        f"{within(own.rmse)}, as a root mean square; the mean of the other species is off by "
        f"{short(baseline.rmse.estimate)}.",
        _better(own, baseline),
        _smallest(findings, error),
        _leak(own, beside),
    )


def no_error(findings: TraitFindings) -> str:
    """Return why no error was measured."""
    if findings.error_failure:
        return f"No error of unseen clades was measured. {findings.error_failure}"
    return "No error of unseen clades was measured, because no folds were asked for."


def error_section(findings: TraitFindings) -> Section:
    """Return the section about errors."""
    title = "How well unseen clades are predicted"
    error = findings.error
    if error is None:
        return Section("error", title, (note("caution", no_error(findings)),))
    blocks: list[Block] = [
        paragraph(*_how(findings, error)),
        paragraph(*error_sentences(findings)),
        *figure(findings, "errors"),
        _table(findings, error),
        paragraph(*_compared(findings, error), *_covered(findings, error)),
        bullets(*_meanings(error)),
        note(
            "caution",
            "Random folds leak through the tree: they leave a close relative of nearly every "
            "species among those that were fitted. For a species of a clade that is not in the "
            "table, trust the errors of unseen clades.",
        ),
        *figure(findings, "predicted"),
    ]
    return Section("error", title, tuple(blocks))


def _called(findings: TraitFindings) -> str:
    return SPOKEN[findings.model]


def _how(findings: TraitFindings, error: CladeError) -> tuple[Sentence, ...]:
    n = findings.table.n_fitted
    return (
        f"The tree was cut into clades, and the {n:,} species into {spelled(error.n_folds)} folds "
        "of whole clades.",
        "Each fold was predicted by models fitted to the others, so that no clade was ever on both "
        "sides.",
        (Reference("table-errors"), " has the errors; beside them are those of random folds."),
    )


def _better(own: Judged, baseline: Judged) -> str:
    gap = baseline.difference
    if own.explained <= 0:
        return "It is no better than that mean: features and tree say nothing about a new clade."
    said = f"That removes {percent(own.explained)} of the mean's squared error"
    if gap is not None and gap.low <= 0:
        return f"{said}, but the gain is not sure: the errors differ by {ends(gap)}."
    return f"{said}."


def _smallest(findings: TraitFindings, error: CladeError) -> str:
    """Say which model has the smallest error, if it is not the one that leads."""
    best = min(error.clades, key=lambda one: one.rmse.estimate)
    own = error.of(findings.model)
    if best.model == findings.model or best.difference is None or own is None:
        return ""
    if short(best.rmse.estimate) == short(own.rmse.estimate):
        return ""
    clear = "clearly less" if best.difference.high < 0 else "not clearly less"
    return (
        f"The smallest error, {short(best.rmse.estimate)}, is that of {SPOKEN[best.model]}: "
        f"{clear} (difference {ends(best.difference)})."
    )


def _leak(own: Judged, beside: Judged) -> str:
    value = short(beside.rmse.estimate)
    if beside.rmse.estimate < _LEAK * own.rmse.estimate:
        return (
            f"Random folds would have said {value}, which is too good for a new clade: they leak "
            "through the tree."
        )
    return (
        f"Random folds say {value}; here they leak little through the tree, which cannot be known "
        "beforehand."
    )


def _table(findings: TraitFindings, error: CladeError) -> Table:
    order = sorted(error.clades, key=lambda one: one.rmse.estimate)
    rows = tuple(_row(findings, error, one) for one in order)
    return Table(
        anchor="table-errors",
        caption=f"Errors of {target_of(findings)} for species that were not fitted, the smallest "
        "first.",
        headings=(
            Heading("Model"),
            Heading("RMSE", numeric=True, help="Root mean squared error, unseen clades."),
            Heading("Interval", numeric=True, help="95 %."),
            Heading("Explained", numeric=True, help="Share of the mean's squared error removed."),
            Heading(
                "Difference",
                numeric=True,
                help=f"RMSE minus that of {_called(findings)}, 95 % interval, same folds.",
            ),
            Heading("Coverage", numeric=True, help="Species inside their 95 % intervals."),
            Heading("Random RMSE", numeric=True, help="With random folds: leaks through the tree."),
        ),
        rows=rows,
        emphasised=tuple(place for place, one in enumerate(order) if one.model == "mean"),
        note=_failures(error),
    )


def _row(findings: TraitFindings, error: CladeError, one: Judged) -> tuple[Cell, ...]:
    beside = error.of(one.model, random=True)
    return (
        Cell(CALLED[one.model], strong=one.model == findings.model),
        value_cell(one.rmse.estimate),
        ends_cell(one.rmse),
        share_cell(one.explained),
        Cell(DASH) if one.difference is None else ends_cell(one.difference),
        Cell(DASH) if math.isnan(one.coverage) else Cell(percent_cell(one.coverage), one.coverage),
        Cell(DASH) if beside is None else value_cell(beside.rmse.estimate),
    )


def _failures(error: CladeError) -> str:
    return " ".join(
        f"{opened(CALLED[model])} could not be judged: {reason}" for model, reason in error.failures
    )


def _compared(findings: TraitFindings, error: CladeError) -> tuple[str, ...]:
    """Say which models are clearly worse or better than the one that leads."""
    others = [one for one in error.clades if one.difference is not None and one.model != "mean"]
    better = [one for one in others if one.difference is not None and one.difference.high < 0]
    worse = [one for one in others if one.difference is not None and one.difference.low > 0]
    own = _called(findings)
    sentences = []
    if better:
        are = "is" if len(better) == 1 else "are"
        sentences.append(f"{opened(_listed(better))} {are} clearly better than {own}.")
    if worse:
        are = "is" if len(worse) == 1 else "are"
        sentences.append(f"{opened(_listed(worse))} {are} clearly worse than {own}.")
    same = [one for one in others if one not in better and one not in worse]
    if same:
        are = "is" if len(same) == 1 else "are"
        sentences.append(
            f"{opened(_listed(same))} {are} not clearly better or worse than {own}: the interval "
            "of the difference includes zero."
        )
    return tuple(sentences)


def _listed(models: list[Judged]) -> str:
    return joined([SPOKEN[one.model] for one in models])


def _covered(findings: TraitFindings, error: CladeError) -> tuple[str, ...]:
    own = error.of(findings.model)
    if own is None or math.isnan(own.coverage):
        return ()
    said = (
        f"Of the 95{NARROW}% intervals of {_called(findings)} for unseen clades, "
        f"{percent(own.coverage)} hold the true value"
    )
    if own.coverage < 0.9:
        return (f"{said}: they are too narrow for a new clade.",)
    return (f"{said}.",)


def _meanings(error: CladeError) -> tuple[str, ...]:
    return tuple(f"{opened(CALLED[one.model])}: {MEANING[one.model]}." for one in error.clades)
