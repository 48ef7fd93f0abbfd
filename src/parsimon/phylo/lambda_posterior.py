"""What is known about lambda after the data: its posterior density by quadrature."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import PchipInterpolator

from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes
from parsimon._typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
            low, high = self.interval
            grid = np.linspace(self.values[0], self.values[-1], 401)
            with np.errstate(divide="ignore"):
                logs = np.maximum(np.log(self.density), -700.0)
            axes.plot(grid, np.exp(PchipInterpolator(self.values, logs)(grid)), color=BLUE)
            axes.axvspan(low, high, color=BLUE, alpha=0.15, linewidth=0)
            axes.axvline(self.mode, color=VERMILION, linewidth=1.4, zorder=3)
            axes.axvline(self.mean, color=GREY, linestyle=":", linewidth=1.2)
            axes.set_ylim(bottom=0.0)
            axes.set_xlabel("lambda")
            axes.set_ylabel("posterior density")
            axes.set_title(
                f"lambda: mode {self.mode:.3g}, mean {self.mean:.3g}, {self.level:.0%} "
                f"{low:.3g} to {high:.3g}"
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
