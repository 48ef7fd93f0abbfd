"""What the tree says: how strongly the target follows it, and what the ancestors had."""

import math

from parsimon.report.document import Block, Cell, Heading, Section, Table
from parsimon.report.findings import Interval
from parsimon.report.findings.trait_findings import (
    CALLED,
    Ancestor,
    RootFinding,
    SignalFinding,
    TraitFindings,
)
from parsimon.report.sections._blocks import (
    Sentence,
    count_cell,
    ends_cell,
    figures,
    note,
    number_cell,
    p_cell,
    paragraph,
    refer_to_figure,
    target_of,
    value_cell,
)
from parsimon.report.sections._phrases import clean, count, decimal, p_value, short, within

_SURE = 0.05
_CLOSELY, _PARTLY = 0.9, 0.5
_ALIKE, _MUCH_ALIKE = 0.8, 1.25
_FEW = 20


def follows(signal: SignalFinding) -> str:
    """Return in a few words how the target follows the tree."""
    by_lambda, by_K = _signs(signal)
    if not by_lambda:
        if by_K:
            return "follows the tree by Blomberg's K, but not surely by lambda"
        return "shows no sure sign of following the tree"
    beside = "" if by_K else " by lambda, but not surely by Blomberg's K"
    return f"follows the tree{_GRADES[_grade(signal.pagel_lambda)]}{beside}"


_GRADES = {
    "closely": " closely",
    "partly": " in good part",
    "weakly": " weakly",
    "open": " (how closely is open)",
}


def _grade(share: Interval) -> str:
    """Return how closely a tree is followed; open where the interval reaches from end to end."""
    if share.estimate >= _CLOSELY:
        return "closely" if share.low >= _PARTLY else "open"
    if share.estimate >= _PARTLY:
        return "partly"
    return "weakly" if share.high < _CLOSELY else "open"


def follows_tree(signal: SignalFinding) -> bool:
    """Return whether relatives are surely more alike than chance makes them, by lambda and K."""
    return all(_signs(signal))


def _signs(signal: SignalFinding) -> tuple[bool, bool]:
    """Return whether lambda and K are surely more than chance."""
    return signal.lambda_p_value < _SURE, signal.K_p_value < _SURE


def signal_sentences(findings: TraitFindings) -> tuple[str, ...]:
    """Return the strength of the signal in words."""
    signal, target = findings.signal, target_of(findings)
    return (
        f"The trait {target} {follows(signal)}: Pagel's lambda is {within(signal.pagel_lambda, 2)}"
        f", and {p_value(signal.lambda_p_value)} against no signal at all.",
        _meaning(findings),
        f"Blomberg's K is {decimal(signal.K, 2)} ({p_value(signal.K_p_value)}): {_alike(signal)}.",
    )


def signal_section(findings: TraitFindings) -> Section:
    """Return the section about lambda and K."""
    target, signal = target_of(findings), findings.signal
    blocks: list[Block] = [
        paragraph(*signal_sentences(findings)),
        paragraph(
            "Pagel's lambda is 0 if relatives are no more alike than others, and 1 if they are as "
            "alike as Brownian motion along the branches makes them.",
            "Blomberg's K is 1 on average under Brownian motion; it is less if relatives are less "
            "alike than that, and greater if they are more.",
            refer_to_figure(findings, "lambda", "shows how well each lambda explains the species"),
        ),
        _table(findings),
        *figures(findings, "lambda"),
    ]
    if signal.n_species < _FEW:
        blocks.append(
            note(
                "caution",
                f"{count(signal.n_species, 'species', 'species')} are few: lambda and K can hardly "
                "separate a weak signal from none, and a lambda at the end of its range says "
                "little.",
            )
        )
    return Section("signal", f"How {target} follows the tree", tuple(blocks))


def _meaning(findings: TraitFindings) -> str:
    signal, target = findings.signal, target_of(findings)
    signs = _signs(signal)
    if any(signs) and not all(signs):
        return "The two measures weigh the tree differently, and one alone is weak evidence."
    if not any(signs):
        return (
            f"With {count(signal.n_species, 'species', 'species')} a weak signal may have been "
            "missed; if there is none, relatives say nothing about each other."
        )
    grade = _grade(signal.pagel_lambda)
    if grade == "open":
        return f"Relatives have similar values of {target}; how much of it the tree says is open."
    if grade == "closely":
        return f"Close relatives have similar values of {target}, and the tree alone says much."
    if grade == "partly":
        return (
            f"Relatives have similar values of {target}, but a good part of it changes from "
            "species to species without regard to the tree."
        )
    return f"Most of {target} changes from species to species without regard to the tree."


