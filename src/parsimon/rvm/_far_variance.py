"""The variance far from the data, which a relevance vector machine forgets.

With localised basis functions it is most certain where it should be least: far from every
relevance vector all basis functions vanish, and the variance with them. `FarVariance` heals this;
`new_column` says whether a model's basis allows it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit

from parsimon._random import Seed, generator
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.kernels import Kernel, MultiResolution, SquaredExponential
from parsimon.linalg import jittered_cholesky

# Training rows that stand for all of them in `FarVariance`.
MOST_ANCHORS = 2000
# Kernel entries held at once, 32 MB.
MOST_ENTRIES = 4_000_000
# The least variance that one row leaves in a logit: 1 / (p (1 - p)) at even odds.
LOGIT_VARIANCE = 4.0
# A prior wider than this, next to what the data say of a weight, is the same as none.
_FLATTEST = 1e-24


class Column(Protocol):
    """A basis function that can be centred on any row; every `Kernel` is one."""

    def gram(self, X: Any, Y: Any = None, /) -> Array:
        """Return the functions centred on the rows of Y, at the rows of X."""

    def diagonal(self, X: Any, /) -> Array:
        """Return each row's own function at that row."""


@dataclass(frozen=True)
class CallableColumn:
    """A plain function ``k(X, Z)`` of two tables as a `Column`."""

    function: Callable[[Any, Any], Any]

    def gram(self, X: Any, Y: Any = None, /) -> Array:
        """Return ``function(X, Y)``, shape (n, m)."""
        return np.asarray(self.function(X, X if Y is None else Y), dtype=np.float64)

    def diagonal(self, X: Any, /) -> Array:
        """Return the diagonals of small blocks: a function of two tables gives no less."""
        blocks = [self.gram(X[rows]).diagonal() for rows in _blocks(len(X), 64)]
        return np.concatenate([np.empty(0), *blocks])


