"""A Gaussian-process classifier for large tables, by variational inducing points.

Read `SparseGPClassifier` first; what it begins with (kernel, inducing points, weights of rows)
stands above it, the mathematics in `parsimon.inference.variational`.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtr
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice, check_count, finite_matrix
from parsimon._data import check_classes, class_weights, row_weights, validate_data
from parsimon._deadline import end_after, is_late, time_left
from parsimon._interrupts import stoppable
from parsimon._parallel import one_thread
from parsimon._progress import Progress
from parsimon._random import Seed, generator
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.gp._default_kernel import StandardColumns, constant_and_smooth
from parsimon.inference import (
    BoundFit,
    kmeans_points,
    maximise_bound,
    pivoted_points,
    stochastic_bound,
)
from parsimon.inference.variational import InducingPrior, LabelledRows
from parsimon.kernels import Constant, Kernel, SquaredExponential


def starting_kernel(
    kernel: Kernel | None, X: Array, names: Sequence[str] | None = None
) -> tuple[Kernel, Array]:
    """Return the kernel to begin with and the bounds of its log hyperparameters.

    Without a kernel, it is a constant plus a squared exponential with a lengthscale for each
    column that varies. These begin at the column's standard deviation times the root of the
    number of columns, where two rows are similar on average whatever that number is.

    Shapes: X (n, d) -> (p, 2).
    """
    if kernel is None:
        varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
        kernel = Constant()
        if len(varying):
            lengthscale = np.sqrt(len(varying)) * X[:, varying].std(axis=0)
            kernel = kernel + SquaredExponential(varying, tuple(lengthscale.tolist()))
    elif not kernel.is_psd:
        raise InvalidInputError(
            f"{kernel} is not positive semi-definite, which a Gaussian process needs. "
            "Use another kernel."
        )
    bounds = kernel.bounds(X, names=names).reshape(-1, 2)
    return kernel.with_theta(np.clip(kernel.theta, *bounds.T)), bounds


def choose_inducing(
    inducing: Any,
    kernel: Kernel,
    X: Array,
    *,
    n_inducing: int,
    weights: Array,
    rng: np.random.Generator,
) -> Array:
    """Return the inducing points that the option `inducing` asks for.

    Shapes: inducing (m, d), X (n, d), weights (n,) -> (m, d).
    """
    if not isinstance(inducing, str):
        points = finite_matrix(inducing, "inducing")
        if points.shape[1] != X.shape[1]:
            raise InvalidInputError(
                f"The inducing points have {points.shape[1]} columns, but X has {X.shape[1]}."
            )
        return points
    if inducing == "pivoted":
        return pivoted_points(kernel, X, n_inducing, rng=rng)
    if inducing != "kmeans":
        raise InvalidInputError(
            f"inducing must be 'kmeans', 'pivoted' or an array of points, got {inducing!r}."
        )
    return kmeans_points(X, n_inducing, rng=rng, weights=weights, scale=_metric(kernel, X))


def _metric(kernel: Kernel, X: Array) -> Array:
    """Return one over the deviation of the columns that the kernel sees, zero for the others."""
    deviation = np.unique(X, axis=0).std(axis=0)
    seen = deviation > 0
    if kernel.columns is not None:
        seen &= np.isin(np.arange(X.shape[1]), kernel.columns)
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=seen)


# A search without noise may look for smaller gains than one by mini-batches.
FINER = 1e-3


# Whatever ends one of several fits in this way ends the others.
_CUT = ("time_limit", "interrupt")


class SparseGPClassifier(ClassifierMixin, BaseEstimator):
    """Gaussian-process classification in time linear in the number of rows.

    The latent function is summarised by its values at a few inducing points, and a lower bound
    of the evidence is maximised over their distribution and the kernel's hyperparameters [1]_.
    Each mini-batch gives one natural-gradient step to the distribution [2]_ and one step of Adam
    to the hyperparameters; at the end the distribution is polished on all rows. A table of no
    more than `batch_size` rows is fitted as a whole by a quasi-Newton search instead, to which
    `learning_rate` and `natural_step` do not apply. Several classes are learnt one against the
    rest, with a common kernel and common inducing points.

    Parameters
    ----------
    kernel : Kernel, optional
        Its hyperparameters are the start and are learnt within ``kernel.bounds(X)``; `fixed` ones
        stay. By default a constant plus a squared exponential with a lengthscale for each column;
        a table of no more than `batch_size` rows is also fitted with a constant alone, and with a
        constant, straight lines and a squared exponential of one lengthscale in units of the
        columns' deviations, and the greatest bound less its number of hyperparameters is kept.
    optimise : bool, default True
        Whether the hyperparameters are learnt; otherwise those of `kernel` stay.
    n_inducing : int, default 100
        Inducing points, at most. The time of a pass grows with n times their square.
    inducing : {"kmeans", "pivoted"} or array-like of shape (m, d), default "kmeans"
        Centres of clusters of the rows; rows chosen one after another where the kernel leaves
        most variance unexplained; or the points themselves.
    batch_size : int, default 1000
        Rows of a mini-batch.
    max_iter : int, default 50
        Passes over the rows; for a table fitted as a whole, iterations of the search.
    learning_rate : float, default 0.03
        Of Adam, in logarithms of the hyperparameters.
    natural_step : float, default 0.03
        Share of a full natural-gradient step, in (0, 1], taken for each mini-batch.
    tol : float, default 1e-3
        Stop when two more passes do not raise the bound by this share; for a table fitted as a
        whole, when an iteration does not raise it by a thousandth of this share.
    response : {"averaged", "plug_in"}, default "averaged"
        Probabilities averaged over the latent value, or at its mean (more extreme).
    class_weight : None, "balanced" or dict, default None
        Factors of the rows' weights by class.
    random_state : int, Generator, SeedSequence, RandomState or None
        Draws inducing points and mini-batches.
    time_limit : float, optional
        Seconds after which the search stops with what it has.
    verbose : bool, default False
        Show progress.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    kernel_ : Kernel
        With the hyperparameters found.
    inducing_points_ : ndarray of shape (m, d)
    posterior_ : VariationalPosterior
        Of the latent functions.
    elbo_ : float
        Evidence lower bound over all rows, summed over the classes if they are more than two;
        after an interruption, its mean over the last pass.
    elbo_history_ : ndarray of shape (n_iterations,)
        The bound averaged over each pass; for a table fitted as a whole, after each evaluation.
    n_iter_ : int
        Passes, or evaluations for a table fitted as a whole.
    converged_ : bool
        Whether `tol` was met.
    stopped_by_ : {"converged", "max_iter", "time_limit", "interrupt"}
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    .. [1] Hensman, Matthews and Ghahramani (2015), "Scalable variational Gaussian process
       classification", AISTATS.
    .. [2] Salimbeni, Eleftheriadis and Hensman (2018), "Natural gradients in practice", AISTATS.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from parsimon.gp.sparse import SparseGPClassifier
    >>> X, y = make_moons(3000, noise=0.2, random_state=0)
    >>> model = SparseGPClassifier(n_inducing=20, batch_size=300, random_state=0).fit(X, y)
    >>> model.stopped_by_, model.score(X, y) > 0.96
    ('converged', True)
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        optimise: bool = True,
        n_inducing: int = 100,
        inducing: Any = "kmeans",
        batch_size: int = 1000,
        max_iter: int = 50,
        learning_rate: float = 0.03,
        natural_step: float = 0.03,
        tol: float = 1e-3,
        response: str = "averaged",
        class_weight: Any = None,
        random_state: Seed = None,
        time_limit: float | None = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.optimise = optimise
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.natural_step = natural_step
        self.tol = tol
        self.response = response
        self.class_weight = class_weight
        self.random_state = random_state
        self.time_limit = time_limit
        self.verbose = verbose

    @stoppable
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the latent functions and the kernel's hyperparameters.

        Ctrl-C ends the search early and keeps the model it has reached.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n,), optional
            Factors of the rows' log likelihoods; whole numbers equal duplicated rows.
        """
        self._check_options()
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        rows = self._labelled_rows(X, y, sample_weight)
        rng = generator(self.random_state)
        names = getattr(self, "feature_names_in_", None)
        kernel, bounds = starting_kernel(self.kernel, np.unique(rows.X, axis=0), names)
        if not self.optimise:
            bounds = bounds[:0]
        # Batches are small: threads would wait for each other longer than they compute.
        with one_thread():
            points = choose_inducing(
                self.inducing,
                kernel,
                rows.X,
                n_inducing=self.n_inducing,
                weights=rows.weights,
                rng=rng,
            )
            prior = InducingPrior(kernel, points)
            is_whole = len(rows.X) <= self.batch_size
            if self.kernel is None and len(bounds) > 1 and is_whole:
                return self._store(self._compare(prior, rows, bounds))
            return self._store(
                self._search(prior, rows, bounds, None if is_whole else rng, self.time_limit)
            )

    def latent(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return the latent functions' means, and standard deviations if asked for.

        Parameters
        ----------
        X : array-like of shape (n, d)
        return_std : bool, default False

        Returns
        -------
        mean : ndarray of shape (n,), or (n, c) for more than two classes
        std : ndarray of the same shape
            Only with ``return_std=True``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        mean, variance = self.posterior_.latent(X)
        if len(self.classes_) == 2:
            mean, variance = mean[:, 0], variance[:, 0]
        return (mean, np.sqrt(variance)) if return_std else mean

    def decision_function(self, X: Any) -> Array:
        """Return the numbers whose normal distribution function is the class's probability.

        These are latent means m divided by sqrt(1 + variance), or the means themselves with
        ``response="plug_in"``.

        Returns
        -------
        ndarray of shape (n,), or (n, c) for more than two classes
        """
        mean, std = self.latent(X, return_std=True)
        return mean if self.response == "plug_in" else mean / np.sqrt(1 + std**2)

    def predict_proba(self, X: Any) -> Array:
        """Return the classes' probabilities, shape (n, c).

        Those of more than two classes are one-against-the-rest probabilities divided by their sum.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([ndtr(-scores), ndtr(scores)])
        logs = log_ndtr(scores)
        return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each row, shape (n,)."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

    def _check_options(self) -> None:
        for name in ("n_inducing", "batch_size", "max_iter"):
            check_count(name, getattr(self, name))
        limits = {"learning_rate": np.inf, "natural_step": 1.0}
        if self.time_limit is not None:
            limits["time_limit"] = np.inf
        for name, most in limits.items():
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0 < float(value) <= most:
                limit = "" if most == np.inf else f" and at most {most:g}"
                raise InvalidInputError(f"{name} must be above 0{limit}, got {value!r}.")
        if not isinstance(self.tol, Real) or not 0 <= float(self.tol) < np.inf:
            raise InvalidInputError(f"tol must be a number from 0, got {self.tol!r}.")
        check_choice("optimise", self.optimise, (True, False))
        check_choice("response", self.response, ("averaged", "plug_in"))
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            kind = type(self.kernel).__name__
            raise InvalidInputError(
                f"kernel must be one of parsimon.kernels or None, got {kind}; "
                "from_sklearn translates scikit-learn's."
            )

    def _labelled_rows(self, X: Array, y: AnyArray, sample_weight: Any) -> LabelledRows:
        """Return the rows that have weight, with a column of signs for each binary problem."""
        weights = row_weights(sample_weight, len(X))
        kept = weights > 0
        X, y, weights = X[kept], y[kept], weights[kept]
        self.classes_, codes = np.unique(y, return_inverse=True)
        weights = weights * class_weights(self.class_weight, self.classes_, codes, weights)
        check_classes(self.classes_, codes, weights)
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        signs = np.where(codes[:, None] == np.array(positive), 1.0, -1.0)
        return LabelledRows(X, signs, weights)

    def _compare(self, prior: InducingPrior, rows: LabelledRows, bounds: Array) -> BoundFit:
        """Return the fit of the kernel with widths, of lines and one width, or of the constant.

        It is the one with the greatest bound less its number of hyperparameters; a table so small
        that it is fitted as a whole may not support a width for each column.
        """
        deadline = end_after(self.time_limit)
        found = [self._search(prior, rows, bounds, None, self.time_limit)]
        merits = [found[0].bound - len(bounds)]
        table = StandardColumns.of(rows.X, rows.weights)
        distinct = np.unique(table.X, axis=0)
        for kernel in constant_and_smooth(distinct):
            if found[-1].reason in _CUT or is_late(deadline):
                break
            fit = self._search(
                InducingPrior(kernel, table.standard(prior.Z)),
                rows._replace(X=table.X),
                kernel.bounds(distinct),
                None,
                time_left(deadline),
            )
            # The same function in the table's units: the kernel matrices are the same.
            again = kernel.with_theta(fit.posterior.prior.kernel.theta)
            restated = InducingPrior(table.restated(again), prior.Z)
            found.append(fit._replace(posterior=replace(fit.posterior, prior=restated)))
            merits.append(fit.bound - kernel.n_theta)
        best, last = found[int(np.argmax(merits))], found[-1].reason
        return best._replace(reason=last) if last in _CUT else best

    def _search(
        self,
        prior: InducingPrior,
        rows: LabelledRows,
        bounds: Array,
        rng: np.random.Generator | None,
        time_limit: float | None,
    ) -> BoundFit:
        """Maximise the bound, of all rows at once where no chance is given."""
        with Progress("passes", total=self.max_iter, verbose=self.verbose) as progress:

            def report(n_iterations: int, bound: float) -> None:
                progress.update(n_iterations, note=f"bound {bound:.1f}")

            shared: dict[str, Any] = {
                "max_iter": self.max_iter,
                "time_limit": time_limit,
                "report": report,
            }
            if rng is None:
                return maximise_bound(prior, rows, bounds, tol=FINER * self.tol, **shared)
            steps: dict[str, Any] = {
                "batch_size": self.batch_size,
                "learning_rate": self.learning_rate,
                "natural_step": self.natural_step,
            }
            return stochastic_bound(prior, rows, bounds, rng=rng, tol=self.tol, **steps, **shared)

    def _store(self, fit: BoundFit) -> Self:
        self.posterior_ = fit.posterior
        self.kernel_ = fit.posterior.prior.kernel
        self.inducing_points_ = fit.posterior.prior.Z
        self.elbo_ = fit.bound
        self.elbo_history_ = fit.history
        self.n_iter_ = fit.n_iterations
        self.stopped_by_ = fit.reason
        self.converged_ = fit.reason == "converged"
        if fit.reason == "max_iter":
            warnings.warn(
                f"The bound was still rising after max_iter={self.max_iter} passes. "
                "Raise max_iter, or tol if the model is good enough.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return self
