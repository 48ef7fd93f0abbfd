"""From a table as it comes to finite numbers, by rules that were learnt from the fitted rows.

`Preparer` decides which columns are used, as what and under which names, and leaves out variables
that are equal or never vary; `Screener` keeps those that say most about the target, each alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import shorten
from parsimon._data import validate_data
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import Task, Treatment
from parsimon.statistician.prepare.frames import named_frame, unused
from parsimon.statistician.prepare.recipes import (
    MOST_ROWS,
    MOST_VARIABLES,
    LevelsColumn,
    NumberColumn,
    Recipe,
    RowFilling,
    VariableSource,
)
from parsimon.statistician.prepare.recognition import recognise
from parsimon.structures import LevelRows

if TYPE_CHECKING:
    import pandas as pd


def _new_variables(
    variables: tuple[VariableSource, ...], values: Array, known: dict[bytes, VariableSource]
) -> tuple[tuple[int, ...], tuple[Treatment, ...]]:
    """Return the places of variables that vary and equal none before, and what is said of others.

    The new ones join the `known`. Shapes: values (n, k).
    """
    kept: list[int] = []
    equal: list[tuple[VariableSource, VariableSource]] = []
    for place, variable in enumerate(variables):
        column = values[:, place]
        if np.nanmin(column) == np.nanmax(column):
            continue
        first = known.setdefault(_digest(column), variable)
        if first is variable:
            kept.append(place)
        else:
            equal.append((variable, first))
    pairs = [(variable.name, first.name) for variable, first in equal]
    columns = {first.column for _, first in equal}
    if not kept and len(columns) == 1:
        # One column repeats another altogether.
        pairs = [(equal[0][0].column, columns.pop())]
    return tuple(kept), tuple(
        Treatment(kind="column_duplicate", column=name, value=other) for name, other in pairs
    )


def _digest(values: Array) -> bytes:
    # Adding zero makes -0.0 equal to 0.0 in its bytes too; there are many kinds of NaN.
    plain = np.where(np.isnan(values), np.nan, values + 0.0)
    return blake2b(plain.tobytes(), digest_size=16).digest()


_WHY = {
    "column_constant": "the same in every row",
    "column_empty": "empty",
    "column_identifier": "different in every row",
    "column_names": "text of which most occurs in too few rows",
    "column_rare": "the same in nearly every row",
    "column_ambiguous_date": "dates whose day and month cannot be told apart",
}


def _check_size(frame: "pd.DataFrame") -> None:
    """Refuse a table without rows or columns, in words that scikit-learn's users know too."""
    n_rows, n_columns = frame.shape
    if not n_rows:
        raise InvalidInputError(
            f"The table has no rows: 0 sample(s) (shape={frame.shape}) while a minimum of 2 is "
            "required."
        )
    if not n_columns:
        raise InvalidInputError(
            f"The table has no columns beside the target: 0 feature(s) (shape={frame.shape}) while "
            "a minimum of 1 is required."
        )
    if n_rows == 1:
        raise InvalidInputError("The table has one row (1 sample); at least 2 are needed.")


