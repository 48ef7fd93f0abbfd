"""The honest estimate: search inside each outer training part, measure outside it.

A search that looked at a score to choose a model cannot also report that score. `honest_score`
treats the whole search as one estimator: outer folds, in each of them a clone of the search with a
seed of its own, and a summary with an interval. A `Metric` says which score is meant: its scorer,
its name, its range, and what one prediction adds to it.
"""

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    LeaveOneGroupOut,
    LeavePGroupsOut,
    StratifiedGroupKFold,
)
from sklearn.pipeline import Pipeline

from parsimon._checks import check_choice, check_count
from parsimon._deadline import end_after, is_late
from parsimon._interrupts import as_one_piece, stoppable
from parsimon._parallel import Workers
from parsimon._partition import complete_vector
from parsimon._progress import Progress
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray, Indices
from parsimon.evaluation._honest_result import (
    KINDS,
    Fold,
    HonestScore,
    RowScores,
    bootstrap_interval,
    corrected_t_interval,
)
from parsimon.evaluation.folds import OuterPart, outer_parts, seeded_splitter
from parsimon.evaluation.row_intervals import placement_shares
from parsimon.exceptions import InvalidInputError

Scoring = str | Callable[..., float] | None

_FROM_0_TO_1 = ("accuracy", "average_precision", "balanced_accuracy", "f1", "roc_auc")


@dataclass(frozen=True)
class Metric:
    """A scoring as scikit-learn takes it, with a name to print."""

    name: str
    scoring: Scoring

    def scorer(self, estimator: Any) -> Callable[..., float]:
        """Return a function of (fitted estimator, X, y); greater is better."""
        return check_scoring(estimator, scoring=self.scoring)

    def points(self, fitted: Any, X: Any, fold: Fold) -> AnyArray | None:
        """Return what each test row adds to the score of a fold, as `RowScores` has it.

        None if the score is not made of rows, or is not what its name says, as a `score` of an
        estimator's own may be.
        """
        if callable(self.scoring) or self.name not in KINDS:
            return None
        points = np.asarray(_ROW_POINTS[self.name](fitted, X, fold), dtype=np.float64)
        alone = RowScores.of((replace(fold, points=points),), self.name)
        told = math.nan if alone is None else alone.score
        return points if math.isclose(told, fold.score, rel_tol=1e-6, abs_tol=1e-9) else None

    def within_range(self, low: float, high: float) -> tuple[float, float]:
        """Return the interval without values that the score cannot take, where that is known."""
        bounded = not callable(self.scoring) and self.name in _FROM_0_TO_1
        return (max(low, 0.0), min(high, 1.0)) if bounded else (low, high)


def _own_probability(fitted: Any, X: Any, fold: Fold) -> AnyArray:
    """Return the probability that each row's own class was given, (n_test,)."""
    probability = fitted.predict_proba(X)
    place = np.searchsorted(fitted.classes_, fold.truth)
    floor = np.finfo(probability.dtype).eps
    return np.clip(probability[np.arange(len(place)), place], floor, 1 - floor)


def _placements(fitted: Any, X: Any, fold: Fold) -> AnyArray:
    if hasattr(fitted, "decision_function"):
        scores = np.asarray(fitted.decision_function(X))
    else:
        scores = np.asarray(fitted.predict_proba(X))[:, 1]
    return placement_shares(fold.truth == fitted.classes_[1], scores)


_ROW_POINTS: dict[str, Callable[[Any, Any, Fold], AnyArray]] = {
    "accuracy": lambda _, __, fold: fold.truth == fold.predictions,
    "neg_mean_squared_error": lambda _, __, fold: (fold.truth - fold.predictions) ** 2,
    "neg_mean_absolute_error": lambda _, __, fold: np.abs(fold.truth - fold.predictions),
    "r2": lambda _, __, fold: (fold.truth - fold.predictions) ** 2,
    "neg_log_loss": lambda *fitted: -np.log(_own_probability(*fitted)),
    "neg_brier_score": lambda *fitted: (1 - _own_probability(*fitted)) ** 2,
    "roc_auc": _placements,
}


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

    def __call__(self, part: OuterPart, seed: np.random.SeedSequence) -> Fold | str:
        start = time.perf_counter()
        try:
            return self._fold(part, seed, start)
        except Exception as error:  # noqa: BLE001 - any estimator may raise anything
            reason = f"{type(error).__name__}: {error}".rstrip(".")
            return f"Fold {part.number} of repeat {part.repeat} failed with {reason}."

    def _fold(self, part: OuterPart, seed: np.random.SeedSequence, start: float) -> Fold:
        train, test = take(self.X, part.train), take(self.X, part.test)
        target, truth = self.y[part.train], self.y[part.test]
        options = {}
        if self.groups is not None and isinstance(getattr(self.search, "cv", None), _GROUPED):
            options["groups"] = self.groups[part.train]
        fitted = seeded(clone(self.search), seed).fit(train, target, **options)
        score = float(self.metric.scorer(fitted)(fitted, test, truth))
        if not np.isfinite(score):
            raise InvalidInputError(f"the {self.metric.name} of its {len(truth)} rows is {score}")
        fold = Fold(
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
            units=part.test if self.groups is None else self.groups[part.test],
        )
        return replace(fold, points=self.metric.points(fitted, test, fold))

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


