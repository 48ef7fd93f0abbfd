"""Drawings of a report, kept as pictures under the name of what they show.

`draw_function` draws a function of one, two or three columns in the way that reads best.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from parsimon._style import figure_style
from parsimon._typing import AnyArray, Array
from parsimon.report.figures import (
    ClassRows,
    NumberRows,
    caption,
    label,
    posterior_1d,
    posterior_2d,
    regression_1d,
    regression_2d,
    svg,
)
from parsimon.report.figures.latent_grid import Posterior, two_values
from parsimon.report.figures.levels import posterior_by_level, posterior_levels
from parsimon.report.figures.points import number_label
from parsimon.report.findings import Picture


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


@dataclass(frozen=True, eq=False)
class Gallery:
    """The figures of one question, kept as they are drawn; `key` sets them apart from others."""

    key: str
    pictures: list[Picture] = field(default_factory=list)

    def hang(self, part: str, axes: Any, title: str, *, more: str = "") -> str:
        """Keep a drawing under the name of a part of the study; return its name."""
        name = f"{self.key}-{part}"
        self.pictures.append(picture_of(name, axes, title, more=more))
        return name


def draw_function(posterior: Posterior, rows: ClassRows | NumberRows) -> Any:
    """Draw a number, or log odds as a probability, over all of the one to three columns.

    Columns of two values make points or several curves, not axes. Of three columns the last is
    drawn at two values: those that it has, or its quartiles.
    """
    points = _points(rows)
    # Columns of two values last.
    places = sorted(range(points.n_columns), key=lambda k: two_values(points.X[:, k]) is not None)
    if len(places) < 3:
        return _draw(posterior, rows, places)
    return _draw_twice(posterior, rows, places)


def _points(rows: ClassRows | NumberRows) -> ClassRows:
    return rows.points if isinstance(rows, NumberRows) else rows


def _draw(
    posterior: Posterior, rows: ClassRows | NumberRows, places: Sequence[int], **options: Any
) -> Any:
    last_is_pair = two_values(_points(rows).X[:, places[-1]]) is not None
    if isinstance(rows, NumberRows):
        if len(places) == 1:
            return regression_1d(posterior, rows, column=places[0], **options)
        if last_is_pair:
            return regression_1d(posterior, rows, column=places[0], by=places[1], **options)
        return regression_2d(posterior, rows, columns=places, **options)
    options["link"] = "logit"
    if len(places) == 1:
        draw = posterior_levels if last_is_pair else posterior_1d
        return draw(posterior, rows, column=places[0], **options)
    if last_is_pair:
        return posterior_by_level(posterior, rows, columns=places, **options)
    if "ax" in options:
        options["axes"] = [options.pop("ax")]
    return posterior_2d(posterior, rows, columns=places, **options)


def _draw_twice(
    posterior: Posterior, rows: ClassRows | NumberRows, places: Sequence[int]
) -> AnyArray:
    """Draw two columns in two panels, for two values of a third."""
    import matplotlib.pyplot as plt

    points, third = _points(rows), places[2]
    values, first_two = points.X[:, third], list(places[:2])
    ends = two_values(values) or tuple(np.quantile(values, [0.25, 0.75]).tolist())
    two = replace(rows, X=points.X[:, first_two], names=[points.names[k] for k in first_two])
    panels: list[Any] = []
    with figure_style():
        figure = plt.figure(figsize=(9.6, 4.2), layout="constrained")
        for k, end in enumerate(ends):

            def held(asked: Array, end: float = end) -> tuple[Array, Array]:
                whole = np.full((len(asked), 3), end)
                whole[:, first_two] = asked
                return posterior(whole)

            title = f"{points.title(third)} = {number_label(end)}"
            drawn = _draw(held, two, [0, 1], title=title, ax=figure.add_subplot(1, 2, k + 1))
            panels.append(drawn.flat[0] if hasattr(drawn, "flat") else drawn)
    low, high = map(number_label, ends)
    panels[0].set_label(
        f"{panels[0].get_label()} Left: {points.title(third, 60)} = {low}; right: {high}."
    )
    return np.array(panels, dtype=object)
