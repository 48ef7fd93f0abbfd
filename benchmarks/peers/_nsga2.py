"""NSGA-II beside pymoo's: the same problems, operators, population, evaluations and thread.

Both evaluate whole populations with the same NumPy function. For each seed ours and pymoo's run
one after the other, so that a slow spell of the machine hits both; rows hold medians over seeds.
One thing differs with three objectives: ours keeps solutions farthest first (our default there),
pymoo by Deb's crowding distance; the row says so.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import moocore
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.rows import Row
from parsimon.pareto.nsga2 import nsga2
from parsimon.pareto.space import Box
from parsimon.pareto.variation import PolynomialMutation, SimulatedBinaryCrossover

Array = np.ndarray[Any, np.dtype[np.float64]]
POPULATION = 100


class Problem(NamedTuple):
    """A test problem on the unit cube, minimised."""

    name: str
    evaluate: Callable[[Array], Array]
    n_variables: int
    reference: tuple[float, ...]


class Outcome(NamedTuple):
    """Time and hypervolume of one run."""

    seconds: float
    volume: float


def zdt1(x: Array) -> Array:
    """Zitzler, Deb and Thiele (2000), Evol. Comput. 8:173-195, equation 7."""
    first = x[:, 0]
    g = 1 + 9 * x[:, 1:].mean(axis=1)
    return np.column_stack((first, g * (1 - np.sqrt(first / g))))


def dtlz2(x: Array) -> Array:
    """Deb, Thiele, Laumanns and Zitzler (2002), CEC, 825-830, with three objectives."""
    radius = 1 + ((x[:, 2:] - 0.5) ** 2).sum(axis=1)
    a, b = x[:, 0] * np.pi / 2, x[:, 1] * np.pi / 2
    return np.column_stack(
        (
            radius * np.cos(a) * np.cos(b),
            radius * np.cos(a) * np.sin(b),
            radius * np.sin(a),
        )
    )


PROBLEMS = (
    Problem("ZDT1", zdt1, 30, (1.1, 1.1)),
    Problem("DTLZ2, 3 objectives", dtlz2, 12, (1.1, 1.1, 1.1)),
)


def nsga2_rows(quick: bool) -> list[Row]:
    """Return hypervolume and time of both, for each problem."""
    generations, n_seeds = (100, 2) if quick else (500, 5)
    rows = []
    with threadpool_limits(limits=1):
        for problem in PROBLEMS:
            rows += _problem_rows(problem, generations, n_seeds)
    return rows


def _problem_rows(problem: Problem, generations: int, n_seeds: int) -> list[Row]:
    ours, peers = [], []
    for run in (_ours, _pymoo):  # the first call pays for imports
        run(problem, 3, 0)
    for seed in range(1, n_seeds + 1):
        ours.append(_ours(problem, generations, seed))
        peers.append(_pymoo(problem, generations, seed))
    case = f"NSGA-II, {problem.name}, {generations} generations of {POPULATION}"
    note = f"pymoo, median of {n_seeds} seeds"
    if len(problem.reference) > 2:
        note += "; ours keeps solutions farthest first, pymoo by crowding distance"
    return [
        Row(
            case,
            "hypervolume",
            statistics.median(outcome.volume for outcome in ours),
            statistics.median(outcome.volume for outcome in peers),
            higher_is_better=True,
            bar=0.995,
            note=note,
            rivals={
                "constant: the middle": _volume(_front(problem, 1, 0), problem),
                "guess: as many points by lot": _volume(
                    _front(problem, generations * POPULATION, 1), problem
                ),
            },
        ),
        Row(
            case,
            "seconds",
            statistics.median(outcome.seconds for outcome in ours),
            statistics.median(outcome.seconds for outcome in peers),
            bar=10.0,
            note=note,
        ),
    ]


def _ours(problem: Problem, generations: int, seed: int) -> Outcome:
    began = time.perf_counter()
    result = nsga2(
        problem.evaluate,
        Box(0, 1, n_variables=problem.n_variables),
        population_size=POPULATION,
        max_iter=generations - 1,  # pymoo counts the first population as a generation
        crossover=SimulatedBinaryCrossover(eta=15, rate=0.9),
        mutation=PolynomialMutation(eta=20),
        chunk_size=POPULATION,
        random_state=seed,
    )
    seconds = time.perf_counter() - began
    if result.n_evaluations != generations * POPULATION:
        raise RuntimeError("ours did not run the evaluations that were asked for")
    return Outcome(seconds, _volume(result.values, problem))


def _pymoo(problem: Problem, generations: int, seed: int) -> Outcome:
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import Problem as PymooProblem
    from pymoo.operators.crossover.sbx import SBX
    from pymoo.operators.mutation.pm import PM
    from pymoo.optimize import minimize

    class Wrapped(PymooProblem):
        def _evaluate(self, x: Array, out: dict[str, Array], *_: Any, **__: Any) -> None:
            out["F"] = problem.evaluate(x)

    wrapped = Wrapped(
        n_var=problem.n_variables, n_obj=len(problem.reference), n_ieq_constr=0, xl=0.0, xu=1.0
    )
    algorithm = NSGA2(pop_size=POPULATION, crossover=SBX(eta=15, prob=0.9), mutation=PM(eta=20))
    began = time.perf_counter()
    result = minimize(wrapped, algorithm, ("n_gen", generations), seed=seed)
    seconds = time.perf_counter() - began
    if result.algorithm.evaluator.n_eval != generations * POPULATION:
        raise RuntimeError("pymoo did not run the evaluations that were asked for")
    return Outcome(seconds, _volume(result.F, problem))


def _front(problem: Problem, n: int, seed: int) -> Array:
    """Return the values of points by lot; of one point, the middle of the cube."""
    if n == 1:
        return problem.evaluate(np.full((1, problem.n_variables), 0.5))
    return problem.evaluate(np.random.default_rng(seed).random((n, problem.n_variables)))


def _volume(values: Array, problem: Problem) -> float:
    return float(moocore.hypervolume(values, ref=problem.reference))
