"""Complexities: identities, bounds, and the claim of the source that does not hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.rvm._evaluators import (
    active_count,
    check_complexity,
    degrees_of_freedom,
    smoothing_trace,
    sum_of_gammas,
)


def smoother(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, 6)), 9
    return rng.normal(size=(m, n)), rng.uniform(0, 0.25, n), 10.0 ** rng.uniform(-4, 4, m)


@given(st.integers(0, 2**32 - 1))
def test_the_trace_is_the_sum_of_gammas(seed):
    columns, curvature, alpha = smoother(seed)
    trace = smoothing_trace(columns, curvature, alpha)
    assert trace == pytest.approx(sum_of_gammas(columns, curvature, alpha), rel=1e-6, abs=1e-9)
    assert 0 <= trace <= len(alpha)


@given(st.integers(0, 2**32 - 1))
def test_the_trace_is_that_of_the_smoothing_matrix_written_out(seed):
    columns, curvature, alpha = smoother(seed)
    noise = np.diag(curvature)
    covariance = np.linalg.inv(columns @ noise @ columns.T + np.diag(alpha))
    full = np.trace(columns.T @ covariance @ columns @ noise)
    assert smoothing_trace(columns, curvature, alpha) == pytest.approx(full, rel=1e-6, abs=1e-9)


def test_orthonormal_columns_have_the_printed_degrees_of_freedom():
    columns = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 3)))[0].T
    alpha = np.array([0.1, 1.0, 10.0])
    assert smoothing_trace(columns, np.ones(8), alpha) == pytest.approx(degrees_of_freedom(alpha))


def test_identical_columns_with_hardly_any_prior_count_once():
    columns = np.vstack([np.arange(1.0, 6)] * 2)
    for measure in (smoothing_trace, sum_of_gammas):
        assert measure(columns, np.full(5, 0.25), np.full(2, 1e-3)) == pytest.approx(1, abs=1e-3)


@given(st.lists(st.floats(-12, 12), min_size=1, max_size=8))
def test_the_printed_complexity_is_below_the_number_of_columns(levels):
    alpha = 10.0 ** np.array(levels)
    assert 0 < degrees_of_freedom(alpha) < len(levels) + 1e-9
    # It falls when every precision rises: all that is left of the claim below.
    assert degrees_of_freedom(2 * alpha) <= degrees_of_freedom(alpha)


def test_the_order_of_printed_complexities_depends_on_the_noise():
    """Equations 3.19 to 3.21 of the source claim that it does not."""
    first, second = np.array([1.0, 1.0]), np.array([0.1, np.inf])
    assert degrees_of_freedom(first) == 1.0 > degrees_of_freedom(second)
    assert degrees_of_freedom(100 * first) < degrees_of_freedom(100 * second)


def test_the_bias_is_no_active_column():
    assert active_count([0, 2, 5], has_bias=True) == 2
    assert active_count([1, 2, 5], has_bias=True) == 3
    assert active_count([0, 2, 5], has_bias=False) == 3
    assert active_count([0], has_bias=True) == 0


def test_other_names_are_refused():
    assert check_complexity("gammas") == "gammas"
    with pytest.raises(InvalidInputError, match='must be "active" or "degrees_of_freedom"'):
        check_complexity("rank")
