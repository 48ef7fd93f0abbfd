"""`parsimon datasets`: what can be loaded by name, and what can be generated."""

from typing import TYPE_CHECKING, Any

import click

from parsimon.cli.printing import say, visible

if TYPE_CHECKING:
    from rich.table import Table

_HEADINGS = ("name", "rows", "columns", "classes", "from")
_FULL_WIDTH = 160
_EDGES, _GAP = 2, 3
_LEAST_DESCRIPTION = 20


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def datasets(as_json: bool) -> None:
    """List the data sets that can be loaded by name.

    Bundled tables need nothing else. To load others, set the environment variable PARSIMON_DATA
    to a folder that holds them.

    \b
    Examples:
        parsimon datasets
        PARSIMON_DATA=~/data parsimon datasets --json
    """
    from parsimon.datasets.catalogue import data_folder, loadable

    folder = data_folder()
    rows = [_row(entry) for entry in loadable()] + _generators()
    if as_json:
        import json

        say(json.dumps(rows, indent=2))
        return
    _print_table(rows)
    say(_advice(None if folder is None else str(folder)))


def _row(entry: Any) -> dict[str, Any]:
    return {
        "name": entry.name,
        "rows": entry.rows,
        "columns": entry.features,
        "classes": int(entry.classes) if entry.classes.isdigit() else None,
        "target": _target_kind(entry),
        "kind": entry.kind,
        "missing": entry.missing,
        "from": entry.where,
        "description": entry.description,
        "source": entry.source,
        "licence": entry.licence,
    }


def _target_kind(entry: Any) -> str | None:
    if entry.classes == "number":
        return "number"
    return "classes" if entry.classes else None


def _generators() -> list[dict[str, Any]]:
    from parsimon import datasets as package

    return [
        _generator_row(name, getattr(package, name))
        for name in package.__all__
        if name.startswith("make_")
    ]


def _generator_row(name: str, make: Any) -> dict[str, Any]:
    X, y, *_ = make(random_state=0)
    return {
        "name": name,
        "rows": len(X),
        "columns": X.shape[1],
        # -1 means that a row's class is not told.
        "classes": len(set(y.tolist()) - {-1}),
        "target": "classes",
        "kind": "generator",
        "missing": 0,
        "from": "generator",
        "description": make.__doc__.splitlines()[0].rstrip("."),
        "source": f"parsimon.datasets.{name}",
        "licence": "",
    }


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console

    # A name in the user's folder is printed as it is, never read as rich's markup.
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        # A pipe or a file has no edge: nothing need be cut.
        console.width = _FULL_WIDTH
    console.print(_table(rows, width=console.width))


def _table(rows: list[dict[str, Any]], *, width: int) -> "Table":
    from rich import box
    from rich.table import Table

    lines = [_cells(row) for row in rows]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    room = width - _EDGES
    for place, heading in enumerate(_HEADINGS):
        widest = max(len(heading), *(len(line[place]) for line in lines))
        room -= widest + _GAP
        right = heading in {"rows", "columns", "classes"}
        table.add_column(heading, justify="right" if right else "left", min_width=widest)
    # Rich shortens all columns alike: only what is left over goes to the descriptions.
    describe = room >= _LEAST_DESCRIPTION
    if describe:
        table.add_column("what", no_wrap=True, overflow="ellipsis", max_width=room)
    previous = rows[0]["from"]
    for row, line in zip(rows, lines, strict=True):
        if row["from"] != previous:
            table.add_section()
        previous = row["from"]
        table.add_row(*line, *([visible(row["description"], one_line=True)] if describe else []))
    return table


def _cells(row: dict[str, Any]) -> list[str]:
    classes = "number" if row["target"] == "number" else row["classes"]
    cells = (row["name"], row["rows"], row["columns"], classes, row["from"])
    return ["" if cell is None else visible(cell, one_line=True) for cell in cells]


def _advice(folder: str | None) -> str:
    from parsimon.datasets.catalogue import BUNDLED, FOLDER_VARIABLE, known

    if folder is not None:
        return f"{FOLDER_VARIABLE} is {folder}."
    others = sum(entry.where != BUNDLED for entry in known().values())
    return (
        f"{FOLDER_VARIABLE} is not set. To load more, set it to a folder of data: "
        f"export {FOLDER_VARIABLE}=~/data\n"
        f"{others} others are known; load(name) says where each can be had."
    )
