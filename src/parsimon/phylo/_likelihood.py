"""Maximum likelihood of the parameters of evolution: scan, then polish; profiles and intervals."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.optimise import minimise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LogLikelihood = Callable[[Mapping[str, float]], float]
Bounds = dict[str, tuple[float, float]]

_SCAN = 15
# Points a parameter when several are scanned together, and how many of the best are polished.
_COARSE, _STARTS = 6, 3
_STEP = 1e-5
# An estimate this near to a bound, as a share of the range, may be on its way to it; it is, if
# the height has grown by a nat at the second distance.
_NEAR, _NEARER = 1e-3, 1e-12


class Estimate(NamedTuple):
    """The best parameters and their log likelihood."""

    values: dict[str, float]
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class Profile:
    """How the log likelihood depends on one parameter, all else at its best.

    Shapes: values, log_likelihood (n_points,).

    estimate, maximum: The best value and its log likelihood.
    interval: Values that a likelihood-ratio test at this level does not reject; an end may be a
        bound.
    scale: What the heights are: a log-likelihood, or a log evidence.
    """

    name: str
    values: Array
    log_likelihood: Array
    estimate: float
    maximum: float
    interval: tuple[float, float]
    level: float
    scale: str = "log-likelihood"

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the profile with its maximum and its interval."""
        inside = np.isfinite(self.log_likelihood)
        with figure_style():
            axes = new_axes(ax, figsize=(6.0, 3.8))
            draw_curve(
                axes, self.values[inside], self.log_likelihood[inside], self.estimate, self.interval
            )
            axes.plot(self.estimate, self.maximum, "o", color=VERMILION, zorder=3)
            low, high = self.interval
            axes.set(
                xlabel=self.name,
                ylabel=self.scale,
                title=f"{self.name} {self.estimate:.3g}, {self.level:.0%} interval "
                f"{low:.3g} to {high:.3g}",
            )
        return axes


def draw_curve(
    axes: "Axes", values: Array, heights: Array, centre: float, interval: tuple[float, float]
) -> None:
    """Draw heights over values of a parameter, with an interval and a number in it."""
    axes.plot(values, heights, color=BLUE, zorder=2)
    axes.axvspan(*interval, color=BLUE, alpha=0.15, linewidth=0)
    axes.axvline(centre, color=GREY, linestyle=":", linewidth=1.2)


def maximise(function: LogLikelihood, bounds: Bounds) -> Estimate:
    """Return the parameters of greatest log likelihood inside the bounds.

    A scan finds all hills, so that a second one is not missed; the best are then climbed.
    """
    best = (
        _maximise_one(function, *next(iter(bounds.items())))
        if len(bounds) == 1
        else _maximise_several(function, bounds)
    )
    check_bounded(function, bounds, best)
    return best


def _maximise_several(function: LogLikelihood, bounds: Bounds) -> Estimate:
    names = list(bounds)
    box = np.array([bounds[name] for name in names])
    grids = [scan_points(name, bounds[name], _COARSE) for name in names]
    points = np.array(list(product(*grids)))
    heights = np.array([_value(function, names, point) for point in points])
    _check_some_finite(heights, function, dict(zip(names, points[0], strict=True)))
    best = points[np.argsort(-heights, kind="stable")[:_STARTS]]
    found = [_climb(function, names, start, box) for start in best]
    return max(found, key=lambda estimate: estimate.log_likelihood)


def profile(
    function: LogLikelihood, name: str, bounds: Bounds, best: Estimate, level: float, n_points: int
) -> Profile:
    """Return the profile of one parameter, the others estimated anew at each of its values."""
    limits = bounds[name]
    others = {key: value for key, value in bounds.items() if key != name}

    def height(value: float) -> float:
        if not others:
            return _safe(function, {name: value})
        start = np.array([best.values[key] for key in others])
        box = np.array(list(others.values()))
        return _climb(
            lambda rest: function({**rest, name: value}), list(others), start, box
        ).log_likelihood

    values = scan_points(name, limits, n_points)
    values = np.unique(np.append(values, best.values[name]))
    heights = np.array([height(float(value)) for value in values])
    ends = _interval(height, limits, best.values[name], best.log_likelihood, level)
    return Profile(name, values, heights, best.values[name], best.log_likelihood, ends, level)


def scan_points(name: str, limits: tuple[float, float], n_points: int) -> Array:
    """Return points between bounds: even, or for the rate `alpha` even in its logarithm."""
    low, high = limits
    if name != "alpha":
        return np.linspace(low, high, n_points)
    return np.append(low, np.geomspace(max(low, high * 1e-3), high, n_points - 1))


