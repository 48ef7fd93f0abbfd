"""The three gene expression tables of Clark (2011), chapter 4, and halves of their rows."""

from functools import cache

import numpy as np

from parsimon._typing import Array, Indices

# name -> (data set, label that counts as 1)
TABLES = {
    "golub": ("golub_leukaemia", "AML"),
    "alon": ("alon_colon", "t"),
    "hedenfalk": ("hedenfalk_brca", "BRCA1"),
}


@cache
def gene_table(name: str) -> tuple[Array, Indices]:
    """Return expression values, shape (n, d), and the classes as 0 and 1."""
    from parsimon.datasets import load

    file, positive = TABLES[name]
    found = load(file)
    y = (found.target == positive).to_numpy().astype(np.intp)
    return found.data.to_numpy(dtype=float), y


def levels_of(X: Array, train: Array) -> Array:
    """Return values on a logarithm-like scale, the level of each row taken out.

    Shapes: X (n, d), train (m, d) whose typical size is the unit -> (n, d).
    """
    typical = np.median(np.abs(train))
    values = np.arcsinh(X / typical)
    found: Array = values - np.median(values, axis=1, keepdims=True)
    return found


def gene_names(name: str) -> list[str]:
    """Return the names of the columns, with titles where there are any."""
    from parsimon.datasets import load

    names = list(load(TABLES[name][0]).feature_names)
    if name == "alon":
        return names
    titles = load({"golub": "golub_genes", "hedenfalk": "hedenfalk_genes"}[name]).frame
    column = "description" if name == "golub" else "title"
    return [str(title)[:40] for title in titles[column]]


def halves(y: Indices, split: int) -> tuple[Indices, Indices]:
    """Return two halves of the rows, each class in both."""
    rng = np.random.default_rng([2011, split])
    first = np.zeros(len(y), dtype=np.bool_)
    for one in (0, 1):
        members = rng.permutation(np.flatnonzero(y == one))
        first[members[: len(members) // 2 + len(members) % 2 * int(rng.integers(2))]] = True
    return np.flatnonzero(first), np.flatnonzero(~first)
