import numpy as np
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.pareto._evaluation_pool import Evaluated
from parsimon.pareto.single import ParticleSwarm, particle_swarm
from parsimon.pareto.space import Bits, Box
from tests.pareto.problems import rastrigin, sphere

BOX = Box(-5, 5, n_variables=5)


@pytest.mark.parametrize("seed", range(3))
def test_the_sphere_is_solved_to_twelve_digits(seed):
    result = particle_swarm(sphere, BOX, max_iter=300, random_state=seed)
    assert result.value < 1e-12
    np.testing.assert_allclose(result.solution, 1, atol=1e-6)


def test_rastrigin_is_solved_among_its_many_local_optima():
    box = Box(-5.12, 5.12, n_variables=3)
    result = particle_swarm(rastrigin, box, population_size=60, max_iter=300, random_state=0)
    assert result.value < 1e-8


@pytest.mark.parametrize("weights", ["uniform", "normal"])
def test_a_step_follows_the_formula(weights, rng):
    search = ParticleSwarm(
        Box(-100, 100, n_variables=2),
        None,
        3,
        inertia=0.5,
        local_weight=2.0,
        global_weight=3.0,
        weights=weights,
    )
    places = rng.random((3, 2))
    state = search.begin(places, Evaluated(np.array([[2.0], [1], [3]]), np.zeros(3)))
    first = search.ask(state, np.random.default_rng(1))
    draw = np.random.default_rng(1)
    r = draw.random((2, 3, 2)) if weights == "uniform" else 1 + draw.standard_normal((2, 3, 2))
    # At the start own bests are the places themselves, and velocities are zero.
    velocity = 3.0 * r[1] * (places[1] - places)
    np.testing.assert_allclose(first.children, places + velocity)
    state = search.tell(state, first, Evaluated(np.array([[5.0], [0.5], [2]]), np.zeros(3)))
    np.testing.assert_array_equal(state.best_place, [places[0], *first.children[1:]])
    second = search.ask(state, np.random.default_rng(2))
    draw = np.random.default_rng(2)
    r = draw.random((2, 3, 2)) if weights == "uniform" else 1 + draw.standard_normal((2, 3, 2))
    here, own = state.population, state.best_place
    velocity = 0.5 * velocity + 2.0 * r[0] * (own - here) + 3.0 * r[1] * (own[1] - here)
    np.testing.assert_allclose(second.children, here + velocity)


def test_inertia_falls_in_a_straight_line_and_then_stays():
    search = ParticleSwarm(BOX, None, 3, inertia=0.9, final_inertia=0.4, inertia_iterations=10)
    assert [search.inertia_at(k) for k in (0, 5, 10, 99)] == pytest.approx([0.9, 0.65, 0.4, 0.4])
    assert ParticleSwarm(BOX, None, 3, inertia=0.9).inertia_at(50) == 0.9


@pytest.mark.parametrize(
    "options",
    [
        {"inertia": 0.5},
        {"inertia_iterations": 20},
        {"inertia_iterations": 20, "final_inertia": 0.4},
        {"local_weight": 1.0},
        {"global_weight": 1.0},
        {"weights": "normal", "inertia": 0.1, "local_weight": 0.5, "global_weight": 0.5},
    ],
)
def test_every_option_changes_the_search_and_still_improves_it(options):
    shared = {"max_iter": 40, "random_state": 0}
    result = particle_swarm(sphere, BOX, **shared, **options)
    default = particle_swarm(sphere, BOX, **shared)
    assert result.value != default.value
    assert result.value < 0.1 * result.history.best[0, 0]


def test_the_thesis_settings_run():
    result = particle_swarm(
        sphere,
        BOX,
        population_size=10,
        inertia=0.1,
        inertia_iterations=100,
        local_weight=1,
        global_weight=1,
        max_iter=100,
        random_state=0,
    )
    assert result.value < 0.1 * result.history.best[0, 0]


def test_particles_stay_in_the_box_and_the_best_is_kept():
    seen = []

    def evaluate(x):
        seen.append(x)
        return -x[:, 0]

    result = particle_swarm(evaluate, BOX, max_iter=30, random_state=0)
    assert result.solution[0] == 5
    assert np.abs(seen).max() == 5
    assert (np.diff(result.history.best[:, 0]) <= 0).all()


def test_maximising_is_minimising_the_negative():
    shared = {"max_iter": 20, "random_state": 0}
    up = particle_swarm(lambda x: -sphere(x), BOX, maximise=True, **shared)
    down = particle_swarm(sphere, BOX, **shared)
    np.testing.assert_array_equal(up.solution, down.solution)
    assert up.value == -down.value


def test_constraints_come_first():
    result = particle_swarm(lambda x: (sphere(x), 2.5 - x[:, 0]), BOX, max_iter=300, random_state=0)
    assert result.is_feasible
    np.testing.assert_allclose(result.solution, [2.5, 1, 1, 1, 1], atol=1e-3)


def test_solutions_that_fail_are_never_the_best():
    def evaluate(x):
        return np.where(x[:, 0] < 1.5, np.nan, sphere(x))

    result = particle_swarm(evaluate, BOX, max_iter=200, random_state=0)
    np.testing.assert_allclose(result.solution, [1.5, 1, 1, 1, 1], atol=1e-3)


@pytest.mark.parametrize(
    ("space", "options", "message"),
    [
        (Bits(3), {}, "A particle swarm needs a Box"),
        (BOX, {"weights": "cauchy"}, 'weights must be "uniform" or "normal"'),
        (BOX, {"inertia": -1}, "inertia must be zero or a positive number"),
        (BOX, {"final_inertia": -1}, "final_inertia must be zero or a positive number"),
        (BOX, {"local_weight": np.nan}, "local_weight must be zero or a positive number"),
        (BOX, {"global_weight": "x"}, "global_weight must be zero or a positive number"),
        (BOX, {"inertia_iterations": 0}, "inertia_iterations must be an integer of at least 1"),
        (BOX, {"population_size": 0}, "population_size must be an integer of at least 1"),
    ],
)
def test_impossible_options_are_refused(space, options, message):
    with pytest.raises(InvalidInputError, match=message):
        particle_swarm(sphere, space, **options)
