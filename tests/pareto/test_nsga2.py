import numpy as np
import pytest

from parsimon import _compiled
from parsimon.exceptions import EmptyFrontError, InvalidInputError
from parsimon.pareto._evaluation_pool import Evaluated
from parsimon.pareto.desirability import DesirabilityGuide, ReferencePoints
from parsimon.pareto.dominance import hypervolume
from parsimon.pareto.nsga2 import NSGA2, nsga2
from parsimon.pareto.space import Bits, Box, Integers
from parsimon.pareto.variation import (
    GaussianMutation,
    HybridMutation,
    IntegerReset,
    OneFifthRule,
    PolynomialMutation,
    SwitchMutation,
    UniformCrossover,
)
from tests.pareto.problems import (
    assert_same_search,
    binh_and_korn,
    dtlz2,
    leading_and_trailing,
    nsga2_with,
    zdt1,
)

UNIT = Box(0, 1, n_variables=10)


def parabolas(x):
    return np.column_stack(((x**2).sum(axis=1), ((x - 1) ** 2).sum(axis=1)))


def test_the_front_of_zdt1_is_found():
    result = nsga2(zdt1, UNIT, population_size=60, max_iter=250, random_state=0)
    first, second = result.values.T
    np.testing.assert_allclose(second, 1 - np.sqrt(first), atol=0.02)
    # The front itself dominates 0.8762 of the box up to (1.1, 1.1).
    assert hypervolume(result.values, [1.1, 1.1]) > 0.865
    assert result.n_evaluations == 60 * 251


def test_the_sphere_of_dtlz2_is_found_and_covered():
    box = Box(0, 1, n_variables=7)
    result = nsga2(dtlz2, box, population_size=92, max_iter=150, random_state=0)
    excess = np.linalg.norm(result.values, axis=1) - 1
    assert excess.min() >= -1e-12
    assert excess.mean() < 0.02
    assert hypervolume(result.values, [1.1] * 3) > 0.68


def test_maximin_covers_three_objectives_better_than_gaps():
    box = Box(0, 1, n_variables=7)
    volumes = {
        crowding: np.mean(
            [
                hypervolume(
                    nsga2_with(
                        dtlz2, box, population_size=60, max_iter=100,
                        settings={"crowding": crowding}, random_state=seed,
                    ).values,
                    [1.1] * 3,
                )
                for seed in range(4)
            ]
        )
        for crowding in ("gaps", "maximin")
    }  # fmt: skip
    assert volumes["maximin"] > 1.01 * volumes["gaps"]


def test_three_objectives_are_searched_to_the_same_bits_without_the_compiled_loop(monkeypatch):
    box, options = Box(0, 1, n_variables=7), {"population_size": 30, "max_iter": 40}
    first = nsga2(dtlz2, box, random_state=0, **options)
    monkeypatch.setattr(_compiled, "numba_is_installed", lambda: False)
    assert_same_search(nsga2(dtlz2, box, random_state=0, **options), first)


@pytest.mark.parametrize("crossover", [UniformCrossover(), None])
def test_all_of_a_known_front_of_bits_is_found(crossover):
    result = nsga2(
        leading_and_trailing,
        Bits(10),
        population_size=30,
        max_iter=150,
        crossover=crossover,
        names=["leading ones", "trailing zeros"],
        maximise=True,
        random_state=1,
    )
    assert result.values.astype(int).tolist() == [[k, 10 - k] for k in range(10, -1, -1)]
    for solution, (ones, _) in zip(result.solutions, result.values, strict=True):
        np.testing.assert_array_equal(solution, np.arange(10) < ones)
    front = result.front
    assert len(front) == 11
    assert front.names == ("leading ones", "trailing zeros")


@pytest.mark.parametrize("mutation", ["auto", IntegerReset(rate=0.3)])
def test_a_known_front_of_integers_is_found(mutation):
    def evaluate(v):
        return np.column_stack((np.abs(v - 2).sum(axis=1), np.abs(v - 7).sum(axis=1)))

    space = Integers(-3, 12, n_variables=3)
    result = nsga2(
        evaluate, space, population_size=80, max_iter=150, mutation=mutation, random_state=0
    )
    # Every vector between (2, 2, 2) and (7, 7, 7) is best; their objectives add up to 15.
    assert ((result.solutions >= 2) & (result.solutions <= 7)).all()
    assert set(map(tuple, result.values.astype(int))) == {(k, 15 - k) for k in range(16)}
    assert len(np.unique(result.solutions, axis=0)) == len(result.solutions)


