"""What the estimators share: rows and kernels as users give them, parts of a function, a warning.

Rows known only by their similarities become points, whose inner products the similarities are. A
Gaussian process on a precomputed kernel matrix is one with straight lines on these points, so that
evidence, low rank, leave-one-out and several classes need nothing of their own.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice, check_count, check_seconds, is_precomputed, warn_of_units
from parsimon._data import Rows, validate_data
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.gp._default_kernel import varying
from parsimon.gp._process_fit import FittedProcess
from parsimon.inference import LatentPosterior
from parsimon.inference.posterior import Latent, Sites, cavity
from parsimon.inference.prior import LowRankPrior
from parsimon.kernels import Constant, FunctionKernel, Kernel, Linear, Sum, from_sklearn
from parsimon.kernels.adapters import as_kernel
from parsimon.kernels.form import sum_of_products

# Of the greatest eigenvalue: directions below the first are rounding, a negative one beyond the
# second is not.
_LEAST_EIGENVALUE, _MOST_NEGATIVE = 1e-10, 1e-6


@dataclass(frozen=True, eq=False)
class SimilarityPoints:
    """How similarities with the training rows become points.

    projection (n, r): Similarities times it are points.
    own: Similarity of any row with itself, None if the training rows differ in it; new rows are
        then held to lie in the space of the training rows, which makes variances a little small.
    """

    projection: Array
    own: float | None

    @classmethod
    def of(cls, similarities: Array) -> "SimilarityPoints":
        """Return the points' space from the training rows' matrix, shape (n, n)."""
        n_rows, n_columns = similarities.shape
        size = float(np.abs(similarities).max())
        if n_rows != n_columns or not np.allclose(
            similarities, similarities.T, rtol=0, atol=1e-8 * size
        ):
            raise InvalidInputError(
                'kernel="precomputed" takes the square, symmetric matrix of the similarities of '
                f"the training rows, got shape {similarities.shape}."
            )
        values, vectors = np.linalg.eigh(similarities)
        if values[0] < -_MOST_NEGATIVE * max(values[-1], 0.0) or values[-1] <= 0:
            raise InvalidInputError(
                f"The matrix of similarities has an eigenvalue of {values[0]:.3g} beside "
                f"{values[-1]:.3g}; a Gaussian process needs one that is positive semi-definite."
            )
        kept = values > _LEAST_EIGENVALUE * values[-1]
        diagonal = np.diagonal(similarities)
        is_same = np.ptp(diagonal) <= 1e-9 * size
        return cls(
            vectors[:, kept] / np.sqrt(values[kept]), float(diagonal[0]) if is_same else None
        )

    def points(self, similarities: Array) -> Array:
        """Return points from similarities with the training rows, shape (m, n) -> (m, r)."""
        return similarities @ self.projection

    def kernel(self, points: Array, *, is_fitted: bool) -> Kernel:
        """Return the kernel of the points: theirs alone, or a constant and a scale to be fitted."""
        return (Constant() + Linear()).start(points) if is_fitted else Linear()

    def widened(self, latent: Latent, points: Array, kernels: list[Kernel]) -> Latent:
        """Add the prior variance of rows that lies outside of the space of the training rows.

        Shapes: latent of means (m, k) and variances (m, k) or (m, k, k), points (m, r).
        """
        if self.own is None:
            return latent
        outside = np.maximum(self.own - np.einsum("ij,ij->i", points, points), 0.0)
        added = outside[:, None] * np.array([_scale(kernel) for kernel in kernels])
        if latent.variance.ndim == 3:
            added = added[:, :, None] * np.eye(latent.variance.shape[-1])
        return Latent(latent.mean, latent.variance + added)


def _scale(kernel: Any) -> float:
    """Return the variance of the lines in a kernel that `SimilarityPoints.kernel` made."""
    terms = kernel.terms if isinstance(kernel, Sum) else (kernel,)
    return float(next(term.variance for term in terms if isinstance(term, Linear)))


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
    if found and all(isinstance(posterior, LatentPosterior) for posterior in found):
        return float(sum(posterior.variance @ posterior.sites.precision for posterior in found))
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


def left_out(posterior: LatentPosterior, rows: Rows) -> Latent:
    """Return the latent marginal at each given row of positive weight without that row.

    Of a distinct row's site, only the share of the given row is taken out.
    """
    used = rows.which >= 0
    place, share = rows.which[used], rows.share[used]
    marginal = Latent(posterior.mean[place], posterior.variance[place])
    sites = Sites(share * posterior.sites.precision[place], share * posterior.sites.shift[place])
    return cavity(marginal, sites)


def join_rows(rows: Rows, used: Latent, unused: Latent) -> Latent:
    """Join what was found for rows with and without weight, in the order they were given."""
    weighted = rows.which >= 0
    joined = []
    for some, others in zip(used, unused, strict=True):
        whole = np.empty((len(weighted), *some.shape[1:]))
        whole[weighted], whole[~weighted] = some, others
        joined.append(whole)
    return Latent(*joined)


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
        warn_of_units(X, stacklevel=6)
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


class ProcessEstimator(BaseEstimator):
    """What a classifier and a regression by one Gaussian process have in common."""

    kernel: Any
    optimise: Any
    n_restarts: Any
    form: Any
    max_iter: Any
    time_limit: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self)
        return tags

    def contributions(self, X: Any) -> PartContributions:
        """Return what speaks for more and for less in each row, beside the average row.

        Each additive part of the function, less its mean over the training rows: with the level
        they add up, exactly, to `predict` of a number or to the latent mean of two classes, of
        which the second is the one that is spoken for.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        PartContributions
            ``values`` of shape (m, n_parts), in units of y, ``names`` of the parts, the
            ``columns`` that they act on, and the ``level``.
        """
        return contributions_of(self, self._checked(X))

    def _check_fit_options(self) -> None:
        check_choice("form", self.form, ["auto", "dense", "low_rank"])
        check_choice("optimise", self.optimise, [True, False])
        check_count("n_restarts", self.n_restarts, least=0)
        check_count("max_iter", self.max_iter, least=1)
        check_seconds("time_limit", self.time_limit)

    def _as_points(self, X: Array) -> Array:
        """Return the rows to learn from: as they are, or points for their similarities."""
        self._similarities = SimilarityPoints.of(X) if is_precomputed(self) else None
        return X if self._similarities is None else self._similarities.points(X)

    def _first_kernel(self, X: Array) -> Kernel | None:
        """Return the kernel that a fit begins with, None if one is to be chosen."""
        if self._similarities is not None:
            return self._similarities.kernel(X, is_fitted=self.optimise)
        return None if self.kernel is None else chosen_kernel(self.kernel, X)

    def _checked(self, X: Any) -> Array:
        check_is_fitted(self)
        checked: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return checked if self._similarities is None else self._similarities.points(checked)
