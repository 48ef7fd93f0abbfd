"""How the target goes with what is claimed: curves, levels and surfaces, and which way they go.

All of it comes from the posterior over structures that the claims are made of, so that words and
pictures cannot disagree. `effect_findings` is the whole.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, ndtri

from parsimon._typing import Array, Indices
from parsimon.report.figures import ClassRows, NumberRows, label
from parsimon.report.figures.levels import LevelMeans, level_means
from parsimon.report.findings import Picture
from parsimon.report.findings.shared_findings import EffectFinding, Interval, LevelFinding, Way
from parsimon.roc.intervals import wilson_bounds
from parsimon.statistician.families.family import Question
from parsimon.statistician.gallery import Gallery, draw_function
from parsimon.statistician.measure import CONFIDENCE, written
from parsimon.statistician.study import list_names
from parsimon.structures import Claim, Effects, LevelRows, StructurePosterior

if TYPE_CHECKING:
    from parsimon.statistician.prepare import Preparer

# Marks of a panel: beyond these a picture of a page weighs too much.
_MOST_MARKS = 400
# Levels of a category that are drawn, the commonest.
_MOST_LEVELS = 20
_MOST_PICTURES = 12
# What a direction, and a turn, need.
_SURE = 0.95
# Keeps these draws apart from all others.
_DRAWS = int.from_bytes(b"draw", "big")
# The curve levels off beyond the rows, so that a turn must lie among them.
_OUTER_ROWS = 0.05
# Quantiles that stand for the rows.
_N_PLACES = 100
# Share of its range by which a function must both rise and fall to turn.
_RELEVANT = 0.2
_NORMAL = float(ndtri((1 + CONFIDENCE) / 2))
_TYPICAL = " All else is as on average over the rows."


def effect_findings(
    question: Question, preparer: "Preparer"
) -> tuple[tuple[EffectFinding, ...], tuple[Picture, ...]]:
    """Return how the target goes with each column and interaction that is claimed, and pictures.

    Where nothing is claimed, the most probable column is looked at all the same.

    question: With all numbers that the preparer makes of its table, and with structures of them.
    """
    structures = question.structures
    if structures is None:
        return (), ()
    view = _View(question, structures, preparer)
    gallery = Gallery(question.key)
    claims = structures.claims(question.target)
    found = [view.of_column(name, claims) for name in _columns(structures, claims)]
    found += [EffectFinding(columns=one.variables) for one in claims if one.kind == "interaction"]
    for place, one in enumerate(found[:_MOST_PICTURES]):
        # What acts with others alone is flat by itself.
        if view.has(one.columns) and one.way != "joined":
            picture = view.hang(one.columns, f"effect-{place + 1}", gallery)
            found[place] = replace(one, picture=picture)
    return tuple(found), tuple(gallery.pictures)


def _columns(structures: StructurePosterior, claims: Sequence[Claim]) -> list[str]:
    """Return the columns that are claimed, alone or in a set; the most probable without any."""
    said = [one for one in claims if one.kind in ("variable", "set")]
    names = list(dict.fromkeys(name for one in said for name in one.variables))
    return names or [structures.names[int(np.argmax(structures.variables))]]


def _direction(found: EffectFinding, otherwise: Way) -> Way:
    if max(found.rising, found.falling) < _SURE:
        return otherwise
    return "rising" if found.rising > found.falling else "falling"


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of the table as a figure draws it, and as the structures take what is drawn.

    drawn (n,): The number, or 0 and 1; codes of a category of more levels.
    places: Of a level's code or of 0 and 1 the row that stands for it; empty for a number.
    """

    name: str
    title: str
    place: int
    drawn: Array
    places: Indices
    values: Any
    number: int = 0

    @property
    def is_category(self) -> bool:
        """Whether it has more levels than two."""
        return len(self.places) > 2

    @property
    def commonest(self) -> Indices:
        """Codes of the levels that are shown."""
        counts = np.bincount(self.drawn.astype(np.intp))
        return np.sort(np.argsort(-counts, kind="stable")[:_MOST_LEVELS])

    def at(self, drawn: Array) -> Any:
        """Return values of the variable where a figure draws them."""
        if len(self.places):
            return _rows_of(self.values, self.places[drawn.astype(np.intp)])
        columns = np.zeros((len(drawn), self.values.shape[1]))
        columns[:, self.number] = drawn
        return columns


def _rows_of(values: Any, rows: Indices) -> Any:
    if isinstance(values, LevelRows):
        return values._replace(codes=values.codes[rows], places=None)
    return values[rows]