class Preparer(TransformerMixin, BaseEstimator):
    """Turns a table of any columns into finite numbers and says what it did.

    =====================  =====================================================================
    numbers                as they are; missing and infinite cells get what the other columns of
                           the row predict (`RowFilling`), the median where these predict nothing,
                           and a 0/1 variable says where if 5 % and five or more are missing
    numbers as text        read if at least 95 % of the cells can be: "1,200", "3.5 ", "12%"
    truth values, two      one 0/1 variable; 1 is the yes, else the second in order
    levels
    more levels            one 0/1 variable for each; beyond eight, for the commonest seven and
                           one for all others. Missing cells are a level of their own
    support                a level needs five rows and 1 % of them (of two levels: five rows; in
                           fewer than fifty rows: a tenth of them). Others are put together, and
                           count as the commonest level if they are too few even so
    dates                  days since the first; text in a format that says what is the month
    identifiers, names,    left out; where cells are missing may still say something
    free text
    constant, empty and    left out
    equal columns
    =====================  =====================================================================

    variables_: Name, column and kind of each output.
    treatments_: What was done, in the order of the table's columns.
    recipes_: One for each column that is used.
    filling_: What the other columns say of an empty cell; None for nothing.
    feature_names_in_: Of all columns, cleaned.
    """

    # Earlier files have none.
    filling_: RowFilling | None = None

    def fit(self, table: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn from these rows what each column is.

        Shapes: table (n, d).
        """
        frame = named_frame(table)
        _check_size(frame)
        self.n_features_in_ = frame.shape[1]
        self.feature_names_in_ = np.array(frame.columns, dtype=object)
        treatments = self._choose_recipes(frame)
        self.filling_ = self._learn_filling(frame)
        self.treatments_ = self._without_medians(treatments)
        return self

    def _choose_recipes(self, frame: "pd.DataFrame") -> list[Treatment]:
        """Decide what becomes of each column, and return what is to be said of it."""
        recipes: list[Recipe] = []
        kept: list[tuple[int, ...]] = []
        treatments: list[Treatment] = []
        known: dict[bytes, VariableSource] = {}
        for place, name in enumerate(frame.columns):
            found = recognise(frame.iloc[:, place], str(name))
            if found.recipe is None:
                treatments += found.treatments
                continue
            places, equal = _new_variables(found.recipe.variables, found.values, known)
            # What was done to a column that is then left out is nobody's concern.
            treatments += (*(found.treatments if places else ()), *equal)
            if places:
                recipes.append(found.recipe)
                kept.append(places)
        if not recipes:
            reasons = [
                f"{treatment.column!r} is {_WHY[treatment.kind]}"
                for treatment in treatments
                if treatment.kind in _WHY
            ]
            raise InvalidInputError(
                f"No column is left to learn from in {len(frame)} rows: {shorten(reasons, 6)}. "
                "Add a column that varies and repeats."
            )
        self.recipes_, self.kept_ = tuple(recipes), tuple(kept)
        taken: set[str] = set()
        variables = []
        for recipe, place in self._places:
            source = recipe.variables[place]
            variables.append(replace(source, name=unused(source.name, taken)))
            taken.add(variables[-1].name)
        self.variables_ = tuple(variables)
        return treatments

    def transform(self, table: Any) -> "pd.DataFrame":
        """Return the numbers of a table with the same columns, in any order.

        Shapes: table (n, d) -> (n, n_variables).
        """
        import pandas as pd

        check_is_fitted(self, "recipes_")
        frame = self._columns_of(table)
        names = [variable.name for variable in self.variables_]
        matrix = self._fill(self._matrix(frame))
        return pd.DataFrame(matrix, columns=names, index=frame.index)

    def _matrix(self, frame: "pd.DataFrame") -> Array:
        """Return the variables of a table, NaN in empty cells of numbers and dates."""
        matrix = np.empty((len(frame), len(self.variables_)), order="F")
        at = 0
        for recipe, kept in zip(self.recipes_, self.kept_, strict=True):
            matrix[:, at : at + len(kept)] = recipe.encode(frame[recipe.column]).values[:, kept]
            at += len(kept)
        return matrix

    def _learn_filling(self, frame: "pd.DataFrame") -> RowFilling | None:
        if self._joint.sum() > MOST_VARIABLES:
            return None
        thinned = frame.iloc[:: -(-len(frame) // MOST_ROWS)]
        return RowFilling.learn(self._matrix(thinned)[:, self._joint])

    @property
    def _places(self) -> list[tuple[Recipe, int]]:
        """The recipe of each variable, and its place among those of the recipe."""
        both = zip(self.recipes_, self.kept_, strict=True)
        return [(recipe, place) for recipe, kept in both for place in kept]

    @property
    def _joint(self) -> AnyArray:
        """Which variables speak for empty cells: all but those that say where numbers are empty."""
        return np.array(
            [isinstance(recipe, LevelsColumn) or not place for recipe, place in self._places]
        )

    def _fill(self, matrix: Array) -> Array:
        """Return the variables with something in every cell."""
        if self.filling_ is not None:
            matrix[:, self._joint] = self.filling_.fill(matrix[:, self._joint])
        for column, (recipe, _) in zip(matrix.T, self._places, strict=True):
            if isinstance(recipe, LevelsColumn):
                continue
            column[np.isnan(column)] = recipe.fill
            if isinstance(recipe, NumberColumn) and recipe.binary:
                # Half of a yes is nothing that a table could hold.
                np.round(column, out=column)
        return matrix

    def doubts(self, table: Any) -> dict[str, Array]:
        """Return by what the filled cells of each column may be off; see `RowFilling.doubts`."""
        check_is_fitted(self, "recipes_")
        if self.filling_ is None:
            return {}
        values = self._matrix(self._columns_of(table))[:, self._joint]
        columns = self._joint_columns
        return {columns[place]: off for place, off in self.filling_.doubts(values).items()}

    def level_rows(self, table: Any) -> dict[str, LevelRows]:
        """Return the levels of columns whose variables do not say all of them, or no order."""
        check_is_fitted(self, "recipes_")
        frame = self._columns_of(table)
        return {
            recipe.column: recipe.level_rows(frame[recipe.column])
            for recipe in self.recipes_
            if isinstance(recipe, LevelsColumn)
            and len(recipe.levels) > 1
            and (recipe.other or recipe.order)
        }

    @property
    def _joint_columns(self) -> list[str]:
        both = zip(self._places, self._joint, strict=True)
        return [recipe.column for (recipe, _), joint in both if joint]

    def _without_medians(self, treatments: Iterable[Treatment]) -> tuple[Treatment, ...]:
        """Return treatments without a value where cells are filled from the other columns."""
        if self.filling_ is None:
            return tuple(treatments)
        both = zip(self._joint_columns, self.filling_.explained, strict=True)
        explained = {column for column, told in both if told}
        return tuple(
            replace(treatment, value="")
            if treatment.kind == "cells_filled" and treatment.column in explained
            else treatment
            for treatment in treatments
        )

    def treatments_of(self, table: Any) -> tuple[Treatment, ...]:
        """Return what `transform` does to the cells of another table.

        "cells_filled" counts cells of a number that were missing or not a number,
        "missing_level" those of a category, "unseen_levels" cells with a level that no fitted row
        had.
        """
        check_is_fitted(self, "recipes_")
        frame = self._columns_of(table)
        return self._without_medians(
            treatment
            for recipe in self.recipes_
            for treatment in recipe.encode(frame[recipe.column]).treatments
        )

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:  # noqa: ARG002
        """Return the names of the variables."""
        check_is_fitted(self, "recipes_")
        return np.array([variable.name for variable in self.variables_], dtype=object)

    def _columns_of(self, table: Any) -> "pd.DataFrame":
        frame = named_frame(table)
        if not hasattr(table, "columns"):
            if frame.shape[1] != self.n_features_in_:
                raise InvalidInputError(
                    f"X has {frame.shape[1]} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input."
                )
            return frame.set_axis(list(self.feature_names_in_), axis=1)
        there = set(frame.columns)
        missing = [repr(recipe.column) for recipe in self.recipes_ if recipe.column not in there]
        if missing:
            raise InvalidInputError(
                f"The table lacks {len(missing)} of the {len(self.recipes_)} columns that are "
                f"used: {shorten(missing, 12)}. Add them; cells may be empty."
            )
        return frame

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        # Always a frame of float64.
        tags.transformer_tags.preserves_dtype = []
        return tags


_MOST_GROUPS, _ROWS_IN_GROUP = 8, 8
# Cells worked on at once: fast, and 20,000 columns never need 20,000 copies.
_BLOCK = 2_000_000


class Screener(SelectorMixin, BaseEstimator):
    """Keeps the variables that say most about the target, each alone.

    Scores are those of `dependence`. Up to `most` variables all are kept.

    most: How many to keep.
    task: What the target is.

    kept_: Places of the kept variables, ascending: they stay in the table's order.
    scores_ (d,): Of all variables; about standard normal for one that has nothing to do with
        the target.
    treatments_: One if any variable was left out; `count` were kept of `value`.
    """

    def __init__(
        self, most: int = 20, *, task: Literal["classification", "regression"] = "classification"
    ) -> None:
        self.most = most
        self.task = task

    def fit(self, X: Any, y: Any, always: Sequence[int] = ()) -> Self:
        """Score each variable and choose; those of `always` are kept whatever their scores.

        Shapes: X (n, d), y (n,).
        """
        if self.most < 1:
            raise InvalidInputError(f"most must be at least 1, got {self.most}.")
        if self.task not in ("classification", "regression"):
            raise InvalidInputError(
                f"task must be 'classification' or 'regression', got {self.task!r}."
            )
        numeric = self.task == "regression"
        values, y = validate_data(self, X, y, dtype=np.float64, y_numeric=numeric)
        if not numeric:
            check_classification_targets(y)
        self.scores_ = dependence(values, y, task=self.task)
        wanted = np.isin(np.arange(len(self.scores_)), always)
        ranked = np.lexsort((-self.scores_, ~wanted))
        best = ranked[: max(self.most, int(wanted.sum()))]
        self.kept_ = np.sort(best)
        left_out = len(self.scores_) > len(best)
        screened = Treatment(kind="columns_screened", count=len(best), value=str(len(self.scores_)))
        self.treatments_ = (screened,) if left_out else ()
        return self

    def transform(self, X: Any) -> Any:
        """Return the kept variables; a frame of a frame, an array of an array."""
        check_is_fitted(self, "kept_")
        values = validate_data(self, X, dtype=np.float64, reset=False)
        if hasattr(X, "iloc"):
            return X.iloc[:, self.kept_]
        return values[:, self.kept_]

    def _get_support_mask(self) -> AnyArray:
        """Return which variables are kept, shape (d,)."""
        check_is_fitted(self, "kept_")
        return np.isin(np.arange(len(self.scores_)), self.kept_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def dependence(X: Array, y: AnyArray, *, task: Task = "classification") -> Array:
    """Return for each column how surely it and the target belong together.

    A column is cut at its quantiles into at most eight groups; equal values stay together. Two
    statistics compare the groups: Pearson's chi-squared (for a number: Kruskal and Wallis' H [1]),
    which sees any relation, and the part of it that lies in a trend over the groups, which sees a
    weak slope better. Each becomes a normal deviate by the cube root of Wilson and Hilferty [2],
    so that columns with few and with many groups compare; the greater one is the score.

    Shapes: X (n, d), y (n,) -> (d,).

    [1] Kruskal and Wallis (1952), J. Am. Stat. Assoc. 47:583-621.
    [2] Wilson and Hilferty (1931), Proc. Natl. Acad. Sci. 17:684-688.
    """
    responses = _responses(y, task)
    n, d = X.shape
    width = max(1, _BLOCK // max(n, 1))
    blocks = [_scores(X[:, at : at + width], responses) for at in range(0, d, width)]
    return np.concatenate(blocks) if blocks else np.empty(0)


class _Responses(NamedTuple):
    """The target as centred columns of shape (n, k), their weights, and degrees of freedom."""

    values: Array
    weights: Array
    degrees: int


def _responses(y: AnyArray, task: Task) -> _Responses:
    if task == "regression":
        from scipy.stats import rankdata

        ranks = rankdata(y)
        centred = (ranks - ranks.mean())[:, None]
        variance = max(float(np.mean(centred**2)), np.finfo(float).tiny)
        return _Responses(centred, np.array([1 / variance]), 1)
    classes, codes = np.unique(y, return_inverse=True)
    indicators = (codes[:, None] == np.arange(len(classes))).astype(np.float64)
    shares = indicators.mean(axis=0)
    return _Responses(indicators - shares, 1 / shares, max(len(classes) - 1, 1))


def _scores(X: Array, responses: _Responses) -> Array:
    above = _above_cuts(X)
    n = len(X)
    # Rows and responses above each cut; differences of neighbours are those of each group.
    rows = np.stack([np.full(X.shape[1], float(n)), *(cells.sum(axis=0) for cells in above)])
    sums = np.stack(
        [np.zeros((responses.values.shape[1], X.shape[1]))]
        + [responses.values.T @ cells.astype(np.float64) for cells in above]
    )
    sizes = rows - np.vstack([rows[1:], np.zeros(X.shape[1])])
    totals = sums - np.concatenate([sums[1:], np.zeros_like(sums[:1])])
    squares = np.einsum("gkd,k->gd", totals**2, responses.weights)
    between = (squares / np.maximum(sizes, 1)).sum(axis=0)
    trend = _trend(rows, sums, responses.weights)
    degrees = np.maximum((sizes > 0).sum(axis=0) - 1, 1) * responses.degrees
    shrink = (n - 1) / n
    return np.maximum(
        _normal_deviate(shrink * between, degrees),
        _normal_deviate(shrink * trend, np.full(X.shape[1], responses.degrees)),
    )


def _above_cuts(X: Array) -> list[AnyArray]:
    """Return for each cut which cells are above it, of shape (n, d)."""
    n_groups = int(np.clip(len(X) // _ROWS_IN_GROUP, 2, _MOST_GROUPS))
    places = [len(X) * group // n_groups - 1 for group in range(1, n_groups)]
    places = [max(place, 0) for place in places]
    cuts = np.partition(X, places, axis=0)[places]
    largest = X.max(axis=0)
    # Nothing is above the largest value; where a cut fell on it, cut just below it.
    on_top = np.flatnonzero((cuts == largest).any(axis=0))
    if len(on_top):
        few = X[:, on_top]
        below = np.where(few < largest[on_top], few, -np.inf).max(axis=0)
        cuts[:, on_top] = np.minimum(cuts[:, on_top], below)
    return [cut < X for cut in cuts]


def _trend(rows: Array, sums: Array, weights: Array) -> Array:
    """Return the between-group statistic of a straight line over the groups' numbers.

    The number of a cell's group is how many cuts lie below it, so sums above cuts are moments.
    """
    n = rows[0]
    mean = rows[1:].sum(axis=0) / n
    odd = 2 * np.arange(1, len(rows))[:, None] - 1
    variance = (odd * rows[1:]).sum(axis=0) / n - mean**2
    covariance = sums[1:].sum(axis=0)
    squares = np.einsum("kd,k->d", covariance**2, weights) / n
    return squares / np.where(variance > 1e-12, variance, np.inf)


def _normal_deviate(statistic: Array, degrees: AnyArray) -> Array:
    part = 2 / (9 * degrees)
    return (np.cbrt(statistic / degrees) - (1 - part)) / np.sqrt(part)
