"""One picture of a fitted function, whatever the target and however many columns it has."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from parsimon._typing import Array
from parsimon.gp import Candidate
from parsimon.inference import LatentPosterior
from parsimon.kernels import Kernel
from parsimon.report.figures import (
    ClassRows,
    DrawnPart,
    NumberRows,
    component_panels,
    component_reach,
    posterior_1d,
    posterior_2d,
    posterior_by_level,
    posterior_levels,
    regression_1d,
    regression_2d,
    regression_slices,
    slices,
)
from parsimon.report.figures.latent_grid import two_values
from parsimon.report.figures.points import sampled_rows
from parsimon.statistician.models import posterior_of
from parsimon.statistician.subject import Subject

Function: TypeAlias = Callable[[Array], tuple[Array, Array]]

# Marks of a panel: beyond these a picture of a page weighs too much.
MOST_MARKS = {1: 1000, 2: 800, 3: 800}
MOST_COLUMNS = 3
# Rows over which a part has mean zero: more change nothing that can be seen.
_MEAN_ROWS = 1000


@dataclass(frozen=True, eq=False)
class View:
    """Draws functions of some columns of a subject's table.

    titles: What axes say instead of a variable's name, such as the unit of a date.
    """

    subject: Subject
    titles: dict[str, str] = field(default_factory=dict)

    @property
    def is_number(self) -> bool:
        """Whether the target is a number."""
        return self.subject.task == "regression"

    @property
    def X(self) -> Array:
        """The table as numbers, shape (n, d)."""
        numbers: Array = self.subject.X.to_numpy(dtype=np.float64)
        return numbers

    def points(self, columns: Sequence[int], most_marks: int) -> ClassRows:
        """Return the rows of some columns with their classes; of a number, all of one class."""
        y = np.zeros(len(self.subject.y)) if self.is_number else self.subject.y
        names = [self.subject.negative, self.subject.positive]
        return ClassRows(
            self.X[:, list(columns)],
            y,
            names=self._titles(columns),
            class_names=["", ""] if self.is_number else names,
            most_marks=most_marks,
        )

    def numbers(self, columns: Sequence[int], most_marks: int) -> NumberRows:
        """Return the rows of some columns with a numeric target."""
        return NumberRows(
            self.X[:, list(columns)],
            self.subject.y,
            names=self._titles(columns),
            target=self.subject.target,
            most_marks=most_marks,
        )

    def function(self, candidate: Candidate, columns: Sequence[int]) -> Function:
        """Return the latent function of a candidate of some columns, in units of the target."""
        posterior = posterior_of(self.subject.search, candidate)
        centre, unit = self._scale()

        def asked(places: Array) -> tuple[Array, Array]:
            mean, variance = posterior.latent(self._whole(places, columns))
            return centre + unit * mean, unit**2 * variance

        return asked

    def part(self, posterior: LatentPosterior, part: Kernel, columns: Sequence[int]) -> Function:
        """Return an additive part of a latent function, shifted to mean zero over the rows.

        A level can be given to any part, so that the data do not say whose it is and the band of
        a part as it stands is mostly about that. For g(x) - mean_j g(x_j) the prior covariance
        with the training rows is k(x, .) - mean_j k(x_j, .), its variance k(x, x) -
        2 mean_j k(x, x_j) + mean_jl k(x_j, x_l), and the posterior follows as for any other
        linear function of a Gaussian process.
        """
        rows = self.X[sampled_rows(np.zeros(len(self.X), dtype=np.intp), _MEAN_ROWS)]
        X, unit = posterior.prior.X, self._scale()[1]
        level, variance = part.gram(rows, X).mean(axis=0), float(part.gram(rows).mean())

        def asked(places: Array) -> tuple[Array, Array]:
            whole = self._whole(places, columns)
            own = part.diagonal(whole) - 2 * part.gram(whole, rows).mean(axis=1) + variance
            mean, spread = posterior.project(part.gram(whole, X) - level, own)
            return unit * mean, unit**2 * spread

        return asked

    def draw(
        self,
        function: Function,
        columns: Sequence[int],
        *,
        shown: Sequence[int] | None = None,
        confidence: bool = False,
    ) -> Any:
        """Draw a function of one, two or three columns in the way that reads best."""
        chosen = list(columns if shown is None else shown)[:MOST_COLUMNS]
        most = MOST_MARKS[len(chosen)]
        # Columns of two values last: they make curves, not axes.
        places = sorted(
            (list(columns).index(column) for column in chosen),
            key=lambda place: two_values(self.X[:, columns[place]]) is not None,
        )
        n_pairs = sum(two_values(self.X[:, columns[place]]) is not None for place in places)
        if self.is_number:
            rows = self.numbers(columns, most)
            return _draw_number(function, rows, places, n_pairs=n_pairs)
        points = self.points(columns, most)
        if len(places) == 1:
            draw = posterior_levels if n_pairs else posterior_1d
            return draw(function, points, column=places[0])
        if len(places) == 3:
            return slices(function, points, columns=places)
        if n_pairs:
            return posterior_by_level(function, points, columns=places)
        return posterior_2d(function, points, columns=places, confidence=confidence)

    def draw_part(self, component: DrawnPart, columns: Sequence[int], reach: float) -> Any:
        """Draw an additive part on a scale that all parts share."""
        points = self.points(columns, MOST_MARKS[1])
        target = self.subject.target if self.is_number else None
        return component_panels([component], points, reach=reach, target=target, centred=True)

    def reach(self, component: DrawnPart, columns: Sequence[int]) -> float:
        """Return the greatest absolute value that the picture of a part would show."""
        return component_reach([component], self.points(columns, 1))

    def _titles(self, columns: Sequence[int]) -> list[str]:
        names = [self.subject.names[column] for column in columns]
        return [self.titles.get(name, name) for name in names]

    def _whole(self, places: Array, columns: Sequence[int]) -> Array:
        """Return rows of the table that hold `places` in `columns`; no others matter."""
        whole = np.tile(self.X.mean(axis=0), (len(places), 1))
        whole[:, list(columns)] = places
        return whole

    def _scale(self) -> tuple[float, float]:
        """Return mean and deviation of the target among the rows that were searched."""
        if not self.is_number:
            return 0.0, 1.0
        estimator = self.subject.search.best_estimator_
        return float(estimator._centre), float(estimator._unit)


def _draw_number(
    function: Function, rows: NumberRows, places: Sequence[int], *, n_pairs: int
) -> Any:
    if len(places) == 1:
        return regression_1d(function, rows, column=places[0])
    if len(places) == 3 or n_pairs == 2:
        return regression_slices(function, rows, columns=places)
    if n_pairs:
        return regression_1d(function, rows, column=places[0], by=places[1])
    return regression_2d(function, rows, columns=places)
