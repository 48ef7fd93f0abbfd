"""The rows every benchmark returns, how they are judged, printed and saved.

A bar is worth its name only if those miss it who know nothing or next to nothing: a constant, a
guess, the plainest rival. A row carries what they get of the same figure, they are lines of every
table, and a bar that one of them meets is refused. `benchmarks.rivals` has the usual ones.
"""

import json
import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

CANNOT_FAIL, NO_RIVALS = "CANNOT FAIL", "NO RIVALS"
# What is spent and not reached. One who knows nothing spends nothing, so that a constant or a guess
# would meet every such bar: its only rival is the peer, who solves the same task.
SPENT = (
    "seconds",
    "median seconds",
    "processor seconds",
    "milliseconds",
    "microseconds",
    "peak",
    "growth",
)


def ratio_of(ours: float, peer: float, higher_is_better: bool | None) -> float:
    """Return how many times better ours is; not a number where there is no such thing.

    Of two figures below zero the sizes are compared, for which less is more. Nothing is any number
    of times better than zero, or than a figure on the other side of it. Of figures that shall agree
    it is the lesser over the greater size: 1 if they are the same, never above 1.
    """
    if ours == peer:
        return 1.0
    if higher_is_better is None:
        less, more = sorted((abs(ours), abs(peer)))
        return less / more if ours * peer > 0 else 0.0
    better, worse = (ours, peer) if higher_is_better == (ours + peer > 0) else (peer, ours)
    return better / worse if ours * peer >= 0 and worse else math.nan


@dataclass(frozen=True)
class Row:
    """One measured figure of ours beside a peer's or a published one.

    `ratio` above 1 means that we are better; `bar` is what was promised; a row without a bar is
    shown for information. `higher_is_better` is None for figures that shall agree.

    `rivals` are those who must miss the bar, with what they get of the same figure.
    """

    case: str
    metric: str
    ours: float
    peer: float
    higher_is_better: bool | None = False
    bar: float | None = None
    note: str = ""
    rivals: Mapping[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """How many times better ours is."""
        return ratio_of(self.ours, self.peer, self.higher_is_better)

    @property
    def is_spent(self) -> bool:
        """Whether the figure is time or memory, of which a bar needs no rivals but its peer."""
        return self.metric.startswith(SPENT)

    @property
    def met(self) -> bool:
        """Whether the ratio reaches the bar; where there is none, whether ours is better."""
        if self.bar is None or not math.isnan(self.ratio):
            return self.bar is None or self.ratio >= self.bar
        return self._beats(self.ours, self.peer)

    @property
    def passed_by(self) -> tuple[str, ...]:
        """Who meets the bar, and should not."""
        if self.bar is None:
            return ()
        return tuple(name for name, value in self.rivals.items() if replace(self, ours=value).met)

    @property
    def ok(self) -> bool:
        """Whether the bar is met, and by none of the rivals."""
        return self.met and not self.passed_by

    @property
    def verdict(self) -> str:
        """What a table says of the bar."""
        if self.bar is None:
            return ""
        return "NO" if not self.met else CANNOT_FAIL if self.passed_by else "yes"

    def above_rivals(self) -> "Row":
        """Return the row with a bar that no rival meets: raised where it was too low for that."""
        if self.bar is None:
            return self
        ratios = [replace(self, ours=value).ratio for value in self.rivals.values()]
        least = [math.nextafter(one, math.inf) for one in ratios if not math.isnan(one)]
        return replace(self, bar=max([self.bar, *least]))

    def without_empty_bar(self) -> "Row":
        """Return the row without a bar that a rival meets, and a note of who it is.

        For figures that shall agree with others, where more than that cannot be asked for. A bar
        that ours misses stays.
        """
        if not self.passed_by or not self.met:
            return self
        note = f"{self.note}; no bar, since met by {', '.join(self.passed_by)}"
        return replace(self, bar=None, note=note.removeprefix("; "))

    def _beats(self, one: float, other: float) -> bool:
        return one > other if self.higher_is_better else one < other

    def lines(self) -> Iterator["Row"]:
        """Yield the row, then each rival as a row without a bar."""
        yield self
        for name, value in self.rivals.items():
            note = "meets the bar" if name in self.passed_by else ""
            yield Row(f"  {name}", "", value, self.peer, self.higher_is_better, note=note)

    def to_dict(self) -> dict[str, Any]:
        """Return the row as the JSON that checks read, which has nothing but finite numbers.

        A ratio that is none is null, and so is a figure that could not be measured, or a bar that
        no figure reaches: whether there was one, and was met, says the verdict.
        """
        fields = {**asdict(self), "ratio": self.ratio, "ok": self.ok, "verdict": self.verdict}
        del fields["higher_is_better"]
        rivals = {name: _finite(value) for name, value in self.rivals.items()}
        return {name: _finite(value) for name, value in fields.items()} | {"rivals": rivals}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def without_rivals(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that promise a figure, not a price, and name nobody who must miss it."""
    return [row for row in rows if row.bar is not None and not (row.rivals or row.is_spent)]


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
        for line in row.lines():
            bar = "" if line.bar is None else f"{line.bar:.6g}"
            ratio = "-" if math.isnan(line.ratio) else f"{line.ratio:.4g}"
            figures = (f"{line.ours:.4g}", f"{line.peer:.4g}", ratio, bar)
            table.add_row(line.case, line.metric, *figures, line.verdict, line.note)
    Console(width=140).print(table)


def save(rows: Sequence[Row], path: Path) -> None:
    """Write the rows as a JSON list."""
    path.write_text(json.dumps([row.to_dict() for row in rows], indent=2, allow_nan=False) + "\n")
