"""What the ancestors had."""

from parsimon.report.document import Block, Cell, Heading, Section, Table
from parsimon.report.findings import Interval
from parsimon.report.phylogeny.findings import Ancestor, RootFinding, TraitFindings
from parsimon.report.phylogeny.names import CALLED
from parsimon.report.phylogeny.writing.words import (
    ends_cell,
    figure,
    short,
    shown,
    target_of,
    value_cell,
    within,
)
from parsimon.report.sections._blocks import Sentence, count_cell, note, paragraph
from parsimon.report.sections._phrases import clean, decimal

_MOST_NODES = 8
_NO_TREE = 0.05


def root_sentences(findings: TraitFindings) -> tuple[str, ...]:
    """Return what the last common ancestor had."""
    root = _way(findings, "lambda")
    if root is None:
        return ()
    target = target_of(findings)
    first = (
        f"The tree puts {target} of the last common ancestor of these species at "
        f"{within(root.value)}."
    )
    line = _way(findings, "line")
    if line is None:
        return (first,)
    return (
        first,
        f"From its reconstructed features {CALLED[findings.model]} puts it at "
        f"{within(line.value)}.",
    )


def ancestors_section(findings: TraitFindings) -> Section:
    """Return the section about ancestors."""
    blocks: list[Block] = [
        paragraph(*root_sentences(findings), *_spread(findings)),
        _root_table(findings),
        paragraph(*_reading(findings)),
        *figure(findings, "tree"),
        _node_table(findings),
    ]
    if findings.signal.pagel_lambda.estimate < _NO_TREE:
        blocks.insert(
            1,
            note(
                "caution",
                _near_zero(findings.signal.pagel_lambda),
            ),
        )
    return Section("ancestors", "Ancestors", tuple(blocks))


def _near_zero(best: Interval) -> str:
    said = (
        "Lambda is estimated near zero, so that each ancestor is put near the mean of the species"
    )
    if best.high < _NO_TREE:
        return f"{said}."
    return (
        f"{said}. It may be as much as {decimal(best.high, 2)}, and then ancestors differ more "
        "than is shown."
    )


def _way(findings: TraitFindings, way: str) -> RootFinding | None:
    return next((one for one in findings.root if one.way == way), None)


def _spread(findings: TraitFindings) -> tuple[str, ...]:
    table, root = findings.table, _way(findings, "lambda")
    if root is None:
        return ()
    width = root.value.high - root.value.low
    spread = table.target_maximum - table.target_minimum
    if width > 0.5 * spread:
        return (
            "The interval is wide beside the species themselves, which go from "
            f"{short(table.target_minimum)} to {short(table.target_maximum)}.",
        )
    return ()


def _root_table(findings: TraitFindings) -> Table:
    model = CALLED[findings.model]
    said = {
        "lambda": "Target of the species, Pagel's lambda",
        "brownian": "Target of the species, Brownian motion",
        "line": f"Features of the ancestor, line of {model}",
    }
    return Table(
        anchor="table-root",
        caption=f"The {target_of(findings)} of the last common ancestor, in several ways.",
        headings=(
            Heading("From"),
            Heading("Value", numeric=True),
            Heading("Interval", numeric=True, help="95 %."),
        ),
        rows=tuple(
            (Cell(said[one.way]), value_cell(one.value.estimate), ends_cell(one.value))
            for one in findings.root
        ),
    )


def _reading(findings: TraitFindings) -> tuple[Sentence, ...]:
    features = ""
    if _way(findings, "line") is not None:
        features = (
            "Features of ancestors are reconstructed by Brownian motion, and the regression is "
            "then applied to them."
        )
    return (
        "Each way presumes that the target, or the features, drifted along the branches without a "
        "trend: a common trend in all species leaves no trace among them.",
        features,
        shown(findings, "tree", "shows the reconstruction"),
    )


def _node_table(findings: TraitFindings) -> Table:
    nodes = sorted(findings.ancestors, key=lambda one: -one.n_tips)
    named = [one for one in nodes if one.name and not _is_number(one.name)]
    chosen = [one for one in nodes if one.node == 0]
    chosen += [one for one in named if one.node != 0][: _MOST_NODES - 1]
    others = [one for one in nodes if one not in chosen]
    chosen += others[: _MOST_NODES - len(chosen)]
    chosen.sort(key=lambda one: (one.node != 0, -one.n_tips, one.node))
    return Table(
        anchor="table-nodes",
        caption="The root, and ancestors of named or large clades.",
        headings=(
            Heading("Ancestor of"),
            Heading("Species", numeric=True),
            Heading("Depth", numeric=True, help="Distance from the root."),
            Heading(target_of(findings), numeric=True),
            Heading("Interval", numeric=True, help="95 %."),
        ),
        rows=tuple(_row(one) for one in chosen),
        note=f"The findings as data (--json) have all {len(nodes):,} ancestors."
        if len(nodes) > len(chosen)
        else "",
    )


def _row(one: Ancestor) -> tuple[Cell, ...]:
    pair = f"{clean(one.first)} and {clean(one.last)}"
    name = pair if not one.name or _is_number(one.name) else clean(one.name)
    return (
        Cell("all species (the root)" if one.node == 0 else name),
        count_cell(one.n_tips),
        value_cell(one.depth),
        value_cell(one.value.estimate),
        ends_cell(one.value),
    )


def _is_number(name: str) -> bool:
    """Return whether a node's name is the support of its branch, as programs write it."""
    try:
        float(name)
    except ValueError:
        return False
    return True
