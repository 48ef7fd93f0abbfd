"""`parsimon front`: the Pareto front of any table of results."""

import json
import operator
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parsimon._checks import shorten
from parsimon._writing import whole_file
from parsimon.cli.printing import as_markup, say
from parsimon.cli.tables import check_target, column, read_rows
from parsimon.exceptions import BadRowError, InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.pareto import Front

_SHOWN = 30
_PACKED: dict[str, Any] = {".gz": {"method": "gzip", "mtime": 0}}


@click.command()
@click.argument("table", type=click.Path(path_type=Path), required=False)
@click.option("--maximise", multiple=True, metavar="COL", help="A column to make large.")
@click.option("--minimise", multiple=True, metavar="COL", help="A column to make small.")
@click.option("--where", "conditions", multiple=True, metavar="COND", help='Such as "fpr<=0.05".')
@click.option(
    "--select",
    "rule",
    default="knee",
    show_default=True,
    metavar="RULE",
    help="knee, knee:gain, knee:tradeoff, best:COL, nearest:COL=VALUE,..., "
    "cheapest:cost_fp=1,cost_fn=5,prevalence=0.1, desirable:COL=WORST..BEST,... "
    "or an index.",
)
@click.option("--plot", "picture", type=click.Path(path_type=Path), help="Draw it (svg, png, pdf).")
@click.option("--out", type=click.Path(path_type=Path), help="Write the front's rows as CSV.")
@click.option("--drop-missing", is_flag=True, help="Leave out rows with an empty objective.")
@click.option("--json", "as_json", is_flag=True, help="Print the front as JSON.")
@click.option("--demo", is_flag=True, help="Use the bundled table of models for pima.")
def front(
    table: Path | None,
    maximise: tuple[str, ...],
    minimise: tuple[str, ...],
    conditions: tuple[str, ...],
    rule: str,
    picture: Path | None,
    out: Path | None,
    drop_missing: bool,
    as_json: bool,
    demo: bool,
) -> None:
    """Find the Pareto front of TABLE, choose a row from it, and draw it.

    TABLE is a CSV, TSV, Excel or Parquet file with one row for each candidate: models, settings,
    designs. A row is on the front if no other row is at least as good in every objective and
    better in one; rows that are equal in all objectives are all kept.

    \b
    Examples:
        parsimon front --demo
        parsimon front results.csv --maximise auc --minimise features --plot front.svg
        parsimon front roc.csv --maximise tpr --minimise fpr --where "fpr<=0.05" --select best:tpr
    """
    from parsimon.pareto.choose import choose

    check_target(picture)
    check_target(out)
    data, maximise, minimise = _input(table, maximise, minimise, demo=demo)
    data, dropped = _complete(data, [*maximise, *minimise], drop=drop_missing)
    found = _front(data, maximise, minimise)
    narrowed = found.where(**_conditions(conditions))
    chosen = choose(narrowed, rule)
    if picture is not None:
        _draw(narrowed, chosen, picture)
    rows = data.iloc[narrowed.rows]
    if out is not None:
        with whole_file(out) as file:
            rows.to_csv(file, index=False, compression=_PACKED.get(out.suffix.lower()))
    report = _Report(data, rows, narrowed, chosen, dropped)
    say(report.as_json()) if as_json else report.show(picture, out)


def _input(
    table: Path | None, maximise: Sequence[str], minimise: Sequence[str], *, demo: bool
) -> tuple["pd.DataFrame", tuple[str, ...], tuple[str, ...]]:
    if demo:
        if table is not None:
            raise InvalidInputError("Give a table or --demo, not both.")
        with as_file(files("parsimon.cli") / "demo_models.csv") as path:
            data = read_rows(path)
        if not (maximise or minimise):
            maximise, minimise = ["auc"], ["features"]
    elif table is None:
        raise InvalidInputError("Give a table (CSV, TSV, Excel or Parquet), or try --demo.")
    else:
        data = read_rows(table)
    if not (maximise or minimise):
        numeric = list(data.select_dtypes("number"))
        raise InvalidInputError(
            "Name the objectives with --maximise and --minimise; "
            f"the numeric columns are {shorten(numeric, 12) or 'none'}."
        )
    return data, tuple(maximise), tuple(minimise)


def _complete(
    data: "pd.DataFrame", names: Sequence[str], *, drop: bool
) -> tuple["pd.DataFrame", int]:
    """Return the table with numbers in every objective, and how many rows were left out."""
    if len(set(names)) < len(names):
        raise InvalidInputError("An objective is named twice; name each once.")
    for name in names:
        _refuse_text(column(data, name), name)
    empty = data[list(names)].isna().any(axis=1)
    if empty.any() and not drop:
        missing = [name for name in names if data[name].isna().any()]
        raise BadRowError(
            f"{int(empty.sum())} of {len(data)} rows have no value in {shorten(missing)} (first: ",
            int(empty.argmax()),
            "); fill them or add --drop-missing.",
        )
    if empty.all():
        raise InvalidInputError("No row has a value in every objective.")
    return data[~empty], int(empty.sum())


