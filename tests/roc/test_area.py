import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from parsimon.exceptions import InvalidInputError
from parsimon.roc import area_under, auc, front_area, roc_points, undominated_rates

# Few distinct scores: the definitions of an area differ only under ties.
tied = st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=2, max_size=30).filter(
    lambda rows: 0 < sum(y for y, _ in rows) < len(rows)
)
clouds = st.lists(st.tuples(*[st.integers(0, 6)] * 2), min_size=1, max_size=10)


def brute_force(rows, tie):
    pairs = [(p, n) for (a, p), (b, n) in itertools.product(rows, rows) if a and not b]
    return sum((p > n) + tie * (p == n) for p, n in pairs) / len(pairs)


@given(tied)
def test_mid_is_pairs_with_half_ties_trapezium_and_scikit_learn(rows):
    y, scores = zip(*rows, strict=True)
    points = roc_points(y, scores)
    expected = brute_force(rows, 0.5)
    assert auc(y, scores) == pytest.approx(expected, abs=1e-12)
    assert area_under(points.fpr, points.tpr, rule="trapezium") == pytest.approx(expected)
    assert roc_auc_score(y, scores) == pytest.approx(expected, abs=1e-12)


@given(tied)
def test_strict_is_pairs_without_ties_and_conservative_rectangles(rows):
    y, scores = zip(*rows, strict=True)
    points = roc_points(y, scores)
    expected = brute_force(rows, 0.0)
    assert auc(y, scores, ties="strict") == pytest.approx(expected, abs=1e-12)
    assert area_under(points.fpr, points.tpr) == pytest.approx(expected, abs=1e-12)


@given(tied)
def test_reversing_the_scores_turns_the_area_round(rows):
    y, scores = zip(*rows, strict=True)
    reverse = [-score for score in scores]
    assert auc(y, scores) + auc(y, reverse) == pytest.approx(1)
    together = auc(y, scores, ties="strict") + auc(y, reverse, ties="strict")
    assert together <= 1 + 1e-12
    assert (together < 1 - 1e-12) == bool({s for a, s in rows if a} & {s for a, s in rows if not a})


@given(tied)
def test_only_the_order_of_scores_matters(rows):
    y, scores = zip(*rows, strict=True)
    for ties in ("mid", "strict"):
        assert auc(y, np.exp(scores), ties=ties) == auc(y, scores, ties=ties)


def test_a_hard_classifier_scores_t_times_one_minus_f():
    y, predicted = [1] * 4 + [0] * 5, [1, 1, 1, 0, 1, 0, 0, 0, 0]
    assert auc(y, predicted, ties="strict") == pytest.approx(0.75 * 0.8)
    assert auc(y, predicted) == pytest.approx((0.75 + 0.8) / 2)


def test_the_source_s_rank_formula_gives_the_same_area(binormal):
    # (2.43): ranks of the probability of the negative class, over the negatives.
    y, scores = binormal
    ranks = np.argsort(np.argsort(-scores)) + 1
    n_negative, n_positive = (y == 0).sum(), (y == 1).sum()
    area = (ranks[y == 0].sum() - n_negative * (n_negative + 1) / 2) / (n_negative * n_positive)
    assert auc(y, scores) == pytest.approx(area)


def test_weights_equal_scikit_learn_s_and_repeated_rows(rng):
    y, scores = rng.integers(0, 2, 50), rng.integers(0, 8, 50)
    weight = rng.integers(0, 4, 50)
    repeated = np.repeat(y, weight), np.repeat(scores, weight)
    assert auc(y, scores, sample_weight=weight) == pytest.approx(auc(*repeated))
    assert auc(y, scores, sample_weight=weight / 7) == pytest.approx(
        roc_auc_score(y, scores, sample_weight=weight / 7)
    )
    assert auc(y, scores, sample_weight=weight, ties="strict") == pytest.approx(
        auc(*repeated, ties="strict")
    )


def test_the_positive_label_may_be_either(binormal):
    y, scores = binormal
    names = np.where(y == 1, "sick", "fit")
    assert auc(names, scores) == auc(y, scores)
    assert auc(names, scores, pos_label="fit") == pytest.approx(1 - auc(y, scores))


def test_large_samples_neither_overflow_nor_lose_pairs():
    n = 200_000
    y = np.repeat([0, 1], n)
    scores = np.concatenate((np.arange(n), np.arange(n) + 0.5))
    assert auc(y, scores) == pytest.approx((n + 1) / (2 * n), rel=1e-14)


@given(clouds)
def test_a_front_covers_the_cells_some_point_strictly_dominates(points):
    fpr, tpr = (np.array(points) / 6).T
    cells = itertools.product((np.arange(6) + 0.5) / 6, repeat=2)
    covered = sum(any(f < x and t > y for f, t in zip(fpr, tpr, strict=True)) for x, y in cells)
    assert front_area(fpr, tpr) == pytest.approx(covered / 36, abs=1e-12)


@given(clouds)
def test_undominated_is_what_no_point_beats(points):
    fpr, tpr = np.array(points).T / 6
    expected = [
        not any((a <= f and b >= t) and (a < f or b > t) for a, b in zip(fpr, tpr, strict=True))
        for f, t in zip(fpr, tpr, strict=True)
    ]
    np.testing.assert_array_equal(undominated_rates(fpr, tpr), expected)
    assert front_area(fpr, tpr, rows=expected) == pytest.approx(front_area(fpr, tpr))


def test_a_front_is_judged_on_test_data_with_the_rows_of_training():
    train = [0.0, 0.5, 0.6], [0.5, 1.0, 0.9]
    test = [0.25, 0.5, 0.0], [0.5, 0.75, 1.0]
    rows = undominated_rates(*train)
    np.testing.assert_array_equal(rows, [True, True, False])
    # The third solution is perfect on test data, but training data did not choose it.
    assert front_area(*test, rows=rows) == pytest.approx(0.25 * 0.5 + 0.5 * 0.75)
    assert front_area(*test, rows=np.flatnonzero(rows)) == front_area(*test, rows=rows)
    assert front_area(*test) == 1.0


def test_the_order_of_the_points_does_not_matter(binormal, rng):
    points = roc_points(binormal[0], binormal[1].round(1))
    order = rng.permutation(len(points.fpr))
    for rule in ("rectangle", "trapezium", "hull"):
        shuffled = area_under(points.fpr[order], points.tpr[order], rule=rule)
        assert shuffled == pytest.approx(area_under(points.fpr, points.tpr, rule=rule))


def test_no_solutions_dominate_nothing():
    assert front_area([], []) == 0.0
    assert undominated_rates([], []).shape == (0,)


def test_the_rules_are_ordered():
    points = [0.1, 0.3, 0.6], [0.5, 0.55, 0.9]
    rules = [area_under(*points, rule=rule) for rule in ("rectangle", "trapezium", "hull")]
    np.testing.assert_allclose(rules, [0.1 * 0 + 0.2 * 0.5 + 0.3 * 0.55 + 0.4 * 0.9, 0.7275, 0.755])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: auc([0, 1], [1, 2], ties="max"), '"mid" or "strict", got \'max\''),
        (lambda: area_under([0.1], [0.5], rule="simpson"), "got 'simpson'"),
        (lambda: area_under([0.1, 0.2], [0.5, 0.4], rule="trapezium"), "no curve: tpr falls"),
        (lambda: front_area([0.1], [0.2], rows=[1]), "rows do not fit 1 solutions"),
        (lambda: front_area([0.1], [2.0]), "tpr must lie between 0 and 1"),
    ],
)
def test_unusable_input_is_named(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
