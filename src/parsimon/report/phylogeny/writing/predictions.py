"""Species without a target, predicted."""

from parsimon.report.document import Cell, Heading, Reference, Section, Table
from parsimon.report.phylogeny.findings import TraitFindings
from parsimon.report.phylogeny.names import SPOKEN
from parsimon.report.phylogeny.writing.words import ends_cell, target_of, value_cell
from parsimon.report.sections._blocks import Sentence, paragraph
from parsimon.report.sections._phrases import clean, count, opened, spelled

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
    return Section("predictions", "Species without a value", (said, _table(findings)))


def _which(findings: TraitFindings) -> tuple[str, ...]:
    """Return how many species have no target, and how many of these are predicted."""
    n, lacking = len(findings.predictions), findings.table.n_unpredictable
    every = n + lacking
    have = f"{'has' if every == 1 else 'have'} no {target_of(findings)}"
    first = f"{count(every, 'species', 'species')} of the table {have}"
    known = "predicted from what is known about it and its relatives."
    if not lacking:
        return (f"{first}; {'it' if n == 1 else 'each'} is {known}",)
    too = f"{'lacks' if lacking == 1 else 'lack'} features too and"
    return (
        f"{first}. {opened(spelled(n))} {'is' if n == 1 else 'are each'} {known}",
        f"{opened(spelled(lacking))} {too} {'is' if lacking == 1 else 'are'} not predicted.",
    )


def _table(findings: TraitFindings) -> Table:
    target = target_of(findings)
    species = findings.predictions[:_MOST_ROWS]
    more = len(findings.predictions) - len(species)
    further = (
        f"{count(more, 'further species', 'further species')} in the findings as data (--json)."
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
            (Cell(clean(one.tip)), value_cell(one.predicted.estimate), ends_cell(one.predicted))
            for one in species
        ),
        note=further if more else "",
    )
