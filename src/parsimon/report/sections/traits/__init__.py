"""The report about a trait and its tree: front page, summary, and which sections it has.

Its parts are those of an outline, as `parsimon.report.sections` asks for them.
"""

import math
from collections.abc import Iterator

from parsimon.report.document import Block, KeyFigure, KeyFigures, Section, Strong
from parsimon.report.findings import ModelComparison
from parsimon.report.sections._blocks import bullets, paragraph
from parsimon.report.sections._phrases import (
    clean,
    count,
    decimal,
    ends,
    joined,
    named,
    opened,
    quoted,
    short,
    spelled,
)
from parsimon.report.sections._run import run_facts
from parsimon.report.sections._scope import target_of
from parsimon.report.sections.table.families import models_section, recommended_line
from parsimon.report.sections.traits.ancestry import (
    ancestors_section,
    follows,
    root_sentences,
    signal_section,
    signal_sentences,
)
from parsimon.report.sections.traits.clade_errors import (
    error_section,
    error_sentences,
    predictions_section,
)
from parsimon.report.sections.traits.features import (
    features_section,
    sparse_sentences,
    squares_sentences,
)
from parsimon.report.sections.traits.trait_methods import in_python, methods, references
from parsimon.report.trait_findings import CALLED, LeftOut, TraitFindings, TraitTable

__all__ = ["facts", "lead", "references", "sections", "subtitle", "summary_lines", "title"]

_MOST_NAMES = 6
_MOST_FEATURES = 24


def title(findings: TraitFindings) -> str:
    """Return the report's title."""
    return f"What explains {target_of(findings)} in {clean(findings.table.name)}"


def subtitle(findings: TraitFindings) -> str:
    """Return the line below the title."""
    run = findings.run
    return f"A trait and its tree: a report written by Parsimon {run.version} on {run.date}"


def facts(findings: TraitFindings) -> tuple[tuple[str, str], ...]:
    """Return the lines of the front page: what is said, and its value."""
    table = findings.table
    lines = [
        ("Species", _species(table)),
        ("Tree", f"{table.n_tips:,} tips"),
        ("Features", f"{len(table.features):,}"),
        ("Target", f"{clean(table.target)} ({_range(table)})"),
        ("Model", CALLED[findings.model]),
        ("Folds", "none" if findings.error is None else f"{findings.error.n_folds}, whole clades"),
    ]
    return (*lines, *run_facts(findings.run))


def lead(findings: TraitFindings) -> tuple[Block, ...]:
    """Return what comes before the first section."""
    table = findings.table
    done = left_out_sentences(table)
    said = (_size(table), _matching(table), _question(table), _coded(table), _completed(table))
    blocks: list[Block] = [paragraph(*filter(None, said))]
    if done:
        blocks += [paragraph((Strong("What was left out."),)), bullets(*done)]
    elif not findings.run.reading:
        blocks.append(paragraph("Every row, every column and every tip was used."))
    return tuple(blocks)


def left_out_sentences(table: TraitTable) -> tuple[str, ...]:
    """Return what was not used, and why."""
    return tuple(
        sentence
        for sentence in (
            _not_in_tree(table),
            _without_row(table),
            _unnamed(table),
            _without_target(table),
            _incomplete(table),
            _dropped(table),
            *_columns(table.left_out),
            _redundant(table),
        )
        if sentence
    )


def _species(table: TraitTable) -> str:
    if table.n_fitted == table.n_rows:
        return f"{table.n_rows:,}"
    return f"{table.n_fitted:,} fitted, of {table.n_rows:,} rows"


def _range(table: TraitTable) -> str:
    return f"{short(table.target_minimum)} to {short(table.target_maximum)}"


def _size(table: TraitTable) -> str:
    return (
        f"The table {clean(table.name)} has {count(table.n_rows, 'row')} and "
        f"{count(table.n_columns, 'column')}, and the tree has {count(table.n_tips, 'tip')}."
    )


def _matching(table: TraitTable) -> str:
    by = f"the column {clean(table.tip)}" if table.tip else "the index of the table"
    found = {"given": "", "called": "", "matched": ", which has the most names of tips"}
    renamed = ""
    if table.n_renamed:
        rows = count(table.n_renamed, "name")
        renamed = f", and {rows} matched once spaces and underscores were taken for the same"
    part = f"{table.n_in_tree:,} of the rows"
    if table.n_in_tree == table.n_rows:
        part = "all of the rows"
    rows = f"Rows were matched with tips by {by}{found[table.tip_found]}"
    return f"{rows}: {part} are in the tree{renamed}."


def _question(table: TraitTable) -> str:
    names = [one.name for one in table.features]
    question = (
        f"The question is what explains {clean(table.target)}, which goes from "
        f"{short(table.target_minimum)} to {short(table.target_maximum)} with a mean of "
        f"{short(table.target_mean)}"
    )
    if not names:
        return f"{question}. There are no features, so that the tree alone can explain it."
    many = f"{opened(spelled(len(names), 'feature'))} may be used for it"
    return f"{question}. {many}: {named(names, _MOST_FEATURES)}."


