"""The table that was read: what it holds and what was done to it."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Task: TypeAlias = Literal["classification", "regression"]

TreatmentKind: TypeAlias = Literal[
    "rows_without_target",  # rows left out, `count`
    "rows_of_rare_class",  # rows left out because their class is too small, `value`: the class
    "rows_duplicated",  # equal rows that stay, `count`
    "cells_filled",  # missing cells of a number filled with `value`
    "missing_indicated",  # a further 0/1 variable says where cells were missing
    "missing_level",  # missing cells of a category are a level of their own
    "infinite_cells",  # infinite cells taken as missing
    "text_numbers",  # numbers that were written as text, such as "1,200"
    "column_boolean",  # 0/1; `value`: what 1 means
    "column_category",  # one 0/1 variable for each level; `value`: the level without one
    "rare_levels",  # levels put together as "other", `count` of them
    "column_date",  # days since the first date, `value`
    "column_ambiguous_date",  # left out: day and month cannot be told apart, `value`: a cell
    "column_constant",  # left out
    "column_empty",  # left out
    "column_duplicate",  # left out; `value`: the column that it equals
    "column_identifier",  # left out: text or whole numbers that are different in every row
    "unseen_levels",  # of new rows: `count` cells of a new level, taken as `value`
    "columns_screened",  # only `count` of many variables were searched
    "rows_sampled",  # the search used `count` rows, the final fit all
    "suspicious_value",  # `value` stands in `count` rows of a column, far from the others
]


@dataclass(frozen=True, kw_only=True)
class Treatment:
    """One thing that was done to the table before the search; `kind` says what."""

    kind: TreatmentKind
    column: str = ""
    count: int = 0
    value: str = ""


@dataclass(frozen=True, kw_only=True)
class Variable:
    """A numeric input of the search, as the rows that were used have it.

    `column` is the column of the table that it comes from; for a number the two names are equal.
    """

    name: str
    column: str
    kind: Literal["number", "indicator", "date"] = "number"
    minimum: float
    maximum: float
    mean: float
    deviation: float


@dataclass(frozen=True, kw_only=True)
class TableFindings:
    """The table: what it holds and what was done to it."""

    name: str
    n_rows: int
    n_rows_used: int
    n_columns: int
    n_missing: int
    target: str
    task: Task
    classes: tuple[tuple[str, int], ...] = ()
    variables: tuple[Variable, ...] = ()
    treatments: tuple[Treatment, ...] = ()
    picture: str = ""
