"""`parsimon predict`: a saved model looks at new rows."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from parsimon.cli.printing import give, say
from parsimon.cli.sources import find_source
from parsimon.cli.tables import check_target
from parsimon.exceptions import InvalidInputError, MissingDependencyError, ParsimonError

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
_PARQUET = (".parquet", ".pq")
# What a model raises that someone has put together wrongly.
_UNFIT = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("table")
@click.option("--out", type=click.Path(path_type=Path), help="A file instead of the screen.")
@click.option(
    "--threshold",
    type=float,
    metavar="P",
    help="Least probability at which the positive class is called.  [default: 0.5]",
)
def predict(model: Path, table: str, out: Path | None, threshold: float | None) -> None:
    """Predict the rows of TABLE with MODEL, a file that parsimon report saved.

    The rows are written as CSV with further columns: the class and the probability of each class,
    or the number and its standard deviation. --out writes CSV, TSV or Parquet, by its ending.
    TABLE needs the columns that the model was fitted to; others are kept and not used.

    \b
    Examples:
        parsimon predict pima-model.skops new.csv --out predicted.csv
        parsimon predict pima-model.skops new.csv --threshold 0.2
    """
    check_target(out)
    _check_ending(out)
    fitted = _table_model(model)
    frame = find_source(table).frame
    try:
        found = predictions(fitted, frame, threshold=threshold)
        said = list(remarks(fitted, frame))
    except ParsimonError:
        raise
    except _UNFIT as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise InvalidInputError(
            f"The model {model} cannot be used, since its parts do not fit together ({reason}); "
            "save it again."
        ) from error
    for line in said:
        say(line, err=True)
    _write(_beside(frame, found), out)
    if out is not None:
        say(f"{len(frame)} rows written to {out}.")


def predictions(
    model: Any, frame: "pd.DataFrame", *, threshold: float | None = None
) -> dict[str, Any]:
    """Return the columns to add: the class and all probabilities, or the number and its sd.

    Shapes: frame (m, ...).
    """
    target = model.target
    if not len(model.classes):
        if threshold is not None:
            raise InvalidInputError(f"{target!r} is a number: --threshold is for two classes.")
        return {
            f"predicted {target}": model.predict(frame),
            f"sd of {target}": model.predict_deviation(frame),
        }
    share = model.predict_proba(frame)
    called = np.argmax(share, axis=1)
    if threshold is not None:
        called = (share[:, 1] >= _checked(threshold, model)).astype(int)
    chances = {
        f"probability of {label}": share[:, place] for place, label in enumerate(model.classes_)
    }
    return {f"predicted {target}": model.classes_[called], **chances}


def remarks(model: Any, frame: "pd.DataFrame") -> Iterator[str]:
    """Yield what was done to cells that the model could not take as they are."""
    for one in model.preparer.treatments_of(frame):
        cells = "1 cell" if one.count == 1 else f"{one.count} cells"
        if one.kind == "cells_filled":
            yield f"{cells} of {one.column!r} without a number taken as {one.value}."
        elif one.kind == "missing_level":
            yield f"{cells} of {one.column!r} empty, taken as a level of their own."
        elif one.kind == "unseen_levels":
            yield f"{cells} of {one.column!r} with a level that the model has not seen."


def _checked(threshold: float, model: Any) -> float:
    if len(model.classes) != 2:
        raise InvalidInputError(
            f"--threshold is for two classes, and {model.target!r} has {len(model.classes)}."
        )
    if not 0 <= threshold <= 1:
        raise InvalidInputError(f"--threshold is a probability, 0 to 1; got {threshold:g}.")
    return threshold


def _table_model(path: Path) -> Any:
    from parsimon.statistician.saving import load_model
    from parsimon.statistician.table_model import TableModel

    model = load_model(path)
    if not isinstance(model, TableModel):
        raise InvalidInputError(
            f"{path} holds a {type(model).__name__}, which takes numbers, not tables; "
            "load it with parsimon.statistician.load_model."
        )
    return model


def _beside(frame: "pd.DataFrame", found: dict[str, Any]) -> "pd.DataFrame":
    """Return the table with further columns; none of its own is replaced."""
    from parsimon.statistician.prepare.frames import unused

    taken = {str(name) for name in frame.columns}
    return frame.assign(**{unused(name, taken): values for name, values in found.items()})


def _check_ending(out: Path | None) -> None:
    if out is not None and out.suffix.lower() not in (*_SEPARATORS, *_PARQUET):
        raise InvalidInputError(f"{out} must end in .csv, .tsv or .parquet.")


def _write(frame: "pd.DataFrame", out: Path | None) -> None:
    if out is None:
        give(frame.to_csv(index=False))
        return
    beside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        if out.suffix.lower() in _PARQUET:
            frame.to_parquet(beside, index=False)
        else:
            frame.to_csv(beside, sep=_SEPARATORS[out.suffix.lower()], index=False)
        os.replace(beside, out)
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files need pyarrow; install it with: pip install 'parsimon[parquet]'."
        ) from error
    finally:
        beside.unlink(missing_ok=True)
