"""Whether the model that a report hands out is as good as its folds say, on new rows.

Tables whose target is the product of two of six columns, each of which says nothing alone: the
folds may find it while the fit to all rows ends at a constant. What the page promises, with its
95 % interval, is compared with the same measure of the recommended model on 5,000 new rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from benchmarks.reproduce._resume import run_all
from benchmarks.rivals import CONSTANT, GUESS
from benchmarks.rows import Row
from parsimon.statistician import analyse

N_ROWS, N_NEW, N_COLUMNS = 200, 5000, 6
# 95 % of 24 intervals, less two standard errors.
COVERED = 0.86


@dataclass(frozen=True)
class FinalJob:
    """One table: a number, or whether it is positive."""

    target: Literal["number", "classes"]
    seed: int


def _drawn(rng: np.random.Generator, n_rows: int, job: FinalJob) -> pd.DataFrame:
    X = rng.normal(size=(n_rows, N_COLUMNS))
    y = 1.5 * X[:, 0] * X[:, 1] + rng.normal(size=n_rows)
    table = pd.DataFrame(X, columns=[f"x{place}" for place in range(N_COLUMNS)])
    return table.assign(y=y if job.target == "number" else np.where(y > 0, "yes", "no"))


def final_work(job: FinalJob) -> Mapping[str, Any]:
    """Return what the page says of the recommended model, and what new rows say."""
    rng = np.random.default_rng([1, job.seed])
    table, new = _drawn(rng, N_ROWS, job), _drawn(rng, N_NEW, job)
    found = analyse(table, "y", n_jobs=1, seed=0, families=("gp",), rivals=["linear"])
    assert found.comparison is not None
    chosen = found.comparison.recommended
    told, truth = found.recommended.predict(new), new["y"].to_numpy()
    if job.target == "number":
        error = float(np.mean((told - truth) ** 2) / np.var(truth))
    else:
        error = float(np.mean(told != truth))
    return {
        "name": chosen.name,
        "honest": [chosen.error.low, chosen.error.estimate, chosen.error.high],
        "error": error,
        "is_constant": len(np.unique(np.round(told, 2) if job.target == "number" else told)) < 2,
    }


def final_rows(*, quick: bool) -> list[Row]:
    """Measure the recommended models of many tables on new rows."""
    made: list[Row] = []
    sizes: dict[Literal["number", "classes"], int] = {"number": 24, "classes": 12}
    for target, n_tables in sizes.items():
        jobs = [FinalJob(target, seed) for seed in range(1, (1 if quick else n_tables) + 1)]
        name = None if quick else f"report-final-{target}.jsonl"
        found = run_all(jobs, final_work, title="Recommended models on new rows", file_name=name)
        made += _rows(f"{len(jobs)} products, {target}", [found[job] for job in jobs], quick)
    return made


def _rows(case: str, results: list[Mapping[str, Any]], quick: bool) -> list[Row]:
    share = float(np.mean([not one["is_constant"] for one in results]))
    covered = [one["honest"][0] <= one["error"] <= one["honest"][2] for one in results]
    honest = float(np.mean([one["honest"][1] for one in results]))
    bar = None if quick else 1.0
    metric = "final models that are no constant, share"
    varied = Row(case, metric, share, 1.0, True, bar, rivals={CONSTANT: 0.0, GUESS: 0.5})
    return [
        varied,
        Row(
            case,
            "95 % intervals of the page that hold the error on new rows, share; none if constant",
            float(np.mean(covered)) if varied.met else 0.0,
            COVERED,
            True,
            bar,
            note=f"{float(np.mean(covered)):.2f}",
            # The error of a constant is easily known.
            rivals={CONSTANT: 0.0, "no width": 0.0},
        ),
        Row(
            case,
            "mean error of final models on new rows, and of their folds",
            float(np.mean([one["error"] for one in results])),
            honest,
        ),
    ]