def _alike(signal: SignalFinding) -> str:
    """Return what K says beside 1, its expectation under Brownian motion."""
    if not _signs(signal)[1]:
        return "relatives are not surely more alike than shuffled values would be"
    if signal.K > _MUCH_ALIKE:
        return "relatives are even more alike than Brownian motion would make them"
    if signal.K > _ALIKE:
        return "relatives are about as alike as Brownian motion makes them"
    return "relatives are alike, though less than Brownian motion would make them"


def _table(findings: TraitFindings) -> Table:
    signal = findings.signal
    best = signal.pagel_lambda
    return Table(
        anchor="table-signal",
        caption=f"Phylogenetic signal of {target_of(findings)}, "
        f"{count(signal.n_species, 'species', 'species')}.",
        headings=(
            Heading("Measure"),
            Heading("Value", numeric=True),
            Heading("From", numeric=True, help="Lower end of the 95 % interval."),
            Heading("To", numeric=True, help="Upper end of the 95 % interval."),
            Heading("p", numeric=True, help="How probable as much signal would be without any."),
        ),
        rows=(
            (
                Cell("Pagel's lambda"),
                *(number_cell(value, 3) for value in (best.estimate, best.low, best.high)),
                p_cell(signal.lambda_p_value),
            ),
            (
                Cell("Blomberg's K"),
                *(number_cell(value, 3) for value in (signal.K, math.nan, math.nan)),
                p_cell(signal.K_p_value),
            ),
        ),
        note="Lambda is tested by its likelihood ratio, K by "
        f"{count(signal.n_permutations, 'permutation')} of the species.",
    )


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
        paragraph(*_ways_sentences(findings)),
        *figures(findings, "tree"),
        _node_table(findings),
    ]
    if findings.signal.pagel_lambda.estimate < _NO_TREE:
        blocks.insert(1, note("caution", _near_zero(findings.signal.pagel_lambda)))
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
    return next((root for root in findings.root if root.way == way), None)


def _spread(findings: TraitFindings) -> tuple[str, ...]:
    table, root = findings.table, _way(findings, "lambda")
    if root is None:
        return ()
    low, high = table.target_minimum, table.target_maximum
    if root.value.high - root.value.low <= 0.5 * (high - low):
        return ()
    return (
        "The interval is wide beside the species themselves, which go from "
        f"{short(low)} to {short(high)}.",
    )


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
            (Cell(said[root.way]), value_cell(root.value.estimate), ends_cell(root.value))
            for root in findings.root
        ),
    )


def _ways_sentences(findings: TraitFindings) -> tuple[Sentence, ...]:
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
        refer_to_figure(findings, "tree", "shows the reconstruction"),
    )


def _node_table(findings: TraitFindings) -> Table:
    nodes = sorted(findings.ancestors, key=lambda node: -node.n_tips)
    named = [node for node in nodes if node.name and not _is_number(node.name)]
    chosen = [node for node in nodes if node.node == 0]
    chosen += [node for node in named if node.node != 0][: _MOST_NODES - 1]
    others = [node for node in nodes if node not in chosen]
    chosen += others[: _MOST_NODES - len(chosen)]
    chosen.sort(key=lambda node: (node.node != 0, -node.n_tips, node.node))
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
        rows=tuple(_row(node) for node in chosen),
        note=f"The findings as data (--json) have all {len(nodes):,} ancestors."
        if len(nodes) > len(chosen)
        else "",
    )


def _row(node: Ancestor) -> tuple[Cell, ...]:
    pair = f"{clean(node.first)} and {clean(node.last)}"
    name = pair if not node.name or _is_number(node.name) else clean(node.name)
    return (
        Cell("all species (the root)" if node.node == 0 else name),
        count_cell(node.n_tips),
        value_cell(node.depth),
        value_cell(node.value.estimate),
        ends_cell(node.value),
    )


def _is_number(name: str) -> bool:
    """Return whether a node's name is the support of its branch, as programs write it."""
    try:
        float(name)
    except ValueError:
        return False
    return True
