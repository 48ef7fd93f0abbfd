"""Chains of hard networks, averaged and pruned: the jobs of Clark (2011), chapter 5.

Beside each way of pruning stand as many members drawn at random, and the best single member.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.reproduce._ensemble_data import table
from parsimon._typing import Array
from parsimon.roc import auc

RIPLEY, WAVEFORM = "Ripley", "Waveform"
HIDDEN = {RIPLEY: 7, WAVEFORM: 10}
# Relevance vector machines of hundreds of members take long: these many chains of a job have them.
PRUNED_A_JOB = 3
BIAS_BOUND = 5.0
BEST = "best member by training AUC"


@dataclass(frozen=True)
class Chains:
    """Some chains with the settings of the source; no tolerance means our defaults."""

    data_set: str
    tolerance: float | None
    seed: int
    n_chains: int
    n_steps: int
    thin: int


def work(job: Chains) -> dict[str, Any]:
    """Return areas of the average and of the pruned ensembles of every chain."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from parsimon.ensembles import ABCClassifier, ChainOptions

    data, start = table(job.data_set), time.process_time()
    source: dict[str, Any] = {}
    if job.tolerance is not None:
        source = {
            "burn_in": job.n_steps, "proposal": 0.05, "redraw": 0.0, "patience": 50_000,
            "max_r_hat": None,
        }  # fmt: skip
    options = ChainOptions(
        tolerance=job.tolerance,
        n_chains=job.n_chains,
        n_samples=job.n_steps,
        thin=job.thin,
        **source,
    )
    model = ABCClassifier(_network(job), chains=options, calibration=None, random_state=job.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data.X_train, data.y_train)
    train, test = (
        model.member_labels(X).reshape(job.n_chains, -1, len(X)).astype(float)
        for X in (data.X_train, data.X_test)
    )
    arrived = model.errors_.max(axis=1) <= (job.tolerance or model.tolerance_) + 1e-9
    chains = [
        _chain(train[k], test[k], data.y_train, data.y_test, pruned=k < PRUNED_A_JOB)
        for k in range(job.n_chains)
    ]
    whole = [
        _areas(part.mean(axis=(0, 1)), y)
        for part, y in ((train, data.y_train), (test, data.y_test))
    ]
    return {
        "chains": [chain for chain, ok in zip(chains, arrived, strict=True) if ok],
        "n_lost": int((~arrived).sum()),
        "whole": whole,
        "acceptance": model.acceptance_,
        "r_hat": max(model.r_hat_.values()),
        "best": 1.0 - float(model.errors_.min()),
        "seconds": time.process_time() - start,
    }


def _network(job: Chains) -> Any:
    """Return the source's network, or ours of as many hidden units."""
    from parsimon.ensembles import HardNetwork

    if job.tolerance is None:
        return HardNetwork(HIDDEN[job.data_set])
    return HardNetwork(HIDDEN[job.data_set], bias_bound=BIAS_BOUND, standardise=False)


def _areas(votes: Array, y: Array) -> tuple[float, float]:
    """Return the source's area and the usual one."""
    return auc(y, votes, ties="strict"), auc(y, votes)


def _chain(
    train: Array, test: Array, y_train: Array, y_test: Array, *, pruned: bool
) -> dict[str, Any]:
    """Return area on training and test rows, and members, by way of pruning.

    Shapes: train (k, n), test (k, m): what each member of a chain says.
    """
    from parsimon.ensembles.pruning import WAYS, weighted_scores

    codes, rng = y_train.astype(np.intp), np.random.default_rng(0)
    equal = np.full(len(train), 1.0 / len(train))
    weights = {"chain average": equal}
    own = [auc(y_train, member, ties="strict") for member in train]
    order = np.argsort(own)[::-1]
    weights[BEST] = np.eye(len(train))[order[0]]
    for size in (68, 199):
        top = np.zeros(len(train))
        top[order[:size]] = 1.0 / size
        weights[f"top {size} by training AUC"] = top
    ways = {"RVM regression": "regression", "RVM classification": "classification"}
    for name, way in ways.items() if pruned else ():
        path = WAYS[way](train.T, codes, 1, rng)
        weights[name] = path[-1] if path else equal
        weights[at_random(name)] = _drawn(int(np.count_nonzero(weights[name])), len(train))
    found = {
        name: [
            *_areas(weighted_scores(train.T, w), y_train),
            *_areas(weighted_scores(test.T, w), y_test),
            int(np.count_nonzero(w)),
        ]
        for name, w in weights.items()
    }
    distinct = len(np.unique(train, axis=0))
    return {"areas": found, "distinct": distinct, "single": [min(own), max(own)]}


def at_random(way: str) -> str:
    """Return what as many members as a way of pruning keeps are called, drawn at random."""
    return f"members at random, as many as by {way}"


def _drawn(size: int, n_members: int) -> Array:
    weights = np.zeros(n_members)
    weights[np.random.default_rng(1).choice(n_members, size, replace=False)] = 1.0 / size
    return weights
