"""Do events happen as often as predicted? Observed shares against predicted probabilities."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import betaincinv

from parsimon._checks import finite_vector
from parsimon._style import BLUE, GREY, figure_style, new_axes
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.report.figures.points import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CalibrationBins(NamedTuple):
    """Rows grouped by their predicted probability.

    predicted, observed (k,): Mean prediction and share of positives in each group.
    low, high (k,): Interval of the share.
    counts (k,): Rows in each group.
    """

    predicted: Array
    observed: Array
    low: Array
    high: Array
    counts: Indices


def calibration_bins(
    y: Any, probability: Any, *, n_bins: int = 10, confidence: float = 0.95
) -> CalibrationBins:
    """Return observed shares of positives in groups of equal size by predicted probability.

    Equal predictions are never split between groups. Intervals are Clopper and Pearson's: exact,
    so at least as wide as they claim [1].

    Shapes: y (n,), probability (n,).

    [1] Clopper and Pearson (1934), Biometrika 26:404-413.
    """
    events, chances = finite_vector(y, "y"), finite_vector(probability, "probability")
    if len(events) != len(chances) or not len(events):
        raise InvalidInputError(
            f"y and probability must have the same rows, got {len(events)} and {len(chances)}."
        )
    if not np.isin(events, (0, 1)).all() or chances.min() < 0 or chances.max() > 1:
        raise InvalidInputError("y must hold 0 and 1, and probability must lie in [0, 1].")
    if n_bins < 1 or not 0 < confidence < 1:
        raise InvalidInputError(
            f"n_bins must be 1 or more and confidence in (0, 1), got {n_bins} and {confidence}."
        )
    ranks = np.searchsorted(np.sort(chances), chances)
    _, group = np.unique(ranks * n_bins // len(ranks), return_inverse=True)
    counts = np.bincount(group)
    hits: Array = np.bincount(group, weights=events).astype(np.float64)
    low, high = binomial_interval(hits, counts, confidence)
    predicted = np.bincount(group, weights=chances) / counts
    return CalibrationBins(predicted, hits / counts, low, high, counts)


def binomial_interval(hits: Array, counts: Indices, confidence: float) -> tuple[Array, Array]:
    """Return Clopper and Pearson's interval for shares of hits."""
    tail = (1 - confidence) / 2
    misses = counts - hits
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), misses + 1, tail), 0.0)
    high = np.where(misses > 0, betaincinv(hits + 1, np.maximum(misses, 1), 1 - tail), 1.0)
    return low, high


def calibration_curve(
    y: Any,
    probability: Any,
    *,
    n_bins: int = 10,
    confidence: float = 0.95,
    positive: str = "positive",
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw observed shares of positives against predicted probabilities, with exact intervals."""
    bins = calibration_bins(y, probability, n_bins=n_bins, confidence=confidence)
    chances = np.sort(finite_vector(probability, "probability"))
    options: dict[str, Any] = {"positive": positive, "title": title, "ax": ax}
    return draw_calibration(
        bins, interval=f"exact binomial {confidence:.0%}", chances=chances, **options
    )


def draw_calibration(
    bins: CalibrationBins,
    *,
    interval: str,
    chances: Array | None = None,
    positive: str = "positive",
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw groups of rows that are known already.

    Shapes: chances (n,).
    """
    with figure_style():
        ax = new_axes(ax, figsize=(4.6, 4.4))
        _draw_bins(ax, bins)
        if chances is not None:
            _draw_rug(ax, chances)
        name = label(positive, 18)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.06, 1.02), aspect="equal")
        ticks = np.linspace(0, 1, 6)
        ax.set_xticks(ticks)
        ax.set_yticks(ticks)
        ax.set_xlabel(f"predicted probability of {name}")
        ax.set_ylabel(f"observed share of {name}")
        if title is not None:
            ax.set_title(label(title, 60))
    ax.set_label(
        f"Observed share of {label(positive, 40)} against its predicted probability, with "
        f"{interval} intervals." + (" Ticks below: the predictions." if chances is not None else "")
    )
    return ax


def _draw_bins(ax: "Axes", bins: CalibrationBins) -> None:
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.2, linestyle=(0, (4, 3)))
    spread = np.stack([bins.observed - bins.low, bins.high - bins.observed])
    ax.errorbar(
        bins.predicted,
        bins.observed,
        yerr=np.maximum(spread, 0),
        color=BLUE,
        marker="o",
        markersize=6,
        linewidth=1.8,
        elinewidth=1.4,
        capsize=3,
    )


def _draw_rug(ax: "Axes", chances: Array) -> None:
    most = 300
    shown = chances if len(chances) <= most else np.quantile(chances, np.linspace(0, 1, most))
    ax.plot(shown, np.full(len(shown), -0.04), "|", color=GREY, alpha=0.5, markersize=6)
