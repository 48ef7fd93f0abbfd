"""The closed forms of section 7.3: what windows cost, and how many trees there are."""

import numpy as np
import pytest
from benchmarks.reproduce._mierswa_7_costs import (
    dynamic_windowing_cost,
    search_space_size,
    windowing_cost,
)
from hypothesis import given
from hypothesis import strategies as st

from parsimon.features.series import parse_tree, tree_cost


@given(st.integers(4, 400), st.integers(2, 40), st.sampled_from([1, 2]), st.sampled_from([1, 2, 3]))
def test_windowing_costs_what_its_windows_cost(n, w, g, p):
    w = min(w // g * g or g, n // 2 // g * g or g)
    step_size = w // g
    n = n // step_size * step_size
    if w > n:
        return
    k = (n - w) // step_size + 1
    assert windowing_cost(n, w, g, p) == pytest.approx(k * w**p)
    if p > 1:
        assert windowing_cost(n, w, g, p) <= n**p * (1 + 1e-12)


def test_cost_formulas_have_the_special_values_of_the_source():
    n, w = 120, 10
    assert windowing_cost(n, w, 1, 3) == n * w**2
    assert windowing_cost(n, w, 2, 3) == 2 * n * w**2 - w**3
    assert windowing_cost(n, n // 2, n // 2, 2) == (n / 2) ** 3 + (n / 2) ** 2
    assert windowing_cost(n, w, 1, "log") == pytest.approx(n * np.log2(w))
    assert windowing_cost(n, w, 1, base=2.0) == pytest.approx(n / w * 2**w)
    assert (
        tree_cost(parse_tree("windows(0.1, 2){mean} > mean"), 100)
        == windowing_cost(100, 10, 2) + 19
    )


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("g", [1, 2])
def test_nested_windows_stay_below_their_bound(d, g):
    depth, work, bound = dynamic_windowing_cost(d**6, d, g)
    assert depth == 5
    assert work <= bound * depth


def test_the_size_of_the_search_space_is_counted():
    assert 10 ** search_space_size(2, 2) == pytest.approx(2 * (1 + 2 + 2))
    n_chains = 2 * (1 + 1)
    arrangements = sum(np.prod([5.0 - j for j in range(k)]) for k in range(6))
    assert 10 ** search_space_size(2, 1, 1) == pytest.approx(2 * arrangements)
    assert n_chains + 1 == 5
    assert search_space_size() < search_space_size(depth=1) < search_space_size(depth=3)
