"""Generators made of Gaussians, so that the best possible classifier is known.

Clusters with few labels come last: most of their rows carry the label -1, which means unknown.
"""

from typing import Literal

import numpy as np

from parsimon._checks import check_count, check_probability
from parsimon._random import Seed, generator
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError

# Rows: the two centres of class 0, then the two of class 1.
_RIPLEY_CENTRES = np.array([[-0.7, 0.3], [0.3, 0.3], [-0.3, 0.7], [0.4, 0.7]])
_RIPLEY_VARIANCE = 0.03

_CRESCENT_CENTRES = np.array([[4.0, 4.0], [0.0, 4.0], [-4.0, -4.0], [0.0, -4.0]])
_DOWNHILL = np.array([1.0, -1.0]) / np.sqrt(2)
_UPHILL = np.array([1.0, 1.0]) / np.sqrt(2)
_CRESCENT_AXES = {
    # A roof over a valley, each with a right angle at its tip.
    "right_angle": np.array([_DOWNHILL, _UPHILL, _DOWNHILL, _UPHILL]),
    "parallel": np.array([_DOWNHILL, _DOWNHILL, _UPHILL, _UPHILL]),
}

# Weight, centre (2), variances (2) and covariance of each part, fitted by expectation
# maximisation to the 5300 rows of Raetsch's banana and rounded.
_BANANA_SHARE = 0.448
_BANANA_PARTS = np.array(
    [
        [0.25, -0.83, 1.09, 0.446, 0.222, 0.260],
        [0.38, -0.28, -1.16, 0.193, 0.053, 0.000],
        [0.37, 1.00, 0.59, 0.217, 0.431, -0.233],
        [0.27, -1.40, -0.57, 0.143, 0.343, 0.118],
        [0.35, -0.19, 0.02, 0.256, 0.202, -0.010],
        [0.08, 0.43, 1.67, 0.202, 0.047, -0.049],
        [0.22, 0.91, -0.70, 0.122, 0.335, -0.104],
        [0.08, 1.88, 1.29, 0.221, 0.042, -0.041],
    ]
)
_BANANA_CLASS = np.array([0, 0, 0, 1, 1, 1, 1, 1])
# Labelled corners first: lower left (negative), upper right (positive), then the other two.
_CORNERS = np.array([[0.0, 0.0], [1.0, 8.0], [1.0, 0.0], [0.0, 8.0]])
_CORNER_CLASS = np.array([0, 1, 0, 1])

# Top, bottom, middle. The middle is nearer to the top, and its lower edge reaches y = 0, where a
# machine that sees only the labels puts its boundary.
_STACK = np.array([[0.0, 3.0], [0.0, -3.0], [0.0, 0.8]])
_STACK_CLASS = np.array([1, 0, 1])


def make_ripley(n: int = 250, *, random_state: Seed = None) -> tuple[Array, Indices]:
    """Draw Ripley's two classes of two Gaussians each, which overlap by design.

    Class 0 has centres (-0.7, 0.3) and (0.3, 0.3), class 1 (-0.3, 0.7) and (0.4, 0.7); every
    covariance is 0.03 I [1]_. The best possible classifier has an area under the ROC curve of
    0.9719. The fixed sample of the book is ``load("ripley")``.

    Parameters
    ----------
    n : int
        Rows, half of them in each class; an odd one goes to class 0.
    random_state : None, int, Generator, SeedSequence or RandomState
        Source of chance.

    Returns
    -------
    X : ndarray of shape (n, 2)
    y : ndarray of shape (n,)
        0 or 1.

    References
    ----------
    .. [1] Ripley (1996), Pattern Recognition and Neural Networks, Cambridge University Press.

    Examples
    --------
    >>> from parsimon.datasets import make_ripley
    >>> X, y = make_ripley(1000, random_state=0)
    >>> X.shape, int(y.sum())
    ((1000, 2), 500)
    """
    check_count("n", n, least=2)
    rng = generator(random_state)
    y = _deal_out(n, 2, rng)
    centres = _RIPLEY_CENTRES[2 * y + rng.integers(2, size=n)]
    return centres + np.sqrt(_RIPLEY_VARIANCE) * rng.standard_normal((n, 2)), y


