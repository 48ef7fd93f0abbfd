"""Time and memory of large trees, each in a process of its own.

The first fit of a process is timed apart from those after it: it imports numba and loads the
compiled loops that it left in its cache, or compiles them where there is no cache yet, and it
orders the joins of the tree, which the tree then keeps. Seconds are those of the processor: with
one thread and nothing to wait for they are those of the clock, which other programs on the
machine would lengthen; notes have the clock's as well.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.rows import Row

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SIZES, QUICK_SIZES = (1000, 3000, 10_000, 30_000, 100_000), (1000, 3000)
N_FEATURES = 50
MOST_SECONDS, MOST_GIGABYTES, MOST_SECONDS_SPARSE = 10.0, 1.0, 60.0
LINEAR = 1.15
REPEATS = 5


def growth_rows(quick: bool) -> list[Row]:
    """Return seconds and memory by the number of tips, the slope, and a sparse regression."""
    sizes = QUICK_SIZES if quick else SIZES
    found = {n: in_own_process("pgls", n) for n in sizes}
    made = [row for n in sizes for row in _size_rows(n, found[n], last=n == sizes[-1])]
    made.append(_slope_row(sizes, [found[n]["later"] for n in sizes]))
    made += _other_ways(sizes[-1], found[sizes[-1]])
    return [*made, *_sparse_rows(400 if quick else 10_000)]


def _size_rows(n: int, found: dict[str, Any], *, last: bool) -> list[Row]:
    return [
        _seconds_row(
            n, found, "the first fit of a process", bar=1.0 if last else None, more=_lambda(found)
        ),
        Row(
            _case(n),
            "peak memory in GB, imports included; peer: the bar",
            found["gigabytes"],
            MOST_GIGABYTES,
            bar=1.0 if last else None,
            note=f"{found['before']:.2f} before the first fit: imports, tree and table",
        ),
    ]


def _seconds_row(n: int, found: dict[str, Any], what: str, *, bar: float | None, more: str) -> Row:
    return Row(
        _case(n),
        f"seconds of {what}; peer: the bar",
        found["first"],
        MOST_SECONDS,
        bar=bar,
        note=f"{found['first_by_clock']:.2f} by the clock; later fits {found['later']:.3f}, "
        f"{found['later_by_clock']:.3f} by the clock (medians of {REPEATS}); {more}",
    )


def _case(n: int) -> str:
    return f"PGLS with lambda, Yule tree, {n:,} tips"


def _lambda(found: dict[str, Any]) -> str:
    return f"lambda {found['pagel_lambda']:.4f} of 0.7"


def _slope_row(sizes: tuple[int, ...], seconds: list[float]) -> Row:
    """Return the power of n with which later fits grow, by least squares of logarithms."""
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    steps = np.diff(np.log(seconds)) / np.diff(np.log(sizes))
    text = ", ".join(f"{step:.2f}" for step in steps)
    return Row(
        f"PGLS with lambda, {sizes[0]:,} to {sizes[-1]:,} tips",
        "growth of later fits, as a power of tips; peer: linear",
        slope,
        LINEAR,
        bar=1.0,
        note=f"between sizes {text}; 1.15 allows for arrays that outgrow the processor's caches, "
        "and what every fit costs makes small trees seem flatter",
    )


def _other_ways(n: int, usual: dict[str, Any]) -> list[Row]:
    """Return the largest tree without numba, and with numba that has to compile first."""
    plain = in_own_process("pgls", n, numba=False)
    more = f"peak {plain['gigabytes']:.2f} GB"
    made = [_seconds_row(n, plain, "the first fit without numba (extra fast)", bar=1.0, more=more)]
    if not usual["numba"]:
        return made
    with tempfile.TemporaryDirectory() as folder:
        new = in_own_process("pgls", n, cache=folder)
    more = f"an empty cache of numba; peak {new['gigabytes']:.2f} GB"
    what = "the first fit ever, compilation included"
    return [*made, _seconds_row(n, new, what, bar=1.0, more=more)]


def _sparse_rows(n: int) -> list[Row]:
    found = in_own_process("phyrvm", n)
    return [
        Row(
            f"PhyRVM with lambda, Yule tree, {n:,} tips, {N_FEATURES} features",
            "seconds of the first fit of a process; peer: the bar",
            found["first"],
            MOST_SECONDS_SPARSE,
            bar=1.0,
            note=f"{found['first_by_clock']:.1f} by the clock; {found['chosen']} features chosen, "
            f"the 5 true ones among them: {found['true_ones']}; {_lambda(found)}; peak "
            f"{found['gigabytes']:.2f} GB",
        )
    ]


def in_own_process(
    what: str, n: int, *, numba: bool = True, cache: str | None = None
) -> dict[str, Any]:
    """Return what `measure` finds in a new process with one thread."""
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    command = [sys.executable, "-m", "benchmarks.peers._phylo_growth", what, str(n), str(numba)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{answer.stderr}")
    found: dict[str, Any] = json.loads(answer.stdout)
    print(f"{what}, {n:,} tips: {found['first']:.3f} s", file=sys.stderr)
    return found


def measure(what: str, n: int) -> dict[str, Any]:
    """Fit and time; called in the process whose memory is measured."""
    from parsimon import _compiled
    from parsimon.phylo import PGLS, PhyRVM, Tree, brownian_traits, yule_tree

    tree = yule_tree(n, random_state=0)
    # Without numba, so that the first fit pays for its import and for all that it compiles.
    with patch.object(_compiled, "numba_is_installed", lambda: False):
        X = brownian_traits(tree, 1 if what == "pgls" else N_FEATURES, random_state=1)
        noise = brownian_traits(tree, pagel_lambda=0.7, random_state=2)["trait1"]
    weights = np.zeros(X.shape[1])
    weights[:5] = [0.5, -1.0, 0.3, 0.8, -0.5][: len(weights)]
    y = 1.0 + X @ weights + noise
    # A tree that nobody has walked over yet.
    tree = Tree(tree.parent, tree.length, tree.name)
    model = PGLS(tree) if what == "pgls" else PhyRVM(tree)
    before = gigabytes()
    clock, processor = [], []
    for _ in range(1 + REPEATS if what == "pgls" else 1):
        begin, used = time.perf_counter(), time.process_time()
        model.fit(X, y)
        clock.append(time.perf_counter() - begin)
        processor.append(time.process_time() - used)
    chosen = np.flatnonzero(model.coef_)
    return {
        "first": processor[0],
        "first_by_clock": clock[0],
        "later": statistics.median(processor[1:] or processor),
        "later_by_clock": statistics.median(clock[1:] or clock),
        "before": before,
        "gigabytes": gigabytes(),
        "pagel_lambda": model.lambda_,
        "chosen": len(chosen),
        "true_ones": bool(np.isin(np.flatnonzero(weights), chosen).all()),
        "numba": _compiled.numba_is_installed(),
    }


def gigabytes() -> float:
    """Return the greatest memory of this process so far."""
    # Linux counts in KiB, macOS in bytes.
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


if __name__ == "__main__":
    if sys.argv[3] == "False":
        # Found nowhere from here on, as if it were not installed.
        sys.modules["numba"] = None  # type: ignore[assignment]
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
