"""How well species of unseen clades are predicted, and species without a target."""

import math

from parsimon.report.document import Block, Cell, Heading, Reference, Section, Table
from parsimon.report.findings.trait_findings import (
    CALLED,
    MEANING,
    SPOKEN,
    CladeError,
    Judged,
    TraitFindings,
)
from parsimon.report.sections import _phrases as say
from parsimon.report.sections._blocks import (
    Sentence,
    bullets,
    ends_cell,
    figures,
    note,
    paragraph,
    share_cell,
    target_of,
    value_cell,
)

# Below this share of the error a difference is rounding; below this lambda the tree is not used.
_ROUNDING, _NO_TREE = 1e-6, 0.005
_RARE = 0.05


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
        f"For species of a clade that was not seen, {SPOKEN[findings.model]} is off by "
        f"{say.within(own.rmse)}, as a root mean square; the mean of the other species is off by "
        f"{say.short(baseline.rmse.estimate)}.",
        _better(findings, own, baseline),
        _smallest(findings, error),
        _leak(findings, error, beside),
    )


def better_than_the_mean(findings: TraitFindings) -> bool:
    """Return whether new clades are surely predicted better than by the mean of the others."""
    error = findings.error
    own, mean = (None, None) if error is None else (error.of(findings.model), error.of("mean"))
    if own is None or mean is None or mean.difference is None:
        return False
    return own.explained > 0 and mean.difference.low > 0


def random_folds_leak(findings: TraitFindings) -> bool:
    """Return whether species with relatives among those fitted are surely predicted better."""
    return findings.error is not None and _leaks(findings, findings.error)


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
    models = [judged.model for judged in error.clades]
    meanings = [f"{say.opened(CALLED[model])}: {MEANING[model]}." for model in models]
    blocks: list[Block] = [
        paragraph(*_how(findings, error)),
        paragraph(*error_sentences(findings)),
        *figures(findings, "errors"),
        _table(findings, error),
        paragraph(*_compare(findings, error), *_judge_coverage(findings, error)),
        bullets(*meanings),
        note("caution", _caution(findings, error)),
        *figures(findings, "predicted"),
    ]
    return Section("error", title, tuple(blocks))


def _how(findings: TraitFindings, error: CladeError) -> tuple[Sentence, ...]:
    return (
        f"The tree was cut into clades, and the {findings.table.n_fitted:,} species into "
        f"{say.spelled(error.n_folds)} folds of whole clades.",
        "Each fold was predicted by models fitted to the others, so that none of these clades was "
        "ever on both sides.",
        (Reference("table-errors"), " has the errors; beside them are those of random folds."),
    )


def _better(findings: TraitFindings, own: Judged, baseline: Judged) -> str:
    gap = baseline.difference
    if own.explained <= 0:
        return f"{say.opened(SPOKEN[findings.model])} does no better than that mean."
    said = f"That removes {say.percent(own.explained)} of the mean's squared error"
    if gap is not None and gap.low <= 0:
        return f"{said}, but the gain is not sure: the errors differ by {say.ends(gap)}."
    return f"{said}."


def _smallest(findings: TraitFindings, error: CladeError) -> str:
    """Say which model has the smallest error, if it is not the one that leads."""
    best = min(error.clades, key=lambda judged: judged.rmse.estimate)
    own = error.of(findings.model)
    # That the mean is better has been said.
    if best.model in (findings.model, "mean") or best.difference is None or own is None:
        return ""
    if _same(best, own) or say.short(best.rmse.estimate) == say.short(own.rmse.estimate):
        return ""
    clear = "clearly less" if best.difference.high < 0 else "not clearly less"
    return (
        f"The smallest error, {say.short(best.rmse.estimate)}, is that of {SPOKEN[best.model]}: "
        f"{clear} (difference {say.ends(best.difference)})."
    )


def _same(judged: Judged, own: Judged) -> bool:
    """Return whether two errors differ by what arithmetic makes of the same predictions."""
    gap = judged.difference
    least = _ROUNDING * own.rmse.estimate
    return gap is not None and max(abs(gap.low), abs(gap.high), abs(gap.estimate)) < least


def _leaks(findings: TraitFindings, error: CladeError) -> bool:
    """Return whether random folds are surely too good, and the leading model uses the tree."""
    return error.leak.low > 0 and _lambda(findings) > _NO_TREE


def _lambda(findings: TraitFindings) -> float:
    """Return the lambda of the model that leads."""
    if findings.model == "phyrvm" and findings.phyrvm is not None:
        return findings.phyrvm.pagel_lambda.estimate
    if findings.model == "pgls" and findings.pgls is not None:
        return findings.pgls.pagel_lambda.estimate
    return findings.signal.pagel_lambda.estimate


def _leak(findings: TraitFindings, error: CladeError, beside: Judged) -> str:
    value = say.short(beside.rmse.estimate)
    if _leaks(findings, error):
        return (
            f"Random folds would have said {value}, which is too good for a new clade: they leak "
            "through the tree."
        )
    if error.leak.low > 0:
        return f"Random folds say {value}, which is less, though lambda is near zero."
    return (
        f"Random folds say {value}; that they leak through the tree is not sure: the errors differ "
        f"by {say.ends(error.leak)}."
    )


def _caution(findings: TraitFindings, error: CladeError) -> str:
    leak = "can leak through the tree, though here that is not sure"
    if _leaks(findings, error):
        leak = (
            "leak through the tree: they leave close relatives of a species among those that were "
            "fitted"
        )
    return (
        f"Random folds {leak}. For a species of a clade that is not in the table, trust the errors "
        "of unseen clades."
    )


