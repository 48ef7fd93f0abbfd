"""Complexities: identities, bounds, and the claim of the source that does not hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.rvm._evaluators import active_count, check_complexity
from parsimon.rvm._machine import printed_complexity


@given(st.lists(st.floats(-12, 12), min_size=1, max_size=8))
def test_the_printed_complexity_is_below_the_number_of_columns(levels):
    alpha = 10.0 ** np.array(levels)
    assert 0 < printed_complexity(alpha) < len(levels) + 1e-9
    # It falls when every precision rises: all that is left of the claim below.
    assert printed_complexity(2 * alpha) <= printed_complexity(alpha)


def test_the_order_of_printed_complexities_depends_on_the_noise():
    """Equations 3.19 to 3.21 of the source claim that it does not."""
    first, second = np.array([1.0, 1.0]), np.array([0.1, np.inf])
    assert printed_complexity(first) == 1.0 > printed_complexity(second)
    assert printed_complexity(100 * first) < printed_complexity(100 * second)


def test_the_bias_is_no_active_column():
    assert active_count([0, 2, 5], has_bias=True) == 2
    assert active_count([1, 2, 5], has_bias=True) == 3
    assert active_count([0, 2, 5], has_bias=False) == 3
    assert active_count([0], has_bias=True) == 0


def test_other_names_are_refused():
    assert check_complexity("active") == "active"
    with pytest.raises(InvalidInputError, match='must be "active" or "degrees_of_freedom"'):
        check_complexity("rank")