def test_constraints_are_kept_and_the_constrained_front_is_found():
    box = Box([0, 0], [5, 3])
    result = nsga2(binh_and_korn, box, population_size=60, max_iter=80, random_state=0)
    assert result.is_feasible
    assert (binh_and_korn(result.solutions)[1] <= 0).all()
    # The front: x1 = x2 = t up to t = 3, then x2 = 3.
    first, second = result.values.T
    t = np.sqrt(first / 8)
    along_edge = (np.sqrt(np.maximum(first / 4 - 9, 0)) - 5) ** 2 + 4
    assert (second >= np.where(t <= 3, 2 * (t - 5) ** 2, along_edge) - 1e-9).all()
    t = np.linspace(0, 5, 2000)
    whole = binh_and_korn(np.column_stack((t, np.minimum(t, 3))))[0]
    assert hypervolume(result.values, [140, 50]) > 0.985 * hypervolume(whole, [140, 50])
    assert result.values[:, 0].max() > 130
    assert result.values[:, 0].min() < 1


def test_feasibility_is_reached_from_far_outside():
    def evaluate(x):
        return parabolas(x), 0.999 - x[:, 0]

    start = np.zeros((20, 10))
    result = nsga2(evaluate, UNIT, start=start, population_size=20, max_iter=100, random_state=0)
    assert result.is_feasible
    assert (result.solutions[:, 0] >= 0.999).all()
    history = result.history
    assert history.n_solutions[0] == 0
    assert np.isnan(history.best[0]).all()
    assert history.n_solutions[-1] == len(result.solutions)


def test_a_search_without_feasible_solutions_returns_the_least_violation_but_no_front():
    def evaluate(x):
        return parabolas(x), 1 + x[:, 0]

    result = nsga2(evaluate, UNIT, population_size=20, max_iter=60, random_state=0)
    assert not result.is_feasible
    assert result.violation.min() == pytest.approx(1, abs=0.01)
    with pytest.raises(EmptyFrontError, match="No solution keeps its constraints"):
        _ = result.front


def test_objectives_are_maximised_by_name_and_returned_as_they_were_given():
    def evaluate(x):
        return parabolas(x) * [1, -1]

    options = {"population_size": 20, "max_iter": 10, "random_state": 3}
    plain = nsga2(parabolas, UNIT, **options)
    flipped = nsga2(evaluate, UNIT, names=["near", "far"], maximise=["far"], **options)
    np.testing.assert_array_equal(flipped.solutions, plain.solutions)
    np.testing.assert_array_equal(flipped.values, plain.values * [1, -1])
    np.testing.assert_array_equal(flipped.history.best, plain.history.best * [1, -1])
    assert flipped.front.directions.maximised == ("far",)
    assert plain.front.names == ("f1", "f2")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("maximise", [False, True])
def test_failing_solutions_neither_lead_nor_block(bad, maximise):
    def evaluate(x):
        values = parabolas(x) * (-1 if maximise else 1)
        values[x[:, 0] < 0.5] = bad
        return values

    result = nsga2(
        evaluate, UNIT, population_size=20, max_iter=30, maximise=maximise, random_state=0
    )
    assert np.isfinite(result.values).all()
    assert (result.solutions[:, 0] >= 0.5).all()


def test_a_population_without_any_finite_value_is_an_error():
    with pytest.raises(InvalidInputError, match="All 20 solutions of the first population"):
        nsga2(lambda x: np.full((len(x), 2), np.nan), UNIT, population_size=20)


def test_later_generations_may_fail_altogether():
    calls = []

    def evaluate(x):
        calls.append(len(x))
        return parabolas(x) if len(calls) == 1 else np.full((len(x), 2), np.nan)

    result = nsga2(evaluate, UNIT, population_size=10, max_iter=3, random_state=0)
    assert result.n_iter == 3
    np.testing.assert_array_equal(result.history.best[0], result.history.best[-1])


