"""What the classifier and the regressor share: options, rows, the dictionary, what is shown."""

import time
import warnings
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import (
    check_choice,
    check_count,
    check_seconds,
    is_precomputed,
    shorten,
)
from parsimon._data import Rows, merged_rows, validate_data
from parsimon._random import seed_sequence
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes import SparseBayes
from parsimon.rvm._dictionary import (
    TABLES,
    BasisFunctions,
    BumpColumns,
    DictionaryColumns,
    KernelColumns,
    TableColumns,
    choose_row_centres,
    make_basis,
)
from parsimon.rvm._widths import WidthFit, best_gamma, input_widths

ALGORITHMS = ("fast", "em", "variational")
Task: TypeAlias = Literal["regression", "classification"]
# Functions among which a width is chosen; with more they sit at the rows it is chosen on.
_MOST_CENTRES = 2000
# Change in the logarithms of the precisions at which a fit stops, and one that compares widths.
TOLERANCE, ROUGH_TOLERANCE = 1e-3, 0.1
ROUGH_STEPS = 200


class Dictionary(NamedTuple):
    """All columns that a machine may choose from, at its training rows.

    Shapes: design (n, M).

    widths: How the kernel's width was chosen, if it was.
    starts: Where the fits may begin, one for each problem.
    """

    basis: BasisFunctions
    design: Array
    widths: WidthFit | None = None
    starts: tuple[SparseBayes | None, ...] = ()


def check_machine_options(estimator: Any) -> None:
    """Refuse options of `RVC` or `RVR` that cannot be used."""
    check_choice("algorithm", estimator.algorithm, ALGORITHMS)
    check_choice("bias", estimator.bias, [True, False])
    check_choice("far_variance", estimator.far_variance, [True, False])
    check_count("max_iter", estimator.max_iter)
    check_seconds("time_limit", estimator.time_limit)
    if isinstance(estimator.gamma, str):
        check_choice("gamma", estimator.gamma, ["scale", "auto", "evidence", "inputs"])
    if estimator.smoothness is not None and estimator.algorithm == "variational":
        raise InvalidInputError(
            'The variational algorithm has no smoothness; use algorithm="fast" or "em".'
        )


def sparse_options(estimator: Any) -> dict[str, Any]:
    """Return the keyword arguments of a sparse fit that the options of an estimator ask for."""
    options = {"max_iter": estimator.max_iter, "tol": TOLERANCE}
    if estimator.smoothness is not None:
        options |= {"prior": "smooth", "smoothness": estimator.smoothness}
    return options


def prepare_rows(estimator: Any, X: Array, y: Array, weights: Array) -> Rows:
    """Return the rows with weight, equal ones merged unless X holds similarities."""
    if is_precomputed(estimator) and X.shape[0] != X.shape[1]:
        raise InvalidInputError(
            f'kernel="precomputed" takes a square matrix of the similarities of the training '
            f"rows, got shape {X.shape}. For columns of any other kind give "
            'kernel="features".'
        )
    return merged_rows(X, y, weights, merge=not is_precomputed(estimator))


def make_dictionary(
    estimator: Any,
    rows: Rows,
    targets: Array,
    *,
    task: Task,
    deadline: float | None,
    options: dict[str, Any],
) -> Dictionary:
    """Return the dictionary that the options of an estimator stand for.

    Shapes: targets (n,).
    """
    by_evidence = isinstance(estimator.gamma, str) and estimator.gamma in ("evidence", "inputs")
    kernel = "rbf" if estimator.kernel is None else estimator.kernel
    if isinstance(kernel, str) and kernel in TABLES:
        if by_evidence:
            raise InvalidInputError(
                f"kernel={kernel!r} has no width, which gamma={estimator.gamma!r} chooses; take "
                "another kernel."
            )
        basis = make_basis(
            kernel, rows.X, places=rows.places, centres=estimator.centres, bias=estimator.bias
        )
        return Dictionary(basis, basis.design(rows.X))
    seeds = seed_sequence(estimator.random_state).spawn(2)
    points, numbers = choose_row_centres(estimator.centres, rows.X, rows, seeds[0])
    widths, gamma = None, "scale" if estimator.gamma is None else estimator.gamma
    starts: tuple[SparseBayes | None, ...] = ()
    if by_evidence:
        widths = _widths(estimator, rows, points, targets, task, deadline, options, seeds[1])
        kernel, gamma = widths.kernel, 1.0
        if len(widths.rows) == len(rows.X) and len(points) <= _MOST_CENTRES:
            starts = widths.fits
    basis = make_basis(
        kernel,
        rows.X,
        gamma=gamma,
        centres=points,
        places=numbers,
        row_weights=rows.weights,
        bias=estimator.bias,
    )
    return Dictionary(basis, basis.design(rows.X), widths, starts)


