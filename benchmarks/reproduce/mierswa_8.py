"""Chapter 8 of Mierswa (2009): selection without a target.

Every front of table 8.1 that can be enumerated is, and NSGA-II must find it. Beside it stand the
front with the index divided by the number of columns (Morita et al.), with squares divided by it
(Kim et al.), and where we have one, a front that was enumerated with scikit-learn. On the lattice
many clusterings have the same sum of squares, so that there the front depends on which of them is
taken; ours takes the clearest. Raw values throughout. Finished fronts are kept, and a second run
goes on from them.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.reproduce._mierswa_unsupervised import ENUMERATED, TABLES, FrontJob, find_front
from benchmarks.reproduce._resume import N_PROCESSES, run_all
from benchmarks.rows import Row

EXACT = ("IRIS", "IRIS-NN", "GRID", "GRID, 5 groups", "RANDOM", "SPIRAL", "IRIS-GN")
# Tables that are too wide to enumerate. That of 32 groups takes a while for each subset.
WIDE = (
    FrontJob("GM", way="search", n_init=4, max_iter=20),
    FrontJob("WPBC", way="search"),
)
SEVERAL = FrontJob("WPBC, 2 to 10 groups", way="search", n_init=12, max_iter=60)
QUICK = ("IRIS", "IRIS-NN")
# Where k-means has one best clustering and the table is drawn by no one.
UNIQUE = ("IRIS", "IRIS-NN", "SPIRAL")
# Where noise begins, by construction.
TRUE_COLUMNS = {"SPIRAL": 2, "IRIS-GN": 4}

Found = dict[FrontJob, dict[str, Any]]


def rows(*, quick: bool) -> list[Row]:
    """Return what each front has beside the others."""
    names = QUICK if quick else EXACT
    jobs = [
        FrontJob(name, objectives) for name in names for objectives in ("information", "morita")
    ]
    jobs += [FrontJob(name, "kim") for name in names if name != "SPIRAL"]
    jobs += [FrontJob(name, way="search") for name in names]
    if not quick:
        jobs += [*WIDE, *(replace(job, objectives="morita") for job in WIDE), SEVERAL]
    found = run_all(
        jobs,
        find_front,
        title="mierswa-8",
        file_name=None if quick else "mierswa-8.jsonl",
        n_processes=1 if quick else N_PROCESSES,
    )
    made = [row for name in names for row in _rows_of(name, found)]
    made += [_against_scikit_learn(name, found) for name in names if TABLES[name][2] == "k-means"]
    return made if quick else [*made, *_wide_rows(found)]


def _rows_of(name: str, found: Found) -> list[Row]:
    ours = found[FrontJob(name)]
    values = np.array(ours["values"])
    case = f"{name}, {ours['n_evaluations']} subsets"
    made = [_searched(case, values, found[FrontJob(name, way="search")])]
    made.append(_points(case, ours, found[FrontJob(name, "morita")]))
    if FrontJob(name, "kim") in found:
        points = len(found[FrontJob(name, "kim")]["values"])
        note = "theorem 8.1: a single column"
        metric = "points of Kim's front; by the theorem"
        made.append(Row(case, metric, points, 1.0, bar=1.0, note=note))
    if name in ENUMERATED:
        made.append(_enumerated(case, name, values))
    if name in TRUE_COLUMNS:
        note = f"knee at {ours['knee']} columns, bends at {ours['bends']}"
        hit = float(ours["knee"] == TRUE_COLUMNS[name])
        metric = "1 if the knee is where noise begins"
        made.append(Row(case, metric, hit, 1.0, higher_is_better=True, bar=1.0, note=note))
    return made


def _searched(case: str, values: Any, searched: dict[str, Any]) -> Row:
    """Return how many points of the exact front NSGA-II has found."""
    theirs = np.array(searched["values"])
    hit = sum(bool(np.isclose(theirs, point).all(axis=1).any()) for point in values)
    until = searched["n_iter"] - (searched["stall"] or 0)
    last = max(until, 0)
    note = f"{searched['n_evaluations']} subsets, last gain in generation {last}; printed < 20"
    return Row(
        case, "points of the front that NSGA-II finds; points", hit, len(values), True, 1.0, note
    )


def _points(case: str, ours: dict[str, Any], morita: dict[str, Any]) -> Row:
    """Return the points of our front beside those with the index per column."""
    sizes = sorted(int(size) for _, size, *_ in morita["values"])
    return Row(
        case,
        "points of the front; of Morita's",
        len(ours["values"]),
        len(morita["values"]),
        True,
        1.0,
        f"Morita's has columns {sizes}",
    )


def _enumerated(case: str, name: str, values: Any) -> Row:
    """Return how many points agree with scikit-learn's enumeration, to three digits."""
    known = ENUMERATED[name]
    agree = sum(
        bool(abs(value - given) < 6e-4) for (value, _), given in zip(values, known, strict=False)
    )
    note = "" if name in UNIQUE else "the best clustering is not unique, or a better one was found"
    metric = "points as enumerated with scikit-learn; points known"
    bar = 1.0 if name in UNIQUE else None
    return Row(
        case, metric, agree, len(known), True, bar, f"{values[:, 0].round(3).tolist()} {note}"
    )


def _against_scikit_learn(name: str, found: Found) -> Row:
    """Return the squares of the clusterings on the front beside scikit-learn's best of ten."""
    make, k, _ = TABLES[name]
    X, ours = make(), found[FrontJob(name)]
    peers = [KMeans(k, n_init=10, random_state=0).fit(X[:, each]) for each in ours["solutions"]]
    metric = "squares within groups on the front; scikit-learn, 10 starts"
    peer = float(sum(each.inertia_ for each in peers))
    return Row(name, metric, float(sum(ours["within"])), peer, bar=1 - 1e-9)


def _wide_rows(found: Found) -> list[Row]:
    """Return the rows of tables that are searched only."""
    made = []
    for job in WIDE:
        name, ours, morita = job.table, found[job], found[replace(job, objectives="morita")]
        made.append(_points(f"{name}, search", ours, morita))
        bends = float(len(ours["bends"]))
        note = f"at {ours['bends']} columns; knee at {ours['knee']}"
        made.append(Row(f"{name}, search", "borders of segments; printed", bends, 5.0, note=note))
    several = found[SEVERAL]
    groups = sorted({int(k) for _, _, k in several["values"]})
    case = "WPBC, 2 to 10 groups, search"
    metric = "points of the front in three objectives; of k = 2"
    two = sum(k == 2 for _, _, k in several["values"])
    return [*made, Row(case, metric, len(several["values"]), two, True, note=f"groups {groups}")]
