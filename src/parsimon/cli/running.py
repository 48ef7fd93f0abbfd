"""Where the work of a command is done, and what is kept of it if the command is killed."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from parsimon._parallel import on_cluster as on_cluster
from parsimon.cli.printing import say
from parsimon.exceptions import CheckpointWarning

Command = TypeVar("Command", bound=Callable[..., Any])


def cluster_option(command: Command) -> Command:
    """Add --cluster to a command."""
    return click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Work on a Dask cluster: its scheduler's address, or the file that it wrote.",
    )(command)


@contextmanager
def kept_work(page: Path, resume: bool) -> Iterator[Path | None]:
    """Give the folder of finished work beside a page, and remove it when all is written."""
    if not resume:
        yield None
        return
    from parsimon.statistician.finished_work import forget_work

    folder = page.with_suffix(".resume")
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
