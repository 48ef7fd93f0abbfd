"""Figures of Gaussian processes: functions of one to three columns, parts, and the search.

`draw_kernels` hangs all of them; `KernelView` draws one fitted function, whatever the target and
however many columns it has; `draw_search` draws the tree of what was tried.
"""

import math
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
from scipy.optimize import linprog

from parsimon._style import VERMILION
from parsimon._typing import Array
from parsimon.gp import Candidate, SearchHistory, training_posterior
from parsimon.inference import LatentPosterior
from parsimon.inference.likelihoods import positive_probability
from parsimon.inference.posterior import Latent
from parsimon.kernels import Kernel, plain, structure
from parsimon.report.figures import (
    ClassRows,
    NumberRows,
    label,
    posterior_1d,
    posterior_2d,
    regression_1d,
    regression_2d,
    search_tree,
    slices,
)
from parsimon.report.figures.latent_grid import held_row, latent, rows_on, two_values
from parsimon.report.figures.levels import posterior_by_level, posterior_levels
from parsimon.report.figures.numeric import regression_slices
from parsimon.report.figures.search_figures import SearchNode
from parsimon.report.findings import InteractionFinding, Study, VariableFinding
from parsimon.statistician.families import Question
from parsimon.statistician.families.gp._kernel_result import KernelResult, posterior_of
from parsimon.statistician.gallery import Gallery
from parsimon.statistician.study import MOST_COLUMNS, listed
from parsimon.structures.claims import SUGGESTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Function: TypeAlias = Callable[[Array], tuple[Array, Array]]

# Marks of a panel: beyond these a picture of a page weighs too much.
MOST_MARKS = {1: 400, 2: 500, 3: 500}


@dataclass(frozen=True, eq=False)
class KernelView:
    """Draws functions of some columns of a question's table.

    titles: What axes say instead of a variable's name, such as the unit of a date.
    """

    result: KernelResult
    titles: dict[str, str] = field(default_factory=dict)

    @property
    def _question(self) -> Question:
        return self.result.question

    @property
    def is_number(self) -> bool:
        """Whether the target is a number."""
        return self._question.is_number

    @property
    def X(self) -> Array:
        """The table as numbers, shape (n, d)."""
        numbers: Array = self._question.X.to_numpy(dtype=np.float64)
        return numbers

    def points(self, columns: Sequence[int], most_marks: int) -> ClassRows:
        """Return the rows of some columns with their classes; of a number, all of one class."""
        y = np.zeros(len(self._question.y)) if self.is_number else self._question.y
        names = [self._question.negative, self._question.positive]
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
            self._question.y,
            names=self._titles(columns),
            target=self._question.target,
            most_marks=most_marks,
        )

    @cached_property
    def _chosen_posterior(self) -> LatentPosterior:
        # Every variable of the model is drawn from it.
        return posterior_of(self.result.search, self.result.search.best_candidate_)

    def function(self, candidate: Candidate, columns: Sequence[int]) -> Function:
        """Return the latent function of a candidate of some columns, in units of the target."""
        search = self.result.search
        chosen = candidate is search.best_candidate_
        posterior = self._chosen_posterior if chosen else posterior_of(search, candidate)
        centre, unit = self._scale()

        def asked(places: Array) -> tuple[Array, Array]:
            mean, variance = posterior.latent(self._whole(places, columns))
            return centre + unit * mean, unit**2 * variance

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

    def _titles(self, columns: Sequence[int]) -> list[str]:
        names = [self._question.names[column] for column in columns]
        return [self.titles.get(name, name) for name in names]

    def _whole(self, places: Array, columns: Sequence[int]) -> Array:
        """Return rows of the table that hold `places` in `columns`; no others matter."""
        whole = np.tile(self.X.mean(axis=0), (len(places), 1))
        whole[:, list(columns)] = places
        return whole

    def _scale(self) -> tuple[float, float]:
        """Return mean and deviation of the target among the rows that were searched."""
        fitted = training_posterior(self.result.model) if self.is_number else None
        return (0.0, 1.0) if fitted is None else (fitted.centre, fitted.unit)


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


# Places at which a band is asked whether it holds a line.
_GRID = 41
MOST_CHILDREN = 4
_NAME_LETTERS = 16
# Longer kernels are written with x1, x2, ..., which the caption explains.
_LONGEST = 34
# Characters that stand for themselves alone: none of them can be in a name that is drawn.
_MARKED = re.compile("SE\\(\ue000(\\d+)\ue001\\)|\ue000(\\d+)\ue001")


