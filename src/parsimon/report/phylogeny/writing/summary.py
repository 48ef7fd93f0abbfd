"""The executive summary: signal, features, error and ancestor in a few sentences."""

from parsimon.report.document import Block, KeyFigure, KeyFigures, Section
from parsimon.report.phylogeny.findings import TraitFindings
from parsimon.report.phylogeny.names import CALLED
from parsimon.report.phylogeny.writing.ancestors import root_sentences
from parsimon.report.phylogeny.writing.error import error_sentences
from parsimon.report.phylogeny.writing.models import sparse_sentences, squares_sentences
from parsimon.report.phylogeny.writing.signal import follows, signal_sentences
from parsimon.report.phylogeny.writing.words import ends, short, target_of
from parsimon.report.sections._blocks import paragraph
from parsimon.report.sections._phrases import clean, count, decimal


def summary(findings: TraitFindings) -> Section:
    """Return the executive summary."""
    blocks: list[Block] = [
        KeyFigures(tuple(_key_figures(findings))),
        paragraph(species_sentence(findings), *signal_sentences(findings)),
    ]
    if findings.phyrvm is not None:
        blocks.append(paragraph(*sparse_sentences(findings), *squares_sentences(findings)))
    blocks.append(paragraph(*error_sentences(findings)))
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
