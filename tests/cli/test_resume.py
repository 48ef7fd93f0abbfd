"""A report that is killed at any moment and run again is the one of a run in peace."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from parsimon.cli import main

_COMMAND = "from parsimon.cli import main; main()"
_OPTIONS = (
    *("--target", "y", "--depth", "1", "--outer", "2", "--families", "none", "--rivals", "tree"),
    *("--jobs", "1", "--json", "--quiet"),
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("resume")
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 40)).round(3)
    label = np.where(x + 0.3 * rng.normal(size=40) > 0, "yes", "no")
    pd.DataFrame({"x": x, "z": z, "y": label}).to_csv(folder / "small.csv", index=False)
    return folder / "small.csv"


def _in_peace(table: Path, name: str, *more: str) -> bytes:
    """Return the data of a report that nothing disturbs."""
    page = table.with_name(f"{name}.html")
    words = ["report", str(table), "--out", str(page), *_OPTIONS, *more]
    assert CliRunner().invoke(main, words).exit_code == 0
    return page.with_suffix(".json").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(table: Path) -> bytes:
    return _in_peace(table, "undisturbed")


@pytest.fixture(scope="module")
def undisturbed_deeper(table: Path) -> bytes:
    return _in_peace(table, "deeper", "--depth", "2", "--resume")


def _start(table: Path, name: str, *more: str) -> "subprocess.Popen[str]":
    page = table.with_name(f"{name}.html")
    words = [sys.executable, "-c", _COMMAND, "report", str(table), "--out", str(page)]
    return subprocess.Popen([*words, *_OPTIONS, *more], stderr=subprocess.PIPE, text=True)


def _killed_when(run: "subprocess.Popen[str]", file: Path) -> bool:
    """Kill a run as soon as a file is there; return whether it still ran."""
    while run.poll() is None and not file.exists():
        time.sleep(0.01)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    return run.returncode == -signal.SIGKILL


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a kill that cannot be caught")
def test_a_killed_report_goes_on_to_the_same_bytes(table: Path, undisturbed: bytes) -> None:
    folder = table.with_name("resumed.resume")
    for done in ("search_-1_0.done", "compare_0_0.done"):
        assert _killed_when(_start(table, "resumed", "--resume"), folder / done)
        assert not table.with_name("resumed.html").exists()
    (folder / "search_1_0.done").write_bytes(b"half a file")

    resumed = _start(table, "resumed", "--resume")
    _, said = resumed.communicate()
    assert resumed.returncode == 0

    assert (
        f"{folder / 'search_1_0.done'} is not a file of finished work; such files are ignored"
        in said
    )
    assert table.with_name("resumed.json").read_bytes() == undisturbed
    assert not folder.exists()


# Presses Ctrl-C in the search of the table: its second level is being judged. Who runs tests in the
# background has told shells to ignore Ctrl-C.
_INTERRUPTED = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from parsimon.gp._beam import Beam
step, calls = Beam.step, []
def pressed(*given):
    calls.append(given)
    if len(calls) == 2:
        os.kill(os.getpid(), signal.SIGINT)
    return step(*given)
Beam.step = pressed
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_search_that_ctrl_c_cut_is_done_again(
    table: Path, undisturbed_deeper: bytes, jobs: str
) -> None:
    folder, page = table.with_name(f"cut{jobs}.resume"), table.with_name(f"cut{jobs}.html")
    words = ["report", str(table), "--out", str(page), *_OPTIONS, "--depth", "2", "--resume"]
    words += ["--jobs", jobs]
    hook = _INTERRUPTED if jobs == "1" else _FROM_OUTSIDE
    cut = subprocess.run(
        [sys.executable, "-c", hook + _COMMAND, *words], stderr=subprocess.PIPE, text=True
    )
    assert cut.returncode == 130
    stands = f"what is finished is in {folder}, and the same command goes on from here"
    assert cut.stderr.splitlines()[-1] == f"Stopped; {stands}."
    # With workers, searches may have been finished by then, and are rightly kept.
    assert jobs == "2" or not list(folder.glob("search*"))
    assert not page.exists()
    assert CliRunner().invoke(main, words).exit_code == 0
    assert page.with_suffix(".json").read_bytes() == undisturbed_deeper


# Workers are at work by the time that this is called; the terminal would tell them, too.
_FROM_OUTSIDE = """
import os, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
from parsimon import _parallel
real, timers = _parallel.Workers.map, []
def pressed(self, *given, **options):
    if not timers:
        timers.append(threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)))
        timers[0].start()
    return real(self, *given, **options)
_parallel.Workers.map = pressed
"""
