import numpy as np
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.pareto._evaluation_pool import Evaluated
from parsimon.pareto.single import EvolutionStrategy, evolution_strategy
from parsimon.pareto.space import Bits, Box, Integers
from parsimon.pareto.variation import (
    GaussianMutation,
    HybridMutation,
    OneFifthRule,
    SwitchMutation,
    UniformCrossover,
)
from tests.pareto.problems import rastrigin, sphere

BOX = Box(-5, 5, n_variables=5)
QUICK = GaussianMutation(adapt=OneFifthRule(interval=5))


@pytest.mark.parametrize("seed", range(3))
def test_the_sphere_is_solved_to_nine_digits(seed):
    result = evolution_strategy(sphere, BOX, mutation=QUICK, max_iter=400, random_state=seed)
    assert result.value < 1e-9
    np.testing.assert_allclose(result.solution, 1, atol=1e-4)
    assert result.values.shape == (1, 1)
    assert result.solutions.shape == (1, 5)


def test_one_plus_one_with_the_one_fifth_rule_solves_the_sphere():
    rule = OneFifthRule(interval=20, change=1.5)
    result = evolution_strategy(
        sphere,
        BOX,
        population_size=1,
        n_children=1,
        selection="plus",
        mutation=GaussianMutation(adapt=rule),
        max_iter=3000,
        random_state=0,
    )
    assert result.value < 1e-9
    assert result.n_evaluations == 3001
    fixed = evolution_strategy(
        sphere,
        BOX,
        population_size=1,
        selection="plus",
        mutation=GaussianMutation(),
        max_iter=3000,
        random_state=0,
    )
    assert fixed.value > 1e-4


def test_rastrigin_is_solved_among_its_many_local_optima():
    result = evolution_strategy(
        rastrigin,
        Box(-5.12, 5.12, n_variables=4),
        population_size=40,
        mutation=GaussianMutation(rate=0.5, adapt=OneFifthRule(interval=10)),
        max_iter=300,
        random_state=0,
    )
    assert result.value < 1e-6


def test_mu_plus_lambda_keeps_the_best_of_both():
    best = []
    result = evolution_strategy(
        sphere,
        BOX,
        selection="plus",
        population_size=5,
        n_children=20,
        mutation=QUICK,
        max_iter=60,
        callback=lambda now: best.append((now.value, sorted(sphere(now.population)))),
        random_state=0,
    )
    assert result.n_evaluations == 5 + 60 * 20
    worst = [values[-1] for _, values in best]
    assert all(np.diff(worst) <= 0)
    assert all(value == values[0] for value, values in best)
    assert result.value < 1e-3


def test_the_best_so_far_is_never_lost():
    result = evolution_strategy(rastrigin, BOX, max_iter=60, random_state=0)
    assert (np.diff(result.history.best[:, 0]) <= 0).all()
    assert result.value == result.history.best[-1, 0]


def test_every_parent_and_crossed_child_is_cloned_with_a_mutation():
    sizes = []

    def evaluate(x):
        sizes.append(len(x))
        return sphere(x)

    evolution_strategy(
        evaluate, BOX, crossover=UniformCrossover(rate=1), max_iter=3, random_state=0
    )
    # At most 10 crossed children (fewer where both parents are one), 10 + as many clones.
    assert sizes[0] == 10
    assert all(10 < size <= 30 and size % 2 == 0 for size in sizes[1:])
    sizes.clear()
    evolution_strategy(evaluate, BOX, crossover=None, max_iter=3, random_state=0)
    assert sizes == [10, 10, 10, 10]


def test_clones_that_did_not_change_are_not_evaluated():
    sizes = []

    def evaluate(x):
        sizes.append(len(x))
        return sphere(x)

    mutation = SwitchMutation(rate=0.05)
    evolution_strategy(
        evaluate, BOX, crossover=None, mutation=mutation, max_iter=200, random_state=0
    )
    assert np.mean(sizes[1:]) == pytest.approx(10 * (1 - 0.95**5), abs=0.5)


def test_a_generation_without_children_goes_by():
    result = evolution_strategy(
        sphere, BOX, crossover=None, mutation=None, max_iter=3, random_state=0
    )
    assert (result.n_iter, result.n_evaluations) == (3, 10)


