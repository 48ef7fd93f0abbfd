"""Chapter 5 of Clark (2011): averages of hard networks, pruned, on Ripley and Waveform.

The source ran one chain on each table. Here many chains run with its settings, and its figures are
judged by the interval that the chains span: a single chain is no result. Areas are its own, in
which ties count nothing; notes give the usual ones. Beside them stand the best areas that
can be had, from the known densities (the source says that Waveform's is not known; it is
Breiman's), and `ABCClassifier` as it comes. The settings that the source leaves open are
those of the documentation: chains start at a draw from the prior with an error of at most 0.5, and
on the way down a move to a lower error is always taken. Biases have a flat prior between -5 and 5.

Bars: the printed chain is one of ours if it lies within two deviations between chains of their
mean. Pruning by regression is worth something if it keeps more of the area than as many members
drawn at random do, and pruning by classification overfits if it keeps less than these, by two
standard errors of paired differences over chains. A constant has no area if ties count nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from benchmarks.reproduce._clark_chains import (
    BEST,
    RIPLEY,
    WAVEFORM,
    Chains,
    at_random,
    work,
)
from benchmarks.reproduce._ensemble_data import ripley_ratio, table, waveform_ratio
from benchmarks.reproduce._resume import run_all
from benchmarks.rivals import CONSTANT, GUESS, LOGISTIC, standard_error
from benchmarks.rows import Row
from parsimon.roc import auc

TOLERANCES = {RIPLEY: (0.3,), WAVEFORM: (0.15, 0.2, 0.25)}
# Recorded steps after as many that are dropped, and of how many one is kept.
STEPS = {RIPLEY: (5_000, 7), WAVEFORM: (50_000, 100)}
N_JOBS, CHAINS_A_JOB = 4, 10
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
BAYES = {RIPLEY: (0.953, 0.977), WAVEFORM: (None, None)}


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


def chain_rows(name: str, tolerance: float, found: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return what the chains span beside the one printed chain."""
    chains = [chain for result in found for chain in result["chains"]]
    if not chains:
        return []
    lost = sum(result["n_lost"] for result in found)
    made, idle = [], rivals_of(name, chains)
    for way, (_, printed, members) in PRINTED[name].items():
        own = [chain["areas"][way] for chain in chains if way in chain["areas"]]
        if len(own) < 2:
            continue
        areas = np.array(own)
        mean, deviation = float(areas[:, 2].mean()), float(areas[:, 2].std(ddof=1))
        low, high = np.quantile(areas[:, 2], [0.025, 0.975])
        made.append(
            Row(
                f"{name}, tolerance {tolerance:g}, {len(own)} chains, {way}",
                "test AUC, ties nothing: |mean - printed|; 2 deviations of chains",
                abs(mean - printed),
                2.0 * deviation,
                bar=1.0 if tolerance == TOLERANCES[name][0] else None,
                note=f"mean {mean:.3f}, printed {printed}, 95 % {low:.3f} to {high:.3f}; usual "
                f"ties {areas[:, 3].mean():.3f}; training {areas[:, 0].mean():.3f}; members "
                f"{areas[:, 4].mean():.0f}, printed {members}; {lost} chains never arrived",
                rivals={who: abs(area - printed) for who, area in idle.items()},
            ).without_empty_bar()
        )
    own = [chain["areas"] for chain in chains if "RVM regression" in chain["areas"]]
    return [*made, *_pruned_rows(name, tolerance, own), *_walk_rows(name, tolerance, chains, found)]


def rivals_of(name: str, chains: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return test areas, ties nothing, of those who must miss a bar."""
    best = float(np.mean([chain["areas"][BEST][2] for chain in chains]))
    return {CONSTANT: 0.0, GUESS: 0.5, LOGISTIC: logistic_area(name, "test"), BEST: best}


@cache
def logistic_area(name: str, part: str) -> float:
    """Return the area of logistic regression with nothing set, on training or test rows."""
    from sklearn.linear_model import LogisticRegression

    data = table(name)
    model = LogisticRegression().fit(data.X_train, data.y_train)
    X, y = (data.X_test, data.y_test) if part == "test" else (data.X_train, data.y_train)
    return auc(y, model.decision_function(X))


def _pruned_rows(name: str, tolerance: float, own: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return what the source says of pruning, beside pruning by lot, on chains that have both."""
    if len(own) < 2:
        return []
    areas = {way: np.array([one[way] for one in own]) for way in own[0]}
    test = {way: each[:, 2] for way, each in areas.items()}
    plain = {CONSTANT: 0.0, GUESS: 0.5, BEST: float(test[BEST].mean())}
    average, kept = "chain average", "RVM regression"
    overfit = "RVM classification"
    case = f"{name}, tolerance {tolerance:g}, {len(own)} chains"

    def clearly(better: str, worse: str) -> Row:
        ours, peer = float(test[better].mean()), float(test[worse].mean())
        error = standard_error(test[better] - test[worse])
        return Row(
            case,
            f"mean test AUC: {better}; {worse}",
            ours,
            peer,
            higher_is_better=True,
            bar=1.0 + 2.0 * error / peer,
            note=f"training {areas[better][:, 0].mean():.3f} and {areas[worse][:, 0].mean():.3f}; "
            f"members {areas[better][:, 4].mean():.0f}; se of difference {error:.4f}",
            # The worse one must miss as well, also where all chains are alike.
            rivals={**plain, worse: peer},
        ).above_rivals()

    return [
        Row(
            case,
            f"mean test AUC: {kept}; {average}",
            float(test[kept].mean()),
            float(test[average].mean()),
            higher_is_better=True,
            note=f"members {areas[kept][:, 4].mean():.0f} of {areas[average][:, 4].mean():.0f}",
        ),
        clearly(kept, at_random(kept)),
        clearly(at_random(overfit), overfit),
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
            rivals={CONSTANT: 0.0, GUESS: 0.5, LOGISTIC: logistic_area(name, "test")},
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
                higher_is_better=None,
                bar=0.999 if known else None,
                rivals={CONSTANT: 0.5, GUESS: 0.5, LOGISTIC: logistic_area(name, part)},
            ).without_empty_bar()
        )
    return made
