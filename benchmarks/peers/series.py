"""Few features of series: `SeriesExtractor` against aeon, tsfresh, neighbours and raw values.

The eleven UCR data sets with their own splits into training and test part. Ours has at most ten
features (and at most three and five, beside peers cut down to as many), one search a set with the
default options and one seed; every method chooses on the training part alone. Options of ours were
settled while these test parts were in sight, so that five further splits of the same sizes, drawn
anew, are run as well. tsfresh runs on the sets with at most 400 series: it takes minutes on others.

aeon and tsfresh come with `pip install '.[bench-series]'`; they hold NumPy back, so that an
environment of its own is best. Without them their rows are left out, and a note says so.
"""

import time
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from benchmarks.data_folder import point_to_data
from benchmarks.peers._series_methods import ALL, PEERS, SeriesSplit, package_version
from benchmarks.reproduce._resume import run_all
from benchmarks.rivals import CONSTANT, GUESS
from benchmarks.rows import Row

DATA = (
    "arrowhead",
    "chinatown",
    "coffee",
    "ecg200",
    "ecgfivedays",
    "gunpoint",
    "italypowerdemand",
    "motestrain",
    "sonyaiborobotsurface1",
    "toesegmentation1",
    "twoleadecg",
)
QUICK = ("chinatown", "italypowerdemand")
# Sets with at most 400 series.
SMALL = ("arrowhead", "chinatown", "coffee", "ecg200", "gunpoint", "toesegmentation1")
SIZES = (3, 5, 10)
SIZE_OF = {"catch24": 24}
MOST_FEATURES, MOST_SECONDS, ACCURACY_BAR, SPEED_BAR = 10, 120.0, 0.90, 100.0
OFFICIAL, DRAWN = 0, (1, 2, 3, 4, 5)
NEAREST = "1-NN Euclid"
QUICK_PEERS = (NEAREST, "linear SVM", "forest on values")
NO_SEED = "a constant is the same with every seed, so no bar; a test holds ours to it"
# On further splits: those that need no package of their own and little time.
DRAWN_PEERS = (NEAREST, "linear SVM", "forest on values", "catch24")


@dataclass(frozen=True)
class Job:
    """One method on one split of a data set; our own is named after its most features."""

    data: str
    method: str
    split: int = OFFICIAL


def rows(*, quick: bool) -> list[Row]:
    """Return all rows."""
    point_to_data()
    data = QUICK if quick else DATA
    peers = [name for name in QUICK_PEERS if name in PEERS] if quick else list(PEERS)
    missing = [name for name in peers if package_version(name) is None]
    found = _run(_jobs(data, [name for name in peers if name not in missing], quick), quick)
    bar = None if quick else 1.0
    made = mean_rows(found, data, peers, bar)
    made += [row for size in SIZES for row in front_rows(found, data, size, bar)]
    if not quick:
        made += drawn_rows(found)
        made += speed_rows(found)
    made += [row for name in data for row in set_rows(found, name, peers)]
    made += budget_rows([found[Job(name, "ours 10")] for name in data])
    if missing:
        note = f"not installed, so not run: {', '.join(missing)}; pip install '.[bench-series]'"
        made[0] = replace(made[0], note=note)
    return made


def _jobs(data: tuple[str, ...], peers: list[str], quick: bool) -> list[Job]:
    ours = [f"ours {size}" for size in SIZES]
    jobs = [Job(name, method) for name in data for method in (*ours, *peers)]
    if not quick:
        drawn = ("ours 10", *(name for name in DRAWN_PEERS if name in peers))
        jobs += [Job(name, method, at) for name in data for method in drawn for at in DRAWN]
    return [job for job in jobs if job.method != "tsfresh" or job.data in SMALL]


def _run(jobs: list[Job], quick: bool) -> dict[Job, dict[str, Any]]:
    """Return the results; those of a peer are kept as long as its package stays the same."""
    found: dict[Job, dict[str, Any]] = {}
    for method in dict.fromkeys(job.method.split(" ")[0] for job in jobs):
        own = [job for job in jobs if job.method.split(" ")[0] == method]
        found |= run_all(
            own,
            judged,
            title=f"series: {method}",
            file_name=None if quick else "peers-series.jsonl",
            n_processes=1,
            version=None if method == "ours" else package_version(own[0].method),
        )
    return found


