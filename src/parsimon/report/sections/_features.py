"""A front of features in sentences, for the pages that have one: each size, and each feature."""

import math
from collections.abc import Iterator

from parsimon.report.document import Block, Cell, Code, Heading, Section, Table
from parsimon.report.findings import ComparedModel, Findings, ModelComparison, ReportFindings
from parsimon.report.findings.shared_findings import FeatureFront, FeatureSize
from parsimon.report.sections._blocks import bullets, note, paragraph
from parsimon.report.sections._phrases import (
    DASH,
    clean,
    count,
    decimal,
    joined,
    named,
    percent,
    share_range,
    short,
)
from parsimon.report.sections._scope import figures, miss, target_of, the

_NAMED = 12
# Who is told beside a front.
_BESIDE = ("linear", "boosting")
# What the model of formulas is called in comparisons.
FORMULAS = "short formula"


def front_blocks(
    findings: ReportFindings, front: FeatureFront, *, compared: bool = False
) -> Iterator[Block]:
    """Yield a table of the solutions of each size, and the drawing of the front.

    compared: Whether the page says what guessing has on new rows.
    """
    said = tuple(_introduction(front))
    if said:
        yield paragraph(*said)
    yield from figures(findings, front.picture)
    yield _table(front, target_of(findings), compared=compared)
    if front.breaks:
        steps = joined([f"from {a} to {b}" for a, b in front.breaks])
        yield paragraph(
            f"At {'the step' if len(front.breaks) == 1 else 'the steps'} {steps} columns are "
            "dropped again: the best columns of one number are not among the best of the next, so "
            "that no ranking of columns describes what is needed."
        )
    elif front.kind == "columns" and len(front.sizes) > 1:
        yield paragraph(
            "Each line only adds columns to the line before, so that the lines rank them."
        )
    infinite = [one for one in front.sizes if one.unbounded]
    if infinite:
        marked = "One formula" if len(infinite) == 1 else f"{len(infinite)} formulas"
        chosen = "; the chosen one is among them" if front.chosen.unbounded else ""
        yield note(
            "caution",
            f"{marked} of the table may become infinite or undefined within the range of these "
            f"rows or a tenth of it beyond, marked with ∞{chosen}.",
        )


def formula_section(
    findings: Findings, front: FeatureFront, found: ModelComparison | None, unit: float
) -> Section:
    """Return the section of a report about formulas, which answered beside other models.

    unit: What guessing misses numbers by, in the unit of the target.
    """
    return Section(
        "formulas",
        "Formulas of a few columns",
        (
            paragraph(
                choice_parts(front),
                _sampled(front, findings.table.n_rows_used),
                honest_sentence(found, FORMULAS, unit),
            ),
            *front_blocks(findings, front, compared=found is not None),
            *feature_blocks(findings, front),
        ),
        folded=True,
    )


def _sampled(front: FeatureFront, n_rows: int) -> str:
    """Say how many rows were searched, where that is not all of them."""
    if front.n_rows >= n_rows:
        return ""
    return f"The search used {front.n_rows:,} of {count(n_rows, 'row')}, drawn at random."


def feature_blocks(findings: ReportFindings, front: FeatureFront) -> Iterator[Block]:
    """Yield the features of the chosen formula in words, and a drawing of each."""
    chosen = front.chosen
    features = list(zip(chosen.features, chosen.words.split("; "), strict=False))
    if not features:
        return
    one = len(features) == 1
    yield paragraph(
        f"The chosen formula has {'one feature' if one else f'{len(features)} features'}, "
        f"read aloud:"
    )
    yield bullets(
        *(
            clean(words) if name == words else (Code(clean(name)), f": {clean(words)}")
            for name, words in features
        )
    )
    yield from figures(findings, *front.drawings)


# What every formula has, whatever its length.
_FREE = "the first weight and the constant that is added do not count"


def _introduction(front: FeatureFront) -> Iterator[str]:
    if front.kind == "formulas":
        yield (
            f"A formula gives {clean(front.gives)}. Each line is the best that was found with so "
            f"many signs: columns, numbers, operators and functions; {_FREE}."
        )
    best = min(front.sizes, key=lambda one: one.error)
    if best.outside > best.error and _said(front, best.outside) != _said(front, best.error):
        yield (
            f"The least error, {_said(front, best.error)}, is that of the best of many and so too "
            f"good: on rows that were set apart it is {_said(front, best.outside)}."
        )


def tried_sentence(front: FeatureFront) -> str:
    """Return how many subsets or formulas were tried."""
    if front.kind == "formulas":
        return (
            f"{count(front.n_tried, 'formula')} of {count(front.n_columns, 'column')} were tried."
        )
    if front.exact:
        tried = count(front.n_tried, "subset")
        all_ = f"All {tried}" if front.n_tried > 1 else "The only subset"
        return f"{all_} of {count(front.n_columns, 'column')} {_were(front.n_tried)} tried."
    return (
        f"{count(front.n_tried, 'subset')} of {count(front.n_columns, 'column')} were tried, by "
        "greedy walks and then a genetic search, of many more that there are."
    )


def _were(n: int) -> str:
    return "was" if n == 1 else "were"


def choice_sentence(front: FeatureFront) -> str:
    """Return what was chosen, and by which rule."""
    return "".join(one.text if isinstance(one, Code) else one for one in choice_parts(front))


