"""Relevance vector regression with scikit-learn's interface."""

import time
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin

from parsimon._data import Rows, row_weights, validate_data
from parsimon._parallel import one_thread
from parsimon._random import Seed
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes import SparseBayes, sparse_regression
from parsimon.inference.sparse_bayes.thinned import em_regression, variational_regression
from parsimon.rvm._automatic import (
    ScaledRows,
    Trials,
    automatic_names,
    choose_width,
    deal_rows,
    half_time,
)
from parsimon.rvm._dictionary import BasisFunctions
from parsimon.rvm._machine import far_column, make_machine, printed_complexity, shared_columns
from parsimon.rvm._setup import (
    Dictionary,
    RelevanceEstimator,
    check_machine_options,
    make_dictionary,
    prepare_rows,
    rough_options,
    sparse_options,
    warn_of_cut_fits,
    warn_of_explained_noise,
)

_ALGORITHMS: dict[str, Callable[..., SparseBayes]] = {
    "fast": sparse_regression,
    "em": em_regression,
    "variational": variational_regression,
}


class RVR(RegressorMixin, RelevanceEstimator):
    """Relevance vector machine for regression.

    The function is a weighted sum of basis functions, one for each training row unless said
    otherwise, and the weight of each has a prior precision of its own. Maximising the evidence
    sends most precisions to infinity, so that few functions remain: their rows are the relevance
    vectors [1]_ [2]_. The targets are centred if there is a bias, and scaled to unit variance,
    for the fit alone: everything shown is in units of y.

    Parameters
    ----------
    kernel : str, Kernel, MultiResolution, callable, object with ``basis(X, centres)`` or None
        None is "rbf" if `gamma` is given; otherwise "features", "rbf" or "laplacian" is chosen,
        whichever predicts held-out rows best. "rbf", "linear", "poly", "sigmoid" and "laplacian"
        mean what they mean in SVR.
        "features" chooses among the columns of X themselves. "precomputed" takes a square matrix
        of similarities in `fit` and similarities with the training rows, shape (m, n), in
        `predict`. A callable ``k(X, Z)`` returns similarities, shape (n, m); the method
        ``basis(X, centres)`` of any object returns basis functions, shape (n, M).
    gamma : float, "scale", "auto", "evidence", "inputs" or None
        Width of the named kernels, as in SVR; "evidence" chooses it, or the free hyperparameters
        of a `Kernel` or the width of a `MultiResolution`, by maximum evidence. None, the default,
        scales the columns and chooses between them, a width and a constant on held-out rows
        (see Notes); for "poly" and "sigmoid", of degree 3 and coef0 0, it is "scale".
        "inputs" chooses a width for each input by evidence, for "rbf", "laplacian" and kernels
        with lengthscales.
    algorithm : {"fast", "em", "variational"}
        Sequential: one function enters, changes or leaves at a time [2]_. "em" begins with all
        functions and updates all precisions at once [1]_, "variational" also integrates over
        precisions and noise; both are slower by far.
    smoothness : {"bic", "aic", "ric"}, float or None
        What a degree of freedom costs [3]_, which gives sparser models where functions are narrow:
        half the logarithm of the number of rows, 1, that logarithm, or a number. None has no
        preference among precisions. Not for "variational". For "features" of tables with more
        columns than rows give the logarithm of the number of columns [5]_: many candidates explain
        noise.
    noise : "estimate", float or None
        Variance of an observation around the function: estimated ("estimate" and None), or held
        at this value, in squared units of y.
    centres : array of shape (c, d), int or None
        Where the functions sit: at these points, at so many training rows spread over the
        table, or at all of them. For tables too large for a square matrix give a number.
    bias : bool
        Let a constant be among the functions, and measure y from its mean.
    far_variance : bool
        Let the variance grow away from the training rows, where that of localised functions
        would vanish and make the model overconfident [4]_.
    max_iter : int
        Steps of the algorithm.
    time_limit : float, optional
        Seconds for the whole fit; the best so far is kept.
    random_state : int, Generator, SeedSequence, RandomState or None
        Chooses centres, and rows for the choice of a width on large tables.

    Attributes
    ----------
    relevance_ : ndarray of shape (n_relevant,)
        Training rows of the functions in the model, ascending; for "features" the columns, for
        given `centres` their numbers. A row is there once for each function: several times if a
        dictionary has several at a row.
    relevance_vectors_ : ndarray of shape (n_relevant, d)
        Those rows; no rows for "features", "precomputed" and objects with a ``basis``.
    coef_ : ndarray of shape (n_relevant,)
        Weights of the functions; for "features" of shape (d,), zero if not chosen.
    intercept_ : float
        Constant part of the function.
    alpha_ : ndarray of the shape of `coef_`
        Prior precisions, infinite for features that were not chosen.
    bias_alpha_ : float
        That of the bias, infinite if it was left out.
    noise_variance_ : float
        In squared units of y.
    log_evidence_ : float
        Log marginal likelihood of y in its own units (a lower bound for "variational").
    complexity_ : float
        Sum over all weights of 1 / (1 + alpha), the bias included (Clark 2011, eq 3.18 with
        unit noise), for y in units of its standard deviation.
    degrees_of_freedom_ : float
        Sum over all weights of how far the data determine them, 1 - alpha * variance.
    input_relevance_ : ndarray of shape (d,)
        With ``gamma="inputs"``: how strongly each input matters in the kernel, in units of
        its standard deviation; zero for one that does not.
    basis_ : BasisFunctions
        The functions in the model, a column of ones first if the bias is.
    kernel_ : Kernel, MultiResolution, callable or object
        What the functions come from, widths as chosen; the name for "features" and
        "precomputed".
    candidates_ : tuple of (str, float, float)
        With ``gamma=None``: kernel, width and mean loss on held-out rows of all that was compared,
        the constant first. Widths count standard deviations of the columns, times the root of
        their number for "rbf" and times their number for "laplacian"; "features" have none, and
        "rbf unscaled" has one deviation, the root mean square, for all columns.
    converged_ : bool
        Whether the last fit, at the final widths, went to its end.
    n_iter_ : int
        Steps of the algorithm.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Notes
    -----
    **Without a width.** The evidence is a likelihood maximised over a precision for each function,
    and prefers functions so narrow that they overfit. With ``gamma=None`` the columns are
    therefore divided by their standard deviations; they themselves, and functions of any width, are
    compared by the squared error of five folds that took no part in a fit, from wide to narrow for
    as long as it falls; last, functions of the columns as they are. Up to 200 rows are dealt out to
    folds three times to decide between what one deal cannot tell apart. Where the best is not
    better than the mean of y by a standard error of the difference, the model is a constant. This
    costs 10 to 60 fits at one width, on at most 1,000 rows. With any `gamma` there is one fit, of
    the columns as they are.

    **Far from the data.** A sum of few localised functions can say little away from their
    centres: all functions of the prior vanish there, and so does the plain variance. With
    ``far_variance=True`` the variance grows to that of one more function of the size of the
    fitted one; the mean still returns to the constant part. Functions
    that do not fade ("linear", "features", `Multiquadric`) extrapolate, and their own variance
    grows with them.

    References
    ----------
    .. [1] Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", JMLR 1.
    .. [2] Tipping and Faul (2003), "Fast marginal likelihood maximisation for sparse Bayesian
       models", AISTATS 9.
    .. [3] Schmolck and Everson (2007), "Smooth relevance vector machine", Machine Learning 68.
    .. [4] Rasmussen and Quiñonero-Candela (2005), "Healing the relevance vector machine through
       augmentation", ICML 22.
    .. [5] Foster and George (1994), Annals of Statistics 22:1947-1975.

    Examples
    --------
    >>> X = np.linspace(-10, 10, 100)[:, None]
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.1 * np.random.default_rng(0).normal(size=100)
    >>> model = RVR(gamma=0.1).fit(X, y)
    >>> len(model.relevance_) < 12, round(model.noise_variance_**0.5, 1)
    (True, 0.1)
    >>> mean, sd = model.predict([[0.0], [40.0]], return_std=True)
    >>> bool(abs(mean[0] - 1) < 0.1), bool(sd[1] > 2 * sd[0])
    (True, True)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        gamma: float | str | None = None,
        algorithm: Literal["fast", "em", "variational"] = "fast",
        smoothness: float | Literal["bic", "aic", "ric"] | None = None,
        noise: float | Literal["estimate"] | None = None,
        centres: Any = None,
        bias: bool = True,
        far_variance: bool = True,
        max_iter: int = 5000,
        time_limit: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.algorithm = algorithm
        self.smoothness = smoothness
        self.noise = noise
        self.centres = centres
        self.bias = bias
        self.far_variance = far_variance
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the functions and fit their weights and the noise.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Square, of similarities, for ``kernel="precomputed"``.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            How many observations each row stands for: integers equal repeated rows, zero leaves
            one out.

        Returns
        -------
        RVR
            Itself.
        """
        check_machine_options(self)
        noise = self._check_noise()
        deadline = None if self.time_limit is None else time.monotonic() + self.time_limit
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        weights = row_weights(sample_weight, len(X))
        rows = prepare_rows(self, X, np.asarray(y, dtype=np.float64), weights)
        self._centre, self._unit = target_scale(rows.y, rows.weights, centred=self.bias)
        rows = replace(rows, y=(rows.y - self._centre) / self._unit)
        # The matrices are small: more threads would take longer, and change the last digits.
        with one_thread():
            posterior = self._fit_rows(rows, noise, deadline)
        warn_of_cut_fits([posterior])
        if self.kernel_ == "features":
            warn_of_explained_noise(len(rows.y), X.shape[1], len(self.relevance_))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the target at new rows.

        Parameters
        ----------
        X : array-like of shape (m, d)
        return_std : bool
            Return the standard deviations of new observations as well, noise included: those of
            the function alone are in `latent`.

        Returns
        -------
        mean, sd : ndarray of shape (m,)
        """
        if not return_std:
            return self.latent(X)
        mean, sd = self.latent(X, return_std=True)
        # In this order, since the square of a small standard deviation may vanish.
        return mean, np.hypot(sd, self._noise_deviation)

    def latent(self, X: Any, *, return_std: bool = False) -> Any:
        """Return the function at new rows, without the noise of an observation.

        Parameters
        ----------
        X : array-like of shape (m, d)
        return_std : bool
            Return the standard deviations as well.

        Returns
        -------
        mean, sd : ndarray of shape (m,)
        """
        X, design = self._at(X)
        mean = self._centre + self._unit * self._machine.mean(design)
        if not return_std:
            return mean
        return mean, self._unit * np.sqrt(self._machine.variance(X, design))

    def _fit_rows(self, rows: Rows, noise: float | None, deadline: float | None) -> SparseBayes:
        """Fit the rows, which are in units of their own, and keep what is found."""
        options = sparse_options(self)
        options["noise_variance"] = None if noise is None else (noise / self._unit) / self._unit
        if automatic_names(self):
            made, self.candidates_ = self._choose_functions(rows, options, deadline)
        else:
            made = make_dictionary(
                self, rows, rows.y, task="regression", deadline=deadline, options=options
            )
        if made.widths is not None and made.widths.input_relevance is not None:
            self.input_relevance_ = made.widths.input_relevance
        options["start"] = made.starts[0] if made.starts else None
        if deadline is not None:
            # At least a little time, so that there is a model whatever the width took.
            options["time_limit"] = max(deadline - time.monotonic(), 0.01)
        algorithm = _ALGORITHMS[self.algorithm]
        posterior = algorithm(made.design, rows.y, row_weights=rows.weights, **options)
        self._store(made, rows, posterior)
        return posterior

    def _choose_functions(
        self, rows: Rows, options: dict[str, Any], deadline: float | None
    ) -> tuple[Dictionary, tuple[tuple[str, float, float], ...]]:
        """Choose scales and a width, or a constant, on held-out rows; see `choose_width`."""
        table = ScaledRows.of(self, rows)
        groups = np.zeros(len(rows.y), dtype=np.intp)
        own, some = table.sample(groups)
        y, half = rows.y[some], half_time(deadline)
        rough = rough_options(self)

        def scorer(_: BasisFunctions, design: Array, left: Array, held: Indices) -> Array:
            train = np.flatnonzero(left > 0.0)
            fit = sparse_regression(
                design[train],
                y[train],
                row_weights=left[train],
                time_limit=None if half is None else max(half - time.monotonic(), 0.01),
                **options | rough,
            )
            mean: Array = design[held][:, fit.active] @ fit.mean
            return mean[:, None]

        deals = deal_rows(groups[some], own.weights)
        choice = choose_width(
            Trials(own, self.bias, deals, scorer),
            automatic_names(self),
            lambda scores, parts: np.square(y[parts.rows] - scores[:, 0]),
            np.square(y),
            deadline=half,
        )
        basis = table.basis(choice.kernel, self.bias)
        return Dictionary(basis, basis.design(rows.X)), choice.tried

    def _store(self, made: Dictionary, rows: Rows, posterior: SparseBayes) -> None:
        shared = shared_columns(made.basis, [posterior.active])
        self._machine = make_machine(
            shared,
            posterior,
            # A constant is as sure of itself everywhere.
            column=far_column(made.basis)
            if self.far_variance and made.basis.functions.n_columns
            else None,
            X=rows.X,
            design=made.design,
            row_weights=rows.weights,
        )
        unit, table = self._unit, np.zeros((2, 1, shared.basis.n_columns))
        table[0, 0, self._machine.columns] = unit * posterior.mean
        with np.errstate(over="ignore", divide="ignore"):
            table[1, 0, self._machine.columns] = posterior.alpha / unit / unit
        self._show(shared.basis, *table)
        self.intercept_ += self._centre
        self._noise_deviation = unit * float(np.sqrt(posterior.noise_variance or 0.0))
        self.noise_variance_ = self._noise_deviation**2
        # A density of y itself: each observation was divided by the unit.
        self.log_evidence_ = posterior.log_evidence - float(rows.weights.sum() * np.log(unit))
        self.complexity_ = printed_complexity(posterior.alpha)
        self.degrees_of_freedom_ = float(posterior.well_determined.sum())
        self.n_iter_, self.converged_ = posterior.n_iter, posterior.converged

    def _check_noise(self) -> float | None:
        if self.noise is None or self.noise == "estimate":
            return None
        if not isinstance(self.noise, Real) or not 0 < float(self.noise) < np.inf:
            raise InvalidInputError(
                f"noise must be a positive variance, 'estimate' or None; got {self.noise!r}."
            )
        return float(self.noise)


def target_scale(y: Array, weights: Array, *, centred: bool) -> tuple[float, float]:
    """Return the mean of the targets, zero if not centred, and their root mean square from it.

    Shapes: y, weights (n,).
    """
    largest = float(np.abs(y).max())
    if largest == 0.0:
        return 0.0, 1.0
    scaled = y / largest
    centre = float(np.average(scaled, weights=weights)) if centred else 0.0
    spread = float(np.sqrt(np.average((scaled - centre) ** 2, weights=weights)))
    if spread <= 1e-13:
        # Constant targets: what is left is rounding, and the constant itself is exact.
        return float(y[0]), largest
    return centre * largest, spread * largest
