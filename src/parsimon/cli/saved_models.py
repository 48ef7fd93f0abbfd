"""A saved model and new rows: loading it, and what is to be said about cells it has not seen."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parsimon.cli.sources import find_source, series_source
from parsimon.exceptions import InvalidInputError, ParsimonError

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.statistician.fitted_series import SeriesTableModel
    from parsimon.statistician.table_model import TableModel
    from parsimon.statistician.trait_model import TraitModel


def table_model(path: Path) -> "TableModel | TraitModel | SeriesTableModel":
    """Load a model of tables, or say what the file holds instead."""
    from parsimon.statistician.saving import load_model

    model: Any = load_model(path)
    # Those of a table, a trait or series; the latter two are not loaded without need.
    if not hasattr(model, "treatments_of"):
        raise InvalidInputError(
            f"{path} holds a {type(model).__name__}, which takes numbers, not tables; "
            "load it with parsimon.statistician.load_model."
        )
    return model


def new_rows(model: Any, table: str) -> "pd.DataFrame":
    """Return the rows that a model is to look at; files of series may have no header."""
    if hasattr(model, "cases") and not model.columns.has_header:
        bare = series_source(table, len(model.columns.values))
        if bare is not None:
            return bare.frame
    return find_source(table).frame


@contextmanager
def fitting_parts(path: Path) -> Iterator[None]:
    """Turn what a model raises that someone has put together wrongly into a sentence."""
    try:
        yield
    except ParsimonError:
        raise
    # LAPACK's wrapper has an exception of its own.
    except Exception as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise InvalidInputError(
            f"The model {path} cannot be used, since its parts do not fit together ({reason}); "
            "save it again."
        ) from error


def remarks(model: Any, frame: "pd.DataFrame") -> Iterator[str]:
    """Yield what is to be known about cells that the model has not seen the like of."""
    from parsimon.report.sections.table.treatments import treatment_sentences

    for one in model.outside(frame):
        cells, lie = ("1 cell", "lies") if one.count == 1 else (f"{one.count} cells", "lie")
        yield (
            f"{cells} of {one.column!r} {lie} outside {one.low} to {one.high}, all that the model "
            "has seen."
        )
    yield from treatment_sentences(model.treatments_of(frame))