def _maximise_one(function: LogLikelihood, name: str, limits: tuple[float, float]) -> Estimate:
    points = scan_points(name, limits, _SCAN)
    heights = np.array([_safe(function, {name: float(value)}) for value in points])
    _check_some_finite(heights, function, {name: float(points[0])})
    found = [Estimate({name: float(points[np.argmax(heights)])}, float(heights.max()))]
    for place in find_hills(heights):
        near = points[max(place - 1, 0)], points[min(place + 1, len(points) - 1)]
        top = minimize_scalar(
            lambda value: -_safe(function, {name: float(value)}),
            bounds=near,
            method="bounded",
            options={"xatol": 1e-9 * (limits[1] - limits[0])},
        )
        found.append(Estimate({name: float(top.x)}, -float(top.fun)))
    return max(found, key=lambda estimate: estimate.log_likelihood)


def find_hills(heights: Array) -> list[int]:
    """Return the places of a scan that are finite and no lower than those beside them."""
    padded = np.concatenate([[-np.inf], heights, [-np.inf]])
    hills = (heights >= padded[:-2]) & (heights >= padded[2:]) & np.isfinite(heights)
    return np.flatnonzero(hills).tolist()


def check_bounded(function: LogLikelihood, bounds: Bounds, best: Estimate) -> None:
    """Refuse an estimate that is on its way to a singular covariance, up to no maximum.

    Two tips at distance zero with equal values make the likelihood of lambda infinite at 1.
    """
    for name, limits in bounds.items():
        span = limits[1] - limits[0]
        for end, inwards in zip(limits, (span, -span), strict=True):
            if abs(best.values[name] - end) > _NEAR * span:
                continue
            try:
                function({**best.values, name: end})
            except InvalidInputError as error:
                near = _safe(function, {**best.values, name: end + _NEARER * inwards})
                if near > best.log_likelihood + 1.0:
                    raise InvalidInputError(
                        f"The likelihood grows without limit as {name} approaches {end:g}. {error}"
                    ) from error


def _climb(function: LogLikelihood, names: list[str], start: Array, box: Array) -> Estimate:
    """Climb from a point, with slopes from differences on both sides, or one at a bound."""
    span = box[:, 1] - box[:, 0]

    def objective(point: Array) -> tuple[float, Array]:
        slope = np.empty(len(point))
        for axis, width in enumerate(span):
            ends = np.array([point, point])
            ends[0, axis] = max(point[axis] - _STEP * width, box[axis, 0])
            ends[1, axis] = min(point[axis] + _STEP * width, box[axis, 1])
            low, high = (_value(function, names, end) for end in ends)
            slope[axis] = -(high - low) / (ends[1, axis] - ends[0, axis])
        return -_value(function, names, point), slope

    top = minimise(objective, start, box, value_tolerance=1e-15, gradient_tolerance=1e-8)
    values = {name: float(value) for name, value in zip(names, top.x, strict=True)}
    return Estimate(values, -top.value)


def _interval(
    height: Callable[[float], float],
    limits: tuple[float, float],
    estimate: float,
    maximum: float,
    level: float,
) -> tuple[float, float]:
    from scipy.stats import chi2

    threshold = maximum - 0.5 * float(chi2.ppf(level, 1))

    def excess(value: float) -> float:
        found = height(value) - threshold
        return found if np.isfinite(found) else -1e3

    ends = []
    for limit in limits:
        if limit == estimate or excess(limit) >= 0:
            ends.append(float(limit))
        else:
            ends.append(float(brentq(excess, limit, estimate, xtol=1e-7)))
    return ends[0], ends[1]


def _value(function: LogLikelihood, names: list[str], point: Array) -> float:
    return _safe(function, dict(zip(names, map(float, point), strict=True)))


def _safe(function: LogLikelihood, values: dict[str, float]) -> float:
    """Return the log likelihood, minus infinity where the covariance is singular."""
    try:
        height = function(values)
    except InvalidInputError:
        return -np.inf
    return height if np.isfinite(height) else -np.inf


def check_estimable(design: Array, y: Array, names: Iterable[str]) -> None:
    """Refuse targets that no parameter of evolution can be estimated from."""
    listed, n = " and ".join(names), len(y)
    if n <= design.shape[1] and n <= np.linalg.matrix_rank(design):
        raise InvalidInputError(
            f"{n} row{'s' * (n != 1)} cannot tell {listed} beside {n} or more coefficients. Use "
            f"more rows or fewer columns, or give {listed} as a number."
        )
    # Without a column of ones equal values say something, unless they are zero.
    explained = (design == design[:1]).all(axis=0).any() or not y.any()
    if np.ptp(y) == 0 and explained:
        raise InvalidInputError(
            f"All values of y are equal, so that {listed} cannot be estimated; give it as a number."
        )


def _check_some_finite(heights: Array, function: LogLikelihood, first: dict[str, Any]) -> None:
    if np.isfinite(heights).any():
        return
    function(first)  # says itself what is wrong, if the tree is
    raise InvalidInputError(
        "No parameter of evolution can be estimated: the columns of X explain y exactly. Use "
        "fewer columns, or fix the parameters."
    )
