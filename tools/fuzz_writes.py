"""Commands that are interrupted, led astray by links, out of disk or given planted folders.

    python -m tools.fuzz_writes --runs 40

Each run is made from its number alone (`--first NUMBER --runs 1` has it again): a small table, a
command in a process of its own, and one thing that goes wrong. Whatever it is, the exit code is the
right one, an old file stays whole until a new one is, nothing half-written is left, and no code
that came with a folder runs. The last line is the verdict.
"""

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_COMMAND = "from parsimon.cli import main; main()"
_OLD = b"old"
_QUICK = ("--target", "y", "--jobs", "1", "--quiet", "--outer", "2")
# The options of a command, the file that it writes, and the folder of --resume.
COMMANDS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "fit": (("--family", "linear", "--out", "out.skops"), "out.skops", "out.resume"),
    "compare": (
        ("--families", "none", "--rivals", "tree", "--json", "out.json"),
        "out.json",
        "t-compare.resume",
    ),
    "report": (
        ("--families", "none", "--rivals", "none", "--depth", "1", "--out", "out.html"),
        "out.html",
        "out.resume",
    ),
}


class Run(NamedTuple):
    """A folder with a table and perhaps old files, and the command that is run there."""

    folder: Path
    command: str
    rng: np.random.Generator

    @property
    def out(self) -> Path:
        return self.folder / COMMANDS[self.command][1]

    @property
    def kept(self) -> Path:
        return self.folder / COMMANDS[self.command][2]

    def start(
        self, *more: str, settings: str = "", most: int | None = None
    ) -> "subprocess.Popen[str]":
        """Start the command in its folder, with a configuration folder of its own.

        most: Bytes that a file may have.
        """
        options = COMMANDS[self.command][0]
        words = [sys.executable, "-c", _COMMAND, self.command, "t.csv", *_QUICK, *options, *more]
        place = settings or str(self.folder / "settings")
        return subprocess.Popen(
            words,
            cwd=self.folder,
            env={**os.environ, "XDG_CONFIG_HOME": place},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=partial(_ready, most),
        )


def _ready(most: int | None) -> None:
    """Let a process hear Ctrl-C, which what runs in the background does not, and limit files."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if most is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def interrupt(run: Run) -> list[str]:
    """Send Ctrl-C at some moment: 130 and the old file, or done with the new one."""
    run.out.write_bytes(_OLD)
    more = ("--resume",) if run.rng.random() < 0.5 else ()
    process = run.start(*more)
    try:
        _, said = process.communicate(timeout=float(run.rng.uniform(3, 12)))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    found = _wrong_end(run, process.returncode, said, allowed=(0, 130))
    if process.returncode == 130 and not said.rstrip().endswith(("from here.", "written.")):
        found.append(f"it ended with other words: {said[-200:]!r}")
    return found


def follow_link(run: Run) -> list[str]:
    """Put links where files go, the names with numbers of processes too: none is followed."""
    precious = run.folder / "precious"
    precious.write_bytes(b"precious")
    run.out.symlink_to(precious)
    for number in range(os.getpid(), os.getpid() + 200):
        (run.folder / f".{run.out.name}.{number}").symlink_to(precious)
    process = run.start()
    _, said = process.communicate()
    found = _wrong_end(run, process.returncode, said, allowed=(0,))
    if precious.read_bytes() != b"precious" or run.out.is_symlink():
        found.append("a link was followed")
    return found


def fill_disk(run: Run) -> list[str]:
    """Let no file be longer than some bytes: one sentence that names it, or all is well."""
    run.out.write_bytes(_OLD)
    most = int(2 ** run.rng.uniform(0, 20))
    more = ("--resume",) if run.rng.random() < 0.5 else ()
    # The key of --resume is short, but must not be what fails.
    (run.folder / "settings" / "parsimon").mkdir(parents=True, mode=0o700)
    key = run.folder / "settings" / "parsimon" / "resume.key"
    key.write_bytes(bytes(32))
    key.chmod(0o600)
    process = run.start(*more, most=most)
    _, said = process.communicate()
    found = _wrong_end(run, process.returncode, said, allowed=(0, 1))
    last = said.strip().splitlines()[-1:] or [""]
    if process.returncode == 1 and not (last[0].startswith("Error: ") and "out" in last[0]):
        found.append(f"the last line names no file: {last[0]!r}")
    return found


class _Planted:
    """Makes a folder when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.trace),)


