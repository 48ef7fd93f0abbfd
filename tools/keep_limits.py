"""Run commands and estimators with a time limit, and print which of them keep it.

    python -m tools.keep_limits [--quick] [--only TEXT] [--list]

A limit is kept if everything, from the start of the process to the last file, ends within a tenth
of it or three seconds after it, whichever is more. Of an estimator `fit` alone is measured. A busy
machine makes everything late: beside the wall clock stand the processor seconds of all processes.
The last line is the verdict; it leaves with 1 if a limit is not kept.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tools.limit_cases import COMMANDS, ESTIMATORS, CommandCase, EstimatorCase, make_file

SHARE, SECONDS = 0.1, 3.0
_PARSIMON = "from parsimon.cli import main; main()"
# Times of a limit after which a run is given up.
_PATIENCE = 2.0


class TimedRun(NamedTuple):
    """How long a case took, in seconds, and how it ended."""

    name: str
    table: str
    limit: float
    wall: float
    processor: float
    failure: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether it ended in time, with a result."""
        return not self.failure and self.wall <= self.limit + max(SHARE * self.limit, SECONDS)

    @property
    def line(self) -> str:
        """The run as a row of the table."""
        verdict = "kept" if self.is_kept else self.failure or "NOT KEPT"
        return (
            f"{self.name:<44} {self.table:<22} {self.limit:>6.0f} {self.wall:>7.1f} "
            f"{self.processor:>7.1f}  {verdict}"
        )


def run_command(case: CommandCase, folder: Path) -> TimedRun:
    """Run a command in a process of its own."""
    files = make_file(case.table, folder)
    out = folder / case.out
    words = [*case.words(files), "--time-limit", f"{case.limit:g}", "--quiet"]
    words += ["--json" if case.prints else "--out", str(out)]
    wall, processor, failure = _timed(["-c", _PARSIMON, *words], folder, case.limit)
    if not failure and not out.exists():
        failure = f"wrote no {case.out}"
    out.unlink(missing_ok=True)
    return TimedRun(case.name, case.table, case.limit, wall, processor, failure)


def run_estimator(case: EstimatorCase, folder: Path) -> TimedRun:
    """Fit an estimator in a process of its own, which says how long that took."""
    said = folder / "seconds.txt"
    said.unlink(missing_ok=True)
    words = ["-m", "tools.keep_limits", "--fit", case.name, str(said)]
    wall, processor, failure = _timed(words, folder, case.limit)
    if not failure:
        wall, processor = map(float, said.read_text().split())
    return TimedRun(case.name, case.table, case.limit, wall, processor, failure)


def _timed(words: list[str], folder: Path, limit: float) -> tuple[float, float, str]:
    """Return wall and processor seconds of a process and its children, and why it failed."""
    before = _processor_seconds()
    started = time.monotonic()
    place = folder / "said.txt"
    roots = [str(Path(__file__).resolve().parents[1] / name) for name in ("src", "")]
    paths = os.pathsep.join([*roots, os.environ.get("PYTHONPATH", "")])
    with place.open("w") as said:
        try:
            code = subprocess.run(
                [sys.executable, *words],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": paths},
                stdout=said,
                stderr=said,
                timeout=_PATIENCE * limit + 30,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            code = None
    wall = time.monotonic() - started
    lines = place.read_text(errors="replace").splitlines()
    failure = "given up" if code is None else f"exit {code}: {' '.join(lines[-1:])}" if code else ""
    return wall, _processor_seconds() - before, failure


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _fit_one(name: str, place: str) -> None:
    """Fit the estimator of a case here, and write how long it took."""
    case = next(one for one in ESTIMATORS if one.name == name)
    fit = case.made()
    wall, processor = time.monotonic(), time.process_time()
    fit()
    seconds = time.monotonic() - wall, time.process_time() - processor
    Path(place).write_text(" ".join(map(str, seconds)))


def main() -> None:
    """Run the cases that are asked for; leave with 1 if a limit is not kept."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few cases, some minutes")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases with this in their name")
    parser.add_argument("--list", action="store_true", help="name the cases and leave")
    parser.add_argument("--fit", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.fit:
        _fit_one(*given.fit)
        return
    cases = [one for one in (*COMMANDS, *ESTIMATORS) if one.quick or not given.quick]
    cases = [one for one in cases if given.only in f"{one.name} {one.table}"]
    print(f"{'case':<44} {'table':<22} {'limit':>6} {'wall':>7} {'cpu':>7}")
    if given.list:
        for one in cases:
            print(f"{one.name:<44} {one.table:<22} {one.limit:>6.0f}")
        return
    late = 0
    with tempfile.TemporaryDirectory(prefix="parsimon-limits-") as name:
        for one in cases:
            runner = run_command if isinstance(one, CommandCase) else run_estimator
            found = runner(one, Path(name))  # type: ignore[operator]
            late += not found.is_kept
            print(found.line, flush=True)
    print(f"{len(cases) - late} of {len(cases)} limits kept")
    sys.exit(1 if late else 0)


if __name__ == "__main__":
    main()
