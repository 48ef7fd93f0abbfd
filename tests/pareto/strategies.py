"""Objective tables with many ties and duplicates, where fronts go wrong."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp


def tables(min_rows=0, max_rows=30, min_columns=1, max_columns=4):
    """Return small tables of small integers: equal values and equal rows are common."""
    shape = st.tuples(st.integers(min_rows, max_rows), st.integers(min_columns, max_columns))
    return shape.flatmap(
        lambda size: hnp.arrays(np.float64, size, elements=st.integers(0, 5).map(float))
    )


def brute_force(values, ties="keep"):
    """Return the non-dominated rows by comparing all pairs."""
    n = len(values)
    mask = np.ones(n, dtype=bool)
    for i in range(n):
        for j in range(n):
            better = (values[j] <= values[i]).all() and (values[j] < values[i]).any()
            twin = ties == "first" and j < i and (values[j] == values[i]).all()
            if better or twin:
                mask[i] = False
    return mask
