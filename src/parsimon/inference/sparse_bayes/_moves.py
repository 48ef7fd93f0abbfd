r"""What columns could do for a fit, and the steps from one fit to the next.

`ColumnSweep` tells of every column what it would add. As a function of one precision, all others
held, the log evidence is
:math:`\ell(\alpha) = \frac12[\log\alpha - \log(\alpha + s) + q^2 / (\alpha + s)]`, with the
sparsity s and the quality q measured in a model without the column. Its maximum is at
:math:`\alpha = s^2 / (q^2 - s)` if :math:`q^2 > s`, else at infinity [1]; the gain at the maximum
depends on the ratio :math:`q^2/s` alone. The smoothness prior subtracts c times the degrees of
freedom, of which one column brings :math:`v / (\alpha + s)` with
:math:`v = \phi^T C^{-1} B^{-1} C^{-1} \phi`, so that :math:`q^2` becomes :math:`q^2 - 2 c v` and
nothing else changes. This holds for any basis and any diagonal B; Schmolck and Everson [2] have the
case of an orthonormal basis and one noise variance.

Steps (other precisions, one column more, some less, one for another) give the weights that would be
right if B stayed, so that the search for the mode starts next to it. With B held the evidence
depends on the rows only through :math:`\Phi^T B \Phi` and :math:`\Phi^T B \hat t`: a `Surrogate`
searches among a few columns without passing over the rows. It proposes; a step is only ever judged
by the objective of the new fit.

[1] Tipping and Faul (2003), "Fast marginal likelihood maximisation for sparse Bayesian
   models", eqs 19 to 22.
[2] Schmolck and Everson (2007), "Smooth relevance vector machine", Machine Learning 68.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar, Protocol

import numpy as np
from scipy.linalg.lapack import dposv

from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes.design import ScaledColumns, SparseBayes
from parsimon.inference.sparse_bayes.gradients import (
    cholesky,
    evidence_gradient,
    evidence_hessian,
    inverse,
)

# A column whose part outside the active ones is below this share of its square is one of them up
# to rounding: what is left of it cannot be trusted.
ALIGNED = 1e-9


@dataclass(frozen=True)
class SparseFit:
    r"""A model with some columns, at its posterior mode; everything is in scaled units.

    active (m,): Columns in the order in which they came in.
    theta (m,): Log precisions of the weights; the log noise precision last where it is
        estimated.
    weights (m,): :math:`\omega = \sqrt{\alpha} w`, posterior mode.
    covariance (m, m): :math:`P = A^{1/2} \Sigma A^{1/2}`.
    columns (n, m): The scaled columns.
    residual (n,): Gradient of the log likelihood with respect to the predictor.
    precision (n,): Minus its second derivative: the diagonal of B.
    gradient: Of the objective with respect to theta, exact.
    make_hessian: Makes `hessian`; most fits are refused before it is asked for.
    """

    active: Indices
    theta: Array
    weights: Array
    covariance: Array
    columns: Array
    residual: Array
    precision: Array
    log_evidence: float
    objective: float
    gradient: Array
    make_hessian: Callable[[], Array]

    @property
    def alpha(self) -> Array:
        """Precisions of the scaled weights, shape (m,)."""
        return np.exp(self.theta[: len(self.active)])

    @cached_property
    def hessian(self) -> Array:
        """Second derivatives of the objective, as theta; for some problems with B held."""
        return self.make_hessian()


@dataclass(frozen=True)
class ColumnSweep:
    r"""How a set of columns would serve a fit.

    columns (k,): Which columns of the design these are.
    sparsity (k,): :math:`S = \phi^T C^{-1} \phi`.
    quality (k,): :math:`Q = \phi^T C^{-1} t`.
    overlap (k, m): :math:`A^{1/2} \Sigma \Phi^T B \phi`.
    usable (k,): False for columns that are zero, or that the active ones span up to rounding.
    inside (k,): True for active columns.
    smoothness: c.
    """

    columns: Indices
    sparsity: Array
    quality: Array
    overlap: Array
    usable: Mask
    inside: Mask
    smoothness: float

    def additions(self) -> tuple[Array, Array]:
        """Return the gain by adding each column and the precision that attains it."""
        squared = self.quality**2
        if self.smoothness:
            squared = squared - 2.0 * self.smoothness * self.freedom()
        return best_gain(self.sparsity, np.where(self.usable & ~self.inside, squared, 0.0))

    def freedom(self) -> Array:
        """Return V: a column with precision alpha brings V / (alpha + S) degrees of freedom."""
        return self.sparsity - np.einsum("ij,ij->i", self.overlap, self.overlap)

    def exchanges(self, fit: SparseFit) -> Array:
        """Return the gain by putting each column in place of each active one, shape (k, m)."""
        undetermined = fit.covariance.diagonal()
        share = self.overlap / undetermined
        sparsity = self.sparsity[:, None] + self.overlap * share
        quality = self.quality[:, None] + fit.weights * share
        squared = quality**2
        if self.smoothness:
            twice = fit.covariance @ fit.covariance
            norms = np.einsum("ij,ij->i", self.overlap, self.overlap)[:, None]
            norms = norms - 2.0 * share * (self.overlap @ fit.covariance)
            norms += share**2 * twice.diagonal()
            squared -= 2.0 * self.smoothness * (sparsity - norms)
        # A column aligned with the one that leaves gains nothing, but is no danger either.
        squared[self.inside | ~self.usable] = 0.0
        gains, _ = best_gain(sparsity, squared)
        return gains + deletion_gains(fit, self.smoothness)


def make_sweep(
    fit: SparseFit,
    columns: Indices,
    projections: tuple[Array, Array, Array],
    usable: Mask,
    smoothness: float,
) -> ColumnSweep:
    r"""Turn products of columns with a fit into how they would serve it.

    Shapes: columns (k,), usable (k,).
    """
    squares, products, quality = projections
    scaled = products / np.sqrt(fit.alpha)
    overlap = scaled @ fit.covariance
    sparsity = squares - np.einsum("ij,ij->i", scaled, overlap)
    usable = usable & (sparsity > ALIGNED * squares)
    inside = among(columns, fit.active)
    sparsity = np.maximum(sparsity, np.finfo(np.float64).tiny)
    return ColumnSweep(columns, sparsity, quality, overlap, usable, inside, smoothness)


def among(columns: Indices, active: Indices) -> Mask:
    """Return which columns are active, shape (k,): `numpy.isin` for small integers, faster."""
    table = np.zeros(1 + max(columns.max(initial=0), active.max(initial=0)), dtype=np.bool_)
    table[active] = True
    return table[columns]


def best_gain(sparsity: Array, squared_quality: Array) -> tuple[Array, Array]:
    r"""Return the greatest gain over one precision, and where it is."""
    ratio = np.maximum(squared_quality / sparsity, 1.0)
    gain = 0.5 * (ratio - 1.0 - np.log(ratio))
    excess = squared_quality - sparsity
    alpha = np.full_like(gain, np.inf)
    np.divide(sparsity**2, excess, out=alpha, where=excess > 0)
    return gain, alpha


def deletion_gains(fit: SparseFit, smoothness: float) -> Array:
    """Return the gain by dropping each active column, shape (m,); B is held.

    With s and q written in the scaled posterior, the determinant and the fit of a column are
    its P_ii and its squared weight over P_ii.
    """
    undetermined = fit.covariance.diagonal()
    gains: Array = -0.5 * (np.log(undetermined) + fit.weights**2 / undetermined)
    if smoothness:
        # v / (alpha + s) for v = V (alpha / (alpha - S))^2 and V = S - |A^(1/2) Sigma k|^2.
        twice = np.einsum("ij,ij->i", fit.covariance, fit.covariance)
        gains += smoothness * (undetermined - twice) / undetermined
    return gains


# Greatest change of a log precision in one step.
_LONGEST = 3.0
_SHORTEST = 2.0**-6
_FLAT = 1e-4


class EvidenceProblem(Protocol):
    """What steps of the precisions ask of a likelihood with its columns and its prior."""

    @property
    def smoothness(self) -> float:
        """Weight of the degrees of freedom in the objective."""

    @property
    def precisions(self) -> tuple[float, float]:
        """The limits on a precision."""

    def evaluate(
        self, active: Indices, theta: Array, columns: Array, guess: Array
    ) -> SparseFit | None:
        """Return the fit with these columns and precisions; None if it cannot be computed."""

    def bounds(self, theta: Array) -> tuple[Array, Array]:
        """Return the least and the greatest value of each entry of theta."""


class OpenProblem(EvidenceProblem, Protocol):
    """A problem to which columns may be added."""

    def take(self, indices: Indices) -> Array:
        """Return some scaled columns, shape (n, m)."""


def precision_bounds(problem: EvidenceProblem, theta: Array) -> tuple[Array, Array]:
    """Return bounds where theta holds log precisions alone."""
    low, high = np.log(problem.precisions)
    return np.full_like(theta, low), np.full_like(theta, high)


def climb_together(problem: EvidenceProblem, fit: SparseFit) -> tuple[SparseFit, float]:
    """Move all precisions at once; return the better fit and the gain that was foreseen.

    A Newton step with the absolute values of the curvatures, so that it goes uphill also where
    the objective is not concave; it is halved until the objective rises.
    """
    low, high = problem.bounds(fit.theta)
    pinned = ((fit.theta <= low) & (fit.gradient < 0)) | ((fit.theta >= high) & (fit.gradient > 0))
    free = ~pinned
    if not free.any():
        return fit, 0.0
    gradient = fit.gradient[free]
    direction = ascent_direction(fit.hessian[free][:, free], gradient)
    direction *= min(1.0, _LONGEST / max(np.abs(direction).max(), 1e-300))
    foreseen = 0.5 * float(gradient @ direction)
    step = np.zeros_like(fit.theta)
    size = 1.0
    while size >= _SHORTEST:
        step[free] = size * direction
        moved = move(problem, fit, np.clip(fit.theta + step, low, high))
        if moved is not None and moved.objective > fit.objective:
            return moved, foreseen
        size *= 0.25
    return fit, foreseen


def ascent_direction(hessian: Array, gradient: Array) -> Array:
    """Return Newton's direction to a maximum, uphill also where there is no maximum."""
    downward = -hessian
    downward.flat[:: len(downward) + 1] += _FLAT
    direction: Array
    _, direction, failed = dposv(downward, gradient)
    if failed:
        values, vectors = np.linalg.eigh(hessian)
        direction = vectors @ ((gradient @ vectors) / np.maximum(np.abs(values), _FLAT))
    return direction


