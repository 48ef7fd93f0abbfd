"""Random trees and models: any shape, polytomies, single children, branches of length zero."""

import numpy as np
from hypothesis import strategies as st

from parsimon.phylo import Model, Tree


@st.composite
def trees(draw, least=2, most=14, zero_tips=False):
    """Trees with `least` to `most` nodes below the root; tip branches are not zero unless said."""
    n = draw(st.integers(least, most)) + 1
    parent = [-1] + [draw(st.integers(max(0, i - 5), i - 1)) for i in range(1, n)]
    length = np.array(draw(st.lists(st.floats(0.1, 3.0), min_size=n, max_size=n)))
    flat = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    tip = np.ones(n, dtype=bool)
    tip[parent[1:]] = False
    length[flat & (True if zero_tips else ~tip)] = 0.0
    length[0] = 0.0
    return Tree(parent, length, [f"n{i}" for i in range(n)])


@st.composite
def models(draw):
    alpha = draw(st.sampled_from([0.0, 0.3, 2.0]))
    return Model(
        pagel_lambda=draw(st.floats(0.0, 1.0)),
        kappa=draw(st.sampled_from([0.0, 0.5, 1.0, 1.7])),
        delta=draw(st.sampled_from([0.3, 1.0, 2.2])),
        alpha=alpha,
        root=draw(st.sampled_from(["fixed", "stationary"])) if alpha else "fixed",
    )