def new_column(kernel: Any) -> Column | None:
    """Return the basis function that would be centred on a new row, or None if there is none.

    Kernels and callables have one, and of a `MultiResolution` dictionary it is the widest. Columns
    that belong to no row (the features themselves, a precomputed matrix, a dictionary of any
    other kind) have none: far from the data there is then only the plain variance.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, MultiResolution):
        # exp(-d^2 / r^2) is a squared exponential of lengthscale r / sqrt(2).
        return SquaredExponential(kernel.columns, lengthscale=kernel.width / np.sqrt(2))
    if callable(kernel) and not hasattr(kernel, "basis"):
        return CallableColumn(kernel)
    return None


@dataclass(frozen=True, eq=False)
class FarVariance:
    r"""The variance that a relevance vector machine forgets far from its data.

    For each new row :math:`x_*` the model is given one more basis function, centred on that row,
    :math:`\phi_* = k(X, x_*)`, with prior precision :math:`\alpha_*` [1]. With :math:`\Phi` the
    columns in the model, B the precisions of the training rows and :math:`\Sigma` the covariance
    of the weights, the variance grows by :math:`e_*^2 / (\alpha_* + s_*)`, where

    .. math::
        e_* = k(x_*, x_*) - \phi(x_*)^T \Sigma \Phi^T B \phi_*, \qquad
        s_* = \phi_*^T B \phi_* - \phi_*^T B \Phi \Sigma \Phi^T B \phi_*.

    Near the data :math:`s_*` is large and hardly anything is added; far away :math:`\phi_*`
    vanishes, and :math:`k(x_*, x_*)^2 / \alpha_*` is.

    column: The function that is centred on a new row.
    anchors (a, d): Training rows.
    precision (a,): B there, scaled so that the anchors stand for all rows.
    whitening (m, m): W with :math:`W W^T = \Sigma`.
    projection (m, a): :math:`W^T \Phi^T B`.
    alpha: :math:`\alpha_*`.

    **The prior of the new weight.** :math:`1 / \alpha_*` is chosen so that the new function is as
    large as the fitted one: the mean over training rows of its posterior second moment,
    without the bias, over the mean of :math:`k(x, x)^2`. For a single column that is the prior
    variance :math:`\phi^2 / \alpha` itself, by the fixed point
    :math:`\alpha^{-1} = \mu^2 + \Sigma` of the evidence. For many columns the prior variance
    :math:`\sum_m \phi_m^2 / \alpha_m` would be too large by orders of magnitude where large
    weights cancel each other, as those of wide overlapping functions do. A model without such
    columns found nothing larger than noise, and the noise variance takes its place (4, one
    observation's least variance of a logit, in classification).

    **The mean stays.** The paper also moves the mean by
    :math:`q_* e_* / (\alpha_* + s_*)`. Here the model that is shown and the model that predicts
    are the same, with as many terms as there are relevance vectors; :math:`q_*`, what the
    model leaves of the targets at :math:`x_*`, tends to zero far from the data, so that the shift
    matters least where the variance is needed most.

    **Many rows.** At most 2,000 training rows are kept, drawn at random, with precisions scaled up
    to stand for all; :math:`\Sigma` in the formulas above is then theirs, so that :math:`s_*`
    cannot be negative. The plain part of the variance is not touched.

    [1] Rasmussen and Quiñonero-Candela (2005), "Healing the relevance vector machine through
    augmentation", ICML 22:689-696.
    """

    column: Column
    anchors: Array
    precision: Array
    whitening: Array
    projection: Array
    alpha: float

    @classmethod
    def fit(
        cls,
        column: Column,
        X: Array,
        design: Array,
        *,
        alpha: Array,
        mean: Array,
        noise_variance: float | None = None,
        precision: Array | None = None,
        row_weights: Array | None = None,
        has_bias: bool = False,
        max_anchors: int = MOST_ANCHORS,
        random_state: Seed = 0,
    ) -> Self:
        """Prepare what new rows need.

        Shapes: X (n, d), design (n, m), alpha, mean (m,), precision (n,), row_weights (n,).
        """
        weights = np.ones(len(X)) if row_weights is None else np.asarray(row_weights, np.float64)
        if precision is None:
            precision = _row_precision(design @ mean, noise_variance)
        rows, factor = _anchor_rows(weights, max_anchors, random_state)
        precision = precision[rows] * weights[rows] * factor
        columns = design[rows]
        whitening = _whitening(columns, precision, alpha)
        projection = (columns @ whitening * precision[:, None]).T
        size = _function_variance(columns, mean, whitening, weights[rows], has_bias)
        if not size > 0.0:
            size = LOGIT_VARIANCE if noise_variance is None else noise_variance
        reach = float(np.average(column.diagonal(X[rows]) ** 2, weights=weights[rows]))
        return cls(column, X[rows], precision, whitening, projection, reach / size)

    def added(self, X: Array, design: Array) -> Array:
        """Return what the plain variance of each new row lacks.

        Shapes: X (n, d), design (n, m) -> (n,).
        """
        size = max(1, MOST_ENTRIES // max(len(self.anchors), 1))
        blocks = [self._added(X[rows], design[rows]) for rows in _blocks(len(X), size)]
        return np.concatenate([np.empty(0), *blocks])

    def _added(self, X: Array, design: Array) -> Array:
        centred = self.column.gram(self.anchors, X)
        projected = self.projection @ centred
        known = np.einsum("nm,mn->n", design @ self.whitening, projected)
        novelty = self.column.diagonal(X) - known
        seen = self.precision @ centred**2 - np.einsum("mn,mn->n", projected, projected)
        added: Array = novelty**2 / (self.alpha + np.maximum(seen, 0.0))
        return added


def _row_precision(scores: Array, noise_variance: float | None) -> Array:
    if noise_variance is not None:
        return np.full(len(scores), 1.0 / noise_variance)
    probability = expit(scores)
    precision: Array = probability * expit(-scores)
    return precision


def _anchor_rows(weights: Array, most: int, random_state: Seed) -> tuple[Indices, float]:
    """Return rows that stand for all, and how many of the weight's units each stands for."""
    used = np.flatnonzero(weights > 0)
    if not len(used):
        raise InvalidInputError("Every row has weight zero; give at least one a positive weight.")
    if len(used) <= most:
        return used, 1.0
    rows = np.sort(generator(random_state).choice(used, size=most, replace=False))
    return rows, float(weights[used].sum() / weights[rows].sum())


def _whitening(design: Array, precision: Array, alpha: Array) -> Array:
    r"""Return W, shape (m, m), with :math:`W W^T = (\Phi^T B \Phi + A)^{-1}`.

    Columns are divided by the roots of their prior precisions first: the matrix to factorise is
    then the identity plus something positive, whatever the scales of the columns.
    """
    known = precision @ design**2
    scale = 1.0 / np.sqrt(np.maximum(alpha, np.maximum(_FLATTEST * known, 1e-200)))
    scaled = design * scale
    inner = (scaled * precision[:, None]).T @ scaled
    inner.flat[:: len(inner) + 1] += 1.0
    lower = jittered_cholesky(inner).lower if len(inner) else inner
    inverse: Array = (
        solve_triangular(lower, np.eye(len(inner)), lower=True) if len(inner) else inner
    )
    return scale[:, None] * inverse.T


def _function_variance(
    design: Array, mean: Array, whitening: Array, weights: Array, has_bias: bool
) -> float:
    """Return the posterior second moment of the function without its bias, over the rows."""
    first = int(has_bias)
    if design.shape[1] <= first:
        return 0.0
    columns = design[:, first:]
    spread = columns @ whitening[first:]
    moments = (columns @ mean[first:]) ** 2 + np.einsum("nm,nm->n", spread, spread)
    return float(np.average(moments, weights=weights))


def _blocks(n_rows: int, size: int) -> list[slice]:
    return [slice(begin, begin + size) for begin in range(0, n_rows, size)]
