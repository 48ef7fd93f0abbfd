"""Plant bugs of one line, one after the other, and say whether the tests see them.

    python -m tools.plant_bugs                    # all of them, two at a time
    python -m tools.plant_bugs --only honest      # those whose file or text has that word

The bugs stand in the tables of `tools/planted_bugs.py`, each with the tests that must fail. They
are planted in a copy of `src`, never in the work tree. Exit code 1 if a bug survives, if its text
is not found exactly once, or if the tests that should see it fail without it.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.planted_bug import PlantedBug
from tools.planted_bugs import BUGS
from tools.scratch_source import ROOT, ScratchSource, judge_each

# Seconds of processor time for the tests of one bug; they take a few.
_LIMIT = 60.0
_VERDICTS = {"failed": "caught", "too long": "caught (endless)", "passed": "SURVIVED"}


def planted_text(bug: PlantedBug, root: Path = ROOT) -> str | None:
    """Return the whole file with the bug; None if its old text does not occur exactly once."""
    text = (root / bug.file).read_text(encoding="utf-8")
    return text.replace(bug.old, bug.new) if text.count(bug.old) == 1 else None


def judge(bug: PlantedBug, source: ScratchSource, limit: float = _LIMIT) -> str:
    """Plant a bug and return what its tests say: caught, SURVIVED, or what went wrong."""
    text = planted_text(bug)
    if text is None:
        return "NOT FOUND"
    with source.changed(bug.file, text):
        found = source.run(bug.tests, limit)
    return _VERDICTS.get(found.ended, f"BROKEN: {found.output[-300:]}")


def _print_verdict(bug: PlantedBug, verdict: str) -> None:
    old, new = (" ".join(text.split())[:60] for text in (bug.old, bug.new))
    print(f"{verdict:10} {bug.file.removeprefix('src/parsimon/')}: {old} -> {new}", flush=True)


def judge_all(bugs: Sequence[PlantedBug], jobs: int) -> list[str]:
    """Judge bugs, some at a time, and print each; return the verdicts in their order."""

    def judge_and_print(bug: PlantedBug, source: ScratchSource) -> str:
        verdict = judge(bug, source)
        _print_verdict(bug, verdict)
        return verdict

    return judge_each(judge_and_print, bugs, jobs)


def complain_of_tests(bugs: Sequence[PlantedBug]) -> str:
    """Return what the named tests say of the code as it is: nothing if all of them pass."""
    tests = sorted({test for bug in bugs for test in bug.tests})
    with tempfile.TemporaryDirectory() as folder:
        found = ScratchSource(Path(folder, "whole")).run(tests, limit=_LIMIT * 10)
    return "" if found.ended == "passed" else found.output


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant the bugs, print what became of each and how many were caught."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a word of the file, of a text or of a test")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(arguments)
    bugs = [bug for bug in BUGS if given.only in " ".join([*bug[:3], *bug.tests])]
    if complaint := complain_of_tests(bugs):
        print(f"{complaint[-3000:]}\nThe named tests fail without any bug; mend them first.")
        return 1
    verdicts = judge_all(bugs, given.jobs)
    n_caught = sum(verdict.startswith("caught") for verdict in verdicts)
    n_leaks = sum(bug.is_leak for bug in bugs)
    print(
        f"{n_caught} of {len(bugs)} bugs caught; {n_leaks} of them let in rows that were left out."
    )
    return int(n_caught < len(bugs))


if __name__ == "__main__":
    sys.exit(main())