def move(problem: EvidenceProblem, fit: SparseFit, theta: Array) -> SparseFit | None:
    """Return the fit with other precisions."""
    n_active = len(fit.active)
    if not len(fit.columns):
        return problem.evaluate(fit.active, theta, fit.columns, fit.weights)
    change = np.expm1(theta[:n_active] - fit.theta[:n_active])
    response = fit.covariance * change
    system = response.copy()
    system.flat[:: n_active + 1] += 1.0
    shift = np.linalg.solve(system, -(response @ fit.weights))
    guess = (fit.weights + shift) * np.sqrt(1.0 + change)
    return problem.evaluate(fit.active, theta, fit.columns, guess)


def add_column(
    problem: OpenProblem, fit: SparseFit, sweep: ColumnSweep, place: int, alpha: float
) -> SparseFit | None:
    """Return the fit with one column more: that at `place` in the sweep."""
    column = sweep.columns[place : place + 1]
    n_active = len(fit.active)
    weight = sweep.quality[place] / (alpha + sweep.sparsity[place])
    guess = np.append(fit.weights - weight * sweep.overlap[place], np.sqrt(alpha) * weight)
    theta = np.insert(fit.theta, n_active, np.log(alpha))
    columns = np.hstack([fit.columns, problem.take(column)])
    return problem.evaluate(np.append(fit.active, column), theta, columns, guess)


