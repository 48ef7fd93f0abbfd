import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from sklearn.metrics import roc_curve

from parsimon.exceptions import InvalidInputError
from parsimon.roc import area_under, roc_hull, roc_points

rates = st.lists(st.tuples(*[st.integers(0, 12)] * 2), min_size=1, max_size=12)
labels = st.lists(st.booleans(), min_size=2, max_size=25).filter(lambda y: 0 < sum(y) < len(y))


def test_rates_equal_scikit_learn_s_with_and_without_weights(binormal, rng):
    y, scores = binormal
    rounded = scores.round(1)
    for weight in (None, rng.random(len(y))):
        ours = roc_points(y, rounded, sample_weight=weight)
        fpr, tpr, _ = roc_curve(y, rounded, sample_weight=weight, drop_intermediate=False)
        np.testing.assert_allclose(ours.fpr, fpr, atol=1e-12)
        np.testing.assert_allclose(ours.tpr, tpr, atol=1e-12)


@given(st.data(), labels)
def test_points_are_the_rates_of_the_decision_rule_under_both_conventions(data, y):
    finite = st.floats(-1e300, 1e300, allow_subnormal=False)
    pool = st.lists(finite, min_size=len(y), max_size=len(y))
    scores, y = np.array(data.draw(pool)), np.array(y)
    points = roc_points(y, scores)
    assert len(points.thresholds) == len(np.unique(scores)) + 1
    for fpr, tpr, threshold in zip(*points, strict=True):
        predicted = scores > threshold
        assert fpr == predicted[~y].mean()
        assert tpr == predicted[y].mean()
        # Unless two scores are adjacent numbers, >= gives the same labels.
        if threshold not in scores:
            np.testing.assert_array_equal(predicted, scores >= threshold)


def test_adjacent_floating_point_scores_are_still_told_apart():
    # The middle of the first pair rounds down to 1, that of the second up to the greater.
    steps = np.array([1.0, np.nextafter(1.0, 2.0), np.nextafter(np.nextafter(1.0, 2.0), 2.0)])
    for scores in (steps[:2], steps[1:], -steps[:2], -steps[1:]):
        points = roc_points([0, 1], np.sort(scores))
        np.testing.assert_array_equal(points.tpr, [0, 1, 1])
        np.testing.assert_array_equal(points.fpr, [0, 0, 1])


def test_a_hard_classifier_is_one_point_between_the_trivial_ones():
    points = roc_points([1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 1, 0])
    np.testing.assert_array_equal(points.fpr, [0, 0.5, 1])
    np.testing.assert_array_equal(points.tpr, [0, 0.75, 1])
    np.testing.assert_array_equal(points.thresholds, [np.inf, 0.5, -np.inf])


def test_text_labels_and_the_choice_of_the_positive_one():
    y, scores = ["ill", "well", "ill", "well"], [0.9, 0.2, 0.4, 0.6]
    np.testing.assert_array_equal(roc_points(y, scores, pos_label="ill").tpr, [0, 0.5, 0.5, 1, 1])
    np.testing.assert_array_equal(roc_points(y, scores).tpr, [0, 0, 0.5, 0.5, 1])
    frame = pl.DataFrame({"y": y, "s": scores})
    np.testing.assert_array_equal(roc_points(frame["y"], frame["s"]).tpr, [0, 0, 0.5, 0.5, 1])


def test_a_grid_of_thresholds_uses_the_strict_rule():
    y, scores = [0, 0, 1, 1], [0.0, 0.29, 0.29, 1.0]
    points = roc_points(y, scores, step=0.01)
    np.testing.assert_array_equal(points.thresholds[1:-1], np.arange(100, -1, -1) / 100)
    at = dict(
        zip(points.thresholds.round(6), zip(points.fpr, points.tpr, strict=True), strict=True)
    )
    assert at[0.29] == (0.0, 0.5)
    assert at[0.28] == (0.5, 1.0)
    assert at[0.0] == (0.5, 1.0)
    assert at[1.0] == (0.0, 0.0)
    assert at[-np.inf] == (1.0, 1.0)
    np.testing.assert_allclose(
        roc_points(y, scores, step=0.3).thresholds[1:-1], [0.9, 0.6, 0.3, 0.0]
    )


def test_the_same_thresholds_can_be_evaluated_on_other_rows(binormal):
    y, scores = binormal
    train = roc_points(y[:150], scores[:150])
    test = roc_points(y[150:], scores[150:], thresholds=train.thresholds[::-1])
    np.testing.assert_array_equal(test.thresholds, train.thresholds[::-1])
    predicted = scores[150:] > test.thresholds[20]
    assert test.tpr[20] == predicted[y[150:] == 1].mean()


