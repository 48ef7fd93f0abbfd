"""The command line shared by `python -m benchmarks.peers` and `python -m benchmarks.reproduce`."""

import importlib
import pkgutil
import sys
from pathlib import Path

import click

from benchmarks.rows import save, show


def run(package: str) -> None:
    """Run the benchmark of `package` that is named on the command line."""
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
    def command(name: str, json_file: Path | None, quick: bool) -> None:
        module = importlib.import_module(f"{package}.{name.replace('-', '_')}")
        rows = module.rows(quick=quick)
        show(rows, title=f"{package.split('.')[-1]} {name}{' (quick)' if quick else ''}")
        if json_file is not None:
            save(rows, json_file)
        sys.exit(0 if all(row.ok for row in rows) else 1)

    command(prog_name=f"python -m {package}")
