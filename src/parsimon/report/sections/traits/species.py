"""What the table and the tree of a trait are, and what was done to them."""

from parsimon.report.document import Block, Section, Strong
from parsimon.report.findings.trait_findings import LeftOut, TraitFindings, TraitTable
from parsimon.report.sections import _phrases as say
from parsimon.report.sections._blocks import bullets, paragraph

_MOST_NAMES = 6
_MOST_FEATURES = 24


def species_section(findings: TraitFindings) -> Section:
    """Return the section about the table and the tree, and what was done to them."""
    table = findings.table
    done = left_out_sentences(table)
    size = (
        f"The table {say.clean(table.name)} has {say.count(table.n_rows, 'row')} and "
        f"{say.count(table.n_columns, 'column')}, and the tree has "
        f"{say.count(table.n_tips, 'tip')}."
    )
    coded = _about(
        "The words of {names} are features too: each level is 1 in the species that have it and 0 "
        "in the others.",
        table.coded,
    )
    said = (size, species_sentence(findings), _matching(table), _question(table), coded)
    blocks: list[Block] = [paragraph(*said, _tell_completed(table))]
    if done:
        blocks += [paragraph((Strong("What was left out."),)), bullets(*done)]
    elif not findings.run.reading:
        blocks.append(paragraph("Every row, every column and every tip was used."))
    title = "The species, the tree, and what was done to them"
    return Section("species", title, tuple(blocks), folded=True)


def left_out_sentences(table: TraitTable) -> tuple[str, ...]:
    """Return what was not used, and why."""
    unnamed = say.inflect(
        "{n} [has|have] no name of a tip.", table.n_unnamed, n=_rows(table.n_unnamed)
    )
    said = (
        _about("{n} [is not a tip|are not tips] of the tree: {names}.", table.not_in_tree, "row"),
        _about(
            "{n} of the tree [has|have] no row in the table: {names}.", table.without_row, "tip"
        ),
        unnamed if table.n_unnamed else "",
        _without_target(table),
        _incomplete(table),
        _about("The [column|columns] {names} [was|were] dropped, as asked.", table.dropped),
        *_columns(table.left_out),
        _about(
            "{names} [is|are] left out of PGLS and of least squares without the tree: the other "
            "features determine [it, as shares that add up to one do|them].",
            table.redundant,
        ),
    )
    return tuple(filter(None, said))


def _about(template: str, names: tuple[str, ...], noun: str = "column") -> str:
    """Return a sentence about some names; empty if there are none."""
    n = len(names)
    said = {"n": say.count(n, noun), "names": say.named(names, _MOST_NAMES)}
    return say.inflect(template, n, **said) if n else ""


def _rows(n: int) -> str:
    return say.count(n, "row")


def _species(n: int) -> str:
    return say.count(n, "species", "species")


def _gaps(gaps: tuple[tuple[str, int], ...]) -> str:
    return say.joined([f"{say.clean(name)} ({cells:,})" for name, cells in gaps], _MOST_NAMES)


def fitted_species(table: TraitTable) -> str:
    """Return how many species were fitted."""
    if table.n_fitted == table.n_rows:
        return f"{table.n_rows:,}"
    return f"{table.n_fitted:,} fitted, of {table.n_rows:,} rows"


def target_range(table: TraitTable) -> str:
    """Return the range of the target."""
    return f"{say.short(table.target_minimum)} to {say.short(table.target_maximum)}"


def _matching(table: TraitTable) -> str:
    by = f"the column {say.clean(table.tip)}" if table.tip else "the index of the table"
    found = {"given": "", "called": "", "matched": ", which has the most names of tips"}
    renamed = ""
    if table.n_renamed:
        names = say.count(table.n_renamed, "name")
        renamed = f", and {names} matched once spaces and underscores were taken for the same"
    part = "all" if table.n_in_tree == table.n_rows else f"{table.n_in_tree:,}"
    return (
        f"Rows were matched with tips by {by}{found[table.tip_found]}: {part} of the rows are in "
        f"the tree{renamed}."
    )