def _widths(
    estimator: Any,
    rows: Rows,
    points: Array,
    targets: Array,
    task: Task,
    deadline: float | None,
    options: dict[str, Any],
    seed: np.random.SeedSequence,
) -> WidthFit:
    limit = None if deadline is None else 0.5 * max(deadline - time.monotonic(), 0.0)
    kernel = "rbf" if estimator.kernel is None else estimator.kernel
    common: dict[str, Any] = {
        "task": task,
        "bias": estimator.bias,
        "centres": points if len(points) <= _MOST_CENTRES else None,
        "row_weights": rows.weights,
        "options": options,
        "time_limit": limit,
        "random_state": seed,
    }
    choose = input_widths if estimator.gamma == "inputs" else best_gamma
    widths = choose(kernel, rows.X, targets, **common)
    if limit is not None and not widths.converged:
        warnings.warn(
            "The widths are those found in half of the time. Raise time_limit.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return widths


# Columns a row, and rows, from which a regression that keeps half as many columns is suspicious.
_MANY_TIMES, _ENOUGH_ROWS = 5, 20


def warn_of_cut_fits(fits: Sequence[Any]) -> None:
    """Warn the caller of an estimator's `fit` if some of its fits stopped early."""
    reasons = [fit.reason for fit in fits if not fit.converged]
    if reasons:
        of_how_many = f" for {len(reasons)} of {len(fits)} classes" if len(fits) > 1 else ""
        warnings.warn(
            f"The fit did not converge{of_how_many}: {shorten(sorted(set(reasons)))} "
            "Raise max_iter or time_limit.",
            ConvergenceWarning,
            stacklevel=3,
        )


def warn_of_explained_noise(n_rows: int, n_candidates: int, n_kept: int) -> None:
    """Warn the caller of a regressor's `fit` if it keeps so many of many columns that noise fits.

    Of more candidates than rows some always fit what is left, until nothing is.
    """
    if n_candidates >= _MANY_TIMES * n_rows and 2 * n_kept >= n_rows >= _ENOUGH_ROWS:
        warnings.warn(
            f"{n_kept} of {n_candidates:,} columns were kept for {n_rows} rows, so that they "
            f"explain the noise as well. smoothness={np.log(n_candidates):.1f}, the logarithm of "
            "their number, asks more of a column.",
            stacklevel=3,
        )


def rough_options(estimator: Any) -> dict[str, Any]:
    """Return the options of sparse fits that only compare widths: what gains less is no choice."""
    return sparse_options(estimator) | {
        "max_iter": min(ROUGH_STEPS, estimator.max_iter),
        "tol": ROUGH_TOLERANCE,
    }


class RelevanceEstimator(BaseEstimator):
    """What both estimators do with the basis of the functions in their model."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self)
        return tags

    def _at(self, X: Any) -> tuple[Array, Array]:
        """Return checked rows and the functions in the model at them."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X, self.basis_.design(X)

    def _show(self, basis: BasisFunctions, weights: Array, alpha: Array) -> None:
        """Set the attributes that say which rows or features matter, and how much.

        Those of one function have no first axis.

        Shapes: weights, alpha (k, n_columns).
        """
        first, functions, n_features = int(basis.has_bias), basis.functions, self.n_features_in_
        intercept = weights[:, 0] if first else np.zeros(len(weights))
        bias_alpha = alpha[:, 0] if first else np.full(len(weights), np.inf)
        coef, precision = weights[:, first:], alpha[:, first:]
        if isinstance(functions, TableColumns) and functions.word == "feature":
            if functions.unit is not None:
                with np.errstate(over="ignore", divide="ignore"):
                    coef, precision = coef / functions.unit, precision * functions.unit**2
            if functions.origin is not None:
                intercept = intercept - coef @ functions.origin
            coef = _spread_out(coef, basis.places, n_features, 0.0)
            precision = _spread_out(precision, basis.places, n_features, np.inf)
        vectors = np.empty((0, n_features)) if basis.centres is None else basis.centres
        is_one = len(weights) == 1
        self.basis_, self.kernel_ = basis, origin(basis)
        self.relevance_, self.relevance_vectors_ = basis.places, vectors
        self.coef_: Array = coef[0] if is_one else coef
        self.alpha_: Array = precision[0] if is_one else precision
        self.intercept_: Any = float(intercept[0]) if is_one else intercept
        self.bias_alpha_: Any = float(bias_alpha[0]) if is_one else bias_alpha


def origin(basis: BasisFunctions) -> Any:
    """Return what the functions come from: a kernel, a dictionary, or the name of a table."""
    functions = basis.functions
    if isinstance(functions, KernelColumns):
        return functions.kernel
    if isinstance(functions, BumpColumns | DictionaryColumns):
        return functions.dictionary
    is_feature = isinstance(functions, TableColumns) and functions.word == "feature"
    return "features" if is_feature else "precomputed"


def _spread_out(table: Array, places: Indices, width: int, otherwise: float) -> Array:
    whole = np.full((len(table), width), otherwise)
    whole[:, places] = table
    return whole
