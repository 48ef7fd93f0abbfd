"""The honest estimate: search inside each outer training part, measure outside it.

A search that looked at a score to choose a model cannot also report that score. `honest_score`
treats the whole search as one estimator: outer folds (`outer.py`), one search in each
(`measuring.py`),
a summary with an interval (`result.py`).
"""

from collections.abc import Callable, Iterator
from numbers import Integral
from time import perf_counter
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import is_classifier

from parsimon._progress import Progress
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray
from parsimon.evaluation.intervals import bootstrap_interval, corrected_t_interval
from parsimon.evaluation.measuring import Measurement
from parsimon.evaluation.metric import POINTS, Metric, Scoring, metric_of
from parsimon.evaluation.outer import outer_parts
from parsimon.evaluation.result import Fold, HonestScore
from parsimon.exceptions import InvalidInputError
from parsimon.partition import complete_vector

IntervalMethod = Literal["corrected_t", "bootstrap"]


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
    interval: IntervalMethod = "corrected_t",
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
    interval : {"corrected_t", "bootstrap"}
        "corrected_t" [1]_ works for every score. "bootstrap" resamples the tested rows (or
        groups), for scores that are means over rows: accuracy and the mean squared or absolute
        error.
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
    Honest accuracy: 0.953 (95% interval 0.898 to 1), from 5 outer folds with 120 training
    and 30 test rows on average. The search itself believed 0.967: too high by 0.0133. A baseline
    that ignores the columns scores 0.333, below the interval. The interval is the corrected...
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
    jobs = (
        delayed(measure)(part, child)
        for part, child in zip(parts, search_seed.spawn(len(parts)), strict=True)
    )
    with Progress("honest score", total=len(parts), verbose=verbose) as progress:
        outcomes, stopped = _run(jobs, n_jobs=n_jobs, time_limit=time_limit, progress=progress)
    folds = tuple(outcome for outcome in outcomes if isinstance(outcome, Fold))
    failures = tuple(outcome for outcome in outcomes if isinstance(outcome, str))
    if not folds:
        raise InvalidInputError(f"All {len(failures)} outer folds failed. {failures[0]}")
    return HonestScore(
        folds=folds,
        failures=failures,
        n_planned=len(parts),
        scoring=metric.name,
        interval=_interval(folds, metric, interval, confidence, groups, interval_seed),
        interval_method=interval,
        confidence=confidence,
        stopped=stopped,
        comparable=guide is not None or metric_of(search).name == metric.name,
    )


def _run(
    jobs: Iterator[Any], *, n_jobs: int | None, time_limit: float | None, progress: Progress
) -> tuple[list[Fold | str], str]:
    """Run the jobs in order; return their outcomes, and why it stopped early if it did."""
    deadline = np.inf if time_limit is None else perf_counter() + time_limit
    outcomes: list[Fold | str] = []
    late = False

    def due() -> Iterator[Any]:
        nonlocal late
        for position, job in enumerate(jobs):
            late = position > 0 and perf_counter() >= deadline
            if late:
                return
            yield job

    try:
        for outcome in _parallel(n_jobs)(due()):
            outcomes.append(outcome)
            progress.update(len(outcomes))
    except KeyboardInterrupt:
        if not any(isinstance(outcome, Fold) for outcome in outcomes):
            raise
        return outcomes, "interrupted"
    return outcomes, "time limit" if late else ""


def _parallel(n_jobs: int | None) -> Any:
    """Return joblib's runner, one that begins a fold only when a worker is free for it."""
    options: dict[str, Any] = {"n_jobs": n_jobs, "batch_size": 1, "pre_dispatch": "n_jobs"}
    try:
        return Parallel(return_as="generator", **options)
    except ValueError:
        # Some backends (multiprocessing, Ray) hand back results only when all are there.
        return Parallel(**options)


def _interval(
    folds: tuple[Fold, ...],
    metric: Metric,
    method: IntervalMethod,
    confidence: float,
    groups: AnyArray | None,
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
    points = [POINTS[metric.name](fold.truth, fold.predictions) for fold in folds]
    rows = np.concatenate([fold.test for fold in folds])
    return bootstrap_interval(
        np.concatenate(points).astype(np.float64),
        rows if groups is None else groups[rows],
        confidence=confidence,
        random_state=seed,
    )


def _check(search: Any, *, repeats: int, confidence: float, time_limit: float | None) -> None:
    if isinstance(search, type) or not (hasattr(search, "fit") and hasattr(search, "predict")):
        raise InvalidInputError(
            f"search must be an estimator with fit and predict; got {search!r}."
        )
    if not isinstance(repeats, Integral) or repeats < 1:
        raise InvalidInputError(f"repeats must be a whole number, at least 1; got {repeats!r}.")
    if not 0 < confidence < 1:
        raise InvalidInputError(f"confidence must lie between 0 and 1; got {confidence!r}.")
    if time_limit is not None and not time_limit >= 0:
        raise InvalidInputError(f"time_limit must be seconds, not below 0; got {time_limit!r}.")


def _check_interval(interval: str, metric: Metric) -> None:
    if interval not in ("corrected_t", "bootstrap"):
        raise InvalidInputError(f"interval must be corrected_t or bootstrap; got {interval!r}.")
    if interval == "bootstrap" and (callable(metric.scoring) or metric.name not in POINTS):
        raise InvalidInputError(
            f"interval='bootstrap' needs a score that is a mean over rows ({', '.join(POINTS)}); "
            f"got {metric.name}. Use interval='corrected_t'."
        )
