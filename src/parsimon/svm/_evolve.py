"""Evolution of duals: exact local steps by default, or the strategies of the source.

"memetic" evolves among stationary points: every individual has been climbed from (`_dual.climb`),
and the loop is that of `parsimon.pareto.run`. The others do without local steps (Mierswa 2009,
section 3.1): "gaussian" (EvoSVM-G) adds normal numbers, "switching" (EvoSVM-S) sends variables from
zero to C and back, "hybrid" (EvoSVM-H) switches them off or on to any value, "swarm" (PsoSVM) is a
particle swarm. `EvolutionOptions` say which and how long, `evolve` runs it and returns an
`EvolutionResult`.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from parsimon import _compiled
from parsimon._checks import check_choice, check_count, check_positive, check_seconds
from parsimon._deadline import Deadline, end_after, is_late
from parsimon._random import Seed
from parsimon._typing import AnyArray, Array, Indices
from parsimon.pareto import evolution_strategy, particle_swarm
from parsimon.pareto.run import Ending, SearchOptions, Standing, run
from parsimon.pareto.search import SearchResult
from parsimon.pareto.space import Box
from parsimon.pareto.variation import (
    GaussianMutation,
    HybridMutation,
    Mutation,
    OneFifthRule,
    SwitchMutation,
)
from parsimon.svm._dual import Dual, climb_dual, solve


@dataclass(frozen=True, eq=False)
class EvolutionResult:
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


# Objectives closer than this share are one point, and no progress.
_SAME = 1e-6
# Share of changed variables up to which their rows are added one by one.
_FEW = 0.25


@dataclass(frozen=True, eq=False)
class DualPoints:
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
    def of(cls, dual: Dual, alpha: Array) -> "DualPoints":
        """Evaluate points, shape (k, n), as one matrix product."""
        return cls.known(dual, alpha, (alpha * dual.signs) @ dual.kernel)

    @classmethod
    def known(cls, dual: Dual, alpha: Array, products: Array) -> "DualPoints":
        """Make a population of points whose products are known."""
        return cls(alpha, products, dual.objective(alpha, products))

    def changed(self, dual: Dual, parents: Indices, alpha: Array) -> "DualPoints":
        """Evaluate children, shape (m, n), of these parents, in O(n) for each changed variable."""
        steps = (alpha - self.alpha[parents]) * dual.signs
        products = self.products[parents]
        for child, step in enumerate(steps):
            moved = np.flatnonzero(step)
            if len(moved) <= _FEW * len(step):
                products[child] += step[moved] @ dual.kernel[moved]
            else:
                products[child] = (alpha[child] * dual.signs) @ dual.kernel
        return DualPoints.known(dual, alpha, products)

    def joined(self, other: "DualPoints") -> "DualPoints":
        """Return the points of both."""
        return DualPoints(
            np.concatenate((self.alpha, other.alpha)),
            np.concatenate((self.products, other.products)),
            np.concatenate((self.values, other.values)),
        )

    def best(self, k: int) -> "DualPoints":
        """Return the k best distinct points, best first."""
        order = np.argsort(-self.values, kind="stable")
        values: Array = self.values[order]
        new = np.append(True, values[:-1] - values[1:] > _SAME * np.abs(values[:-1]))
        kept = order[new][:k]
        return DualPoints(self.alpha[kept], self.products[kept], self.values[kept])


STRATEGIES = ("memetic", "gaussian", "switching", "hybrid", "swarm")
# (population_size, max_iter, stall); the second are those of Mierswa (2009), section 3.1.
_MEMETIC, _PRINTED = (8, 200, 10), (10, 1000, 5)


@dataclass(frozen=True)
class EvolutionOptions:
    """How to evolve a dual.

    population_size, max_iter, stall: Individuals; generations at most; generations without a
        better one at which to stop.
    tol: Gap at which an exact climb ends.
    time_limit: Seconds.
    """

    strategy: str = "memetic"
    population_size: int = _MEMETIC[0]
    max_iter: int = _MEMETIC[1]
    stall: int = _MEMETIC[2]
    tol: float = 1e-3
    time_limit: float | None = None

    @classmethod
    def of(
        cls,
        strategy: str = "memetic",
        *,
        max_iter: int | None = None,
        stall: int | None = None,
        tol: float = 1e-3,
        time_limit: float | None = None,
    ) -> "EvolutionOptions":
        """Return checked settings; what is None has the value that suits the strategy."""
        check_choice("strategy", strategy, STRATEGIES)
        population_size, *usual = _MEMETIC if strategy == "memetic" else _PRINTED
        return cls(
            strategy,
            population_size,
            usual[0] if max_iter is None else check_count("max_iter", max_iter),
            usual[1] if stall is None else check_count("stall", stall),
            check_positive("tol", tol),
            check_seconds("time_limit", time_limit),
        )

    @property
    def printed(self) -> bool:
        """Whether the search is the source's, which leaves the equality out."""
        return self.strategy != "memetic"