def judged(job: Job) -> dict[str, Any]:
    """Return accuracies on the test part by number of features, and what else is measured."""
    split = split_set(job.data, job.split)
    if job.method.startswith("ours"):
        return ours(split, int(job.method.split(" ")[1]), again=job.method == "ours 10")
    found = PEERS[job.method](split, list(SIZES))
    return {**found, "accuracy": {str(size): value for size, value in found["accuracy"].items()}}


def ours(split: SeriesSplit, size: int, *, again: bool) -> dict[str, Any]:
    """Return those of `SeriesExtractor`, fitted twice with one seed if wished."""
    from parsimon.features.series import SeriesExtractor, SeriesTable, tree_values

    search = SeriesExtractor(max_features=size, random_state=0)
    begin = time.perf_counter()
    search.fit(split.train, split.y)
    seconds = time.perf_counter() - begin
    trees, table, times = search.trees_, SeriesTable(split.test), []
    for _ in range(5):
        begin = time.perf_counter()
        tree_values(trees, table)
        times.append(time.perf_counter() - begin)
    return {
        "accuracy": {str(ALL): search.score(split.test, split.truth)},
        "features": len(trees),
        "seconds": seconds,
        "series_seconds": min(times) / table.n_series,
        "words": search.get_feature_names_out().tolist(),
        "same": not again or search.fit(split.train, split.y).trees_ == trees,
    }


@cache
def split_set(name: str, at: int = OFFICIAL) -> SeriesSplit:
    """Return the split of a data set: its own, or one of the same sizes that is drawn."""
    from parsimon.datasets import load

    found = load(f"ucr_{name}")
    values, classes = found.data.to_numpy(dtype=float), np.asarray(found.target)
    first = np.asarray(found.split == "train")
    if at != OFFICIAL:
        rng, drawn = np.random.default_rng(at), np.zeros(len(first), dtype=bool)
        for label in np.unique(classes):
            own = rng.permutation(np.flatnonzero(classes == label))
            drawn[own[: int((first & (classes == label)).sum())]] = True
        first = drawn
    return SeriesSplit(values[first], classes[first], values[~first], classes[~first])


def mean_accuracy(
    found: dict[Job, dict[str, Any]],
    method: str,
    data: tuple[str, ...],
    size: int = ALL,
    splits: tuple[int, ...] = (OFFICIAL,),
) -> float:
    """Return the mean accuracy of a method with some number of features."""
    every = [found[Job(name, method, at)]["accuracy"][str(size)] for name in data for at in splits]
    return float(np.mean(every))


def _sets(found: dict[Job, dict[str, Any]], method: str, data: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in data if Job(name, method) in found)


def mean_rows(
    found: dict[Job, dict[str, Any]], data: tuple[str, ...], peers: list[str], bar: float | None
) -> list[Row]:
    """Return our mean accuracy with ten features beside each peer's with all it has."""
    made = []
    if bar is not None:
        mean = mean_accuracy(found, "ours 10", data)
        case, rivals = f"{len(data)} sets", plain(found, data)
        made.append(Row(case, "accuracy; bar", mean, ACCURACY_BAR, True, bar, "", rivals))
    for peer in peers:
        sets = _sets(found, peer, data)
        if not sets:
            continue
        sizes = {found[Job(name, peer)].get("features", SIZE_OF.get(peer, 0)) for name in sets}
        note = "all values" if sizes == {0} else f"{_range(sizes)} features"
        own, other = (mean_accuracy(found, method, sets) for method in ("ours 10", peer))
        # More accurate with a thousand times the features is no failure: neither dominates.
        needed = None if peer == "MiniRocket" else bar
        case = f"{len(sets)} sets"
        row = Row(case, f"accuracy; {peer}", own, other, True, needed, note, plain(found, sets))
        made.append(row.above_rivals())
    return made


