"""`parsimon explain`: why a saved model predicts a row as it does."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from parsimon.cli.printing import say
from parsimon.cli.saved_models import fitting_parts, remarks, table_model
from parsimon.cli.sources import complete_table, find_source
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.statistician.contributions import Contributions

_SHOWN = 10
_WIDEST = 60


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("table", shell_complete=complete_table)
@click.option("--row", "rows", type=int, multiple=True, metavar="N", help="Only this, from 1.")
@click.option("--json", "as_json", is_flag=True, help="Print all as JSON.")
def explain(model: Path, table: str, rows: tuple[int, ...], as_json: bool) -> None:
    """Say what speaks for and against the prediction of each row of TABLE.

    MODEL is a file that parsimon report saved. Each row is compared with a typical one of the
    rows that the model was fitted to, and what each of its columns adds is printed, the largest
    first. Together these steps lead from the typical row to this one. Without --row the first ten
    rows are explained.

    \b
    Examples:
        parsimon explain pima-model.skops new.csv
        parsimon explain pima-model.skops new.csv --row 3 --row 17
        parsimon explain pima-model.skops new.csv --json
    """
    fitted = table_model(model)
    frame = find_source(table).frame
    places = _places(rows, len(frame), everything=as_json)
    chosen = frame.iloc[places]
    with fitting_parts(model):
        explained = _explain_rows(fitted, chosen, fitted.contributions(chosen), places)
        said = list(remarks(fitted, chosen))
    for line in said:
        say(line, err=True)
    if as_json:
        say(json.dumps(explained, indent=2, ensure_ascii=False))
        return
    for line in _lines(explained):
        say(line)
    if not rows and len(frame) > len(places):
        say(f"{len(frame) - len(places)} more rows; --row N explains another.", err=True)


def _places(rows: Sequence[int], n_rows: int, *, everything: bool) -> list[int]:
    for row in rows:
        if not 1 <= row <= n_rows:
            raise InvalidInputError(f"The table has rows 1 to {n_rows}; got --row {row}.")
    if rows:
        return [row - 1 for row in rows]
    return list(range(n_rows if everything else min(n_rows, _SHOWN)))


def _explain_rows(
    model: Any, frame: "pd.DataFrame", found: "Contributions", places: Sequence[int]
) -> dict[str, Any]:
    """Return everything that is to be said, as JSON has it."""
    from parsimon.statistician.prepare.frames import named_frame

    cells = named_frame(frame)
    called = model.predict(frame)
    share = model.predict_proba(frame) if len(model.classes) else None
    return {
        "target": model.target,
        "scale": _scale(model),
        "exact": found.exact,
        "typical": dict(zip(found.columns, found.typical, strict=True)),
        "rows": [
            {
                "row": place + 1,
                "predicted": called[at].item() if share is None else str(called[at]),
                **_chance(model, share, found, at),
                "score": float(found.score[at]),
                "typical_score": float(found.base[at]),
                "contributions": [
                    {
                        "column": name,
                        # What relatives in a tree add stands in no column.
                        **({"value": _cell(cells[name].iloc[at])} if name in cells else {}),
                        "contribution": float(found.values[at, k]),
                    }
                    for k, name in _by_size(found, at)
                ],
            }
            for at, place in enumerate(places)
        ],
    }


def _scale(model: Any) -> str:
    if not len(model.classes):
        return f"units of {model.target}"
    return "units of the model's score, which is 0 at even odds"


def _chance(model: Any, share: Any, found: "Contributions", at: int) -> dict[str, Any]:
    if share is None or found.towards is None:
        return {}
    place = int(np.flatnonzero(model.classes_ == found.towards[at])[0])
    return {"class": str(found.towards[at]), "probability": float(share[at, place])}


def _by_size(found: "Contributions", at: int) -> list[tuple[int, str]]:
    order = np.argsort(-np.abs(found.values[at]), kind="stable")
    return [(int(k), found.columns[k]) for k in order]


def _cell(value: Any) -> Any:
    """Return a cell as JSON can hold it; an empty one is null."""
    import pandas as pd

    if pd.isna(value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, bool | int | float) else str(value)


def _lines(explained: dict[str, Any]) -> Iterator[str]:
    """Yield what people read."""
    target, typical = explained["target"], explained["typical"]
    for row in explained["rows"]:
        if "class" in row:
            yield (
                f"Row {row['row']}: {target} is probably {row['predicted']!r} "
                f"(probability of {row['class']!r}: {row['probability']:.2f})"
            )
            words = (f"for {row['class']}", f"against {row['class']}")
        else:
            yield f"Row {row['row']}: {target} is about {row['predicted']:.4g}"
            words = ("more", "less")
        for word, sign in zip(words, (1, -1), strict=True):
            steps = [one for one in row["contributions"] if sign * one["contribution"] > 0]
            yield from _side(word, steps, typical)
        yield f"  from {row['typical_score']:+.2f} for a typical row to {row['score']:+.2f}"
        yield ""
    if explained["rows"]:
        yield f"Steps are in {explained['scale']}."
        if not explained["exact"]:
            yield "They are averages over a sample of orders, and add up exactly."


def _side(word: str, steps: Sequence[dict[str, Any]], typical: dict[str, str]) -> Iterator[str]:
    for step in steps:
        what = f"{step['column']} in the tree"
        if "value" in step:
            value = "(empty)" if step["value"] is None else step["value"]
            what = f"{step['column']} = {value} (typical {typical[step['column']]})"
        short = what if len(what) <= _WIDEST else f"{what[: _WIDEST - 1]}…"
        yield f"  {word:<16} {short:<{_WIDEST}} {step['contribution']:+.2f}"
        word = ""