def drop(problem: EvidenceProblem, fit: SparseFit, leaving: Mask) -> SparseFit | None:
    """Return the fit without some of its columns."""
    staying = ~leaving
    P = fit.covariance
    guess = fit.weights[staying]
    if len(fit.columns):
        pull = np.linalg.solve(P[leaving][:, leaving], fit.weights[leaving])
        guess = guess - P[staying][:, leaving] @ pull
    theta = np.append(fit.theta[: len(staying)][staying], fit.theta[len(staying) :])
    return problem.evaluate(fit.active[staying], theta, fit.columns[:, staying], guess)


def prune(problem: EvidenceProblem, fit: SparseFit) -> SparseFit:
    """Drop the columns whose absence raises the objective: all of them, or as many as go."""
    gains = deletion_gains(fit, problem.smoothness)
    n_leaving = int((gains > 0).sum())
    while n_leaving:
        leaving = np.zeros(len(gains), dtype=np.bool_)
        leaving[np.argsort(-gains)[:n_leaving]] = True
        fewer = drop(problem, fit, leaving)
        if fewer is None or fewer.objective < fit.objective:
            n_leaving //= 2
            continue
        fit = fewer
        gains = deletion_gains(fit, problem.smoothness)
        n_leaving = int((gains > 0).sum())
    return fit


