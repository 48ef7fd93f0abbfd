import time

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    LeaveOneOut,
    StratifiedKFold,
)
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

from parsimon.evaluation import honest_score
from parsimon.exceptions import InterruptWarning, InvalidInputError


class Awkward(ClassifierMixin, BaseEstimator):
    """Answers "no", and raises `error` in the fits whose numbers are in `when`, counting from 1."""

    fits = 0

    def __init__(self, when=(), error=ValueError):
        self.when = when
        self.error = error

    def fit(self, X, y):
        Awkward.fits += 1
        if Awkward.fits in self.when:
            raise self.error("awkward on purpose.")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.fixture
def awkward(monkeypatch):
    monkeypatch.setattr(Awkward, "fits", 0)
    return Awkward


def test_a_failing_fold_is_reported_with_its_number_and_reason(table, awkward):
    result = honest_score(awkward(when=(2,)), *table, outer=4, random_state=0)
    assert [fold.number for fold in result.folds] == [1, 3, 4]
    assert not result.complete
    assert result.failures == ("Fold 2 of repeat 1 failed with ValueError: awkward on purpose.",)
    assert "Only 3 of 4 folds are in. Fold 2 of repeat 1 failed" in result.describe()


def test_an_undefined_score_is_a_failure_too():
    X = np.arange(8.0)[:, None]
    with (
        pytest.raises(
            InvalidInputError, match=r"All 8 outer folds failed.*r2 of its 1 rows is nan"
        ),
        pytest.warns(UserWarning, match=r"R\^2 score is not well-defined"),
    ):
        honest_score(Ridge(), X, X[:, 0], outer=LeaveOneOut())


def test_all_folds_failing_is_an_error(table, awkward):
    with pytest.raises(InvalidInputError, match=r"All 3 outer folds failed\. Fold 1 of repeat 1"):
        honest_score(awkward(when=(1, 2, 3)), *table, outer=3)


@pytest.mark.parametrize("jobs", [1, 2])
def test_with_no_time_at_all_one_fold_is_still_measured(jobs, table):
    result = honest_score(
        LogisticRegression(), *table, outer=5, time_limit=0, random_state=0, n_jobs=jobs
    )
    whole = honest_score(LogisticRegression(), *table, outer=5, random_state=0)
    assert result.scores.tolist() == whole.scores[:1].tolist()
    assert not result.complete
    assert result.interval is None
    assert result.stopped_by == "time_limit"
    assert "Only 1 of 5 folds are in (time limit)." in result.describe()
    assert "One fold gives no interval" in result.describe()


def test_a_time_limit_stops_new_folds_only(table, monkeypatch):
    clock = iter([0.0, 5.0, 9.9, 10.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    result = honest_score(LogisticRegression(), *table, outer=5, time_limit=10, random_state=0)
    # Read at the start and before folds 2, 3 and 4: the fourth is too late.
    assert len(result.folds) == 3
    assert result.interval is not None


def test_an_interrupt_keeps_the_finished_folds(table, awkward):
    search = awkward(when=(3,), error=KeyboardInterrupt)
    with pytest.warns(InterruptWarning, match="the best so far"):
        result = honest_score(search, *table, outer=5, random_state=0)
    assert [fold.number for fold in result.folds] == [1, 2]
    assert not result.complete
    assert result.stopped_by == "interrupt"
    assert "Only 2 of 5 folds are in (interrupt)." in result.describe()


def test_an_interrupt_before_the_first_fold_is_passed_on(table, awkward):
    with pytest.raises(KeyboardInterrupt, match="on purpose"):
        honest_score(awkward(when=(1,), error=KeyboardInterrupt), *table, outer=5)


def test_a_backend_that_returns_all_at_once_will_do(table):
    with joblib.parallel_config("multiprocessing", n_jobs=2):
        result = honest_score(LogisticRegression(), *table, n_jobs=None, random_state=0)
    expected = honest_score(LogisticRegression(), *table, random_state=0)
    assert np.array_equal(result.scores, expected.scores)


def test_a_fold_runs_on_one_thread(table):
    def threads(_):
        return max(pool["num_threads"] for pool in threadpool_info())

    with threadpool_limits(limits=2):
        assert threads(None) == 2
        assert honest_score(LogisticRegression(), *table, guide=threads).guide == 1
        assert threads(None) == 2


def test_progress_is_shown_on_stderr_only_when_asked(table, capfd):
    honest_score(LogisticRegression(), *table, random_state=0)
    assert capfd.readouterr().err == ""
    honest_score(LogisticRegression(), *table, random_state=0, verbose=True)
    shown = capfd.readouterr()
    assert "honest score" in shown.err
    assert "5/5" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outer": 1}, "outer must be from 2 to the number of rows, 60; got 1"),
        ({"outer": 61}, "number of rows, 60; got 61"),
        ({"outer": 50}, "Class yes has 26 of the 50 rows"),
        ({"outer": "five"}, "a number of folds or a scikit-learn splitter; got 'five'"),
        ({"outer": 4, "groups": np.repeat([1, 2, 3], 20)}, "number of groups, 3; got 4"),
        ({"groups": [1, 2]}, "X has 60 rows, but groups has 2"),
        ({"outer": StratifiedKFold(3), "repeats": 2}, "same folds each time"),
        ({"repeats": 0}, "repeats must be an integer of at least 1, got 0"),
        ({"repeats": 1.5}, r"repeats must be an integer of at least 1, got 1\.5"),
        ({"confidence": 1.0}, "confidence must lie between 0 and 1"),
        ({"time_limit": -1}, "time_limit must be seconds, not below 0; got -1"),
        ({"interval": "normal"}, 'interval must be "rows" or "corrected_t" or "bootstrap"'),
        ({"interval": "bootstrap", "scoring": "roc_auc"}, "made of rows .*; got roc_auc"),
        ({"interval": "rows", "scoring": "f1_macro"}, "made of rows .*; got f1_macro"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message, table):
    with pytest.raises(InvalidInputError, match=message):
        honest_score(LogisticRegression(), *table, **options)


@pytest.mark.parametrize(
    ("search", "y", "message"),
    [
        (LogisticRegression, ["a", "b"] * 5, "an estimator with fit and predict"),
        (StandardScaler(), ["a", "b"] * 5, "an estimator with fit and predict"),
        (LogisticRegression(), ["a", "b"] * 4, "X has 10 rows, but y has 8"),
        (LogisticRegression(), ["a", None] * 5, "5 of 10 values of y are missing"),
        (Ridge(), [1.0, np.inf] * 5, "5 of 10 values of y are missing or infinite"),
        (LogisticRegression(), ["a"] * 9 + ["b"], "Class b has 1 of the 5 rows"),
        (LogisticRegression(), np.arange(10) / 7, "real numbers"),
    ],
)
def test_data_that_cannot_be_scored_are_refused(search, y, message):
    with pytest.raises(InvalidInputError, match=message):
        honest_score(search, np.ones((10, 2)), y)
