"""What a search returns: solutions, their values, and how the run went."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import EmptyFrontError
from parsimon.pareto.directions import Directions

if TYPE_CHECKING:
    from parsimon.pareto.front import Front


@dataclass(frozen=True, eq=False)
class History:
    """One entry for each generation, the first population being entry 0.

    n_evaluations (n_iter + 1,): Solutions evaluated so far.
    n_solutions (n_iter + 1,): Size of the front of the population; 0 while none keeps its
        constraints.
    best (n_iter + 1, m): The best value of each objective on that front; NaN while there is
        none.
    """

    n_evaluations: Indices
    n_solutions: Indices
    best: Array

    def __len__(self) -> int:
        return len(self.n_evaluations)


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The outcome of a search, or its present state when given to a callback.

    Attributes
    ----------
    solutions : ndarray of shape (k, n_variables)
        The best found: the distinct non-dominated solutions of `nsga2`, or the single best one.
        They keep the constraints unless nothing does; then they break them least.
    values : ndarray of shape (k, m)
        Their objectives, as the user's function returned them.
    violation : ndarray of shape (k,)
        By how much each breaks its constraints, 0 if it keeps them.
    population : ndarray of shape (n, n_variables)
        The last population, fit to be the `start` of another search.
    directions : Directions
        Names of the objectives and which of them are maximised.
    n_iter : int
        Generations after the first population.
    n_evaluations : int
        Solutions evaluated.
    stopped_by : {"max_iter", "time_limit", "stall", "interrupt", "callback", "running"}
        Why the run ended; "running" in what a callback gets.
    history : History

    Examples
    --------
    >>> from parsimon.pareto.nsga2 import nsga2
    >>> from parsimon.pareto.space import Box
    >>> result = nsga2(lambda x: np.hstack((x**2, (x - 1) ** 2)), Box(-5, 5, n_variables=1),
    ...                population_size=20, max_iter=20, random_state=0)
    >>> result
    SearchResult: 20 solutions after 20 generations (420 evaluations), stopped by max_iter
    >>> bool(((result.solutions > -0.1) & (result.solutions < 1.1)).all())
    True
    """

    solutions: AnyArray
    values: Array
    violation: Array
    population: AnyArray
    directions: Directions
    n_iter: int
    n_evaluations: int
    stopped_by: str
    history: History

    def __repr__(self) -> str:
        count = f"{len(self.solutions)} solution{'s' if len(self.solutions) != 1 else ''}"
        return (
            f"SearchResult: {count} after {self.n_iter} generations "
            f"({self.n_evaluations} evaluations), stopped by {self.stopped_by}"
        )

    @property
    def is_feasible(self) -> bool:
        """Whether the solutions keep their constraints."""
        return bool((self.violation <= 0).all())

    @property
    def front(self) -> "Front":
        """The solutions as a `Front`."""
        from parsimon.pareto.front import Front

        if not self.is_feasible:
            raise EmptyFrontError(
                "No solution keeps its constraints; the least violation found is "
                f"{self.violation.min():.3g}. Search longer or relax the constraints."
            )
        return Front(
            self.values,
            self.directions.names,
            maximise=self.directions.maximised,
            solutions=tuple(self.solutions),
        )

    @property
    def solution(self) -> AnyArray:
        """The first solution: for one objective, the best."""
        first: AnyArray = self.solutions[0]
        return first

    @property
    def value(self) -> float:
        """The first objective of the first solution: for one objective, the best value."""
        return float(self.values[0, 0])


def history_of(trail: Array, sign: Array) -> History:
    """Return the history from rows of (n_evaluations, n_solutions, minimised best values)."""
    return History(trail[:, 0].astype(np.intp), trail[:, 1].astype(np.intp), trail[:, 2:] * sign)
