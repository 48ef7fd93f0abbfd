"""The algorithm before YAGGA2: what it switches off may come back, and it finds what it can."""

import numpy as np
from benchmarks.reproduce._mierswa_6_original import OriginalConstructor, OriginalEvolution

from parsimon.features.feature_sets import FeatureProblem

RNG = np.random.default_rng(8)
X = RNG.uniform(-2, 2, (150, 3))
Y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + RNG.normal(0, 0.1, 150)


def test_what_the_original_algorithm_switches_off_may_come_back():
    problem = FeatureProblem(["a", "b", "c"], X, Y, 0, rng=np.random.default_rng(0))
    evolution = OriginalEvolution(problem, ("*", "+"), 4, list)
    rng = np.random.default_rng(0)
    parent, came_back = evolution.mutate(problem.originals, rng), False
    for _ in range(100):
        child = evolution.mutate(parent, rng)
        everything = {*child, *child.dormant}
        assert {*parent, *parent.dormant} <= everything
        assert len(everything) == len(child) + len(child.dormant)
        came_back |= bool(set(parent.dormant) & set(child))
        parent = child
    assert came_back


def test_the_original_algorithm_is_a_constructor_like_others():
    search = OriginalConstructor(
        start="columns", max_iter=40, population_size=12, random_state=0
    ).fit(X, Y)
    assert search.score(X, Y) > 0.3
    again = OriginalConstructor(
        start="columns", max_iter=40, population_size=12, random_state=0
    ).fit(X, Y)
    assert again.formula_ == search.formula_
