"""Generators of waves, spirals, boards and discs: structure that a straight line misses."""

import numpy as np

from parsimon._checks import check_count, check_probability
from parsimon._random import Seed, generator
from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError

# The two base waves of each of Breiman's classes.
_WAVE_PAIRS = np.array([[0, 1], [0, 2], [1, 2]])
_POSITIVE_DISCS, _NEGATIVE_DISCS = 8, 5


def make_waveform(
    n: int = 400, *, binary: bool = False, random_state: Seed = None
) -> tuple[Array, Indices]:
    """Draw Breiman's waves: each row is a random blend of two of three triangles, with noise.

    With h1(i) = max(6 - abs(i - 11), 0), h2(i) = h1(i - 4) and h3(i) = h1(i + 4), a row is
    u h_a + (1 - u) h_b + N(0, I) at i = 1, ..., 21, u uniform on (0, 1) [1]_. The pair (a, b) is
    (1, 2) for class 0, (1, 3) for class 1 and (2, 3) for class 2.

    Parameters
    ----------
    n : int
        Rows; each class has probability 1/3.
    binary : bool
        Whether to return 1 for the (h1, h3) blend and 0 for the others. This is the task of
        Raetsch's waveform benchmark, whose columns are standardised; here they are not. The best
        possible classifier then has an accuracy of 0.918 and an area under the ROC curve of
        0.9788.
    random_state : None, int, Generator, SeedSequence or RandomState
        Source of chance.

    Returns
    -------
    X : ndarray of shape (n, 21)
    y : ndarray of shape (n,)
        0, 1 or 2; with `binary`, 0 or 1.

    References
    ----------
    .. [1] Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees,
       section 2.6.2.

    Examples
    --------
    >>> from parsimon.datasets import make_waveform
    >>> X, y = make_waveform(random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((400, 21), [0, 1, 2])
    """
    check_count("n", n)
    rng = generator(random_state)
    y = rng.integers(3, size=n).astype(np.intp)
    u = rng.random((n, 1))
    first, second = base_waves()[_WAVE_PAIRS[y]].transpose(1, 0, 2)
    X = u * first + (1 - u) * second + rng.standard_normal((n, 21))
    return X, (y == 1).astype(np.intp) if binary else y


def base_waves() -> Array:
    """Return Breiman's three triangles, shape (3, 21)."""
    places = np.arange(1, 22)
    # h2(i) = h1(i - 4) has its peak at 15, h3(i) = h1(i + 4) at 7.
    return np.array([np.maximum(6.0 - np.abs(places - peak), 0.0) for peak in (11, 15, 7)])


