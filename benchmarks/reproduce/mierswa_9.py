"""Chapter 9 of Mierswa (2009): columns joined without a target.

IRIS-M has each column of Iris in two halves, whose greatest value is the column. All 21,146 ways to
leave out, take and join them are clustered, and NSGA-II must find the same front. The table of
quantum physics has no public copy and the newsgroups only one of 100 words, so that their rows show
what ours does on tables of that kind, not the source's figures. Finished fronts are kept.
"""

from typing import Any

import numpy as np

from benchmarks.reproduce._mierswa_unsupervised import ENUMERATED, FrontJob, find_front
from benchmarks.reproduce._resume import N_PROCESSES, run_all
from benchmarks.rows import Row

WIDE = ("KDDCUP (surrogate)", "NEWSGROUPS (100 words)", "NEWSGROUPS (100 words), 16 groups")
# What three digits leave open.
ROUNDED = 6e-4
PAIRS = [[0, 1], [2, 3], [4, 5], [6, 7]]


def rows(*, quick: bool) -> list[Row]:
    """Return axioms, the joined halves of Iris, and wide tables."""
    name = "petals in halves" if quick else "IRIS-M"
    jobs = [FrontJob(name, way=way) for way in ("joined", "joined search")]
    wide = (
        []
        if quick
        else [FrontJob(each, way="joined search", n_init=8, max_iter=15) for each in WIDE]
    )
    found = run_all(
        [*jobs, *wide],
        find_front,
        title="mierswa-9",
        file_name=None if quick else "mierswa-9.jsonl",
        n_processes=1 if quick else N_PROCESSES,
    )
    made = [_axioms(), *_halves(name, found[jobs[0]], found[jobs[1]])]
    return made + [_breadth(job.table, found[job]) for job in wide]


def _axioms() -> Row:
    """Return how many of the joins of section 9.2 keep all axioms."""
    from benchmarks.reproduce._mierswa_axioms import aggregation_axioms

    joins: dict[str, Any] = {
        "maximum": np.maximum,
        "probabilistic sum": lambda x, y: x + y - x * y,
        "bounded sum": lambda x, y: np.minimum(1, x + y),
        "drastic sum": lambda x, y: np.where(x == 0, y, np.where(y == 0, x, 1.0)),
        "Einstein sum": lambda x, y: (x + y) / (1 + x * y),
        "mean": lambda x, y: (x + y) / 2,
        "sum": np.add,
    }
    kept = [name for name, join in joins.items() if all(aggregation_axioms(join).values())]
    metric = "joins that keep all axioms; theorem 9.2"
    note, rivals = (
        f"kept by {', '.join(kept)}",
        {"constant: none": 0.0, "constant: all": 7.0, "guess: half": 3.5},
    )
    return Row("axioms, 7 joins", metric, len(kept), 1.0, None, 1.0, note, rivals)


def _halves(name: str, exact: dict[str, Any], searched: dict[str, Any]) -> list[Row]:
    values, case = np.array(exact["values"]), f"{name}, {exact['n_evaluations']} candidates"
    theirs = np.array(searched["values"])
    hit = sum(bool(np.isclose(theirs, point).all(axis=1).any()) for point in values)
    note = f"{searched['n_evaluations']} candidates, {searched['n_iter']} generations"
    metric = "points of the front that NSGA-II finds; points"
    share = min(1.0, searched["n_evaluations"] / exact["n_evaluations"])
    rivals = {"constant: all columns": 1.0, "guess: as many candidates": share * len(values)}
    bar = 1.0 if share < 1.0 else None
    made = [Row(case, metric, hit, len(values), True, bar, note, rivals)]
    n_pairs = int(values[:, 1].max()) // 2
    true = sum(
        sorted(exact["solutions"][size - 1]) == PAIRS[n_pairs - size : n_pairs]
        for size in range(1, n_pairs + 1)
    )
    metric = "sizes at which the best columns are joined halves; sizes"
    note, rivals = "printed: only a2 and a3 are", {"constant: no joins": 0.0}
    made.append(Row(case, metric, true, n_pairs, True, 1.0, note, rivals))
    if name in ENUMERATED:
        known = np.array(ENUMERATED[name])
        gain = known - values[:, 0]
        better = [int(size) for size in values[gain > ROUNDED, 1]]
        worst = float(known.max())
        made.append(
            Row(
                case,
                "points no worse than enumerated with scikit-learn; points",
                int(np.sum(gain > -ROUNDED)),
                len(known),
                True,
                1.0,
                f"{values[:, 0].round(3).tolist()}; better optima at {better} columns",
                {"constant: the index of all columns": float(np.sum(known >= worst))},
            )
        )
    return made


def _breadth(name: str, found: dict[str, Any]) -> Row:
    """Return how many sizes the front of a wide table has."""
    sizes = sorted({int(size) for _, size in found["values"]})
    joined = sum(any(len(group) > 1 for group in each) for each in found["solutions"])
    return Row(
        f"{name}, search",
        "sizes on the front; columns",
        len(sizes),
        max(sizes),
        True,
        note=f"{joined} with joined columns; bends at {found['bends']}",
    )