def plain(
    found: dict[Job, dict[str, Any]],
    data: tuple[str, ...],
    splits: tuple[int, ...] = (OFFICIAL,),
) -> dict[str, float]:
    """Return mean accuracies of the largest class, a guess, and the nearest series."""
    parts = [split_set(name, at) for name in data for at in splits]
    shares = [
        [(np.mean(one.y == label), np.mean(one.truth == label)) for label in np.unique(one.y)]
        for one in parts
    ]
    told = {
        CONSTANT: float(np.mean([max(each)[1] for each in shares])),
        GUESS: float(np.mean([sum(a * b for a, b in each) for each in shares])),
    }
    if all(Job(name, NEAREST, at) in found for name in data for at in splits):
        told[NEAREST] = mean_accuracy(found, NEAREST, data, splits=splits)
    return told


def _range(sizes: set[int]) -> str:
    return f"{min(sizes):,}" if len(sizes) == 1 else f"{min(sizes):,} to {max(sizes):,}"


def front_rows(
    found: dict[Job, dict[str, Any]], data: tuple[str, ...], size: int, bar: float | None
) -> list[Row]:
    """Return our mean accuracy with few features beside each peer's with as many."""
    made = []
    for peer in ("forest on values", "catch24", "tsfresh"):
        sets = _sets(found, peer, data)
        if sets:
            own = mean_accuracy(found, f"ours {size}", sets)
            other = mean_accuracy(found, peer, sets, size)
            metric = f"accuracy with {size} features; {peer}"
            row = Row(f"{len(sets)} sets", metric, own, other, True, bar, "", plain(found, sets))
            made.append(row.without_empty_bar())
    return made


def drawn_rows(found: dict[Job, dict[str, Any]]) -> list[Row]:
    """Return mean accuracies over splits that are drawn anew."""
    case = f"{len(DRAWN)} drawn splits of {len(DATA)} sets"
    mean = mean_accuracy(found, "ours 10", DATA, splits=DRAWN)
    rivals = plain(found, DATA, DRAWN)
    made = [Row(case, "accuracy; bar", mean, ACCURACY_BAR, True, 1.0, "", rivals)]
    for peer in DRAWN_PEERS:
        if Job(DATA[0], peer, DRAWN[0]) in found:
            value = mean_accuracy(found, peer, DATA, splits=DRAWN)
            row = Row(case, f"accuracy; {peer}", mean, value, True, 1.0, "", rivals)
            made.append(row.above_rivals())
    return made


def speed_rows(found: dict[Job, dict[str, Any]]) -> list[Row]:
    """Return the seconds that features of one series take, the slowest of the sets."""
    made = []
    for peer, bar in (("tsfresh", SPEED_BAR), ("catch24", None), ("MiniRocket", None)):
        sets = _sets(found, peer, DATA)
        if not sets:
            continue
        own = {name: found[Job(name, "ours 10")]["series_seconds"] for name in sets}
        other = {name: found[Job(name, peer)]["series_seconds"] for name in sets}
        worst = min(sets, key=lambda name: other[name] / own[name])
        note = f"on {worst}, where the ratio is least"
        metric = f"seconds for one series; {peer}"
        made.append(Row("all", metric, own[worst], other[worst], False, bar, note))
    return made


def set_rows(found: dict[Job, dict[str, Any]], name: str, peers: list[str]) -> list[Row]:
    """Return our accuracy on one data set beside the best peer that has no more features."""
    own = found[Job(name, "ours 10")]
    others = {
        peer: found[Job(name, peer)]["accuracy"][str(ALL)]
        for peer in peers
        if Job(name, peer) in found and peer != "MiniRocket"
    }
    best = max(others, key=lambda peer: others[peer])
    note = f"{best}; ours {own['features']} features, {own['seconds']:.1f} s; "
    note += f"first: {own['words'][0]}"
    metric = "accuracy; best peer but MiniRocket"
    return [Row(name, metric, own["accuracy"][str(ALL)], others[best], True, None, note)]


def budget_rows(found: list[dict[str, Any]]) -> list[Row]:
    """Return features, seconds of the search, and whether seeds repeat."""
    features = max(one["features"] for one in found)
    seconds = max(one["seconds"] for one in found)
    same = float(sum(one["same"] for one in found))
    return [
        Row("all", "features; at most", features, MOST_FEATURES, note="asked for, so no bar"),
        Row("all", "seconds of the longest search; at most", seconds, MOST_SECONDS, bar=1.0),
        Row("all", "same seed, same trees: sets of", same, len(found), True, note=NO_SEED),
    ]
