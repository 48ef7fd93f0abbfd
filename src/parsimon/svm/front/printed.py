r"""The dual objectives as the source prints them, and what is wrong with them.

Corollary 3.1 of Mierswa (2009) maximises, over :math:`\alpha \ge 0`,

.. math:: (I)\ -\alpha^T Q \alpha, \quad (II)\ \sum \alpha_i, \quad (III)\ -|\sum \alpha_i y_i|.

This is no trade-off between margin and error. Multiplying :math:`\alpha` by s multiplies (II) by s
and (I) by its square, so at a given sum s the best (I) is :math:`-s^2 \min_{p} p^T Q p` over the
probability vectors p: all Pareto-optimal solutions are multiples of one vector, one and the same
hard-margin classifier without bias. With a bound A on each variable the exact front is the path
of the nu-SVM, :math:`\nu = s / (n A)`: its end at small sums is the hard margin and its end at
large sums, where all variables are equal, a Parzen classifier, the reverse of the source's
reading. What the source plots as overfitting control are individuals begun at zero that have not
converged: the more generations, the more support vectors they have.
"""

import time
from typing import Any

import numpy as np

from parsimon._random import Seed
from parsimon._typing import Array
from parsimon.pareto import Box, HybridMutation, SearchResult, UniformCrossover, nsga2
from parsimon.svm.front.losses import Training

NAMES = ("quadratic", "linear", "balance")
# Generations and population of the source (Mierswa 2009, section 3.2.4).
PRINTED_GENERATIONS = 1000
PRINTED_POPULATION = 100


def dual_objectives(training: Training, alpha: Array, *, balance: bool = False) -> Array:
    """Return the printed objectives of rows of dual variables, all to be maximised.

    Shapes: alpha (k, n) -> (k, 2).
    """
    signed = alpha * training.signs
    quadratic = -np.einsum("kn,kn->k", signed @ training.kernel, signed)
    columns = [quadratic, alpha.sum(axis=1)]
    if balance:
        columns.append(-np.abs(signed.sum(axis=1)))
    return np.column_stack(columns)


def evolve_printed(
    training: Training,
    *,
    n_points: int = PRINTED_POPULATION,
    max_iter: int = PRINTED_GENERATIONS,
    balance: bool = False,
    normalise_crowding: bool = True,
    deadline: float | None = None,
    random_state: Seed = None,
    **run_options: Any,
) -> SearchResult:
    """Search for the front of the printed objectives as the source does.

    All individuals begin at zero; uniform crossover (0.9) and hybrid mutation; NSGA-II. Each
    variable is at most the weight of its row: another bound only rescales both axes.
    """
    if deadline is not None:
        run_options["time_limit"] = max(deadline - time.monotonic(), 0.001)
    evaluate = _Printed(training, balance)
    n = len(training.signs)
    return nsga2(
        evaluate,
        Box(0.0, training.weights),
        start=np.zeros((n_points, n)),
        population_size=n_points,
        max_iter=max_iter,
        crossover=UniformCrossover(rate=0.9),
        mutation=HybridMutation(),
        mating="random",
        offspring="crossed_and_mutated",
        normalise_crowding=normalise_crowding,
        names=NAMES[: 3 if balance else 2],
        maximise=True,
        chunk_size=3 * n_points,
        random_state=random_state,
        **run_options,
    )


class _Printed:
    """The objectives as a function of a population, with a name that a checkpoint knows."""

    def __init__(self, training: Training, balance: bool) -> None:
        self.training, self.balance = training, balance

    def __call__(self, alpha: Array) -> Array:
        return dual_objectives(self.training, alpha, balance=self.balance)
