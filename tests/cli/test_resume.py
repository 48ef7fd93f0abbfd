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
from parsimon.gp._beam import Beam

_COMMAND = "from parsimon.cli import main; main()"
_OPTIONS = (
    *("--target", "y", "--depth", "1", "--outer", "2", "--families", "gp", "--rivals", "tree"),
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
@pytest.mark.filterwarnings("default::parsimon.exceptions.CheckpointWarning")
def test_a_killed_report_goes_on_to_the_same_bytes(table: Path, undisturbed: bytes) -> None:
    folder, words = _words_of(table, "resumed")
    assert _killed_when(_start(table, "resumed", "--resume"), folder / "compare_0_0.done")
    assert not table.with_name("resumed.html").exists()
    (folder / "compare_0_1.done").write_bytes(b"half a file")

    page = table.with_name("resumed.html")
    resumed = CliRunner().invoke(main, words)
    assert resumed.exit_code == 0, resumed.output
    ignored = (
        f"{folder / 'compare_0_1.done'} is not a file of finished work; such files are ignored"
    )
    assert ignored in resumed.stderr
    assert page.with_suffix(".json").read_bytes() == undisturbed
    assert not folder.exists()


@pytest.mark.usefixtures("interruptible")
def test_a_search_that_ctrl_c_cut_is_done_again(
    table: Path, undisturbed_deeper: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, calls = Beam.step, []

    def press(*given):
        # In the search of the table, while its second level is being judged.
        calls.append(given)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return step(*given)

    folder, words = _words_of(table, "cut1", "--depth", "2", "--jobs", "1")
    with monkeypatch.context() as patch:
        patch.setattr(Beam, "step", press)
        cut = CliRunner().invoke(main, words)
    _was_cut(cut.exit_code, cut.stderr, folder)
    assert not list(folder.glob("compare*"))
    assert _goes_on(words) == undisturbed_deeper


def test_what_ctrl_c_cut_in_workers_is_done_again(table: Path, undisturbed: bytes) -> None:
    folder, words = _words_of(table, "cut2", "--jobs", "2")
    cut = subprocess.run(
        [sys.executable, "-c", _FROM_OUTSIDE + _COMMAND, *words], stderr=subprocess.PIPE, text=True
    )
    # Searches may have been finished by then, and are rightly kept.
    _was_cut(cut.returncode, cut.stderr, folder)
    assert _goes_on([*words, "--jobs", "1"]) == undisturbed


def _words_of(table: Path, name: str, *more: str) -> tuple[Path, list[str]]:
    """Return the folder of finished work and a command that keeps it."""
    page = table.with_name(f"{name}.html")
    words = ["report", str(table), "--out", str(page), *_OPTIONS, "--resume", *more]
    return table.with_name(f"{name}.resume"), words


def _was_cut(code: int, said: str, folder: Path) -> None:
    assert code == 130
    stands = f"what is finished is in {folder}, and the same command goes on from here"
    assert said.splitlines()[-1] == f"Stopped; {stands}."
    assert not folder.with_suffix(".html").exists()


def _goes_on(words: list[str]) -> bytes:
    """Return the data of the report that the same command finishes."""
    assert CliRunner().invoke(main, words).exit_code == 0
    return Path(words[3]).with_suffix(".json").read_bytes()


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
