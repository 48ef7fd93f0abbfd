"""Which columns of a table are used, as what, and under which names."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from parsimon._checks import shorten
from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import Treatment
from parsimon.statistician.preparing.columns import VariableSource
from parsimon.statistician.preparing.duplicates import Duplicates
from parsimon.statistician.preparing.recipes import Recipe
from parsimon.statistician.preparing.recognition import recognise
from parsimon.statistician.preparing.tables import unused

if TYPE_CHECKING:
    import pandas as pd

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