def test_reference_points_draw_the_search_to_them():
    options = {"population_size": 40, "max_iter": 150, "random_state": 0}
    wanted = np.array([[0.2, 0.5], [0.8, 0.05]])
    guided = nsga2(zdt1, UNIT, guide=ReferencePoints(wanted, epsilon=0.001), **options)
    plain = nsga2(zdt1, UNIT, **options)

    def distances(values):
        return np.linalg.norm(values[:, None] - wanted, axis=2)

    assert np.mean(distances(guided.values).min(axis=1)) < 0.25 * np.mean(
        distances(plain.values).min(axis=1)
    )
    # Both points keep their share of the population.
    assert np.bincount(distances(guided.values).argmin(axis=1)).min() >= 8


def test_desirability_draws_the_search_to_what_pleases():
    options = {"population_size": 40, "max_iter": 120, "random_state": 0}
    guide = DesirabilityGuide([(0.5, 0.3), (0.9, 0.0)])  # f1 of 0.3 is as good as it gets
    guided = nsga2(zdt1, UNIT, guide=guide, **options)
    plain = nsga2(zdt1, UNIT, **options)
    levels = np.zeros(40, dtype=int)
    assert guide(guided.values, levels[: len(guided.values)]).mean() > 0.65
    assert guide(plain.values, levels[: len(plain.values)]).mean() < 0.4


@pytest.mark.parametrize(
    "options",
    [
        {"variant": "mierswa"},
        {"crossover": UniformCrossover()},
        {"crossover": None},
        {"mutation": None},
        {"mutation": GaussianMutation(scale=0.05, rate=0.2, adapt=OneFifthRule(interval=5))},
        {"mutation": HybridMutation()},
        {"mutation": SwitchMutation()},
        {"mutation": PolynomialMutation(eta=5)},
        {"population_size": 21},
        {"start": np.full((3, 10), 0.5)},
    ],
)
def test_every_option_changes_the_search_and_still_improves_it(options):
    shared = {"population_size": 20, "max_iter": 40, "random_state": 0} | options
    result = nsga2(parabolas, UNIT, **shared)
    default = nsga2(parabolas, UNIT, population_size=20, max_iter=40, random_state=0)
    assert not np.array_equal(result.population, default.population)
    assert len(result.population) == shared["population_size"]
    assert ((result.population >= 0) & (result.population <= 1)).all()
    assert result.history.best[-1].sum() < result.history.best[0].sum()


@pytest.mark.parametrize(
    "settings",
    [
        {"mating": "random"},
        {"offspring": "crossed_and_mutated"},
        {"crowding": "maximin"},
        {"normalise_crowding": False},
    ],
)
def test_every_setting_changes_the_search_and_still_improves_it(settings):
    shared = {"population_size": 20, "max_iter": 40, "random_state": 0}
    result = nsga2_with(parabolas, UNIT, settings=settings, **shared)
    default = nsga2(parabolas, UNIT, **shared)
    assert not np.array_equal(result.population, default.population)
    assert result.history.best[-1].sum() < result.history.best[0].sum()


def test_a_variant_is_its_settings():
    shared = {"population_size": 20, "max_iter": 10, "random_state": 0}
    settings = {
        "mating": "random", "offspring": "crossed_and_mutated", "normalise_crowding": False
    }  # fmt: skip
    expected = nsga2_with(parabolas, UNIT, settings=settings, **shared)
    assert_same_search(nsga2(parabolas, UNIT, variant="mierswa", **shared), expected)


def test_unnormalised_crowding_lets_the_large_objective_decide():
    def evaluate(x):
        return zdt1(x) * [1, 1e6]

    options = {"population_size": 30, "max_iter": 150, "random_state": 0}
    even = nsga2(evaluate, UNIT, **options).values
    uneven = nsga2_with(evaluate, UNIT, settings={"normalise_crowding": False}, **options).values
    # Equal steps of f2 = 1 - sqrt(f1) put more points at small f1 than equal room in both does.
    assert np.mean(uneven[:, 0] < 0.25) > np.mean(even[:, 0] < 0.25)


def test_crossed_children_compete_beside_mutated_clones():
    generations = []

    def evaluate(x):
        generations.append(len(x))
        return parabolas(x)

    nsga2(
        evaluate, UNIT, population_size=20, max_iter=5, variant="mierswa",
        crossover=UniformCrossover(rate=1), mutation=GaussianMutation(),
        chunk_size=1000, random_state=0,
    )  # fmt: skip
    # 20 crossed children, then 20 clones of parents and 20 of children.
    assert generations == [20, 60, 60, 60, 60, 60]


