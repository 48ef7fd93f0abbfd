"""One sparse function of a relevance vector machine: few columns, their posterior, predictions.

The posterior of the weights gives a latent mean and variance (`latent_variance`). With localised
basis functions a machine is most certain where it should be least: far from every relevance vector
all functions vanish, and the variance with them. `FarVariance` heals this, from all training rows,
and `FarSummary` says nearly the same from a few of them; `new_column` says whether a model's basis
allows it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls
from scipy.special import expit

from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference.irls import logistic_mode
from parsimon.inference.sparse_bayes import SparseBayes
from parsimon.inference.sparse_bayes.spread import inverse_precision
from parsimon.kernels import Kernel, MultiResolution, SquaredExponential
from parsimon.linalg import jittered_cholesky
from parsimon.rvm._dictionary import BasisFunctions, BumpColumns, KernelColumns

# Training rows that stand for all of them in `FarVariance`.
MOST_ANCHORS = 2000
# Kernel entries held at once, 32 MB.
MOST_ENTRIES = 4_000_000
# The least variance that one row leaves in a logit: 1 / (p (1 - p)) at even odds.
LOGIT_VARIANCE = 4.0
# Training rows that a `FarSummary` may choose from and keep, and rows on which it is fitted.
MOST_PLACES, MOST_KEPT, MOST_COMPARED = 40, 16, 400
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
    ) -> Self:
        """Prepare what new rows need.

        Shapes: X (n, d), design (n, m), alpha, mean (m,), precision (n,), row_weights (n,).
        """
        weights = np.ones(len(X)) if row_weights is None else np.asarray(row_weights, np.float64)
        if precision is None:
            precision = _row_precision(design @ mean, noise_variance)
        rows, factor = _anchor_rows(weights)
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
        return novelty**2 / (self.alpha + np.maximum(seen, 0.0))

    def summary(self, X: Array, design: Array, *, has_bias: bool) -> "FarSummary":
        """Return what says nearly the same and keeps few rows.

        Shapes: X (n, d), design (n, m): rows on which the two are to agree.
        """
        rows = np.linspace(0, len(X) - 1, min(len(X), MOST_COMPARED)).astype(np.intp)
        X, design = X[rows], design[rows]
        places = _spread_rows(X, MOST_PLACES)
        features = np.hstack([design[:, int(has_bias) :], self.column.gram(X, places)]) ** 2
        reach = self.column.diagonal(X) ** 2
        # Less than a millionth of what is added far away is nothing.
        added = np.maximum(self.added(X, design), 1e-6 * reach / self.alpha)
        with np.errstate(invalid="ignore", divide="ignore"):
            wanted = np.maximum(reach / added, self.alpha)
            relative = features / wanted[:, None]
        usable = (reach > 0.0) & np.isfinite(relative).all(axis=1)
        relative, target = relative[usable], 1.0 - self.alpha / wanted[usable]
        n_own = design.shape[1] - int(has_bias)
        # A second fit, with the places that matter most: each is one more function to predict.
        gains = _positive_weights(relative, target) * relative.sum(axis=0)
        kept = np.sort(np.argsort(-gains[n_own:], kind="stable")[:MOST_KEPT])
        chosen = np.append(np.arange(n_own), n_own + kept)
        weights = _positive_weights(relative[:, chosen], target)
        own, others = np.split(weights, [n_own])
        return FarSummary(
            self.column,
            places[kept[others > 0.0]],
            np.append(np.zeros(int(has_bias)), own),
            others[others > 0.0],
            self.alpha,
        )


def _positive_weights(columns: Array, target: Array) -> Array:
    """Return weights, not negative, with which the columns come nearest to the target."""
    size = np.sqrt(np.sum(columns**2, axis=0))
    size[size == 0.0] = 1.0
    return nnls(columns / size, target)[0] / size


@dataclass(frozen=True, eq=False)
class FarSummary:
    r"""`FarVariance` from the functions in the model and a few other places.

    What is added to the variance is :math:`k(x, x)^2 / (\alpha_* + \sum_l w_l k(z_l, x)^2)`, where
    :math:`z_l` are the relevance vectors and a few training rows. The weights, which are not
    negative, make it equal to `FarVariance` on training rows as nearly as they can; far from all of
    these it is exactly the same.

    column: The function that is centred on a new row.
    places (l, d): The other places.
    own (m,): Weights of the squared columns in the model.
    weights (l,): Those of the other places.
    alpha: As in `FarVariance`.
    """

    column: Column
    places: Array
    own: Array
    weights: Array
    alpha: float

    def added(self, X: Array, design: Array) -> Array:
        """Return what the plain variance of each new row lacks.

        Shapes: X (n, d), design (n, m) -> (n,).
        """
        seen = design**2 @ self.own
        if len(self.places):
            size = max(1, MOST_ENTRIES // len(self.places))
            for rows in _blocks(len(X), size):
                seen[rows] += self.column.gram(X[rows], self.places) ** 2 @ self.weights
        return self.column.diagonal(X) ** 2 / (self.alpha + seen)


def fit_far(
    column: Column, X: Array, design: Array, *, keep_rows: bool, has_bias: bool, **posterior: Any
) -> FarVariance | FarSummary:
    """Return `FarVariance.fit`, from all training rows or summarised by a few."""
    exact = FarVariance.fit(column, X, design, has_bias=has_bias, **posterior)
    return exact if keep_rows else exact.summary(X, design, has_bias=has_bias)


def _spread_rows(X: Array, most: int) -> Array:
    """Return at most so many different rows, each far from those before, shape (l, d)."""
    spread = X.std(axis=0)
    scaled = X / np.where(spread > 0.0, spread, 1.0)
    distance = np.square(scaled - scaled.mean(axis=0)).sum(axis=1)
    chosen = [int(np.argmin(distance))]
    distance = np.square(scaled - scaled[chosen[0]]).sum(axis=1)
    while len(chosen) < most and distance.max() > 0.0:
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, np.square(scaled - scaled[chosen[-1]]).sum(axis=1))
    return X[chosen]


def _row_precision(scores: Array, noise_variance: float | None) -> Array:
    if noise_variance is not None:
        return np.full(len(scores), 1.0 / noise_variance)
    probability = expit(scores)
    return probability * expit(-scores)


def _anchor_rows(weights: Array) -> tuple[Indices, float]:
    """Return rows that stand for all, and how many of the weight's units each stands for."""
    used = np.flatnonzero(weights > 0)
    if not len(used):
        raise InvalidInputError("Every row has weight zero; give at least one a positive weight.")
    if len(used) <= MOST_ANCHORS:
        return used, 1.0
    rows = np.sort(np.random.default_rng(0).choice(used, size=MOST_ANCHORS, replace=False))
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


