"""What trees cost: operations by the formulas of Mierswa (2009), section 7.3, and seconds.

`tree_cost` counts operations; `windowing_cost` and `dynamic_windowing_cost` are the source's closed
forms; `search_space_size` says how many trees there are; `measured_seconds` takes the time.
"""

import time
from collections.abc import Sequence
from math import ceil, floor, lgamma, log, log10
from typing import Any, Literal

import numpy as np

from parsimon.exceptions import InvalidInputError
from parsimon.features.series.evaluate import SeriesTable, tree_values, window_places
from parsimon.features.series.tree_methods import METHODS
from parsimon.features.series.trees import MethodTree, TreeStep

Growth = float | Literal["log"]
_EXACT = 3000


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


def windowing_cost(
    n: int, w: int, g: float, growth: Growth = 1.0, *, base: float | None = None
) -> float:
    r"""Return the work of windows of width w and overlap g over n values, by the closed forms.

    With :math:`k = n/s - g + 1` windows of step :math:`s = w/g` the work is
    :math:`g n w^{p-1} - g w^p + w^p` for a method that grows like :math:`n^p`,
    :math:`(gn - gw + w)\log w` for one like :math:`n\log n`, and
    :math:`\frac{gn}{w}a^w - g a^w + a^w` for one like :math:`a^n`.

    Parameters
    ----------
    n, w : int
        Values of the series and of a window.
    g : float
        Overlap, the width over the step.
    growth : float or "log"
        The power p, or "log" for n log2 n.
    base : float, optional
        The base a of an exponential method; then `growth` is not used.

    Examples
    --------
    >>> windowing_cost(100, 10, 1, 2), windowing_cost(100, 10, 2, 2)
    (1000.0, 1900.0)
    """
    if not 1 <= w <= n or g < 1:
        raise InvalidInputError(f"1 <= w <= n and g >= 1 are needed, got n={n}, w={w}, g={g}.")
    if base is not None:
        return g * n / w * base**w - g * base**w + base**w
    if growth == "log":
        return (g * n - g * w + w) * log(w, 2)
    p = float(growth)
    return float(g * n * w ** (p - 1) - g * w**p + w**p)


def dynamic_windowing_cost(n: int, d: int, g: float = 1.0) -> tuple[int, float, float]:
    r"""Return depth, work and its bound for windows of a d-th of the length, nested to the end.

    A level i has :math:`(g(d-1)+1)^i` windows of :math:`n/d^i` values (Lemma 7.6 and Theorem 7.2),
    each worked on by a quadratic method.

    Parameters
    ----------
    n : int
        Values of the series.
    d : int
        Windows are a d-th as long as what they cut, 2 to n/2.
    g : float
        Overlap.

    Returns
    -------
    depth : int
        At most :math:`\log_d n - 1`.
    work : float
        Of all levels.
    bound : float
        :math:`\frac{d^2}{g(d-1)+1}\,n^{\log_d(g(d-1)+1)}` and the first level's :math:`n^2`.

    Examples
    --------
    >>> dynamic_windowing_cost(64, 2)[0]
    5
    """
    if not 2 <= d <= n / 2 or g < 1:
        raise InvalidInputError(f"2 <= d <= n/2 and g >= 1 are needed, got n={n}, d={d}, g={g}.")
    depth = floor(log(n) / log(d) - 1 + 1e-9)
    windows = g * (d - 1) + 1
    levels = [windows**i * (n / d**i) ** 2 for i in range(1, depth + 1)]
    return depth, float(sum(levels)), d**2 / windows * n ** (log(windows) / log(d)) + float(n) ** 2


def search_space_size(
    n_functions: int | None = None, n_transformations: int | None = None, depth: int = 0
) -> float:
    r"""Return the decimal logarithm of the number of method trees (Theorem 7.1).

    :math:`K_0 = F\sum_{k=0}^{T_0} T_0!/(T_0-k)!` chains; with windows nested once more,
    :math:`T_{i+1} = T_0 + K_i`. Each transformation occurs at most once in a chain, so that the
    number is a lower bound where it may occur again, and options are not counted.

    Parameters
    ----------
    n_functions, n_transformations : int, optional
        F and T_0; those of the catalogue if left out.
    depth : int
        How deep windows are nested. Infinity is returned for what even a logarithm cannot hold.

    Examples
    --------
    >>> round(10 ** search_space_size(2, 3))
    32
    """
    kinds = [method.kind for method in METHODS.values()]
    functions = kinds.count("function") if n_functions is None else n_functions
    given = kinds.count("transformation") if n_transformations is None else n_transformations
    if functions < 1 or given < 0 or depth < 0:
        raise InvalidInputError("At least one function, and no negative number, is needed.")
    size = log10(functions) + _arrangements(float(given))
    for _ in range(depth):
        if size > 300:
            return float("inf")
        size = log10(functions) + _arrangements(given + 10.0**size)
    return size


def _arrangements(count: float) -> float:
    """Return log10 of the number of ordered choices of any of `count` things, each once."""
    if count <= _EXACT:
        total = term = 1
        for left in range(ceil(count), 0, -1):
            term *= left
            total += term
        return float(log10(total))
    # The sum is e times the factorial, less than 1 / count of it away.
    return (lgamma(count + 1.0) + 1.0) / log(10.0)


def measured_seconds(trees: Sequence[MethodTree], X: Any, *, repeat: int = 5) -> float:
    """Return the seconds that trees need for one series: the least of several runs over all.

    Parameters
    ----------
    trees : sequence of MethodTree
    X : SeriesTable, or what it reads
    repeat : int
        Runs.

    Examples
    --------
    >>> import numpy as np
    >>> from parsimon.features.series import parse_tree
    >>> measured_seconds([parse_tree("mean")], np.ones((10, 20))) < 1
    True
    """
    table = X if isinstance(X, SeriesTable) else SeriesTable(X)
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        tree_values(trees, table)
        times.append(time.perf_counter() - begin)
    return float(np.min(times)) / table.n_series
