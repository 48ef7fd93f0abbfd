"""The table itself, before any model."""

from typing import TYPE_CHECKING

from parsimon._style import figure_style, new_axes
from parsimon.report.figures.labels import label
from parsimon.report.figures.parallel import parallel_coordinates
from parsimon.report.figures.points import Points, classes_above, draw_points, spread
from parsimon.report.figures.surroundings import frame
from parsimon.report.figures.three_columns import axes_3d

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def data_figure(points: Points, *, title: str | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw a table in the way that fits its number of columns.

    One column gives a strip for each class, two a scatter plot, three a scatter plot in space,
    more `parallel_coordinates`.
    """
    if points.n_columns > 3:
        return parallel_coordinates(points, title=title, ax=ax)
    with figure_style():
        drawn = (_strips, _scatter, _space)[points.n_columns - 1](points, ax)
        if title is not None:
            drawn.set_title(label(title, 60), pad=24 if points.n_columns == 2 else 8)
    n_rows = f"{len(points.y)} rows"
    said = (
        f"{n_rows} in strips by class, spread vertically to show ties."
        if points.n_columns == 1
        else f"{n_rows}; each mark is a row."
    )
    drawn.set_label(said + points.marks_words())
    return drawn


def _strips(points: Points, ax: "Axes | None") -> "Axes":
    n_classes = len(points.class_names)
    ax = new_axes(ax, figsize=(5.6, 1.4 + 0.5 * n_classes))
    values = points.X[:, 0]
    draw_points(ax, points, (values, points.y - 0.32 + 0.64 * spread(values)))
    ax.set_yticks(
        range(n_classes),
        [f"{points.class_title(k)}\n({points.of_class(k).sum()})" for k in range(n_classes)],
    )
    ax.set_ylim(-0.5, n_classes - 0.5)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(points.title(0))
    return ax


def _scatter(points: Points, ax: "Axes | None") -> "Axes":
    ax = new_axes(ax, figsize=(5.2, 4.4))
    draw_points(ax, points, points.X.T)
    ax.set_xlabel(points.title(0))
    ax.set_ylabel(points.title(1))
    classes_above(ax)
    return ax


def _space(points: Points, ax: "Axes | None") -> "Axes":
    sides = [frame(points.X[:, place], 0.05, 3) for place in range(3)]
    box: Axes = axes_3d(points, range(3), sides, ax)
    classes_above(box, height=0.93)
    return box