def choice_parts(front: FeatureFront) -> tuple[str | Code, ...]:
    """Return the same with the formula set as code."""
    chosen = front.chosen
    if front.kind == "columns":
        what = f"{count(chosen.size, 'column')}: {named(chosen.features, _NAMED)}"
        fewest = "fewest columns" if chosen.size > 1 else "fewest"
        return (f"Chosen: {what}; the {fewest} within one standard error of the least error.",)
    if not chosen.features:
        return (
            f"No formula surely predicts {clean(front.gives)} better than one number for all "
            "rows: ",
            Code(clean(chosen.formula)),
            ". What the longer formulas of the table gain in the search may be luck.",
        )
    judged = (
        "on rows left out one by one, where every sign counts as a number fitted, since there are "
        "too few rows to set some apart"
        if math.isnan(chosen.outside)
        else "on rows set apart"
    )
    return (
        f"Chosen: {clean(front.gives)} as ",
        Code(clean(chosen.formula)),
        f"; the shortest formula within one standard error of the least error {judged}.",
    )


def honest_sentence(found: ModelComparison | None, name: str, unit: float) -> str:
    """Return the honest error of the whole search, beside those of other models."""
    if found is None:
        return "There are too few rows to measure an honest error."
    models = {one.name: one for one in found.models}
    if name not in models:
        why = dict(found.left_out).get(name, "it did not answer")
        return f"Its honest error is not known, since {clean(why)}."
    own = models.pop(name)
    others = [one for one in models.values() if one.key in _BESIDE]
    guess = next((one for one in models.values() if one.family == "guessing"), None)
    beside = [f"{the(one)} of all columns {_missed(found, one, unit)}" for one in others]
    if guess is not None:
        beside.append(f"guessing {_missed(found, guess, unit)}")
    range_ = ""
    if found.metric != "variance left":
        range_ = f" (95 % interval {share_range(own.error)})"
    did = (
        f"missed rows that it had not seen by {_missed(found, own, unit)} on average"
        if found.metric == "variance left"
        else f"was wrong in {_missed(found, own, unit)} of rows that it had not seen{range_}"
    )
    return (
        f"Repeated on outer folds, the whole search {did}{'; ' + joined(beside) if beside else ''}."
    )


def _missed(found: ModelComparison, model: ComparedModel, unit: float) -> str:
    if found.metric == "variance left":
        return miss(model, unit)
    said = percent(model.error.estimate)
    if found.metric == "log loss" and not math.isnan(model.log_loss):
        said += f" (log loss {decimal(model.log_loss, 3)})"
    return said


def _said(front: FeatureFront, error: float) -> str:
    return percent(error) if front.measure == "error" else short(error)


def _cell(front: FeatureFront, error: float, *, strong: bool) -> Cell:
    if math.isnan(error):
        return Cell(DASH)
    return Cell(_said(front, error), order=error, strong=strong)


_MEASURES = {
    "error": ("Wrong in the search", "Share of rows, on the folds by which it was searched."),
    "log loss": (
        "Log loss in the search",
        "Of rows left out of the fit; the search has made it small, and less is better.",
    ),
    "typical miss": (
        "Typical miss in the search",
        "Root mean square, of rows left out of the fit; the search has made it small.",
    ),
}


def _guessing(front: FeatureFront, compared: bool) -> str:
    """Return what guessing has on the rows of the search; on new ones the comparison has it."""
    has = f"has {_said(front, front.guessing)}."
    if front.kind == "formulas" and math.isfinite(front.chosen.outside):
        return f" On the rows set apart guessing {has}"
    if not compared:
        return f" Guessing {has}"
    # The first formula is a number for all rows, whose error must not be taken for guessing's.
    return (
        " Errors are those of the search, on the rows that it used, and so smaller than those of "
        "the table of models, that of one number for all rows too."
        if front.kind == "formulas"
        else ""
    )


def _table(front: FeatureFront, target: str, *, compared: bool) -> Table:
    title, help_ = _MEASURES[front.measure]
    columns = front.kind == "columns"
    headings = [
        Heading("Columns" if columns else "Signs", numeric=True, help=_SIZES[front.kind]),
        Heading(title, numeric=True, help=help_),
        *(
            [Heading("Set apart", numeric=True, help="On rows that had no part in the search.")]
            if sets_apart(front)
            else []
        ),
        Heading("Which" if columns else "Formula"),
    ]
    what = "columns of each number that were" if columns else "formula of each length that was"
    in_ = f", errors of {target} in its unit" if front.measure == "typical miss" else ""
    return Table(
        f"front-{front.kind}",
        f"The best {what} found{in_}; the chosen line is set strong.{_guessing(front, compared)}",
        tuple(headings),
        tuple(_row(front, one) for one in front.sizes),
    )


_SIZES = {
    "columns": "A category counts as one column for each level that is told apart.",
    "formulas": f"Columns, numbers, operators and functions in it; {_FREE}.",
}


def sets_apart(front: FeatureFront) -> bool:
    """Return whether some rows had no part in the search."""
    return any(math.isfinite(one.outside) for one in front.sizes)


def _row(front: FeatureFront, one: FeatureSize) -> tuple[Cell, ...]:
    strong = one.chosen
    mark = " ∞" if one.unbounded else ""
    what = named(one.features, _NAMED) if front.kind == "columns" else clean(one.formula) + mark
    return (
        Cell(f"{one.size:,}", order=float(one.size), strong=strong),
        _cell(front, one.error, strong=strong),
        *([_cell(front, one.outside, strong=strong)] if sets_apart(front) else []),
        Cell(what, strong=strong, code=front.kind == "formulas"),
    )
