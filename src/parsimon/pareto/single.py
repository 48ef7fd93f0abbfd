"""What searches for one objective share: who is better, and how the best is told."""

from typing import Any

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.pareto.evaluation_pool import Evaluated
from parsimon.pareto.search import Best, State


def better_first(values: Array, violation: Array) -> Indices:
    """Return the rows from best to worst: by violation, then by value, then by place.

    Shapes: values (n, 1), violation (n,).
    """
    return np.lexsort((values[:, 0], violation))


def is_better(first: Evaluated, second: Evaluated) -> Any:
    """Return, row by row, whether the first is better than the second."""
    return (first.violation < second.violation) | (
        (first.violation == second.violation) & (first.values[:, 0] < second.values[:, 0])
    )


def one_objective(evaluated: Evaluated) -> Evaluated:
    """Return what was given, refusing several objectives."""
    if evaluated.values.shape[1] != 1:
        raise InvalidInputError(
            f"This search has one objective, evaluate returned {evaluated.values.shape[1]}. "
            "Use nsga2 for several."
        )
    return evaluated


def best_row(state: State) -> Best:
    """Return the best solution of a population."""
    row = better_first(state.values, state.violation)[:1]
    return Best(state.population[row], state.values[row], state.violation[row])


def best_summary(best: Best) -> tuple[int, Array]:
    """Return one and the best value, or zero and NaN if it breaks its constraints."""
    return (0, np.full(1, np.nan)) if best.violation[0] > 0 else (1, best.values[0])


def best_mark(best: Best) -> Array:
    """Return value and violation of the best, as `has_improved` reads them."""
    return np.column_stack((best.values, best.violation))
