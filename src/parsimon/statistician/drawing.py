"""A drawing as a picture of the findings; the table itself, drawn; and curves of checks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from parsimon._style import figure_style, new_axes
from parsimon.report.figures import (
    CalibrationBins,
    Points,
    caption,
    data_figure,
    draw_calibration,
    label,
    parallel_coordinates,
    svg,
)
from parsimon.report.findings import Checks, Picture, Roc, Task
from parsimon.roc import AucInterval, RocDisplay
from parsimon.roc.curve import RocPoints
from parsimon.statistician.views import MOST_COLUMNS

_DATA_ROWS = 400
_DATA_COLUMNS = 8
_DATA_MARKS = 600


def data_picture(
    X: Any,
    y: Any,
    names: Sequence[str],
    class_names: Sequence[str],
    task: Task = "classification",
    *,
    name: str = "data",
) -> Picture:
    """Draw the table itself, in the way that fits its number of columns.

    Shapes: X (n, d), y (n,).
    """
    codes, classes, said = np.asarray(y), list(class_names), ""
    if task == "regression":
        middle = float(np.median(codes))
        codes = (codes > middle).astype(np.intp)
        classes = ["lower half", "upper half"]
        said = " Halves: rows up to the median of the target, and above."
    options: dict[str, Any] = {"names": list(names), "class_names": classes}
    points = Points(np.asarray(X, dtype=np.float64), codes, **options, most_marks=_DATA_MARKS)
    if points.n_columns > MOST_COLUMNS:
        axes = parallel_coordinates(points, most_rows=_DATA_ROWS, most_columns=_DATA_COLUMNS)
        title = f"The rows of the table along {min(points.n_columns, _DATA_COLUMNS)} variables"
    else:
        axes = data_figure(points)
        title = f"The rows of the table by {listed([str(one) for one in names])}"
    return picture_of(name, axes, title, more=said)


def picture_of(name: str, axes: Any, title: str, *, more: str = "") -> Picture:
    """Return a drawing as a picture of the findings, and close its figure."""
    import matplotlib.pyplot as plt

    first = axes.flat[0] if hasattr(axes, "flat") else axes
    short = label(title, 160).replace(r"\$", "$")
    drawn = Picture(
        name=name,
        svg=svg(first.figure, salt=name, title=short),
        caption=caption(axes) + more,
        title=short,
    )
    plt.close(first.figure)
    return drawn


def draw_bins(checks: Checks, positive: str) -> Any:
    """Draw observed shares against predictions, as the findings have them."""
    table = checks.calibration
    bins = CalibrationBins(
        np.array([one.predicted for one in table]),
        np.array([one.observed.estimate for one in table]),
        np.array([one.observed.low for one in table]),
        np.array([one.observed.high for one in table]),
        np.array([one.n_rows for one in table]),
    )
    return draw_calibration(bins, interval="Wilson 95 %", positive=positive)


def draw_roc(roc: Roc, positive: str) -> Any:
    """Draw a curve of the findings with its hull and the interval of its area."""
    points = RocPoints(*(np.array(each) for each in (roc.fpr, roc.tpr, roc.thresholds)))
    area = roc.auc
    interval = AucInterval(
        area.estimate, area.low, area.high, float("nan"), area.confidence, "as found"
    )
    with figure_style():
        ax = new_axes(figsize=(5.2, 5.2))
    RocDisplay(points, interval=interval, pos_label=label(positive, 18)).plot(ax)
    ax.set_label(
        f"Share of {label(positive, 40)} found against the share of false alarms, at every "
        f"threshold; {roc.n_positive:,} and {roc.n_negative:,} rows. Dashed: the convex hull, "
        "which thresholds chosen at random between two of them reach."
    )
    return ax


def listed(names: Sequence[str]) -> str:
    """Return names in a row."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
