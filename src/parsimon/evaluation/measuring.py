"""One outer fold: clone, seed and fit the whole search, then score it on the test part."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    LeaveOneGroupOut,
    LeavePGroupsOut,
    StratifiedGroupKFold,
)
from threadpoolctl import threadpool_limits

from parsimon._typing import AnyArray, Indices
from parsimon.evaluation.metric import Metric, last_step
from parsimon.evaluation.outer import Part, seeded_splitter
from parsimon.evaluation.result import Fold
from parsimon.exceptions import InvalidInputError

_GROUPED = (
    GroupKFold,
    GroupShuffleSplit,
    LeaveOneGroupOut,
    LeavePGroupsOut,
    StratifiedGroupKFold,
)


@dataclass(frozen=True, eq=False)
class Measurement:
    """All that one fold needs; calling it measures a fold.

    A failure is returned as a sentence, so that one bad fold does not lose the others.
    """

    search: Any
    X: Any
    y: AnyArray
    groups: AnyArray | None
    metric: Metric
    guide: Callable[[Any], float] | None

    def __call__(self, part: Part, seed: np.random.SeedSequence) -> Fold | str:
        start = time.perf_counter()
        try:
            # One thread: the same bits whatever n_jobs, and no fight over cores.
            with threadpool_limits(limits=1):
                return self._fold(part, seed, start)
        except Exception as error:  # noqa: BLE001 - any estimator may raise anything
            reason = f"{type(error).__name__}: {error}".rstrip(".")
            return f"Fold {part.number} of repeat {part.repeat} failed with {reason}."

    def _fold(self, part: Part, seed: np.random.SeedSequence, start: float) -> Fold:
        train, test = take(self.X, part.train), take(self.X, part.test)
        target, truth = self.y[part.train], self.y[part.test]
        options = {}
        if self.groups is not None and isinstance(getattr(self.search, "cv", None), _GROUPED):
            options["groups"] = self.groups[part.train]
        fitted = seeded(clone(self.search), seed).fit(train, target, **options)
        score = float(self.metric.scorer(fitted)(fitted, test, truth))
        if not np.isfinite(score):
            raise InvalidInputError(f"the {self.metric.name} of its {len(truth)} rows is {score}")
        return Fold(
            repeat=part.repeat,
            number=part.number,
            n_train=len(part.train),
            test=part.test,
            truth=truth,
            predictions=np.asarray(fitted.predict(test)),
            score=score,
            baseline=self._baseline(target, truth),
            guide=_best_score(fitted) if self.guide is None else float(self.guide(fitted)),
            seconds=time.perf_counter() - start,
        )

    def _baseline(self, target: AnyArray, truth: AnyArray) -> float:
        dummy = (
            DummyClassifier(strategy="prior") if is_classifier(self.search) else DummyRegressor()
        )
        dummy.fit(np.zeros((len(target), 1)), target)
        with warnings.catch_warnings():
            # Precision and the like are undefined, and set to 0, for a model of one answer.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return float(self.metric.scorer(dummy)(dummy, np.zeros((len(truth), 1)), truth))


def seeded(search: Any, seed: np.random.SeedSequence) -> Any:
    """Set an int for every `random_state` of the search, and of its splitters, that is None.

    Parameters get seeds in sorted order of their names; seeds that are set stay.
    """
    params = search.get_params(deep=True)
    changes: dict[str, Any] = {}
    for name, child in zip(sorted(params), seed.spawn(len(params)), strict=True):
        value = params[name]
        if value is None and name.split("__")[-1] == "random_state":
            changes[name] = int(child.generate_state(1)[0])
        elif hasattr(value, "split") and hasattr(value, "get_n_splits"):
            changes[name] = seeded_splitter(value, child)
    return search.set_params(**changes)


def take(X: Any, rows: Indices) -> Any:
    """Return some rows of an array, a sparse matrix or a data frame, in its own kind."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.tocsr()[rows] if hasattr(X, "tocsr") else X[rows]


def _best_score(fitted: Any) -> float | None:
    best = getattr(last_step(fitted), "best_score_", None)
    return None if best is None else float(best)