def latent_variance(design: Array, covariance: Array) -> Array:
    r"""Return :math:`\phi(x)^T \Sigma \phi(x)` of each row.

    With basis functions that vanish far from their centres it tends to zero far from the data,
    where it should be largest; `FarVariance.added` is what is missing.

    Shapes: design (n, m), covariance (m, m) -> (n,).

    Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", eq 22.
    """
    variance: Array = np.einsum("nm,nm->n", design @ covariance, design)
    return np.maximum(variance, 0.0)


@dataclass(frozen=True, eq=False)
class RelevanceMachine:
    """A linear function of a few columns, with the posterior of its weights.

    columns (m,): Its columns among those of the basis that all functions of a model share.
    posterior: Of its m weights; `posterior.active` counts the columns of the whole dictionary.
    far: What is added to the variance far from the data.
    """

    columns: Indices
    posterior: SparseBayes
    far: FarVariance | FarSummary | None = None

    def mean(self, design: Array) -> Array:
        """Return the posterior mean at rows of the shared design, shape (n, n_shared)."""
        return self._own(design) @ self.posterior.mean

    def variance(self, X: Array, design: Array) -> Array:
        """Return the posterior variance at the rows X of this shared design."""
        own = self._own(design)
        variance = latent_variance(own, self.posterior.covariance)
        return variance if self.far is None else variance + self.far.added(X, own)

    def _own(self, design: Array) -> Array:
        is_whole = np.array_equal(self.columns, np.arange(design.shape[1]))
        return design if is_whole else design[:, self.columns]


class Shared(NamedTuple):
    """The columns that at least one of several functions uses.

    order (m,): Indices in the whole dictionary, the bias first, then by row or feature.
    """

    basis: BasisFunctions
    order: Indices

    def positions(self, active: Indices) -> Indices:
        """Return where columns of the dictionary are among the shared ones."""
        sorter = np.argsort(self.order)
        return sorter[np.searchsorted(self.order, active, sorter=sorter)]


