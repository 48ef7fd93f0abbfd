"""What commands about a table share: where the work is done, and what is kept of it."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parsimon._parallel import on_cluster as on_cluster
from parsimon.cli.printing import say
from parsimon.cli.sources import Source
from parsimon.cli.stopping import note_standing
from parsimon.exceptions import CheckpointWarning


def say_treatments(source: Source, target: str, **question: Any) -> None:
    """Say what is done to a table before a model sees it, in the words of a page."""
    from parsimon.report.sections.table.treatments import treatment_sentences
    from parsimon.statistician.asked_table import table_treatments

    for sentence in treatment_sentences(table_treatments(source.frame, target, **question)):
        say(sentence, err=True)


def remaining_seconds(limit: float | None, started: float) -> float | None:
    """Return what is left of a time limit since a moment of the monotonic clock."""
    if limit is None or limit <= 0:
        return limit
    return max(0.1 * limit, limit - (time.monotonic() - started))


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
