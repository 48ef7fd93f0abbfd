"""Where a periodic kernel should begin: the period that a target shows along a column.

The evidence of a periodic kernel has a narrow peak at the period and many lesser ones beside it,
so that a fit from anywhere else does not find it.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from parsimon._typing import Array
from parsimon.kernels import Kernel, Periodic

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