def _keep_as_another_user(run: Run, planted: Any) -> None:
    """Put something into every file that somebody with this table and another key has kept."""
    from parsimon.statistician.finished_work import FinishedWork

    theirs = str(run.folder / "theirs")
    process = run.start("--resume", settings=theirs)
    while process.poll() is None and not any(run.kept.glob("*.done")):
        time.sleep(0.01)
    process.kill()
    process.communicate()
    own = os.environ.get("XDG_CONFIG_HOME")
    os.environ["XDG_CONFIG_HOME"] = theirs
    try:
        for path in run.kept.glob("*.done"):
            stage, *place = path.stem.split("_")
            key = path.read_bytes().split(b" ")[1].decode()
            FinishedWork(run.kept, key).write(stage, tuple(map(int, place)), planted)
    finally:
        os.environ.pop("XDG_CONFIG_HOME")
        if own is not None:
            os.environ["XDG_CONFIG_HOME"] = own
    for path in run.kept.glob(".*.part"):
        path.unlink()


def plant_folder(run: Run) -> list[str]:
    """Give a folder of finished work out of somebody's archive: nothing of it runs."""
    run.out.write_bytes(_OLD)
    trace = run.folder / "trace"
    mode = int(run.rng.choice([0o700, 0o770, 0o777]))
    _keep_as_another_user(run, _Planted(trace))
    run.kept.chmod(mode)
    process = run.start("--resume")
    _, said = process.communicate()
    found = _wrong_end(run, process.returncode, said, allowed=(0,) if mode == 0o700 else (1,))
    if trace.exists():
        found.append("a planted file ran code")
    if mode == 0o700 and "was not kept by you on this computer" not in said:
        found.append(f"nothing was said of a folder of somebody else: {said[-200:]!r}")
    if mode != 0o700 and "Others may write to" not in said:
        found.append(f"a folder of others was not refused: {said[-200:]!r}")
    return found


KINDS: dict[str, Callable[[Run], list[str]]] = {
    "interrupts": interrupt,
    "links": follow_link,
    "full disk": fill_disk,
    "planted folders": plant_folder,
}


def _wrong_end(run: Run, code: int, said: str, allowed: tuple[int, ...]) -> list[str]:
    """Return what is wrong however a command ended: its code, its words, the files it left."""
    found = [] if code in allowed else [f"it ended with {code}: {said[-300:]!r}"]
    if "Traceback" in said:
        found.append(f"there is a traceback: {said[-300:]!r}")
    content = run.out.read_bytes() if run.out.exists() else b""
    is_new = content != _OLD and len(content) > len(_OLD)
    if code == 0 and not is_new:
        found.append("it ended well, and the file is not there")
    if code != 0 and not run.out.is_symlink() and content != _OLD:
        found.append("it failed, and the old file is gone")
    left = [path.name for path in run.folder.rglob("*.part")]
    return found + ([f"files were left: {left}"] if left else [])


def complaints(number: int, folder: Path) -> list[str]:
    """Return what went wrong in a run, nothing if all is well."""
    rng = np.random.default_rng([27, number])
    kind = list(KINDS)[number % len(KINDS)]
    command = str(rng.choice(list(COMMANDS)))
    x, z = rng.normal(size=(2, 40)).round(3)
    labels = np.where(x + 0.3 * rng.normal(size=40) > 0, "yes", "no")
    rows = [f"{a},{b},{c}" for a, b, c in zip(x, z, labels, strict=True)]
    (folder / "t.csv").write_text("\n".join(["x,z,y", *rows, ""]))
    found = KINDS[kind](Run(folder, command, rng))
    return [f"{kind}, {command}: {one}" for one in found]


def fuzz(numbers: range) -> bool:
    """Make runs one after another, print what is wrong with any; return whether all is well."""
    bad = []
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            wrong = complaints(number, Path(folder))
        for one in wrong:
            print(f"run {number} ({one})", flush=True)
        bad += [number] if wrong else []
    named = f"complaints about {len(bad)} ({bad})" if bad else "nothing to complain of"
    print(f"{len(numbers)} runs that write ({', '.join(KINDS)}): {named}.")
    return not bad


def main() -> int:
    """Make the runs that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="Number of the first run.")
    options = parser.parse_args()
    return int(not fuzz(range(options.first, options.first + options.runs)))


if __name__ == "__main__":
    sys.exit(main())