def test_the_step_follows_survival():
    mutation = GaussianMutation(scale=0.5, adapt=OneFifthRule(interval=1))
    search = NSGA2(UNIT, None, 4, None, mutation)
    rng = np.random.default_rng(0)
    population = search.first(rng)
    state = search.begin(population, Evaluated(np.full((4, 2), 5.0), np.zeros(4)))
    proposal = search.ask(state, rng)
    better = search.tell(state, proposal, Evaluated(np.full((4, 2), 1.0), np.zeros(4)))
    worse = search.tell(state, proposal, Evaluated(np.full((4, 2), 9.0), np.zeros(4)))
    assert (better.step.factor, worse.step.factor) == (2.0, 0.5)
    np.testing.assert_array_equal(
        np.sort(better.population, axis=0), np.sort(proposal.children, axis=0)
    )
    np.testing.assert_array_equal(np.sort(worse.population, axis=0), np.sort(population, axis=0))


def test_a_given_start_comes_first_and_is_filled_up():
    seen = []

    def evaluate(x):
        seen.append(x)
        return parabolas(x)

    start = np.full((5, 10), 0.25)
    nsga2(evaluate, UNIT, start=start, population_size=12, max_iter=0, random_state=0)
    np.testing.assert_array_equal(seen[0][:5], start)
    assert len(np.unique(seen[0][5:], axis=0)) == 7


def test_repeated_solutions_make_room_for_different_ones():
    result = nsga2(
        leading_and_trailing, Bits(6), population_size=20, max_iter=30, maximise=True,
        random_state=0,
    )  # fmt: skip
    assert len(np.unique(result.population, axis=0)) == 20


def test_a_space_smaller_than_the_population_is_no_trouble():
    result = nsga2(
        leading_and_trailing, Bits(2), population_size=20, max_iter=5, maximise=True,
        random_state=0,
    )  # fmt: skip
    assert result.values.tolist() == [[2, 0], [1, 1], [0, 2]]
    assert len(result.population) == 20


def test_the_same_seed_gives_the_same_bits_and_another_one_does_not():
    options = {"population_size": 20, "max_iter": 15}
    first = nsga2(zdt1, UNIT, random_state=4, **options)
    assert_same_search(first, nsga2(zdt1, UNIT, random_state=4, **options))
    sequence = np.random.SeedSequence(4)
    assert_same_search(first, nsga2(zdt1, UNIT, random_state=sequence, **options))
    assert_same_search(first, nsga2(zdt1, UNIT, random_state=sequence, **options))
    other = nsga2(zdt1, UNIT, random_state=5, **options)
    assert not np.array_equal(first.population, other.population)


def test_one_objective_is_allowed():
    result = nsga2(
        lambda x: (x**2).sum(axis=1), UNIT, population_size=20, max_iter=60, random_state=0
    )
    assert result.values.shape == (1, 1)
    assert result.value < 0.01


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"population_size": 1}, "population_size must be an integer of at least 2"),
        ({"crossover": "sbx"}, 'crossover must be an operator, "auto" or None'),
        ({"mutation": "flip"}, 'mutation must be an operator, "auto" or None'),
        ({"variant": "best"}, 'variant must be "deb" or "mierswa"'),
        ({"start": np.zeros((30, 10))}, "start has 30 rows, more than population_size = 20"),
        ({"start": np.full((2, 10), 2.0)}, "outside the space"),
        ({"names": ["a"]}, "returned 2 objectives where 1 were expected"),
        ({"names": ["a", "b"], "maximise": ["c"]}, "no objective 'c'"),
        ({"max_iter": -1}, "max_iter must be an integer of at least 0"),
        ({"time_limit": 0}, "time_limit must be None or positive seconds"),
        ({"stall": 0}, "stall must be an integer of at least 1"),
        ({"chunk_size": 0}, "chunk_size must be an integer of at least 1"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"callback": 3}, "callback must be callable"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        nsga2(parabolas, UNIT, **({"population_size": 20, "max_iter": 2} | options))


def test_a_space_and_a_function_are_needed():
    with pytest.raises(
        InvalidInputError, match="space must be a Box, Bits or Integers, got ndarray"
    ):
        nsga2(parabolas, np.zeros((3, 2)))
    with pytest.raises(InvalidInputError, match="evaluate must be callable, got str"):
        nsga2("f", UNIT)
