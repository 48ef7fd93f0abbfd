"""The archive against filtering everything again with pymoo's non-dominated sorting."""

from functools import partial

import numpy as np
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

from benchmarks.rows import Row, median_seconds
from parsimon._typing import Array
from parsimon.pareto import Archive

BATCH = 100


def archive_rows(*, quick: bool) -> list[Row]:
    """Insert random points in batches of 100: time of the archive and of filtering again."""
    repeats = 5 if quick else 25
    n = 20_000
    rng = np.random.default_rng(0)
    cases = [
        (f"{n:,} uniform points, 3 objectives", rng.random((n, 3)), 10.0),
        (f"{n:,} uniform points, 2 objectives", rng.random((n, 2)), None),
        (f"{n:,} points near a sphere, 3 objectives", _near_sphere(n, rng), None),
    ]
    rows = []
    for case, points, bar in cases:
        ours, peer = median_seconds(
            [partial(_insert, points), partial(_filter_front, points)], repeats, warm=True
        )
        rows.append(Row(case, "seconds; pymoo filters front and batch again", ours, peer, bar=bar))
        if not quick:
            (everything,) = median_seconds([partial(_filter_all, points)], repeats=1)
            metric = "seconds; pymoo filters all points again"
            rows.append(Row(case, metric, ours, everything, bar=bar))
        rows.append(_same_front(case, points))
    return rows


def _insert(points: Array) -> Archive:
    archive = Archive(points.shape[1])
    for start in range(0, len(points), BATCH):
        archive.insert(points[start : start + BATCH])
    return archive


def _filter_front(points: Array) -> Array:
    """Keep the front; sort it together with each batch."""
    sorting = NonDominatedSorting()
    front = points[:0]
    for start in range(0, len(points), BATCH):
        both = np.concatenate([front, points[start : start + BATCH]])
        front = both[sorting.do(both, only_non_dominated_front=True)]
    return front


def _filter_all(points: Array) -> Array:
    """Keep everything; sort all of it after each batch."""
    sorting = NonDominatedSorting()
    front = points[:0]
    for stop in range(BATCH, len(points) + 1, BATCH):
        front = points[:stop][sorting.do(points[:stop], only_non_dominated_front=True)]
    return front


def _same_front(case: str, points: Array) -> Row:
    ours, peer = _insert(points).values, _filter_front(points)
    equal = np.array_equal(np.unique(ours, axis=0), np.unique(peer, axis=0))
    return Row(
        case,
        "members of the front",
        len(ours),
        len(peer),
        higher_is_better=None,
        bar=1.0,
        note="the same set" if equal else "DIFFERENT SETS",
        rivals={"constant: one": 1.0, "guess: half of all": len(points) / 2, "all": len(points)},
    )


def _near_sphere(n: int, rng: np.random.Generator) -> Array:
    directions = np.abs(rng.normal(size=(n, 3)))
    surface = 1 - directions / np.linalg.norm(directions, axis=1, keepdims=True)
    points: Array = surface * (1 + 0.1 * rng.random((n, 1)))
    return points
