"""The relevance vector classifier on large tables: seconds and memory of a process of its own."""

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from typing import Any

from benchmarks.rows import Row

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
N_CENTRES = 2000
MOST_SECONDS, MOST_SECONDS_WITH_CENTRES, MOST_GIGABYTES = 60.0, 600.0, 2.0


def large_rows(quick: bool) -> list[Row]:
    """Fit 5,000 rows with one function per row, and 50,000 with 2,000 centres; quick: fewer."""
    n, n_large, n_centres = (500, 2000, 200) if quick else (5000, 50_000, N_CENTRES)
    whole = _in_own_process(n, None)
    case = f"make_classification {n:,} x 10, RBF"
    made = [
        Row(
            case,
            "seconds of the fit; peer: the bar",
            whole["seconds"],
            MOST_SECONDS,
            bar=1.0,
            note=_note(whole),
        )
    ]
    few = _in_own_process(n_large, n_centres)
    case = f"make_classification {n_large:,} x 10, RBF, {n_centres:,} centres"
    return [
        *made,
        Row(
            case,
            "seconds of the fit; peer: the bar",
            few["seconds"],
            MOST_SECONDS_WITH_CENTRES,
            bar=1.0,
            note=_note(few),
        ),
        Row(
            case,
            "peak memory in GB, data and imports included; peer: the bar",
            few["gigabytes"],
            MOST_GIGABYTES,
            bar=1.0,
        ),
    ]


def _note(measured: dict[str, Any]) -> str:
    return (
        f"test accuracy {measured['accuracy']:.4f}, {measured['n_vectors']} vectors, "
        f"{measured['n_iter']} steps, converged: {measured['converged']}, "
        f"peak {measured['gigabytes']:.2f} GB"
    )


def _in_own_process(n: int, n_centres: int | None) -> dict[str, Any]:
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    command = [sys.executable, "-m", "benchmarks.peers._rvm_large", str(n), str(n_centres or "")]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    measured: dict[str, Any] = json.loads(answer.stdout)
    return measured


def measure(n: int, n_centres: int | None) -> dict[str, Any]:
    """Fit and score; called in the process whose memory is measured."""
    from benchmarks.peers.rvm import table
    from parsimon.rvm import RVC

    X, y, X_test, y_test = table(n, 0)
    model = RVC(gamma="scale", bias=False, centres=n_centres, random_state=0)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds = time.perf_counter() - begin
    # Linux counts in KiB, macOS in bytes.
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    return {
        "seconds": seconds,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9,
        "accuracy": float(model.score(X_test, y_test)),
        "n_vectors": len(model.relevance_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
    }


if __name__ == "__main__":
    arguments = sys.argv[1:]
    print(json.dumps(measure(int(arguments[0]), int(arguments[1]) if arguments[1] else None)))
