import numpy as np
import pytest

from parsimon.evaluation import corrected_t_interval
from parsimon.statistician.outer_folds import (
    FoldResult,
    honest_findings,
    joint_findings,
    outside_predictions,
)


def fold(number, test, prediction, *, n=8, question=0, baseline=0.25, **more):
    test = np.asarray(test)
    train = np.setdiff1d(np.arange(n), test)
    prediction = np.asarray(prediction, dtype=float)
    return FoldResult(
        fold=number,
        question=question,
        train=train,
        test=test,
        prediction=prediction,
        baseline=baseline,
        guide_error=0.1,
        words="x alone",
        variables=("x",),
        **more,
    )


LABELS = np.array([0, 0, 1, 1, 0, 0, 1, 0.0])


def test_honest_error_is_the_mean_over_folds_with_the_corrected_interval():
    folds = [fold(0, [0, 1, 2, 3], [0.1, 0.6, 0.9, 0.8]), fold(1, [4, 5, 6, 7], [0.1, 0.2, 0.9, 0])]
    honest = honest_findings(LABELS, folds, "classification")
    assert honest.error.estimate == pytest.approx(0.125)
    low, high = corrected_t_interval(np.array([0.25, 0.0]), n_train=4, n_test=4)
    assert (honest.error.low, honest.error.high) == (max(0, low), min(1, high))
    assert honest.baseline_error.estimate == pytest.approx((0.5 + 0.25) / 2)
    assert honest.gain.estimate == pytest.approx(0.375 - 0.125)
    assert honest.brier == pytest.approx(
        np.mean(np.square([0.1, 0.6, 0.1, 0.2, 0.1, 0.2, 0.1, 0.0]))
    )
    assert honest.auc.estimate == 1.0
    assert honest.guide_error == pytest.approx(0.1)


def test_folds_that_agree_get_an_interval_of_some_width():
    folds = [fold(0, [0, 1, 2, 3], LABELS[:4]), fold(1, [4, 5, 6, 7], LABELS[4:])]
    honest = honest_findings(LABELS, folds, "classification")
    assert honest.error.estimate == 0
    assert 0.2 < honest.error.high < 0.5


def test_a_number_is_measured_as_a_share_of_the_baselines_error():
    y = np.arange(8.0)
    folds = [
        fold(0, [0, 1, 2, 3], y[:4] + 1, baseline=5.5),
        fold(1, [4, 5, 6, 7], y[4:] - 1, baseline=1.5),
    ]
    honest = honest_findings(y, folds, "regression")
    by_hand = [1 / np.mean((y[:4] - 5.5) ** 2), 1 / np.mean((y[4:] - 1.5) ** 2)]
    assert honest.error.estimate == pytest.approx(np.mean(by_hand))
    assert honest.root_mean_square == pytest.approx(1.0)
    assert honest.auc is None


def test_failed_folds_are_said_and_left_out():
    folds = [
        fold(0, [0, 1], [0.1, 0.2]),
        fold(1, [2, 3], [], failure="Outer fold 2 failed: why."),
        fold(2, [4, 5, 6, 7], [0.1, 0.2, 0.9, 0.1]),
    ]
    honest = honest_findings(LABELS, folds, "classification")
    assert honest.failures == ("Outer fold 2 failed: why.",)
    assert (len(honest.folds), honest.n_planned) == (2, 3)
    outside = outside_predictions(8, folds)
    assert np.isnan(outside).nonzero()[0].tolist() == [2, 3]
    assert honest_findings(LABELS, folds[:2], "classification") is None


def test_the_classes_together_count_the_most_probable_one():
    codes = np.array([0, 1, 2, 0, 1, 2])
    shares = np.array([[0.8, 0.1, 0.3], [0.1, 0.7, 0.1], [0.1, 0.6, 0.2]])
    measured = [
        fold(number, rows, shares[:, question], n=6, question=question)
        for number, rows in enumerate(([0, 1, 2], [3, 4, 5]))
        for question in range(3)
    ]
    joint = joint_findings(codes, ("a", "b", "c"), measured)
    assert joint.confusion == ((2, 0, 0), (0, 2, 0), (0, 2, 0))
    assert joint.error.estimate == pytest.approx(1 / 3)
    assert joint.baseline_error.estimate == pytest.approx(2 / 3)
    assert joint_findings(codes, ("a", "b", "c"), measured[:5]) is None