def make_crescent(
    n: int = 200,
    *,
    arrangement: Literal["right_angle", "parallel"] = "right_angle",
    random_state: Seed = None,
) -> tuple[Array, Indices]:
    """Draw two crescents, each made of two long Gaussians.

    Each Gaussian has a standard deviation of 3 along its axis and 1 across, and lies at 45
    degrees. Class 1 has centres (4, 4) and (0, 4), class 0 (-4, -4) and (0, -4).

    Parameters
    ----------
    n : int
        Rows, a quarter of them in each Gaussian.
    arrangement : {"right_angle", "parallel"}
        ``"right_angle"`` bends each class into a crescent, as AutoGPC [1]_ describes it.
        ``"parallel"`` is what its test data were drawn from: there the two Gaussians of a class
        point the same way, so that neither class is a crescent and only the classes are at right
        angles to each other.
    random_state : None, int, Generator, SeedSequence or RandomState
        Source of chance.

    Returns
    -------
    X : ndarray of shape (n, 2)
    y : ndarray of shape (n,)
        0 or 1.

    References
    ----------
    .. [1] He (2016), The Automatic Statistician for Classification, University
       of Cambridge.

    Examples
    --------
    >>> from parsimon.datasets import make_crescent
    >>> X, y = make_crescent(random_state=0)
    >>> X.shape, int(y.sum())
    ((200, 2), 100)
    """
    check_count("n", n, least=4)
    if arrangement not in _CRESCENT_AXES:
        raise InvalidInputError(
            f"arrangement must be 'right_angle' or 'parallel', got {arrangement!r}."
        )
    rng = generator(random_state)
    part = _deal_out(n, 4, rng)
    along = _CRESCENT_AXES[arrangement][part]
    across = along[:, ::-1] * [1.0, -1.0]
    steps = rng.standard_normal((n, 2)) * [3.0, 1.0]
    X = _CRESCENT_CENTRES[part] + steps[:, :1] * along + steps[:, 1:] * across
    return X, (part < 2).astype(np.intp)


def make_banana(n: int = 400, *, random_state: Seed = None) -> tuple[Array, Indices]:
    """Draw points like those of the banana benchmark, from a density that is known.

    How Raetsch's banana [1]_ was drawn is not published. This is a mixture of eight Gaussians
    fitted to it, three for class 0 and five for class 1: a support vector machine trained on one
    errs as often on the other. The best possible classifier errs on 10.1 % of the rows.

    Parameters
    ----------
    n : int
        Rows; each is in class 1 with probability 0.448, the share of the benchmark.
    random_state : None, int, Generator, SeedSequence or RandomState
        Source of chance.

    Returns
    -------
    X : ndarray of shape (n, 2)
        Close to mean 0 and variance 1, as the benchmark is.
    y : ndarray of shape (n,)
        0 or 1.

    References
    ----------
    .. [1] Raetsch, Onoda and Mueller (2001), Machine Learning 42:287-320.

    Examples
    --------
    >>> from parsimon.datasets import make_banana
    >>> X, y = make_banana(random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((400, 2), [0, 1])
    """
    check_count("n", n)
    rng = generator(random_state)
    prior = np.where(_BANANA_CLASS == 1, _BANANA_SHARE, 1 - _BANANA_SHARE)
    part = rng.choice(len(_BANANA_CLASS), size=n, p=prior * _BANANA_PARTS[:, 0])
    variance_1, variance_2, covariance = _BANANA_PARTS[:, 3:].T
    covariances = np.array([[variance_1, covariance], [covariance, variance_2]]).transpose(2, 0, 1)
    steps = np.linalg.cholesky(covariances)[part] @ rng.standard_normal((n, 2, 1))
    return _BANANA_PARTS[part, 1:3] + steps[:, :, 0], _BANANA_CLASS[part].astype(np.intp)


def make_clutter(
    n: int = 200,
    *,
    kind: Literal["mixture", "weighted_sum"] = "mixture",
    theta: float = 2.0,
    weight: float = 0.2,
    clutter_variance: float | None = None,
    n_features: int = 1,
    random_state: Seed = None,
) -> tuple[Array, Indices]:
    """Draw a signal around `theta` amid background clutter around zero.

    The clutter problem is to find `theta`. In the mixture [1]_ a row is N(theta, I) with
    probability 1 - weight and N(0, a I) otherwise.

    Parameters
    ----------
    n : int
        Rows.
    kind : {"mixture", "weighted_sum"}
        ``"mixture"`` is the clutter problem. ``"weighted_sum"`` adds (1 - weight) times a draw
        of the signal and weight times a draw of the clutter in every row; the printed tables of
        Fearn (2021), chapter 3, agree with it. It is another problem: its mean is
        (1 - weight) theta, so that an estimate of `theta` from it is off by design.
    theta : float
        Mean of the signal, in every column.
    weight : float
        Share of clutter, from 0 to 1.
    clutter_variance : float, optional
        The a above. The default is 10 for the mixture and 100 for the weighted sum, where the
        tables agree with 10 as a standard deviation.
    n_features : int
        Columns.
    random_state : None, int, Generator, SeedSequence or RandomState
        Source of chance.

    Returns
    -------
    X : ndarray of shape (n, n_features)
    y : ndarray of shape (n,)
        0 for signal and 1 for clutter; -1 in the weighted sum, where a row is both.

    References
    ----------
    .. [1] Minka (2001), Expectation propagation for approximate Bayesian inference, UAI.

    Examples
    --------
    >>> from parsimon.datasets import make_clutter
    >>> X, y = make_clutter(20, weight=0.5, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((20, 1), [0, 1])
    """
    check_count("n", n)
    check_count("n_features", n_features)
    check_probability("weight", weight)
    if kind not in ("mixture", "weighted_sum"):
        raise InvalidInputError(f"kind must be 'mixture' or 'weighted_sum', got {kind!r}.")
    if clutter_variance is None:
        clutter_variance = 10.0 if kind == "mixture" else 100.0
    if not clutter_variance > 0:
        raise InvalidInputError(f"clutter_variance must be above 0, got {clutter_variance}.")
    rng = generator(random_state)
    signal = theta + rng.standard_normal((n, n_features))
    clutter = np.sqrt(clutter_variance) * rng.standard_normal((n, n_features))
    if kind == "weighted_sum":
        return (1 - weight) * signal + weight * clutter, np.full(n, -1, dtype=np.intp)
    y = (rng.random(n) < weight).astype(np.intp)
    return np.where(y[:, None] == 1, clutter, signal), y


