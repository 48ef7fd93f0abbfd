"""Tables without a target, as in Mierswa (2009), tables 8.1 and 9.1."""

from itertools import product

import numpy as np
from sklearn.datasets import load_iris

IRIS = load_iris().data
LATTICE = np.array(list(product(range(5), repeat=5)), dtype=float)


def with_nominal(seed=0):
    """Return Iris and a column of three values at random, 0.01 apart."""
    return np.column_stack((IRIS, 0.01 * np.random.default_rng(seed).integers(0, 3, 150)))


def with_noise(n_columns, seed=0):
    """Return Iris and normal columns of its spread."""
    noise = np.random.default_rng(seed).normal(0, 0.8, (150, n_columns))
    return np.column_stack((IRIS, noise))


def spirals(n_noise=5, seed=0, begin=0.0):
    """Return two spirals around the origin, and normal columns."""
    t = np.linspace(begin, 4 * np.pi, 250)
    one = np.column_stack((t * np.cos(t), t * np.sin(t)))
    noise = np.random.default_rng(seed).normal(0, 5.5, (500, n_noise))
    return np.column_stack((np.vstack((one, -one)), noise))


def in_halves(table, seed=0):
    """Return two columns for each, of which at random one has the value and the other less."""
    rng = np.random.default_rng(seed)
    made = []
    for column in table.T:
        first = rng.random(len(column)) < 0.5
        less = rng.random(len(column)) * column
        made += [np.where(first, column, less), np.where(first, less, column)]
    return np.column_stack(made)
