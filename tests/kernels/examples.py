"""Leaves, expressions of them, and the central difference that derivatives are held against."""

import numpy as np
from hypothesis import strategies as st

from parsimon.kernels import (
    Constant,
    Epanechnikov,
    GaussianCombination,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    SquaredExponential,
)


def frozen(array):
    array.flags.writeable = False
    return array


X = frozen(np.random.default_rng(3).normal(size=(9, 4)))
Y = frozen(np.random.default_rng(4).normal(size=(5, 4)))

# Every leaf, on one column, several and all; every option away from its default.
DEFINITE = [
    SquaredExponential(1, lengthscale=0.7, variance=1.9),
    SquaredExponential((2, 0), lengthscale=1.3),
    SquaredExponential((0, 3), lengthscale=(0.6, 2.0), variance=0.4),
    SquaredExponential(lengthscale=(0.6, 2.0, 1.1, 3.0)),
    Matern(2, 0.8, 2.0, nu=0.5),
    Matern((0, 1), (0.8, 1.7), nu=1.5),
    Matern(None, 1.4, 0.7, nu=2.5),
    RationalQuadratic(0, 0.9, 1.4, 0.6),
    RationalQuadratic((1, 3), (0.9, 1.6), mixture=2.5),
    Periodic(3, 1.7, 0.8, 1.2),
    Periodic((0, 2), 2.3, 1.1),
    Periodic(None, 4.1, 1.6, 0.5),
    Laplacian(0, 0.9, 1.5),
    Laplacian((1, 2), (0.9, 1.6)),
    Laplacian(None, 2.1),
    Linear(1, 0.6, 0.3),
    Linear((0, 2), 1.4, (-0.5, 0.8)),
    Linear(None, 0.2),
    Polynomial((0, 1), 0.4, 0.9, 3, 1.3),
    Polynomial(None, 0.7, 0.0, 2),
    Constant(1.8),
]
INDEFINITE = [
    Sigmoid((0, 1), 0.5, 0.4, 1.3),
    Sigmoid(None, 0.2, -0.6),
    Epanechnikov(2, 3.0, 2.5, 1.4),
    Epanechnikov(None, 9.0, 1.6),
    GaussianCombination(1, (1.5, 2.5, 0.8), 0.7),
    GaussianCombination(None, (4.0, 7.0, 2.0)),
    Multiquadric(0, 2.0, 0.6, 1.5),
    Multiquadric((1, 3), 0.7, 1.2),
    Polynomial(0, 0.8, -0.5, 2),
]
LEAVES = DEFINITE + INDEFINITE


def combinations_of(leaves):
    """Return a strategy for expressions of these leaves, nested both ways."""
    return st.recursive(
        st.sampled_from(leaves),
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
            st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
        ),
        max_leaves=5,
    )


def identify(kernel):
    return f"{kernel}"


def central_difference(function, point, step=1e-5):
    """Return the derivatives of a function of a vector, stacked along the first axis."""
    rows = []
    for place in range(len(point)):
        shift = np.zeros(len(point))
        shift[place] = step
        rows.append((function(point + shift) - function(point - shift)) / (2 * step))
    return np.array(rows)