def _deal_out(n: int, n_groups: int, rng: np.random.Generator) -> Indices:
    """Return group numbers in random order, each group as often as can be."""
    return rng.permutation(np.arange(n, dtype=np.intp) % n_groups)


def make_four_clusters(
    n: int = 4, *, spread: float = 0.0, all_labels: bool = False, random_state: Seed = None
) -> tuple[Array, Indices]:
    """Draw four clusters at the corners of a tall rectangle, two of them with one label each.

    The corners are 1 apart along x and 8 apart along y. One row at the lower left is known to be
    negative and one at the upper right positive; the gap in the data says that the classes are
    the lower and the upper clusters (Mierswa 2009, section 5.3.1, with one point for each
    cluster).

    Parameters
    ----------
    n : int
        Rows, as equally among the clusters as can be.
    spread : float
        Standard deviation around the corners.
    all_labels : bool
        Whether to return the class of every row instead of the two known ones.
    random_state : None, int, Generator, SeedSequence or RandomState
        Source of chance.

    Returns
    -------
    X : ndarray of shape (n, 2)
        The two labelled rows first.
    y : ndarray of shape (n,)
        0, 1, or -1 for unknown.

    Examples
    --------
    >>> from parsimon.datasets import make_four_clusters
    >>> X, y = make_four_clusters()
    >>> X.tolist(), y.tolist()
    ([[0.0, 0.0], [1.0, 8.0], [1.0, 0.0], [0.0, 8.0]], [0, 1, -1, -1])
    """
    check_count("n", n, least=4)
    X, truth = _clusters(n, _CORNERS, _CORNER_CLASS, spread, random_state)
    return X, truth if all_labels else _known_first(truth, 2)


def make_three_clusters(
    n: int = 150,
    *,
    n_labelled: int = 4,
    spread: float = 0.4,
    all_labels: bool = False,
    random_state: Seed = None,
) -> tuple[Array, Indices]:
    """Draw three clusters in a column, with a few labels in the top and the bottom one.

    The middle cluster is nearer to the top one, and belongs to its class. The classes are
    clear from the gaps, but a machine that sees only the labels cuts the middle cluster's edge
    (Mierswa 2009, section 5.3.1: 4 labelled and 146 other rows). The centres are (0, 3),
    (0, 0.8) and (0, -3).

    Parameters
    ----------
    n : int
        Rows, as equally among the clusters as can be.
    n_labelled : int
        Rows with a label, in turn from the top and the bottom cluster.
    spread : float
        Standard deviation around the centres.
    all_labels : bool
        Whether to return the class of every row instead of the known ones.
    random_state : None, int, Generator, SeedSequence or RandomState
        Source of chance.

    Returns
    -------
    X : ndarray of shape (n, 2)
        The labelled rows first.
    y : ndarray of shape (n,)
        0, 1, or -1 for unknown.

    Examples
    --------
    >>> from parsimon.datasets import make_three_clusters
    >>> X, y = make_three_clusters(random_state=0)
    >>> X.shape, y[:5].tolist()
    ((150, 2), [1, 0, 1, 0, -1])
    """
    check_count("n", n, least=3)
    check_count("n_labelled", n_labelled, least=2)
    # Rows go round the clusters, the middle one last; it has no label.
    ends = np.flatnonzero(np.arange(n) % 3 < 2)
    if n_labelled > len(ends):
        raise InvalidInputError(
            f"n_labelled is {n_labelled}, but the top and bottom clusters have only "
            f"{len(ends)} of the {n} rows."
        )
    X, truth = _clusters(n, _STACK, _STACK_CLASS, spread, random_state)
    known = ends[:n_labelled]
    order = np.concatenate([known, np.setdiff1d(np.arange(n), known)])
    truth = truth[order]
    return X[order], truth if all_labels else _known_first(truth, n_labelled)


def _clusters(
    n: int, centres: Array, classes: Indices, spread: float, random_state: Seed
) -> tuple[Array, Indices]:
    if not spread >= 0:
        raise InvalidInputError(f"spread must be 0 or more, got {spread}.")
    cluster = np.arange(n) % len(centres)
    steps = spread * generator(random_state).standard_normal((n, 2))
    return centres[cluster] + steps, classes[cluster].astype(np.intp)


def _known_first(truth: Indices, n_labelled: int) -> Indices:
    y = np.full(len(truth), -1, dtype=np.intp)
    y[:n_labelled] = truth[:n_labelled]
    return y