# The number of switched variables is drawn so that one is as likely as any tenfold of it.
_MOST_SWITCHED = 0.3


def vary(dual: Dual, parents: Array, mates: Array, rng: np.random.Generator) -> Array:
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


class Generation(NamedTuple):
    """Where a memetic evolution stands.

    points: The best first.
    n_steps, n_evaluations: Exact steps, and points climbed from, so far.
    n_idle: Generations since the best got better.
    ended: Why there is nothing left to search for, if so.
    """

    points: DualPoints
    n_steps: int
    n_evaluations: int
    n_idle: int = 0
    ended: str | None = None


@dataclass(frozen=True, eq=False)
class MemeticEvolution:
    """Evolution among the stationary points of a dual; a process for `parsimon.pareto.run`.

    From zero (without numba: from libsvm's point) two variables at a time are moved to their best
    values (`climb_dual`) until the optimality conditions hold. If the problem is concave that is
    the maximum. If not, other stationary points join: libsvm's, and those above random points.
    Children are made of parents by switching variables and by crossing, are climbed from in turn,
    and the best distinct points survive.
    """

    dual: Dual
    options: EvolutionOptions
    concave: bool
    deadline: Deadline = None
    title: str = "evolving"
    keeps_states: bool = True

    def settings(self) -> dict[str, str]:
        return {"search": "memetic", "options": repr(self.options), "n": repr(len(self.dual))}

    def prepare(self, seed: np.random.SeedSequence) -> np.random.Generator:
        return np.random.default_rng(seed)

    def begin(self, rng: np.random.Generator) -> Generation:  # noqa: ARG002 - the first step draws
        first = self.climbed(DualPoints.of(self.dual, self.origin()))
        return first._replace(ended="concave") if self.concave else first

    def step(
        self,
        state: Generation,
        rng: np.random.Generator,
        deadline: float | None,  # noqa: ARG002 - its own counts from before the first climb
    ) -> Generation:
        if state.n_evaluations == 1:
            state = self.joined(state, self.others(rng))
        after = self.joined(state, self.children(state, rng))
        before, now = float(state.points.values[0]), float(after.points.values[0])
        improved = now > before + _SAME * abs(before)
        return after._replace(n_idle=0 if improved else state.n_idle + 1)

    def origin(self) -> Array:
        """Return where to begin: zero, or libsvm's point where steps from zero would be slow."""
        if _compiled.numba_is_installed():
            return np.zeros((1, len(self.dual)))
        return solve(self.dual, tol=self.options.tol).alpha[None]

    def others(self, rng: np.random.Generator) -> DualPoints:
        """Return the points that join the first: libsvm's, and random ones."""
        theirs = solve(self.dual, tol=self.options.tol).alpha
        drawn = random_points(self.dual, self.options.population_size - 1, rng)
        return DualPoints.of(self.dual, np.vstack((theirs, drawn)))

    def children(self, state: Generation, rng: np.random.Generator) -> DualPoints:
        points, k = state.points, self.options.population_size
        parents, mates = (_winners(len(points), k, rng) for _ in range(2))
        alpha = vary(self.dual, points.alpha[parents], points.alpha[mates], rng)
        return points.changed(self.dual, parents, alpha)

    def climbed(self, points: DualPoints) -> Generation:
        """Return the stationary points above these; those after the deadline stay as they are."""
        alpha, products = points.alpha.copy(), points.products.copy()
        n_steps = n_climbed = 0
        for place in range(len(points)):
            if place and is_late(self.deadline):
                break
            end = climb_dual(
                self.dual,
                alpha[place],
                products=products[place],
                tol=self.options.tol,
                deadline=self.deadline,
            )
            alpha[place], products[place] = end.alpha, end.products
            n_steps, n_climbed = n_steps + end.n_steps, n_climbed + 1
        return Generation(DualPoints.known(self.dual, alpha, products), n_steps, n_climbed)

    def joined(self, state: Generation, more: DualPoints) -> Generation:
        """Climb from more points, and keep the best distinct ones of all, best first."""
        found = self.climbed(more)
        return Generation(
            state.points.joined(found.points).best(self.options.population_size),
            state.n_steps + found.n_steps,
            state.n_evaluations + found.n_evaluations,
        )

    def standing(self, state: Generation) -> Standing:
        return Standing(state.n_evaluations, state.n_idle)

    def row(self, state: Generation) -> tuple[float, ...]:
        return (float(state.points.values[0]),)

    def note(self, state: Generation) -> str:
        return f"best {state.points.values[0]:.6g}"

    def finished(self, state: Generation) -> str | None:
        return state.ended

    def to_arrays(self, state: Generation) -> dict[str, AnyArray]:
        counts = np.array([state.n_steps, state.n_evaluations, state.n_idle])
        points = state.points
        return {"alpha": points.alpha, "products": points.products, "counts": counts}

    def restore(self, arrays: dict[str, AnyArray]) -> Generation:
        points = DualPoints.known(self.dual, arrays["alpha"], arrays["products"])
        return Generation(points, *arrays["counts"].tolist())

    def result(self, state: Generation, ending: Ending) -> EvolutionResult:
        return EvolutionResult(
            state.points.alpha[int(np.argmax(state.points.values))],
            ending.trail[:, 0],
            ending.n_iter,
            state.n_evaluations,
            state.n_steps,
            ending.stopped_by,
        )


