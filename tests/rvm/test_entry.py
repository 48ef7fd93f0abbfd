import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.pareto import dominates
from parsimon.rvm._archive import (
    entry_test,
    resampled_counts,
    resampled_rates,
    undominated_share,
)


def drawn_rows(counts):
    """Write each resample out as the rows that were drawn."""
    return [np.repeat(np.arange(counts.shape[1]), row.astype(int)) for row in counts]


def test_class_sizes_stay_and_rows_are_drawn_evenly():
    codes = np.array([0, 1, 0, 1, 1, 0, 0])
    counts = resampled_counts(codes, n_resamples=4000, random_state=0)
    assert (counts[:, codes == 0].sum(axis=1) == 4).all()
    assert (counts[:, codes == 1].sum(axis=1) == 3).all()
    np.testing.assert_allclose(counts.mean(axis=0), 1.0, atol=0.06)
    # A multinomial count of n draws has variance 1 - 1/n.
    np.testing.assert_allclose(counts.var(axis=0)[codes == 0], 0.75, atol=0.08)


def test_the_same_seed_draws_the_same_rows():
    codes = np.array([0, 1, 0, 1, 1])
    first, again, other = (resampled_counts(codes, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@given(st.integers(0, 10_000), st.integers(2, 4))
def test_rates_are_those_of_the_rows_written_out(seed, n_classes):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=9)]))
    correct = rng.random((3, len(codes))) < 0.6
    counts = resampled_counts(codes, n_resamples=6, random_state=seed)
    rates = resampled_rates(correct, codes, counts)
    for b, rows in enumerate(drawn_rows(counts)):
        for code in range(n_classes):
            expected = correct[:, rows][:, codes[rows] == code].mean(axis=1)
            np.testing.assert_allclose(rates[:, code, b], expected, atol=1e-12)


@given(st.integers(0, 10_000))
def test_the_share_without_a_dominating_member_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    candidates, members = (rng.integers(0, 4, size=(k, 2, 7)) / 4 for k in (3, 5))
    sizes, member_sizes = rng.integers(0, 3, size=3) * 1.0, rng.integers(0, 3, size=5) * 1.0
    share = undominated_share(candidates, sizes, members, member_sizes)
    for i in range(3):
        free = 0
        for b in range(7):
            own = [*-candidates[i, :, b], sizes[i]]
            rivals = ([*-members[j, :, b], member_sizes[j]] for j in range(5))
            free += not any(dominates(rival, own) for rival in rivals)
        assert share[i] == pytest.approx(free / 7)


def admitted(test, candidates, sizes, members, member_sizes):
    """Ask the test about solutions given by the rows that they predict right."""
    return test.admits(
        test.rates(candidates), np.array(sizes), test.rates(members), np.array(member_sizes)
    )


def test_without_members_everything_enters():
    test = entry_test(np.array([0, 1, 1]), 1.0, random_state=0)
    wrong = np.zeros((2, 3), dtype=bool)
    assert admitted(test, wrong, [0.0, 9.0], wrong[:0], []).all()


@pytest.mark.parametrize("probability", [0.5, 0.9, 0.99])
def test_the_probability_decides(probability):
    # A member right on 20 of each class, and a larger candidate right on 23 of class 1: three of
    # the rows differ, and none of them is drawn with probability (37/40)^40 = 0.044.
    test = entry_test(np.repeat([0, 1], 40), probability, n_resamples=2000, random_state=0)
    member = np.tile(np.arange(40) < 20, 2)[None]
    candidate = member.copy()
    candidate[0, 40:63] = True
    assert admitted(test, candidate, [2.0], member, [1.0]).tolist() == [probability < 0.96]
    rates = test.rates(np.concatenate([candidate, member]))
    share = undominated_share(rates[:1], np.array([2.0]), rates[1:], np.array([1.0]))
    assert share[0] == pytest.approx(1 - (37 / 40) ** 40, abs=0.015)


def test_a_share_that_equals_the_probability_is_enough():
    test = entry_test(np.array([0, 1]), 0.9, n_resamples=10)
    members, candidate = np.zeros((1, 2, 10)), np.full((1, 2, 10), 0.5)
    members[0, 0, :1] = 0.5
    members[0, 1, :1] = 1.0  # one resample of ten
    assert test.admits(candidate, np.ones(1), members, np.ones(1)).all()
    members[0, :, 1] = 1.0
    assert not test.admits(candidate, np.ones(1), members, np.ones(1)).any()


def test_a_smaller_candidate_always_enters():
    codes = np.repeat([0, 1], 5)
    test = entry_test(codes, 1.0, random_state=0)
    poor, perfect = (codes == 0)[None], np.ones((1, 10), dtype=bool)
    assert admitted(test, poor, [1.0], perfect, [2.0]).all()
    assert not admitted(test, poor, [2.0], perfect, [2.0]).any()


def test_equal_rates_and_complexity_do_not_dominate():
    test = entry_test(np.array([0, 0, 1, 1]), 1.0, random_state=0)
    same = np.array([[True, False, True, False]])
    assert admitted(test, same, [1.0], same, [1.0]).all()


def test_rates_that_differ_by_rounding_are_equal():
    rng = np.random.default_rng(0)
    codes, weights = np.repeat([0, 1], 50), rng.random(100)
    first, second = (
        resampled_rates(np.ones((1, 100), dtype=bool)[:, o], codes[o], weights[None, o])
        for o in (np.arange(100), rng.permutation(100))
    )
    np.testing.assert_array_equal(first, second)


def test_rows_that_stand_for_several_are_drawn_as_often():
    codes, n_rows = np.array([0, 0, 1, 1]), np.array([3.0, 1.0, 2.5, 0.1])
    counts = resampled_counts(codes, n_rows=n_rows, n_resamples=4000, random_state=0)
    assert (counts[:, :2].sum(axis=1) == 4).all()
    assert (counts[:, 2:].sum(axis=1) == 3).all()  # weights need not be whole numbers
    np.testing.assert_allclose(counts.mean(axis=0), [3, 1, 7.5 / 2.6, 0.3 / 2.6], atol=0.05)
    assert counts[:, 0].var() == pytest.approx(4 * 0.75 * 0.25, abs=0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: entry_test(np.array([0, 1]), 1.5), "entry must be between 0 and 1, got 1.5"),
        (lambda: entry_test(np.array([0, 1]), 0.5, n_resamples=0), "n_resamples must be"),
    ],
)
def test_what_cannot_be_resampled_is_refused(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
