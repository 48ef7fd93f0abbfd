"""The sweep over thresholds against a plain loop, with both of its loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from parsimon import _compiled
from parsimon.exceptions import InvalidInputError
from parsimon.rvm import _sweep as sweep
from parsimon.rvm._sweep import ExactSweep, GridSweep, rate_rows, rates_at, sweep_of
from tests.rvm.search_problems import best_of, digits, rates


@pytest.fixture(params=["numpy", "compiled"])
def loops(request, monkeypatch):
    if request.param == "compiled":
        pytest.importorskip("numba")
    else:
        monkeypatch.setattr(_compiled, "numba_is_installed", lambda: False)


def single_view(labels):
    return rate_rows(labels[None], 1 - labels[None])


def table(corners):
    """Return corners as rows (tpr, fpr, 0)."""
    return np.column_stack((corners[1], corners[2], np.zeros(corners.shape[1])))


def check_exact(scores, labels):
    cutoffs = [np.inf, -np.inf, *scores]
    naive = [(*rates(scores > cutoff, labels), 0.0) for cutoff in cutoffs]
    corners = ExactSweep()(scores, single_view(labels))
    assert sorted(digits(table(corners))) == best_of(naive)
    for cutoff, tpr, fpr in corners.T:
        np.testing.assert_allclose(rates(scores > cutoff, labels), (tpr, fpr), atol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_exact_corners_are_the_undominated_points_of_a_loop_over_all_scores(loops, seed):
    rng = np.random.default_rng(seed)
    labels = np.append([0.0, 1.0], rng.integers(0, 2, 12))
    # Few distinct scores, so that ties within and across classes occur.
    check_exact(rng.integers(0, 6, 14).astype(float), labels)
    check_exact(rng.normal(size=14), labels)


def test_neighbouring_numbers_are_still_parted(loops):
    one = 1.0 + 2.0**-52
    check_exact(np.array([1.0, one]), np.array([0.0, 1.0]))
    check_exact(np.array([-1.0, -one]), np.array([1.0, 0.0]))


def test_cutoffs_lie_halfway_between_neighbours(loops):
    corners = ExactSweep()(np.array([4.0, 1.0]), single_view(np.array([1.0, 0.0])))
    np.testing.assert_array_equal(corners, [[2.5], [1.0], [0.0]])


@pytest.mark.parametrize("step", [0.01, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_grid_corners_are_the_undominated_points_of_the_printed_loop(loops, step, seed):
    rng = np.random.default_rng(seed)
    labels = np.append([0.0, 1.0], rng.integers(0, 2, 30))
    scores = rng.normal(scale=2.0, size=32)
    thresholds = np.arange(0, 1 + step / 2, step)
    naive = [(*rates(expit(scores) > threshold, labels), 0.0) for threshold in thresholds]
    corners = GridSweep(step)(scores, single_view(labels))
    assert sorted(digits(table(corners))) == best_of(naive)
    for cutoff, tpr, fpr in corners.T:
        np.testing.assert_allclose(rates(scores > cutoff, labels), (tpr, fpr), atol=1e-12)


def test_a_grid_does_not_part_what_is_nearly_indifferent_and_the_exact_sweep_does(loops):
    labels = np.array([0.0, 1, 0, 1])
    scores = 1e-9 * np.array([-1.0, 3, 2, 4])
    assert GridSweep(0.01)(scores, single_view(labels)).shape[1] == 2
    assert ExactSweep()(scores, single_view(labels)).shape[1] == 1
    corner = GridSweep(0.01)(scores, single_view(labels)).T[1]
    np.testing.assert_array_equal(corner, [0.0, 1.0, 0.5])


def test_mean_rates_over_folds_come_from_one_sort(loops):
    rng = np.random.default_rng(0)
    labels, folds = np.append([0.0, 1], rng.integers(0, 2, 21)), np.arange(23) % 4
    scores = rng.normal(size=(4, 23))
    held = folds == np.arange(4)[:, None]
    view = rate_rows(held * labels, held * (1 - labels))
    pooled = scores.ravel()[view.entries]
    naive = []
    for cutoff in [np.inf, -np.inf, *scores[held]]:
        each = [rates(scores[k, held[k]] > cutoff, labels[held[k]]) for k in range(4)]
        naive.append((*np.mean(each, axis=0), 0.0))
    corners = ExactSweep()(pooled, view)
    assert sorted(digits(table(corners))) == best_of(naive)


def test_folds_without_a_class_do_not_count_in_its_mean(loops):
    n_positive = np.array([[1.0, 1, 0, 0], [0, 0, 0, 0]])
    n_negative = np.array([[0.0, 0, 0, 0], [0, 0, 1, 1]])
    view = rate_rows(n_positive, n_negative)
    tpr, fpr = rates_at(np.array([3.0, 1.0, 2.0, 0.0]), view, np.array([1.5]))
    assert (tpr[0], fpr[0]) == (0.5, 0.5)


@given(st.integers(0, 2**32 - 1))
def test_both_loops_give_the_same_bits(seed):
    pytest.importorskip("numba")
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=20), int(rng.integers(0, 4)))
    arguments = (scores, scores.argsort(), *rng.dirichlet(np.ones(20), size=2))
    loop = sweep.staircase
    np.testing.assert_array_equal(loop.plain(*arguments), loop.machine_code(*arguments))


def test_rates_at_given_cutoffs_are_strict(loops):
    labels, scores = np.array([1.0, 0, 1]), np.array([2.0, 1.0, 1.0])
    tpr, fpr = rates_at(scores, single_view(labels), np.array([np.inf, 2.0, 1.0, 0.5, -np.inf]))
    np.testing.assert_array_equal(tpr, [0, 0, 0.5, 1, 1])
    np.testing.assert_array_equal(fpr, [0, 0, 0, 1, 1])


def test_thresholds_are_checked():
    assert sweep_of("exact") == ExactSweep()
    with pytest.raises(InvalidInputError, match='must be "exact" or a step'):
        sweep_of("all")
    with pytest.raises(InvalidInputError, match="above 0 and at most 1, got 0"):
        sweep_of(0)