def test_points_cannot_be_changed(binormal):
    with pytest.raises(ValueError, match="read-only"):
        roc_points(*binormal).fpr[0] = 1


@given(rates)
def test_the_hull_is_the_upper_half_of_the_convex_hull(points):
    fpr, tpr = (np.array(points) / 12).T
    hull = roc_hull(fpr, tpr)
    closed = ConvexHull(np.column_stack((np.append(fpr, [0, 1, 1]), np.append(tpr, [0, 1, 0]))))
    assert area_under(fpr, tpr, rule="hull") == pytest.approx(closed.volume, abs=1e-12)
    given = hull.rows >= 0
    np.testing.assert_array_equal(hull.fpr[given], fpr[hull.rows[given]])
    np.testing.assert_array_equal(hull.tpr[given], tpr[hull.rows[given]])
    slopes = [
        (y1 - y0) * 1e9 if x1 == x0 else (y1 - y0) / (x1 - x0)
        for (x0, y0), (x1, y1) in itertools.pairwise(zip(hull.fpr, hull.tpr, strict=True))
    ]
    assert all(first > second + 1e-9 for first, second in itertools.pairwise(slopes))


def test_hull_of_a_curve_points_back_to_its_thresholds(binormal):
    points = roc_points(*binormal)
    hull = roc_hull(points.fpr, points.tpr)
    assert hull.rows[0] == 0
    assert hull.rows[-1] == len(points.fpr) - 1
    assert (np.diff(points.thresholds[hull.rows]) < 0).all()


def test_points_on_an_edge_of_the_hull_are_left_out_in_spite_of_rounding():
    fpr = np.arange(8) / 7
    hull = roc_hull(fpr, (14 + np.arange(8)) / 21)
    np.testing.assert_array_equal(hull.rows, [-1, 0, 7])


def test_hull_of_points_below_the_diagonal_is_the_diagonal():
    hull = roc_hull([0.5, 0.9], [0.2, 0.9])
    np.testing.assert_array_equal(hull.rows, [-1, -1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: roc_points([0, 1], [0.1, np.nan]), "y_score must be finite"),
        (lambda: roc_points([0, 1], [0.1, np.inf]), "y_score must be finite"),
        (lambda: roc_points([0, 1], [[0.9, 0.1], [0.2, 0.8]]), "one-dimensional"),
        (lambda: roc_points([1, 1], [0.1, 0.2]), "Two classes are needed, got 1"),
        (lambda: roc_points([0, 1, 2], [1, 2, 3]), "Two classes are needed, got 3"),
        (lambda: roc_points([0, 1], [0.1, 0.2, 0.3]), "2 rows and y_score has 3"),
        (lambda: roc_points(["a", "b"], [0.1, 0.2], pos_label="c"), "'c' is not among"),
        (lambda: roc_points([0, 1], [0.1, 0.2], sample_weight=[1]), "1 entries for 2 rows"),
        (lambda: roc_points([0, 1], [0.1, 0.2], sample_weight=[1, -1]), "must not be negative"),
        (lambda: roc_points([0, 1], [0.1, 0.2], sample_weight=[1, 0]), "weight 0"),
        (lambda: roc_points([0, 1], [0.1, 0.2], step=0.1, thresholds=[0.5]), "not both"),
        (lambda: roc_points([0, 1], [0.1, 0.2], step=0), r"step must lie in \(0, 1\]"),
        (lambda: roc_points([0, 1], [0.1, 2.0], step=0.1), "between 0 and 1, got 0.1 to 2"),
        (
            lambda: roc_points([0, 1], [0.1, 2.0], thresholds=[np.nan]),
            "thresholds must not hold NaN",
        ),
        (lambda: roc_points([0, 1], [0.1, 2.0], thresholds=["a"]), "thresholds must be numbers"),
        (lambda: roc_points([0, 1], [0.1, 2.0], thresholds=[[1]]), "thresholds must be one list"),
        (lambda: roc_points(["a", None], [0.1, 0.2]), "y_true holds missing labels"),
        (lambda: roc_points(pd.array(["a", pd.NA]), [0.1, 0.2]), "y_true holds missing labels"),
        (lambda: roc_points(np.array(["a", 1], dtype=object), [1, 2]), "mix kinds .* 1, a"),
        (lambda: roc_points([], []), "y_true must be one list of labels"),
        (lambda: roc_hull([0.1, 0.2], [0.3]), "2 entries and tpr has 1"),
        (lambda: roc_hull([0.1], [1.3]), "tpr must lie between 0 and 1"),
        (lambda: roc_hull([-0.1], [0.3]), "fpr must lie between 0 and 1"),
    ],
)
def test_unusable_input_is_named(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
