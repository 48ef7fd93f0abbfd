"""What commands about a table share: options, where the work is done, and what is kept of it."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from parsimon._parallel import on_cluster as on_cluster
from parsimon.cli.printing import say
from parsimon.cli.sources import Source, complete_table
from parsimon.cli.stopping import note_standing
from parsimon.exceptions import CheckpointWarning

Command = TypeVar("Command", bound=Callable[..., Any])


_TASKS = ("auto", "classification", "regression")


class RuleName(click.Choice[str]):
    """Which structure a kernel search takes; may be spelled with hyphens, as options are."""

    def __init__(self) -> None:
        super().__init__(("supported", "one_se", "least_error"))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(str(value).replace("-", "_"), param, ctx)


def question_options(command: Command) -> Command:
    """Add the table and what is asked of it to a command."""
    return _with(
        command,
        click.argument("table", shell_complete=complete_table),
        click.option(
            "--target", metavar="COLUMN", help="The column to predict: classes or numbers."
        ),
        click.option("--positive", metavar="LABEL", help="The class to ask for, against the rest."),
        click.option(
            "--task",
            type=click.Choice(_TASKS),
            default="auto",
            metavar="KIND",
            help="classification or regression, if auto takes it wrongly.",
        ),
    )


def say_treatments(source: Source, target: str, **question: Any) -> None:
    """Say what is done to a table before a model sees it, in the words of a page."""
    from parsimon.report.sections.table.treatments import treatment_sentences
    from parsimon.statistician.asked_table import table_treatments

    for sentence in treatment_sentences(table_treatments(source.frame, target, **question)):
        say(sentence, err=True)


def rivals_option(command: Command) -> Command:
    """Add --rivals to a command."""
    names = "Some of linear,tree,forest,boosting; all or none.  [default: all]"
    return _with(command, click.option("--rivals", default="all", metavar="NAMES", help=names))


def resume_option(command: Command) -> Command:
    """Add --resume to a command."""
    words = "Keep what is finished; if killed, go on from there."
    return _with(command, click.option("--resume", is_flag=True, help=words))


def time_option(command: Command) -> Command:
    """Add --time-limit to a command."""
    words = "For everything; what is found by then is told."
    return _with(command, click.option("--time-limit", type=float, metavar="SECONDS", help=words))


def seconds_left(limit: float | None, started: float) -> float | None:
    """Return what is left of a time limit since a moment of the monotonic clock."""
    if limit is None or limit <= 0:
        return limit
    return max(0.1 * limit, limit - (time.monotonic() - started))


def run_options(command: Command) -> Command:
    """Add the seed and where the work is done to a command."""
    return _with(
        command,
        click.option(
            "--seed", default=0, metavar="N", help="Of every random choice.  [default: 0]"
        ),
        click.option(
            "--jobs", "n_jobs", default=-1, metavar="N", help="Processes.  [default: all cores]"
        ),
        click.option(
            "--cluster",
            metavar="ADDRESS",
            help="Work on a Dask cluster: its scheduler's address, or the file that it wrote.",
        ),
    )


def _with(command: Command, *parameters: Callable[[Command], Command]) -> Command:
    """Return a command with parameters, which its help shows in this order."""
    for parameter in reversed(parameters):
        command = parameter(command)
    return command


@contextmanager
def kept_work(page: Path, resume: bool) -> Iterator[Path | None]:
    """Give the folder of finished work beside a page, and remove it when all is written."""
    if not resume:
        yield None
        return
    from parsimon.statistician.finished_work import forget_work

    folder = page.with_suffix(".resume")
    note_standing(f"what is finished is in {folder}, and the same command goes on from here")
    with warnings.catch_warnings():
        warnings.showwarning = _showing(warnings.showwarning)
        yield folder
    forget_work(folder)


def _showing(usual: Callable[..., None]) -> Callable[..., None]:
    """Return a function that says what is wrong with finished work in plain words."""

    def show(message: Warning, category: type[Warning], *about: Any, **more: Any) -> None:
        if issubclass(category, CheckpointWarning):
            say(str(message), err=True)
        else:
            usual(message, category, *about, **more)

    return show
