"""What the table and the tree of a trait are, and what was done to them."""

from parsimon.report.document import Block, Section, Strong
from parsimon.report.findings.trait_findings import LeftOut, TraitFindings, TraitTable
from parsimon.report.sections._blocks import bullets, paragraph
from parsimon.report.sections._phrases import (
    clean,
    count,
    joined,
    named,
    opened,
    quoted,
    short,
    spelled,
)

_MOST_NAMES = 6
_MOST_FEATURES = 24


def species_section(findings: TraitFindings) -> Section:
    """Return the section about the table and the tree, and what was done to them."""
    table = findings.table
    done = left_out_sentences(table)
    said = (
        _size(table),
        species_sentence(findings),
        _matching(table),
        _question(table),
        _coded(table),
        _completed(table),
    )
    blocks: list[Block] = [paragraph(*filter(None, said))]
    if done:
        blocks += [paragraph((Strong("What was left out."),)), bullets(*done)]
    elif not findings.run.reading:
        blocks.append(paragraph("Every row, every column and every tip was used."))
    title = "The species, the tree, and what was done to them"
    return Section("species", title, tuple(blocks), folded=True)


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


def fitted_species(table: TraitTable) -> str:
    """Return how many species were fitted."""
    if table.n_fitted == table.n_rows:
        return f"{table.n_rows:,}"
    return f"{table.n_fitted:,} fitted, of {table.n_rows:,} rows"


def target_range(table: TraitTable) -> str:
    """Return the range of the target."""
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
