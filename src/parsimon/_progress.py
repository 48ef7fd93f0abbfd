"""A progress bar for long runs, loaded only when one is asked for."""

from types import TracebackType
from typing import Any, Self


class Progress:
    """Show how far a run is; with ``verbose=False`` do nothing at no cost.

    Examples
    --------
    >>> with Progress("searching", total=3, verbose=False) as progress:
    ...     progress.update(1, note="best 0.5")
    """

    def __init__(self, title: str, *, total: float | None, verbose: bool = False) -> None:
        self._title, self._total, self._verbose = title, total, verbose
        self._bar: Any = None

    def __enter__(self) -> Self:
        if self._verbose:
            self._bar, self._task = _rich_bar(self._title, self._total)
            self._bar.start()
        return self

    def update(self, completed: float, note: str = "") -> None:
        """Move the bar to `completed` and show `note` beside it."""
        if self._bar is not None:
            self._bar.update(self._task, completed=completed, note=note)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


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
