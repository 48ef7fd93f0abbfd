"""Test problems with known answers, all minimised unless said otherwise."""

import numpy as np

from parsimon.pareto._evaluation_pool import EvaluationPool
from parsimon.pareto.nsga2 import NSGA2
from parsimon.pareto.run import SearchOptions
from parsimon.pareto.search import search_generations
from parsimon.pareto.variation import default_crossover, default_mutation


def zdt1(x):
    """Return the two objectives of ZDT1 on [0, 1]^n; its front is f2 = 1 - sqrt(f1)."""
    g = 1 + 9 * x[:, 1:].mean(axis=1)
    return np.column_stack((x[:, 0], g * (1 - np.sqrt(x[:, 0] / g))))


def dtlz2(x):
    """Return three objectives whose front is the unit sphere's positive part."""
    radius = 1 + ((x[:, 2:] - 0.5) ** 2).sum(axis=1)
    a, b = x[:, 0] * np.pi / 2, x[:, 1] * np.pi / 2
    parts = (np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a))
    return radius[:, None] * np.column_stack(parts)


def leading_and_trailing(bits):
    """Count leading ones and trailing zeros, both maximised: the front is (k, n - k)."""
    leading = np.cumprod(bits, axis=1).sum(axis=1)
    trailing = np.cumprod(~bits[:, ::-1], axis=1).sum(axis=1)
    return np.column_stack((leading, trailing))


def binh_and_korn(x):
    """Return objectives and constraints of Binh and Korn (1997) on [0, 5] x [0, 3].

    The front is x1 = x2 up to 3, then x2 = 3.
    """
    values = np.column_stack((4 * (x**2).sum(axis=1), ((x - 5) ** 2).sum(axis=1)))
    inside = (x[:, 0] - 5) ** 2 + x[:, 1] ** 2 - 25
    outside = 7.7 - (x[:, 0] - 8) ** 2 - (x[:, 1] + 3) ** 2
    return values, np.column_stack((inside, outside))


def sphere(x):
    """Return the squared distance from (1, 1, ...)."""
    return ((x - 1) ** 2).sum(axis=1)


def rastrigin(x):
    """Return a sphere with a cosine wave: a local optimum near every whole number."""
    return 10 * x.shape[1] + (x**2 - 10 * np.cos(2 * np.pi * x)).sum(axis=1)


def assert_same_search(first, second):
    """Check that two results agree in every bit."""
    for name in ("solutions", "values", "violation", "population"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), strict=True)
    for name in ("n_evaluations", "n_solutions", "best"):
        np.testing.assert_array_equal(getattr(first.history, name), getattr(second.history, name))
    assert first.n_iter == second.n_iter
    assert first.n_evaluations == second.n_evaluations


def nsga2_with(evaluate, space, *, settings, population_size=100, chunk_size=50, **options):
    """Run NSGA-II with settings that `nsga2` does not offer."""
    search = NSGA2(
        space,
        None,
        population_size,
        settings.pop("crossover", default_crossover(space)),
        settings.pop("mutation", default_mutation(space)),
        **settings,
    )
    pool = EvaluationPool(evaluate, chunk_size=chunk_size)
    return search_generations(search, pool, SearchOptions(**options))
