"""Split a table in two halves."""

import numpy as np

from parsimon._typing import Indices


def random_halves(groups: list[Indices], rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Split each group of rows in half at random, and return the two halves, sorted.

    A group of odd size gives its extra row to the first half. The rows of each class as groups
    make the split stratified, all rows as one group leave the classes to chance.
    """
    shuffled = [rng.permutation(rows) for rows in groups]
    first = [rows[: (len(rows) + 1) // 2] for rows in shuffled]
    second = [rows[(len(rows) + 1) // 2 :] for rows in shuffled]
    return np.sort(np.concatenate(first)), np.sort(np.concatenate(second))