def _winners(n: int, k: int, rng: np.random.Generator) -> Indices:
    """Return the better of two of n drawn at random, k times; the best are first."""
    return rng.integers(n, size=(k, 2)).min(axis=1)


def evolve(
    dual: Dual, settings: EvolutionOptions, *, concave: bool = False, random_state: Seed = None
) -> EvolutionResult:
    """Maximise a dual by evolution."""
    if settings.printed:
        found = _search_as_printed(dual, settings, random_state)
        best, history = np.clip(found.solution, 0.0, dual.upper), found.history.best[:, 0]
        return EvolutionResult(
            best, history, found.n_iter, found.n_evaluations, 0, found.stopped_by
        )
    limit = settings.time_limit
    options = SearchOptions(
        settings.max_iter, time_limit=limit, stall=settings.stall, random_state=random_state
    )
    return run(MemeticEvolution(dual, settings, concave, end_after(limit)), options)


_MUTATIONS: dict[str, Mutation] = {
    # It looks every 100 generations, by which time most runs have stalled.
    "gaussian": GaussianMutation(scale=0.1, adapt=OneFifthRule(interval=100)),
    "switching": SwitchMutation(),
    "hybrid": HybridMutation(),
}


def _search_as_printed(dual: Dual, settings: EvolutionOptions, random_state: Seed) -> SearchResult:
    """Search by an evolution strategy or a swarm, without the equality (Mierswa 2009, 3.1)."""
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
        mutation = _MUTATIONS[settings.strategy]
        return evolution_strategy(dual.objective, space, mutation=mutation, **common)
    return particle_swarm(
        dual.objective,
        space,
        inertia=0.1,
        inertia_iterations=settings.max_iter,
        local_weight=1.0,
        global_weight=1.0,
        **common,
    )
