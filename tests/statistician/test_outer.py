import dataclasses
import math

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, balanced_accuracy_score

from parsimon.evaluation.row_intervals import difference_bounds, share_bounds
from parsimon.report.findings import Interval
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


def test_honest_error_is_the_share_of_tested_rows_with_their_interval():
    folds = [fold(0, [0, 1, 2, 3], [0.1, 0.6, 0.9, 0.8]), fold(1, [4, 5, 6, 7], [0.1, 0.2, 0.9, 0])]
    honest = honest_findings(LABELS, folds, "classification")
    assert honest.error.estimate == pytest.approx(0.125)
    wrong = np.array([0, 1, 0, 0, 0, 0, 0, 0.0])
    expected = share_bounds(wrong)
    assert (honest.error.low, honest.error.high) == expected[1:]
    gain = difference_bounds((LABELS == 1) - wrong)
    assert (honest.gain.low, honest.gain.high) == gain[1:]
    assert [one.error for one in honest.folds] == [0.25, 0.0]
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


def test_a_miss_has_the_interval_of_its_squares():
    """A share of the variance says nothing of the variance: its interval held 1 of 150."""
    rng = np.random.default_rng(7)
    held, by_share = [], []
    for _ in range(150):
        y = rng.normal(size=120)
        folds = [fold(k, range(40 * k, 40 * k + 40), np.zeros(40), baseline=0.01) for k in range(3)]
        honest = honest_findings(y, folds, "regression")
        assert honest.miss.estimate == honest.root_mean_square
        held.append(honest.miss.low <= 1 <= honest.miss.high)
        scale = honest.root_mean_square / math.sqrt(honest.error.estimate)
        ends = [scale * math.sqrt(end) for end in (honest.error.low, honest.error.high)]
        by_share.append(ends[0] <= 1 <= ends[1])
    assert 0.93 <= np.mean(held) <= 0.99
    assert np.mean(by_share) < 0.1


def test_where_a_few_rows_make_the_miss_the_middle_one_is_told():
    rng = np.random.default_rng(8)
    y = rng.standard_t(1.5, size=120)
    folds = [fold(k, range(40 * k, 40 * k + 40), np.zeros(40)) for k in range(3)]
    honest = honest_findings(y, folds, "regression")
    assert honest.median_miss.estimate == np.median(np.abs(y))
    assert honest.median_miss.low < 0.9 < honest.median_miss.high
    even = honest_findings(rng.normal(size=120), folds, "regression")
    assert even.median_miss is None


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


def rare(n=500, n_rare=10, seed=0):
    """Labels of a rare class and five folds of probabilities that rank it well below one half."""
    rng = np.random.default_rng(seed)
    y = np.zeros(n)
    y[rng.permutation(n)[:n_rare]] = 1
    chance = np.clip(0.02 * np.exp(rng.normal(size=n) + 2 * y), 0, 0.4)
    order = np.concatenate([rng.permutation(np.flatnonzero(y == code)) for code in (0, 1)])
    parts = [np.sort(order[number::5]) for number in range(5)]
    return (
        y,
        [
            fold(number, test, chance[test], n=n, baseline=n_rare / n)
            for number, test in enumerate(parts)
        ],
        chance,
    )


def test_a_rare_class_is_judged_by_more_than_the_error_at_one_half():
    y, folds, chance = rare()
    honest = honest_findings(y, folds, "classification")
    half, base = honest.at_half, honest.at_base_rate
    assert honest.error.estimate == honest.baseline_error.estimate == half.error.estimate == 0.02
    assert (half.n_called, half.precision, half.recall.estimate) == (0, None, 0)
    assert half.balanced_error.estimate == 0.5
    assert base.threshold == pytest.approx(0.02)
    called = chance >= 0.02
    assert base.n_called == called.sum()
    assert base.precision.estimate == pytest.approx(y[called].mean())
    assert base.recall.estimate == pytest.approx(called[y == 1].mean())
    assert base.balanced_error.estimate == pytest.approx(
        1 - balanced_accuracy_score(y, called.astype(float))
    )
    assert base.balanced_error.high < 0.5
    assert honest.average_precision.estimate == pytest.approx(average_precision_score(y, chance))
    assert honest.average_precision.low > 0.02
    gain = honest.log_loss_gain
    assert gain.estimate == pytest.approx(honest.baseline_log_loss - honest.log_loss)
    assert gain.low < 0 < gain.estimate
    y, folds, _ = rare(n_rare=40)
    assert honest_findings(y, folds, "classification").log_loss_gain.low > 0


