"""Which score is meant: its scorer, its name, its range, and what one prediction adds to it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline

from parsimon._typing import AnyArray

Scoring = str | Callable[..., float] | None

# Scores that are means over rows: what one prediction contributes, given truth and prediction.
POINTS: dict[str, Callable[[AnyArray, AnyArray], Any]] = {
    "accuracy": lambda truth, prediction: truth == prediction,
    "neg_mean_squared_error": lambda truth, prediction: -((truth - prediction) ** 2),
    "neg_mean_absolute_error": lambda truth, prediction: -np.abs(truth - prediction),
}
_FROM_0_TO_1 = ("accuracy", "average_precision", "balanced_accuracy", "f1", "roc_auc")


@dataclass(frozen=True)
class Metric:
    """A scoring as scikit-learn takes it, with a name to print."""

    name: str
    scoring: Scoring

    def scorer(self, estimator: Any) -> Callable[..., float]:
        """Return a function of (fitted estimator, X, y); greater is better."""
        scorer: Callable[..., float] = check_scoring(estimator, scoring=self.scoring)
        return scorer

    def within_range(self, low: float, high: float) -> tuple[float, float]:
        """Return the interval without values that the score cannot take, where that is known."""
        bounded = not callable(self.scoring) and self.name in _FROM_0_TO_1
        return (max(low, 0.0), min(high, 1.0)) if bounded else (low, high)


def metric_of(search: Any, scoring: Scoring = None) -> Metric:
    """Return the metric that `scoring` names, or else the one that the search itself maximises."""
    found = own_scoring(search) if scoring is None else scoring
    if isinstance(found, str):
        name = found
    elif found is not None:
        name = getattr(getattr(found, "_score_func", found), "__name__", "score")
    elif is_classifier(search):
        name = "accuracy"
    else:
        name = "r2" if is_regressor(search) else "score"
    return Metric(name, found)


def own_scoring(search: Any) -> Scoring:
    """Return the `scoring` of the search, or the one it refits by if it has several."""
    search = last_step(search)
    scoring = getattr(search, "scoring", None)
    refit = getattr(search, "refit", None)
    if isinstance(scoring, dict):
        return scoring.get(refit)
    if isinstance(scoring, list | tuple | set):
        return refit if isinstance(refit, str) else None
    return scoring


def last_step(search: Any) -> Any:
    """Return the estimator at the end of a pipeline, or the estimator itself."""
    return last_step(search.steps[-1][1]) if isinstance(search, Pipeline) else search
