"""Pictures of a search: what each further kernel buys, and the tree of what was tried."""

import math
import re
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from parsimon.gp import Candidate, SearchHistory
from parsimon.kernels import Kernel, plain, structure
from parsimon.report.figures import SearchNode, Step, error_steps, label, search_tree
from parsimon.report.findings import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CHILDREN = 4
_NAME_LETTERS = 16
# Longer kernels are written with x1, x2, ..., which the caption explains.
_LONGEST = 34
# Characters that stand for themselves alone: none of them can be in a name that is drawn.
_MARKED = re.compile("SE\\(\ue000(\\d+)\ue001\\)|\ue000(\\d+)\ue001")


def draw_front(study: Study) -> "Axes":
    """Draw the error against the number of kernels, with the knee and the chosen model."""
    steps = [
        Step(model.words, model.size, model.error, model.standard_error) for model in study.front
    ]
    unit = "share of rows" if study.task == "classification" else "share of the variance"
    return error_steps(steps, knee=study.knee, chosen=study.chosen, unit=unit)


def draw_search(history: SearchHistory, best: Candidate, names: Sequence[str]) -> "Axes":
    """Draw the way to the best kernel, and the best that was tried at each step of it."""
    nodes = search_nodes(history, best, names)
    said = ""
    if max(len(node.label) for node in nodes) > _LONGEST:
        short = [f"x{place + 1}" for place in range(len(names))]
        nodes = search_nodes(history, best, short)
        drawn = set(re.findall(r"\bx\d+\b", " ".join(node.label for node in nodes)))
        known = zip(short, names, strict=True)
        said = " " + "; ".join(f"{x}: {label(name, 40)}" for x, name in known if x in drawn) + "."
    ax = search_tree(nodes, most_children=len(nodes))
    ax.set_label(
        f"The search judged {len(history)} kernels, from left to right. Blue: the way to the "
        f"result; vermilion: the result. Drawn are the {MOST_CHILDREN} best kernels of each step "
        f"on the way, with their cross-validated error.{said}"
    )
    return ax


def search_nodes(history: SearchHistory, best: Candidate, names: Sequence[str]) -> list[SearchNode]:
    """Return the part of a search's tree that can be read: the way and its nearest rivals."""
    way, write = _way(history, best), _Writer(history, names)
    nodes = [
        SearchNode("constant", None, _known(history.baseline.error), on_path=True, best=not way)
    ]
    parent, above = 0, None
    for place in range(len(way) + 1):
        following = _key(way[place]) if place < len(way) else None
        chosen = parent
        for one in _children(history, above, following):
            on_path = _key(one) == following
            chosen = len(nodes) if on_path else chosen
            last = on_path and place + 1 == len(way)
            nodes.append(SearchNode(write(one.kernel), parent, _known(one.error), on_path, last))
        parent, above = chosen, following
    return nodes


def _children(
    history: SearchHistory, above: Hashable | None, following: Hashable | None
) -> list[Candidate]:
    """Return the best that grew from a kernel, with the one that the way goes on to."""
    grown = [one for one in history if _parent(one) == above and one.judged_by != "failed"]
    ranked = sorted(grown, key=lambda one: (math.isnan(one.error), one.error))
    return [one for k, one in enumerate(ranked) if k < MOST_CHILDREN or _key(one) == following]


def _known(error: float) -> float | None:
    return None if math.isnan(error) else error


def _way(history: SearchHistory, best: Candidate) -> list[Candidate]:
    """Return the candidates from the first level to the best, each the parent of the next."""
    if not history.path:
        return []
    known = {structure(one.kernel): one for one in history}
    way: list[Candidate] = []
    step = known.get(structure(best.kernel))
    while step is not None and step not in way:
        way.append(step)
        step = None if step.parent is None else known.get(structure(step.parent))
    return way[::-1]


def _parent(candidate: Candidate) -> Hashable | None:
    return None if candidate.parent is None else structure(candidate.parent)


def _key(candidate: Candidate) -> Hashable:
    return structure(candidate.kernel)


class _Writer:
    """Writes kernels short: names alone where all base kernels are smooth."""

    def __init__(self, history: SearchHistory, names: Sequence[str]) -> None:
        self.names = [label(name, _NAME_LETTERS).replace(r"\$", "$") for name in names]
        marks = [f"\ue000{place}\ue001" for place in range(len(names))]
        self.marks = marks
        written = [plain(one.kernel, marks) for one in history]
        self.smooth = not any(re.search(r"[A-Z]", _MARKED.sub("", text)) for text in written)

    def __call__(self, kernel: Kernel) -> str:
        text = plain(kernel, self.marks)

        def named(match: re.Match[str]) -> str:
            whole, bare = match.groups()
            name = self.names[int(whole or bare)]
            return name if self.smooth or whole is None else f"SE({name})"

        return _MARKED.sub(named, text)
