"""Chapter 10 of Mierswa (2009): how far weights of columns break the axioms W1 to W4."""

import numpy as np

from benchmarks.reproduce._mierswa_axioms import weighting_violations
from benchmarks.reproduce._mierswa_filters import FILTERS
from benchmarks.rows import Row
from parsimon.features import task_weights


def axiom_rows() -> list[Row]:
    """Return how far weights break the axioms W1 to W4: the machine's, and Relief's."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    y = X[:, 0] + np.sin(X[:, 1]) + X[:, 2] * X[:, 3]
    ours = weighting_violations(task_weights, X, y)
    peer = weighting_violations(lambda X, y: FILTERS["Relief"](X, y, "regression"), X, y)
    return [
        Row(
            f"Axiom {axiom}, linear SVM, C = 10",
            "largest violation over largest weight; Relief",
            ours[axiom],
            peer[axiom],
            note="theorem 10.2 holds in the limit of many rows and no penalty",
        )
        for axiom in ours
    ]
