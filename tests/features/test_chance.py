from itertools import combinations

import numpy as np
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.features import (
    false_selection_bound,
    stability_index,
)
from parsimon.features.chance import measured_bound


def test_no_selection_at_random_breaks_the_bound():
    rng = np.random.default_rng(0)
    d, size, n_splits, threshold = 60, 12, 20, 0.6
    wrong = []
    for _ in range(200):
        share = np.zeros(d)
        for _ in range(2 * n_splits):
            share[rng.permutation(d)[:size]] += 1 / (2 * n_splits)
        wrong.append(np.sum(share >= threshold))
    worst = false_selection_bound(d, size, threshold, n_splits)
    sharper = false_selection_bound(d, size, threshold, n_splits, unimodal=True)
    assert np.mean(wrong) <= sharper <= worst
    assert worst == pytest.approx(size**2 / (d * 0.2))


def test_the_measured_bound_holds_where_chance_prefers_some_columns():
    rng = np.random.default_rng(0)
    n_splits, threshold = 20, 0.6
    chances = np.r_[np.full(10, 0.5), np.full(190, 0.01)]
    fits = rng.random((400, 200)) < chances
    runs = rng.random((300, 2 * n_splits, 200)) < chances
    wrong = (runs.mean(axis=1) >= threshold).sum(axis=1).mean()
    equal = false_selection_bound(200, chances.sum(), threshold, n_splits)
    sharper = measured_bound(fits.sum(axis=0), 400, threshold, n_splits, unimodal=True)
    worst = measured_bound(fits.sum(axis=0), 400, threshold, n_splits, unimodal=False)
    assert equal < wrong <= sharper <= worst
    assert worst == pytest.approx(5 * np.sum(chances**2), rel=0.05)


def test_a_higher_threshold_allows_fewer_false_selections():
    for unimodal in (False, True):
        bounds = [
            false_selection_bound(1000, 20, t, 50, unimodal=unimodal)
            for t in (0.55, 0.65, 0.75, 0.85, 0.95)
        ]
        assert bounds == sorted(bounds, reverse=True)
    with pytest.raises(InvalidInputError, match=r"above 0\.5"):
        false_selection_bound(1000, 20, 0.5, 50)


@pytest.mark.parametrize(
    ("threshold", "factor"),
    [(0.9, 4 * (0.1 + 0.01) / 1.02), (0.7, 1 / (2 * (0.4 - 0.01))), (0.505, 1 / 0.01)],
)
def test_the_bound_of_one_peak_is_that_of_shah_and_samworth(threshold, factor):
    """Theorem 2 with B = 50 pairs: one formula above 3/4, one below, and the worst near 1/2."""
    found = false_selection_bound(1000, 10, threshold, 50, unimodal=True)
    assert found == pytest.approx(factor * 10**2 / 1000)
    counts = np.array([5, 8, 0, 1, 30])
    pairs = counts * (counts - 1) / (40 * 39)
    measured = measured_bound(counts, 40, threshold, 50, unimodal=True)
    # The bound of one peak does not hold for a column that chance selects in three of four fits.
    worst = 1 / (2 * threshold - 1)
    expected = factor * pairs[:4].sum() + worst * pairs[4]
    assert measured == pytest.approx(min(expected, len(counts)))


def test_stability_is_one_for_equal_and_zero_for_random_selections():
    rng = np.random.default_rng(0)
    same = np.tile(rng.random(30) < 0.2, (10, 1))
    assert stability_index(same).value == pytest.approx(1)
    random = np.array([np.isin(np.arange(200), rng.permutation(200)[:20]) for _ in range(60)])
    found = stability_index(random)
    assert abs(found.value) < 0.02
    assert found.lower < 0 < found.upper


def test_stability_of_equal_sizes_is_the_mean_corrected_overlap():
    """Nogueira's index generalises Kuncheva's, which is a mean over pairs."""
    rng = np.random.default_rng(1)
    d, k = 20, 5
    table = np.array([np.isin(np.arange(d), rng.permutation(d)[:k]) for _ in range(7)])
    pairs = [((a & b).sum() - k * k / d) / (k - k * k / d) for a, b in combinations(table, 2)]
    assert stability_index(table).value == pytest.approx(np.mean(pairs))


def test_interval_of_the_index_covers_what_many_fits_give():
    rng = np.random.default_rng(2)
    share = np.where(np.arange(40) < 6, 0.8, 0.05)
    truth = stability_index(rng.random((5000, 40)) < share).value
    inside = 0
    for _ in range(200):
        found = stability_index(rng.random((60, 40)) < share)
        inside += found.lower <= truth <= found.upper
    assert 0.9 <= inside / 200 <= 0.99
