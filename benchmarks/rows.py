"""The rows every benchmark returns, how they are judged, printed and saved."""

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """One measured figure of ours beside a peer's or a published one.

    `ratio` above 1 means that we are better; `bar` is what was promised; a row without a bar is
    shown for information.
    """

    case: str
    metric: str
    ours: float
    peer: float
    higher_is_better: bool = False
    bar: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float:
        """How many times better ours is."""
        better, worse = (self.ours, self.peer) if self.higher_is_better else (self.peer, self.ours)
        if worse == 0:
            return 1.0 if better == 0 else float("inf")
        return better / worse

    @property
    def ok(self) -> bool:
        """Whether the ratio reaches the bar."""
        return self.bar is None or self.ratio >= self.bar

    def to_dict(self) -> dict[str, Any]:
        """Return the row as the JSON that checks read."""
        fields = asdict(self)
        del fields["higher_is_better"]
        return {**fields, "ratio": self.ratio, "ok": self.ok}


def median_seconds(
    jobs: Sequence[Callable[[], Any]], repeats: int = 5, *, warm: bool = False
) -> list[float]:
    """Return the median wall time of each job.

    The jobs take turns, so that a slow spell of the machine hits all of them. Each runs once
    before the first turn; with `warm` before every turn, for jobs of about a millisecond, which
    would otherwise pay for what the other job left in the caches.
    """
    times: list[list[float]] = [[] for _ in jobs]
    for turn in range(repeats):
        for job, spent in zip(jobs, times, strict=True):
            if warm or turn == 0:
                job()
            start = time.perf_counter()
            job()
            spent.append(time.perf_counter() - start)
    return [statistics.median(spent) for spent in times]


def show(rows: Sequence[Row], title: str) -> None:
    """Print the rows as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for heading in ("case", "metric", "ours", "peer", "ratio", "bar", "ok", "note"):
        numeric = heading in {"ours", "peer", "ratio", "bar"}
        table.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        bar = "" if row.bar is None else f"{row.bar:g}"
        verdict = "" if row.bar is None else ("yes" if row.ok else "NO")
        table.add_row(
            row.case,
            row.metric,
            f"{row.ours:.4g}",
            f"{row.peer:.4g}",
            f"{row.ratio:.4g}",
            bar,
            verdict,
            row.note,
        )
    Console(width=140).print(table)


def save(rows: Sequence[Row], path: Path) -> None:
    """Write the rows as a JSON list."""
    path.write_text(json.dumps([row.to_dict() for row in rows], indent=2) + "\n")
