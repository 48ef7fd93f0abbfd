r"""Maximum evidence over widths: sparse fits and gradient steps, in turn.

`climb` moves the widths of the columns in the model; a sparse fit then decides anew which columns
those are. `ascend` does the two in turn and accepts only what raises the score, the evidence less
a price for each column. The number of columns in the model makes a gradient step cheap, the
number of columns to choose from makes a fit dear.
"""

from dataclasses import dataclass

import numpy as np

from parsimon._typing import Array
from parsimon.rvm.widths.climb import climb
from parsimon.rvm.widths.families import Family
from parsimon.rvm.widths.problems import Fits, Problems

# Fits in a row that are worse than the best before a walk over widths ends.
_WORSE = 2


@dataclass(frozen=True, eq=False)
class State:
    """A family, the sparse fits to it and what they reach together.

    price: Of a column.
    """

    family: Family
    fits: Fits
    price: float

    @property
    def score(self) -> float:
        """The sum over problems of what sparse Bayesian learning maximises, less the price."""
        return sum(fit.objective - self.price * len(fit.active) for fit in self.fits)

    @property
    def is_flat(self) -> bool:
        """Whether no function is in any model, so that widths say nothing."""
        first = int(self.family.bias)
        return all((fit.active < first).all() for fit in self.fits)

    @property
    def rank(self) -> tuple[bool, float]:
        """What is compared: flat models last, since their width is any width; then the score."""
        return not self.is_flat, self.score


@dataclass(frozen=True, eq=False)
class Ascent:
    """Where an ascent ended.

    history (n_accepted + 1,): The score, ascending.
    converged: False if the rounds or the time ran out.
    """

    state: State
    history: Array
    n_fits: int
    converged: bool


def ascend(
    state: State,
    problems: Problems,
    bounds: Array,
    *,
    max_rounds: int,
    tolerance: float,
) -> Ascent:
    """Climb and fit in turn, and fit afresh in the end.

    Shapes: bounds (p, 2).
    """
    history, n_fits = [state.score], 0
    converged = state.is_flat and problems.time_left != 0.0
    for _ in range(0 if state.is_flat else max_rounds):
        if problems.time_left == 0.0:
            break
        family, starts = climb(state.fits, state.family, problems, bounds)
        found = State(family, problems.fit(family, starts, roughly=True), problems.price)
        n_fits += 1
        gain = found.score - state.score
        if gain > 0 and not found.is_flat:
            state = found
            history.append(state.score)
        if gain < tolerance:
            converged = True
            break
    if history[1:] and problems.time_left != 0.0:
        # Columns that came along from other widths may be in the way of better ones.
        fresh = State(state.family, problems.fit(state.family, roughly=True), problems.price)
        n_fits += 1
        if fresh.score > state.score and not fresh.is_flat:
            state = fresh
            history.append(state.score)
    return Ascent(state, np.array(history), n_fits, converged)


def walk(
    family: Family, problems: Problems, thetas: Array, starts: Fits | None = None
) -> list[State]:
    """Fit at each theta, in order, each fit beginning with the one before.

    The walk ends when two fits in a row are worse than the best so far.

    Shapes: thetas (g, p).
    """
    states: list[State] = []
    best, n_worse = -np.inf, 0
    for theta in thetas:
        if states and (n_worse == _WORSE or problems.time_left == 0.0):
            break
        moved = family.moved(theta)
        starts = problems.fit(moved, starts, roughly=True)
        states.append(State(moved, starts, problems.price))
        n_worse = n_worse + 1 if states[-1].score < best else 0
        best = max(best, states[-1].score)
    return states
