"""A small table, and cases of given weights."""

import numpy as np

from parsimon.features import Case

NAMES = ("x0", "x1", "x2")


def case_of(weights, formulas=(), names=NAMES, centre=0.0, spread=1.0, title=""):
    named = dict(zip(names, map(float, weights), strict=True))
    return Case(named, dict.fromkeys(names, centre), dict.fromkeys(names, spread), formulas, title)


def table(n=200, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X.flags.writeable = False
    return X


def relevant_task(n=3000):
    X = np.random.default_rng(1).normal(size=(n, 3))
    return X, 2 * X[:, 0] + np.sin(X[:, 1]) + 0.5 * X[:, 2]
