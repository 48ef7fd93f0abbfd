"""A front of features in sentences, for the pages that have one: each size, and each feature."""

import math
from collections.abc import Iterator

from parsimon.report.document import Block, Cell, Code, Heading, Section, Table
from parsimon.report.findings import Findings, ModelComparison, ReportFindings
from parsimon.report.findings.shared_findings import FeatureFront, FeatureSize
from parsimon.report.sections import _phrases as say
from parsimon.report.sections._blocks import bullets, figures, note, paragraph, target_of
from parsimon.report.sections._models import measured, the

_NAMED = 12
# Who is told beside a front.
_BESIDE = ("linear", "boosting")
# What the model of formulas is called in comparisons.
FORMULAS = "short formula"
# What every formula has, whatever its length.
_FREE = "the first weight and the constant that is added do not count"
_SIZES = {
    "columns": "A category counts as one column for each level that is told apart.",
    "formulas": f"Columns, numbers, operators and functions in it; {_FREE}.",
}
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
        steps = say.joined([f"from {a} to {b}" for a, b in front.breaks])
        yield paragraph(
            f"At {'the step' if len(front.breaks) == 1 else 'the steps'} {steps} columns are "
            "dropped again: the best columns of one number are not among the best of the next, so "
            "that no ranking of columns describes what is needed."
        )
    elif front.kind == "columns" and len(front.sizes) > 1:
        yield paragraph(
            "Each line only adds columns to the line before, so that the lines rank them."
        )
    n_infinite = sum(size.unbounded > 0 for size in front.sizes)
    if n_infinite:
        marked = "One formula" if n_infinite == 1 else f"{n_infinite} formulas"
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
    n_rows, sampled = findings.table.n_rows_used, ""
    if front.n_rows < n_rows:
        sampled = (
            f"The search used {front.n_rows:,} of {say.count(n_rows, 'row')}, drawn at random."
        )
    blocks = (
        paragraph(choice_parts(front), sampled, honest_sentence(found, FORMULAS, unit)),
        *front_blocks(findings, front, compared=found is not None),
        *feature_blocks(findings, front),
    )
    return Section("formulas", "Formulas of a few columns", blocks, folded=True)


def feature_blocks(findings: ReportFindings, front: FeatureFront) -> Iterator[Block]:
    """Yield the features of the chosen formula in words, and a drawing of each."""
    chosen = front.chosen
    features = list(zip(chosen.features, chosen.words.split("; "), strict=False))
    if not features:
        return
    many = "one feature" if len(features) == 1 else f"{len(features)} features"
    yield paragraph(f"The chosen formula has {many}, read aloud:")
    yield bullets(
        *(
            say.clean(words) if name == words else (Code(say.clean(name)), f": {say.clean(words)}")
            for name, words in features
        )
    )
    yield from figures(findings, *front.drawings)


def _introduction(front: FeatureFront) -> Iterator[str]:
    if front.kind == "formulas":
        yield (
            f"A formula gives {say.clean(front.gives)}. Each line is the best that was found with "
            f"so many signs: columns, numbers, operators and functions; {_FREE}."
        )
    best = min(front.sizes, key=lambda size: size.error)
    if not best.outside > best.error:
        return
    least, apart = error_words(front, best.error), error_words(front, best.outside)
    if least != apart:
        yield (
            f"The least error, {least}, is that of the best of many and so too good: on rows that "
            f"were set apart it is {apart}."
        )


def tried_sentence(front: FeatureFront) -> str:
    """Return how many subsets or formulas were tried."""
    of = f"of {say.count(front.n_columns, 'column')}"
    if front.kind == "formulas":
        return f"{say.count(front.n_tried, 'formula')} {of} were tried."
    subsets = say.count(front.n_tried, "subset")
    if front.exact:
        every = f"All {subsets}" if front.n_tried > 1 else "The only subset"
        return f"{every} {of} {say.were(front.n_tried)} tried."
    return (
        f"{subsets} {of} were tried, by greedy walks and then a genetic search, of many more that "
        "there are."
    )


def choice_sentence(front: FeatureFront) -> str:
    """Return what was chosen, and by which rule."""
    return "".join(part.text if isinstance(part, Code) else part for part in choice_parts(front))