def _question(table: TraitTable) -> str:
    names = [feature.name for feature in table.features]
    question = (
        f"The question is what explains {say.clean(table.target)}, which goes from "
        f"{target_range(table)} with a mean of {say.short(table.target_mean)}"
    )
    if not names:
        return f"{question}. There are no features, so that the tree alone can explain it."
    many = f"{say.opened(say.spelled(len(names), 'feature'))} may be used for it"
    return f"{question}. {many}: {say.named(names, _MOST_FEATURES)}."


def _tell_completed(table: TraitTable) -> str:
    if not table.n_completed:
        return ""
    return say.inflect(
        "{n} [lacks a feature; it stays|lack a feature; they stay] in, with what the other "
        "features and the relatives let expect in the empty cells: {gaps}.",
        table.n_completed,
        n=_species(table.n_completed),
        gaps=_gaps(table.completed),
    )


def _without_target(table: TraitTable) -> str:
    n, lacking = table.n_in_tree - table.n_measured, table.n_unpredictable
    if not n:
        return ""
    said = say.inflect(
        "{n} [has|have] no {target}: [it was|they were] not fitted",
        n,
        n=_species(n),
        target=say.clean(table.target),
    )
    if n == lacking:
        return f"{said}, and not predicted either, for lack of features."
    if lacking:
        lack = "lacks" if lacking == 1 else "lack"
        return f"{said} but predicted, except {lacking:,} that {lack} features too."
    return f"{said} but predicted."


def _incomplete(table: TraitTable) -> str:
    if not table.n_incomplete:
        return ""
    return say.inflect(
        "{n} [lacks a feature and is|lack a feature and are] left out of the regressions, but not "
        "of signal and ancestors: {names}. Empty cells are in {gaps}.",
        table.n_incomplete,
        n=_species(table.n_incomplete),
        names=say.named(table.incomplete, _MOST_NAMES),
        gaps=_gaps(table.gaps),
    )


# What a single column holds is said with it.
_REASONS = {
    "text": "[holds|hold] text{such}.",
    "date": "[holds|hold] dates.",
    "constant": "[has|have] the same value in all species{value}.",
    "empty": "[is|are] empty.",
    "mostly_empty": "[is|are] more than half empty.",
    "costly": "[has|have] so many empty cells that with [it|them] fewer than half of the species "
    "would be complete.",
    "identifier": "only [numbers|number] the rows.",
}


def _columns(left_out: tuple[LeftOut, ...]) -> tuple[str, ...]:
    """Return a sentence for each reason."""
    sentences = []
    for reason in dict.fromkeys(column.reason for column in left_out):
        alike = [column for column in left_out if column.reason == reason]
        first, single = alike[0], len(alike) == 1
        sentences.append(
            say.inflect(
                f"The [column|columns] {{names}} {_REASONS[reason]}",
                len(alike),
                names=say.named([column.column for column in alike], _MOST_NAMES),
                such=f" such as {say.quoted(first.value)}" if single else "",
                value=f": {first.value}" if single else "",
            )
        )
    return tuple(sentences)


def species_sentence(findings: TraitFindings) -> str:
    """Return how many species of the table were used."""
    table = findings.table
    inside = f"{table.n_in_tree:,} of {_rows(table.n_rows)} of {say.clean(table.name)}"
    if table.n_in_tree == table.n_rows:
        inside = f"All {_rows(table.n_rows)} of {say.clean(table.name)}"
    if table.n_measured == table.n_fitted == table.n_in_tree:
        return f"{inside} are species of the tree."
    said = f"{inside} are species of the tree; {table.n_measured:,} have {say.clean(table.target)}"
    if table.n_fitted == table.n_measured:
        return f"{said}."
    return f"{said}, and {table.n_fitted:,} of these all features."