def every_interval(honest):
    found = [getattr(honest, one.name) for one in dataclasses.fields(honest)]
    for one in (honest.at_half, honest.at_base_rate):
        if one is not None:
            found += [one.error, one.balanced_error, one.precision, one.recall]
    return [one for one in found if isinstance(one, Interval)]


@pytest.mark.parametrize(
    ("y", "prediction"),
    [
        (rare()[0], rare()[0]),
        (rare(n_rare=5)[0], 1 - rare(n_rare=5)[0]),
        (np.array([0, 1, 1, 0, 1.0]), np.array([0.2, 0.4, 0.9, 0.1, 1.0])),
        (np.array([0, 1, 1, 0, 1.0]), np.full(5, 0.6)),
        (np.zeros(10), np.full(10, 0.1)),
        (np.ones(10), np.zeros(10)),
    ],
    ids=["perfect", "upside down", "five rows", "five rows, constant", "one class", "all wrong"],
)
def test_intervals_of_classes_are_proper_whatever_was_predicted(y, prediction):
    n = len(y)
    folds = [
        fold(number, np.arange(n)[number::5], prediction[number::5], n=n, baseline=y.mean())
        for number in range(5)
    ]
    honest = honest_findings(y, folds, "classification")
    for one in every_interval(honest):
        assert np.isfinite([one.low, one.high]).all()
        assert one.low <= one.estimate <= one.high
        assert one.low < one.high
        if one is not honest.gain and one is not honest.log_loss_gain:
            assert 0 <= one.low < one.high <= 1
    assert -1 <= honest.gain.low < honest.gain.high <= 1


@pytest.mark.parametrize(
    ("y", "off"),
    [(np.arange(5.0), 0.0), (np.arange(5.0), 1.0), (np.full(6, 2.0), 0.0), (np.arange(50.0), 9e9)],
    ids=["perfect", "five rows", "constant", "far off"],
)
def test_intervals_of_numbers_are_proper_whatever_was_predicted(y, off):
    n = len(y)
    folds = [
        fold(number, np.arange(n)[number::5], y[number::5] + off, n=n, baseline=y.mean())
        for number in range(5)
    ]
    honest = honest_findings(y, folds, "regression")
    for one in (honest.error, honest.gain):
        assert np.isfinite([one.low, one.high]).all()
        assert one.low <= one.estimate <= one.high
        assert one.low < one.high
    assert honest.error.low >= 0
    assert honest.gain.high <= 1
    assert np.isfinite([each.error for each in honest.folds]).all()
    assert honest.at_half is None


def test_classes_that_are_called_by_chance_are_wrong_as_often():
    rng = np.random.default_rng(0)
    codes, halves = np.arange(300) % 3, np.array_split(np.random.default_rng(1).permutation(300), 3)
    folds = [
        fold(number, half, rng.random(100), n=300, question=question)
        for number, half in enumerate(halves)
        for question in range(3)
    ]
    found = joint_findings(codes, ("a", "b", "c"), folds)
    # Three standard errors of a share of 300 rows.
    assert found.error.estimate == pytest.approx(2 / 3, abs=0.082)
    assert found.error.low < 2 / 3 < found.error.high
    assert np.sum(found.confusion) == 300
    # What guessing calls is the commonest class of the training rows, not of the tested ones.
    plain = [
        np.mean(codes[half] != np.bincount(np.delete(codes, half)).argmax()) for half in halves
    ]
    assert found.baseline_error.estimate == pytest.approx(np.mean(plain))


def test_decisions_about_random_labels_are_no_better_than_a_coin():
    rng = np.random.default_rng(2)
    y = (rng.random(400) < 0.2).astype(float)
    halves = [np.arange(200), np.arange(200, 400)]
    folds = [
        fold(number, half, rng.beta(1, 4, 200), n=400, baseline=0.2)
        for number, half in enumerate(halves)
    ]
    found = honest_findings(y, folds, "classification")
    for decision in (found.at_half, found.at_base_rate):
        assert decision.balanced_error.estimate == pytest.approx(0.5, abs=0.1)
        assert decision.balanced_error.low < 0.5 < decision.balanced_error.high
    assert found.average_precision.estimate == pytest.approx(0.2, abs=0.07)
    assert found.auc.low < 0.5 < found.auc.high
