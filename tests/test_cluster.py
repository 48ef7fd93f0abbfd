"""A real Dask cluster of two processes gives the bits of one, also if a worker dies."""

import contextlib
import functools
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression

from parsimon._parallel import Workers, on_cluster
from parsimon.cli import main
from parsimon.evaluation import honest_score
from parsimon.exceptions import InvalidInputError
from parsimon.gp import KernelSearch
from parsimon.pareto import Box, nsga2
from parsimon.report.data import to_json
from parsimon.statistician import analyse

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(n_workers=2, **options, silence_logs=60) as made:
        yield made


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(45, 2)).round(3)
    return X, (X[:, 0] + 0.4 * rng.normal(size=45) > 0).astype(int)


def _search(X: Any, y: Any, n_jobs: int) -> Any:
    found = KernelSearch(depth=2, cv=3, n_jobs=n_jobs, random_state=0).fit(X, y)
    return found.predict_proba(X), [(str(one.words), one.probability) for one in found.claims_]


def _score(X: Any, y: Any, n_jobs: int) -> Any:
    score = honest_score(LogisticRegression(), X, y, outer=3, n_jobs=n_jobs, random_state=0)
    frame = score.to_frame().drop(columns="seconds")
    return frame.to_csv(), score.mean


def _front(X: Any, y: Any, n_jobs: int) -> Any:
    found = nsga2(
        np.sin,
        Box(0.0, 6.0, n_variables=3),
        population_size=20,
        max_iter=4,
        chunk_size=5,
        n_jobs=n_jobs,
        random_state=0,
    )
    return found.front.values, found.solutions


def _analysis(X: Any, y: Any, n_jobs: int) -> Any:
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": np.where(y, "yes", "no")})
    found = analyse(table, "y", depth=1, outer=2, families="gp,bpm", rivals="linear", n_jobs=n_jobs)
    return to_json(found.findings), found.recommended.predict(table).tolist()


@pytest.fixture(scope="module")
def alone(rows: Any) -> Any:
    """Return a function that does a piece of work in one process, once."""
    return functools.cache(lambda work: work(*rows, n_jobs=1))


@pytest.mark.parametrize("work", [_search, _score, _front, _analysis])
def test_a_cluster_gives_the_bits_of_one_process(
    cluster: Any, rows: Any, alone: Any, work: Any
) -> None:
    here = alone(work)
    with distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        there = work(*rows, n_jobs=-1)
    for ours, theirs in zip(here, there, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_calls_of_one_process_share_out_nothing_to_a_cluster(cluster: Any) -> None:
    with on_cluster(cluster.scheduler_address), Workers(1) as workers:
        assert joblib.effective_n_jobs(-1) == 2
        assert list(workers.map(joblib.effective_n_jobs, [(-1,), (None,)])) == [1, 1]


@contextlib.contextmanager
def _one_worker_dies(cluster: Any) -> Iterator[list[int]]:
    """Kill the process of the first worker that has something to do."""
    killed: list[int] = []
    ended = threading.Event()

    def kill() -> None:
        with distributed.Client(cluster, set_as_default=False) as client:
            while not killed and not ended.is_set():
                busy = [address for address, calls in client.processing().items() if calls]
                nannies = {one.worker_address: one for one in cluster.workers.values()}
                for address in busy[:1]:
                    killed.append(nannies[address].pid)
                    os.kill(killed[0], signal.SIGKILL)
                time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        ended.set()
        thread.join()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a kill that cannot be caught")
def test_a_worker_that_dies_costs_time_only(cluster: Any, rows: Any, alone: Any) -> None:
    here = alone(_search)
    with on_cluster(cluster.scheduler_address), _one_worker_dies(cluster) as killed:
        there = _search(*rows, n_jobs=-1)
    assert len(killed) == 1
    np.testing.assert_array_equal(here[0], there[0])
    assert here[1] == there[1]


def test_the_command_works_on_a_cluster(cluster: Any, rows: Any, tmp_path: Path) -> None:
    X, y = rows
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_csv(tmp_path / "t.csv", index=False)
    words = ["compare", str(tmp_path / "t.csv"), "--target", "y", "--families", "none"]
    words += ["--rivals", "linear,tree", "--outer", "2", "--json", "-"]
    found = []
    for more in (["--jobs", "1"], ["--cluster", cluster.scheduler_address]):
        done = CliRunner().invoke(main, [*words, *more])
        assert done.exit_code == 0, done.output
        found.append([row | {"seconds": 0.0} for row in json.loads(done.stdout)])
    assert found[0] == found[1]


class _Client:
    """A cluster with workers as they must not be."""

    def __init__(self, threads: dict[str, int], found: Any = None) -> None:
        self.threads, self.found = threads, found

    def __call__(self, **_: Any) -> "_Client":
        return self

    def __enter__(self) -> "_Client":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def nthreads(self) -> dict[str, int]:
        return self.threads

    def run(self, function: Any, **_: Any) -> dict[str, Any]:
        return dict.fromkeys(self.threads, self.found)


@pytest.mark.parametrize(
    ("client", "reason"),
    [
        (_Client({}), "has no workers; start some"),
        (_Client({"one": 4}), "--nworkers 4 --nthreads 1"),
        (_Client({"one": 1}, ModuleNotFoundError("parsimon")), "one has no parsimon"),
        (_Client({"one": 1}, "0.0.1"), "one has parsimon 0.0.1 and this process"),
    ],
)
def test_a_cluster_that_would_give_other_results_is_refused(
    monkeypatch: pytest.MonkeyPatch, client: Any, reason: str
) -> None:
    monkeypatch.setattr(distributed, "Client", client)
    with pytest.raises(InvalidInputError, match=reason), on_cluster("tcp://10.0.0.5:8786"):
        pass


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere"])
def test_a_scheduler_that_does_not_answer_is_told(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr("parsimon._parallel._PATIENCE", 0.5)
    reason = f"No Dask scheduler answers at {address}; start one"
    with pytest.raises(InvalidInputError, match=reason), on_cluster(address):
        pass