def _coded(table: TraitTable) -> str:
    if not table.coded:
        return ""
    return (
        f"The words of {named(table.coded, _MOST_NAMES)} are features too: each level is 1 in the "
        "species that have it and 0 in the others."
    )


def _completed(table: TraitTable) -> str:
    n = table.n_completed
    if not n:
        return ""
    gaps = joined([f"{clean(name)} ({cells:,})" for name, cells in table.completed], _MOST_NAMES)
    lack = "lacks a feature; it stays" if n == 1 else "lack a feature; they stay"
    return (
        f"{count(n, 'species', 'species')} {lack} in, with what the other features and the "
        f"relatives let expect in the empty cells: {gaps}."
    )


def _not_in_tree(table: TraitTable) -> str:
    n = len(table.not_in_tree)
    if not n:
        return ""
    are = "is not a tip" if n == 1 else "are not tips"
    return f"{count(n, 'row')} {are} of the tree: {_names(table.not_in_tree)}."


def _without_row(table: TraitTable) -> str:
    n = len(table.without_row)
    if not n:
        return ""
    have = "has" if n == 1 else "have"
    return f"{count(n, 'tip')} of the tree {have} no row in the table: {_names(table.without_row)}."


def _unnamed(table: TraitTable) -> str:
    if not table.n_unnamed:
        return ""
    have = "has" if table.n_unnamed == 1 else "have"
    return f"{count(table.n_unnamed, 'row')} {have} no name of a tip."


def _without_target(table: TraitTable) -> str:
    n = table.n_in_tree - table.n_measured
    if not n:
        return ""
    said = (
        f"{count(n, 'species', 'species')} {'has' if n == 1 else 'have'} no {clean(table.target)}: "
        f"{'it was' if n == 1 else 'they were'} not fitted"
    )
    if n == table.n_unpredictable:
        return f"{said}, and not predicted either, for lack of features."
    if table.n_unpredictable:
        lack = "lacks" if table.n_unpredictable == 1 else "lack"
        return f"{said} but predicted, except {table.n_unpredictable:,} that {lack} features too."
    return f"{said} but predicted."


def _incomplete(table: TraitTable) -> str:
    n = table.n_incomplete
    if not n:
        return ""
    gaps = joined([f"{clean(name)} ({cells:,})" for name, cells in table.gaps], _MOST_NAMES)
    have = "lacks a feature and is" if n == 1 else "lack a feature and are"
    return (
        f"{count(n, 'species', 'species')} {have} left out of the regressions, but not of signal "
        f"and ancestors: {_names(table.incomplete)}. Empty cells are in {gaps}."
    )


def _dropped(table: TraitTable) -> str:
    if not table.dropped:
        return ""
    one = len(table.dropped) == 1
    which = f"The {'column' if one else 'columns'} {named(table.dropped, _MOST_NAMES)}"
    return f"{which} {'was' if one else 'were'} dropped, as asked."


def _columns(left_out: tuple[LeftOut, ...]) -> tuple[str, ...]:
    """Return a sentence for each reason."""
    sentences = []
    for reason in dict.fromkeys(one.reason for one in left_out):
        alike = [one for one in left_out if one.reason == reason]
        sentences.append(_reason(reason, alike))
    return tuple(sentences)


def _reason(reason: str, columns: list[LeftOut]) -> str:
    one = len(columns) == 1
    names = named([each.column for each in columns], _MOST_NAMES)
    which = f"The column {names}" if one else f"The columns {names}"
    if reason == "text":
        such = f" such as {quoted(columns[0].value)}" if one else ""
        return f"{which} {'holds' if one else 'hold'} text{such}."
    if reason == "date":
        return f"{which} {'holds' if one else 'hold'} dates."
    if reason == "constant":
        value = f": {columns[0].value}" if one else ""
        return f"{which} {'has' if one else 'have'} the same value in all species{value}."
    if reason == "empty":
        return f"{which} {'is' if one else 'are'} empty."
    if reason == "mostly_empty":
        return f"{which} {'is' if one else 'are'} more than half empty."
    if reason == "costly":
        with_it = "it" if one else "them"
        return (
            f"{which} {'has' if one else 'have'} so many empty cells that with {with_it} fewer "
            "than half of the species would be complete."
        )
    return f"{which} only {'numbers' if one else 'number'} the rows."


def _redundant(table: TraitTable) -> str:
    if not table.redundant:
        return ""
    names = named(table.redundant, _MOST_NAMES)
    one = len(table.redundant) == 1
    what = (
        "the other features determine it, as shares that add up to one do"
        if one
        else "the other features determine them"
    )
    are = "is" if one else "are"
    return f"{names} {are} left out of PGLS and of least squares without the tree: {what}."


def _names(names: tuple[str, ...]) -> str:
    return named(names, _MOST_NAMES)


