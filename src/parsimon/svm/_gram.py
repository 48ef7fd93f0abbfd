"""Kernel matrices of training rows and of new rows, and what classifier and regressor do with them.

`Gram` is a kernel, whatever it was given as, and the rows it was fitted on. `fit_dual` solves one
dual on the matrix that `indefinite.training_matrix` makes of it; `EvolutionaryMachine` is what
classifier and regressor keep of their fits.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import (
    check_choice,
    check_positive,
    finite_matrix,
    is_precomputed,
    warn_of_units,
)
from parsimon._data import validate_data
from parsimon._random import Seed
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError, InvertedPredictionWarning
from parsimon.kernels import Kernel
from parsimon.kernels.adapters import as_kernel
from parsimon.svm._dual import Dual, Solution
from parsimon.svm._evolve import EvolutionOptions, EvolutionResult, evolve
from parsimon.svm.indefinite import REPAIRS, How, TrainingMatrix

_ASYMMETRY = 1e-8


@dataclass(frozen=True, eq=False)
class Gram:
    """A kernel and the rows it was fitted on.

    rows (n, d): Training rows; for "precomputed" the similarities themselves, shape (n, n).
    is_psd: Whether the matrix is known to be positive semi-definite from the kernel's form
        alone; False means unknown.
    places (n,): For "precomputed": which columns of new similarities belong to the rows; None
        means all.
    """

    kernel: Any
    rows: Array
    is_psd: bool
    places: Indices | None = None

    @classmethod
    def of(
        cls,
        kernel: Any,
        gamma: float | str,
        X: Array,
        *,
        weights: Array | None = None,
    ) -> "Gram":
        """Fit a kernel to training rows.

        Shapes: X (n, d), weights (n,).
        """
        if isinstance(kernel, str) and kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise InvalidInputError(
                    f'kernel="precomputed" takes a square matrix of the similarities of the '
                    f"training rows, got shape {X.shape}."
                )
            return cls(kernel, X, is_psd=False)
        if isinstance(kernel, str):
            warn_of_units(X, stacklevel=5)
            is_scale = isinstance(gamma, str) and gamma == "scale"
            width = _weighted_scale(X, weights) if is_scale else gamma
            made = as_kernel(kernel, gamma=width, X=X)
            return cls(made, X, is_psd=made.is_psd)
        if isinstance(kernel, Kernel):
            return cls(kernel, X, is_psd=kernel.is_psd)
        if callable(kernel):
            return cls(kernel, X, is_psd=False)
        raise InvalidInputError(
            f"kernel must be a name, a parsimon kernel or a callable; got {kernel!r}."
        )

    @property
    def precomputed(self) -> bool:
        """Whether rows are similarities instead of features."""
        return isinstance(self.kernel, str)

    @property
    def train(self) -> Array:
        """Similarities of the training rows, shape (n, n), symmetric; computed at every call."""
        if self.precomputed:
            return _symmetric(self.rows)
        if isinstance(self.kernel, Kernel):
            with np.errstate(over="ignore", invalid="ignore"):
                matrix = self.kernel.gram(self.rows)
            return _finite(matrix)
        return _symmetric(_finite(np.asarray(self.kernel(self.rows, self.rows), dtype=np.float64)))

    def between(self, X: Array) -> Array:
        """Return similarities of new rows with the training rows, shape (m, n)."""
        if self.precomputed:
            return X if self.places is None else X[:, self.places]
        if isinstance(self.kernel, Kernel):
            return self.kernel.gram(X, self.rows)
        return finite_matrix(self.kernel(X, self.rows), "Kernel values")

    def subset(self, chosen: Indices) -> "Gram":
        """Return the same kernel on some of the rows, such as the support vectors."""
        if not self.precomputed:
            return Gram(self.kernel, self.rows[chosen], self.is_psd)
        places = chosen if self.places is None else self.places[chosen]
        return Gram(self.kernel, self.rows[np.ix_(chosen, chosen)], self.is_psd, places)


def _weighted_scale(X: Array, weights: Array | None) -> float:
    """Return SVC's "scale" for a table in which each row is there `weights` times."""
    share = None if weights is None else np.repeat(weights[:, None], X.shape[1], axis=1)
    mean = np.average(X, weights=share)
    spread = float(np.average((X - mean) ** 2, weights=share))
    return 1.0 if spread == 0 else 1.0 / (X.shape[1] * spread)


