"""The mean of rows amid clutter, with scikit-learn's interface."""

import warnings
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice, check_count, check_positive, check_probability
from parsimon._data import validate_data
from parsimon._random import Seed, generator
from parsimon._typing import Array, Indices
from parsimon.bpm._clutter_passes import (
    Passed,
    Passing,
    Problem,
    corrected_evidence,
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
        probability: Array = np.exp(signal - whole)
        return probability

    def _densities(self, X: Any) -> tuple[Array, Array]:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._problem(X.shape[1]).log_densities(X, self.mean_, self.variance_)

    def _problem(self, d: int) -> Problem:
        return Problem(
            check_probability("weight", self.weight),
            check_positive("clutter_variance", self.clutter_variance),
            check_positive("signal_variance", self.signal_variance),
            per_column("prior_mean", self.prior_mean, d),
            check_positive("prior_variance", self.prior_variance),
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

    def _store(self, passed: Passed, gamma: Array, how: Passing) -> None:
        self.mean_, self.variance_ = passed.mean, float(1.0 / passed.posterior[0])
        self.gamma_, self.order_ = gamma, how.order
        self.converged_ = passed.converged or self.inference == "adf"
        self.change_, self.n_iter_ = passed.change, passed.n_iter
        self.n_newton_steps_ = passed.n_steps
        self.damping_ = 1.0 - passed.share
        self.site_precisions_, self.site_shifts_ = passed.sites[:, 0], passed.sites[:, 1:]
        self.loo_log_density_, self.signal_probability_ = passed.seen[:, 0], passed.seen[:, 1]
