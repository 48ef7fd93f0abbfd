"""Sparse fits of two or more classes on one dictionary."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from parsimon._typing import Array, Indices
from parsimon._workers import one_thread
from parsimon.inference.sparse_bayes import (
    SparseBayes,
    SparseSoftmax,
    em_classification,
    softmax_sparse,
    sparse_classification,
    variational_classification,
)
from parsimon.rvm.fit import Dictionary, sparse_options

_ALGORITHMS: dict[str, Callable[..., SparseBayes]] = {
    "fast": sparse_classification,
    "em": em_classification,
    "variational": variational_classification,
}
# Seconds that are left for the fits whatever the choice of a width took.
_LEAST_TIME = 0.01


def class_targets(codes: Indices, n_classes: int) -> Array:
    """Return 1 for rows of a class and 0 for the rest, a column for each class.

    Two classes are one problem, whose positive class is the second.

    Shapes: codes (n,) -> (n, k).
    """
    positives = np.arange(n_classes) if n_classes > 2 else np.array([1])
    return np.asfortranarray(codes[:, None] == positives, dtype=np.float64)


def fit_classes(
    estimator: Any,
    made: Dictionary,
    codes: Indices,
    n_classes: int,
    *,
    row_weights: Array,
    deadline: float | None,
) -> list[SparseBayes | SparseSoftmax]:
    """Return one sparse fit of all classes, or one for each class against the rest.

    Shapes: codes (n,), row_weights (n,).
    """
    options = sparse_options(estimator)
    left = None if deadline is None else max(deadline - time.monotonic(), _LEAST_TIME)
    if n_classes > 2 and estimator.multi_class == "multinomial":
        return [
            softmax_sparse(
                made.design,
                codes,
                n_classes,
                row_weights=row_weights,
                time_limit=left,
                **options,
            )
        ]
    targets = class_targets(codes, n_classes).T
    starts = made.starts or (None,) * len(targets)
    options["time_limit"] = None if left is None else left / len(targets)
    calls = [
        delayed(_ALGORITHMS[estimator.algorithm])(
            made.design, target, row_weights=row_weights, start=start, **options
        )
        for target, start in zip(targets, starts, strict=True)
    ]
    if len(calls) == 1:
        function, arguments, keywords = calls[0]
        return [function(*arguments, **keywords)]
    # Threads: all fits read one design, and a process would need a copy of it. One thread of
    # linear algebra in each, since another number rounds differently.
    with one_thread():
        return list(Parallel(n_jobs=estimator.n_jobs, prefer="threads")(calls))