@dataclass(frozen=True, eq=False)
class _View:
    """Looks at the effects of columns of a question's table."""

    question: Question
    structures: StructurePosterior
    preparer: "Preparer"

    @property
    def effects(self) -> Effects:
        """Averaged over the structures."""
        return self.structures.effects

    @cached_property
    def _values(self) -> Mapping[int, Any]:
        names = self.structures.names
        levels = {
            names.index(name): own
            for name, own in self.preparer.level_rows(self.question.table).items()
            if name in names
        }
        return self.structures.values_of(self.question.X.to_numpy(), levels)

    def has(self, columns: Sequence[str]) -> bool:
        """Return whether the effects of columns are known."""
        return all(self.structures.names.index(one) in self._values for one in columns)

    def column(self, name: str) -> _Column:
        """Return a column as it is drawn."""
        place = self.structures.names.index(name)
        values = self._values[place]
        own = [one for one in self.preparer.variables_ if one.column == name]
        numbers = [k for k, one in enumerate(own) if one.kind != "indicator"]
        is_levels = isinstance(values, LevelRows) or (not numbers and values.shape[1] > 1)
        if is_levels:
            cells = self.question.table[name]
            levels = {cell: written(cell) for cell in cells.unique().tolist()}
            _, first, codes = np.unique(
                cells.map(levels).to_numpy(), return_index=True, return_inverse=True
            )
            return _Column(name, label(name), place, codes.astype(np.float64), first, values)
        kind = own[numbers[0]].kind if numbers else "indicator"
        title = name
        if kind == "date":
            title = f"{label(name, 18)} (days since the first)"
        elif kind == "indicator" and own:
            title = own[0].name
        drawn = values[:, numbers[0] if numbers else 0]
        return _Column(name, title, place, drawn, np.empty(0, np.intp), values, (numbers or [0])[0])

    def of_column(self, name: str, claims: Sequence[Claim]) -> EffectFinding:
        """Return which way the target goes with a column."""
        if not self.has([name]):
            return EffectFinding(columns=(name,))
        column = self.column(name)
        if column.is_category:
            return EffectFinding(columns=(name,), levels=tuple(self._observed(column)))
        shape = next(
            (one.shape for one in claims if one.kind == "shape" and one.variables == (name,)), ""
        )
        places, counts = quantiles(column.drawn)
        rising, falling = self.effects.signs(
            {column.place: column.at(places)}, slope_weights(counts)
        )
        found = EffectFinding(columns=(name,), rising=rising, falling=falling)
        if any(one.kind == "interaction" and name in one.variables for one in claims):
            # On average over the others, if there is a direction at all.
            return replace(found, way=_direction(found, "joined"))
        if shape == "linear":
            return replace(found, way="linear", slope=self._slope(column))
        if shape == "periodic":
            return replace(found, way="periodic", period=self._period(column))
        return self._with_turns(column, found)

    def _slope(self, column: _Column) -> float:
        ends = np.array([column.drawn.min(), column.drawn.max()])
        low, high = self.effects.effect({column.place: column.at(ends)}).mean
        return float(high - low) / float(np.ptp(ends))

    def _period(self, column: _Column) -> float:
        terms: Any = self.effects.variables[column.place]
        return float(terms.period * terms.units[column.number])

    def _with_turns(self, column: _Column, found: EffectFinding) -> EffectFinding:
        places = quantiles(column.drawn)[0]
        low, high = judged_part(column.drawn)
        inner = places[(places >= low) & (places <= high)]
        turning = 0.0
        if len(inner) > 2:
            rng = np.random.default_rng([_DRAWS, column.place])
            paths = self.effects.draws({column.place: column.at(inner)}, rng)
            turning = turning_share(paths if self.question.is_number else expit(paths))
            found = replace(found, turning=turning, judged_between=(low, high))
        return replace(found, way="turning" if turning >= _SURE else _direction(found, "unclear"))

    def hang(self, names: Sequence[str], part: str, gallery: Gallery) -> str:
        """Draw the effect of columns together, and keep the picture."""
        columns = [self.column(name) for name in names]
        answer = f"Probability of {self.question.positive}"
        if self.question.is_number:
            answer = f"Predicted {self.question.target}"
        if len(columns) == 1 and columns[0].is_category:
            axes = self._draw_levels(columns[0])
            title = f"{answer} at the levels of {names[0]}"
            return gallery.hang(part, axes, title, more=_TYPICAL)
        columns = [self._as_two(one) if one.is_category else one for one in columns]
        axes = draw_function(self._function(columns), self._rows(columns))
        title = f"{answer} along {names[0]}"
        if len(names) > 1:
            title = f"{answer} by {list_names(names)} together"
        return gallery.hang(part, axes, title, more=_TYPICAL)

    def _function(self, columns: Sequence[_Column]) -> Any:
        def asked(rows: Array) -> tuple[Array, Array]:
            values = {one.place: one.at(rows[:, k]) for k, one in enumerate(columns)}
            found = self.effects.outcome(values)
            return found.mean, found.deviation**2

        return asked

    def _rows(self, columns: Sequence[_Column]) -> ClassRows | NumberRows:
        question = self.question
        X = np.column_stack([one.drawn for one in columns])
        titles = [one.title for one in columns]
        if question.is_number:
            return NumberRows(
                X, question.y, names=titles, target=question.target, most_marks=_MOST_MARKS
            )
        classes = [question.negative, question.positive]
        return ClassRows(X, question.y, names=titles, class_names=classes, most_marks=_MOST_MARKS)

    def _as_two(self, column: _Column) -> _Column:
        """Return a category as one level against the commonest other one.

        The level whose effect differs most from it; what interacts has a curve for each.
        """
        counts = np.bincount(column.drawn.astype(np.intp))
        usual = int(np.argmax(counts))
        effect = self.effects.effect({column.place: _rows_of(column.values, column.places)})
        often = counts >= max(5, 0.05 * counts.sum())
        often[usual] = False
        off = np.where(often, np.abs(effect.mean - effect.mean[usual]), -1.0)
        level = int(np.argmax(off))
        return replace(
            column,
            title=f"{column.name} = {self._cell(column, level)}",
            drawn=(column.drawn == level).astype(np.float64),
            places=column.places[[usual, level]],
        )

    def _observed(self, column: _Column) -> Iterator[LevelFinding]:
        """Yield what was observed at the commonest levels of a category."""
        y, codes = np.asarray(self.question.y, dtype=np.float64), column.drawn.astype(np.intp)
        for code in column.commonest.tolist():
            own = y[codes == code]
            mean, n = float(own.mean()), len(own)
            if self.question.is_number:
                reach = _NORMAL * float(own.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
                low, high = mean - reach, mean + reach
            else:
                low, high = (
                    float(end[0]) for end in wilson_bounds(np.array([mean]), n, CONFIDENCE)
                )
            value = Interval(estimate=mean, low=low, high=high, confidence=CONFIDENCE)
            yield LevelFinding(level=self._cell(column, code), n_rows=n, value=value)

    def _cell(self, column: _Column, code: int) -> str:
        return written(self.question.table[column.name].iloc[column.places[code]])

    def _draw_levels(self, column: _Column) -> Any:
        """Draw the commonest levels of a category."""
        question, shown = self.question, column.commonest
        found = self.effects.outcome({column.place: _rows_of(column.values, column.places[shown])})
        means, low, high = found.mean, found.low, found.high
        if not question.is_number:
            means, low, high = expit(means), expit(low), expit(high)
        observed = list(self._observed(column))
        return level_means(
            LevelMeans(
                [one.level for one in observed],
                [one.n_rows for one in observed],
                means,
                low,
                high,
                observed=np.array([one.value.estimate for one in observed]),
            ),
            column=column.name,
            outcome=question.target if question.is_number else question.positive,
            overall=float(np.mean(question.y)),
            is_share=not question.is_number,
        )


def judged_part(values: Array) -> tuple[float, float]:
    """Return the ends of the part of a column's rows in which turns are looked for."""
    low, high = np.quantile(values, [_OUTER_ROWS, 1 - _OUTER_ROWS], method="nearest")
    return float(low), float(high)


def quantiles(values: Array) -> tuple[Array, Indices]:
    """Return distinct values of rows that stand for all of them, and how many they stand for."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= _N_PLACES:
        return distinct, counts
    shares = (np.arange(_N_PLACES) + 0.5) / _N_PLACES
    return np.unique(np.quantile(values, shares, method="nearest"), return_counts=True)


def slope_weights(counts: Indices) -> Array:
    """Return weights w so that w @ f is a positive multiple of the slope of f over ranks.

    The ranks of the rows, those at one place sharing their mean, less the mean rank: what the
    function does where the rows are, so that no outlying value decides.

    Shapes: counts (m,), rows at each of the increasing places.
    """
    ranks = np.cumsum(counts) - counts / 2
    return counts * (ranks - counts.sum() / 2)


def turning_share(paths: Array) -> float:
    """Return the share of drawn functions that turn as their mean does.

    Where the mean rises most from one place to a later one, and where it falls most, a draw must
    rise, and fall, by a fifth of its range. The places are the same for all draws: each draw of a
    rough function turns somewhere, and that is no turn that the rows show.

    Shapes: paths (n_draws, m), probabilities or numbers at increasing places.
    """
    mean = paths.mean(axis=0)
    differences = np.triu(mean - mean[:, None])
    before, after = np.unravel_index(differences.argmax(), differences.shape)
    above, below = np.unravel_index(differences.argmin(), differences.shape)
    rise, fall = paths[:, after] - paths[:, before], paths[:, above] - paths[:, below]
    least = _RELEVANT * np.ptp(paths, axis=1)
    return float(np.mean((np.minimum(rise, fall) >= least) & (least > 0)))
