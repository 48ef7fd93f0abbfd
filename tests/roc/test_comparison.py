import numpy as np
import pytest
from scipy.stats import kstest

from parsimon.exceptions import InvalidInputError
from parsimon.roc import auc, delong_test
from parsimon.roc.intervals import newcombe_bounds

Y = np.repeat([0, 1], 10)
PERFECT, CONSTANT = np.arange(20), np.zeros(20)


def correlated(rng, n=120, effects=(1.0, 1.0)):
    y = (rng.random(n) < 0.45).astype(int)
    shared = rng.normal(size=n)
    return (y, *(shared + rng.normal(size=n) + effect * y for effect in effects))


def test_identical_scores_give_a_p_value_of_one(binormal):
    y, scores = binormal
    for other in (scores, np.exp(scores)):
        test = delong_test(y, scores, other)
        assert (test.p_value, test.statistic, test.difference) == (1.0, 0.0, 0.0)
        assert test.method == "newcombe"
        assert test.lower < 0 < test.upper


def test_exchanging_the_classifiers_turns_the_signs(rng):
    y, first, second = correlated(rng, effects=(1.5, 0.8))
    there, back = delong_test(y, first, second), delong_test(y, second, first)
    assert there.difference == pytest.approx(-back.difference)
    assert (there.lower, there.upper) == pytest.approx((-back.upper, -back.lower))
    assert there.p_value == pytest.approx(back.p_value)
    assert there.first == pytest.approx(auc(y, first))
    assert there.second == pytest.approx(auc(y, second))


def test_one_sided_tails_add_up(rng):
    y, first, second = correlated(rng)
    tails = [
        delong_test(y, first, second, alternative=a).p_value
        for a in ("greater", "less", "two-sided")
    ]
    assert tails[0] + tails[1] == pytest.approx(1)
    assert tails[2] == pytest.approx(2 * min(tails[:2]))


def test_under_the_null_p_values_are_uniform():
    rng = np.random.default_rng(0)
    p_values = [delong_test(*correlated(rng)).p_value for _ in range(400)]
    assert kstest(p_values, "uniform").pvalue > 0.01


def test_pairing_uses_the_correlation(rng):
    y, first, second = correlated(rng, effects=(1.5, 0.8))
    paired, unpaired = delong_test(y, first, second), delong_test(y, first, second, y_second=y)
    assert paired.standard_error < 0.85 * unpaired.standard_error
    assert (paired.method, unpaired.method) == ("paired DeLong", "unpaired DeLong")
    assert np.isinf(paired.degrees_of_freedom)
    assert 100 < unpaired.degrees_of_freedom < 240


def test_other_rows_may_be_of_another_number(rng):
    y, first, _ = correlated(rng)
    test = delong_test(y, first, PERFECT + 5 * rng.normal(size=20), y_second=Y)
    assert test.first == pytest.approx(auc(y, first))
    assert test.method == "unpaired DeLong"


def test_interval_excludes_zero_exactly_when_the_test_rejects(rng):
    decisions = set()
    for effect in (0.4, 0.7, 1.0, 1.6):
        test = delong_test(*correlated(rng, effects=(effect, 1.0)), confidence=0.9)
        assert (test.lower > 0 or test.upper < 0) == (test.p_value < 0.1)
        decisions.add(test.p_value < 0.1)
    assert decisions == {True, False}


@pytest.mark.parametrize("other", [None, Y])
def test_perfect_against_constant_is_judged_without_a_variance(other):
    test = delong_test(Y, PERFECT, CONSTANT, y_second=other)
    assert test.method == "newcombe"
    assert 0 < test.p_value < 0.01
    assert 0 < test.lower < test.difference == 0.5 < test.upper < 1
    less = delong_test(Y, PERFECT, CONSTANT, y_second=other, alternative="less")
    assert less.p_value > 0.99


def test_without_a_variance_the_interval_adds_newcombe_s_in_squares():
    down = 1 - newcombe_bounds(1.0, 10, 10, 0.9)[0]
    same = delong_test(Y, PERFECT, PERFECT, confidence=0.9)
    assert (same.lower, same.upper) == pytest.approx((-down, down))
    half = newcombe_bounds(0.5, 10, 10, 0.9)[1] - 0.5
    test = delong_test(Y, PERFECT, CONSTANT, confidence=0.9)
    assert (test.lower, test.upper) == pytest.approx((0.5 - np.hypot(down, half), 0.5 + half))


def test_perfect_against_reversed_stays_within_its_range():
    test = delong_test(Y, PERFECT, -PERFECT)
    assert (test.difference, test.upper) == (1.0, 1.0)
    assert 0.5 < test.lower < 1


def test_ties_and_labels_reach_the_areas(rng):
    y, first, second = correlated(rng)
    first = first.round(0)
    assert delong_test(y, first, second, ties="strict").first == pytest.approx(
        auc(y, first, ties="strict")
    )
    assert delong_test(y, first, second, pos_label=0).second == pytest.approx(1 - auc(y, second))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: delong_test(Y, PERFECT, CONSTANT, alternative="bigger"), "got 'bigger'"),
        (lambda: delong_test(Y, PERFECT, CONSTANT, confidence=0), "confidence must lie"),
        (lambda: delong_test(Y, PERFECT, CONSTANT[:5]), "20 rows and y_score has 5"),
    ],
)
def test_unusable_input_is_named(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
