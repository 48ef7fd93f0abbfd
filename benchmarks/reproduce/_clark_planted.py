"""Planted columns in a table of the shape of InChianti, for Clark (2011), chapter 4: its jobs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from parsimon._typing import Array, Indices

N_GENES, N_PLANTED = 16_600, 5


@dataclass(frozen=True)
class Planted:
    """One table, and how many splits the selection has."""

    seed: int
    n_splits: int


def selected(job: Planted) -> dict[str, Any]:
    """Return what is found of the planted columns, and false; ours and those who must miss."""
    from parsimon.features import StableSelector

    rng = np.random.default_rng([132, job.seed])
    y = np.repeat([0, 1], [97, 35])
    X = rng.normal(size=(132, N_GENES))
    genes = rng.choice(N_GENES, N_PLANTED, replace=False)
    X[:, genes] += 1.2 * y[:, None]
    selector = StableSelector(n_splits=job.n_splits, random_state=0)
    kept = selector.fit(X, y).get_support(indices=True)
    found = len(np.intersect1d(kept, genes))
    chosen = {"ours": kept, **plain_selections(X, y, rng)}
    return {
        "found": found,
        "false": len(kept) - found,
        "bound": float(selector.expected_false_["meinshausen_buhlmann"]),
        "shares": {name: in_common(each, genes) for name, each in chosen.items()},
    }


def plain_selections(X: Array, y: Indices, rng: np.random.Generator) -> dict[str, Indices]:
    """Return what those select who must miss: nothing, columns at random, all of p below 5 %."""
    from scipy.stats import ttest_ind

    p = ttest_ind(X[y == 1], X[y == 0]).pvalue
    return {
        "constant: nothing": np.array([], dtype=np.intp),
        "guess": rng.choice(X.shape[1], N_PLANTED, replace=False),
        "t test at 5 %": np.flatnonzero(p < 0.05),
    }


def in_common(chosen: Indices, planted: Indices) -> float:
    """Return the size of what two selections share over the size of both together."""
    return len(np.intersect1d(chosen, planted)) / len(np.union1d(chosen, planted))
