r"""The search for a front of margin, training loss and test loss.

A transductive machine minimises :math:`\frac12\|w\|^2 + C \sum_i \xi_i + C^* \sum_k \xi^*_k`; the
three terms without the prices between them are three objectives. The label of an unlabelled row is
the sign of its score, so its slack is :math:`\max(0, 1 - |f(x^*_k)|)`. `search_primal` begins with
exact machines of several labellings and prices, which NSGA-II blends and stretches; `search_dual`
is the search of the source. Objectives and operators take a whole population at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from parsimon._deadline import end_after, is_late, time_left
from parsimon._typing import AnyArray, Array
from parsimon.pareto import Box, SearchResult, UniformCrossover, nondominated, nsga2
from parsimon.pareto.space import Space
from parsimon.svm._dual import Dual
from parsimon.svm._front import BlendCrossover, resumable, time_until
from parsimon.svm._labellings import (
    descend,
    evolve_labellings,
    first_labellings,
    squared_kernel_distances,
)
from parsimon.svm._transductive_problem import LabellingFit, TransductiveProblem, machine

PRIMAL_NAMES = ("margin_term", "train_loss", "test_loss")
DUAL_NAMES = ("dual_objective", "train_sum", "test_sum")


@dataclass(frozen=True, eq=False)
class PrimalObjectives:
    """Called with machines it returns their objectives and how far they miss the class ratio.

    A machine is a row of n coefficients and a bias, ``f = coefficients @ kernel + bias``.

    weights (n,): How much one unit of slack of each row counts.
    """

    problem: TransductiveProblem
    weights: Array

    def __call__(self, machines: Array) -> tuple[Array, Array]:
        scores = machines[:, :-1] @ self.problem.kernel
        margin_term = 0.5 * np.einsum("kn,kn->k", machines[:, :-1], scores)
        scores = scores + machines[:, -1:]
        known, free = self.problem.labelled, self.problem.unlabelled
        slack = np.maximum(0.0, 1.0 - self.problem.known[known] * scores[:, known])
        own = np.maximum(0.0, 1.0 - np.abs(scores[:, free]))
        values = np.column_stack(
            (margin_term, slack @ self.weights[known], own @ self.weights[free])
        )
        return values, self.violation(scores)

    def violation(self, scores: Array) -> Array:
        """Return the share of unlabelled rows that would have to change sides, shape (k,)."""
        n = self.problem.n_unlabelled
        n_positive = np.count_nonzero(scores[:, self.problem.unlabelled] > 0, axis=1)
        missing = np.maximum(self.problem.fewest - n_positive, n_positive - self.problem.most)
        return np.maximum(missing, 0) / max(n, 1)


@dataclass(frozen=True, eq=False)
class DualObjectives:
    r"""The objectives as they are printed, all to be maximised.

    The dual function of all rows, :math:`\sum \alpha_i` of the labelled and :math:`\sum \alpha^*_k`
    of the unlabelled ones (Mierswa 2009, corollary 5.2). The first rewards labels with a *small*
    margin, see `parsimon.svm._labelling_search`; the others are no losses. A row of variables is
    :math:`\alpha` for labelled rows and :math:`\alpha^* y^*` for the others.
    """

    problem: TransductiveProblem

    def __call__(self, variables: Array) -> Array:
        signed = self.signed(variables)
        sizes = np.abs(variables)
        quadratic = np.einsum("kn,kn->k", signed, signed @ self.problem.kernel)
        dual = sizes.sum(axis=1) - 0.5 * quadratic
        return np.column_stack(
            (
                dual,
                sizes[:, self.problem.labelled].sum(axis=1),
                sizes[:, self.problem.unlabelled].sum(axis=1),
            )
        )

    def signed(self, variables: Array) -> Array:
        """Return multipliers times labels, the coefficients of the machines, shape (k, n)."""
        return variables * np.where(self.problem.known == 0, 1.0, self.problem.known)


@dataclass(frozen=True)
class ScaleMutation:
    """Stretch or shrink a machine, and move its bias.

    Stretching trades margin for both losses along the ray of one boundary; the bias moves the
    boundary.

    spread: Standard deviation of the logarithm of the factor.
    shift: Standard deviation of the change of the bias, the last variable, in one child of two.
    """

    spread: float = 0.3
    shift: float = 0.1

    def __call__(
        self,
        parents: AnyArray,
        space: Space,  # noqa: ARG002 - an operator takes what all operators take
        rng: np.random.Generator,
    ) -> AnyArray:
        children = parents * np.exp(self.spread * rng.standard_normal((len(parents), 1)))
        moved = rng.random(len(parents)) < 0.5
        children[:, -1] += np.where(moved, self.shift * rng.standard_normal(len(parents)), 0.0)
        return children


@dataclass(frozen=True)
class SignedSparsityMutation:
    """Switch each variable off, on to a uniform value, or to the other sign where it has two.

    The printed operator on multipliers (Mierswa 2009, figure 3.1), and a flip of labels with the
    same probability of 1 / n.
    """

    def __call__(self, parents: AnyArray, space: Space, rng: np.random.Generator) -> AnyArray:
        rate = 1.0 / parents.shape[1]
        switched, flipped = rng.random((2, *parents.shape)) < rate
        drawn = space.sample(len(parents), rng)
        children = np.where(switched, np.where(parents != 0.0, 0.0, drawn), parents)
        return np.where(flipped & (space.lower < 0), 0.0 - children, children)


# Prices of slack and how much of it unlabelled rows pay, around those that the user gave.
_PRICES = (0.01, 0.1, 1.0, 10.0, 100.0)
_SHARES = (0.0, 0.1, 1.0, 10.0)
_MOST_LABELLINGS = 4
_GENERATIONS = 5


def exact_machines(
    problem: TransductiveProblem, fits: Sequence[LabellingFit], *, deadline: float | None = None
) -> Array:
    """Return machines of several labellings, each at several prices of both losses.

    At price zero for unlabelled rows the machines are those of an ordinary support vector machine.
    Both constants are there as well.

    Shape: (k, n + 1).
    """
    n = len(problem.known)
    made = [np.append(np.zeros(n), bias) for bias in (-1.0, 1.0)]
    seen = {row.tobytes() for row in made}
    for fit in fits:
        signs = problem.signs(fit.labels)
        for share, price in product(_SHARES, _PRICES):
            upper = price * problem.upper
            upper[problem.unlabelled] *= share
            row = _machine(problem.kernel, signs, upper)
            if row.tobytes() not in seen:
                seen.add(row.tobytes())
                made.append(row)
        # Never earlier: the plain machines may break the class ratio, and some must keep it.
        if is_late(deadline):
            break
    return np.array(made)


def _machine(kernel: Array, signs: Array, upper: Array) -> Array:
    rows = np.flatnonzero(upper > 0)
    made = np.zeros(len(signs) + 1)
    if len(rows):
        found = machine(kernel[np.ix_(rows, rows)], signs[rows], upper[rows])
        made[rows], made[-1] = found.alpha * signs[rows], found.bias
    return made


def good_labellings(
    problem: TransductiveProblem, rng: np.random.Generator, deadline: float | None = None
) -> list[LabellingFit]:
    """Return distinct labellings: the best of a short evolution, and guesses; good ones first."""
    if problem.n_unlabelled == 0:
        return [problem.fit(np.zeros(0))]
    found = [evolve_labellings(problem, max_iter=_GENERATIONS, rng=rng, deadline=deadline).fit]
    distances = squared_kernel_distances(problem.kernel)
    for labels, _ in first_labellings(problem, distances):
        if len(found) >= _MOST_LABELLINGS or is_late(deadline):
            break
        found.append(descend(problem, labels, deadline=deadline))
    unique = {fit.labels.tobytes(): fit for fit in reversed(found)}
    return sorted(unique.values(), key=lambda fit: fit.objective)


def search_primal(
    problem: TransductiveProblem,
    weights: Array,
    seed: np.random.SeedSequence | None,
    *,
    population_size: int,
    deadline: float | None = None,
    **options: Any,
) -> SearchResult:
    """Return machines (coefficients and bias) on the front of margin and both losses.

    Exact machines of several labellings and prices come first; blends and stretched copies of
    them fill the front. All exact machines that keep the class ratio are returned, too, so that a
    small population does not lose them; some of the solutions may therefore be dominated.

    Shapes: weights (n,); solutions (k, n + 1).

    options: As in `parsimon.pareto.nsga2`.
    """
    # The exact machines must be the same when a search resumes, seeded or not.
    first, second = (np.random.SeedSequence(0), None) if seed is None else seed.spawn(2)
    rng = np.random.default_rng(first)
    # Half of the time for labellings, so that machines at several prices follow.
    halfway = end_after(time_left(deadline, 0.5))
    fits = good_labellings(problem, rng, halfway)
    # What began with fewer labellings is no run that another one could take up.
    last = halfway if is_late(halfway) else deadline
    machines = exact_machines(problem, fits, deadline=deadline)
    evaluate = PrimalObjectives(problem, weights)
    start = _fill_population(machines, evaluate, population_size, rng)
    result = nsga2(
        evaluate,
        Box(-np.inf, np.inf, n_variables=len(problem.known) + 1),
        start=start,
        population_size=population_size,
        names=PRIMAL_NAMES,
        crossover=BlendCrossover(),
        mutation=ScaleMutation(),
        time_limit=time_until(deadline),
        random_state=second,
        **resumable(options, last),
    )
    values, violation = evaluate(machines)
    kept = violation <= (0.0 if result.is_feasible else -1.0)
    return replace(
        result,
        solutions=np.concatenate((result.solutions, machines[kept])),
        values=np.concatenate((result.values, values[kept])),
        violation=np.concatenate((result.violation, violation[kept])),
    )


def search_dual(
    problem: TransductiveProblem,
    seed: np.random.SeedSequence | None,
    *,
    deadline: float | None = None,
    **options: Any,
) -> SearchResult:
    """Return machines on the front of the printed objectives, from a uniform start.

    Shapes: solutions (k, n + 1).

    options: As in `parsimon.pareto.nsga2`.
    """
    lower = np.where(problem.known == 0, -problem.upper, 0.0)
    result = nsga2(
        DualObjectives(problem),
        Box(lower, problem.upper),
        names=DUAL_NAMES,
        maximise=DUAL_NAMES,
        crossover=UniformCrossover(),
        mutation=SignedSparsityMutation(),
        time_limit=time_until(deadline),
        random_state=seed,
        **options,
    )
    return replace(result, solutions=primal_machines(problem, result.solutions))


def primal_machines(problem: TransductiveProblem, variables: Array) -> Array:
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


def _fill_population(
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
