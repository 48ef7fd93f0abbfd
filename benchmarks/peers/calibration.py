"""Are stated probabilities right? Every classifier of ours at its defaults beside scikit-learn's.

Log loss, Brier score, calibration slope and coverage of 90 % sets on held-out rows of 14 real
tables, raw and scaled, and of simulated ones with pure noise and a class of 1 in 50 among them.
Everybody has the same rows. On raw tables the peers that need it are there with a scaler as well.
The best on a table is the one with the least mean log loss of all, ours included.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import parsimon
from benchmarks.data_folder import point_to_data
from benchmarks.peers._calibration_data import (
    ALWAYS_HERE,
    N_TRAIN,
    RAW,
    REAL,
    SIMULATED,
    splits,
)
from benchmarks.peers._calibration_figures import brier, coverage, log_losses, slope
from benchmarks.reproduce._resume import run_all
from benchmarks.rivals import GUESS
from benchmarks.rows import Row
from parsimon._typing import Array, Indices

N_SPLITS, N_SLOW_SPLITS = 5, 2
QUICK_ROWS = 80
QUICK_SETS = (*ALWAYS_HERE, "noise", "ring")
THREE_CLASSES = ("iris", "wine", "three classes")
BASE = "base rate"
# How far a default may be from the best on a real table, and on which share of them.
WITHIN = {"GPClassifier": 0.01, "RVC": 0.03}
SHARE = 10 / 12
# Nats of log loss that make no difference: a constant but for the order of its rows is one.
NEGLIGIBLE = 1e-5


def _gp() -> Any:
    from parsimon.gp import GPClassifier

    return GPClassifier(random_state=0)


def _sparse() -> Any:
    from parsimon.gp import SparseGPClassifier

    return SparseGPClassifier(random_state=0)


def _rvc() -> Any:
    from parsimon.rvm import RVC

    return RVC(random_state=0)


def _pareto_rvc() -> Any:
    from parsimon.rvm import ParetoRVC

    return ParetoRVC(random_state=0)


def _evolutionary_svc() -> Any:
    from parsimon.svm import EvolutionarySVC

    return EvolutionarySVC(probability=True, random_state=0)


def _pareto_svc() -> Any:
    from parsimon.svm import ParetoSVC

    return ParetoSVC(random_state=0)


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def _calibrated_svc() -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC

    return CalibratedClassifierCV(SVC())


def _their_gp() -> Any:
    from sklearn.gaussian_process import GaussianProcessClassifier

    return GaussianProcessClassifier(random_state=0)


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(random_state=0)


def _boosting() -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(random_state=0)


def _base_rate() -> Any:
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="prior")


OURS: dict[str, Callable[[], Any]] = {
    "GPClassifier": _gp,
    "RVC": _rvc,
    "SparseGPClassifier": _sparse,
    "EvolutionarySVC": _evolutionary_svc,
    "ParetoSVC": _pareto_svc,
    "ParetoRVC": _pareto_rvc,
}
SLOW = ("EvolutionarySVC", "ParetoSVC", "ParetoRVC")
BINARY = ("ParetoSVC",)
PEERS: dict[str, Callable[[], Any]] = {
    "logistic": _logistic,
    "calibrated SVC": _calibrated_svc,
    "their GP": _their_gp,
    "forest": _forest,
    "boosting": _boosting,
    BASE: _base_rate,
}
WANT_SCALES = ("logistic", "calibrated SVC", "their GP")
SCALER = " + scaler"


@dataclass(frozen=True)
class Job:
    """One model on all its splits of one set."""

    data: str
    model: str
    n_splits: int
    most_rows: int

    def __str__(self) -> str:
        return f"{self.model} on {self.data}"


def rows(*, quick: bool, methods: Sequence[str] = tuple(OURS)) -> list[Row]:
    """Return the log loss on every set, the bars, and the other figures over all sets.

    `methods` are those of ours; the peers are always there.
    """
    for unknown in set(methods) - set(OURS):
        raise ValueError(f"no method is called {unknown!r}; take some of {', '.join(OURS)}.")
    point_to_data()
    sets = QUICK_SETS if quick else (*REAL, *SIMULATED)
    jobs = [job for data in sets for job in _jobs(data, methods, quick)]
    found = run_all(
        jobs,
        _measured,
        title="calibration",
        file_name=None if quick else "calibration.jsonl",
        code=_code(),
    )
    by_set: dict[str, dict[str, Mapping[str, Any]]] = {data: {} for data in sets}
    for job in jobs:
        by_set[job.data][job.model] = found[job]
    made = [row for data in sets for row in _losses(data, by_set[data])]
    if not quick:
        made += _near_the_best({data: by_set[data] for data in REAL}, methods)
    return made + _no_worse_than_the_base_rate(by_set) + _over_all_sets(by_set)


def _jobs(data: str, methods: Sequence[str], quick: bool) -> list[Job]:
    models = [*methods, *PEERS]
    if data in RAW:
        models += [name + SCALER for name in WANT_SCALES]
    most = QUICK_ROWS if quick else N_TRAIN
    jobs = []
    for model in models:
        if (data in THREE_CLASSES and model in BINARY) or (quick and model == "ParetoRVC"):
            continue
        n_splits = N_SLOW_SPLITS if model in SLOW else N_SPLITS
        jobs.append(Job(data, model, 1 if quick else n_splits, most))
    return jobs


def _code() -> list[Path]:
    here, package = Path(__file__).parent, Path(parsimon.__file__).parent
    return [
        *here.glob("*calibration*.py"),
        *(
            file
            for part in ("gp", "svm", "rvm", "inference")
            for file in (package / part).rglob("*.py")
        ),
    ]


def _made(model: str) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if model in OURS:
        return OURS[model]()
    made = PEERS[model.removesuffix(SCALER)]()
    return make_pipeline(StandardScaler(), made) if model.endswith(SCALER) else made


def _measured(job: Job) -> dict[str, Any]:
    """Fit a model on each split and measure its probabilities on the rows held out."""
    pooled: list[tuple[Array, Indices]] = []
    losses: list[Array] = []
    excess: list[Array] = []
    for split in splits(job.data, job.n_splits, most=job.most_rows):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = _made(job.model).fit(split.X, split.y)
            probability = np.asarray(model.predict_proba(split.X_test))
        prior = np.bincount(split.y, minlength=probability.shape[1]) / len(split.y)
        base = log_losses(np.tile(prior, (len(split.y_test), 1)), split.y_test)
        losses.append(log_losses(probability, split.y_test))
        excess.append(losses[-1] - base)
        pooled.append((probability, split.y_test))
    probability, y = (np.concatenate(part) for part in zip(*pooled, strict=True))
    covered, stated = coverage(probability, y)
    return {
        "log_losses": [float(each.mean()) for each in losses],
        "excess": float(np.mean([each.mean() for each in excess])),
        "excess_error": _standard_error(excess, shared=job.data not in SIMULATED),
        "brier": brier(probability, y),
        "slope": slope(probability, y),
        "covered": covered,
        "stated": stated,
    }


def _standard_error(excess: Sequence[Array], *, shared: bool) -> float:
    """Return the standard error of a mean difference: of its rows, or if greater of its splits.

    Splits of a real table share rows: together they have three times those of one split at most.
    """
    every = np.concatenate(excess)
    n_rows = min(len(every), 3 * len(excess[0])) if shared else len(every)
    means = [each.mean() for each in excess]
    of_splits = np.std(means, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else 0.0
    return float(max(every.std() / np.sqrt(n_rows), of_splits))


def _mean_loss(result: Mapping[str, Any], n_splits: int | None = None) -> float:
    return float(np.mean(result["log_losses"][:n_splits]))


def _best(results: Mapping[str, Mapping[str, Any]], n_splits: int) -> tuple[str, float]:
    """Return the model with the least log loss over the first splits, of those that had them."""
    means = {
        name: _mean_loss(result, n_splits)
        for name, result in results.items()
        if len(result["log_losses"]) >= n_splits
    }
    name = min(means, key=lambda name: means[name])
    return name, means[name]


def _losses(data: str, results: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """Return the log loss of each model of ours beside the best on the same splits."""
    made = []
    for name in OURS:
        if name not in results:
            continue
        n_splits = len(results[name]["log_losses"])
        best, loss = _best(results, n_splits)
        note = f"best: {best}; base rate {_mean_loss(results[BASE], n_splits):.3f}"
        if name == "GPClassifier":
            theirs = {n: _mean_loss(r) for n, r in results.items() if n not in OURS and n != BASE}
            note += "; " + ", ".join(f"{n} {loss:.3f}" for n, loss in theirs.items())
        made.append(Row(data, f"log loss, {name}", _mean_loss(results[name]), loss, note=note))
    return made


def _near_the_best(
    by_set: Mapping[str, Mapping[str, Mapping[str, Any]]], methods: Sequence[str]
) -> list[Row]:
    """Return on how many real sets a default is near the best."""
    made = []
    for name, within in WITHIN.items():
        if name not in methods:
            continue
        behind = _behind(by_set, name)
        far = [f"{data} {gap:+.3f}" for data, gap in behind.items() if gap > within]
        made.append(
            Row(
                "real sets",
                f"{name}: sets within {within:g} of the best",
                float(len(behind) - len(far)),
                float(np.ceil(SHARE * len(behind))),
                higher_is_better=True,
                bar=1.0,
                note="beyond: " + (", ".join(far) or "none"),
                rivals={
                    rival: float(sum(gap <= within for gap in _behind(by_set, rival).values()))
                    for rival in (BASE, GUESS, "logistic")
                },
            ).above_rivals()
        )
    return made


def _behind(by_set: Mapping[str, Mapping[str, Mapping[str, Any]]], name: str) -> dict[str, float]:
    """Return how far a model is from the best on each set; a guess has even chances."""
    return {
        data: (_even(data) if name == GUESS else _mean_loss(results[name]))
        - _best(results, N_SPLITS)[1]
        for data, results in by_set.items()
    }


def _even(data: str) -> float:
    """Return the log loss of even chances."""
    return float(np.log(3.0 if data in THREE_CLASSES else 2.0))


def _no_worse_than_the_base_rate(
    by_set: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> list[Row]:
    """Return on how many sets each model of ours is no worse than the base rate.

    One standard error is allowed. Who is nowhere better has no set: the base rate is such a one.
    """
    made = []
    for name in OURS:
        own = {data: results[name] for data, results in by_set.items() if name in results}
        worse = [
            f"{data} {result['excess']:+.3f}" for data, result in own.items() if _is_worse(result)
        ]
        if own:
            even = {data: _even(data) - _mean_loss(by_set[data][BASE]) for data in own}
            kept = {rival: [by_set[data][rival] for data in own] for rival in (BASE, "logistic")}
            made.append(
                Row(
                    "all sets",
                    f"{name}: sets no worse than the base rate, none if nowhere better",
                    _held(list(own.values())),
                    float(len(own)),
                    higher_is_better=True,
                    bar=1.0,
                    note="worse: " + (", ".join(worse) or "none"),
                    rivals={
                        **{rival: _held(results) for rival, results in kept.items()},
                        GUESS: 0.0 if min(even.values()) >= 0 else float(len(own)),
                    },
                ).without_empty_bar()
            )
    return made


def _is_worse(result: Mapping[str, Any]) -> bool:
    return bool(result["excess"] > max(result["excess_error"], NEGLIGIBLE))


def _held(results: Sequence[Mapping[str, Any]]) -> float:
    """Return how many results are no worse than the base rate; none if none is better."""
    better = any(one["excess"] < -max(one["excess_error"], NEGLIGIBLE) for one in results)
    return float(sum(not _is_worse(one) for one in results)) if better else 0.0


def _over_all_sets(by_set: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[Row]:
    """Return Brier score, slope and coverage of each model of ours beside the best peer."""
    made = []
    for name in OURS:
        shared = [results for results in by_set.values() if name in results]
        if not shared:
            continue
        for metric, summary in SUMMARIES.items():
            own = summary([results[name] for results in shared])
            peers = {peer: summary([results[peer] for results in shared]) for peer in PEERS}
            del peers[BASE]
            best = min(peers, key=lambda peer: peers[peer])
            made.append(Row("all sets", f"{metric}, {name}", own, peers[best], note=best))
    return made


def _mean_brier(results: Sequence[Mapping[str, Any]]) -> float:
    return float(np.mean([result["brier"] for result in results]))


def _slope_distance(results: Sequence[Mapping[str, Any]]) -> float:
    slopes = [result["slope"] for result in results if result["slope"] is not None]
    return float(np.median(np.abs(np.array(slopes) - 1.0))) if slopes else 0.0


def _coverage_gap(results: Sequence[Mapping[str, Any]]) -> float:
    return float(np.mean([abs(result["covered"] - result["stated"]) for result in results]))


SUMMARIES: dict[str, Callable[[Sequence[Mapping[str, Any]]], float]] = {
    "mean Brier score": _mean_brier,
    "median distance of the calibration slope from 1": _slope_distance,
    "mean gap between covered and stated share": _coverage_gap,
}