def draw_search(history: SearchHistory, best: Candidate, names: Sequence[str]) -> "Axes":
    """Draw the way to the best kernel, and the best that was tried at each step of it."""
    nodes = search_nodes(history, best, names)
    said = ""
    if max(len(node.label) for node in nodes) > _LONGEST:
        short = [f"x{place + 1}" for place in range(len(names))]
        nodes = search_nodes(history, best, short)
        drawn = set(re.findall(r"\bx\d+\b", " ".join(node.label for node in nodes)))
        known = zip(short, names, strict=True)
        said = " " + "; ".join(f"{x}: {label(name, 40)}" for x, name in known if x in drawn) + "."
    ax = search_tree(nodes, most_children=len(nodes))
    ax.set_label(
        f"The way to the result (vermilion) among {len(history)} kernels: the {MOST_CHILDREN} best "
        f"of each step, with their cross-validated error.{said}"
    )
    return ax


def search_nodes(history: SearchHistory, best: Candidate, names: Sequence[str]) -> list[SearchNode]:
    """Return the part of a search's tree that can be read: the way and its nearest rivals."""
    way, write = _way(history, best), _ShortKernels(history, names)
    nodes = [
        SearchNode("constant", None, _known(history.baseline.error), on_path=True, best=not way)
    ]
    parent, above = 0, None
    for place in range(len(way) + 1):
        following = _key(way[place]) if place < len(way) else None
        chosen = parent
        for one in _children(history, above, following):
            on_path = _key(one) == following
            chosen = len(nodes) if on_path else chosen
            last = on_path and place + 1 == len(way)
            nodes.append(SearchNode(write(one.kernel), parent, _known(one.error), on_path, last))
        parent, above = chosen, following
    return nodes


def _children(
    history: SearchHistory, above: Hashable | None, following: Hashable | None
) -> list[Candidate]:
    """Return the best that grew from a kernel, with the one that the way goes on to."""
    grown = [one for one in history if _parent(one) == above and one.judged_by != "failed"]
    ranked = sorted(grown, key=lambda one: (math.isnan(one.error), one.error))
    return [one for k, one in enumerate(ranked) if k < MOST_CHILDREN or _key(one) == following]


def _known(error: float) -> float | None:
    return None if math.isnan(error) else error


def _way(history: SearchHistory, best: Candidate) -> list[Candidate]:
    """Return the candidates from the first level to the best, each the parent of the next."""
    if best is history.baseline:
        return []
    known = {structure(one.kernel): one for one in history}
    way: list[Candidate] = []
    step = known.get(structure(best.kernel))
    while step is not None and step not in way:
        way.append(step)
        step = None if step.parent is None else known.get(structure(step.parent))
    return way[::-1]


def _parent(candidate: Candidate) -> Hashable | None:
    return None if candidate.parent is None else structure(candidate.parent)


def _key(candidate: Candidate) -> Hashable:
    return structure(candidate.kernel)


class _ShortKernels:
    """Writes kernels short: names alone where all base kernels are smooth."""

    def __init__(self, history: SearchHistory, names: Sequence[str]) -> None:
        self.names = [label(name, _NAME_LETTERS).replace(r"\$", "$") for name in names]
        marks = [f"\ue000{place}\ue001" for place in range(len(names))]
        self.marks = marks
        written = [plain(one.kernel, marks) for one in history]
        self.smooth = not any(re.search(r"[A-Z]", _MARKED.sub("", text)) for text in written)

    def __call__(self, kernel: Kernel) -> str:
        text = plain(kernel, self.marks)

        def named(match: re.Match[str]) -> str:
            whole, bare = match.groups()
            name = self.names[int(whole or bare)]
            return name if self.smooth or whole is None else f"SE({name})"

        return _MARKED.sub(named, text)


def draw_kernels(result: KernelResult, study: Study, gallery: Gallery) -> Study:
    """Hang the figures of variables and products; of a table's only question, the search too."""
    draw = _KernelDrawer(result, _view(result, study), gallery)
    shown = _worth_drawing(result, study)
    variables = tuple(
        draw.variable(found, place) if found.variable.name in shown else found
        for place, found in enumerate(study.variables)
    )
    interactions = tuple(
        draw.interaction(found, place) for place, found in enumerate(study.interactions)
    )
    study = replace(study, variables=variables, interactions=interactions)
    if result.question.n_questions > 1:
        return study
    search = result.search
    tree = draw_search(search.history_, search.best_candidate_, result.question.names)
    way = gallery.hang("search", tree, "The way of the search")
    return replace(study, search=replace(study.search, picture=way))


def _worth_drawing(result: KernelResult, study: Study) -> set[str]:
    """Return the variables that the model uses or a claim is about; the best alone without any.

    Levels of a category are not drawn one by one.
    """
    structures = result.question.structures
    claims = () if structures is None else structures.claims(result.question.target)
    claimed = {name for one in claims if one.probability >= SUGGESTED for name in one.variables}
    found = {
        one.variable.name
        for one in study.variables
        if (one.in_model or one.variable.column in claimed)
        and (one.variable.kind != "indicator" or one.variable.name == one.variable.column)
    }
    if found or study.structure_found or not study.variables:
        return found
    best = min(study.variables, key=lambda one: (math.isnan(one.model.error), one.model.error))
    return {best.variable.name}