def _refuse_text(values: "pd.Series", name: str) -> None:
    import pandas as pd

    numbers = pd.to_numeric(values, errors="coerce")
    text = numbers.isna() & values.notna()
    if text.any() or not (
        pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values)
    ):
        row = int(text.argmax())
        raise BadRowError(
            f"The objective {name!r} holds text, not numbers (first: {values.iloc[row]!r} in ",
            row,
            ").",
        )


def _front(data: "pd.DataFrame", maximise: Sequence[str], minimise: Sequence[str]) -> "Front":
    from parsimon.pareto import Front

    names = [*maximise, *minimise]
    return Front(data[names].to_numpy(dtype=float), names, maximise=list(maximise))


def _conditions(texts: Sequence[str]) -> dict[str, float]:
    from parsimon.pareto.criteria import written_conditions

    return {name: bound for text in texts for name, bound in written_conditions(text).items()}


def _draw(found: "Front", chosen: int, picture: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    ax = found.plot(chosen=chosen)
    figure: Any = ax.figure
    supported = figure.canvas.get_supported_filetypes()
    kind = picture.suffix.lstrip(".").lower()
    if kind not in supported:
        raise InvalidInputError(
            f"A picture cannot be written as {picture.suffix or 'a file without ending'!r}; "
            "use .svg, .png or .pdf."
        )
    # Neither dates nor chance in pictures: equal fronts give equal files.
    date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with mpl.rc_context({"svg.hashsalt": "parsimon"}), whole_file(picture) as file:
        figure.savefig(file, format=kind, dpi=150, metadata=date)


class _Report:
    """What is said about a front: as a table in the terminal, or as JSON."""

    def __init__(
        self, data: "pd.DataFrame", rows: "pd.DataFrame", found: "Front", chosen: int, dropped: int
    ) -> None:
        self._total, self._rows, self._front = len(data) + dropped, rows, found
        self._chosen, self._dropped = chosen, dropped

    def as_json(self) -> str:
        records = json.loads(self._rows.to_json(orient="records", double_precision=15))
        return json.dumps(
            {
                "n_rows": self._total,
                "n_dropped": self._dropped,
                "objectives": [
                    {"name": name, "direction": "maximise" if up else "minimise"}
                    for name, up in zip(
                        self._front.names, self._front.directions.maximise, strict=True
                    )
                ],
                "front": records,
                "rows": self._rows.index.tolist(),
                "chosen": self._chosen,
                "chosen_row": records[self._chosen],
                "description": self._front.describe(),
            },
            indent=2,
            ensure_ascii=False,
        )

    def show(self, picture: Path | None, out: Path | None) -> None:
        from rich.console import Console

        console = Console(highlight=False)
        console.print(self._table())
        hidden = len(self._rows) - len(self._shown())
        if hidden:
            console.print(f"... and {hidden} more rows; --out FILE writes them all.")
        console.print(as_markup(self._front.describe()))
        if self._dropped:
            rows = "1 row" if self._dropped == 1 else f"{self._dropped} rows"
            left = "was" if self._dropped == 1 else "were"
            console.print(f"{rows} without a value in every objective {left} left out.")
        for what, path in (("Picture", picture), ("Table", out)):
            if path is not None:
                console.print(f"{what} written to {as_markup(path)}.")

    def _shown(self) -> list[int]:
        """Return the rows that fit a screen: evenly spread, with the chosen one among them."""
        n = len(self._rows)
        if n <= _SHOWN:
            return list(range(n))
        spread = {round(i * (n - 1) / (_SHOWN - 2)) for i in range(_SHOWN - 1)}
        return sorted(spread | {self._chosen})

    def _table(self) -> Any:
        from rich.table import Table

        names = self._front.names
        others = [name for name in self._rows.columns if name not in names]
        table = Table(
            title=f"Pareto front: {len(self._rows)} of {self._total} rows", title_justify="left"
        )
        table.add_column("", no_wrap=True)
        table.add_column("#", justify="right", style="dim")
        for name, up in zip(names, self._front.directions.maximise, strict=True):
            table.add_column(f"{as_markup(name)} {'↑' if up else '↓'}", justify="right")
        for name in others:
            table.add_column(as_markup(name), overflow="fold")
        for i in self._shown():
            row = self._rows.iloc[i]
            cells = [as_markup(_text(row[name])) for name in (*names, *others)]
            style = "bold" if i == self._chosen else ""
            table.add_row("➜" if i == self._chosen else "", str(i), *cells, style=style)
        return table


def _text(value: Any) -> str:
    from parsimon.pareto.front import write_number

    try:
        return write_number(operator.index(value))
    except TypeError:
        return write_number(value) if isinstance(value, float) else str(value)