def _symmetric(matrix: Array) -> Array:
    largest = float(np.abs(matrix).max(initial=0.0))
    asymmetry = float(np.abs(matrix - matrix.T).max(initial=0.0))
    if asymmetry > _ASYMMETRY * largest:
        raise InvalidInputError(
            f"The kernel matrix of the training rows is not symmetric: k(a, b) and k(b, a) differ "
            f"by up to {asymmetry:g}. Give (K + K.T) / 2 if that is what is meant."
        )
    return matrix if asymmetry == 0.0 else 0.5 * (matrix + matrix.T)


def _finite(matrix: Array) -> Array:
    if not np.isfinite(matrix).all():
        raise InvalidInputError(
            "The kernel has values that are not finite on these rows. Scale the columns, for "
            "instance with StandardScaler, or give another kernel."
        )
    return matrix


def fit_gram(options: Any, X: Array, places: Indices, weights: Array) -> Gram:
    """Return the kernel that options name, on some of the rows; equal rows are merged to weights.

    Shapes: X (n_given, d), places (n,), weights (n,).
    """
    if is_precomputed(options):
        whole = Gram.of(options.kernel, options.gamma, X)
        return whole if len(places) == len(X) else whole.subset(places)
    return Gram.of(options.kernel, options.gamma, X[places], weights=weights)


_DONE = ("concave", "stall", "max_iter", "time_limit", "interrupt")


def box_size(C: Any, matrix: Array, weights: Array) -> float:
    """Return C; "heuristic" is one over the mean similarity of a row with itself.

    Mierswa (2009), section 3.1.3, prints 1 / (1 - sum of K_ii); its implementation has
    n / sum of K_ii, which is meant here.
    """
    if not isinstance(C, str):
        return check_positive("C", C)
    check_choice("C", C, ("heuristic",))
    total = float(weights @ np.diagonal(matrix))
    if total <= 0:
        raise InvalidInputError(
            f'C="heuristic" is the number of rows over the sum of k(x, x), which is {total:g} '
            "here. Give a number."
        )
    return float(weights.sum()) / total


class FittedDual(NamedTuple):
    """A dual with its solution and how it was found.

    inverted: Whether the machine is against the labels, which an indefinite kernel may bring about.
    slopes: Of its probabilities, if they were asked for.
    """

    solution: Solution
    evolved: EvolutionResult
    inverted: bool
    slopes: Any = None


def fit_dual(dual: Dual, settings: EvolutionOptions, concave: bool, seed: Seed) -> FittedDual:
    """Evolve a dual and measure what was found."""
    evolved = evolve(dual, settings, concave=concave, random_state=seed)
    found = Solution.of(dual, evolved.alpha, n_steps=evolved.n_steps, converged=True)
    # Rounding of the scores hides smaller gaps, as in `_dual.climb`.
    size = float(np.abs(dual.slope).max()) + float(np.abs(dual.scores(evolved.alpha)).max())
    reached = settings.printed or found.gap <= max(1.01 * settings.tol, 1e-12 * size)
    done = evolved.stopped_by in ("concave", "stall", "max_iter")
    inverted = not concave and _is_inverted(dual, found)
    return FittedDual(replace(found, converged=done and reached), evolved, inverted)


def _is_inverted(dual: Dual, solution: Solution) -> bool:
    """Return whether a decision is against the labels, or a function against the targets.

    On an indefinite matrix a stationary point of the dual may use the negative directions alone.
    """
    decisions = dual.scores(solution.alpha, solution.bias)
    if dual.linear is None:
        right = float(dual.upper @ (dual.signs * decisions > 0))
        return right < 0.5 * float(dual.upper.sum())
    # Variables of errors above the tube come first; both have the same rows.
    above, below = np.split(dual.linear, 2)
    targets, function, weights = above - below, np.split(decisions, 2)[0], dual.upper[: len(above)]
    centred = targets - np.average(targets, weights=weights)
    return float(weights @ (centred * function)) < 0.0


