"""Observed numbers against those that were predicted."""

from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._checks import finite_vector
from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes
from parsimon._typing import Mask
from parsimon.exceptions import InvalidInputError
from parsimon.report.figures.labels import label
from parsimon.report.figures.points import opacity
from parsimon.report.figures.regression import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def predicted_observed(
    y: Any,
    predicted: Any,
    *,
    deviation: Any = None,
    target: str = "y",
    left_out: bool = True,
    most_marks: int = 800,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw observed numbers against predicted ones; on the diagonal they agree.

    Shapes: y, predicted (n,), deviation (n,).
    """
    observed, expected = finite_vector(y, "y"), finite_vector(predicted, "predicted")
    if len(observed) != len(expected) or not len(observed):
        raise InvalidInputError(
            f"y and predicted must have the same rows, got {len(observed)} and {len(expected)}."
        )
    rows = Numbers(expected, observed, target=target, most_marks=most_marks)
    off = np.zeros(len(observed), dtype=bool)
    if deviation is not None:
        off = np.abs(observed - expected) > 2 * finite_vector(deviation, "deviation")
    marked = rows.points.marked
    ends = np.array([min(observed.min(), expected.min()), max(observed.max(), expected.max())])
    with figure_style():
        ax = new_axes(ax, figsize=(4.6, 4.4))
        ax.plot(ends, ends, color=GREY, linewidth=1.2, linestyle=(0, (4, 3)))
        for which, tint, fill in ((~off, BLUE, "none"), (off, VERMILION, VERMILION)):
            here = marked[which[marked]]
            style: dict[str, Any] = {"color": tint, "markerfacecolor": fill, "markersize": 4.4}
            ax.plot(expected[here], observed[here], "o", alpha=opacity(len(marked)), **style)
        ax.set_xlabel(f"predicted {rows.title}")
        ax.set_ylabel(f"observed {rows.title}")
        if title is not None:
            ax.set_title(label(title, 60))
    ax.set_label(
        f"{_caption(target, off if deviation is not None else None, left_out)}"
        f"{rows.points.marks_words()}"
    )
    return ax


def _caption(target: str, off: Mask | None, left_out: bool) -> str:
    without = "without each row" if left_out else "by a model that has seen the rows"
    said = (
        ""
        if off is None
        else f" Filled: {off.sum():,} of {len(off):,} rows more than two standard deviations off."
    )
    return (
        f"Observed {label(target, 40)} against predictions made {without}; on the dashed line they "
        f"agree.{said}"
    )
