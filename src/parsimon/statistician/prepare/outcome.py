"""What is asked of a table: the target as classes or as a number.

Classes may be too small to ask for; of two, one is the positive.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from parsimon._checks import shorten
from parsimon._data import (
    FEWEST_ROWS_OF_CLASS,
    MOST_NUMBERED_CLASSES,
    holds_classes,
    refuse_scale,
)
from parsimon._typing import AnyArray, Array, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import Task, Treatment
from parsimon.statistician.prepare.cells import (
    Cells,
    ReadNumbers,
    affirmative,
    is_number,
    number_treatments,
    numbers_of,
    read_cells,
    read_numbers,
    write_cell,
)
from parsimon.statistician.prepare.frames import as_frame, find_column
from parsimon.statistician.prepare.orders import sort_labels

if TYPE_CHECKING:
    import pandas as pd

MOST_CLASSES = 20


def find_class(name: str, counts: Mapping[str, int], wanted: str) -> str:
    """Return the class that is meant, whatever its case, or say which there are."""
    alike = [label for label in counts if label.casefold() == wanted.casefold()]
    if wanted in counts or len(alike) == 1:
        return wanted if wanted in counts else alike[0]
    raise InvalidInputError(
        f"The positive class {wanted!r} is not among the classes of {name!r}: "
        f"{shorten(sort_labels(list(counts)), 12)}."
    )


def rare_classes(name: str, counts: Mapping[str, int]) -> list[str]:
    """Return those of three or more classes that have too few rows."""
    if len(counts) > MOST_CLASSES:
        raise InvalidInputError(
            f"The target {name!r} has {len(counts)} classes, more than {MOST_CLASSES}: it looks "
            "like an identifier or a number. Choose another target, or name the positive class."
        )
    rare = [label for label in counts if counts[label] < FEWEST_ROWS_OF_CLASS]
    if len(counts) - len(rare) < 2:
        raise InvalidInputError(
            f"The target {name!r} has {len(counts)} classes, but {len(counts) - len(rare)} of them "
            f"with at least {FEWEST_ROWS_OF_CLASS} rows; two such classes are needed."
        )
    return rare


def check_class_sizes(name: str, counts: Mapping[str, int], asked: str = "") -> None:
    """Refuse one class alone and a class with a single row."""
    if len(counts) == 1:
        raise InvalidInputError(
            f"The target {name!r} has only one class, {next(iter(counts))!r}; two are needed."
        )
    n_rest = sum(counts.values()) - counts.get(asked, 0)
    sizes = {asked: counts[asked], "the rest": n_rest} if asked and len(counts) > 2 else counts
    for label, count in sizes.items():
        if count < 2:
            raise InvalidInputError(
                f"The class {label!r} of the target {name!r} has only {count} row; at least 2 are "
                "needed in each class."
            )


def order_classes(counts: Mapping[str, int], asked: str = "") -> tuple[str, ...]:
    """Return the classes sorted; of two, the positive one last.

    It is the one that was asked for, the one that says yes, the rarer one, or the second in order,
    whichever applies first.
    """
    classes = sort_labels(list(counts))
    if len(classes) != 2:
        return classes
    first, second = classes
    positive = asked or affirmative(classes)
    if not positive:
        positive = first if counts[first] < counts[second] else second
    return (second, first) if positive == first else (first, second)


FEWEST_ROWS = 5
_NEARLY_ALL = 0.95
# Columns that go together agree oftener than independent ones: ten times so in tables of answers
# on scales (fair, affairs), while rows entered twice are beyond this.
_BEYOND_CHANCE = 20


@dataclass(frozen=True, eq=False, kw_only=True)
class TargetColumn:
    """The target of a table.

    values (n_kept,): Places in `classes`, or numbers.
    classes: Sorted; of two, the negative one first. Empty for a number.
    kept (n,): True for the rows of the table that are used.
    treatments: What was done to rows.
    positive: The class that was asked for; empty if none was.
    """

    task: Task
    values: AnyArray
    classes: tuple[str, ...]
    kept: Mask
    treatments: tuple[Treatment, ...] = ()
    positive: str = ""

    @property
    def questions(self) -> tuple[int, ...]:
        """Places in `classes` of those to ask about, each against the rest; none for a number."""
        if self.positive:
            return (self.classes.index(self.positive),)
        return (1,) if len(self.classes) == 2 else tuple(range(len(self.classes)))


def read_outcome(
    table: Any,
    target: str,
    *,
    positive: Any = None,
    task: Literal["auto", "classification", "regression"] = "auto",
) -> TargetColumn:
    """Return the target of a table.

    Text, truth values, categories and two distinct numbers are classes, and so are whole numbers
    with at most ten distinct values if there are three rows for each; other numbers are a number.

    Shapes: table (n, d).
    """
    if task not in ("auto", "classification", "regression"):
        raise InvalidInputError(
            f"task must be 'auto', 'classification' or 'regression', got {task!r}."
        )
    frame = as_frame(table)
    column, name = find_column(frame, target)
    if positive is not None and task == "regression":
        raise InvalidInputError(
            f"The positive class {positive!r} was given for a number; choose classification."
        )
    cells, numbers = _read(column)
    if task == "auto":
        task = "regression" if positive is None and _is_quantity(numbers) else "classification"
    if task == "regression":
        return _as_number(frame, name, numbers)
    return _as_classes(frame, name, cells or read_cells(column), positive)


def _read(column: "pd.Series[Any]") -> tuple[Cells | None, ReadNumbers | None]:
    """Return the labels (None if not needed yet) and the numbers (None if it holds none)."""
    import pandas as pd

    if is_number(column):
        return None, read_numbers(column)
    cells = read_cells(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return cells, None
    n_cells, numbers = int(cells.counts.sum()), numbers_of(cells)
    readable = n_cells > 0 and n_cells - numbers.n_unread >= _NEARLY_ALL * n_cells
    return cells, numbers if readable else None


def _is_quantity(numbers: ReadNumbers | None) -> bool:
    if numbers is None:
        return False
    present = numbers.values[~np.isnan(numbers.values)]
    return not holds_classes(present)


def _as_number(frame: "pd.DataFrame", name: str, numbers: ReadNumbers | None) -> TargetColumn:
    if numbers is None:
        raise InvalidInputError(
            f"The target {name!r} is not a number; choose classification or another target."
        )
    kept = ~np.isnan(numbers.values)
    treatments = _rows_left_out(name, kept)
    values: Array = numbers.values[kept]
    _check_rows(name, len(values))
    if values.min() == values.max():
        raise InvalidInputError(
            f"The target {name!r} is {values[0]:g} in all {len(values)} rows that have one; "
            "there is nothing to predict."
        )
    refuse_scale(values[:, None], f"The target {name!r}")
    treatments += tuple(number_treatments(name, numbers))
    return TargetColumn(
        task="regression",
        values=values,
        classes=(),
        kept=kept,
        treatments=treatments + _find_repeated(frame, kept),
    )


def _as_classes(frame: "pd.DataFrame", name: str, cells: Cells, positive: Any) -> TargetColumn:
    kept = cells.codes >= 0
    treatments = _rows_left_out(name, kept)
    _check_rows(name, int(kept.sum()))
    counts = dict(zip(cells.labels, cells.counts.tolist(), strict=True))
    asked = "" if positive is None else find_class(name, counts, write_cell(positive))
    # Against one class that was asked for, small classes are part of the rest.
    rare = [] if asked or len(counts) <= 2 else rare_classes(name, counts)
    for label in rare:
        treatments += (
            Treatment(kind="rows_of_rare_class", column=name, count=counts.pop(label), value=label),
        )
        kept &= cells.codes != cells.labels.index(label)
    _check_rows(name, int(kept.sum()))
    check_class_sizes(name, counts, asked)
    classes = order_classes(counts, asked)
    codes = [classes.index(label) if label in counts else -1 for label in cells.labels]
    return TargetColumn(
        task="classification",
        values=cells.spread(codes, -1, np.intp)[kept],
        classes=classes,
        kept=kept,
        treatments=treatments + _find_repeated(frame, kept),
        positive=asked,
    )


def _rows_left_out(name: str, kept: Mask) -> tuple[Treatment, ...]:
    count = int((~kept).sum())
    return (Treatment(kind="rows_without_target", column=name, count=count),) if count else ()


def _find_repeated(frame: "pd.DataFrame", kept: Mask) -> tuple[Treatment, ...]:
    """Say how many rows equal an earlier one in all cells, where that is surprising."""
    if frame.shape[1] < 2:
        return ()
    rows = frame[kept]
    try:
        count = int(rows.duplicated().sum())
    except TypeError:  # lists or the like inside the cells
        rows = rows.astype(str)
        count = int(rows.duplicated().sum())
    surprising = count and _agree_seldom(rows, count)
    return (Treatment(kind="rows_duplicated", count=count),) if surprising else ()


def _agree_seldom(rows: "pd.DataFrame", count: int) -> bool:
    """Return whether different cases would agree in far fewer rows than repeat each other.

    Cases that are described by a few levels agree by chance: if columns were independent, a pair
    of rows would with the product of the chances that each column agrees.
    """
    levels = [column.value_counts(dropna=False).to_numpy() for _, column in rows.items()]
    n = len(rows)
    alike = math.prod(float(np.sum((n_rows / n) ** 2)) for n_rows in levels)
    fine = max(map(len, levels)) > MOST_NUMBERED_CLASSES
    return fine and count > _BEYOND_CHANCE * alike * n * (n - 1) / 2


def _check_rows(name: str, count: int) -> None:
    if not count:
        raise InvalidInputError(f"The target {name!r} is missing in every row; choose another.")
    if count < FEWEST_ROWS:
        raise InvalidInputError(
            f"Only {count} rows can be used with the target {name!r}; at least {FEWEST_ROWS} are "
            "needed."
        )
