"""The options that commands about a table share, each written once.

A new option for every command is an entry of `_SHARED` and of one of the lists after it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from parsimon.cli.sources import complete_table

Command = TypeVar("Command", bound=Callable[..., Any])

_TASKS = ("auto", "classification", "regression")


class RuleName(click.Choice[str]):
    """Which structure a kernel search takes; may be spelled with hyphens, as options are."""

    def __init__(self) -> None:
        super().__init__(("supported", "one_se", "least_error"))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(str(value).replace("-", "_"), param, ctx)


_SHARED: dict[str, Callable[[Any], Any]] = {
    "table": click.argument("table", shell_complete=complete_table),
    "target": click.option(
        "--target", metavar="COLUMN", help="The column to predict: classes or numbers."
    ),
    "positive": click.option(
        "--positive", metavar="LABEL", help="The class to ask for, against the rest."
    ),
    "task": click.option(
        "--task",
        type=click.Choice(_TASKS),
        default="auto",
        metavar="KIND",
        help="classification or regression, if auto takes it wrongly.",
    ),
    "keep": click.option(
        "--keep",
        multiple=True,
        metavar="COLUMNS",
        help="Only these: names, patterns, numbers, such as age,dose_*,3-7.",
    ),
    "drop": click.option("--drop", multiple=True, metavar="COLUMNS", help="All but these."),
    "out": click.option(
        "--out", type=click.Path(path_type=Path), help="The page to write, or a folder."
    ),
    "pdf": click.option("--pdf", is_flag=True, help="Write the report as PDF too."),
    "json": click.option("--json", "as_json", is_flag=True, help="Write the findings as data too."),
    "markdown": click.option("--markdown", is_flag=True, help="Write the text as Markdown too."),
    "rivals": click.option(
        "--rivals",
        default="all",
        metavar="NAMES",
        help="Some of linear,tree,forest,boosting; all or none.  [default: all]",
    ),
    "outer": click.option(
        "--outer",
        type=int,
        metavar="N",
        help="Outer folds; 0 for none.  [default: 5; 3 of 20,000 rows or more]",
    ),
    "folds": click.option(
        "--outer",
        type=int,
        metavar="N",
        help="Outer folds; 0 for none.  [default: 5, with --fast 3]",
    ),
    "tree": click.option(
        "--tree", metavar="FILE", help="Rows are species of this tree: Newick or NEXUS."
    ),
    "default-length": click.option(
        "--default-length",
        type=float,
        metavar="LENGTH",
        help="For branches of the tree without one.",
    ),
    "tip": click.option(
        "--tip", metavar="COLUMN", help="Names of its tips.  [default: tip, or what matches]"
    ),
    "model": click.option(
        "--model",
        type=click.Choice(["phyrvm", "pgls"]),
        default="phyrvm",
        metavar="NAME",
        help="With --tree, what predicts: phyrvm or pgls.  [default: phyrvm]",
    ),
    "clades": click.option(
        "--folds",
        type=int,
        metavar="N",
        help="Folds of whole clades; 0 for none.  [default: 3 to 10, with --fast 3]",
    ),
    "seed": click.option(
        "--seed", default=0, metavar="N", help="Of every random choice.  [default: 0]"
    ),
    "jobs": click.option(
        "--jobs", "n_jobs", default=-1, metavar="N", help="Processes.  [default: all cores]"
    ),
    "cluster": click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Work on a Dask cluster: its scheduler's address, or the file that it wrote.",
    ),
    "resume": click.option(
        "--resume", is_flag=True, help="Keep what is finished; if killed, go on from there."
    ),
    "time-limit": click.option(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="For everything; what is found by then is told.",
    ),
    "fast": click.option(
        "--fast", is_flag=True, help="A first look: less is searched, and on fewer folds."
    ),
    "quiet": click.option("--quiet", is_flag=True, help="Show neither progress nor a summary."),
}
QUESTION = ("table", "target", "positive", "task", "keep", "drop")
TREE = ("tree", "default-length", "tip", "model", "clades")
PAGE = ("out", "pdf", "json", "markdown")
RUN = ("seed", "jobs", "cluster", "resume", "time-limit")
# Of a command's values: those that change where and how results are shown, not the results.
SHOWING = frozenset(
    {"table", "out", "pdf", "as_json", "markdown", "features_file"}
    | {"n_jobs", "quiet", "cluster", "resume"}
)


def shared(*names: str) -> Callable[[Command], Command]:
    """Add shared options to a command, which its help shows in this order."""

    def add(command: Command) -> Command:
        for name in reversed(names):
            command = _SHARED[name](command)
        return command

    return add


def list_given(context: click.Context) -> dict[str, str]:
    """Return the options that a user has typed, and how they are spelled."""
    return {
        str(option.name): option.opts[0]
        for option in context.command.params
        if isinstance(option, click.Option)
        and context.get_parameter_source(str(option.name)) == ParameterSource.COMMANDLINE
    }
