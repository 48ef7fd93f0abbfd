"""Where the period of a wave is likely to be: a periodogram for places that are not even.

The evidence of a periodic term has a narrow peak at the period and many lesser ones beside it, so
that a fit from anywhere else does not find it.
"""

import numpy as np

from parsimon._typing import Array

# Frequencies for each one that the extent of the data can tell apart.
_OVERSAMPLING = 6
_MOST_ROWS = 1000


def likely_period(x: Array, y: Array, *, most_waves: float = np.inf) -> float | None:
    """Return the period of the wave that explains most of the target after a straight line.

    The periodogram of Lomb and Scargle with a free mean, from one and a half waves within the
    data to one wave for every two distinct values, or to `most_waves` if that is less.

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
    most = min(n_distinct / 2, _MOST_ROWS / 2, most_waves)
    n_waves = np.arange(1.5, most, 1 / _OVERSAMPLING)
    if not len(n_waves):
        return None
    power = _power(np.outer(2 * np.pi * n_waves / extent, x), y)
    return extent / float(n_waves[int(np.argmax(power))])


def _power(angles: Array, y: Array) -> Array:
    """Return the sum of squares that each wave with a free mean explains of a centred target.

    Shapes: angles (n_frequencies, n), y (n,).
    """
    cosine, sine = np.cos(angles), np.sin(angles)
    cosine -= cosine.mean(axis=1, keepdims=True)
    sine -= sine.mean(axis=1, keepdims=True)
    CC, SS, CS = (
        np.einsum("fn,fn->f", *two) for two in ((cosine, cosine), (sine, sine), (cosine, sine))
    )
    YC, YS = cosine @ y, sine @ y
    determinant = CC * SS - CS**2
    # At the edge of what the places can tell, one of the two waves vanishes at all of them.
    told = determinant > 1e-9 * len(y) ** 2
    explained = SS * YC**2 + CC * YS**2 - 2 * CS * YC * YS
    power: Array = np.where(told, explained / np.where(told, determinant, 1.0), 0.0)
    return power