@pytest.mark.parametrize(("share", "n_entrants"), [(0.25, 10), (0.0, 1), (1.0, 40)])
def test_tournaments_are_drawn_with_replacement_from_a_share_of_all(share, n_entrants, rng):
    search = EvolutionStrategy(BOX, None, 2001, None, None, tournament=share)
    population = BOX.sample(40, rng)
    values = np.arange(40.0)[rng.permutation(40)]
    state = search.begin(population, Evaluated(values[:, None], np.zeros(40)))
    places = values[search.ask(state, rng).kept].astype(int)
    assert len(places) == 2001
    # The best of n entrants drawn with replacement has a place above k with (1 - k/40)^n.
    for k in (1, 3, 8):
        expected = (2000 * (1 - k / 40) ** n_entrants) / 2001
        assert np.mean(places >= k) == pytest.approx(expected, abs=0.04)


def test_successes_are_counted_against_the_mutants_own_parents(rng):
    search = EvolutionStrategy(
        BOX, None, 4, UniformCrossover(rate=1), GaussianMutation(adapt=OneFifthRule())
    )
    state = search.begin(BOX.sample(4, rng), Evaluated(np.arange(4.0)[:, None], np.zeros(4)))
    proposal = search.ask(state, rng)
    n_crossed = np.count_nonzero(proposal.parents < 0)
    n_mutants = len(proposal.children) - n_crossed
    values = np.full((len(proposal.children), 1), 10.0)
    values[: n_crossed // 2] = -5.0  # crossed children that are better count for nothing
    values[-1] = -9.0
    after = search.tell(state, proposal, Evaluated(values, np.zeros(len(values))))
    assert after.step[1:] == (1, n_mutants)


@pytest.mark.parametrize("mutation", [HybridMutation(), SwitchMutation()])
def test_sparse_mutations_find_a_sparse_corner(mutation):
    target = np.zeros(12)
    target[[2, 7]] = 3.0

    def evaluate(x):
        return np.abs(x - target).sum(axis=1)

    box = Box(0, 3, n_variables=12)
    result = evolution_strategy(
        evaluate, box, mutation=mutation, max_iter=300, stall=60, random_state=0
    )
    assert (result.solution[target == 0] == 0).all()
    assert (result.solution[target > 0] > 2).all()


def test_bits_and_integers_are_searched_too():
    bits = evolution_strategy(
        lambda b: b.sum(axis=1), Bits(30), maximise=True, max_iter=100, random_state=0
    )
    assert bits.value == 30
    assert bits.solution.all()
    whole = evolution_strategy(
        lambda v: np.abs(v - 4).sum(axis=1),
        Integers(-20, 20, n_variables=6),
        max_iter=200,
        random_state=0,
    )
    np.testing.assert_array_equal(whole.solution, 4)


def test_constraints_come_first():
    def evaluate(x):
        return sphere(x), 2.5 - x[:, 0]

    # A fixed step: at the edge of what is allowed most mutants fail, and the 1/5 rule would
    # shorten the step before the optimum is reached.
    mutation = GaussianMutation(scale=0.005)
    for selection in ("tournament", "plus"):
        result = evolution_strategy(
            evaluate, BOX, selection=selection, mutation=mutation, max_iter=500, random_state=0
        )
        assert result.is_feasible
        np.testing.assert_allclose(result.solution, [2.5, 1, 1, 1, 1], atol=0.05)


def test_solutions_that_fail_are_never_the_best():
    def evaluate(x):
        return np.where(x[:, 0] < 1.5, np.nan, sphere(x))

    result = evolution_strategy(evaluate, BOX, mutation=QUICK, max_iter=200, random_state=0)
    np.testing.assert_allclose(result.solution, [1.5, 1, 1, 1, 1], atol=0.05)


def test_a_start_is_used():
    start = np.full((1, 5), 1.0)
    result = evolution_strategy(sphere, BOX, start=start, max_iter=0, random_state=0)
    assert result.value == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"crossover": "sbx"}, 'crossover must be an operator, "auto" or None'),
        ({"mutation": "flip"}, 'mutation must be an operator, "auto" or None'),
        ({"selection": "comma"}, 'selection must be "tournament" or "plus"'),
        ({"n_children": 5}, 'n_children is for selection="plus" only'),
        ({"n_children": 0, "selection": "plus"}, "n_children must be an integer of at least 1"),
        ({"tournament": 1.5}, "tournament must be between 0 and 1"),
        ({"population_size": 0}, "population_size must be an integer of at least 1"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        evolution_strategy(sphere, BOX, **options)


def test_several_objectives_are_refused():
    with pytest.raises(InvalidInputError, match="one objective, evaluate returned 5"):
        evolution_strategy(lambda x: x, BOX)
