import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from parsimon.exceptions import InvalidInputError
from parsimon.roc import AucNull, rank_sum_test
from parsimon.roc.comparison import _rank_sum_probabilities


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 4), (5, 2)])
def test_probabilities_are_those_of_all_arrangements(m, n):
    counts = np.zeros(m * n + 1)
    arrangements = list(itertools.combinations(range(m + n), m))
    for positions in arrangements:
        counts[sum(positions) - m * (m - 1) // 2] += 1
    np.testing.assert_allclose(AucNull(m, n).probabilities(), counts / len(arrangements))


@given(st.integers(1, 12), st.integers(1, 12))
def test_moments_are_the_formulas(m, n):
    null = AucNull(m, n)
    values, chance = np.arange(m * n + 1) / (m * n), null.probabilities()
    assert chance.sum() == pytest.approx(1)
    assert values @ chance == pytest.approx(null.mean)
    assert np.sqrt((values - 0.5) ** 2 @ chance) == pytest.approx(null.sd)


def test_the_source_s_experiment_with_49_and_18_rows():
    null = AucNull(49, 18)
    assert null.sd == pytest.approx(0.080, abs=5e-4)
    draws = null.simulate(100_000, random_state=1)
    assert draws.shape == (100_000,)
    assert draws.mean() == pytest.approx(0.5, abs=4 * 0.08 / np.sqrt(100_000))
    assert draws.std() == pytest.approx(null.sd, rel=0.01)
    for level in (0.35, 0.5, 0.62):
        assert np.mean(draws <= level) == pytest.approx(null.cdf(level), abs=0.007)


def test_simulation_is_seeded():
    null = AucNull(5, 6)
    np.testing.assert_array_equal(null.simulate(50, 7), null.simulate(50, 7))
    assert (null.simulate(50, 7) != null.simulate(50, 8)).any()


@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_tails_equal_scipy_s_exact_test(m, n, data):
    order = np.array(data.draw(st.permutations(range(m + n))), dtype=float)
    first, second = order[:m], order[m:]
    for alternative in ("two-sided", "greater", "less"):
        reference = mannwhitneyu(first, second, alternative=alternative, method="exact")
        ours = rank_sum_test(first, second, alternative=alternative)
        assert ours.exact
        assert ours.auc == pytest.approx(reference.statistic / (m * n))
        assert ours.p_value == pytest.approx(reference.pvalue, rel=1e-9)


@given(st.lists(st.integers(0, 5), min_size=2, max_size=15), st.data())
def test_tied_samples_equal_scipy_s_corrected_normal(first, data):
    second = [first[0], *data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=15))]
    for alternative in ("two-sided", "greater", "less"):
        ours = rank_sum_test(first, second, alternative=alternative)
        assert not ours.exact
        if len({*first, *second}) == 1:
            assert ours.p_value == 1.0
            continue
        reference = mannwhitneyu(first, second, alternative=alternative, method="asymptotic")
        assert ours.p_value == pytest.approx(reference.pvalue, rel=1e-9)


def test_large_samples_use_the_normal_law_with_little_error():
    normal = AucNull(100, 101)
    assert AucNull(100, 100).exact
    assert not normal.exact
    counted = np.cumsum(_rank_sum_probabilities(100, 101))
    for pairs, error in ((4300, 5e-4), (4700, 5e-4), (5050, 1e-5), (5500, 5e-4)):
        assert normal.cdf(pairs / 10_100) == pytest.approx(counted[pairs], abs=error)
    with pytest.raises(InvalidInputError, match="10100 pairs are too many"):
        normal.probabilities()
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=150) + 0.2, rng.normal(size=120)
    reference = mannwhitneyu(first, second, method="asymptotic")
    test = rank_sum_test(first, second)
    assert not test.exact
    assert test.p_value == pytest.approx(reference.pvalue, rel=1e-9)


def test_the_distribution_ends_at_zero_and_one():
    for null in (AucNull(3, 4), AucNull(200, 200)):
        assert null.cdf(-0.1) == 0
        assert null.cdf(1) == pytest.approx(1)
        assert null.cdf(1.1) == 1
    assert AucNull(3, 4).p_value(1.0, "greater") == pytest.approx(1 / 35)
    assert AucNull(3, 4).p_value(0.0, "less") == pytest.approx(1 / 35)
    assert AucNull(3, 4).p_value(0.5) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: AucNull(0, 3), "Each class needs a row, got 0 and 3"),
        (lambda: AucNull(3, 3).p_value(0.5, "up"), "got 'up'"),
        (lambda: rank_sum_test([1.0, 1.0], [1.0, 2.0], alternative="up"), "got 'up'"),
        (lambda: rank_sum_test([np.nan], [1.0]), "first must be finite"),
    ],
)
def test_unusable_input_is_named(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
