"""Simulated studies: pairs of aircraft with an alert, and gene variants on chromosomes.

The alert says yes or no, a black box to be tuned by its ROC; the variants stand in for a study with
groups of rows, groups of columns and strings.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsimon._checks import check_count, check_positive
from parsimon._random import Seed, generator
from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

# Seconds in which a conflict counts, and between two looks.
_HORIZON, _STEP = 120.0, 4.0
# Nautical miles and hundreds of feet that must not be undercut both at once.
_MILES, _LEVELS = 3.0, 10.0
# Standard deviations of a track: miles, levels, knots, levels a minute.
_NOISE = np.array([0.15, 0.15, 1.0, 15.0, 15.0, 2.0])


def make_alerts(n: int = 400, *, random_state: Seed = None) -> tuple[Array, Indices]:
    """Draw pairs of aircraft as a radar sees them, and whether they came too close.

    A row is the place and speed of one aircraft as seen from the other. Aircraft fly straight,
    but some turn and many level off, and the radar errs, so that no rule that looks at a row is
    always right. A pair came too close (1) if within two minutes it was nearer than 3 nautical
    miles and 1,000 feet at once. The alert of Clark (2011, section 5.7) is not public; this is a
    stand-in of the same kind.

    Parameters
    ----------
    n : int
        Rows.
    random_state : None, int, Generator, SeedSequence or RandomState
        Source of chance.

    Returns
    -------
    X : ndarray of shape (n, 6)
        dx, dy (nautical miles), dz (hundreds of feet), vx, vy (knots), vz (hundreds of feet a
        minute), all with noise.
    y : ndarray of shape (n,)
        0 or 1.

    Examples
    --------
    >>> from parsimon.datasets import make_alerts
    >>> X, y = make_alerts(1000, random_state=0)
    >>> X.shape, int(y.sum())
    ((1000, 6), 83)
    """
    check_count("n", n)
    rng = generator(random_state)
    speed, course = rng.uniform(100.0, 900.0, n), rng.uniform(0.0, 2 * np.pi, n)
    along = np.column_stack([np.cos(course), np.sin(course)])
    across = np.column_stack([-along[:, 1], along[:, 0]])
    # Closest approach so many seconds ahead, at so many miles to the side.
    ahead, aside = rng.uniform(-20.0, 160.0, n), rng.uniform(-8.0, 8.0, n)
    place = across * aside[:, None] - along * (speed * ahead / 3600.0)[:, None]
    height, climb = rng.uniform(-40.0, 40.0, n), rng.normal(0.0, 12.0, n)
    turn = np.where(rng.random(n) < 0.3, rng.normal(0.0, 4e-4, n), 0.0)
    level_off = np.where(rng.random(n) < 0.5, rng.uniform(0.0, _HORIZON, n), np.inf)
    times = np.arange(0.0, _HORIZON + _STEP, _STEP)
    east, north = (
        place[:, [k]]
        + along[:, [k]] * speed[:, None] * times / 3600.0
        + across[:, [k]] * turn[:, None] * times**2
        for k in (0, 1)
    )
    flown = np.minimum(times, level_off[:, None])
    levels = height[:, None] + climb[:, None] * flown / 60.0
    too_close = (east**2 + north**2 < _MILES**2) & (np.abs(levels) < _LEVELS)
    truth = np.column_stack([place, height, along * speed[:, None], climb])
    X = truth + _NOISE * rng.standard_normal((n, 6))
    return X, too_close.any(axis=1).astype(np.intp)


def sound_alerts(theta: Array, X: Array) -> Mask:
    """Say for each pair of aircraft whether an alert with these settings sounds.

    Both aircraft are taken to fly on as they are; the alert sounds if within the look-ahead they
    come nearer than both thresholds at once. It says nothing but yes or no.

    Parameters
    ----------
    theta : array-like of shape (3,) or (b, 3)
        Look-ahead (seconds), horizontal threshold (nautical miles), vertical threshold (hundreds
        of feet), of one alert or of many.
    X : array-like of shape (n, 6)
        Rows of `make_alerts`.

    Returns
    -------
    ndarray of bool, shape (n,) or (b, n)

    Examples
    --------
    Head on at equal height, five miles apart at 600 knots, and the same flying apart:

    >>> rows = [[5, 0, 0, -600, 0, 0], [5, 0, 0, 600, 0, 0]]
    >>> sound_alerts([60, 1.0, 5.0], rows)
    array([ True, False])
    """
    settings, rows = np.asarray(theta, dtype=np.float64), np.asarray(X, dtype=np.float64)
    if settings.shape[-1:] != (3,) or rows.ndim != 2 or rows.shape[1] != 6:
        raise InvalidInputError(
            f"An alert has 3 settings and rows of 6 columns, got {settings.shape} and {rows.shape}."
        )
    times = np.arange(0.0, 2 * _HORIZON + _STEP, _STEP)
    east, north = (rows[:, [k]] + rows[:, [k + 3]] * times / 3600.0 for k in (0, 1))
    levels = np.abs(rows[:, [2]] + rows[:, [5]] * times / 60.0)
    miles = np.hypot(east, north)
    found = [
        ((miles < near) & (levels < low) & (times <= look)).any(axis=1)
        for look, near, low in settings.reshape(-1, 3)
    ]
    return np.array(found).reshape(*settings.shape[:-1], len(rows))


# Four groups of columns: how many of each kind, and the share of the score that each explains.
PLANTED = {"evolution": 0.5, "consequence": 0.3, "distance": 0.0, "spectrum": 0.2}
_N_NUMBERS = {"evolution": 8, "consequence": 12, "distance": 6}
# Fourier features that make up a smooth function; its width in deviations of the columns' norm.
_N_WAVES = 300
_LETTERS = "ACGT"


class Variants(NamedTuple):
    """Simulated variants.

    table (n, 28): Numbers, and two columns of strings of three letters.
    target (n,): 1 for harmful variants, else 0.
    chromosome (n,): Group of each row, from 1.
    columns: Names of the columns of each group.
    weights: The planted share of the score that each group of columns explains.
    """

    table: "pd.DataFrame"
    target: Indices
    chromosome: Indices
    columns: dict[str, list[str]]
    weights: dict[str, float]


def make_variants(
    n_chromosomes: int = 22,
    n_each: int = 50,
    *,
    weights: Mapping[str, float] | None = None,
    noise: float = 0.5,
    shift: float = 0.5,
    random_state: Seed = None,
) -> Variants:
    """Draw gene variants from chromosomes, described by four groups of columns.

    Whether a variant is harmful hangs on a score: the sum of one random function of each group of
    columns, with planted shares of the variance, and noise. The functions are smooth, but that of
    the letters around the variant is linear in their counts, alone and in pairs. Chromosomes differ
    in the level of their columns, so that rows of one are alike: leave whole chromosomes out to
    measure a model. It stands in for the data of [1]_, which cannot be had.

    Parameters
    ----------
    n_chromosomes, n_each : int
        Groups of rows, and rows of each; half of each are harmful.
    weights : mapping, optional
        Shares of "evolution", "consequence", "distance" and "spectrum"; 0.5, 0.3, 0 and 0.2 if
        not given. They are divided by their sum.
    noise : float
        Variance of the noise beside that of the functions, which is 1.
    shift : float
        Standard deviation of the chromosomes' levels, in deviations of a column.
    random_state : None, int, Generator, SeedSequence or RandomState
        Source of chance.

    Returns
    -------
    Variants

    References
    ----------
    .. [1] Fearn (2021), PhD thesis, University of Bristol, section 4.3.

    Examples
    --------
    >>> from parsimon.datasets import make_variants
    >>> variants = make_variants(random_state=0)
    >>> variants.table.shape, int(variants.target.sum())
    ((1100, 28), 550)
    >>> variants.columns["spectrum"], variants.table["before"][0]
    (['before', 'after'], 'ACA')
    """
    import pandas as pd

    check_count("n_chromosomes", n_chromosomes, least=1)
    check_count("n_each", n_each, least=2)
    check_positive("noise", noise, or_zero=True)
    check_positive("shift", shift, or_zero=True)
    shares = _shares(PLANTED if weights is None else weights)
    rng = generator(random_state)
    chromosome = np.repeat(np.arange(1, n_chromosomes + 1), n_each)
    score = np.sqrt(noise) * rng.normal(size=len(chromosome))
    columns: dict[str, Any] = {}
    names: dict[str, list[str]] = {}
    for group, n_columns in _N_NUMBERS.items():
        levels = shift * rng.normal(size=(n_chromosomes, n_columns))
        X = levels[chromosome - 1] + rng.normal(size=(len(chromosome), n_columns))
        score += np.sqrt(shares[group]) * _standard(_smooth(X, rng))
        names[group] = [f"{group}{place + 1}" for place in range(n_columns)]
        columns |= dict(zip(names[group], X.T, strict=True))
    names["spectrum"] = ["before", "after"]
    words = rng.integers(len(_LETTERS), size=(len(chromosome), 2, 3))
    counts = np.hstack([_counts(words[:, side]) for side in range(2)])
    score += np.sqrt(shares["spectrum"]) * _standard(counts @ rng.normal(size=counts.shape[1]))
    for side, name in enumerate(names["spectrum"]):
        columns[name] = ["".join(_LETTERS[code] for code in word) for word in words[:, side]]
    table = pd.DataFrame(columns)
    return Variants(table, _upper_half(score, chromosome), chromosome, names, shares)


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    unknown = sorted(set(weights) - set(PLANTED))
    if unknown:
        raise InvalidInputError(
            f"weights names {unknown[0]!r}; the groups are {', '.join(PLANTED)}."
        )
    given = {
        group: check_positive(group, weights.get(group, 0.0), or_zero=True) for group in PLANTED
    }
    total = sum(given.values())
    if total == 0:
        raise InvalidInputError("All weights are zero; give some group of columns a share.")
    return {group: weight / total for group, weight in given.items()}


def _smooth(X: Array, rng: Any) -> Array:
    """Return a random function of rows, about a Gaussian process with a squared exponential."""
    frequencies = rng.normal(size=(X.shape[1], _N_WAVES)) / np.sqrt(X.shape[1])
    waves = np.cos(X @ frequencies + rng.uniform(0, 2 * np.pi, size=_N_WAVES))
    return waves @ rng.normal(size=_N_WAVES)


def _counts(codes: Indices) -> Array:
    """Return counts of letters and of pairs of letters; codes (n, 3) -> (n, 20)."""
    n_letters = len(_LETTERS)
    single = (codes[:, :, None] == np.arange(n_letters)).sum(axis=1)
    pairs = codes[:, :-1] * n_letters + codes[:, 1:]
    double = (pairs[:, :, None] == np.arange(n_letters**2)).sum(axis=1)
    return np.hstack([single, double]).astype(np.float64)


def _standard(values: Array) -> Array:
    return np.asarray((values - values.mean()) / values.std())


def _upper_half(score: Array, group: Indices) -> Indices:
    """Return 1 for the upper half of the scores of each group, else 0, shape (n,)."""
    middle = {place: np.median(score[group == place]) for place in np.unique(group)}
    return (score > np.array([middle[place] for place in group])).astype(np.intp)
