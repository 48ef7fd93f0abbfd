import numpy as np
import pytest
from scipy.stats import ttest_1samp

from parsimon.evaluation import corrected_t_interval
from parsimon.evaluation._honest_result import bootstrap_interval
from parsimon.exceptions import InvalidInputError


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_without_overlap_the_corrected_interval_is_students(confidence, rng):
    scores = rng.normal(size=9)
    expected = ttest_1samp(scores, 0).confidence_interval(confidence)
    found = corrected_t_interval(scores, n_train=1e15, n_test=1, confidence=confidence)
    assert found == pytest.approx(tuple(expected))


def test_more_overlap_widens_the_corrected_interval(rng):
    scores = rng.normal(size=9)
    widths = [np.ptp(corrected_t_interval(scores, n_train=n, n_test=10)) for n in (10, 90, 990)]
    # Variance factors 1/9 + 1, 1/9 + 1/9, 1/9 + 1/99.
    np.testing.assert_allclose(np.square(widths) / widths[0] ** 2, [1, 0.2, 12 / 110])


def test_a_bootstrap_unit_counts_by_its_size():
    units = np.array([0, 1, 1, 2, 2, 2])
    assert bootstrap_interval(np.ones(6), units, random_state=0) == (1.0, 1.0)
    # One unit only: nothing is left to chance.
    assert bootstrap_interval(np.arange(4.0), np.zeros(4), random_state=0) == (1.5, 1.5)


def test_the_bootstrap_interval_is_close_to_the_normal_one(rng):
    points = rng.normal(3, 2, size=400)
    low, high = bootstrap_interval(points, np.arange(400), random_state=1, confidence=0.9)
    half = 1.6449 * points.std() / 20
    assert (low, high) == pytest.approx((points.mean() - half, points.mean() + half), abs=0.02)


def test_one_fold_has_no_interval():
    with pytest.raises(InvalidInputError, match="scores of two folds or more; got 1"):
        corrected_t_interval(np.array([0.5]), n_train=2, n_test=1)
