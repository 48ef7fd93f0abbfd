"""Chapter 5 of Clark (2011): averages of hard networks, pruned, on Ripley and Waveform.

The source ran one chain on each table. Here many chains run with its settings, and its figures are
judged by the interval that the chains span: a single chain is no result. Areas are its own, in
which ties count nothing; notes give the usual ones. Beside them stand the best areas that
can be had, from the known densities (the source says that Waveform's is not known; it is
Breiman's), and `ABCClassifier` as it comes. The settings that the source leaves open are
those of the documentation: chains start at a draw from the prior with an error of at most 0.5, and
on the way down a move to a lower error is always taken. Biases have a flat prior between -5 and 5.

Bars: the printed chain lies near the top of what chains span, so their upper end must come within a
hundredth of it. Pruning is judged by what the source says of it: a regression of the average keeps
its area with fewer members, a classification of the truth overfits.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.reproduce._ensemble_data import ripley_ratio, table, waveform_ratio
from benchmarks.reproduce._resume import run_all
from benchmarks.rows import Row
from parsimon._typing import Array
from parsimon.roc import auc

RIPLEY, WAVEFORM = "Ripley", "Waveform"
TOLERANCES = {RIPLEY: (0.3,), WAVEFORM: (0.15, 0.2, 0.25)}
HIDDEN = {RIPLEY: 7, WAVEFORM: 10}
# Recorded steps after as many that are dropped, and of how many one is kept.
STEPS = {RIPLEY: (5_000, 7), WAVEFORM: (50_000, 100)}
N_JOBS, CHAINS_A_JOB = 4, 10
# Relevance vector machines of hundreds of members take long: these many chains of a job have them.
PRUNED_A_JOB = 3
# Table of section 3.7 of the specification: training and test area, members.
PRINTED = {
    RIPLEY: {
        "chain average": (0.937, 0.965, 715),
        "top 68 by training AUC": (0.934, 0.952, 68),
        "top 199 by training AUC": (0.937, 0.959, 199),
        "RVM regression": (0.937, 0.964, 193),
        "RVM classification": (0.975, 0.889, 101),
    },
    WAVEFORM: {
        "chain average": (0.974, 0.931, 501),
        "RVM regression": (0.974, 0.929, 255),
    },
}
BIAS_BOUND = 5.0
NEAR, KEPT = 0.99, 0.99
BAYES = {RIPLEY: (0.953, 0.977), WAVEFORM: (None, None)}


@dataclass(frozen=True)
class Chains:
    """Some chains with the settings of the source; no tolerance means our defaults."""

    data_set: str
    tolerance: float | None
    seed: int
    n_chains: int
    n_steps: int
    thin: int


def rows(*, quick: bool) -> list[Row]:
    """Return the tables of chapter 5 beside ours."""
    jobs = all_jobs(quick)
    found = run_all(jobs, work, title="clark-5", file_name=None if quick else "clark-5.jsonl")
    made = []
    for name in (RIPLEY,) if quick else (RIPLEY, WAVEFORM):
        for tolerance in TOLERANCES[name]:
            own = [found[j] for j in jobs if (j.data_set, j.tolerance) == (name, tolerance)]
            made += chain_rows(name, tolerance, own)
        made += [*default_rows(name, jobs, found), *bayes_rows(name)]
    # Nothing is promised of so few and short chains.
    return [replace(row, bar=None) for row in made] if quick else made


def all_jobs(quick: bool) -> list[Chains]:
    """Return the jobs, the longest first."""
    if quick:
        return [Chains(RIPLEY, 0.3, 0, 6, 1_000, 7), Chains(RIPLEY, None, 0, 8, 200, 20)]
    jobs = [
        Chains(name, tolerance, seed, CHAINS_A_JOB, *STEPS[name])
        for name in (WAVEFORM, RIPLEY)
        for tolerance in TOLERANCES[name]
        for seed in range(N_JOBS)
    ]
    return [*jobs, Chains(WAVEFORM, None, 0, 32, 1000, 20), Chains(RIPLEY, None, 0, 32, 1000, 20)]


def work(job: Chains) -> dict[str, Any]:
    """Return areas of the average and of the pruned ensembles of every chain."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from parsimon.ensembles import ABCClassifier

    data, start = table(job.data_set), time.process_time()
    source: dict[str, Any] = {}
    if job.tolerance is not None:
        source = {
            "burn_in": job.n_steps, "proposal": 0.05, "redraw": 0.0, "patience": 50_000,
            "max_r_hat": None,
        }  # fmt: skip
    model = ABCClassifier(
        _network(job),
        tolerance=job.tolerance,
        n_chains=job.n_chains,
        n_samples=job.n_steps,
        thin=job.thin,
        calibration=None,
        random_state=job.seed,
        **source,
    )
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
    for size in (68, 199):
        top = np.zeros(len(train))
        top[order[:size]] = 1.0 / size
        weights[f"top {size} by training AUC"] = top
    ways = {"RVM regression": "regression", "RVM classification": "classification"}
    for name, way in ways.items() if pruned else ():
        path = WAYS[way](train.T, codes, 1, rng)
        weights[name] = path[-1] if path else equal
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


