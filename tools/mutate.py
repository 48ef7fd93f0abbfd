"""Run tests against mutants of the source, and say how many of them they kill.

    python -m tools.mutate                              # 300 of the four packages, seed 0
    python -m tools.mutate --number 60 --seed 7 --packages structures --minutes 10
    python -m tools.mutate --packages statistician/prepare --map FOLDER  # of a folder alone

A mutant is a copy of the source with one small change by an operator of mutmut. It meets the tests
that run its line, those of its own package first and the quickest before others, until one fails. A
map of lines and tests is made once and kept in `--map`, outside the repository. Prints every
survivor; exit code 1 if fewer than 85 % are killed. After `--minutes` no mutant is begun, and the
score is that of those before.
"""

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools.coverage_map import CoverageMap, make_map, read_map
from tools.mutants import Mutant, sample_mutants
from tools.scratch_source import ScratchSource, judge_each

PACKAGES = ("structures", "evaluation", "statistician", "inference")
# Whose tests run what those of `inference` do not: weights of kernels.
_USERS = ("bpm",)
ENOUGH = 0.85
_VERDICTS = {"failed": "killed", "too long": "killed (endless)", "passed": "SURVIVED"}
# Seconds of processor time of the tests that a mutant meets: those that run its line, then others
# of their files, for which a fixture may have run it; and what the start of pytest may take.
_MEETS, _MATES = 10.0, 2.0
_START = 20.0
# A mutant that makes tests this much slower has been seen.
_SLOWER = 4.0


def choose_tests(mutant: Mutant, tests: CoverageMap) -> tuple[list[str], float]:
    """Return the tests that a mutant meets, in their order, and the seconds that they take.

    Of a line that only an import runs, those of its file. First come the tests named after the
    module, then those of its package, of each the quickest first.
    """
    found = tests.tests_of(mutant.file, mutant.lines)
    found = found or tests.tests_of(mutant.file, tests.tests.get(mutant.file, {}))
    package, module = mutant.file.split("/")[2], Path(mutant.file).stem.strip("_")

    def rank(test: str) -> tuple[bool, bool, float, str]:
        took = tests.seconds[test] + tests.shared[test]
        is_near = test.startswith(f"tests/{package}/")
        return not (is_near and f"test_{module}" in _file(test)), not is_near, took, test

    chosen, spent = _affordable(sorted(found, key=rank), tests, _MEETS)
    files = {_file(test) for test in chosen}
    others = [test for test in tests.seconds if _file(test) in files and test not in found]
    mates, more = _affordable(sorted(others, key=rank), tests, _MATES, chosen)
    return chosen + mates, spent + more


def _affordable(
    ordered: Sequence[str], tests: CoverageMap, budget: float, met: Iterable[str] = ()
) -> tuple[list[str], float]:
    """Return the first tests that take so many seconds together, at least one, and what they take.

    met: Tests whose fixtures are there.
    """

    def fixtures(test: str) -> tuple[str, float]:
        # Those of a file that took the same time are the same.
        return _file(test), tests.shared[test]

    chosen, spent, there = list[str](), 0.0, {fixtures(test) for test in met}
    for test in ordered:
        took = tests.seconds[test] + (0.0 if fixtures(test) in there else tests.shared[test])
        if spent + took <= budget or not (chosen or there):
            chosen.append(test)
            there.add(fixtures(test))
            spent += took
    return chosen, spent


def _file(test: str) -> str:
    return test.partition("::")[0]


def judge(mutant: Mutant, source: ScratchSource, tests: CoverageMap) -> str:
    """Return what became of a mutant: "killed", "killed (endless)", "SURVIVED", "NOT COVERED"."""
    chosen, seconds = choose_tests(mutant, tests)
    if not chosen:
        return "NOT COVERED"
    with source.changed(mutant.file, mutant.text):
        found = source.run(chosen, _START + _SLOWER * seconds)
    return _VERDICTS.get(found.ended, f"BROKEN: {found.output[-300:]}")


def judge_all(
    mutants: Sequence[Mutant], tests: CoverageMap, jobs: int, minutes: float = math.inf
) -> list[str]:
    """Judge mutants, some at a time, print those that no test saw, and return all verdicts.

    Of those that would begin too late it is empty.
    """
    deadline = time.monotonic() + 60 * minutes

    def judge_in_time(mutant: Mutant, source: ScratchSource) -> str:
        if time.monotonic() > deadline:
            return ""
        verdict = judge(mutant, source, tests)
        if not verdict.startswith("killed"):
            print(f"{verdict} {mutant.words}", flush=True)
        return verdict

    return judge_each(judge_in_time, mutants, jobs)


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
