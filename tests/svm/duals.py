"""Duals to solve: random ones, and the highest point of small ones by enumeration."""

from itertools import product

import numpy as np

from parsimon.svm._dual import Dual


def random_dual(seed, *, n=12, indefinite=False, equality=True, linear=False, C=2.0):
    """Return a dual with uneven bounds; of an indefinite kernel half the spectrum is negative."""
    rng = np.random.default_rng(seed)
    if indefinite:
        square = rng.normal(size=(n, n))
        kernel = 0.5 * (square + square.T)
    else:
        rows = rng.normal(size=(n, 3))
        kernel = np.exp(-((rows[:, None] - rows[None]) ** 2).sum(axis=-1))
    signs = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    upper = C * rng.uniform(0.5, 1.5, size=n)
    return Dual(kernel, signs, upper, equality, rng.normal(size=n) if linear else None)


def highest_value(dual):
    """Return the maximum of a small dual: the best of the stationary points of all faces."""
    n = len(dual)
    Q = dual.kernel * np.outer(dual.signs, dual.signs)
    p = np.ones(n) if dual.linear is None else dual.linear
    best = -np.inf
    for places in product((0, 1, 2), repeat=n):
        states = np.array(places)
        alpha = np.where(states == 1, dual.upper, 0.0)
        free = np.flatnonzero(states == 2)
        if len(free):
            size = len(free) + dual.equality
            system, right = np.zeros((size, size)), np.zeros(size)
            system[: len(free), : len(free)] = Q[np.ix_(free, free)]
            right[: len(free)] = p[free] - Q[free] @ alpha
            if dual.equality:
                system[-1, :-1] = system[:-1, -1] = dual.signs[free]
                right[-1] = -dual.signs @ alpha
            try:
                alpha[free] = np.linalg.solve(system, right)[: len(free)]
            except np.linalg.LinAlgError:
                continue
        inside = (alpha >= -1e-9).all() and (alpha <= dual.upper + 1e-9).all()
        balanced = not dual.equality or abs(dual.signs @ alpha) < 1e-9
        if inside and balanced:
            best = max(best, float(dual.objective(alpha)))
    return best


def dual_gradient(dual, alpha):
    """Return the derivatives of the objective of a dual, of the shape of `alpha`."""
    return dual.signs * (dual.slope - (alpha * dual.signs) @ dual.kernel)


def repaired_similarities(repair, K_new):
    """Return the similarities of new rows, shape (m, n), in the repaired geometry."""
    return K_new if repair.map is None else K_new @ repair.map
