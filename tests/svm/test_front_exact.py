"""The exact front against general solvers, and evolution and the printed objectives against it."""

import time
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, NuSVC

from parsimon._interrupts import stoppable
from parsimon.datasets import make_banana
from parsimon.exceptions import CheckpointError, InterruptWarning
from parsimon.pareto import hypervolume
from parsimon.svm._front import (
    MarginProblem,
    dual_objectives,
    evolve_front,
    evolve_printed,
    exact_path,
)


def tiny(n=7, *, seed=0, weighted=False):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 2))
    signs = np.where(rows[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    weights = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    return MarginProblem(rbf_kernel(rows, gamma=0.7), signs, weights)


@pytest.fixture(scope="module")
def banana():
    X, y = make_banana(110, random_state=1)
    return MarginProblem(rbf_kernel(X, gamma=1.0), np.where(y == 1, 1.0, -1.0), np.ones(110))


def primal_optimum(training, C):
    """Return the least of margin term plus C times loss, by a general solver over (beta, b, xi)."""
    n = len(training.signs)
    signed = training.signs[:, None] * training.kernel
    slopes = LinearConstraint(np.column_stack([signed, training.signs, np.eye(n)]), 1.0, np.inf)
    factor = C * training.weights

    def value(z):
        return 0.5 * z[:n] @ training.kernel @ z[:n] + factor @ z[n + 1 :]

    def gradient(z):
        return np.concatenate([training.kernel @ z[:n], [0.0], factor])

    found = minimize(
        value,
        np.concatenate([np.zeros(n + 1), np.ones(n)]),
        jac=gradient,
        method="SLSQP",
        bounds=[(None, None)] * (n + 1) + [(0, None)] * n,
        constraints=slopes,
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert found.success
    return found.fun


@pytest.mark.parametrize("weighted", [False, True])
def test_points_of_the_path_are_optimal_for_their_price(weighted):
    training = tiny(weighted=weighted)
    C = np.array([0.05, 0.4, 2.0, 20.0])
    path = exact_path(training, C, tol=1e-8)
    assert path.stopped_by == "max_iter"
    for price, (term, loss) in zip(C, path.values, strict=True):
        assert term + price * loss == pytest.approx(primal_optimum(training, price), rel=1e-5)


def test_the_path_is_libsvms():
    training = tiny(30, seed=3)
    C = np.geomspace(0.01, 100, 9)
    path = exact_path(training, C, tol=1e-6)
    for price, alpha in zip(C, path.solutions, strict=True):
        machine = SVC(kernel="precomputed", C=price, tol=1e-6).fit(training.kernel, training.signs)
        expected = np.zeros(30)
        expected[machine.support_] = np.abs(machine.dual_coef_[0])
        np.testing.assert_allclose(alpha, expected, atol=2e-4 * price + 1e-5)
    assert (np.diff(path.values[:, 0]) >= -1e-6).all()
    assert (np.diff(path.values[:, 1]) <= 1e-6).all()


def test_a_machine_of_the_path_is_the_nu_machine_of_its_nu():
    training = tiny(30, seed=4)
    C = np.array([2.0, 20.0])
    path = exact_path(training, C, tol=1e-8)
    for alpha, nu in zip(path.solutions, path.solutions.sum(axis=1) / (30 * C), strict=True):
        machine = NuSVC(nu=nu, kernel="precomputed", tol=1e-8).fit(training.kernel, training.signs)
        # libsvm divides nu solutions by their margin, which makes them those of C.
        expected = np.zeros(30)
        expected[machine.support_] = np.abs(machine.dual_coef_[0])
        np.testing.assert_allclose(alpha, expected, rtol=1e-3, atol=1e-4)


def test_a_path_ends_at_its_deadline_a_callback_or_ctrl_c():
    training = tiny()
    C = np.geomspace(0.1, 10, 6)
    late = exact_path(training, C, deadline=time.monotonic() - 1)
    assert (len(late.solutions), late.stopped_by) == (1, "time_limit")
    seen = []

    def third(result):
        seen.append(len(result.solutions))
        return len(seen) == 3

    stopped = exact_path(training, C, callback=third)
    assert seen == [1, 2, 3]
    assert (len(stopped.values), stopped.stopped_by) == (3, "callback")

    def interrupt(result):
        if len(result.solutions) == 2:
            raise KeyboardInterrupt

    with pytest.warns(InterruptWarning, match="the best so far"):
        cut = stoppable(exact_path)(training, C, callback=interrupt)
    assert len(cut.solutions) == 2


@pytest.mark.parametrize("cut", [1, 2, 5])
def test_a_path_goes_on_from_a_checkpoint_to_the_same_machines(cut, tmp_path):
    training, C, file = tiny(12), np.geomspace(0.1, 10, 6), tmp_path / "path.npz"
    whole = exact_path(training, C)
    exact_path(training, C, checkpoint=file, callback=lambda seen: len(seen.solutions) == cut)
    resumed = exact_path(training, C, checkpoint=file)
    np.testing.assert_array_equal(resumed.solutions, whole.solutions)
    np.testing.assert_array_equal(resumed.history.best, whole.history.best)
    assert (resumed.n_iter, resumed.stopped_by) == (6, "max_iter")
    with pytest.raises(CheckpointError, match="rows"):
        exact_path(tiny(12, seed=1), C, checkpoint=file)


def normalised_volumes(training, *fronts):
    """Return the volumes of fronts as shares of that of 100 libsvm machines."""
    peers = []
    for price in np.geomspace(1e-2, 1e3, 100):
        machine = SVC(kernel="precomputed", C=price).fit(training.kernel, training.signs)
        alpha = np.zeros(len(training.signs))
        alpha[machine.support_] = np.abs(machine.dual_coef_[0])
        peers.append(alpha)
    values = training.objectives(np.array(peers))
    ideal, worst = values.min(axis=0), values.max(axis=0)
    return [
        hypervolume((front - ideal) / (worst - ideal), [1.0, 1.0])
        / hypervolume((values - ideal) / (worst - ideal), [1.0, 1.0])
        for front in fronts
    ]


def test_evolution_reaches_the_volume_of_a_hundred_exact_machines(banana):
    options = {"C_range": (1e-2, 1e3), "n_points": 100, "random_state": 0}
    start = evolve_front(banana, n_seeds=12, max_iter=0, **options)
    bred = evolve_front(banana, n_seeds=12, max_iter=10, **options)
    sparse = [
        evolve_front(banana, n_seeds=3, max_iter=generations, **options).values
        for generations in (0, 10)
    ]
    volumes = normalised_volumes(banana, start.values, bred.values, *sparse)
    assert volumes[1] >= 0.98
    # Breeding earns volume, and the more the fewer exact machines there were.
    assert volumes[1] > volumes[0]
    assert volumes[3] - volumes[2] > volumes[1] - volumes[0]


def test_the_same_seed_breeds_the_same_bits(banana):
    options = {"C_range": (0.01, 10.0), "n_seeds": 4, "n_points": 20, "max_iter": 3}
    runs = [evolve_front(banana, **options, random_state=seed).solutions for seed in (5, 5, 6)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def least_quadratic(training, total, cap=None):
    """Return the variables with the least quadratic form among those of a given sum."""
    Q = training.kernel * np.outer(training.signs, training.signs)
    n = len(Q)
    found = minimize(
        lambda a: a @ Q @ a,
        np.full(n, total / n),
        jac=lambda a: 2 * Q @ a,
        method="SLSQP",
        bounds=[(0, cap)] * n,
        constraints=LinearConstraint(np.ones((1, n)), total, total),
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert found.success
    return found.x


def test_without_a_bound_the_printed_pareto_set_is_one_ray():
    training = tiny()
    one, three = least_quadratic(training, 1.0), least_quadratic(training, 3.0)
    np.testing.assert_allclose(three, 3 * one, atol=1e-4)
    # All its machines predict alike, since without bias their functions are multiples.
    np.testing.assert_allclose(
        training.scores(three[None]), 3 * training.scores(one[None]), atol=1e-3
    )


def test_with_a_bound_the_far_end_of_the_printed_front_is_a_parzen_classifier():
    training = tiny()
    ends = [least_quadratic(training, total, cap=1.0) for total in (0.2, 6.999)]
    np.testing.assert_allclose(ends[0], 0.2 * least_quadratic(training, 1.0), atol=1e-4)
    np.testing.assert_allclose(ends[1], 1.0, atol=1e-2)


@cache
def ray():
    return least_quadratic(tiny(), 1.0)


@given(st.integers(0, 1000), st.floats(0.1, 5.0))
def test_no_solution_is_beyond_the_ray(seed, scale):
    training = tiny()
    alpha = scale * np.random.default_rng(seed).random((4, 7))
    bound = dual_objectives(training, ray()[None])[0, 0]
    values = dual_objectives(training, alpha)
    assert (values[:, 0] <= bound * values[:, 1] ** 2 + 1e-6).all()


def test_a_printed_search_refuses_the_checkpoint_of_another_table(tmp_path):
    options = {"n_points": 8, "random_state": 0, "checkpoint": tmp_path / "dual.npz"}
    evolve_printed(tiny(12, seed=2), max_iter=2, **options)
    assert evolve_printed(tiny(12, seed=2), max_iter=3, **options).n_iter == 3
    with pytest.raises(CheckpointError, match="written with evaluate"):
        evolve_printed(tiny(12, seed=3), max_iter=3, **options)


def test_the_printed_search_begins_at_zero_and_stays_below_the_ray():
    training = tiny(12, seed=2)
    begun = evolve_printed(training, n_points=8, max_iter=0, random_state=0)
    np.testing.assert_array_equal(begun.solutions, 0.0)
    found = evolve_printed(training, n_points=20, max_iter=60, random_state=0)
    assert found.directions.names == ("quadratic", "linear", "balance")
    bound = dual_objectives(training, least_quadratic(training, 1.0)[None])[0, 0]
    assert (found.values[:, 0] <= bound * found.values[:, 1] ** 2 + 1e-9).all()
    assert (found.values[:, 2] <= 0).all()
    assert found.values[:, 1].max() > 5
