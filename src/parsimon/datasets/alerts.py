"""Pairs of aircraft, and an alert that says yes or no: a black box to be tuned by its ROC."""

import numpy as np

from parsimon._checks import check_count
from parsimon._random import Seed, generator
from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError

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
    answers: Mask = np.array(found).reshape(*settings.shape[:-1], len(rows))
    return answers
