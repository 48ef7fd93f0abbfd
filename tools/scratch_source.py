"""A copy of the package in which a line may be changed, and the tests run against it.

The work tree is never touched: tests are read from it, `parsimon` is imported from the copy. Runs
are children of a process that has the libraries loaded already, which saves seconds in each.
"""

import compileall
import multiprocessing
import os
import queue
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[1]
_ARGUMENTS = ("-n", "0", "-x", "-q", "--assert=plain", "--no-header", "-p", "no:cacheprovider")
_LOADED = (
    "numpy", "scipy.stats", "scipy.optimize", "scipy.sparse.linalg", "sklearn.ensemble", "pandas",
    "sklearn.linear_model", "sklearn.model_selection", "sklearn.gaussian_process", "hypothesis",
    "sklearn.svm", "sklearn.utils.estimator_checks", "polars", "narwhals", "matplotlib.pyplot",
    "moocore", "skops.io", "numba", "pytest", "xdist.plugin",
    # What the tools import themselves, and a child again with their main module.
    "libcst.metadata", "mutmut.mutation.mutators", "coverage",
)  # fmt: skip
# Of wall time for each second of processor time: other work on the machine is no fault of a test.
_PATIENCE = 15.0


class TestRun(NamedTuple):
    """How tests ended: "passed", "failed", "too long" or "broken"; what pytest printed."""

    ended: str
    output: str
    seconds: float


class ScratchSource:
    """A copy of `src` in a folder of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        # Compiled files stay valid with the times of their sources, and save half of each start.
        shutil.copytree(ROOT / "src", folder / "src")
        compileall.compile_dir(folder / "src", quiet=2)

    @contextmanager
    def changed(self, file: str, text: str) -> Iterator[None]:
        """Give a file, named from the root of the repository, another text for a while."""
        path = self.folder / file
        path.write_text(text, encoding="utf-8")
        try:
            yield
        finally:
            shutil.copy2(ROOT / file, path)

    def run(self, tests: Sequence[str], limit: float) -> TestRun:
        """Run tests, named from the root of the repository, against the copy.

        limit: Seconds of processor time.
        """
        output = self.folder / "output.txt"
        start = time.monotonic()
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([*_LOADED])
        child = context.Process(target=_run_tests, args=(self.folder, output, [*tests], limit))
        child.start()
        child.join(_PATIENCE * limit)
        if child.is_alive():
            os.killpg(child.pid, signal.SIGKILL)
            child.join()
        text = output.read_text(encoding="utf-8", errors="replace")
        return TestRun(_ending(child.exitcode), text, time.monotonic() - start)


def judge_each(
    judge: Callable[[T, ScratchSource], str], changes: Sequence[T], jobs: int
) -> list[str]:
    """Return what `judge` says of each change, some at a time, each with a copy for itself."""
    with tempfile.TemporaryDirectory() as folder:
        sources: queue.Queue[ScratchSource] = queue.Queue()
        for number in range(jobs):
            sources.put(ScratchSource(Path(folder, str(number))))

        def judge_one(change: T) -> str:
            source = sources.get()
            try:
                return judge(change, source)
            finally:
                sources.put(source)

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(judge_one, changes))


def _ending(code: int | None) -> str:
    if code in (-signal.SIGKILL, -signal.SIGXCPU):
        return "too long"
    # A crash of the interpreter is a failure too, and so is a module that cannot be imported, or an
    # interrupt that a test meant to be caught.
    if code in (1, 2) or (code is not None and code < 0):
        return "failed"
    return "passed" if code == 0 else "broken"


def _run_tests(folder: Path, output: Path, tests: list[str], limit: float) -> None:
    """Be the child: take `parsimon` from the copy, and leave with pytest's code."""
    os.setsid()
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
    os.chdir(ROOT)
    sys.dont_write_bytecode = True
    paths = [str(folder / "src"), str(ROOT)]
    sys.path[:0] = paths
    # For the processes that tests start.
    os.environ |= {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
    }
    import pytest

    code = pytest.main([*_ARGUMENTS, *tests])
    sys.stdout.flush()
    os._exit(int(code))
