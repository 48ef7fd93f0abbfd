"""What the estimators share: the kernel meant by a user, components, a warning."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from parsimon._checks import warn_of_units
from parsimon._data import Rows
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.gp._default_kernel import varying
from parsimon.gp._process_fit import FittedProcess
from parsimon.inference import LatentPosterior
from parsimon.inference.prior import LowRankPrior
from parsimon.kernels import Constant, FunctionKernel, Kernel, from_sklearn
from parsimon.kernels.adapters import as_kernel
from parsimon.kernels.form import sum_of_products


class LatentComponent(NamedTuple):
    """One additive part of the latent function.

    name: The term of the kernel, with the table's column names if there are any.
    kernel: The term with its hyperparameters.
    mean, sd (m,): Of the part's posterior: mean plus and minus two standard deviations is a
        band.
    """

    name: str
    kernel: Kernel
    mean: Array
    sd: Array


class PartContributions(NamedTuple):
    """What each additive part of a latent function says of rows, beside the average row.

    values (m, k): Each part less its mean over the training rows.
    names: What the parts act on: "glucose", or "pedigree × age" for a product.
    columns: Places of these columns.
    level: The latent function's mean over the training rows: `level` and a row of `values` add
        up to the latent mean of that row.
    """

    values: Array
    names: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]
    level: float


class TrainingPosterior(NamedTuple):
    """The posterior of a fitted Gaussian process at its training rows.

    rows: The distinct rows, and which of them each given row is.
    centre, unit: A number is `centre` plus `unit` times the latent function.
    """

    posterior: LatentPosterior
    rows: Rows
    centre: float
    unit: float


def training_posterior(model: Any) -> TrainingPosterior | None:
    """Return the posterior of a `GPRegressor` or of a `GPClassifier` of two classes, else None."""
    rows: Any = getattr(model, "_rows", None)
    if isinstance(getattr(model, "_posterior", None), LatentPosterior) and rows is not None:
        return TrainingPosterior(model._posterior, rows, float(model._centre), float(model._unit))
    fits: Sequence[Any] = getattr(getattr(model, "_model", None), "fits", ())
    if rows is None or len(fits) != 1 or not isinstance(fits[0].posterior, LatentPosterior):
        return None
    return TrainingPosterior(fits[0].posterior, rows, 0.0, 1.0)


def degrees_of_freedom(model: Any) -> float:
    """Return how many numbers the rows determine in a fitted Gaussian process; NaN if not known.

    The trace of the smoother, S T = K inv(K + inv(T)) with S the posterior covariance at the
    training rows and T the precisions of the sites, summed over all latent functions.
    """
    own = getattr(model, "_posterior", None)
    fits = getattr(getattr(model, "_model", None), "fits", ())
    found = [own] if own is not None else [fit.posterior for fit in fits]
    if found and all(isinstance(one, LatentPosterior) for one in found):
        return float(sum(one.variance @ one.sites.precision for one in found))
    return math.nan


def contributions_of(model: Any, X: Array) -> PartContributions:
    """Return what each part of a fitted model's kernel says of rows, beside the average row.

    The kernel is multiplied out into a sum; the means of its parts are exact and add up. Parts of
    the same columns are one, and constants, which say the same of all rows, none.

    Shapes: X (m, d).
    """
    fitted = training_posterior(model)
    if fitted is None:
        raise InvalidInputError(
            "Contributions need a Gaussian process of two classes or of a number, fitted exactly."
        )
    posterior, rows = fitted.posterior, fitted.rows
    counts = np.bincount(rows.which[rows.which >= 0], minlength=len(rows.X))
    grouped: dict[tuple[int, ...], Array] = {}
    for part in sum_of_products(cast(Kernel, posterior.kernel)):
        columns = tuple(range(X.shape[1])) if part.columns is None else tuple(part.columns)
        average = float(np.average(posterior.component_mean(part, rows.X), weights=counts))
        own = fitted.unit * (posterior.component_mean(part, X) - average)
        if not isinstance(part, Constant):
            grouped[columns] = grouped.get(columns, 0.0) + own
    names = written_names(model) or [f"x{place + 1}" for place in range(X.shape[1])]
    level = float(np.average(posterior.mean, weights=counts))
    return PartContributions(
        np.column_stack(list(grouped.values())) if grouped else np.zeros((len(X), 0)),
        tuple(" × ".join(names[column] for column in columns) for columns in grouped),
        tuple(grouped),
        fitted.centre + fitted.unit * level,
    )


def form_of(posterior: Any) -> str:
    """Return how the kernel matrix of a posterior is kept."""
    if isinstance(posterior, LatentPosterior) and isinstance(posterior.prior, LowRankPrior):
        return f"low rank {posterior.prior.factor.shape[1]}"
    return "dense"


def warn_if_cut(fit: FittedProcess[Any]) -> None:
    """Warn the caller of an estimator's `fit` that it stopped early."""
    if not fit.converged:
        warnings.warn(
            f"The fit did not converge: {fit.message} Raise max_iter or time_limit.",
            ConvergenceWarning,
            stacklevel=3,
        )


def written_names(estimator: Any) -> list[str] | None:
    """Return the column names that an estimator saw, None if there were none."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def chosen_kernel(spec: Any, X: Array) -> Kernel:
    """Return the kernel meant by a kernel, a scikit-learn kernel or a name.

    A name is given hyperparameters from the data and leaves out constant columns, which say
    nothing; a kernel keeps its own hyperparameters and columns. Lines by name need not go through
    zero: a constant moves them.

    Shapes: X (n, d).
    """
    if isinstance(spec, Kernel):
        return spec
    if isinstance(spec, str):
        warn_of_units(X, stacklevel=5)
        leaf: Any = as_kernel(spec)
        columns = varying(X)
        seen = None if len(columns) == X.shape[1] else columns
        named: Kernel = replace(leaf, columns=seen)
        return (Constant() + named if spec == "linear" else named).start(X)
    from sklearn.gaussian_process.kernels import Kernel as ScikitKernel

    if isinstance(spec, ScikitKernel):
        return from_sklearn(spec)
    if callable(spec):
        return FunctionKernel(spec)
    raise InvalidInputError(
        "kernel must be a kernel of parsimon or of scikit-learn, the name of one, a function, or "
        f"None; got {type(spec).__name__}."
    )
