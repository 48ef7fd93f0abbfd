"""Local searches over labellings: better labels for given scores, new scores for given labels.

`descend` alternates between both until neither helps. `annealed` does so while the unlabelled
rows slowly gain weight, `greedy` is Joachims' solver: one pair of labels at a time.
"""

import time
from collections.abc import Iterator

import numpy as np

from parsimon._typing import Array
from parsimon.svm.transduction.problem import Fit, Problem, machine

# Relative differences of objectives below this are rounding, or the tolerance of the inner solver.
IMPROVEMENT = 1e-7
_MOST_STEPS = 200
_HALVINGS = 10
# How many rows nearest to the boundary, on each side, `polish` tries to move.
_DOUBTFUL = 6
# Joachims' first cost of unlabelled rows, as a share of the last.
_FIRST_SHARE = 1e-5


def is_late(deadline: float | None) -> bool:
    """Return whether the deadline has passed."""
    return deadline is not None and time.monotonic() >= deadline


def is_better(objective: float, other: float) -> bool:
    """Return whether an objective is lower by more than rounding."""
    return objective < other - IMPROVEMENT * max(1.0, abs(other))


def descend(problem: Problem, labels: Array, *, deadline: float | None = None) -> Fit:
    """Return a labelling that no relabelling by its own scores improves.

    Both steps lower the primal objective: the labels are the best for the scores (all rows at
    once, not one pair), the scores the best for the labels.
    """
    fit = problem.fit(labels)
    for _ in range(_MOST_STEPS):
        relabelled = problem.relabelled(fit.scores)
        if np.array_equal(relabelled, fit.labels) or is_late(deadline):
            break
        following = problem.fit(relabelled, start=warm(fit, relabelled, problem))
        if not is_better(following.objective, fit.objective):
            break
        fit = following
    return fit


def warm(fit: Fit, labels: Array, problem: Problem) -> Array:
    """Return multipliers from which to begin for other labels: a row that changed has none."""
    start = fit.solution.alpha.copy()
    start[problem.unlabelled[fit.labels != labels]] = 0.0
    return start


def polish(problem: Problem, fit: Fit, *, deadline: float | None = None) -> Fit:
    """Return a labelling that no flip and no swap of rows near the boundary improves.

    Unlike `descend`, which trusts the scores of the present machine, every change is judged by
    the exact optimum of its own machine.
    """
    improved = True
    while improved:
        improved = False
        for labels in _neighbours(problem, fit):
            if is_late(deadline):
                return fit
            start = warm(fit, labels, problem)
            following = problem.fit(labels, start=start)
            if is_better(following.objective, fit.objective):
                fit, improved = following, True
                break
    return fit


def _neighbours(problem: Problem, fit: Fit) -> Iterator[Array]:
    """Yield labellings with one doubtful row flipped, or one of each side exchanged."""
    doubt = np.argsort(fit.labels * fit.scores[problem.unlabelled], kind="stable")
    positive = [row for row in doubt if fit.labels[row] > 0][:_DOUBTFUL]
    negative = [row for row in doubt if fit.labels[row] < 0][:_DOUBTFUL]
    n_positive = int(np.count_nonzero(fit.labels > 0))
    lowered = [[row] for row in positive if n_positive > problem.fewest]
    raised = [[row] for row in negative if n_positive < problem.most]
    for rows in lowered + raised + [[a, b] for a in positive for b in negative]:
        labels = fit.labels.copy()
        labels[rows] *= -1.0
        yield labels


def annealed(problem: Problem, labels: Array, *, deadline: float | None = None) -> Fit:
    """Return where `descend` leads while the cost of the unlabelled rows doubles to its value."""
    upper = problem.upper.copy()
    for halvings in range(_HALVINGS, 0, -1):
        upper[problem.unlabelled] = problem.upper[problem.unlabelled] * 0.5**halvings
        labels = descend(problem.with_upper(upper), labels, deadline=deadline).labels
    return descend(problem, labels, deadline=deadline)


def greedy(problem: Problem, count: int, *, deadline: float | None = None) -> tuple[Fit, int]:
    """Return Joachims' labelling with `count` positives, and how many machines were fitted.

    The machine of the labelled rows ranks the others. Their cost then doubles from 1e-5 of its
    value, of positives and negatives in inverse proportion to their numbers; at each cost the
    positive and the negative row that are most on the wrong side change labels, as long as their
    slacks add up to more than 2 (each swap then lowers the objective).

    Joachims (1999), Transductive inference for text classification using support vector machines,
    ICML, 200-209.
    """
    labels = problem.ranked(inductive_scores(problem)[problem.unlabelled], count)
    n_negative = max(problem.n_unlabelled - count, 1)
    share = np.array([1.0, max(count, 1) / n_negative]) * _FIRST_SHARE
    n_fits = 1
    while True:
        share = np.minimum(share, 1.0)
        for _ in range(10 * problem.n_unlabelled):
            upper = problem.upper.copy()
            upper[problem.unlabelled] *= np.where(labels > 0, share[1], share[0])
            fit, n_fits = problem.with_upper(upper).fit(labels), n_fits + 1
            swapped = _swapped(problem, fit)
            if swapped is None or is_late(deadline):
                break
            labels = swapped
        if (share == 1.0).all() or is_late(deadline):
            return problem.fit(labels), n_fits
        share = share * 2.0


def inductive_scores(problem: Problem) -> Array:
    """Return the scores, at all rows, of the machine of the labelled rows alone, shape (n,)."""
    rows = problem.labelled
    signs = problem.known[rows]
    found = machine(problem.kernel[np.ix_(rows, rows)], signs, problem.upper[rows])
    scores: Array = problem.kernel[:, rows] @ (found.alpha * signs) + found.bias
    return scores


def _swapped(problem: Problem, fit: Fit) -> Array | None:
    """Return the labels after exchanging the worst positive and the worst negative, if it helps."""
    slack = np.maximum(0.0, 1.0 - fit.labels * fit.scores[problem.unlabelled])
    positive, negative = fit.labels > 0, fit.labels < 0
    if not positive.any() or not negative.any():
        return None
    first = int(np.argmax(np.where(positive, slack, -1.0)))
    second = int(np.argmax(np.where(negative, slack, -1.0)))
    if min(slack[first], slack[second]) <= 0 or slack[first] + slack[second] <= 2.0 + 1e-6:
        return None
    swapped = fit.labels.copy()
    swapped[first], swapped[second] = -1.0, 1.0
    return swapped
