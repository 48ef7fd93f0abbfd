import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon import _compiled
from parsimon.pareto.dominance import crowding_distance, farthest_first, maximin_distance
from tests.pareto.strategies import tables


def gaps_of_one_level(values, normalise):
    """Follow Deb et al. (2002, section III-B) line by line."""
    n, m = values.shape
    distance = np.zeros(n)
    for j in range(m):
        order = sorted(range(n), key=lambda i: (values[i, j], i))
        width = values[order[-1], j] - values[order[0], j]
        width = width if normalise and width > 0 else 1.0
        distance[order[0]] = distance[order[-1]] = np.inf
        for before, here, after in zip(order, order[1:], order[2:], strict=False):
            distance[here] += (values[after, j] - values[before, j]) / width
    return distance


def maximin_of_one_level(values, width, n_keep):
    scaled = values / width
    taken = sorted(set(values.argmin(axis=0).tolist()))
    distance = np.zeros(len(values))
    distance[taken] = np.inf

    def from_taken(row):
        return min(np.linalg.norm(scaled[row] - scaled[other]) for other in taken)

    while len(taken) < n_keep:
        left = [row for row in range(len(values)) if row not in taken]
        farthest = max(left, key=from_taken)
        distance[farthest] = from_taken(farthest)
        taken.append(farthest)
    for row in set(range(len(values))) - set(taken):
        distance[row] = from_taken(row)
    return distance


@given(st.integers(1, 12), st.integers(1, 3), st.booleans(), st.integers(0, 2**32))
def test_gaps_are_those_of_the_paper_on_every_level(n, m, normalise, seed):
    rng = np.random.default_rng(seed)
    values, levels = rng.random((n, m)) * [1, 10, 100][:m], rng.integers(0, 3, n)
    expected = np.empty(n)
    for level in np.unique(levels):
        rows = levels == level
        expected[rows] = gaps_of_one_level(values[rows], normalise)
    found = crowding_distance(values, levels, normalise=normalise)
    np.testing.assert_allclose(found, expected)


def test_normalised_gaps_do_not_depend_on_units(rng):
    values = rng.random((20, 2))
    scaled = values * [1, 1000]
    np.testing.assert_allclose(crowding_distance(scaled), crowding_distance(values))
    plain = crowding_distance(scaled, normalise=False)
    assert not np.allclose(plain, crowding_distance(values, normalise=False))


@given(tables(min_columns=2), st.booleans())
def test_ties_and_equal_columns_give_no_nan(values, normalise):
    for measure in (crowding_distance, maximin_distance):
        distance = measure(values, normalise=normalise)
        assert distance.shape == (len(values),)
        assert not np.isnan(distance).any()
        assert (distance >= 0).all()


@pytest.fixture(params=["compiled", "plain"])
def form(request, monkeypatch):
    """Run a test with the compiled loop and with the one that needs no numba."""
    if request.param == "compiled":
        pytest.importorskip("numba")
    else:
        monkeypatch.setattr(_compiled, "numba_is_installed", lambda: False)
    return request.param


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("n_keep", [None, 30, 21])
def test_rows_are_taken_one_by_one_farthest_first(normalise, n_keep, rng):
    values = rng.random((40, 3)) * [1, 5, 50]
    levels = np.repeat([0, 1, 2], [20, 17, 3])
    width = np.ptp(values, axis=0) if normalise else np.ones(3)
    left = 40 if n_keep is None else n_keep
    found = maximin_distance(values, levels, normalise=normalise, n_keep=n_keep)
    for level in range(3):
        rows = levels == level
        wanted = min(left, rows.sum())
        expected = maximin_of_one_level(values[rows], width, wanted)
        if wanted > 0:  # nothing is asked of the levels behind the last that is wanted
            np.testing.assert_allclose(found[rows], expected)
        left -= rows.sum()


@given(tables(min_rows=1, min_columns=2), st.data())
def test_the_compiled_loop_gives_the_same_bits(values, data):
    pytest.importorskip("numba")
    values = values + data.draw(st.sampled_from([0.0, 1e-3])) * np.sin(values)
    n_keep = data.draw(st.integers(0, len(values)))
    first = values.argmin(axis=0)
    fast = farthest_first.machine_code(values, first, n_keep)
    np.testing.assert_array_equal(fast, farthest_first.plain(values, first, n_keep))


@pytest.mark.usefixtures("form")
def test_maximin_sees_a_crowd_that_gaps_do_not():
    # Three points close together on the simplex, whose neighbours along each axis are far away
    # in the other two.
    angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    ring = np.column_stack((np.cos(angles), np.cos(angles - 2.1), np.cos(angles + 2.1)))
    values = np.concatenate((ring, [[0.01, 0, 0], [0, 0.01, 0], [0, 0, 0.01]]))
    kept = np.argsort(-maximin_distance(values))[:13]
    assert len({12, 13, 14} & set(kept)) == 1
