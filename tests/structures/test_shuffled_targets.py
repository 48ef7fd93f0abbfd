"""A shuffled target says how much of what columns explain is luck."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from parsimon.structures.shuffled_targets import shuffled_p_value


def p_value(X, target):
    return shuffled_p_value([(X, target[:, None].astype(float))], n_orders=1000)


@given(seed=st.integers(0, 10_000), n=st.integers(5, 30), d=st.integers(1, 40))
@settings(max_examples=25, deadline=None)
def test_a_shuffled_target_is_as_good_as_any_other(seed, n, d):
    """The p-value is that of a rank among exchangeable orders: it is uniform but for ties."""
    rng = np.random.default_rng(seed)
    columns, y = rng.normal(size=(n, d)), rng.normal(size=(n, 1))
    p = shuffled_p_value([(columns, y)], columns)
    assert 1 / 200 <= p <= 1
    # A column that is the target cannot be reached but by the same order.
    assert shuffled_p_value([(np.hstack([columns, y]), y)], columns) <= max(p, 2 / 200)


def test_few_of_many_noise_tables_seem_to_say_something():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(100):
        columns = rng.normal(size=(30, 60))
        y = rng.normal(size=(30, 1))
        found.append(shuffled_p_value([(columns[:, :5], y), (columns, y)], columns) <= 0.05)
    assert np.mean(found) <= 0.11  # binomial, 1 % beyond


def test_a_column_that_predicts_a_rare_class_is_found_and_noise_is_not():
    rng = np.random.default_rng(1)
    n = 120
    X = rng.normal(size=(n, 15))
    X[:, 3] = rng.random(n) < 0.1
    noise = [p_value(X, rng.random(n) < 0.08) < 0.01 for _ in range(40)]
    assert sum(noise) <= 2
    rare = rng.random(n) < np.where(X[:, 3] == 1, 0.6, 0.04)
    assert p_value(X, rare) < 0.01
    assert p_value(np.ones((n, 2)), rare) == 1


def test_scale_and_origin_of_columns_do_not_matter():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 1))
    moved = X * [1e-3, 1.0, 1e6] + [5.0, -2.0, 1e7]
    assert shuffled_p_value([(moved, 3 * y - 7)], moved) == shuffled_p_value([(X, y)], X)
