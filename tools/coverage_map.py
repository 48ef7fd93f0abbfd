"""Which tests run a line of the source, and how long each of them takes.

    python -m tools.coverage_map FOLDER --packages structures inference --tests tests/structures

One run of pytest under coverage.py, in which this module is a plugin that names the test to it. The
map is data outside the repository; it stays good while the code changes little.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage, CoverageData

from tools.scratch_source import ROOT

_SECONDS = "PARSIMON_TEST_SECONDS"
_ENDING = ".coverage"


@dataclass(frozen=True)
class CoverageMap:
    """Tests by file and line, and the seconds of processor time that each took; none that fails."""

    tests: Mapping[str, Mapping[int, frozenset[str]]]
    seconds: Mapping[str, float]

    def tests_of(self, file: str, lines: Iterable[int]) -> frozenset[str]:
        """Return the tests that run one of the lines."""
        by_line = self.tests.get(file, {})
        return frozenset().union(*(by_line.get(line, frozenset()) for line in lines))


def read_map(folder: Path) -> CoverageMap:
    """Return all that the runs kept in a folder saw."""
    tests: dict[str, dict[int, frozenset[str]]] = defaultdict(dict)
    seconds: dict[str, float] = {}
    for path in sorted(folder.glob(f"*{_ENDING}")):
        seconds |= json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        data = CoverageData(str(path))
        data.read()
        for measured in data.measured_files():
            file = Path(measured).relative_to(ROOT).as_posix()
            for line, contexts in data.contexts_by_lineno(measured).items():
                # What runs while a module is imported belongs to no test.
                named = frozenset(contexts).intersection(seconds)
                tests[file][line] = tests[file].get(line, frozenset()) | named
    return CoverageMap(tests, seconds)


def make_map(folder: Path, packages: Sequence[str], tests: Sequence[str]) -> int:
    """Run tests, and keep which lines of the packages each of them ran; return pytest's code."""
    folder.mkdir(parents=True, exist_ok=True)
    name = "-".join(Path(test).stem for test in tests)
    included = ",".join(str(ROOT / "src" / "parsimon" / package / "*") for package in packages)
    command = [sys.executable, "-m", "coverage", "run", f"--include={included}"]
    command += [f"--data-file={folder / name}{_ENDING}", "-m", "pytest", "-n", "0", *tests]
    command += ["-p", "no:cacheprovider", "-p", "tools.coverage_map", "--assert=plain"]
    variables = os.environ | {_SECONDS: str(folder / f"{name}.json")}
    return subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode


class _Watch:
    """Tells coverage.py which test runs, and notes its time."""

    def __init__(self, path: Path):
        self.path, self.seconds, self.failed = path, dict[str, float](), set[str]()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        running = Coverage.current()
        running.switch_context(item.nodeid)
        start = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - start
            running.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # It would fail for every mutant.
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        passed = {test: took for test, took in self.seconds.items() if test not in self.failed}
        self.path.write_text(json.dumps(passed), encoding="utf-8")


def pytest_configure(config: Any) -> None:
    """Be a plugin of pytest where coverage.py is running."""
    if _SECONDS in os.environ:
        config.pluginmanager.register(_Watch(Path(os.environ[_SECONDS])))


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a map and leave with the code of pytest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--packages", nargs="+", required=True)
    parser.add_argument("--tests", nargs="+", required=True)
    given = parser.parse_args(arguments)
    return make_map(given.folder, given.packages, given.tests)


if __name__ == "__main__":
    sys.exit(main())
