"""A progress bar for long runs, loaded only when one is asked for."""

import sys
import threading
import time
from typing import Any, Self

# Seconds between two lines where there is no terminal to draw a bar on.
_PAUSE = 10.0
# And seconds after which one says that nothing is new.
_SILENCE = 30.0


class Progress:
    """Show how far a run is; with ``verbose=False`` do nothing at no cost.

    On a terminal that is a bar; in a file, such as the log of a long run, a line now and then.
    """

    def __init__(self, title: str, *, total: float | None, verbose: bool = False) -> None:
        self._title, self._total, self._verbose = title, total, verbose
        self._bar: Any = None

    def __enter__(self) -> Self:
        if self._verbose:
            make = _rich_bar if sys.stderr.isatty() else _Lines.first
            self._bar, self._task = make(self._title, self._total)
            self._bar.start()
        return self

    def update(self, completed: float, note: str = "") -> None:
        """Move the bar to `completed` and show `note` beside it."""
        if self._bar is not None:
            self._bar.update(self._task, completed=completed, note=note)

    def __exit__(self, *error: Any) -> None:
        if self._bar is not None:
            self._bar.stop()


class _Lines:
    """A bar for files, with the methods of rich's that are used here.

    Where one step takes long, what is known is written all the same, so that nobody takes the run
    for dead.
    """

    def __init__(self, title: str, total: float | None) -> None:
        self._title, self._total = title, total
        self._over = threading.Event()

    @classmethod
    def first(cls, title: str, total: float | None) -> tuple[Any, Any]:
        return cls(title, total), None

    def start(self) -> None:
        self._begin = self._last = time.monotonic()
        self._state = self._counted(0)
        threading.Thread(target=self._repeat, daemon=True).start()

    def update(self, task: None, *, completed: float, note: str) -> None:  # noqa: ARG002
        now = time.monotonic()
        self._state = f"{self._counted(completed)} {note}".rstrip()
        if now - self._last >= _PAUSE:
            self._last = now
            self._write(now, self._left(completed, now - self._begin))

    def stop(self) -> None:
        """Write how far the run came."""
        self._over.set()
        self._write(time.monotonic())

    def _counted(self, completed: float) -> str:
        return f"{completed:.0f}/{self._total:.0f}" if self._total else f"{completed:.0f}"

    def _repeat(self) -> None:
        """Write a line after each silence."""
        while not self._over.wait(_PAUSE):
            now = time.monotonic()
            if now - self._last >= _SILENCE:
                self._last = now
                self._write(now)

    def _left(self, completed: float, seconds: float) -> str:
        """Return how long the rest will take if it goes on like this."""
        if not self._total or not 0 < completed < self._total:
            return ""
        return f", about {seconds * (self._total - completed) / completed:.0f} s left"

    def _write(self, now: float, more: str = "") -> None:
        sys.stderr.write(f"{self._title} ({now - self._begin:.0f} s): {self._state}{more}\n")
        sys.stderr.flush()


def _rich_bar(title: str, total: float | None) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    bar = RichProgress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}" if total else "{task.completed:.0f}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=Console(stderr=True),
    )
    return bar, bar.add_task(title, total=total, note="")