def chain_rows(name: str, tolerance: float, found: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return what the chains span beside the one printed chain."""
    chains = [chain for result in found for chain in result["chains"]]
    if not chains:
        return []
    lost = sum(result["n_lost"] for result in found)
    made = []
    for way, (_, printed, members) in PRINTED[name].items():
        own = [chain["areas"][way] for chain in chains if way in chain["areas"]]
        if not own:
            continue
        areas = np.array(own)
        low, high = np.quantile(areas[:, 2], [0.025, 0.975])
        made.append(
            Row(
                f"{name}, tolerance {tolerance:g}, {len(own)} chains, {way}",
                "test AUC, ties nothing: upper end of 95 % of chains; printed",
                float(high),
                printed,
                higher_is_better=True,
                bar=NEAR if way == "chain average" and tolerance == TOLERANCES[name][0] else None,
                note=f"mean {areas[:, 2].mean():.3f}, 95 % {low:.3f} to {high:.3f}; usual ties "
                f"{areas[:, 3].mean():.3f}; training {areas[:, 0].mean():.3f}; members "
                f"{areas[:, 4].mean():.0f}, printed {members}; {lost} chains never arrived",
            )
        )
    own = [chain["areas"] for chain in chains if "RVM regression" in chain["areas"]]
    return [*made, *_pruned_rows(name, tolerance, own), *_walk_rows(name, tolerance, chains, found)]


def _pruned_rows(name: str, tolerance: float, own: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return what the source says of pruning, on chains that have all ways of it."""
    if not own:
        return []
    mean = {way: np.mean([areas[way] for areas in own], axis=0) for way in own[0]}
    average, kept, overfit = (
        mean[way] for way in ("chain average", "RVM regression", "RVM classification")
    )
    case = f"{name}, tolerance {tolerance:g}, {len(own)} chains"
    return [
        Row(
            case,
            "mean test AUC of the RVM regression; of the average it prunes",
            float(kept[2]),
            float(average[2]),
            higher_is_better=True,
            bar=KEPT,
            note="ties count nothing",
        ),
        Row(
            case,
            "members of the RVM regression; of the average",
            float(kept[4]),
            float(average[4]),
            bar=1.0,
        ),
        Row(
            case,
            "mean test AUC of the average; of the RVM classification, which overfits",
            float(average[2]),
            float(overfit[2]),
            higher_is_better=True,
            bar=1.0,
            note=f"training {average[0]:.3f} and {overfit[0]:.3f}",
        ),
    ]


def _walk_rows(
    name: str, tolerance: float, chains: Sequence[Any], found: Sequence[Mapping[str, Any]]
) -> list[Row]:
    singles = np.array([chain["single"] for chain in chains])
    distinct = np.array([chain["distinct"] for chain in chains])
    case = f"{name}, tolerance {tolerance:g}, {len(chains)} chains"
    printed = (0.79, 700.0) if name == RIPLEY else (1.0 - tolerance, 501.0)
    rate = np.mean([result["acceptance"] for result in found])
    return [
        Row(
            case,
            "greatest training AUC of a member; printed, or least allowed",
            float(singles[:, 1].max()),
            printed[0],
            higher_is_better=True,
            bar=NEAR,
            note=f"least {singles[:, 0].min():.3f}; acceptance {rate:.2f}",
        ),
        Row(
            case,
            "members with distinct training labels; printed, or all",
            float(distinct.mean()),
            printed[1],
            higher_is_better=True,
            note=f"{distinct.min()} to {distinct.max()}; R-hat of votes and errors "
            f"{max(result['r_hat'] for result in found):.2f}: single chains do not mix",
        ),
    ]


def default_rows(
    name: str, jobs: Sequence[Chains], found: Mapping[Chains, Mapping[str, Any]]
) -> list[Row]:
    """Return `ABCClassifier` with its own tolerance, steps and number of chains."""
    result = next(found[j] for j in jobs if (j.data_set, j.tolerance) == (name, None))
    (train, _), (test, usual) = result["whole"]
    return [
        Row(
            f"{name}, ABCClassifier, all chains together",
            "test AUC, ties nothing; printed chain",
            test,
            PRINTED[name]["chain average"][1],
            higher_is_better=True,
            note=f"usual ties {usual:.3f}; training {train:.3f}; R-hat {result['r_hat']:.2f}",
        )
    ]


def bayes_rows(name: str) -> list[Row]:
    """Return the areas of the best possible classifier, beside the printed ones."""
    data = table(name)
    ratio = ripley_ratio if name == RIPLEY else waveform_ratio
    made = []
    parts = (("training", data.X_train, data.y_train), ("test", data.X_test, data.y_test))
    for (part, X, y), printed in zip(parts, BAYES[name], strict=True):
        area = auc(y, ratio(X))
        known = printed is not None
        made.append(
            Row(
                f"{name}, Bayes classifier",
                f"{part} AUC; printed" if known else f"{part} AUC; not printed",
                area,
                printed if printed is not None else area,
                higher_is_better=True,
                bar=0.999 if known else None,
            )
        )
    return made
