from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from parsimon.roc import auc
from parsimon.statistician.families.family import OwnPredictions
from parsimon.statistician.measure import (
    calibration_table,
    check_findings,
    surprise,
)
from tests.statistician.questions import result_of, table


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    X = table({"dose": rng.normal(size=70), "noise": rng.normal(size=70)})
    y = X["dose"] + 0.6 * rng.normal(size=70) > 0
    return result_of(X, y, depth=1)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(1)
    X = table({"dose": np.linspace(0, 6, 60)})
    return result_of(X, np.sin(X["dose"]) + 0.2 * rng.normal(size=60), depth=1)


def test_without_outer_folds_rows_are_left_out_one_at_a_time(classes):
    found = check_findings(classes)
    probability = classes.model.leave_one_out().probability[:, 1]
    assert found.source == "leave-one-out"
    assert found.brier == pytest.approx(np.mean((probability - classes.question.y) ** 2))
    ranking = classes.own_predictions().ranking
    assert found.roc.auc.estimate == pytest.approx(auc(classes.question.y, ranking))
    assert sum(one.n_rows for one in found.calibration) == 70
    assert found.coverage is None
    assert found.hull[0] == (0.0, 0.0)
    assert found.hull[-1] == (1.0, 1.0)
    # A hull lies nowhere below its curve.
    fpr, tpr = np.array(found.hull).T
    assert np.all(np.interp(found.roc.fpr, fpr, tpr) >= np.array(found.roc.tpr) - 1e-12)


def test_outer_folds_are_used_where_they_saw_the_row(classes):
    rng = np.random.default_rng(2)
    seen = rng.random(70) < 0.8
    guess = np.where(seen, rng.random(70), np.nan)
    found = check_findings(classes, guess)
    assert found.source == "outer folds"
    assert found.brier == pytest.approx(np.mean((guess[seen] - classes.question.y[seen]) ** 2))
    assert found.roc.auc.estimate == pytest.approx(auc(classes.question.y[seen], guess[seen]))
    assert sum(one.n_rows for one in found.calibration) == seen.sum()
    # Rows worth a look belong to the model that is described, not to those of the folds.
    assert found.surprising == check_findings(classes).surprising


def test_folds_that_all_failed_say_nothing(classes):
    assert check_findings(classes, np.full(70, np.nan)) == check_findings(classes)


def test_numbers_have_coverage_and_no_curve(numbers):
    found = check_findings(numbers)
    without = numbers.model.leave_one_out()
    inside = np.abs(numbers.question.y - without.mean) <= 1.959963984540054 * without.sd
    assert found.coverage == inside.mean()
    expected = binomtest(int(inside.sum()), len(inside)).proportion_ci(method="exact")
    sure = found.coverage_interval
    assert (sure.low, sure.high) == pytest.approx((expected.low, expected.high))
    assert 0.85 < found.coverage <= 1
    assert (found.roc, found.brier, found.calibration, found.hull) == (None, None, (), ())


def test_a_model_without_doubt_is_not_divided_by_zero(numbers):
    value = numbers.question.y.copy()
    value[3] += 1
    own = OwnPredictions(value=value, deviation=np.zeros(len(value)), source="training rows")
    scores = surprise(numbers.question, own)
    assert np.isfinite(scores).all()
    assert np.flatnonzero(scores).tolist() == [3]


def test_a_model_of_some_rows_predicts_the_others_as_it_is():
    rng = np.random.default_rng(3)
    X = table({"dose": rng.normal(size=60)})
    subject = result_of(X, X["dose"] > 0.1, depth=1, rows=np.arange(40))
    own = subject.own_predictions()
    assert own.source == "training rows"
    np.testing.assert_allclose(own.value, subject.model.predict_proba(X)[:, 1])
    found = check_findings(subject)
    assert found.source == "training rows"
    assert found.influential == ()
    assert len(found.surprising) == 10


def test_a_number_by_a_model_of_some_rows(numbers):
    subject = replace(numbers, question=numbers.question.at(np.arange(30)))
    own = subject.own_predictions()
    mean, sd = numbers.model.predict(subject.question.X, return_std=True, include_noise=True)
    assert own.source == "training rows"
    np.testing.assert_allclose(own.value, mean)
    np.testing.assert_allclose(own.deviation, sd)


@pytest.mark.parametrize(("n_rows", "n_bins"), [(15, 2), (45, 4), (99, 9), (1000, 10)])
def test_bins_are_of_equal_counts_and_not_too_small(n_rows, n_bins):
    probability = np.random.default_rng(0).random(n_rows)
    y = (np.arange(n_rows) % 3 == 0).astype(float)
    found = calibration_table(y, probability)
    counts = [one.n_rows for one in found]
    assert len(found) == n_bins
    assert max(counts) - min(counts) <= 1
    assert sum(one.observed.estimate * one.n_rows for one in found) == pytest.approx(y.sum())


def test_shares_have_wilson_intervals():
    # Three of ten: statsmodels' proportion_confint(3, 10, method="wilson") and R's prop.test
    # without continuity correction give 0.1077913 and 0.6032219.
    probability = np.repeat([0.2, 0.7], 10)
    y = np.concatenate([np.arange(10) < 3, np.arange(10) < 10]).astype(float)
    first, second = calibration_table(y, probability)
    assert (first.observed.low, first.observed.high) == pytest.approx((0.1077913, 0.6032219))
    assert second.observed.high == 1.0
