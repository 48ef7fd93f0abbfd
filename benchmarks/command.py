"""The command line shared by `python -m benchmarks.peers` and `python -m benchmarks.reproduce`."""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from benchmarks.rows import CANNOT_FAIL, NO_RIVALS, Row, save, show, without_rivals


def run(package: str) -> None:
    """Run the benchmark of `package` that is named on the command line.

    A bar without those who must miss it counts as missed.
    """
    found = importlib.import_module(package)
    names = sorted(
        module.name.replace("_", "-")
        for module in pkgutil.iter_modules(found.__path__)
        if not module.name.startswith("_")
    )

    @click.command(help=f"{found.__doc__}\n\nNames: {', '.join(names) or 'none yet'}.")
    @click.argument("name", type=click.Choice(names))
    @click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write rows here.")
    @click.option("--quick", is_flag=True, help="A smaller version, under a minute.")
    @click.option("--tables", type=click.IntRange(min=1), help="Only so many simulated tables.")
    @click.option("--resume", type=click.Path(path_type=Path), help="Folder of kept results.")
    @click.option("--methods", help="Only these methods, with commas between.")
    def command(
        name: str,
        json_file: Path | None,
        quick: bool,
        tables: int | None,
        resume: Path | None,
        methods: str | None,
    ) -> None:
        module = importlib.import_module(f"{package}.{name.replace('-', '_')}")
        given = {"tables": tables, "resume": resume, "methods": methods and methods.split(",")}
        settings = {option: value for option, value in given.items() if value is not None}
        for option in settings.keys() - inspect.signature(module.rows).parameters.keys():
            raise click.UsageError(f"{name} has no --{option}; leave it out.")
        rows = module.rows(quick=quick, **settings)
        show(rows, title=f"{package.split('.')[-1]} {name}{' (quick)' if quick else ''}")
        if json_file is not None:
            save(rows, json_file)
        alone = without_rivals(rows)
        for row in alone:
            print(f"{NO_RIVALS}: {row.case}, {row.metric}: name who must miss this bar.")
        print(_count(rows))
        sys.exit(0 if all(row.ok for row in rows) and not alone else 1)

    command(prog_name=f"python -m {package}")


def _count(rows: Sequence[Row]) -> str:
    """Return how many bars there are, and how many are met."""
    barred = [row for row in rows if row.bar is not None]
    empty = sum(row.verdict == CANNOT_FAIL for row in barred)
    met = sum(row.ok for row in barred)
    missed = len(barred) - met - empty
    return f"{len(barred)} bars: {met} met, {missed} missed, {empty} that cannot fail."
