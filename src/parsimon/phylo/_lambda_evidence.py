r"""Sparse Bayesian regression with noise that evolved along a tree, and the evidence of lambda.

For a given lambda the tree whitens columns and targets in linear time, and what is left is sparse
regression with independent noise; its log evidence plus that of the change of variables,
:math:`-\frac12 \log|V_\lambda|`, is the log evidence of the targets (Fearn 2021, eq 5.36).
`maximise_over_lambda` climbs it, and `LambdaPosterior` is its density by quadrature.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import minimize_scalar

from parsimon._style import VERMILION, figure_style, new_axes
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes import SparseBayes, sparse_regression
from parsimon.inference.sparse_bayes.design import Prior, Smoothness
from parsimon.phylo._evolution import Model
from parsimon.phylo._likelihood import Estimate, check_bounded, draw_curve, find_hills
from parsimon.phylo.tree_gaussian import TreeGaussian

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SCAN = 13
# Hills of the scan this far below the highest, in nats, may still be the highest.
_HILLS = 2.0
# Maxima over precisions must be exact for a maximum over lambda to be: the profile has to be
# smooth where it is polished.
_TIGHT = 1e-6
# A gain in nats that is another maximum, and not the same one more exactly.
_BETTER = 1e-3
# Targets that differ from their mean by less than this share of it are constant.
_CONSTANT = 1e-13


@dataclass(frozen=True, eq=False)
class TreeRegression:
    """Columns to choose from and targets, whose noise has the covariance of a tree.

    Shapes: design (n, p), targets (n,).

    gaussian: None for independent noise of equal variance, whatever lambda.
    smoothness: Of the sparse regression.
    """

    gaussian: TreeGaussian | None
    design: Array
    targets: Array
    max_iter: int = 1000
    tol: float = 1e-3
    prior: Prior = "ard"
    smoothness: Smoothness = "bic"

    def without(self, column: int) -> "TreeRegression":
        """Return the problem without a column, which becomes zero so that places stay."""
        design = self.design.copy()
        design[:, column] = 0.0
        return replace(self, design=design)

    def whiten(self, share: float) -> tuple[Array, Array, float]:
        """Return columns and targets with independent noise, and the log determinant taken out."""
        if self.gaussian is None:
            return self.design, self.targets, 0.0
        gaussian = self.gaussian.with_model(Model(pagel_lambda=float(share)))
        both = np.column_stack([self.design, self.targets])
        white, log_determinant = gaussian.whitened_columns(both)
        return white[:, :-1], white[:, -1], log_determinant

    def fit(
        self, share: float, start: SparseBayes | None = None, tol: float | None = None
    ) -> SparseBayes:
        """Return the sparse regression at this lambda, its evidence being that of the targets."""
        design, targets, log_determinant = self.whiten(share)
        found = sparse_regression(
            design,
            targets,
            prior=self.prior,
            smoothness=self.smoothness,
            max_iter=self.max_iter,
            tol=self.tol if tol is None else tol,
            start=start,
        )
        shift = -0.5 * log_determinant
        return replace(
            found,
            log_evidence=found.log_evidence + shift,
            objective=found.objective + shift,
            history=found.history + shift,
        )


class EvidenceCurve:
    """The evidence of lambda, precisions and noise at their best; remembers what it has seen.

    Each fit begins where the fit at the nearest lambda ended.

    found: What is known already.
    """

    def __init__(
        self, problem: TreeRegression, found: Mapping[float, SparseBayes] | None = None
    ) -> None:
        self.problem = problem
        self.found = dict(found or {})

    @property
    def best(self) -> tuple[float, SparseBayes]:
        """The lambda of greatest evidence among those seen, and its fit."""
        return max(self.found.items(), key=lambda item: item[1].objective)

    def height(self, share: float) -> float:
        """Return the log evidence of a lambda, minus infinity where the covariance is singular."""
        share = float(share)
        if share not in self.found:
            near = min(self.found, key=lambda other: abs(other - share), default=None)
            self.improve(share, None if near is None else self.found[near])
        return self.found[share].objective if share in self.found else -np.inf

    def improve(self, share: float, start: SparseBayes | None) -> bool:
        """Fit from a start, or from nothing; return whether that is better than what was known."""
        try:
            fit = self.problem.fit(share, start, _TIGHT if start is not None else None)
        except InvalidInputError:
            return False
        known = self.found.get(float(share))
        if known is not None and not fit.objective > known.objective:
            return False
        self.found[float(share)] = fit
        return True


def without_rounding(centred: Array, y: Array) -> Array:
    """Return centred targets, zeros if what is left of them is rounding."""
    constant = np.abs(centred).max(initial=0.0) <= _CONSTANT * np.abs(y).max(initial=0.0)
    return np.zeros_like(centred) if constant else centred


def maximise_over_lambda(problem: TreeRegression, bounds: tuple[float, float]) -> EvidenceCurve:
    """Return the evidence of lambda where it was computed, its greatest among them.

    Fits from nothing at three values find the columns; a walk up and down a scan carries each to
    the others; the hills are then climbed, and a last fit from nothing may find a better one.
    """
    curve = EvidenceCurve(problem)
    points = np.linspace(*bounds, _SCAN).tolist()
    for place in (0, _SCAN // 2, _SCAN - 1):
        curve.improve(points[place], None)
    if not curve.found:
        problem.fit(points[0])  # says itself what is wrong with the tree
    for share in points:
        curve.height(share)
    _carry(curve, points)
    _carry(curve, points[::-1])
    _climb_hills(curve, points)
    top, known = curve.best
    if curve.improve(top, None) and curve.height(top) > known.objective + _BETTER:
        step = points[1] - points[0]
        _climb(curve, max(top - step, bounds[0]), min(top + step, bounds[1]))
    top, known = curve.best
    check_bounded(
        lambda values: problem.fit(values["lambda"], known).objective,
        {"lambda": bounds},
        Estimate({"lambda": top}, known.objective),
    )
    return curve


def _carry(curve: EvidenceCurve, points: Iterable[float]) -> None:
    """Try the columns of each point at the next one."""
    last: SparseBayes | None = None
    for share in points:
        own = curve.found.get(share)
        if own is None:
            continue
        if last is not None and not np.array_equal(last.active, own.active):
            curve.improve(share, last)
        last = curve.found[share]


def _climb_hills(curve: EvidenceCurve, points: list[float]) -> None:
    heights = np.array([curve.height(share) for share in points])
    for place in find_hills(heights):
        if heights[place] >= heights.max() - _HILLS:
            _climb(curve, points[max(place - 1, 0)], points[min(place + 1, len(points) - 1)])


def _climb(curve: EvidenceCurve, low: float, high: float) -> None:
    minimize_scalar(
        lambda share: -curve.height(float(share)),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-6 * (high - low), "maxiter": 40},
    )


# Below this many nats under the top there is nothing to integrate.
_DEPTH = 18.0
_HALVINGS = 14
_FINE = 4001


@dataclass(frozen=True, eq=False)
class LambdaPosterior:
    """The posterior of lambda under a prior that is flat between its bounds.

    values, weights (n_points,): Nodes of the quadrature, and the probability that each stands
        for: a prediction averaged with these weights is averaged over lambda.
    density (n_points,): At the nodes.
    interval: The shortest one of this probability that holds the mode, which may be at a bound.
    log_evidence: Of the targets, lambda integrated out.
    """

    values: Array
    weights: Array
    density: Array
    mode: float
    mean: float
    sd: float
    interval: tuple[float, float]
    level: float
    log_evidence: float

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the density with its mode and its interval."""
        with figure_style():
            axes = new_axes(ax, figsize=(6.0, 3.8))
            grid = np.linspace(self.values[0], self.values[-1], 401)
            with np.errstate(divide="ignore"):
                logs = np.maximum(np.log(self.density), -700.0)
            heights = np.exp(PchipInterpolator(self.values, logs)(grid))
            draw_curve(axes, grid, heights, self.mean, self.interval)
            axes.axvline(self.mode, color=VERMILION, linewidth=1.4, zorder=3)
            axes.set_ylim(bottom=0.0)
            low, high = self.interval
            axes.set(
                xlabel="lambda",
                ylabel="posterior density",
                title=f"lambda: mode {self.mode:.3g}, mean {self.mean:.3g}, {self.level:.0%} "
                f"{low:.3g} to {high:.3g}",
            )
        return axes


