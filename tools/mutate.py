"""Run tests against mutants of the source, and say how many of them they kill.

    python -m tools.mutate                              # 300 of the four packages, seed 0
    python -m tools.mutate --number 60 --seed 7 --packages structures --minutes 10

A mutant is a copy of the source with one small change by an operator of mutmut. It meets the tests
that run its line, those of its own package first and the quickest before others, until one fails. A
map of lines and tests is made once and kept in `--map`, outside the repository. Prints every
survivor; exit code 1 if fewer than 85 % are killed. After `--minutes` no mutant is begun, and the
score is that of those before.
"""

import argparse
import math
import queue
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path

from tools.coverage_map import CoverageMap, make_map, read_map
from tools.mutants import Mutant, sample_mutants
from tools.scratch_source import ScratchSource

PACKAGES = ("structures", "evaluation", "statistician", "inference")
# Packages whose tests run most of `inference`.
_USERS = ("bpm", "gp", "rvm")
ENOUGH = 0.85
# Seconds of processor time: of tests that a mutant meets in one go after the other, the last time
# with all tests of their files; and what a start of pytest and the fixtures of files may take.
_BATCHES = ((3.0, False), (12.0, False), (8.0, True))
_START = 90.0
# A mutant that makes tests this much slower has been seen.
_SLOWER = 4.0


def choose_tests(
    mutant: Mutant, tests: CoverageMap, budget: float, *, mates: bool = False
) -> list[str]:
    """Return tests that run the line of a mutant, in order, and within seconds of their time.

    With `mates` all tests of their files: a fixture of a file runs a line for the first test alone,
    and the others look at what it made.
    """
    found = _covering(mutant, tests)
    if mates:
        files = {test.partition("::")[0] for test in found}
        found = frozenset(test for test in tests.seconds if test.partition("::")[0] in files)
    package = mutant.file.split("/")[2]

    def rank(test: str) -> tuple[bool, float, str]:
        return not test.startswith(f"tests/{package}/"), tests.seconds.get(test, 0.0), test

    ordered = sorted(found, key=rank)
    spent = accumulate(tests.seconds.get(test, 0.0) for test in ordered)
    chosen = [test for test, sum_ in zip(ordered, spent, strict=True) if sum_ <= budget]
    return chosen or ordered[:1]


def _covering(mutant: Mutant, tests: CoverageMap) -> frozenset[str]:
    """Return the tests of the mutant's lines; of a line that only an import runs, the file's."""
    found = tests.tests_of(mutant.file, mutant.lines)
    return found or tests.tests_of(mutant.file, tests.tests.get(mutant.file, {}))


def judge(mutant: Mutant, source: ScratchSource, tests: CoverageMap) -> str:
    """Return what became of a mutant: "killed", "killed (endless)", "SURVIVED", "NOT COVERED"."""
    met: list[str] = []
    for budget, mates in _BATCHES:
        asked = choose_tests(mutant, tests, budget, mates=mates)
        chosen = [test for test in asked if test not in met]
        if not chosen:
            continue
        limit = _START + _SLOWER * sum(tests.seconds.get(test, 0.0) for test in chosen)
        with source.changed(mutant.file, mutant.text):
            found = source.run(chosen, limit)
        if found.ended in ("failed", "too long"):
            return "killed" if found.ended == "failed" else "killed (endless)"
        if found.ended == "broken":
            return f"BROKEN: {found.output[-300:]}"
        met += chosen
    return "SURVIVED" if met else "NOT COVERED"


def judge_all(
    mutants: Sequence[Mutant], tests: CoverageMap, jobs: int, minutes: float = math.inf
) -> list[str]:
    """Judge mutants, some at a time, print those that no test saw, and return all verdicts.

    Of those that would begin too late it is empty.
    """
    deadline = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as folder:
        sources: queue.Queue[ScratchSource] = queue.Queue()
        for number in range(jobs):
            sources.put(ScratchSource(Path(folder, str(number))))

        def one(mutant: Mutant) -> str:
            if time.monotonic() > deadline:
                return ""
            source = sources.get()
            try:
                verdict = judge(mutant, source, tests)
            finally:
                sources.put(source)
            if not verdict.startswith("killed"):
                print(f"{verdict} {mutant.words}", flush=True)
            return verdict

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, mutants))


def main(arguments: Sequence[str] | None = None) -> int:
    """Make mutants, run the tests against each, print the score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", nargs="+", default=list(PACKAGES))
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=math.inf)
    default = Path(tempfile.gettempdir(), "parsimon-coverage")
    parser.add_argument("--map", type=Path, default=default, help="a folder; made if missing")
    given = parser.parse_args(arguments)
    if not given.map.is_dir():
        folders = dict.fromkeys((*given.packages, *_USERS))
        make_map(given.map, given.packages, [f"tests/{folder}" for folder in folders])
    mutants = sample_mutants(given.packages, given.number, given.seed)
    found = judge_all(mutants, read_map(given.map), given.jobs, given.minutes)
    verdicts = [verdict for verdict in found if verdict]
    n_killed = sum(verdict.startswith("killed") for verdict in verdicts)
    share = n_killed / max(1, len(verdicts))
    print(f"{n_killed} of {len(verdicts)} mutants killed ({share:.1%}), seed {given.seed};")
    print(f"{verdicts.count('killed (endless)')} of them by the limit of processor time.")
    return int(n_killed < ENOUGH * len(verdicts))


if __name__ == "__main__":
    sys.exit(main())