def exchange(
    problem: OpenProblem, fit: SparseFit, sweep: ColumnSweep, place: int, leaving: int
) -> SparseFit | None:
    """Return the fit with the column at `place` of the sweep instead of the active `leaving`."""
    share = sweep.overlap[place, leaving] / fit.covariance[leaving, leaving]
    sparsity = sweep.sparsity[place] + sweep.overlap[place, leaving] * share
    quality = sweep.quality[place] + fit.weights[leaving] * share
    excess = quality**2 - sparsity
    if excess <= 0:
        return None
    low, high = problem.precisions
    alpha = min(max(sparsity**2 / excess, low), high)
    column = sweep.columns[place : place + 1]
    active, theta, columns = fit.active.copy(), fit.theta.copy(), fit.columns.copy(order="F")
    active[leaving], theta[leaving] = column[0], np.log(alpha)
    columns[:, leaving] = problem.take(column)[:, 0]
    pull = fit.weights[leaving] / fit.covariance[leaving, leaving]
    weight = quality / (alpha + sparsity)
    overlap = sweep.overlap[place] - share * fit.covariance[:, leaving]
    guess = fit.weights - pull * fit.covariance[:, leaving] - weight * overlap
    guess[leaving] = np.sqrt(alpha) * weight
    return problem.evaluate(active, theta, columns, guess)


