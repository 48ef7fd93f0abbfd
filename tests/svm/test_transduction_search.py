"""Searches over labellings against brute force, and what each method promises."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.svm._labelling_search import (
    METHODS,
    LabellingOptions,
    exhaust,
    find_labels,
    greedy_count,
)
from parsimon.svm._labellings import (
    evolve_labellings,
    first_labellings,
    greedy,
    polish,
    squared_kernel_distances,
)
from parsimon.svm._transductive_problem import TransductiveProblem
from tests.svm.transduction_problems import all_labellings, inner_maximum, random_problem


@st.composite
def problems(draw, most=7):
    return random_problem(
        draw(st.integers(0, 10_000)),
        n_unlabelled=draw(st.integers(1, most)),
        kernel=draw(st.sampled_from(["rbf", "linear"])),
        gamma=draw(st.sampled_from([0.1, 1.0, 5.0])),
        C=draw(st.sampled_from([0.5, 1.0, 10.0])),
        C_unlabelled=draw(st.sampled_from([0.1, 1.0, 10.0])),
    )


def least(problem):
    return min(problem.fit(one, tol=1e-7).objective for one in all_labellings(problem))


@settings(max_examples=20)
@given(problems(most=4))
def test_branch_and_bound_finds_what_scikit_learn_finds_by_trying_all(problem):
    every = {tuple(one): inner_maximum(problem, one) for one in all_labellings(problem)}
    brute = min(every.values())
    found = exhaust(problem)
    assert found.stopped_by == "exact"
    assert problem.fewest <= (found.fit.labels > 0).sum() <= problem.most
    assert found.fit.objective == pytest.approx(brute, rel=1e-5, abs=1e-7)
    assert every[tuple(found.fit.labels)] == pytest.approx(brute, rel=1e-5, abs=1e-7)


@settings(max_examples=50)
@given(problems(most=6))
def test_evolution_finds_the_optimum_that_trying_all_finds(problem):
    # Narrow kernels make every labelling a local optimum, so the search needs some patience.
    found = evolve_labellings(problem, stall=30, rng=np.random.default_rng(0))
    exact = problem.fit(found.fit.labels, tol=1e-7).objective
    assert problem.fewest <= (found.fit.labels > 0).sum() <= problem.most
    assert exact == pytest.approx(least(problem), rel=1e-4, abs=1e-6)


def test_branch_and_bound_agrees_with_trying_all_of_twelve_and_looks_at_fewer():
    problem = random_problem(5, n_unlabelled=12, gamma=2.0)
    problem = TransductiveProblem(problem.kernel, problem.known, problem.upper, 4, 6)
    found = exhaust(problem)
    assert found.fit.objective == pytest.approx(least(problem), rel=1e-6)
    assert found.n_iter < 0.25 * len(all_labellings(problem))


def test_branch_and_bound_refuses_many_rows_and_stops_in_time():
    many = random_problem(0, n_unlabelled=25)
    with pytest.raises(InvalidInputError, match="at most 24 unlabelled rows, got 25"):
        exhaust(many)
    few = random_problem(0, n_unlabelled=10)
    assert exhaust(few, deadline=time.monotonic() - 1.0).stopped_by == "time_limit"


@given(st.integers(0, 10_000))
def test_joachims_swaps_keep_the_number_of_positives_and_no_pair_is_left_to_swap(seed):
    problem = random_problem(seed, n_unlabelled=9, gamma=3.0)
    fit, n_fits = greedy(problem, 4)
    # The class ratio of the problem comes first.
    count = min(max(4, problem.fewest), problem.most)
    assert (fit.labels > 0).sum() == count
    assert n_fits > 17
    slack = np.maximum(0.0, 1.0 - fit.labels * fit.scores[problem.unlabelled])
    worst = [slack[fit.labels == sign].max(initial=0.0) for sign in (-1.0, 1.0)]
    assert sum(worst) <= 2.01 or min(worst) < 0.01


@settings(max_examples=25)
@given(problems(most=6))
def test_no_single_change_improves_a_polished_labelling(problem):
    start = problem.fit(all_labellings(problem)[-1])
    found = polish(problem, start)
    assert found.objective <= start.objective
    for labels in all_labellings(problem):
        changed = labels != found.labels
        if changed.sum() == 1 or (changed.sum() == 2 and labels[changed].sum() == 0):
            assert problem.fit(labels).objective > found.objective * (1 - 1e-4) - 1e-4


def test_greedy_counts_come_from_labels_or_from_the_machine():
    problem = random_problem(4, n_unlabelled=10)
    free = TransductiveProblem(problem.kernel, problem.known, problem.upper, 0, 10)
    share = (problem.known > 0).sum() / (problem.known != 0).sum()
    held = TransductiveProblem(problem.kernel, problem.known, problem.upper, 1, 9)
    assert greedy_count(held) == np.floor(share * 10 + 0.5)
    assert 0 <= greedy_count(free) <= 10
    tight = TransductiveProblem(problem.kernel, problem.known, problem.upper, 2, 2)
    assert greedy_count(tight) == 2


def test_guesses_keep_the_class_ratio_and_follow_the_shape_of_the_data():
    x = np.concatenate([np.linspace(0, 1, 12), np.linspace(3, 4, 12)])
    known = np.zeros(24)
    known[[0, 23]] = -1.0, 1.0
    kernel = np.exp(-((x[:, None] - x) ** 2))
    problem = TransductiveProblem(kernel, known, np.ones(24), 6, 16)
    guesses = list(first_labellings(problem, squared_kernel_distances(kernel)))
    assert all(6 <= (labels > 0).sum() <= 16 for labels, _ in guesses)
    halves = np.where(x > 2, 1.0, -1.0)[1:-1]
    assert any(np.array_equal(labels, halves) for labels, _ in guesses)
    clusters = TransductiveProblem(kernel, np.zeros(24), np.ones(24), 6, 18)
    unlabelled = first_labellings(clusters, squared_kernel_distances(kernel))
    split = np.where(x > 2, 1.0, -1.0)
    assert any(abs(labels @ split) == 24 for labels, _ in unlabelled)


def test_evolution_ends_by_stall_by_number_and_in_time():
    problem = random_problem(1, n_unlabelled=30, gamma=3.0)

    def ended(**options):
        return evolve_labellings(problem, rng=np.random.default_rng(0), **options)

    assert ended(stall=2).stopped_by == "stall"
    short = ended(stall=50, max_iter=3)
    assert (short.stopped_by, short.n_iter) == ("max_iter", 3)
    late = ended(deadline=time.monotonic() - 1.0)
    assert (late.stopped_by, late.n_iter) == ("time_limit", 0)
    # A longer search with the same chance is never worse.
    assert ended(stall=8).fit.objective <= short.fit.objective + 1e-9
    assert ended(population_size=2, stall=2).fit.labels.shape == (30,)


def test_every_method_is_reached_and_few_rows_are_exact():
    problem = random_problem(7, n_unlabelled=6)
    seed = np.random.SeedSequence(0)
    found = {one: find_labels(problem, LabellingOptions(method=one), seed) for one in METHODS}
    assert found["evolution"].stopped_by == found["exhaustive"].stopped_by == "exact"
    assert found["greedy"].stopped_by == "converged"
    lowest = found["exhaustive"].fit.objective
    assert all(one.fit.objective >= lowest - 1e-6 for one in found.values())
