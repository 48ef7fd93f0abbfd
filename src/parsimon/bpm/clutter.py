"""The mean of rows amid clutter, with scikit-learn's interface, and the exact posterior.

`exact_clutter` is for few rows or one column: what `ClutterMean` is to be compared with.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import (
    check_choice,
    check_count,
    check_positive,
    check_probability,
    finite_matrix,
)
from parsimon._data import validate_data
from parsimon._random import Seed, generator
from parsimon._typing import Array, Indices
from parsimon.bpm._clutter_passes import (
    Passes,
    Passing,
    Problem,
    check_problem,
    corrected_evidence,
    gaussian_logs,
    pass_over,
    per_column,
)
from parsimon.exceptions import InvalidInputError


class ClutterMean(DensityMixin, BaseEstimator):
    r"""The mean of rows, some of which are background clutter.

    A row is :math:`N(\theta, s I)`, or with probability w clutter, :math:`N(0, a I)`; the prior of
    :math:`\theta` is Gaussian. The posterior, a mixture of :math:`2^n` Gaussians, is approximated
    by one, :math:`N(m, v I)`, in one pass over the rows (assumed-density filtering), or by passes
    until nothing changes (expectation propagation [1]_). Each costs time n d.

    Parameters
    ----------
    weight : float
        Share of clutter, w.
    clutter_variance, signal_variance : float
        Variances a and s of each column.
    prior_mean : float or array-like of shape (d,)
    prior_variance : float
    inference : {"ep", "adf"}
        Passes that settle, or one pass. That depends on the order of rows.
    gamma : float or array-like of shape (d,)
        Weight of the bias in the factors of gamma-EP [2]_. At -1 it is expectation propagation.
        Another value is for study: the posterior is then not the product of prior and factors, and
        no evidence is a probability.
    restrict : {"none", "negative"}
        Which factors get a precision of nearly zero: none, or those that would have a negative one.
    damping : float or "auto"
        Share of the old factor that is kept in each visit, from 0. "auto" keeps nothing until
        passes stop settling; then Newton's method looks for the fixed point, if gamma is -1 and
        nothing restricted, and where it finds none half of a step is kept, and half of that.
    order : "given", "random" or array-like of shape (n,)
        In which order rows are visited, in all passes: as they are, drawn once, or this one.
    tol : float
        Passes stop when no factor changes by more, in units of the posterior's precision, and of
        its root for the shift.
    max_iter : int
        Most passes.
    random_state : None, int, Generator, SeedSequence or RandomState
        Draws a random order.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
    variance_ : float
        Of each column.
    log_evidence_ : float
    gamma_ : ndarray of shape (d,)
    converged_ : bool
        Whether factors settled, which is true of one pass.
    change_ : float
        Largest change of a factor in the last pass, as for `tol`.
    n_iter_ : int
        Passes made.
    n_newton_steps_ : int
        Zero if passes settled by themselves.
    damping_ : float
        In the last pass.
    order_ : ndarray of shape (n,)
    site_precisions_ : ndarray of shape (n,)
        Of the factors, below zero where a row makes the posterior wider.
    site_shifts_ : ndarray of shape (n, d)
        Precision times mean of each factor.
    signal_probability_ : ndarray of shape (n,)
        That each row is signal, given the other rows.
    loo_log_density_ : ndarray of shape (n,)
        Log density of each row given the others, or after one pass given those before it.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)

    Notes
    -----
    The exact posterior may have several modes, and one Gaussian then says too little: compare
    with `exact_clutter`, which is fast for one column or few rows.

    References
    ----------
    .. [1] Minka (2001), "Expectation propagation for approximate Bayesian inference", UAI.
    .. [2] Fearn (2021), "Novel Methods for Approximate Bayesian Inference of Independent and
       Evolutionarily Dependent Data", PhD thesis, University of Bristol, chapter 3.

    Examples
    --------
    >>> from parsimon.bpm import ClutterMean, exact_clutter
    >>> from parsimon.datasets import make_clutter
    >>> X, is_clutter = make_clutter(200, theta=2.0, weight=0.5, random_state=0)
    >>> model = ClutterMean(weight=0.5).fit(X)
    >>> print(f"{X.mean():.2f}, {model.mean_[0]:.2f} +- {model.variance_ ** 0.5:.2f}")
    1.16, 2.09 +- 0.13
    >>> exact = exact_clutter(X, weight=0.5)
    >>> print(f"{model.log_evidence_:.2f}, exactly {exact.log_evidence:.2f}")
    -439.72, exactly -439.72
    """

    def __init__(
        self,
        weight: float = 0.5,
        *,
        clutter_variance: float = 10.0,
        signal_variance: float = 1.0,
        prior_mean: Any = 0.0,
        prior_variance: float = 100.0,
        inference: Literal["ep", "adf"] = "ep",
        gamma: Any = -1.0,
        restrict: Literal["none", "negative"] = "none",
        damping: float | Literal["auto"] = "auto",
        order: Any = "given",
        tol: float = 1e-6,
        max_iter: int = 100,
        random_state: Seed = None,
    ) -> None:
        self.weight = weight
        self.clutter_variance = clutter_variance
        self.signal_variance = signal_variance
        self.prior_mean = prior_mean
        self.prior_variance = prior_variance
        self.inference = inference
        self.gamma = gamma
        self.restrict = restrict
        self.damping = damping
        self.order = order
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Approximate the posterior of the mean.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored

        Returns
        -------
        ClutterMean
            Itself.
        """
        X = validate_data(self, X, dtype=np.float64)
        problem, how = self._problem(X.shape[1]), self._passing(len(X))
        gamma = self._gamma(X.shape[1])
        passed = pass_over(X, problem, gamma, how)
        self._store(passed, gamma, how)
        self.log_evidence_ = corrected_evidence(passed, problem)
        if not self.converged_:
            warnings.warn(
                f"Factors still change by {passed.change:.2g} after {passed.n_iter} passes (tol is "
                f"{self.tol:g}); raise max_iter, or take gamma=-1 or restrict='negative'.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def score_samples(self, X: Any) -> Array:
        """Return the log predictive density of each row, shape (n,)."""
        return self._densities(X)[1]

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the mean log predictive density of the rows."""
        return float(np.mean(self.score_samples(X)))

    def signal_probability(self, X: Any) -> Array:
        """Return the probability that each row is signal and not clutter, shape (n,)."""
        signal, whole = self._densities(X)
        return np.exp(signal - whole)

    def _densities(self, X: Any) -> tuple[Array, Array]:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._problem(X.shape[1]).log_densities(X, self.mean_, self.variance_)

    def _problem(self, d: int) -> Problem:
        return check_problem(
            d,
            self.weight,
            self.clutter_variance,
            self.signal_variance,
            self.prior_mean,
            self.prior_variance,
        )

    def _passing(self, n: int) -> Passing:
        """Return how passes over n rows are made, options checked."""
        one_pass = check_choice("inference", self.inference, ("ep", "adf")) == "adf"
        if self.damping == "auto":
            share = None
        else:
            share = 1.0 - check_probability("damping", self.damping)
            if share == 0:
                raise InvalidInputError("damping must be below 1, or nothing is learnt, got 1.")
        return Passing(
            self._order(n),
            check_choice("restrict", self.restrict, ("none", "negative")) == "negative",
            1.0 if one_pass else share,
            check_positive("tol", self.tol),
            1 if one_pass else check_count("max_iter", self.max_iter),
        )

    def _order(self, n: int) -> Indices:
        if isinstance(self.order, str):
            if check_choice("order", self.order, ("given", "random")) == "given":
                return np.arange(n)
            return generator(self.random_state).permutation(n)
        order = np.asarray(self.order)
        if order.shape != (n,) or not np.array_equal(np.sort(order), np.arange(n)):
            raise InvalidInputError(
                f"order must hold each of the {n} rows once, by number from 0, "
                f"got shape {order.shape}."
            )
        return order.astype(np.intp)

    def _gamma(self, d: int) -> Array:
        """Return gamma (d,); one pass has none."""
        return np.full(d, -1.0) if self.inference == "adf" else per_column("gamma", self.gamma, d)

    def _store(self, passed: Passes, gamma: Array, how: Passing) -> None:
        self.mean_, self.variance_ = passed.mean, float(1.0 / passed.posterior[0])
        self.gamma_, self.order_ = gamma, how.order
        self.converged_ = passed.converged or self.inference == "adf"
        self.change_, self.n_iter_ = passed.change, passed.n_iter
        self.n_newton_steps_ = passed.n_steps
        self.damping_ = 1.0 - passed.share
        self.site_precisions_, self.site_shifts_ = passed.sites[:, 0], passed.sites[:, 1:]
        self.loo_log_density_, self.signal_probability_ = passed.seen[:, 0], passed.seen[:, 1]


# Most rows for all 2^n assignments; grid points per narrowest deviation, and how many of the
# widest deviations are covered on either side.
MOST_ENUMERATED, PER_DEVIATION, REACH = 20, 4.0, 10.0
# Points of quadrature that fit into memory with the densities of hundreds of rows.
MOST_POINTS = 1e6
# Numbers held at a time.
CHUNK = 2_000_000


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
    problem = check_problem(
        X.shape[1], weight, clutter_variance, signal_variance, prior_mean, prior_variance
    )
    if X.shape[1] > 1 and len(X) > MOST_ENUMERATED:
        raise InvalidInputError(
            f"The exact posterior of {len(X)} rows with {X.shape[1]} columns mixes 2^{len(X)} "
            f"Gaussians; give one column, or at most {MOST_ENUMERATED} rows."
        )
    integrate = _integrate_grid if X.shape[1] == 1 else _sum_assignments
    return ClutterPosterior(*integrate(X, problem), X, problem)


def _sum_assignments(X: Array, problem: Problem) -> tuple[Array, Array, float]:
    """Return mean, covariance and log evidence, summed over assignments of rows X (n, d)."""
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
    return mean, covariance, total


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


def _integrate_grid(X: Array, problem: Problem) -> tuple[Array, Array, float]:
    """Return mean, covariance and log evidence from a fine grid of theta, for rows X (n, 1).

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
    return np.array([mean]), np.array([[variance]]), log_evidence
