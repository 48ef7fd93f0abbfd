"""The exact posterior of the clutter problem, for few rows or one column: what to compare with."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from parsimon._checks import check_positive, check_probability, finite_matrix
from parsimon._typing import Array
from parsimon.bpm._clutter_passes import Problem, gaussian_logs, per_column
from parsimon.exceptions import InvalidInputError

# Most rows for all 2^n assignments; grid points per narrowest deviation, and how many of the
# widest deviations are covered on either side.
MOST_ENUMERATED, PER_DEVIATION, REACH = 20, 4.0, 10.0
# Points of quadrature that fit into memory with the densities of hundreds of rows.
MOST_POINTS = 1e6
# Numbers held at a time.
CHUNK = 2_000_000


class ClutterMoments(NamedTuple):
    """Moments of theta, mean (d,), covariance (d, d), and the log evidence of the rows."""

    mean: Array
    covariance: Array
    log_evidence: float


@dataclass(frozen=True, eq=False)
class ClutterPosterior:
    """The exact posterior of theta.

    Attributes
    ----------
    mean : ndarray of shape (d,)
    covariance : ndarray of shape (d, d)
        `ClutterMean` has one variance: compare it with the mean of the diagonal.
    log_evidence : float
    X : ndarray of shape (n, d)
    """

    mean: Array
    covariance: Array
    log_evidence: float
    X: Array = field(repr=False)
    _problem: Problem = field(repr=False)

    def log_density(self, theta: Any) -> Array:
        """Return the log density at points theta (m, d), shape (m,)."""
        points = finite_matrix(theta, "theta")
        return _log_joint(self.X, points, self._problem) - self.log_evidence


def exact_clutter(
    X: Any,
    weight: float = 0.5,
    *,
    clutter_variance: float = 10.0,
    signal_variance: float = 1.0,
    prior_mean: Any = 0.0,
    prior_variance: float = 100.0,
) -> ClutterPosterior:
    """Return the exact posterior of the mean of rows amid clutter.

    One column is integrated on a grid; rows of several columns, at most 20 of them, are assigned to
    signal and clutter in all 2^n ways.

    Parameters
    ----------
    X : array-like of shape (n, d)
    weight, clutter_variance, signal_variance, prior_mean, prior_variance
        The problem, as in `ClutterMean`.

    Returns
    -------
    ClutterPosterior
        With `mean`, `covariance`, `log_evidence` and the function `log_density`.

    Examples
    --------
    >>> from parsimon.bpm import exact_clutter
    >>> exact = exact_clutter([[2.1], [1.9], [2.4], [-5.0]], weight=0.3)
    >>> print(f"{exact.mean[0]:.2f}, variance {exact.covariance[0, 0]:.2f}")
    1.85, variance 3.67
    """
    X = finite_matrix(X, "X")
    problem = Problem(
        check_probability("weight", weight),
        check_positive("clutter_variance", clutter_variance),
        check_positive("signal_variance", signal_variance),
        per_column("prior_mean", prior_mean, X.shape[1]),
        check_positive("prior_variance", prior_variance),
    )
    if X.shape[1] > 1 and len(X) > MOST_ENUMERATED:
        raise InvalidInputError(
            f"The exact posterior of {len(X)} rows with {X.shape[1]} columns mixes 2^{len(X)} "
            f"Gaussians; give one column, or at most {MOST_ENUMERATED} rows."
        )
    found = _integrated(X, problem) if X.shape[1] == 1 else _enumerated(X, problem)
    return ClutterPosterior(*found, X, problem)


def _enumerated(X: Array, problem: Problem) -> ClutterMoments:
    """Sum over all 2^n assignments of rows X (n, d) to signal or clutter."""
    log_share, _ = problem.log_shares
    s, b, prior = problem.signal_variance, problem.prior_variance, problem.prior_mean
    d = X.shape[1]
    counts, logs, sums, squares = np.zeros(1), np.zeros(1), np.zeros((1, d)), np.zeros(1)
    for x, clutter in zip(X, problem.clutter_logs(X), strict=True):
        counts = np.concatenate([counts, counts + 1.0])
        logs = np.concatenate([logs + clutter, logs + log_share])
        sums = np.concatenate([sums, sums + x])
        squares = np.concatenate([squares, squares + x @ x])
    precision = 1.0 / b + counts / s
    means = (prior / b + sums / s) / precision[:, None]
    spent = squares / s + prior @ prior / b - precision * np.sum(means**2, axis=1)
    logs += -0.5 * (d * (counts * np.log(2.0 * np.pi * s) + np.log(b * precision)) + spent)
    total = float(logsumexp(logs))
    shares = np.exp(logs - total)
    mean = shares @ means
    centred = means - mean
    covariance = (shares[:, None] * centred).T @ centred + np.eye(d) * (shares @ (1 / precision))
    return ClutterMoments(mean, covariance, total)


def _log_joint(X: Array, theta: Array, problem: Problem) -> Array:
    """Return log p(X, theta) at points theta (m, d), shape (m,)."""
    clutter = problem.clutter_logs(X)
    found = gaussian_logs(theta - problem.prior_mean, problem.prior_variance)
    size = max(1, CHUNK // X.size)
    for first in range(0, len(theta), size):
        some = slice(first, first + size)
        differences = X - theta[some, None, :]
        signal = problem.log_shares[0] + gaussian_logs(differences, problem.signal_variance)
        found[some] += np.logaddexp(signal, clutter).sum(axis=1)
    return found


def _integrated(X: Array, problem: Problem) -> ClutterMoments:
    """Integrate over a fine grid of theta, for rows X (n, 1).

    The posterior mixes Gaussians centred between prior mean and rows; none is wider than the
    prior, nor narrower than if all rows were signal.
    """
    narrow = (1.0 / problem.prior_variance + len(X) / problem.signal_variance) ** -0.5
    reach = REACH * np.sqrt(problem.prior_variance)
    centres = np.append(X, problem.prior_mean)
    low, high = centres.min() - reach, centres.max() + reach
    n_points = (high - low) / narrow * PER_DEVIATION
    if n_points > MOST_POINTS:
        raise InvalidInputError(
            f"Rows from {X.min():.3g} to {X.max():.3g} need {n_points:.3g} points of quadrature, "
            f"above {MOST_POINTS:.3g}; leave out the farthest rows, which are clutter."
        )
    grid = np.linspace(low, high, int(n_points) + 2)
    logs = _log_joint(X, grid[:, None], problem)
    total = float(logsumexp(logs))
    shares = np.exp(logs - total)
    mean = float(shares @ grid)
    variance = float(shares @ (grid - mean) ** 2)
    log_evidence = total + float(np.log(grid[1] - grid[0]))
    return ClutterMoments(np.array([mean]), np.array([[variance]]), log_evidence)
