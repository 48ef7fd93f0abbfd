"""`parsimon predict`: a saved model looks at new rows."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from parsimon._writing import whole_file
from parsimon.cli.printing import give, note_standing, say
from parsimon.cli.saved_models import fitting_parts, new_rows, remarks, table_model
from parsimon.cli.sources import complete_table
from parsimon.cli.tables import PARQUET, SEPARATORS, check_target
from parsimon.exceptions import InvalidInputError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.statistician.contributions import Contributions

_JSON = ".json"


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("table", shell_complete=complete_table)
@click.option("--out", type=click.Path(path_type=Path), help="A file instead of the screen.")
@click.option(
    "--threshold",
    type=float,
    metavar="P",
    help="Least probability at which the positive class is called.  [default: 0.5]",
)
@click.option("--explain", is_flag=True, help="Add what each column contributes to each row.")
@click.option("--json", "as_json", is_flag=True, help="Write the rows as JSON.")
def predict(
    model: Path,
    table: str,
    out: Path | None,
    threshold: float | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Predict the rows of TABLE with MODEL, a file that parsimon report saved.

    The rows are written as CSV with further columns: the class and the probability of each class,
    or the number and its standard deviation; a model of parsimon series writes one row a series.
    --out writes CSV, TSV, Parquet or JSON, by its ending. TABLE needs the columns that the model
    uses; others are kept. Cells that are empty, or outside what the model has seen, are counted on
    standard error.

    \b
    Examples:
        parsimon predict pima-model.skops new.csv --out predicted.csv
        parsimon predict pima-model.skops new.csv --threshold 0.2
        parsimon predict pima-model.skops new.csv --explain
    """
    check_target(out)
    _check_ending(out)
    fitted = table_model(model)
    frame = new_rows(fitted, table)
    with fitting_parts(model):
        found = predictions(fitted, frame, threshold=threshold)
        said = list(remarks(fitted, frame))
        if explain:
            found |= explanation_columns(fitted.contributions(frame))
        # Of measurements in long form a series is what is predicted, not a row.
        cases = fitted.cases(frame) if hasattr(fitted, "cases") else frame
    for line in said:
        say(line, err=True)
    _write(_beside(cases, found), out, as_json=as_json)
    if out is not None:
        note_standing(f"{out} is written")
        say(f"{len(cases)} rows written to {out}.")


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
        called = (share[:, 1] >= _check_threshold(threshold, model)).astype(int)
    chances = {
        f"probability of {label}": share[:, place] for place, label in enumerate(model.classes_)
    }
    return {f"predicted {target}": model.classes_[called], **chances}


def explanation_columns(found: "Contributions") -> dict[str, Any]:
    """Return the columns that --explain adds: the typical row's score and what each column adds."""
    towards = {} if found.towards is None else {"explained class": found.towards}
    added = {
        f"contribution of {name}": found.values[:, place]
        for place, name in enumerate(found.columns)
    }
    return {**towards, "score of a typical row": found.base, **added, "score": found.score}


def _check_threshold(threshold: float, model: Any) -> float:
    if len(model.classes) != 2:
        raise InvalidInputError(
            f"--threshold is for two classes, and {model.target!r} has {len(model.classes)}."
        )
    if not 0 <= threshold <= 1:
        raise InvalidInputError(f"--threshold is a probability, 0 to 1; got {threshold:g}.")
    return threshold


def _beside(frame: "pd.DataFrame", found: dict[str, Any]) -> "pd.DataFrame":
    """Return the table with further columns; none of its own is replaced."""
    import pandas as pd

    from parsimon.statistician.prepare.frames import unused

    taken = {str(name) for name in frame.columns}
    further = {unused(name, taken): values for name, values in found.items()}
    return pd.concat([frame, pd.DataFrame(further, index=frame.index)], axis=1)


def _check_ending(out: Path | None) -> None:
    if out is not None and out.suffix.lower() not in (*SEPARATORS, *PARQUET, _JSON):
        raise InvalidInputError(f"{out} must end in .csv, .tsv, .json or .parquet.")


def _write(frame: "pd.DataFrame", out: Path | None, *, as_json: bool) -> None:
    if out is None:
        give(_records(frame) if as_json else frame.to_csv(index=False))
        return
    try:
        with whole_file(out) as file:
            if out.suffix.lower() in PARQUET:
                frame.to_parquet(file, index=False)
            elif as_json or out.suffix.lower() == _JSON:
                file.write(_records(frame).encode())
            else:
                frame.to_csv(file, sep=SEPARATORS[out.suffix.lower()], index=False)
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files need pyarrow; install it with: pip install 'parsimon[parquet]'."
        ) from error


def _records(frame: "pd.DataFrame") -> str:
    """Return the rows as a JSON list of objects; a name that occurs twice gets a number."""
    from parsimon.statistician.prepare.frames import clean_names

    named = frame.set_axis(list(clean_names(frame.columns)), axis=1)
    return named.to_json(orient="records", date_format="iso", indent=2, force_ascii=False) + "\n"