def summary(findings: TraitFindings) -> Section:
    """Return the executive summary."""
    blocks: list[Block] = [
        KeyFigures(tuple(_key_figures(findings))),
        paragraph(species_sentence(findings), *signal_sentences(findings)),
    ]
    if findings.phyrvm is not None:
        blocks.append(paragraph(*sparse_sentences(findings), *squares_sentences(findings)))
    blocks.append(
        paragraph(
            *error_sentences(findings), recommended_line(findings.comparison, _guess_miss(findings))
        )
    )
    blocks.append(paragraph(*root_sentences(findings)))
    return Section("summary", "Executive summary", tuple(blocks))


def species_sentence(findings: TraitFindings) -> str:
    """Return how many species of the table were used."""
    table = findings.table
    inside = f"{table.n_in_tree:,} of {count(table.n_rows, 'row')} of {clean(table.name)}"
    if table.n_in_tree == table.n_rows:
        inside = f"All {count(table.n_rows, 'row')} of {clean(table.name)}"
    if table.n_measured == table.n_fitted == table.n_in_tree:
        return f"{inside} are species of the tree."
    said = f"{inside} are species of the tree; {table.n_measured:,} have {clean(table.target)}"
    if table.n_fitted == table.n_measured:
        return f"{said}."
    return f"{said}, and {table.n_fitted:,} of these all features."


def _key_figures(findings: TraitFindings) -> list[KeyFigure]:
    signal, target = findings.signal, target_of(findings)
    best = signal.pagel_lambda
    items = [
        KeyFigure(
            decimal(best.estimate, 2),
            "Pagel's lambda",
            f"{decimal(best.low, 2)} to {decimal(best.high, 2)}: {follows(signal)}",
        )
    ]
    if findings.phyrvm is not None:
        kept, n = len(findings.phyrvm.weights), len(findings.table.features)
        items.append(KeyFigure(f"{kept} of {n}", "features kept", "by PhyRVM"))
    own = None if findings.error is None else findings.error.of(findings.model)
    mean = None if findings.error is None else findings.error.of("mean")
    if own is not None and mean is not None:
        detail = f"{ends(own.rmse)}; by the mean {short(mean.rmse.estimate)}"
        name = CALLED[findings.model]
        items.append(
            KeyFigure(short(own.rmse.estimate), f"error on unseen clades ({name})", detail)
        )
    root = next((one for one in findings.root if one.way == "lambda"), None)
    if root is not None:
        label = f"{target} of the last common ancestor"
        items.append(KeyFigure(short(root.value.estimate), label, ends(root.value)))
    return items


def summary_lines(findings: TraitFindings) -> tuple[str, ...]:
    """Return the report in a few plain sentences."""
    table = findings.table
    tip = f"column {clean(table.tip)}" if table.tip else "the index"
    lines = [
        f"{species_sentence(findings)} Tips by {tip}, "
        f"{count(len(table.features), 'feature')}, target {target_of(findings)}.",
        " ".join(signal_sentences(findings)[:1]),
    ]
    if findings.phyrvm is not None:
        lines += [" ".join(filter(None, sparse_sentences(findings)))]
        lines += squares_sentences(findings)
    lines += [sentence for sentence in error_sentences(findings) if sentence]
    lines += filter(None, [recommended_line(findings.comparison, _guess_miss(findings))])
    lines += root_sentences(findings)
    return (*lines, *_predicted(findings))


def _predicted(findings: TraitFindings) -> tuple[str, ...]:
    n, lacking = len(findings.predictions), findings.table.n_unpredictable
    if not n + lacking:
        return ()
    without = f"species without {target_of(findings)}"
    if not lacking:
        return (f"{n:,} {without} {'was' if n == 1 else 'were'} predicted.",)
    return (f"{n:,} of {n + lacking:,} {without} {'was' if n == 1 else 'were'} predicted.",)


def _guess_miss(findings: TraitFindings) -> float:
    """Return by how much the mean of the others misses, in the unit of the trait."""
    guess = None if findings.error is None else findings.error.of("mean")
    return math.nan if guess is None else guess.rmse.estimate


def _saved(findings: TraitFindings, found: ModelComparison) -> str:
    """Say which model the file holds, where it is not the one that the page describes."""
    name, leading = found.recommended.name, CALLED[findings.model]
    said = "All got the same features; rivals and guessing know no tree."
    if name == leading:
        return f"{said} The saved model is {leading}, fitted to all species."
    return (
        f"{said} The saved model is the recommended one, fitted to all species; the rest of this "
        f"page is about {leading}."
    )


def sections(findings: TraitFindings) -> Iterator[Section]:
    """Yield all sections."""
    yield summary(findings)
    yield signal_section(findings)
    if findings.phyrvm is not None:
        yield features_section(findings)
    yield error_section(findings)
    if findings.comparison is not None:
        yield models_section(
            findings,
            findings.comparison,
            (_saved(findings, findings.comparison),),
            _guess_miss(findings),
        )
    yield ancestors_section(findings)
    if findings.predictions:
        yield predictions_section(findings)
    yield in_python(findings)
    yield methods(findings)