class KernelMachine(BaseEstimator):
    """A machine whose rows may be similarities, which are then cut on both sides into folds."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self)
        return tags


def copy_columns(source: Any, model: Any) -> Any:
    """Return a model that knows the columns of the table that another estimator was fitted to."""
    model.n_features_in_ = source.n_features_in_
    if hasattr(source, "feature_names_in_"):
        model.feature_names_in_ = source.feature_names_in_
    return model


class BinaryKernelMachine(ClassifierMixin, KernelMachine):
    """A classifier of two classes."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class EvolutionaryMachine(KernelMachine):
    """What classifier and regressor keep of their fits, and say of them."""

    strategy: str
    objective_: Any
    intercept_: Array
    support_: Indices
    _expansion: Gram
    _coefficients: Array

    @property
    def smallest_eigenvalue_(self) -> float:
        """Smallest eigenvalue of the kernel matrix of the training rows."""
        check_is_fitted(self)
        return self._definiteness.measured.smallest

    def summary(self) -> str:
        """Return in words what was fitted, how well, and what was done about the kernel."""
        check_is_fitted(self)
        n, objective = len(self._definiteness.gram.rows), float(np.sum(self.objective_))
        return (
            f"{len(self.support_)} of {n} distinct rows are support vectors. The dual objective is "
            f"{objective:.6g}, its optimality conditions violated by {self.gap_:.2g} at most; "
            f"strategy {self.strategy}, stopped by {self.stopped_by_}. "
            f"{self._definiteness.sentence()}"
        )

    def _options(self) -> tuple[EvolutionOptions, How]:
        """Return the settings of the evolution, and what to do with negative eigenvalues."""
        options: Any = self
        settings = EvolutionOptions.of(
            options.strategy,
            max_iter=options.max_iter,
            stall=options.stall,
            tol=options.tol,
            time_limit=options.time_limit,
        )
        return settings, check_choice("indefinite", options.indefinite, REPAIRS)

    def _decide(self, X: Any) -> Array:
        """Return what the machines say of new rows, shape (m,) or (m, n_machines)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._expansion.between(X) @ self._coefficients + self.intercept_

    def _store_fits(self, made: TrainingMatrix, fits: list[FittedDual]) -> None:
        """Keep how fits went, and of which kernel matrix; the least welcome ending of several."""
        self.gap_ = max(fit.solution.gap for fit in fits)
        self.converged_ = all(fit.solution.converged for fit in fits)
        self.inverted_ = any(fit.inverted for fit in fits)
        self.history_ = tuple(fit.evolved.history for fit in fits)
        self.n_iter_ = max(len(history) for history in self.history_)
        self.stopped_by_ = max((fit.evolved.stopped_by for fit in fits), key=_DONE.index)
        self._definiteness, self.repair_ = made.definiteness, made.definiteness.repair
        self.kernel_ = made.gram.kernel

    def _warn(self, fits: list[FittedDual]) -> None:
        """Warn the caller of `fit` of fits that stopped early, or are worse than guessing."""
        gaps = [fit.solution.gap for fit in fits if not fit.solution.converged]
        if gaps:
            which = f" for {len(gaps)} of {len(fits)} pairs of classes" if len(fits) > 1 else ""
            warnings.warn(
                f"The fit did not converge{which}: the optimality conditions are violated by "
                f"up to {max(gaps):.3g}. Scale the columns, lower C, or raise time_limit.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if self.inverted_:
            warnings.warn(
                "On this indefinite kernel matrix, taken as it is, the machine predicts worse than "
                'guessing on its own training rows; use indefinite="flip" or "clip".',
                InvertedPredictionWarning,
                stacklevel=4,
            )
