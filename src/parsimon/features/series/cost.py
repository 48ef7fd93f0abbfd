"""What trees cost: operations by the formulas of Mierswa (2009), section 7.3."""

from collections.abc import Sequence
from math import log

from parsimon.features.series.evaluate import window_places
from parsimon.features.series.trees import MethodTree, TreeStep


def tree_cost(trees: MethodTree | Sequence[MethodTree], length: int) -> float:
    """Return the operations that trees need for one series; common first steps count once.

    A step costs L, L log2 L or L^p for a series of L values, as its method grows; windowing costs
    what is inside for the length of a window, times the number of windows.

    Parameters
    ----------
    trees : MethodTree or sequence of MethodTree
    length : int
        Of the series.

    Examples
    --------
    >>> from parsimon.features.series import parse_tree
    >>> tree_cost(parse_tree("mean"), 100)
    100.0
    >>> tree_cost([parse_tree("difference > mean"), parse_tree("difference > maximum")], 100)
    298.0
    """
    chains = [trees.steps] if isinstance(trees, MethodTree) else [tree.steps for tree in trees]
    return _chains_cost(chains, length)


def _chains_cost(chains: Sequence[tuple[TreeStep, ...]], length: int) -> float:
    groups: dict[TreeStep, list[tuple[TreeStep, ...]]] = {}
    for chain in chains:
        groups.setdefault(chain[0], []).append(chain[1:])
    total = 0.0
    for first, rests in groups.items():
        own, made = _step_cost(first, length)
        total += own
        left = [rest for rest in rests if rest]
        total += _chains_cost(left, made) if left else 0.0
    return total


def _step_cost(step: TreeStep, length: int) -> tuple[float, int]:
    """Return the operations of a step for a series, and the length of what it makes."""
    method = step.method
    if step.name == "windows":
        width, starts = window_places(length, *step.options)
        inner = _chains_cost([step.inside], width)
        ends = step.inside[-1].method.kind == "function"
        return len(starts) * inner, len(starts) if ends else length
    if step.name == "segments":
        return length + _chains_cost([step.inside], length), max(1, length // 2)
    if step.name in ("channel", "interval"):
        operations = 0.0
    elif method.growth == "log":
        operations = length * log(max(length, 2), 2)
    else:
        operations = float(length) ** float(method.growth)
    made = length if method.length is None else method.length(length, *step.options)
    return operations, made
