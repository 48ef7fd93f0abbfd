"""Which kernels a search may try: base kernels for each column, and how one grows from another.

The evidence of a periodic kernel has a narrow peak at the period and many lesser ones beside it,
so that a fit from anywhere else does not find it: `likely_period` says where to begin.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.kernels import (
    Constant,
    Kernel,
    Linear,
    Matern,
    Periodic,
    RationalQuadratic,
    SquaredExponential,
    expand,
)

_NAMED: dict[str, Kernel] = {
    "se": SquaredExponential(),
    "per": Periodic(),
    "lin": Linear(),
    "matern": Matern(),
    "rq": RationalQuadratic(),
}


@dataclass(frozen=True)
class Grammar:
    """Base kernels, and the rules by which one more of them joins a kernel.

    base: From `base_kernels`.
    root_only: Combine base kernels only with the whole kernel; by default with any
        sub-expression.
    new_dimension: Keep at depth d only the kernels that act on d columns or more (the source's
        program does so, its text does not say it).
    """

    base: tuple[Kernel, ...]
    root_only: bool = False
    new_dimension: bool = False

    def children(self, kernel: Kernel | None, depth: int) -> tuple[Kernel, ...]:
        """Return the kernels one step from `kernel`; None stands for the empty kernel."""
        grown = expand(kernel, self.base, root_only=self.root_only)
        if not self.new_dimension:
            return grown
        return tuple(child for child in grown if len(active_columns(child, self.base)) >= depth)


def active_columns(kernel: Kernel, base: Sequence[Kernel] = ()) -> tuple[int, ...]:
    """Return the columns that a kernel sees; one that sees all has those of the base kernels."""
    if kernel.columns is not None:
        return tuple(kernel.columns)
    return tuple(sorted({column for other in base for column in other.columns or ()}))


def base_kernels(base: Any, X: Array, *, intercept: bool = True) -> tuple[Kernel, ...]:
    """Return one base kernel for each kind and column, started at values from the data.

    Shapes: X (n, d).
    """
    patterns = _patterns(base)
    varying = varying_columns(X)
    found: list[Kernel] = []
    for pattern in patterns:
        if pattern.columns is not None:
            found.append(pattern)
            continue
        for column in varying:
            found.append(_on_column(pattern, column, X, intercept=intercept).start(X))
    return tuple(found)


def varying_columns(X: Array) -> list[int]:
    """Return the columns that are not constant, but for rounding."""
    rounding = 8 * np.finfo(np.float64).eps * np.abs(X).max(axis=0)
    varying: list[int] = np.flatnonzero(np.ptp(X, axis=0) > rounding).tolist()
    return varying


def _patterns(base: Any) -> list[Kernel]:
    given = [base] if isinstance(base, (str, Kernel)) else list(base)
    if not given:
        raise InvalidInputError("base must name one base kernel or more, got none.")
    patterns: list[Kernel] = []
    for item in given:
        kernel = _NAMED.get(item.lower()) if isinstance(item, str) else item
        if not isinstance(kernel, Kernel):
            raise InvalidInputError(
                f"A base kernel is one of {', '.join(_NAMED)} or a kernel, got {item!r}."
            )
        if not kernel.is_psd:
            raise InvalidInputError(
                f"The base kernel {kernel} is not positive semi-definite, so that no Gaussian "
                "process has it as its covariance. Leave it out."
            )
        patterns.append(kernel)
    return patterns


def _on_column(pattern: Kernel, column: int, X: Array, *, intercept: bool) -> Kernel:
    if hasattr(pattern, "terms"):
        raise InvalidInputError(
            f"The base kernel {pattern} is a combination without columns; give its parts, or "
            "columns to each of them."
        )
    leaf: Any = pattern
    if not isinstance(pattern, Linear):
        copied: Kernel = replace(leaf, columns=(column,))
        return copied
    # A line that the user centred keeps its centre.
    centre = pattern.centre if pattern.centre != 0.0 else float(X[:, column].mean())
    line: Kernel = replace(leaf, columns=(column,), centre=centre)
    return Constant() + line if intercept else line


# Frequencies for each one that the extent of the data can tell apart.
_OVERSAMPLING = 6
_MOST_ROWS = 1000


def likely_period(x: Array, y: Array) -> float | None:
    """Return the period of the wave that explains most of the target after a straight line.

    The periodogram of Lomb and Scargle with a free mean, from one and a half waves within the
    data to one wave for every two distinct values.

    Shapes: x (n,), y (n,).

    Zechmeister and Kürster (2009), "The generalised Lomb-Scargle periodogram", Astronomy and
    Astrophysics 496:577-584, equations 4 to 13.
    """
    extent, n_distinct = float(np.ptp(x)), len(np.unique(x))
    if n_distinct < 6:
        return None
    thinned = slice(None, None, -(-len(x) // _MOST_ROWS))
    order = np.argsort(x, kind="stable")[thinned]
    x, y = x[order] - x[order].mean(), y[order]
    y = y - np.polynomial.Polynomial.fit(x, y, 1)(x)
    n_waves = np.arange(1.5, min(n_distinct, _MOST_ROWS) / 2, 1 / _OVERSAMPLING)
    power = [_power(2 * np.pi * count / extent * x, y) for count in n_waves]
    return extent / float(n_waves[int(np.argmax(power))])


def with_likely_periods(
    kernels: tuple[Kernel, ...], X: Array, y: Array, *, given: Any = ()
) -> tuple[Kernel, ...]:
    """Return the kernels; the periodic ones of a single column begin at its likely period.

    Shapes: X (n, d), y (n,).
    """
    own = [given] if isinstance(given, (str, Kernel)) else list(given)
    found: list[Kernel] = []
    for kernel in kernels:
        asked = any(kernel is one for one in own)
        if isinstance(kernel, Periodic) and len(kernel.columns or ()) == 1 and not asked:
            period = likely_period(X[:, kernel.columns[0]], y)
            found.append(kernel if period is None else replace(kernel, period=period))
        else:
            found.append(kernel)
    return tuple(found)


def _power(angle: Array, y: Array) -> float:
    """Return the sum of squares that one wave with a free mean explains of a centred target."""
    cosine, sine = np.cos(angle), np.sin(angle)
    cosine -= cosine.mean()
    sine -= sine.mean()
    CC, SS, CS = float(cosine @ cosine), float(sine @ sine), float(cosine @ sine)
    YC, YS = float(y @ cosine), float(y @ sine)
    determinant = CC * SS - CS**2
    if determinant <= 1e-9 * len(y) ** 2:
        # At the edge of what the places can tell, one of the two waves vanishes at all of them.
        return 0.0
    return (SS * YC**2 + CC * YS**2 - 2 * CS * YC * YS) / determinant
