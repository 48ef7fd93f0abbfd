"""Closed forms of Mierswa (2009), section 7.3: what windows cost, and how many trees there are."""

from math import ceil, floor, lgamma, log, log10
from typing import Literal

from parsimon.exceptions import InvalidInputError
from parsimon.features.series.tree_methods import METHODS

Growth = float | Literal["log"]
_EXACT = 3000


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