def _view(result: KernelResult, study: Study) -> KernelView:
    """Return a view of the question in which dates say their unit."""
    dates = [found.variable.name for found in study.variables if found.variable.kind == "date"]
    return KernelView(result, {name: f"{label(name, 18)} (days since the first)" for name in dates})


class LineInBand(NamedTuple):
    """A straight line near a curve: where it runs, its heights there, and over how many rows.

    grid, heights: Shape (m,).
    """

    grid: Array
    heights: Array
    rows: Literal["all", "most", "few"]


def line_in_band(function: Function, points: ClassRows, place: int) -> LineInBand | None:
    """Return the line that leaves a curve's band least, over all rows or where most of them lie.

    It minimises the greatest distance from the curve in units of the band's half width; at most one
    such unit is within the band. None for a column of two values, which has no curve.
    """
    values = points.X[:, place]
    if two_values(values) is not None:
        return None
    low, high = np.quantile(values, [0.05, 0.95])
    for ends, rows in (((values.min(), values.max()), "all"), ((low, high), "most")):
        grid = np.linspace(*ends, _GRID)
        mean, variance = latent(function, rows_on([grid], [place], held_row(points)))
        reach = 2 * np.sqrt(np.maximum(variance, np.finfo(np.float64).tiny))
        design = np.column_stack([np.ones(_GRID), (grid - ends[0]) / ((ends[1] - ends[0]) or 1.0)])
        found = linprog(
            [0, 0, 1],
            A_ub=np.block([[design, -reach[:, None]], [-design, -reach[:, None]]]),
            b_ub=np.concatenate([mean, -mean]),
            bounds=[(None, None), (None, None), (0, None)],
        )
        if found.x is not None and found.x[2] <= 1:
            return LineInBand(grid, design @ found.x[:2], cast(Literal["all", "most"], rows))
    return LineInBand(grid, mean, "few")


@dataclass(frozen=True, eq=False)
class _KernelDrawer:
    """Draws what a study says about variables, parts and products, and hangs it."""

    result: KernelResult
    view: KernelView
    gallery: Gallery

    @property
    def question(self) -> Question:
        """What was asked."""
        return self.result.question

    def hang(self, part: str, axes: Any, title: str, more: str = "") -> str:
        """Hang a drawing of a fitted function, and say which rows it was fitted to."""
        searched, n_rows = len(self.result.search.problem_.y), len(self.question.y)
        more += f" Fitted to the {searched:,} rows of the search." if searched < n_rows else ""
        return self.gallery.hang(part, axes, title, more=more)

    def variable(self, found: VariableFinding, place: int) -> VariableFinding:
        """Draw a variable in the model, the others as in a typical row; or alone."""
        column = self.question.names.index(found.variable.name)
        model = self.result.search.best_candidate_
        if not found.in_model:
            model = self.result.search.history_.best_by_column[column]
        columns = list(model.columns)
        function = self.view.function(model, columns)
        axes = self.view.draw(function, columns, shown=[column])
        title = f"{self._answer()} along {found.variable.name}"
        points = self.view.points(columns, MOST_MARKS[1])
        line = line_in_band(function, points, columns.index(column))
        more = ""
        if line is not None and line.rows != "few" and self._follows_a_line(found):
            heights = line.heights
            if not self.question.is_number:
                heights = positive_probability(Latent(heights, 0 * heights), plug_in=True)
            axes.plot(line.grid, heights, color=VERMILION, linewidth=2.2, linestyle=(0, (1, 1.6)))
            more = " Dotted: a straight line within the band."
        name = self.hang(f"variable-{place + 1}", axes, title, more=more)
        return replace(found, line="" if line is None else line.rows, picture=name)

    def _follows_a_line(self, found: VariableFinding) -> bool:
        structures = self.question.structures
        claims = () if structures is None else structures.claims(self.question.target)
        return any(
            one.kind == "shape" and one.shape == "linear" and one.probability >= SUGGESTED
            for one in claims
            if one.variables == (found.variable.column,)
        )

    def interaction(self, found: InteractionFinding, place: int) -> InteractionFinding:
        best = self.result.search.best_candidate_
        columns = list(best.columns)
        pair = [self.question.names.index(name) for name in found.variables[:2]]
        axes = self.view.draw(self.view.function(best, columns), columns, shown=pair)
        title = f"{self._answer()} by {listed(found.variables[:2])} together"
        return replace(found, picture=self.hang(f"interaction-{place + 1}", axes, title))

    def _answer(self) -> str:
        """Return what such a figure shows."""
        question = self.question
        if question.is_number:
            return f"Predicted {question.target}"
        return f"Probability of {question.positive}"
