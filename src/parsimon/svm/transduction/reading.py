"""From tables to problems: what both transductive estimators do before they search."""

from typing import Any, NamedTuple

import numpy as np

from parsimon._options import check_positive
from parsimon._typing import Array, Indices
from parsimon._weights import class_weights, row_weights
from parsimon.svm.gram import Gram
from parsimon.svm.transduction.labels import Labels, positive_counts
from parsimon.svm.transduction.problem import Problem


class Given(NamedTuple):
    """The rows with weight, their similarities and what they cost.

    Shapes: kernel (n, n), upper (n,).

    rows (n,): Where they are among the rows given.
    labels: Of these rows.
    """

    rows: Indices
    gram: Gram
    kernel: Array
    labels: Labels
    upper: Array


def is_precomputed(estimator: Any) -> bool:
    """Return whether an estimator takes similarities instead of features."""
    return isinstance(estimator.kernel, str) and estimator.kernel == "precomputed"


def read_rows(estimator: Any, X: Array, labels: Labels, sample_weight: Any) -> Given:
    """Return rows and costs; rows of weight zero are left out.

    Shapes: X (n_given, d), sample_weight (n_given,).
    """
    weights = row_weights(sample_weight, len(X))
    rows = np.flatnonzero(weights > 0)
    gram = Gram.of(
        estimator.kernel,
        estimator.gamma,
        estimator.degree,
        estimator.coef0,
        X,
        weights=None if sample_weight is None else weights,
    )
    if len(rows) < len(X):
        gram = gram.subset(rows)
    kernel, own, codes = gram.train, weights[rows], labels.codes[rows]
    C, C_unlabelled = costs(estimator, kernel)
    known = codes >= 0
    own[known] *= C * class_weights(
        estimator.class_weight, labels.classes, codes[known], own[known]
    )
    own[~known] *= C_unlabelled
    return Given(rows, gram, kernel, Labels(labels.classes, codes), own)


def costs(estimator: Any, kernel: Array) -> tuple[float, float]:
    """Return C of labelled and of unlabelled rows; "heuristic" is n over the trace of K."""
    if isinstance(estimator.C, str) and estimator.C == "heuristic":
        trace = float(np.trace(kernel))
        C = len(kernel) / trace if trace > 0 else 1.0
    else:
        C = check_positive("C", estimator.C)
    if estimator.C_unlabelled is None:
        return C, C
    return C, check_positive("C_unlabelled", estimator.C_unlabelled)


def problem_of(given: Given, positive: int, ratio: Any) -> Problem:
    """Return the problem of one class against the others."""
    codes = given.labels.codes
    known = np.where(codes < 0, 0.0, np.where(codes == positive, 1.0, -1.0))
    fewest, most = positive_counts(
        ratio,
        int(np.count_nonzero(known == 0)),
        n_positive=int(np.count_nonzero(known > 0)),
        n_labelled=int(np.count_nonzero(known)),
    )
    return Problem(given.kernel, known, given.upper, fewest, most)


def present_classes(given: Given) -> Given:
    """Return the same with the classes alone that have a row with weight."""
    codes = given.labels.codes
    present, own = np.unique(codes[codes >= 0], return_inverse=True)
    renumbered = np.full(len(codes), -1, dtype=np.intp)
    renumbered[codes >= 0] = own
    return given._replace(labels=Labels(given.labels.classes[present], renumbered))
