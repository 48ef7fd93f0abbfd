"""What a sparse classifier begins with: its options, kernel, inducing points and row weights."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from parsimon._typing import AnyArray, Array, Indices
from parsimon._validation import finite_matrix, shorten
from parsimon.exceptions import InvalidInputError
from parsimon.inference.inducing import kmeans_points, pivoted_points
from parsimon.kernels import Constant, Kernel, SquaredExponential


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that cannot be used."""
    for name in ("n_inducing", "batch_size", "max_iter"):
        value = options.get(name, 1)
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise InvalidInputError(f"{name} must be a whole number from 1, got {value!r}.")
    for name, most in (("learning_rate", np.inf), ("natural_step", 1.0), ("time_limit", np.inf)):
        value = options.get(name, 1.0)
        if name == "time_limit" and value is None:
            continue
        if not isinstance(value, Real) or not 0 < float(value) <= most:
            limit = "" if most == np.inf else f" and at most {most:g}"
            raise InvalidInputError(f"{name} must be above 0{limit}, got {value!r}.")
    tol = options.get("tol", 0.0)
    if not isinstance(tol, Real) or not 0 <= float(tol) < np.inf:
        raise InvalidInputError(f"tol must be a number from 0, got {tol!r}.")
    response = options.get("response", "averaged")
    if response not in ("averaged", "plug_in"):
        raise InvalidInputError(f"response must be 'averaged' or 'plug_in', got {response!r}.")
    kernel = options.get("kernel")
    if kernel is not None and not isinstance(kernel, Kernel):
        raise InvalidInputError(
            f"kernel must be one of parsimon.kernels or None, got {type(kernel).__name__}; "
            "from_sklearn translates scikit-learn's."
        )


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
    metric: Array = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=seen)
    return metric


def class_factors(class_weight: Any, classes: AnyArray, codes: Indices, weights: Array) -> Array:
    """Return the factor of each row's weight that its class brings, shape (n,).

    Shapes: classes (c,), codes (n,), weights (n,).
    """
    if class_weight is None:
        return np.ones(len(codes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        sums = np.bincount(codes, weights, minlength=len(classes))
        balanced: Array = (weights.sum() / (len(classes) * sums))[codes]
        return balanced
    if not isinstance(class_weight, Mapping):
        raise InvalidInputError(
            f"class_weight must be None, 'balanced' or a mapping, got {class_weight!r}."
        )
    unknown = [label for label in class_weight if label not in classes]
    if unknown:
        raise InvalidInputError(
            f"class_weight names {shorten(unknown)}, but the classes are "
            f"{shorten(classes.tolist())}."
        )
    factors = np.array([class_weight.get(label, 1.0) for label in classes.tolist()], np.float64)
    if not (np.isfinite(factors).all() and (factors > 0).all()):
        raise InvalidInputError(f"Class weights must be positive, got {shorten(factors.tolist())}.")
    return factors[codes]