@dataclass(frozen=True)
class ColumnProblem(ABC):
    """One predictor, a sum of columns, for all rows: what both likelihoods have in common.

    targets (n,): In scaled units.
    smoothness: c of the smoothness prior.
    precisions: Limits of the precisions of scaled columns.
    second_start: Whether the objective has a bound without the smoothness prior, so that a climb
        may begin at its top.
    """

    columns: ScaledColumns
    targets: Array
    row_weights: Array
    smoothness: float
    precisions: ClassVar[tuple[float, float]]
    second_start: ClassVar[bool]

    @abstractmethod
    def fit_columns(self, active: Indices, theta: Array, columns: Array, guess: Array) -> SparseFit:
        """Return the fit with these columns and precisions, or raise `LinAlgError`."""

    def likelihood_theta(self, noise_variance: float | None = None) -> Array:  # noqa: ARG002
        """Return where theta begins beside the log precisions: at this noise, if it has any."""
        return np.empty(0)

    def noise(self, theta: Array, n_active: int) -> float | None:  # noqa: ARG002
        """Return the noise variance at theta, if there is noise."""
        return None

    @cached_property
    def n_rows(self) -> float:
        """Sum of the weights of the rows."""
        return float(self.row_weights.sum())

    def evaluate(
        self, active: Indices, theta: Array, columns: Array, guess: Array
    ) -> SparseFit | None:
        try:
            return self.fit_columns(active, theta, columns, guess)
        except np.linalg.LinAlgError:
            return None

    def empty(self) -> SparseFit:
        """Return the fit without any column."""
        none = np.empty(0, dtype=np.intp)
        return self.fit_columns(none, self.likelihood_theta(), self.take(none), np.empty(0))

    def warm(self, given: SparseBayes, unit: float) -> SparseFit | None:
        """Return the fit with the columns, precisions and noise of an earlier result.

        Columns that are zero on the present rows are left out; targets were divided by `unit`.
        """
        n_columns = len(self.columns.usable)
        if len(given.active) and given.active.max() >= n_columns:
            raise InvalidInputError(
                f"start has column {given.active.max()}, but the design has only {n_columns} "
                "columns."
            )
        kept = self.columns.usable[given.active]
        active = given.active[kept]
        scale = self.columns.scale[active] / unit
        alpha = given.alpha[kept] / scale**2
        noise = unit**2 if given.noise_variance is None else given.noise_variance
        theta = np.append(
            np.log(np.clip(alpha, *self.precisions)), self.likelihood_theta(noise / unit**2)
        )
        guess = np.sqrt(alpha) * given.mean[kept] * scale
        theta = np.clip(theta, *self.bounds(theta))
        return self.evaluate(active, theta, self.take(active), guess)

    def sweep(self, fit: SparseFit, pool: Indices | None = None) -> ColumnSweep:
        """Return how the columns of `pool`, or all, would serve: one product with the design."""
        right = np.empty((len(fit.residual), len(fit.active) + 1))
        np.multiply(fit.precision[:, None], fit.columns, out=right[:, :-1])
        right[:, -1] = fit.residual
        if pool is None:
            pool = np.arange(len(self.columns.usable))
            products, squares = self.columns.project(right), self.columns.squares(fit.precision)
        else:
            chosen = self.take(pool)
            products, squares = chosen.T @ right, fit.precision @ np.square(chosen)
        projections = (squares, products[:, :-1], products[:, -1])
        return make_sweep(fit, pool, projections, self.columns.usable[pool], self.smoothness)

    def refresh(self, fit: SparseFit, sweep: ColumnSweep) -> ColumnSweep:
        """Return a sweep over all columns with the quality for another fit: one vector product.

        The sparsities stay those of the earlier fit. They change slowly and serve to choose the
        columns that are then looked at closely.
        """
        quality = self.columns.project(fit.residual[:, None])[:, 0]
        return replace(sweep, quality=quality, inside=among(sweep.columns, fit.active))

    def take(self, indices: Indices) -> Array:
        """Return some scaled columns, shape (n, m)."""
        return self.columns.take(indices)

    def bounds(self, theta: Array) -> tuple[Array, Array]:
        """Return the least and the greatest value of each entry of theta."""
        return precision_bounds(self, theta)


_NO_ROWS = np.empty(0)


@dataclass(frozen=True)
class Surrogate:
    r"""A Gaussian model of k columns; an `EvidenceProblem` like the one that it stands for.

    gram (k, k): :math:`\Phi^T B \Phi`.
    linear (k,): :math:`\Phi^T B \hat t`.
    tilt (k,): Slope of the true objective beyond that of the model, added as a linear term.
    origin (k,): Log precisions at which that term is zero, so that dropping a column costs none
        of it.
    precisions: Limits of the precisions.
    """

    gram: Array
    linear: Array
    tilt: Array
    origin: Array
    precisions: tuple[float, float]
    smoothness: float

    def evaluate(
        self, active: Indices, theta: Array, columns: Array, guess: Array | None = None
    ) -> SparseFit | None:
        del guess
        scaling = np.exp(-0.5 * theta)
        curvature = self.gram[active[:, None], active] * scaling * scaling[:, None]
        curvature.flat[:: len(active) + 1] += 1.0
        try:
            factor = cholesky(curvature)
        except np.linalg.LinAlgError:
            return None
        covariance = inverse(factor)
        pull = scaling * self.linear[active]
        weights = covariance @ pull
        freedom = len(active) - covariance.trace()
        value = 0.5 * (pull @ weights) - np.log(factor.diagonal()).sum()
        tilt = self.tilt[active]
        return SparseFit(
            active=active,
            theta=theta,
            weights=weights,
            covariance=covariance,
            columns=columns,
            residual=_NO_ROWS,
            precision=_NO_ROWS,
            log_evidence=float(value),
            objective=float(
                value - self.smoothness * freedom + tilt @ (theta - self.origin[active])
            ),
            gradient=evidence_gradient(covariance, weights, self.smoothness) + tilt,
            make_hessian=partial(evidence_hessian, covariance, weights, self.smoothness),
        )

    def sweep(self, fit: SparseFit, pool: Indices | None = None) -> ColumnSweep:
        chosen = np.arange(len(self.linear)) if pool is None else pool
        products = self.gram[chosen[:, None], fit.active]
        quality = self.linear[chosen] - products @ (fit.weights / np.sqrt(fit.alpha))
        projections = (self.gram.diagonal()[chosen], products, quality)
        usable = projections[0] > 0
        return make_sweep(fit, chosen, projections, usable, self.smoothness)

    def bounds(self, theta: Array) -> tuple[Array, Array]:
        return precision_bounds(self, theta)