IntervalMethod = Literal["rows", "corrected_t", "bootstrap"]


@stoppable
def honest_score(
    search: Any,
    X: Any,
    y: Any,
    *,
    outer: Any = 5,
    repeats: int = 1,
    scoring: Scoring = None,
    groups: Any = None,
    guide: Callable[[Any], float] | None = None,
    interval: IntervalMethod | None = None,
    confidence: float = 0.95,
    n_jobs: int | None = 1,
    random_state: Seed = None,
    time_limit: float | None = None,
    verbose: bool = False,
) -> HonestScore:
    """Estimate how well a search, or any estimator, does on rows that it has never seen.

    Repeated nested cross-validation: a clone of the whole search is fitted to each outer training
    part and scored on the outer test part. What guided the search is reported beside it, never as
    its performance, and so is a baseline that ignores the columns (the commonest class or the
    class frequencies; the mean), measured on the same folds.

    Parameters
    ----------
    search : estimator
        Anything with scikit-learn's `fit` and `predict`: an estimator, a `Pipeline`, a
        `GridSearchCV`, one of our searches.
    X : array-like, data frame or sparse matrix of shape (n, m)
        Handed to `search` as it is.
    y : array-like of shape (n,)
    outer : int or splitter, default=5
        Number of shuffled outer folds (class-wise for a classifier, whole groups with `groups`),
        or a scikit-learn splitter.
    repeats : int, default=1
        How often the outer folds are drawn anew.
    scoring : str, callable or None
        As in scikit-learn; None takes the scoring of the search, or its `score`.
    groups : array-like of shape (n,), optional
        Rows of one group stay on one side of each outer split. They also reach the `fit` of a
        search whose own `cv` splits by groups.
    guide : callable, optional
        Takes the fitted search and returns the score that it believed; by default `best_score_`.
    interval : {"rows", "corrected_t", "bootstrap"} or None
        "rows" takes the variance from the tested rows (or groups), and allows for folds that share
        training rows; for accuracy, AUC of two classes, log loss, Brier score, R2 and the mean
        squared or absolute error. "corrected_t" [1]_ takes it from the spread of the fold scores
        and works for every score, but few folds make it wide. None takes "rows" where it can.
        "bootstrap" resamples the tested rows, for accuracy and the two mean errors.
    confidence : float, default=0.95
    n_jobs : int or None, default=1
        Outer folds at a time, through joblib. The result is the same for every value.
    random_state : None, int, Generator, SeedSequence or RandomState
        Draws the outer folds, and seeds every `random_state` that is None inside the search (its
        inner splitter's too). A seed that the search was given is kept.
    time_limit : float, optional
        No fold is begun after so many seconds; one that has begun is finished.
    verbose : bool, default=False
        Show a progress bar.

    Returns
    -------
    HonestScore
        A fold that fails is listed in its `failures` with the reason. After a time limit or
        Ctrl-C it holds the finished folds and `complete` is False.

    Notes
    -----
    BLAS and OpenMP run on one thread inside a fold: with more, two runs could differ in the last
    bits, and parallel folds would get in each other's way.

    References
    ----------
    .. [1] Nadeau and Bengio (2003), Inference for the generalization error,
       Machine Learning 52:239-281.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5, 15]})
    >>> result = honest_score(search, *load_iris(return_X_y=True), random_state=0)
    >>> print(result.describe())
    Honest accuracy: 0.953 (95% interval 0.897 to 0.979), from 5 outer folds with 120 training
    and 30 test rows on average. The search itself believed 0.967: too high by 0.0133. A baseline
    that ignores the columns scores 0.333, below the interval. The interval is over the
    tested rows...
    """
    y = complete_vector(y, X.shape[0] if hasattr(X, "shape") else len(X))
    groups = None if groups is None else complete_vector(groups, len(y), "groups")
    _check(search, repeats=repeats, confidence=confidence, time_limit=time_limit)
    metric = metric_of(search, scoring)
    _check_interval(interval, metric)
    fold_seed, search_seed, interval_seed = seed_sequence(random_state).spawn(3)
    classes = is_classifier(search)
    parts = outer_parts(
        outer, X, y, groups=groups, classes=classes, repeats=repeats, seed=fold_seed
    )
    rows = np.asarray(X) if isinstance(X, list | tuple) else X
    measure = Measurement(search, rows, y, groups, metric, guide)
    calls = zip(parts, search_seed.spawn(len(parts)), strict=True)
    with Progress("honest score", total=len(parts), verbose=verbose) as progress:
        outcomes, stopped_by = _run(
            measure, calls, n_jobs=n_jobs, time_limit=time_limit, progress=progress
        )
    folds = tuple(outcome for outcome in outcomes if isinstance(outcome, Fold))
    failures = tuple(outcome for outcome in outcomes if isinstance(outcome, str))
    if not folds:
        raise InvalidInputError(f"All {len(failures)} outer folds failed. {failures[0]}")
    method = interval or ("corrected_t" if RowScores.of(folds, metric.name) is None else "rows")
    return HonestScore(
        folds=folds,
        failures=failures,
        n_planned=len(parts),
        scoring=metric.name,
        interval=_interval(folds, metric, method, confidence, interval_seed),
        interval_method=method,
        confidence=confidence,
        stopped_by=stopped_by,
        comparable=guide is not None or metric_of(search).name == metric.name,
    )