def integrate(
    height: Callable[[float], float],
    bounds: tuple[float, float],
    mode: float,
    *,
    level: float,
    n_points: int,
) -> LambdaPosterior:
    """Return the posterior of lambda from its log evidence, by Gauss and Legendre's rule."""
    top = height(mode)
    low, high = (_edge(height, mode, bound, top) for bound in bounds)
    nodes, rule = np.polynomial.legendre.leggauss(n_points)
    values = low + (high - low) * 0.5 * (nodes + 1.0)
    heights = np.array([height(float(value)) for value in values])
    shares = 0.5 * (high - low) * rule * np.exp(heights - top)
    total = float(shares.sum())
    weights = shares / total
    mean = float(weights @ values)
    sd = float(np.sqrt(weights @ (values - mean) ** 2))
    return LambdaPosterior(
        values,
        weights,
        np.exp(heights - top) / total,
        mode,
        mean,
        sd,
        _shortest(height, values, heights, (low, high), mode, level),
        level,
        top + float(np.log(total / (bounds[1] - bounds[0]))),
    )


def _edge(height: Callable[[float], float], mode: float, bound: float, top: float) -> float:
    """Return the bound, or where the evidence has become too small on the way to it."""
    if bound == mode or height(bound) > top - _DEPTH:
        return float(bound)
    inside, outside = mode, float(bound)
    for _ in range(_HALVINGS):
        middle = 0.5 * (inside + outside)
        if height(middle) > top - _DEPTH:
            inside = middle
        else:
            outside = middle
    return outside


def _shortest(
    height: Callable[[float], float],
    values: Array,
    heights: Array,
    ends: tuple[float, float],
    mode: float,
    level: float,
) -> tuple[float, float]:
    """Return the shortest interval of this probability that holds the mode."""
    at_ends = np.maximum([height(end) for end in ends], heights.min() - _DEPTH)
    places = np.concatenate([[ends[0]], values, [ends[1]]])
    logs = np.concatenate(
        [at_ends[:1], np.maximum(heights, heights.max() - 2 * _DEPTH), at_ends[1:]]
    )
    grid = np.linspace(*ends, _FINE)
    density = np.exp(PchipInterpolator(places, logs)(grid) - logs.max())
    mass = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    mass = mass / mass[-1]
    before = grid <= mode
    starts = np.append(grid[before & (mass <= 1.0 - level)], ends[0])
    stops = np.maximum(np.interp(np.interp(starts, grid, mass) + level, mass, grid), mode)
    best = int(np.argmin(stops - starts))
    return float(starts[best]), float(stops[best])
