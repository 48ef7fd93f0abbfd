"""From a table as it comes to finite numbers, by rules that were learnt from the fitted rows.

Which columns of a table are used, as what, and under which names.

Variables that are equal in every row, and variables that never vary.
"""

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import shorten
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import Treatment
from parsimon.statistician.prepare.recipes import Recipe, VariableSource
from parsimon.statistician.prepare.recognition import recognise
from parsimon.statistician.prepare.tables import named_frame, unused

if TYPE_CHECKING:
    import pandas as pd


class Duplicates:
    """Remembers variables by their values, so that an equal one is found whichever came first."""

    def __init__(self) -> None:
        self._seen: dict[bytes, VariableSource] = {}

    def kept(
        self, variables: tuple[VariableSource, ...], values: Array
    ) -> tuple[tuple[int, ...], tuple[Treatment, ...]]:
        """Return the places of variables that are new and vary, and what is said of the others.

        Shapes: values (n, k).
        """
        kept: list[int] = []
        equal: list[tuple[VariableSource, VariableSource]] = []
        for place, variable in enumerate(variables):
            column = values[:, place]
            if column.min() == column.max():
                continue
            first = self._seen.setdefault(_digest(column), variable)
            if first is variable:
                kept.append(place)
            else:
                equal.append((variable, first))
        return tuple(kept), _said(equal, whole=not kept)


def _digest(values: Array) -> bytes:
    # Adding zero makes -0.0 equal to 0.0 in its bytes too.
    return blake2b((values + 0.0).tobytes(), digest_size=16).digest()


def _said(
    equal: list[tuple[VariableSource, VariableSource]], *, whole: bool
) -> tuple[Treatment, ...]:
    """Name the columns if one repeats another altogether, else the variables."""
    columns = {first.column for _, first in equal}
    if whole and len(columns) == 1:
        pairs = [(equal[0][0].column, columns.pop())]
    else:
        pairs = [(variable.name, first.name) for variable, first in equal]
    return tuple(
        Treatment(kind="column_duplicate", column=name, value=other) for name, other in pairs
    )


_WHY = {
    "column_constant": "the same in every row",
    "column_empty": "empty",
    "column_identifier": "different in every row",
    "column_ambiguous_date": "dates whose day and month cannot be told apart",
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What becomes of a table.

    recipes: One for each column that is used.
    kept: For each recipe the places of its variables that are used.
    variables: All that are used, under names of their own.
    """

    recipes: tuple[Recipe, ...]
    kept: tuple[tuple[int, ...], ...]
    variables: tuple[VariableSource, ...]
    treatments: tuple[Treatment, ...]


def plan_columns(frame: "pd.DataFrame", *, most_levels: int = 8) -> Plan:
    """Return what becomes of each column of a table.

    Shapes: frame (n, d).
    """
    _check_size(frame)
    recipes: list[Recipe] = []
    places: list[tuple[int, ...]] = []
    treatments: list[Treatment] = []
    seen = Duplicates()
    for place, name in enumerate(frame.columns):
        found = recognise(frame.iloc[:, place], str(name), most_levels=most_levels)
        if found.recipe is None:
            treatments += found.treatments
            continue
        kept, equal = seen.kept(found.recipe.variables, found.values)
        # What was done to a column that is then left out is nobody's concern.
        treatments += (*(found.treatments if kept else ()), *equal)
        if kept:
            recipes.append(found.recipe)
            places.append(kept)
    if not recipes:
        raise InvalidInputError(_nothing_left(frame, treatments))
    return Plan(
        recipes=tuple(recipes),
        kept=tuple(places),
        variables=_named(recipes, places),
        treatments=tuple(treatments),
    )


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


def _nothing_left(frame: "pd.DataFrame", treatments: list[Treatment]) -> str:
    reasons = [f"{one.column!r} is {_WHY[one.kind]}" for one in treatments if one.kind in _WHY]
    return (
        f"No column is left to learn from in {len(frame)} rows: {shorten(reasons, 6)}. "
        "Add a column that varies and repeats."
    )


def _named(recipes: list[Recipe], places: list[tuple[int, ...]]) -> tuple[VariableSource, ...]:
    taken: set[str] = set()
    result = []
    for recipe, kept in zip(recipes, places, strict=True):
        variables = recipe.variables
        for place in kept:
            own = replace(variables[place], name=unused(variables[place].name, taken))
            taken.add(own.name)
            result.append(own)
    return tuple(result)


_FEWEST_LEVELS = 3


class Preparer(TransformerMixin, BaseEstimator):
    """Turns a table of any columns into finite numbers and says what it did.

    =====================  =====================================================================
    numbers                as they are; missing and infinite cells get the median of the fitted
                           rows, and a 0/1 variable says where if 5 % and five or more are missing
    numbers as text        read if at least 95 % of the cells can be: "1,200", "3.5 ", "12%"
    truth values, two      one 0/1 variable; 1 is the yes, else the second in order
    levels
    more levels            one 0/1 variable for each; beyond `most_levels`, for the commonest and
                           one for all others. Missing cells are a level of their own
    dates                  days since the first; text in a format that says what is the month
    identifiers, constant, left out
    empty and equal
    columns
    =====================  =====================================================================

    most_levels: Variables for a category, at least 3.

    variables_: Name, column and kind of each output.
    treatments_: What was done, in the order of the table's columns.
    recipes_: One for each column that is used.
    feature_names_in_: Of all columns, cleaned.
    """

    def __init__(self, *, most_levels: int = 8) -> None:
        self.most_levels = most_levels

    def fit(self, table: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn from these rows what each column is.

        Shapes: table (n, d).
        """
        if self.most_levels < _FEWEST_LEVELS:
            raise InvalidInputError(
                f"most_levels must be at least {_FEWEST_LEVELS}, got {self.most_levels}."
            )
        frame = named_frame(table)
        plan = plan_columns(frame, most_levels=self.most_levels)
        self.n_features_in_ = frame.shape[1]
        self.feature_names_in_ = np.array(frame.columns, dtype=object)
        self.recipes_ = plan.recipes
        self.kept_ = plan.kept
        self.variables_ = plan.variables
        self.treatments_ = plan.treatments
        return self

    def transform(self, table: Any) -> "pd.DataFrame":
        """Return the numbers of a table with the same columns, in any order.

        Shapes: table (n, d) -> (n, n_variables).
        """
        import pandas as pd

        check_is_fitted(self, "recipes_")
        frame = self._columns_of(table)
        matrix = np.empty((len(frame), len(self.variables_)), order="F")
        at = 0
        for recipe, kept in zip(self.recipes_, self.kept_, strict=True):
            matrix[:, at : at + len(kept)] = recipe.encode(frame[recipe.column]).values[:, kept]
            at += len(kept)
        names = [variable.name for variable in self.variables_]
        return pd.DataFrame(matrix, columns=names, index=frame.index)

    def treatments_of(self, table: Any) -> tuple[Treatment, ...]:
        """Return what `transform` does to the cells of another table.

        "cells_filled" counts cells of a number that were missing or not a number,
        "missing_level" those of a category, "unseen_levels" cells with a level that no fitted row
        had.
        """
        check_is_fitted(self, "recipes_")
        frame = self._columns_of(table)
        return tuple(
            treatment
            for recipe in self.recipes_
            for treatment in recipe.treatments(recipe.encode(frame[recipe.column]))
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
        missing = [repr(one.column) for one in self.recipes_ if one.column not in there]
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
