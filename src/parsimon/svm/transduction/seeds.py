"""Exact machines with which the search for a three-sided front begins."""

import numpy as np

from parsimon._typing import Array
from parsimon.svm.transduction.descent import descend
from parsimon.svm.transduction.evolution import evolve, first_labellings
from parsimon.svm.transduction.graph import squared_kernel_distances
from parsimon.svm.transduction.problem import Fit, Problem, machine

# Prices of slack and how much of it unlabelled rows pay, around those that the user gave.
_PRICES = (0.01, 0.1, 1.0, 10.0, 100.0)
_SHARES = (0.0, 0.1, 1.0, 10.0)
_MOST_LABELLINGS = 4
_GENERATIONS = 5


def exact_machines(
    problem: Problem, rng: np.random.Generator, *, deadline: float | None = None
) -> Array:
    """Return machines of several labellings, each at several prices of both losses.

    The labellings are the best that a short evolution finds and the guesses with which it begins.
    At price zero for unlabelled rows the machines are those of an ordinary support vector machine.
    Both constants are there as well.

    Shape: (k, n + 1).
    """
    n = len(problem.known)
    made = [np.append(np.zeros(n), bias) for bias in (-1.0, 1.0)]
    seen = {row.tobytes() for row in made}
    for fit in _labellings(problem, rng, deadline):
        signs = problem.signs(fit.labels)
        for share in _SHARES:
            for price in _PRICES:
                upper = price * problem.upper
                upper[problem.unlabelled] *= share
                row = _machine(problem.kernel, signs, upper)
                if row.tobytes() not in seen:
                    seen.add(row.tobytes())
                    made.append(row)
    return np.array(made)


def _machine(kernel: Array, signs: Array, upper: Array) -> Array:
    rows = np.flatnonzero(upper > 0)
    made = np.zeros(len(signs) + 1)
    if len(rows):
        found = machine(kernel[np.ix_(rows, rows)], signs[rows], upper[rows])
        made[rows], made[-1] = found.alpha * signs[rows], found.bias
    return made


def _labellings(problem: Problem, rng: np.random.Generator, deadline: float | None) -> list[Fit]:
    """Return distinct labellings, good ones first."""
    if problem.n_unlabelled == 0:
        return [problem.fit(np.zeros(0))]
    found = [evolve(problem, max_iter=_GENERATIONS, rng=rng, deadline=deadline).fit]
    distances = squared_kernel_distances(problem.kernel)
    for labels, _ in first_labellings(problem, distances):
        if len(found) >= _MOST_LABELLINGS:
            break
        found.append(descend(problem, labels, deadline=deadline))
    unique = {fit.labels.tobytes(): fit for fit in reversed(found)}
    return sorted(unique.values(), key=lambda fit: fit.objective)
