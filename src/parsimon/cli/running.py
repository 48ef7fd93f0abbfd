"""What commands about a table share: where the work is done, how long, and what is kept of it."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from parsimon._parallel import on_cluster
from parsimon.cli.printing import STARTED, note_standing, say
from parsimon.cli.sources import Source, needed_target
from parsimon.exceptions import CheckpointWarning


@contextmanager
def analysed(
    analyse: Callable[..., Any],
    source: Source,
    place: Path,
    *,
    cluster: str | None,
    resume: bool,
    time_limit: float | None,
    **options: Any,
) -> Iterator[Any]:
    """Analyse a table; what is kept of the work is removed when all that follows is written.

    place: The file that is named after the table; finished work is kept beside it.
    """
    started = click.get_current_context().meta[STARTED]
    with on_cluster(cluster), _kept_work(place, resume) as folder:
        yield analyse(
            source.frame,
            needed_target(source),
            checkpoint=folder,
            time_limit=remaining_seconds(time_limit, started),
            **options,
        )


def say_treatments(source: Source, **question: Any) -> None:
    """Say what is done to a table before a model sees it, in the words of a page."""
    from parsimon.report.sections.table.treatments import treatment_sentences
    from parsimon.statistician.asked_table import table_treatments

    found = table_treatments(source.frame, needed_target(source), **question)
    for sentence in treatment_sentences(found):
        say(sentence, err=True)


def remaining_seconds(limit: float | None, started: float) -> float | None:
    """Return what is left of a time limit since a moment of the monotonic clock."""
    if limit is None or limit <= 0:
        return limit
    return max(0.1 * limit, limit - (time.monotonic() - started))


@contextmanager
def _kept_work(page: Path, resume: bool) -> Iterator[Path | None]:
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
