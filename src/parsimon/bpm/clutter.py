"""The mean of rows amid clutter, with scikit-learn's interface."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from scipy.optimize import minimize, minimize_scalar
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
    printed_evidence,
)
from parsimon.exceptions import InvalidInputError

RESTRICTIONS = {"none": 0, "negative": 1, "all": 2}
# Depth of a gamma that does not compete; finite, as Brent's method takes differences.
NEVER = 1e15
BOUNDS = {"none": (1.0, 1.0), "clipped": (0.0, 1.0), "free": (-np.inf, np.inf)}


def _best_gamma(
    height: Callable[[Array], float], d: int, *, only_brent: bool, per_column: bool
) -> Array:
    """Return the gamma (d,) in [-1, 1] of greatest height.

    Brent's method for one gamma of all columns, which must beat -1 unless nothing else is asked
    for; then Powell's for one of each.
    """

    def depth(gamma: Any) -> float:
        value = height(np.broadcast_to(np.asarray(gamma, dtype=np.float64), d).copy())
        return -value if np.isfinite(value) else NEVER

    found = minimize_scalar(depth, bounds=(-1.0, 1.0), method="bounded", options={"xatol": 1e-4})
    brent = np.full(d, float(found.x))
    best = brent if only_brent else min(np.full(d, -1.0), brent, key=depth)
    if per_column and d > 1:
        powell = minimize(depth, best, method="Powell", bounds=[(-1.0, 1.0)] * d).x
        best = min(best, powell, key=depth)
    return best


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
    gamma : float, array-like of shape (d,), "evidence" or "loo"
        Weight of the bias in the factors of gamma-EP [2]_. At -1 it is expectation propagation.
        Another value is for study: the posterior is then not the product of prior and factors, and
        no evidence is a probability. "evidence" takes the value from -1 to 1 of greatest
        `log_evidence_`, "loo" that of greatest mean `loo_log_density_`, by Brent's method. What
        it finds must beat -1, and only values at which passes settle compete; with the printed
        evidence it is taken as it comes.
    gamma_per_column : bool
        Whether the chosen gamma may differ between columns.
    multipliers : {"none", "clipped", "free"}
        Whether gamma is multiplied in each row by a lambda, which begins at 1 and moves by
        `multiplier_step` times -gamma log Z in each pass: lambda-gamma-EP. "clipped" keeps it
        from 0 to 1, "free" is the printed form. Where all Z are below 1, as in one column, free
        multipliers of a positive gamma grow for ever, and clipped ones stay at 1.
    multiplier_step : float
    restrict : {"none", "negative", "all"}
        Which factors get a precision of nearly zero: none; those that would have a negative one;
        all of them if gamma is not negative, as the source has it for study.
    evidence : {"corrected", "printed"}
        The formula of `log_evidence_`: the integral of the factors, or equation (3.45) of the
        source as printed, which is wrong: with restricted factors it is far above 1, and without
        the restriction NaN where a factor has a negative precision.
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
    multipliers_ : ndarray of shape (n,)
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
        gamma_per_column: bool = False,
        multipliers: Literal["none", "clipped", "free"] = "none",
        multiplier_step: float = 1.0,
        restrict: Literal["none", "negative", "all"] = "none",
        evidence: Literal["corrected", "printed"] = "corrected",
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
        self.gamma_per_column = gamma_per_column
        self.multipliers = multipliers
        self.multiplier_step = multiplier_step
        self.restrict = restrict
        self.evidence = evidence
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
        passes = partial(pass_over, X, problem, how=how)
        gamma = self._chosen_gamma(X.shape[1], passes, problem)
        passed = passes(gamma)
        self._store(passed, gamma, how)
        self.log_evidence_ = self._log_evidence(passed, gamma, problem)
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
        check_choice("evidence", self.evidence, ("corrected", "printed"))
        if self.damping == "auto":
            share = None
        else:
            share = 1.0 - check_probability("damping", self.damping)
            if share == 0:
                raise InvalidInputError("damping must be below 1, or nothing is learnt, got 1.")
        chosen = check_choice("multipliers", self.multipliers, tuple(BOUNDS))
        step = check_positive("multiplier_step", self.multiplier_step, or_zero=True)
        return Passing(
            self._order(n),
            RESTRICTIONS[check_choice("restrict", self.restrict, tuple(RESTRICTIONS))],
            1.0 if one_pass else share,
            BOUNDS[chosen],
            0.0 if chosen == "none" else step,
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

    def _chosen_gamma(self, d: int, passes: Callable[[Array], Passed], problem: Problem) -> Array:
        """Return gamma (d,), given or chosen; one pass has none."""
        if self.inference == "adf":
            return np.full(d, -1.0)
        if not isinstance(self.gamma, str):
            gamma = per_column("gamma", self.gamma, d)
            if self.multipliers != "none" and np.ptp(gamma) > 0:
                raise InvalidInputError(
                    "Multipliers need one gamma for all columns; give a number."
                )
            return gamma
        check_choice("gamma", self.gamma, ("evidence", "loo"))

        def height(gamma: Array) -> float:
            passed = passes(gamma)
            if self.gamma == "loo":
                return float(passed.seen[:, 0].sum()) if passed.converged else -np.inf
            counts = passed.converged or self.evidence == "printed"
            return self._log_evidence(passed, gamma, problem) if counts else -np.inf

        return _best_gamma(
            height,
            d,
            only_brent=self.gamma == "evidence" and self.evidence == "printed",
            per_column=self.gamma_per_column and self.multipliers == "none",
        )

    def _log_evidence(self, passed: Passed, gamma: Array, problem: Problem) -> float:
        if self.evidence == "printed":
            return printed_evidence(passed, gamma)
        return corrected_evidence(passed, problem)

    def _store(self, passed: Passed, gamma: Array, how: Passing) -> None:
        self.mean_, self.variance_ = passed.mean, float(1.0 / passed.posterior[0])
        self.gamma_, self.order_ = gamma, how.order
        self.converged_ = passed.converged or self.inference == "adf"
        self.change_, self.n_iter_ = passed.change, passed.n_iter
        self.n_newton_steps_ = passed.n_steps
        self.damping_ = 1.0 - passed.share
        self.multipliers_, self.site_precisions_ = passed.sites[:, 0], passed.sites[:, 1]
        self.site_shifts_ = passed.sites[:, 2:]
        self.loo_log_density_, self.signal_probability_ = passed.seen[:, 0], passed.seen[:, 1]