def _table(findings: TraitFindings, error: CladeError) -> Table:
    order = sorted(error.clades, key=lambda judged: judged.rmse.estimate)
    not_judged = " ".join(
        f"{say.opened(CALLED[model])} could not be judged: {reason}"
        for model, reason in error.failures
    )
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
                help=f"RMSE minus that of {SPOKEN[findings.model]}, same folds; 95 % intervals, "
                "for models other than the mean all together.",
            ),
            Heading("Coverage", numeric=True, help="Species inside their 95 % intervals."),
            Heading("Random RMSE", numeric=True, help="With random folds, which can leak."),
        ),
        rows=tuple(_row(findings, error, judged) for judged in order),
        emphasised=tuple(place for place, judged in enumerate(order) if judged.model == "mean"),
        note=not_judged,
    )


def _row(findings: TraitFindings, error: CladeError, judged: Judged) -> tuple[Cell, ...]:
    own, beside = error.of(findings.model), error.of(judged.model, random=True)
    difference = Cell(say.DASH)
    if judged.difference is not None and own is not None:
        difference = Cell("0", order=0.0) if _same(judged, own) else ends_cell(judged.difference)
    return (
        Cell(CALLED[judged.model], strong=judged.model == findings.model),
        value_cell(judged.rmse.estimate),
        ends_cell(judged.rmse),
        share_cell(judged.explained),
        difference,
        Cell(say.DASH)
        if math.isnan(judged.coverage)
        else Cell(say.percent_cell(judged.coverage), judged.coverage),
        Cell(say.DASH) if beside is None else value_cell(beside.rmse.estimate),
    )


def _compare(findings: TraitFindings, error: CladeError) -> tuple[str, ...]:
    """Say which models are clearly worse or better than the one that leads."""
    lead = error.of(findings.model)
    if lead is None:
        return ()
    groups: dict[str, list[Judged]] = {"same": [], "better": [], "worse": [], "open": []}
    for judged in error.clades:
        gap = judged.difference
        if gap is None or judged.model == "mean":
            continue
        # What differs by rounding alone is not tested.
        sure = "better" if gap.high < 0 else "worse" if gap.low > 0 else "open"
        groups["same" if _same(judged, lead) else sure].append(judged)
    own = SPOKEN[findings.model]
    does = {
        "same": "[makes|make] the same errors as",
        "better": "[is|are] clearly better than",
        "worse": "[is|are] clearly worse than",
        "open": "[is|are] not clearly better or worse than",
    }
    said = []
    for group, models in groups.items():
        if models:
            names = say.opened(say.joined([SPOKEN[judged.model] for judged in models]))
            said.append(f"{names} {say.inflect(does[group], len(models))} {own}.")
    if groups["better"] or groups["worse"]:
        said.append("This allows for the number of models compared (Bonferroni).")
    return tuple(said)


def _judge_coverage(findings: TraitFindings, error: CladeError) -> tuple[str, ...]:
    own = error.of(findings.model)
    if own is None or math.isnan(own.coverage):
        return ()
    said = (
        f"Of the 95{say.NARROW}% intervals of {SPOKEN[findings.model]} for unseen clades, "
        f"{say.percent(own.coverage)} hold the true value"
    )
    from scipy.stats import binom

    n = findings.table.n_fitted
    # How probable as few would be if the intervals were right.
    if binom.cdf(round(own.coverage * n), n, 0.95) < _RARE:
        return (f"{said}: they are too narrow for a new clade.",)
    return (f"{said}.",)


_MOST_ROWS = 40


def predictions_section(findings: TraitFindings) -> Section:
    """Return the section about species without a target; there must be some."""
    about: Sentence = ""
    if findings.error is not None:
        about = (
            "A species whose close relatives were measured may be predicted better than ",
            Reference("error"),
            " says, and one of a clade of its own about as well as it says.",
        )
    said = paragraph(*_which(findings), about)
    return Section("predictions", "Species without a value", (said, _predicted_species(findings)))


def _which(findings: TraitFindings) -> tuple[str, ...]:
    """Return how many species have no target, and how many of these are predicted."""
    n, lacking = len(findings.predictions), findings.table.n_unpredictable
    every = n + lacking
    have = f"{'has' if every == 1 else 'have'} no {target_of(findings)}"
    first = f"{say.count(every, 'species', 'species')} of the table {have}"
    known = "predicted from what is known about it and its relatives."
    if not lacking:
        return (f"{first}; {'it' if n == 1 else 'each'} is {known}",)
    too = f"{'lacks' if lacking == 1 else 'lack'} features too and"
    return (
        f"{first}. {say.opened(say.spelled(n))} {'is' if n == 1 else 'are each'} {known}",
        f"{say.opened(say.spelled(lacking))} {too} {'is' if lacking == 1 else 'are'} not "
        "predicted.",
    )


def _predicted_species(findings: TraitFindings) -> Table:
    target = target_of(findings)
    species = findings.predictions[:_MOST_ROWS]
    more = len(findings.predictions) - len(species)
    further = (
        f"{say.count(more, 'further species', 'further species')} in the findings as data (--json)."
    )
    return Table(
        anchor="table-predictions",
        caption=f"{target} of species that have none in the table, predicted by "
        f"{SPOKEN[findings.model]}.",
        headings=(
            Heading("Species"),
            Heading(target, numeric=True),
            Heading("Interval", numeric=True, help="95 %."),
        ),
        rows=tuple(
            (Cell(say.clean(tip.tip)), value_cell(tip.predicted.estimate), ends_cell(tip.predicted))
            for tip in species
        ),
        note=further if more else "",
    )
