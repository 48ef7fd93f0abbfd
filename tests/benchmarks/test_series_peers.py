import numpy as np
import pytest
from benchmarks.peers._series_methods import warped


def one_pair(a, b, band):
    """Return the squared warping distance by its definition."""
    cost = np.full((len(a) + 1, len(b) + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, len(a) + 1):
        for j in range(max(1, i - band), min(len(b), i + band) + 1):
            before = min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
            cost[i, j] = (a[i - 1] - b[j - 1]) ** 2 + before
    return cost[-1, -1]


def test_warping_of_all_pairs_is_that_of_each():
    rng = np.random.default_rng(0)
    new, old = rng.normal(size=(3, 30)), rng.normal(size=(4, 30))
    found = warped(new, old)
    for i, a in enumerate(new):
        for j, b in enumerate(old):
            assert found[i, j] == pytest.approx(one_pair(a, b, 3))