def shared_columns(basis: BasisFunctions, actives: list[Indices]) -> Shared:
    """Return the basis of all columns that are active somewhere."""
    used = np.unique(np.concatenate([np.empty(0, np.intp), *actives]).astype(np.intp))
    first = int(basis.has_bias)
    places = np.append(np.full(first, -1), basis.places)
    order = used[np.argsort(places[used], kind="stable")]
    return Shared(basis.columns(order), order)


def far_column(basis: BasisFunctions) -> Column | None:
    """Return the function that would be centred on a new row, None if the basis has none."""
    functions = basis.functions
    if isinstance(functions, KernelColumns):
        return new_column(functions.kernel)
    if isinstance(functions, BumpColumns):
        return new_column(functions.dictionary)
    return None


def make_machine(
    shared: Shared,
    posterior: SparseBayes,
    *,
    column: Column | None,
    X: Array,
    design: Array,
    row_weights: Array,
    keep_rows: bool = False,
) -> RelevanceMachine:
    """Return the function of a posterior, with its variance far from the data if it has any.

    Shapes: X (n, d), design (n, M), row_weights (n,).
    """
    columns = shared.positions(posterior.active)
    if column is None:
        return RelevanceMachine(columns, posterior)
    far = fit_far(
        column,
        X,
        design[:, posterior.active],
        keep_rows=keep_rows,
        alpha=posterior.alpha,
        mean=posterior.mean,
        noise_variance=posterior.noise_variance,
        row_weights=row_weights,
        has_bias=shared.basis.has_bias and bool((posterior.active == 0).any()),
    )
    return RelevanceMachine(columns, posterior, far)


def posterior_given(
    design: Array,
    labels: Array,
    alpha: Array,
    *,
    row_weights: Array | None = None,
    largest_score: float = np.inf,
) -> SparseBayes:
    r"""Return Laplace's posterior for precisions that are given instead of learnt.

    The mode is found by iteratively reweighted least squares and the covariance is
    :math:`(\Phi^T B \Phi + A)^{-1}` there (Tipping 2001, eq 25 to 27).

    Shapes: design (n, M), labels (n,), alpha (M,), row_weights (n,).
    """
    active = np.flatnonzero(np.isfinite(alpha))
    own, precision = design[:, active], alpha[active]
    if not len(active):
        return _nothing(labels, row_weights)
    mode = logistic_mode(
        own, labels, precision, row_weights=row_weights, largest_score=largest_score
    )
    curvature = expit(mode.scores) * expit(-mode.scores)
    if row_weights is not None:
        curvature = curvature * row_weights
    hessian = (own * curvature[:, None]).T @ own
    hessian.flat[:: len(active) + 1] += precision
    covariance, log_determinant = inverse_precision(hessian)
    with np.errstate(divide="ignore"):
        prior = 0.5 * float(np.sum(np.log(precision)))
    evidence = mode.log_posterior + prior - 0.5 * log_determinant
    return SparseBayes(
        active=active,
        alpha=precision,
        mean=mode.weights,
        covariance=covariance,
        noise_variance=None,
        log_evidence=evidence,
        objective=evidence,
        n_iter=mode.n_iter,
        converged=True,
        reason="The precisions were given.",
    )


def _nothing(labels: Array, row_weights: Array | None) -> SparseBayes:
    """Return the model without any column, for which both labels are equally probable."""
    total = len(labels) if row_weights is None else float(row_weights.sum())
    evidence = -float(np.log(2.0)) * total
    return SparseBayes(
        active=np.empty(0, dtype=np.intp),
        alpha=np.empty(0),
        mean=np.empty(0),
        covariance=np.empty((0, 0)),
        noise_variance=None,
        log_evidence=evidence,
        objective=evidence,
        n_iter=0,
        converged=True,
        reason="There are no columns.",
    )


def printed_complexity(alpha: Any) -> float:
    r"""Return :math:`C(\alpha) = \sum_m 1 / (1 + \alpha_m)`, infinite precisions adding nothing.

    Clark (2011), eq 3.18 with unit noise. It is at most the number of columns in the model.
    """
    return float(np.sum(1.0 / (1.0 + np.asarray(alpha, dtype=np.float64))))
