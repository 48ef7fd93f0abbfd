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
    """Tests by file and line, and what each takes; none that fails.

    seconds: Of processor time, for a test by itself.
    shared: For the fixtures of a test that others of its file use too.
    """

    tests: Mapping[str, Mapping[int, frozenset[str]]]
    seconds: Mapping[str, float]
    shared: Mapping[str, float]

    def tests_of(self, file: str, lines: Iterable[int]) -> frozenset[str]:
        """Return the tests that run one of the lines."""
        by_line = self.tests.get(file, {})
        return frozenset().union(*(by_line.get(line, frozenset()) for line in lines))


def read_map(folder: Path) -> CoverageMap:
    """Return all that the runs kept in a folder saw."""
    tests: dict[str, dict[int, frozenset[str]]] = defaultdict(dict)
    seconds: dict[str, float] = {}
    shared: dict[str, float] = {}
    for path in sorted(folder.glob(f"*{_ENDING}")):
        took = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        seconds |= took["seconds"]
        shared |= took["shared"]
        data = CoverageData(str(path))
        data.read()
        for measured in data.measured_files():
            file = Path(measured).relative_to(ROOT).as_posix()
            for line, contexts in data.contexts_by_lineno(measured).items():
                # What runs while a module is imported belongs to no test.
                named = frozenset(contexts).intersection(seconds)
                tests[file][line] = tests[file].get(line, frozenset()) | named
    return CoverageMap(tests, seconds, shared)


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
        self.path, self.failed = path, set[str]()
        self.seconds, self.shared = dict[str, float](), dict[str, float]()
        # The last setup of a fixture, which may have parameters; and of all fixtures so far.
        self.fixtures: dict[Any, float] = {}
        self.ready = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        running = Coverage.current()
        running.switch_context(item.nodeid)
        start, ready = time.process_time(), self.ready
        try:
            return (yield)
        finally:
            took = time.process_time() - start
            self.seconds[item.nodeid] = took + ready - self.ready
            self.shared[item.nodeid] = sum(self.fixtures.get(one, 0.0) for one in _fixtures(item))
            running.switch_context("")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        start = time.process_time()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self.fixtures[fixturedef] = time.process_time() - start
                self.ready += self.fixtures[fixturedef]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # It would fail for every mutant.
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        passed = self.seconds.keys() - self.failed
        took = {"seconds": self.seconds, "shared": self.shared}
        kept = {key: {test: one[test] for test in sorted(passed)} for key, one in took.items()}
        self.path.write_text(json.dumps(kept), encoding="utf-8")


def _fixtures(item: pytest.Item) -> Iterator[Any]:
    info = getattr(item, "_fixtureinfo", None)
    for definitions in info.name2fixturedefs.values() if info else ():
        yield from definitions


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
