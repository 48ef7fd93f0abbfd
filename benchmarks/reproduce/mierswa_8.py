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
    made = [_searched(case, ours, found[FrontJob(name, way="search")])]
    made.append(_points(case, ours, found[FrontJob(name, "morita")]))
    if FrontJob(name, "kim") in found:
        points = len(found[FrontJob(name, "kim")]["values"])
        note = "theorem 8.1: a single column"
        metric = "points of Kim's front; by the theorem"
        rivals = {"the front of both objectives": float(len(values))}
        made.append(Row(case, metric, points, 1.0, None, 1.0, note, rivals))
    if name in ENUMERATED:
        made.append(_enumerated(case, name, values))
    if name in TRUE_COLUMNS:
        note = f"knee at {ours['knee']} columns, bends at {ours['bends']}"
        hit = float(ours["knee"] == TRUE_COLUMNS[name])
        metric = "1 if the knee is where noise begins"
        rivals = {"guess": 1.0 / TABLES[name][0]().shape[1], "constant: all columns": 0.0}
        made.append(Row(case, metric, hit, 1.0, True, 1.0, note, rivals))
    return made


def _searched(case: str, exact: dict[str, Any], searched: dict[str, Any]) -> Row:
    """Return how many points of the exact front NSGA-II has found.

    As many subsets drawn at random have their share of the points; all of them have all.
    """
    values, theirs = np.array(exact["values"]), np.array(searched["values"])
    share = min(1.0, searched["n_evaluations"] / exact["n_evaluations"])
    hit = sum(bool(np.isclose(theirs, point).all(axis=1).any()) for point in values)
    until = searched["n_iter"] - (searched["stall"] or 0)
    last = max(until, 0)
    note = f"{searched['n_evaluations']} subsets, last gain in generation {last}; printed < 20"
    metric = "points of the front that NSGA-II finds; points"
    rivals = {"constant: all columns": 1.0, "guess: as many subsets": share * len(values)}
    bar = 1.0 if share < 1.0 else None
    return Row(case, metric, hit, len(values), True, bar, note, rivals)


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
        {"constant: one point": 1.0},
    ).above_rivals()


def _enumerated(case: str, name: str, values: Any) -> Row:
    """Return how many points agree with scikit-learn's enumeration, to three digits."""
    known = ENUMERATED[name]
    agree = sum(
        bool(abs(value - given) < 6e-4) for (value, _), given in zip(values, known, strict=False)
    )
    note = "" if name in UNIQUE else "the best clustering is not unique, or a better one was found"
    metric = "points as enumerated with scikit-learn; points known"
    bar = 1.0 if name in UNIQUE else None
    rivals = {"constant: the index of all columns": float(sum(one == known[-1] for one in known))}
    note = f"{values[:, 0].round(3).tolist()} {note}"
    return Row(case, metric, agree, len(known), True, bar, note, rivals)


def _against_scikit_learn(name: str, found: Found) -> Row:
    """Return the squares of the clusterings on the front beside scikit-learn's best of ten.

    Where one random start has them too, they say nothing.
    """
    make, k, _ = TABLES[name]
    X, ours = make(), found[FrontJob(name)]

    def squares(**options: Any) -> float:
        machines = [KMeans(k, random_state=0, **options) for _ in ours["solutions"]]
        pairs = zip(machines, ours["solutions"], strict=True)
        return float(sum(each.fit(X[:, columns]).inertia_ for each, columns in pairs))

    rivals = {
        "constant: one group": float(sum((X[:, c] - X[:, c].mean(axis=0)).var(axis=0).sum() * len(X)
                                         for c in ours["solutions"])),
        "one random start": squares(n_init=1, init="random"),
    }  # fmt: skip
    metric = "squares within groups on the front; scikit-learn, 10 starts"
    figures = float(sum(ours["within"])), squares(n_init=10)
    return Row(name, metric, *figures, bar=1 - 1e-9, rivals=rivals).without_empty_bar()


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
