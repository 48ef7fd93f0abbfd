"""Evaluating populations: in equal pieces, here or in workers, with the same bits either way.

A population is always cut into the same pieces, whatever the number of workers, and BLAS runs on
one thread in all of them: a matrix product of another shape, or one split among other threads,
may round differently.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from parsimon._checks import check_count
from parsimon._deadline import Deadline
from parsimon._parallel import Workers
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.pareto.run import OutOfTime

Evaluate = Callable[..., Any]
Seeds = list[np.random.SeedSequence]


class Evaluated(NamedTuple):
    """Objective values, shape (n, m), and violations, shape (n,).

    A row whose values or violation are not finite failed: its violation is infinite and its
    values are too, so that it ranks behind every other row.
    """

    values: Array
    violation: Array


class EvaluationPool(Workers):
    """Calls the user's function on pieces of populations; a context that keeps its workers.

    evaluate: ``evaluate(rows)``, or ``evaluate(rows, seeds)`` if `stochastic`.
    n_jobs: As in joblib; 1 works in this process without it.
    chunk_size: Most rows in one call.
    stochastic: Whether the function needs chance.
    seed: Set by the run; each row of each generation gets its own child.
    """

    seed: np.random.SeedSequence

    def __init__(
        self,
        evaluate: Evaluate,
        *,
        n_jobs: int | None = 1,
        chunk_size: int = 50,
        stochastic: bool = False,
    ) -> None:
        if not callable(evaluate):
            raise InvalidInputError(f"evaluate must be callable, got {type(evaluate).__name__}.")
        self.evaluate, self.stochastic = evaluate, stochastic
        self.chunk_size = check_count("chunk_size", chunk_size)
        super().__init__(n_jobs)

    def __call__(
        self, population: AnyArray, *, n_iter: int, deadline: Deadline = None
    ) -> Evaluated:
        """Return the values of a population, shape (n, n_variables), of generation `n_iter`."""
        n = len(population)
        bounds = list(pairwise(_chunk_bounds(n, self.chunk_size)))
        calls = (
            (self.evaluate, population[i:j], self._seeds(n_iter, i, j), n_iter, i)
            for i, j in bounds
        )
        results = list(self.map(evaluate_chunk, calls, deadline=deadline))
        if len(results) < len(bounds):
            raise OutOfTime
        pieces = [_checked(result, j - i) for result, (i, j) in zip(results, bounds, strict=True)]
        if len(pieces) == 1:
            return pieces[0]
        if len({piece.values.shape[1] for piece in pieces}) > 1:
            raise InvalidInputError("evaluate must return equally many objectives for every row.")
        return Evaluated(
            np.concatenate([piece.values for piece in pieces]),
            np.concatenate([piece.violation for piece in pieces]),
        )

    def _seeds(self, n_iter: int, i: int, j: int) -> Seeds | None:
        if not self.stochastic:
            return None
        key = (*self.seed.spawn_key, 1, n_iter)
        return [
            np.random.SeedSequence(self.seed.entropy, spawn_key=(*key, row)) for row in range(i, j)
        ]


def evaluate_chunk(
    evaluate: Evaluate, rows: AnyArray, seeds: Seeds | None, n_iter: int, start: int
) -> Any:
    """Call the user's function; an error says which rows it came from."""
    # A copy, so that a function that writes to its rows cannot change the population.
    own = np.array(rows)
    try:
        return evaluate(own) if seeds is None else evaluate(own, seeds)
    except Exception as error:
        error.add_note(
            f"While evaluating rows {start} to {start + len(rows) - 1} of generation {n_iter}."
        )
        raise


def _chunk_bounds(n: int, size: int) -> list[int]:
    count = -(-n // size)
    return [n * i // count for i in range(count + 1)]


def _checked(result: Any, n: int) -> Evaluated:
    given, broken = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
    values = _floats(given, "values")
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or len(values) != n or values.shape[1] == 0:
        raise InvalidInputError(
            f"evaluate got {n} rows and must return values of shape ({n}, n_objectives), "
            f"returned shape {np.shape(given)}."
        )
    violation = np.zeros(n) if broken is None else _violation(broken, n)
    finite = np.isfinite(values)
    if broken is None and finite.all():
        return Evaluated(values, violation)
    fine = finite.all(axis=1) & np.isfinite(violation)
    values[~fine] = violation[~fine] = np.inf
    return Evaluated(values, violation)


def _violation(broken: Any, n: int) -> Array:
    given = _floats(broken, "violations")
    if given.shape[:1] != (n,) or given.ndim > 2:
        raise InvalidInputError(
            f"evaluate got {n} rows and must return violations of shape ({n},) or "
            f"({n}, n_constraints), returned shape {given.shape}."
        )
    excess = np.maximum(given, 0.0)  # NaN stays NaN, and the row has failed
    return excess if excess.ndim == 1 else excess.sum(axis=1)


def _floats(given: Any, what: str) -> Array:
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"evaluate must return {what} as numbers: {error}.") from error