def _run(
    measure: Measurement,
    calls: Iterable[tuple[OuterPart, np.random.SeedSequence]],
    *,
    n_jobs: int | None,
    time_limit: float | None,
    progress: Progress,
) -> tuple[list[Fold | str], str]:
    """Measure the folds in order; return them, and why it stopped early if it did."""
    deadline = end_after(time_limit)
    outcomes: list[Fold | str] = []
    late = False

    def due() -> Iterator[tuple[OuterPart, np.random.SeedSequence]]:
        nonlocal late
        for position, call in enumerate(calls):
            late = position > 0 and is_late(deadline)
            if late:
                return
            yield call

    with as_one_piece() as interrupt:
        try:
            # One thread in all: the same bits whatever n_jobs, and no fight over cores.
            with Workers(n_jobs, ahead=1) as workers:
                for outcome in workers.map(measure, due()):
                    outcomes.append(outcome)
                    progress.update(len(outcomes))
        except KeyboardInterrupt as error:
            if not any(isinstance(outcome, Fold) for outcome in outcomes):
                raise
            interrupt.answer(error)
            return outcomes, "interrupt"
    return outcomes, "time_limit" if late else ""


def _interval(
    folds: tuple[Fold, ...],
    metric: Metric,
    method: IntervalMethod,
    confidence: float,
    seed: np.random.SeedSequence,
) -> tuple[float, float] | None:
    if len(folds) < 2:
        return None
    if method == "corrected_t":
        low, high = corrected_t_interval(
            np.array([fold.score for fold in folds]),
            n_train=float(np.mean([fold.n_train for fold in folds])),
            n_test=float(np.mean([len(fold.test) for fold in folds])),
            confidence=confidence,
        )
        return metric.within_range(low, high)
    rows = RowScores.of(folds, metric.name)
    if rows is None:
        raise InvalidInputError(
            f"The rows do not add up to the {metric.name} of their fold, so that "
            f"interval={method!r} cannot be had. Use interval='corrected_t'."
        )
    if method == "rows":
        _, low, high = rows.bounds(confidence)
        mean = float(np.mean([fold.score for fold in folds]))
        # Folds of different sizes weigh alike in the mean, rows weigh alike in the interval.
        return min(low, mean), max(high, mean)
    points = -rows.points if rows.kind == "loss" else rows.points
    return bootstrap_interval(points, rows.units, confidence=confidence, random_state=seed)


def _check(search: Any, *, repeats: int, confidence: float, time_limit: float | None) -> None:
    if isinstance(search, type) or not (hasattr(search, "fit") and hasattr(search, "predict")):
        raise InvalidInputError(
            f"search must be an estimator with fit and predict; got {search!r}."
        )
    check_count("repeats", repeats)
    if not 0 < confidence < 1:
        raise InvalidInputError(f"confidence must lie between 0 and 1; got {confidence!r}.")
    if time_limit is not None and not time_limit >= 0:
        raise InvalidInputError(f"time_limit must be seconds, not below 0; got {time_limit!r}.")


def _check_interval(interval: str | None, metric: Metric) -> None:
    if interval is None:
        return
    check_choice("interval", interval, ("rows", "corrected_t", "bootstrap"))
    kinds = ("share", "loss") if interval == "bootstrap" else ("share", "loss", "r2", "area")
    known = [name for name, kind in KINDS.items() if kind in kinds]
    if interval != "corrected_t" and (callable(metric.scoring) or metric.name not in known):
        raise InvalidInputError(
            f"interval={interval!r} needs a score that is made of rows ({', '.join(known)}); "
            f"got {metric.name}. Use interval='corrected_t'."
        )