def make_surrogate(
    fit: SparseFit, columns: Array, precisions: tuple[float, float], smoothness: float
) -> tuple[Surrogate, SparseFit] | None:
    """Return the Gaussian model of a fit's columns and others, and the fit in that model.

    Shapes: columns (n, k).
    """
    root = columns * np.sqrt(fit.precision)[:, None]
    gram = root.T @ root
    n_active = len(fit.active)
    linear = gram[:, :n_active] @ (fit.weights / np.sqrt(fit.alpha)) + fit.residual @ columns
    tilt = np.zeros(len(linear))
    known = evidence_gradient(fit.covariance, fit.weights, smoothness)
    tilt[:n_active] = fit.gradient[:n_active] - known
    origin = np.zeros(len(linear))
    origin[:n_active] = fit.theta[:n_active]
    model = Surrogate(gram, linear, tilt, origin, precisions, smoothness)
    places = np.arange(n_active)
    same = model.evaluate(places, fit.theta[:n_active], np.empty((0, n_active)))
    return None if same is None else (model, same)


def greedy_picks(
    model: Surrogate, fit: SparseFit, least: float, most: int
) -> tuple[Indices, Array]:
    """Choose columns to add, each scored in a model that has those chosen before it.

    Only what each column has outside the model is followed, and inner products are formed with
    those picked alone, so that a pick costs little more than the number of candidates. The
    degrees of freedom that a column brings stay those of the first look.

    Shape: (n_picks,), (n_picks,).
    """
    sweep = model.sweep(fit)
    products = model.gram[:, fit.active] / np.sqrt(fit.alpha)
    quality, sparsity = sweep.quality, sweep.sparsity
    penalty = 2.0 * model.smoothness * sweep.freedom() if model.smoothness else 0.0
    free = sweep.usable & ~sweep.inside
    trusted = ALIGNED * model.gram.diagonal()
    places: list[int] = []
    alphas: list[float] = []
    steps = np.empty((most, len(quality)))
    while len(places) < most:
        squared = np.where(free & (sparsity > trusted), quality**2 - penalty, 0.0)
        gains, best = best_gain(np.maximum(sparsity, np.finfo(np.float64).tiny), squared)
        place = int(np.argmax(gains))
        if gains[place] <= least:
            break
        alpha = float(np.clip(best[place], *model.precisions))
        # The inner products of all columns with this one, outside the model as it is by now.
        earlier = steps[: len(places)]
        outside = model.gram[place] - products @ sweep.overlap[place] - earlier[:, place] @ earlier
        width = alpha + sparsity[place]
        quality = quality - outside * (quality[place] / width)
        steps[len(places)] = outside / np.sqrt(width)
        sparsity = sparsity - steps[len(places)] ** 2
        free[place] = False
        places.append(place)
        alphas.append(alpha)
    return np.array(places, dtype=np.intp), np.array(alphas)
