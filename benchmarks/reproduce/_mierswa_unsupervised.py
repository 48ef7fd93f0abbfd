"""Tables without a target of Mierswa (2009), tables 8.1 and 9.1, and fronts of them as jobs.

The source prints neither seeds nor generators. These are ours; fronts that were enumerated
beforehand with scikit-learn, of the same generators where they draw nothing, are in `ENUMERATED`.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, make_classification

from benchmarks.data_folder import point_to_data
from parsimon._typing import Array
from parsimon.datasets import load
from parsimon.exceptions import ScalingWarning

# The index of Davies and Bouldin, or the longest link, at 1, 2, ... columns.
ENUMERATED = {
    "IRIS": (0.393, 0.485, 0.587, 0.662),
    "IRIS-NN": (0.0, 0.394, 0.485, 0.587, 0.662),
    "GRID": (0.467, 1.151, 1.654, 2.019, 2.488),
    "GRID, 5 groups": (0.0, 0.789, 1.063, 1.330, 1.685),
    "SPIRAL": (0.284, 0.635),
    "IRIS-M": (0.396, 0.485, 0.587, 0.666, 0.759, 0.935, 1.146, 1.334),
}


@dataclass(frozen=True)
class FrontJob:
    """A front to find.

    way: "exact" for all candidates, "search" for NSGA-II, "joined" and "joined search" for columns
        that may be joined.
    """

    table: str
    objectives: str = "information"
    way: str = "exact"
    n_init: int = 30
    max_iter: int = 1000


def find_front(job: FrontJob) -> dict[str, Any]:
    """Return the front of a job, its solutions, where it bends, and what it took."""
    from parsimon.features import ClusteringSelector, FeatureAggregator

    make, k, clusterer = TABLES[job.table]
    options: dict[str, Any] = {"clusterer": clusterer, "n_init": job.n_init, "random_state": 0}
    options |= {"max_iter": job.max_iter}
    begin = time.process_time()
    # Raw units, as in the source.
    warnings.simplefilter("ignore", ScalingWarning)
    if job.way.startswith("joined"):
        # The halves of Iris in its own units, as in the source.
        options |= {"scale": job.table not in ("IRIS-M", "petals in halves")}
        options |= {"max_candidates": 1} if job.way.endswith("search") else {}
        search: Any = FeatureAggregator(k, **options).fit(make())
    else:
        options |= {"objectives": job.objectives}
        options |= {"max_subsets": 1} if job.way == "search" else {}
        search = ClusteringSelector(k, **options).fit(make())
    front = search.front_
    several = "n_clusters" in front.names
    return {
        "values": front.values.tolist(),
        "within": search.to_frame()["within"].tolist(),
        "solutions": [front.solution(place) for place in range(len(front))],
        "bends": [] if several else front.values[search.segments(5), 1].astype(int).tolist(),
        "knee": int(front.values[search.best_index_, 1]),
        "n_evaluations": search.n_evaluations_,
        "n_iter": search.n_iter_,
        "stall": search.stall,
        "seconds": time.process_time() - begin,
    }


def _iris() -> Array:
    table: Array = load_iris().data
    return table


def _nominal() -> Array:
    drawn: Array = 0.01 * np.random.default_rng(0).integers(0, 3, 150).astype(np.float64)
    return drawn[:, None]


def _iris_noise() -> Array:
    rng = np.random.default_rng(0)
    return np.column_stack((_iris(), rng.normal(0, 0.8, (150, 10))))


def _mixture() -> Array:
    rng = np.random.default_rng(0)
    centres, spread = rng.uniform(0, 1, (32, 5)) * 5, rng.uniform(0, 1, (32, 1))
    group = np.arange(1000) % 32
    inside = centres[group] + spread[group] * rng.normal(size=(1000, 5))
    return np.column_stack((inside, rng.normal(0, 0.5, (1000, 10))))


def spirals(n_noise: int = 5, begin: float = 0.0) -> Array:
    """Return two spirals around the origin and columns of noise."""
    t = np.linspace(begin, 4 * np.pi, 250)
    one = np.column_stack((t * np.cos(t), t * np.sin(t)))
    noise = np.random.default_rng(0).normal(0, 5.5, (500, n_noise))
    return np.column_stack((np.vstack((one, -one)), noise))


def halves(table: Array) -> Array:
    """Return two columns for each, of which at random one has the value and the other less."""
    rng = np.random.default_rng(0)
    made = []
    for column in table.T:
        first = rng.random(len(column)) < 0.5
        less = rng.random(len(column)) * column
        made += [np.where(first, column, less), np.where(first, less, column)]
    return np.column_stack(made)


def _redundant() -> Array:
    # No public copy of the quantum physics table of KDD Cup 2004: blocks of redundant columns.
    X: Array = make_classification(
        1000, 78, n_informative=10, n_redundant=40, class_sep=2.0, random_state=0
    )[0]
    return X


def _words() -> Array:
    # 100 words of 16,242 posts; the source has 1,052 words of 3,000.
    point_to_data()
    table = load("news20_w100").data.to_numpy(dtype=np.float64)
    rows = np.random.default_rng(0).permutation(len(table))[:1000]
    part: Array = table[rows]
    return part[:, part.std(axis=0) > 0]


def _prognosis() -> Array:
    point_to_data()
    frame = load("wpbc").data.apply(lambda column: column.fillna(column.mean()))
    table: Array = frame.to_numpy(dtype=np.float64)
    return table


TABLES: dict[str, tuple[Callable[[], Array], Any, str]] = {
    "IRIS": (_iris, 3, "k-means"),
    "IRIS-NN": (lambda: np.column_stack((_iris(), _nominal())), 3, "k-means"),
    "IRIS-GN": (_iris_noise, 3, "k-means"),
    "GRID": (lambda: np.array(list(product(range(5), repeat=5)), float), 2, "k-means"),
    "RANDOM": (lambda: np.random.default_rng(0).random((500, 10)), 3, "k-means"),
    "GM": (_mixture, 32, "k-means"),
    "SPIRAL": (spirals, 2, "single link"),
    "WPBC": (_prognosis, 2, "k-means"),
    "WPBC, 2 to 10 groups": (_prognosis, range(2, 11), "k-means"),
    "IRIS-M": (lambda: halves(_iris()), 3, "k-means"),
    "petals in halves": (lambda: halves(_iris()[:, 2:]), 3, "k-means"),
    "KDDCUP (surrogate)": (_redundant, 2, "k-means"),
    "NEWSGROUPS (100 words)": (_words, 3, "k-means"),
    "NEWSGROUPS (100 words), 16 groups": (_words, 16, "k-means"),
}
TABLES["GRID, 5 groups"] = (TABLES["GRID"][0], 5, "k-means")
