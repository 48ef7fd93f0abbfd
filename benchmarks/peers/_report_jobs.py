"""One real table: all our models, plain rivals, a tuned SVC and an EBM on the same outer folds.

What the product recommends is chosen among its own models and rivals, as a report does; then all
are judged together, the two peers that it does not ask included.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.peers._small_tables import SMALL
from parsimon.datasets import load
from parsimon.report.findings import Interval, ModelComparison
from parsimon.statistician.asked_table import read_question
from parsimon.statistician.comparison import recommended_of
from parsimon.statistician.families.family import Family
from parsimon.statistician.families.kernel_search import KERNEL_SEARCH
from parsimon.statistician.families.registered import FAMILIES, chosen_families
from parsimon.statistician.folds import plan_folds, run_folds, tempered_answers
from parsimon.statistician.looking import look_at_folds

SVC, EBM = "tuned SVC", "EBM"


@dataclass(frozen=True)
class ReportJob:
    """A table, judged on so many outer folds; `quick` leaves out what takes long."""

    table: str
    target: str
    n_folds: int = 5
    seed: int = 0
    quick: bool = False


def work(job: ReportJob) -> Mapping[str, Any]:
    """Return all models of a table with errors and sizes."""
    if job.table in SMALL:
        frame = SMALL[job.table].frame()
    else:
        frame = load(job.table, target=job.target).frame
    return _measured(job, frame.reset_index(drop=True))


def _measured(job: ReportJob, frame: Any) -> Mapping[str, Any]:
    asked = read_question(frame, job.target, positive=None, task="auto")
    question = asked.questions[0]
    folding, searching, _, comparing, peering = np.random.SeedSequence(job.seed).spawn(5)
    parts = plan_folds(question, job.n_folds, folding)
    families = ("gp", "rvm") if job.quick else FAMILIES
    depth = 1 if job.quick else None
    asking = tuple(
        replace(KERNEL_SEARCH, depth=depth) if one is KERNEL_SEARCH else one
        for one in chosen_families(families, "all")
    )
    looked = look_at_folds(asked.questions, parts, searching, whole=False)
    answers, _ = run_folds(asking, asked.questions, parts, comparing, looked=looked)
    answers = tempered_answers(answers, question)
    ours = recommended_of(answers, asking, question)
    peers = _peers(question.is_number, quick=job.quick)
    more = tempered_answers(run_folds(peers, [question], parts, peering).answers, question)
    both = [
        type(one)(one.test, {**one.told, **two.told}, {**one.failures, **two.failures})
        for one, two in zip(answers, more, strict=True)
    ]
    everyone = recommended_of(both, (*asking, *peers), question)
    assert ours is not None
    assert everyone is not None
    return _as_result(ours, everyone)


def _as_result(ours: ModelComparison, everyone: ModelComparison) -> Mapping[str, Any]:
    return {
        "recommended": ours.recommended.name,
        "recommended_of_all": everyone.recommended.name,
        "metric": everyone.metric,
        "left_out": list(everyone.left_out),
        "models": [
            {
                "name": one.name,
                "family": one.family,
                "error": one.error.estimate,
                "log_loss": one.log_loss,
                "size": one.size,
                "size_words": one.size_words,
                "is_best": one.is_best,
                "is_near": one.difference.estimate <= _standard_error(one.difference),
                "worse": one.worse,
                "is_level": one.is_level,
                "seconds": one.seconds,
            }
            for one in everyone.models
        ],
    }


def _standard_error(interval: Interval) -> float:
    return (interval.high - interval.low) / (2 * 1.96)


def _peers(is_number: bool, *, quick: bool) -> tuple[Family, ...]:
    """Return the peers that a report does not ask; an EBM if interpret-core is installed."""
    given: list[Any] = [(SVC, _tuned_svc(is_number))]
    if not quick and find_spec("interpret") is not None:
        given.append((EBM, _ebm(is_number)))
    return chosen_families((), given)[1:]


def _tuned_svc(is_number: bool) -> Any:
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC as Classifier
    from sklearn.svm import SVR as Regressor

    machine = Regressor() if is_number else Classifier(probability=True, random_state=0)
    name = type(machine).__name__.lower()
    grid = {f"{name}__C": [0.1, 1.0, 10.0, 100.0], f"{name}__gamma": [0.01, 0.1, "scale"]}
    return GridSearchCV(make_pipeline(StandardScaler(), machine), grid, cv=3)


def _ebm(is_number: bool) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    made = ExplainableBoostingRegressor if is_number else ExplainableBoostingClassifier
    return made(outer_bags=4, n_jobs=1, random_state=0)