def make_spiral(
    n: int = 500, *, noise: float = 0.75, random_state: Seed = None
) -> tuple[Array, Indices]:
    """Draw two spirals wound into each other.

    The angle runs from 1.5 pi to 6 pi in n / 2 equal steps; arm 0 has radius
    10 angle / (4.5 pi), arm 1 lies 2 further in.

    Parameters
    ----------
    n : int
        Rows, half of them on each arm; an odd one goes to arm 0.
    noise : float
        Standard deviation added to both coordinates. At 0.75 a support vector machine with
        C = 1 and gamma = 1 errs on about 18 % of 500 rows, near the 16.4 to 17.8 % printed by
        Mierswa (2009); at 0.1, the value of RapidMiner's generator, on none.
    random_state : None, int, Generator, SeedSequence or RandomState
        Source of chance.

    Returns
    -------
    X : ndarray of shape (n, 2)
    y : ndarray of shape (n,)
        The arm, 0 or 1.

    Examples
    --------
    >>> from parsimon.datasets import make_spiral
    >>> X, y = make_spiral(noise=0.1, random_state=0)
    >>> X.shape, int(y.sum())
    ((500, 2), 250)
    """
    check_count("n", n, least=2)
    if not noise >= 0:
        raise InvalidInputError(f"noise must be 0 or more, got {noise}.")
    rng = generator(random_state)
    arms = [np.linspace(1.5 * np.pi, 6 * np.pi, size) for size in ((n + 1) // 2, n // 2)]
    angle = np.concatenate(arms)
    y = np.repeat([0, 1], [len(arm) for arm in arms]).astype(np.intp)
    radius = 10 * angle / (4.5 * np.pi) - 2.0 * y
    X = (radius * [np.cos(angle), np.sin(angle)]).T + noise * rng.standard_normal((n, 2))
    order = rng.permutation(n)
    return X[order], y[order]


def make_checkerboard(
    n: int = 300, *, tile: float = 3.0, n_tiles: int = 8, random_state: Seed = None
) -> tuple[Array, Indices]:
    """Draw points on a checkerboard, labelled by the colour of their tile.

    Points are uniform on the square from 0 to n_tiles tile; the label is the parity of
    floor(x1 / tile) + floor(x2 / tile).

    Parameters
    ----------
    n : int
        Rows.
    tile : float
        Side of a tile. With 3 the error of a support vector machine with gamma = 1 agrees with
        the tables of Mierswa (2009); RapidMiner's generator has 5.
    n_tiles : int
        Tiles along each side of the board.
    random_state : None, int, Generator, SeedSequence or RandomState
        Source of chance.

    Returns
    -------
    X : ndarray of shape (n, 2)
    y : ndarray of shape (n,)
        0 on the tile at the origin, 1 beside it.

    Examples
    --------
    >>> from parsimon.datasets import make_checkerboard
    >>> X, y = make_checkerboard(random_state=0)
    >>> bool((X.min() >= 0) and (X.max() < 24))
    True
    """
    check_count("n", n)
    check_count("n_tiles", n_tiles)
    if not tile > 0:
        raise InvalidInputError(f"tile must be above 0, got {tile}.")
    # Parity is taken before scaling: a rounded product may fall on the neighbouring tile.
    places = n_tiles * generator(random_state).random((n, 2))
    return tile * places, (np.floor(places).sum(axis=1) % 2).astype(np.intp)


def make_global_and_local(
    n: int = 1000,
    *,
    lower: float = -10.0,
    upper: float = 10.0,
    label_noise: float = 0.05,
    random_state: Seed = None,
) -> tuple[Array, Indices]:
    """Draw a global pattern, a diagonal line, with local discs on it and wrong labels.

    Points are uniform on a square. A row in one of 8 discs is positive; else one in one of 5
    other discs is negative; else its label is the sign of x1 + x2. The discs have uniform centres
    and radii uniform up to an eighth of the range. Models along a front of margin against error
    find first the line, then the discs, then the noise (Mierswa 2009, figure 3.4).

    Parameters
    ----------
    n : int
        Rows.
    lower, upper : float
        Range of both columns.
    label_noise : float
        Probability that a label is flipped.
    random_state : None, int, Generator, SeedSequence or RandomState
        Source of chance.

    Returns
    -------
    X : ndarray of shape (n, 2)
    y : ndarray of shape (n,)
        0 or 1.

    Examples
    --------
    >>> from parsimon.datasets import make_global_and_local
    >>> X, y = make_global_and_local(label_noise=0.0, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 2), [0, 1])
    """
    check_count("n", n)
    check_probability("label_noise", label_noise)
    if not lower < upper:
        raise InvalidInputError(f"lower must be below upper, got {lower} and {upper}.")
    rng = generator(random_state)
    n_discs = _POSITIVE_DISCS + _NEGATIVE_DISCS
    centres = rng.uniform(lower, upper, (n_discs, 2))
    radii = rng.uniform(0, (upper - lower) / 8, n_discs)
    X = rng.uniform(lower, upper, (n, 2))
    y = disc_labels(X, centres, radii, n_positive=_POSITIVE_DISCS)
    flipped = rng.random(n) < label_noise
    return X, np.where(flipped, 1 - y, y).astype(np.intp)


def disc_labels(X: Array, centres: Array, radii: Array, *, n_positive: int) -> Indices:
    """Return 1 in the first `n_positive` discs, else 0 in the others, else 1 above the diagonal."""
    distances = np.linalg.norm(X[:, None, :] - centres[None, :, :], axis=2)
    inside: Mask = distances <= radii
    above = X.sum(axis=1) > 0
    positive = inside[:, :n_positive].any(axis=1)
    negative = inside[:, n_positive:].any(axis=1)
    return (positive | (above & ~negative)).astype(np.intp)