def choice_parts(front: FeatureFront) -> tuple[str | Code, ...]:
    """Return the same with the formula set as code."""
    chosen = front.chosen
    formula = Code(say.clean(chosen.formula))
    if front.kind == "columns":
        what = f"{say.count(chosen.size, 'column')}: {say.named(chosen.features, _NAMED)}"
        fewest = "fewest columns" if chosen.size > 1 else "fewest"
        return (f"Chosen: {what}; the {fewest} within one standard error of the least error.",)
    if not chosen.features:
        return (
            f"No formula surely predicts {say.clean(front.gives)} better than one number for all "
            "rows: ",
            formula,
            ". What the longer formulas of the table gain in the search may be luck.",
        )
    judged = "on rows set apart"
    if math.isnan(chosen.outside):
        judged = (
            "on rows left out one by one, where every sign counts as a number fitted, since there "
            "are too few rows to set some apart"
        )
    rule = f"; the shortest formula within one standard error of the least error {judged}."
    return (f"Chosen: {say.clean(front.gives)} as ", formula, rule)


def honest_sentence(found: ModelComparison | None, name: str, unit: float) -> str:
    """Return the honest error of the whole search, beside those of other models."""
    if found is None:
        return "There are too few rows to measure an honest error."
    own = next((model for model in found.models if model.name == name), None)
    if own is None:
        why = dict(found.left_out).get(name, "it did not answer")
        return f"Its honest error is not known, since {say.clean(why)}."
    beside = [
        f"{the(model)} of all columns {measured(found, model, unit)}"
        for model in found.models
        if model.key in _BESIDE and model is not own
    ]
    guess = found.of_family("guessing")
    if guess is not None:
        beside.append(f"guessing {measured(found, guess, unit)}")
    error = measured(found, own, unit)
    did = f"missed rows that it had not seen by {error} on average"
    if found.metric != "variance left":
        interval = f"(95 % interval {say.share_range(own.error)})"
        did = f"was wrong in {error} of rows that it had not seen {interval}"
    others = f"; {say.joined(beside)}" if beside else ""
    return f"Repeated on outer folds, the whole search {did}{others}."


def error_words(front: FeatureFront, error: float) -> str:
    """Return an error of a front: a share, or a number in its unit."""
    return say.percent(error) if front.measure == "error" else say.short(error)


def error_cell(front: FeatureFront, error: float, *, strong: bool) -> Cell:
    """Return an error of a front; a dash if it was not measured."""
    if math.isnan(error):
        return Cell(say.DASH)
    return Cell(error_words(front, error), order=error, strong=strong)


def _guessing(front: FeatureFront, compared: bool) -> str:
    """Return what guessing has on the rows of the search; on new ones the comparison has it."""
    has = f"has {error_words(front, front.guessing)}."
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
    apart = Heading("Set apart", numeric=True, help="On rows that had no part in the search.")
    what = "columns of each number that were" if columns else "formula of each length that was"
    in_ = f", errors of {target} in its unit" if front.measure == "typical miss" else ""
    return Table(
        f"front-{front.kind}",
        f"The best {what} found{in_}; the chosen line is set strong.{_guessing(front, compared)}",
        (
            Heading("Columns" if columns else "Signs", numeric=True, help=_SIZES[front.kind]),
            Heading(title, numeric=True, help=help_),
            *((apart,) if sets_apart(front) else ()),
            Heading("Which" if columns else "Formula"),
        ),
        tuple(_row(front, size) for size in front.sizes),
    )


def sets_apart(front: FeatureFront) -> bool:
    """Return whether some rows had no part in the search."""
    return any(math.isfinite(size.outside) for size in front.sizes)


def _row(front: FeatureFront, size: FeatureSize) -> tuple[Cell, ...]:
    strong = size.chosen
    what = say.clean(size.formula) + (" ∞" if size.unbounded else "")
    if front.kind == "columns":
        what = say.named(size.features, _NAMED)
    errors = (size.error, size.outside) if sets_apart(front) else (size.error,)
    return (
        Cell(f"{size.size:,}", order=float(size.size), strong=strong),
        *(error_cell(front, error, strong=strong) for error in errors),
        Cell(what, strong=strong, code=front.kind == "formulas"),
    )
