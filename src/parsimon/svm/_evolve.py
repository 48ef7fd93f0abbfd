"""One call for every strategy.

What an evolution returns.

Evolution with exact local steps: every individual is a stationary point of the dual.

Evolution without local steps: the strategies of Mierswa (2009), section 3.1.

"gaussian" (EvoSVM-G) adds normal numbers, "switching" (EvoSVM-S) sends variables from zero to C
and back, "hybrid" (EvoSVM-H) switches them off or on to any value, "swarm" (PsoSVM) is a particle
swarm.

Points of a dual with their kernel products, so that a change of few variables costs little.

Which evolution to run: a strategy, how many individuals, when to stop.

Children of points of a dual: few variables switched, halves crossed, the plane kept.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from parsimon import _compiled
from parsimon._checks import check_choice, check_count, check_positive, check_seconds
from parsimon._random import Seed, seed_sequence
from parsimon._typing import Array, Indices
from parsimon.pareto import evolution_strategy, particle_swarm
from parsimon.pareto.search import SearchResult
from parsimon.pareto.space import Box
from parsimon.pareto.variation import (
    GaussianMutation,
    HybridMutation,
    Mutation,
    OneFifthRule,
    SwitchMutation,
)
from parsimon.svm._dual import Dual, climb, feasible, solve


@dataclass(frozen=True, eq=False)
class Evolved:
    """The best point an evolution has seen, and how the run went.

    alpha (n,): Feasible.
    history (n_generations + 1,): The best objective after each generation; it never falls.
    n_evaluations: Points whose objective was computed; for "memetic" points that were climbed
        from.
    n_steps: Exact local steps.
    stopped_by: "concave": one climb is the maximum, and there was nothing to search for.
    """

    alpha: Array
    history: Array
    n_generations: int
    n_evaluations: int
    n_steps: int
    stopped_by: str


# Share of changed variables up to which their rows are added one by one.
_FEW = 0.25


@dataclass(frozen=True, eq=False)
class Population:
    """k points, what the kernel makes of them, and their objectives.

    Shapes: alpha (k, n).

    products (k, n): ``(alpha * signs) @ kernel``.
    values (k,): D(alpha).
    """

    alpha: Array
    products: Array
    values: Array

    def __len__(self) -> int:
        return len(self.alpha)

    @classmethod
    def of(cls, dual: Dual, alpha: Array) -> "Population":
        """Evaluate points, shape (k, n), as one matrix product."""
        return cls.known(dual, alpha, (alpha * dual.signs) @ dual.kernel)

    @classmethod
    def known(cls, dual: Dual, alpha: Array, products: Array) -> "Population":
        """Make a population of points whose products are known."""
        return cls(alpha, products, dual.value(alpha, products))

    def changed(self, dual: Dual, parents: Indices, alpha: Array) -> "Population":
        """Evaluate children, shape (m, n), of these parents, in O(n) for each changed variable."""
        steps = (alpha - self.alpha[parents]) * dual.signs
        products = self.products[parents]
        for child, step in enumerate(steps):
            moved = np.flatnonzero(step)
            if len(moved) <= _FEW * len(step):
                products[child] += step[moved] @ dual.kernel[moved]
            else:
                products[child] = (alpha[child] * dual.signs) @ dual.kernel
        return Population.known(dual, alpha, products)

    def chosen(self, places: Indices) -> "Population":
        """Return some of the points."""
        return Population(self.alpha[places], self.products[places], self.values[places])

    def joined(self, other: "Population") -> "Population":
        """Return the points of both."""
        return Population(
            np.concatenate((self.alpha, other.alpha)),
            np.concatenate((self.products, other.products)),
            np.concatenate((self.values, other.values)),
        )


STRATEGIES = ("memetic", "gaussian", "switching", "hybrid", "swarm")
PRESETS = (None, "printed")
# (population_size, max_iter, stall); the printed ones are those of Mierswa (2009), section 3.1.
_MEMETIC = (8, 200, 10)
_PLAIN = (10, 1000, 50)
_PRINTED = (10, 1000, 5)


@dataclass(frozen=True)
class Settings:
    """How to evolve a dual.

    printed: Without the equality, and with the source's parameters.
    population_size, max_iter, stall: Individuals; generations at most; generations without a
        better one at which to stop.
    tolerance: Gap at which an exact climb ends.
    time_limit: Seconds.
    """

    strategy: str = "memetic"
    printed: bool = False
    population_size: int = _MEMETIC[0]
    max_iter: int = _MEMETIC[1]
    stall: int = _MEMETIC[2]
    tolerance: float = 1e-3
    time_limit: float | None = None

    @classmethod
    def of(
        cls,
        strategy: str = "memetic",
        *,
        preset: str | None = None,
        population_size: int | None = None,
        max_iter: int | None = None,
        stall: int | None = None,
        tolerance: float = 1e-3,
        time_limit: float | None = None,
    ) -> "Settings":
        """Return checked settings; what is None has the value that suits the strategy."""
        check_choice("strategy", strategy, STRATEGIES)
        check_choice("preset", preset, PRESETS)
        if preset == "printed":
            check_choice('strategy with preset="printed"', strategy, STRATEGIES[1:])
            defaults = _PRINTED
        else:
            defaults = _MEMETIC if strategy == "memetic" else _PLAIN
        return cls(
            strategy,
            preset == "printed",
            _count("population_size", population_size, defaults[0], least=2),
            _count("max_iter", max_iter, defaults[1]),
            _count("stall", stall, defaults[2]),
            check_positive("tolerance", tolerance),
            check_seconds("time_limit", time_limit),
        )


def _count(name: str, value: Any, default: int, *, least: int = 1) -> int:
    return default if value is None else check_count(name, value, least=least)


# The number of switched variables is drawn so that one is as likely as any tenfold of it.
_MOST_SWITCHED = 0.3


def varied(dual: Dual, parents: Array, mates: Array, rng: np.random.Generator) -> Array:
    """Return children, shape (k, n), in the box and on the plane.

    Every second child takes half of the variables of a mate; then some are switched: off if they
    were on, and to the bound or to any value if they were off. Their number is 1 to a third
    of all, small ones as often as large ones. What that does to the equality is made good by as
    few other variables as will do, in random order.

    Shapes: parents, mates (k, n).
    """
    children = parents.copy()
    n = len(dual)
    for place, child in enumerate(children):
        if place % 2:
            taken = rng.random(n) < 0.5
            child[taken] = mates[place][taken]
        most = max(1.0, _MOST_SWITCHED * n)
        switched = rng.choice(n, size=int(most ** rng.random()), replace=False)
        drawn = dual.upper[switched] * np.where(
            rng.random(len(switched)) < 0.5, 1.0, rng.random(len(switched))
        )
        child[switched] = np.where(child[switched] > 0, 0.0, drawn)
        if dual.equality:
            rebalance(dual, child, rng.permutation(n))
    return children


def rebalance(dual: Dual, alpha: Array, order: Indices) -> None:
    """Bring a point of the box back to the plane, in place, changing variables in this order."""
    excess = float(dual.signs @ alpha)
    # A variable on the side of the excess can give what it has, one on the other take its room.
    giving, upper = (dual.signs * excess > 0)[order], dual.upper[order]
    room = np.where(giving, alpha[order], upper - alpha[order])
    before = np.cumsum(room) - room
    moved = np.clip(abs(excess) - before, 0.0, room)
    partly = np.clip(alpha[order] + np.where(giving, -moved, moved), 0.0, upper)
    # Whoever gave all is at its bound to the last digit.
    alpha[order] = np.where(moved == room, np.where(giving, 0.0, upper), partly)


def random_points(dual: Dual, k: int, rng: np.random.Generator) -> Array:
    """Return k points at random, shape (k, n): a random share of the variables at their bounds."""
    on = rng.random((k, len(dual))) < rng.random((k, 1))
    points: Array = np.where(on, dual.upper, 0.0)
    if dual.equality:
        for point in points:
            rebalance(dual, point, rng.permutation(len(dual)))
    return points


# Objectives closer than this share are one point, and no progress.
_SAME = 1e-6


def memetic(dual: Dual, settings: Settings, *, concave: bool, rng: np.random.Generator) -> Evolved:
    """Maximise a dual by evolution among its stationary points.

    From zero (without numba: from libsvm's point) two variables at a time are moved to their best
    values (`climb`) until the optimality conditions hold. If the problem is concave that is the
    maximum. If not, other stationary points join: libsvm's, and those above random points. Children
    are made of parents by switching variables and by crossing, are climbed from in turn, and the
    best distinct points survive.
    """
    return _Run(dual, settings, rng).evolved(concave=concave)


class _Run:
    """One run: the only object here that changes."""

    def __init__(self, dual: Dual, settings: Settings, rng: np.random.Generator) -> None:
        self.dual, self.settings, self.rng = dual, settings, rng
        limit = settings.time_limit
        self.deadline = np.inf if limit is None else time.monotonic() + limit
        self.n_steps = self.n_evaluations = 0
        self.population = self.climbed(Population.of(dual, self.first()))
        self.history = [float(self.population.values[0])]

    def evolved(self, *, concave: bool) -> Evolved:
        stopped_by = "concave"
        if not concave:
            try:
                stopped_by = self.loop()
            except KeyboardInterrupt:
                stopped_by = "interrupt"
        best = int(np.argmax(self.population.values))
        return Evolved(
            self.population.alpha[best],
            np.array(self.history),
            len(self.history) - 1,
            self.n_evaluations,
            self.n_steps,
            stopped_by,
        )

    def loop(self) -> str:
        """Evolve until there is a reason to stop, and return it."""
        settings = self.settings
        self.keep(self.climbed(self.others()))
        self.history = [float(self.population.values[0])]
        n_stalled = 0
        while True:
            if time.monotonic() >= self.deadline:
                return "time_limit"
            if len(self.history) > settings.max_iter:
                return "max_iter"
            if n_stalled >= settings.stall:
                return "stall"
            before = self.history[-1]
            self.keep(self.climbed(self.children()))
            self.history.append(float(self.population.values[0]))
            improved = self.history[-1] > before + _SAME * abs(before)
            n_stalled = 0 if improved else n_stalled + 1

    def first(self) -> Array:
        """Return where to begin: zero, or libsvm's point where steps from zero would be slow."""
        if _compiled.numba_is_installed():
            return np.zeros((1, len(self.dual)))
        return solve(self.dual, tolerance=self.settings.tolerance).alpha[None]

    def others(self) -> Population:
        """Return the points that join the first: libsvm's, and random ones."""
        theirs = solve(self.dual, tolerance=self.settings.tolerance).alpha
        drawn = random_points(self.dual, self.settings.population_size - 1, self.rng)
        return Population.of(self.dual, np.vstack((theirs, drawn)))

    def children(self) -> Population:
        k = self.settings.population_size
        parents, mates = self.winners(k), self.winners(k)
        alpha = varied(
            self.dual, self.population.alpha[parents], self.population.alpha[mates], self.rng
        )
        return self.population.changed(self.dual, parents, alpha)

    def winners(self, k: int) -> Indices:
        """Return the better of two drawn at random, k times; the population is in order."""
        drawn: Indices = self.rng.integers(len(self.population), size=(k, 2)).min(axis=1)
        return drawn

    def climbed(self, points: Population) -> Population:
        """Return the stationary points above these; those after the deadline stay as they are."""
        alpha, products = points.alpha.copy(), points.products.copy()
        for place in range(len(points)):
            if place and time.monotonic() >= self.deadline:
                break
            end = climb(
                self.dual,
                alpha[place],
                products=products[place],
                tolerance=self.settings.tolerance,
                deadline=self.deadline,
            )
            alpha[place], products[place] = end.alpha, end.products
            self.n_steps += end.n_steps
            self.n_evaluations += 1
        return Population.known(self.dual, alpha, products)

    def keep(self, more: Population) -> None:
        """Keep the best distinct points of the population and these, best first."""
        both = self.population.joined(more)
        order = np.argsort(-both.values, kind="stable")
        values: Array = both.values[order]
        new = np.append(True, values[:-1] - values[1:] > _SAME * np.abs(values[:-1]))
        self.population = both.chosen(order[new][: self.settings.population_size])


# The printed rule looks every 100 generations, by which time most runs have stalled.
_PRINTED_INTERVAL, _INTERVAL = 100, 10


def plain(dual: Dual, settings: Settings, *, random_state: Seed = None) -> Evolved:
    """Maximise a dual by an evolution strategy or a swarm.

    A dual with the equality is searched by what its individuals become when the side that is too
    large is shrunk (`feasible`).

    Mierswa (2009), section 3.1: EvoSVM-G, -S, -H and PsoSVM.
    """
    found = _search(dual, settings, random_state)
    return Evolved(
        feasible(dual, found.solution),
        found.history.best[:, 0],
        found.n_iter,
        found.n_evaluations,
        0,
        found.stopped_by,
    )


def _search(dual: Dual, settings: Settings, random_state: Seed) -> SearchResult:
    def evaluate(alpha: Array) -> Array:
        values: Array = dual.objective(feasible(dual, alpha))
        return values

    common: dict[str, Any] = {
        "population_size": settings.population_size,
        "max_iter": settings.max_iter,
        "stall": settings.stall,
        "time_limit": settings.time_limit,
        "maximise": True,
        # One matrix product for all.
        "chunk_size": 10 * settings.population_size,
        "random_state": random_state,
    }
    space = Box(np.zeros(len(dual)), dual.upper)
    if settings.strategy != "swarm":
        return evolution_strategy(evaluate, space, mutation=_mutation(settings), **common)
    if settings.printed:
        common |= {
            "inertia": 0.1,
            "inertia_iterations": settings.max_iter,
            "local_weight": 1.0,
            "global_weight": 1.0,
        }
    return particle_swarm(evaluate, space, **common)


def _mutation(settings: Settings) -> Mutation:
    if settings.strategy == "switching":
        return SwitchMutation()
    if settings.strategy == "hybrid":
        return HybridMutation()
    interval = _PRINTED_INTERVAL if settings.printed else _INTERVAL
    return GaussianMutation(scale=0.1, adapt=OneFifthRule(interval=interval))


def evolve(
    dual: Dual, settings: Settings, *, concave: bool = False, random_state: Seed = None
) -> Evolved:
    """Maximise a dual by evolution."""
    if settings.strategy == "memetic":
        return memetic(
            dual, settings, concave=concave, rng=np.random.default_rng(seed_sequence(random_state))
        )
    return plain(dual, settings, random_state=random_state)


__all__ = ["STRATEGIES", "Evolved", "Settings", "evolve"]
