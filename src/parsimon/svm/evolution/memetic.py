"""Evolution with exact local steps: every individual is a stationary point of the dual."""

import time

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.svm.dual import Dual
from parsimon.svm.evolution.evolved import Evolved
from parsimon.svm.evolution.population import Population
from parsimon.svm.evolution.settings import Settings
from parsimon.svm.evolution.variation import random_points, varied
from parsimon.svm.exact import solve
from parsimon.svm.smo import climb, is_compiled

# Objectives closer than this share are one point, and no progress.
_SAME = 1e-6


def memetic(dual: Dual, settings: Settings, *, concave: bool, rng: np.random.Generator) -> Evolved:
    """Maximise a dual by evolution among its stationary points.

    From zero (without numba: from libsvm's point) two variables at a time are moved to their best
    values (`smo.climb`) until the optimality conditions hold. If the problem is concave that is the
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
        if is_compiled():
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
