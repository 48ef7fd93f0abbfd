"""The search for a front of margin, training loss and test loss, and what it found."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import (
    Box,
    Checkpoint,
    Front,
    SearchResult,
    UniformCrossover,
    nondominated,
    nsga2,
)
from parsimon.pareto import choose as choose_from_front
from parsimon.pareto.rules import Rule
from parsimon.svm.dual import Dual
from parsimon.svm.transduction.objectives import (
    DUAL_NAMES,
    PRIMAL_NAMES,
    DualObjectives,
    PrimalObjectives,
)
from parsimon.svm.transduction.operators import (
    BlendCrossover,
    ScaleMutation,
    SignedSparsityMutation,
)
from parsimon.svm.transduction.problem import Problem
from parsimon.svm.transduction.seeds import exact_machines


@dataclass(frozen=True)
class FrontSearch:
    """How to search for a front, with the meanings of `parsimon.pareto.nsga2`."""

    population_size: int
    max_iter: int
    time_limit: float | None = None
    callback: Callable[[SearchResult], Any] | None = None
    checkpoint: Checkpoint | str | Path | None = None
    verbose: bool = False


class Searched(NamedTuple):
    """What a search found.

    machines (k, n + 1): Coefficients and bias.
    values (k, 3): Their objectives; some may be dominated.
    """

    result: SearchResult
    machines: Array
    values: Array


def search_primal(
    problem: Problem,
    weights: Array,
    how: FrontSearch,
    seed: np.random.SeedSequence,
    *,
    deadline: float | None = None,
) -> Searched:
    """Return machines (coefficients and bias) on the front of margin and both losses.

    Exact machines of several labellings and prices come first; blends and stretched copies of
    them fill the front. All exact machines that keep the class ratio are returned, too, so that a
    small population does not lose them.

    Shapes: weights (n,).
    """
    first, second = seed.spawn(2)
    rng = np.random.default_rng(first)
    machines = exact_machines(problem, rng, deadline=deadline)
    evaluate = PrimalObjectives(problem, weights)
    start = _filled(machines, evaluate, how.population_size, rng)
    result = nsga2(
        evaluate,
        Box(-np.inf, np.inf, n_variables=len(problem.known) + 1),
        start=start,
        names=PRIMAL_NAMES,
        crossover=BlendCrossover(),
        mutation=ScaleMutation(),
        random_state=second,
        **_common(how),
    )
    values, violation = evaluate(machines)
    kept = violation <= (0.0 if result.is_feasible else -1.0)
    return Searched(
        result,
        np.concatenate((result.solutions, machines[kept])),
        np.concatenate((result.values, values[kept])),
    )


def search_dual(problem: Problem, how: FrontSearch, seed: np.random.SeedSequence) -> Searched:
    """Return multipliers on the front of the printed objectives, from a uniform start."""
    lower = np.where(problem.known == 0, -problem.upper, 0.0)
    result = nsga2(
        DualObjectives(problem),
        Box(lower, problem.upper),
        names=DUAL_NAMES,
        maximise=DUAL_NAMES,
        crossover=UniformCrossover(),
        mutation=SignedSparsityMutation(),
        random_state=seed,
        **_common(how),
    )
    return Searched(result, primal_machines(problem, result.solutions), result.values)


def primal_machines(problem: Problem, variables: Array) -> Array:
    """Return coefficients and bias, shape (k, n + 1), of rows of printed variables.

    Multipliers say nothing of the bias; it is that of `Dual.bias` for the labels that the rows
    have, without the equality constraint.
    """
    signed = DualObjectives(problem).signed(variables)
    made = np.zeros((len(signed), signed.shape[1] + 1))
    made[:, :-1] = signed
    for row, own in zip(made, signed, strict=True):
        signs = np.where(own == 0, np.where(problem.known == 0, 1.0, problem.known), np.sign(own))
        # An unlabelled row without a multiplier has no label and no say in the bias.
        counted = np.flatnonzero((own != 0) | (problem.known != 0))
        kernel = problem.kernel[np.ix_(counted, counted)]
        dual = Dual(kernel, signs[counted], problem.upper[counted], equality=False)
        row[-1] = dual.bias(np.abs(own[counted])) if len(counted) else 0.0
    return made


def choose(front: Front, rule: Rule, *, C: float, C_unlabelled: float) -> int:
    """Return the index that a rule chooses.

    "penalised" takes the least ``margin_term + C * train_loss + C_unlabelled * test_loss``, the
    transductive machine at these prices, which may be given: "penalised:C=10,C_unlabelled=0.1". On
    a front of printed objectives it is the greatest dual objective. All other rules are those of
    `parsimon.pareto.choose`.
    """
    if not isinstance(rule, str) or rule.partition(":")[0].strip() != "penalised":
        return choose_from_front(front, rule)
    if front.names == DUAL_NAMES:
        return front.best(DUAL_NAMES[0])
    prices = {"C": C, "C_unlabelled": C_unlabelled, **_prices(rule.partition(":")[2])}
    totals = front.values @ np.array([1.0, prices["C"], prices["C_unlabelled"]])
    return int(np.argmin(totals))


def _prices(text: str) -> dict[str, float]:
    prices = {}
    for part in filter(str.strip, text.split(",")):
        name, _, number = (piece.strip() for piece in part.partition("="))
        try:
            prices[name] = float(number)
        except ValueError:
            prices[name] = -1.0
        if name not in {"C", "C_unlabelled"} or not 0 <= prices[name] < np.inf:
            raise InvalidInputError(
                "penalised takes prices that are not negative, as in "
                f"penalised:C=10,C_unlabelled=0.1; got {part.strip()!r}."
            )
    return prices


def _common(how: FrontSearch) -> dict[str, Any]:
    return {
        "population_size": how.population_size,
        "max_iter": how.max_iter,
        "time_limit": how.time_limit,
        "callback": how.callback,
        "checkpoint": how.checkpoint,
        "verbose": how.verbose,
    }


def _filled(
    machines: Array, evaluate: PrimalObjectives, size: int, rng: np.random.Generator
) -> Array:
    """Return as many different machines as the population has.

    Those that keep the class ratio come first, of these those that no other dominates.
    """
    values, violation = evaluate(machines)
    order = np.lexsort((rng.random(len(values)), ~nondominated(values), violation > 0))
    kept = machines[order[:size]]
    if len(kept) == size:
        return kept
    drawn = kept[(rng.random(size - len(kept)) * len(kept)).astype(np.intp)]
    more = drawn * np.exp(0.5 * rng.standard_normal((len(drawn), 1)))
    # Copies of a constant machine, all zeros, differ in their bias alone.
    more[:, -1] += 0.1 * rng.standard_normal(len(drawn))
    return np.concatenate((kept, more))
