"""The AUC of more than two classes: every pair, or each class against the rest."""

from typing import Any, Literal, NamedTuple

import numpy as np

from parsimon._typing import AnyArray, Array
from parsimon._validation import finite_matrix, shorten
from parsimon.exceptions import InvalidInputError
from parsimon.roc.area import auc
from parsimon.roc.samples import Ties, label_vector


class ClassColumns(NamedTuple):
    """Scores of shape (n, n_classes), the class of each row, and what each column is."""

    scores: Array
    truth: AnyArray
    labels: AnyArray


def multiclass_auc(
    y_true: Any,
    y_score: Any,
    *,
    method: Literal["ovo", "ovr"] = "ovo",
    average: Literal["macro", "weighted"] = "macro",
    labels: Any = None,
    ties: Ties = "mid",
) -> float:
    """Return the AUC of a classifier of several classes.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Three classes or more (two also work), as numbers or text.
    y_score : array-like of shape (n, n_classes)
        One column per class; they need not add up to 1.
    method : {"ovo", "ovr"}, default="ovo"
        Average over all pairs of classes (Hand and Till's M, which does not depend on how common
        the classes are), or over each class against the rest.
    average : {"macro", "weighted"}, default="macro"
        Equal weights, or weights by how common the classes are.
    labels : array-like of shape (n_classes,), optional
        The class of each column; without it, the classes that occur, sorted.
    ties : {"mid", "strict"}, default="mid"
        What equal scores count, as in `auc`.

    Returns
    -------
    float

    References
    ----------
    Hand and Till (2001), Machine Learning 45:171-186.

    Examples
    --------
    >>> scores = [[0.9, 0.1, 0.0], [0.2, 0.6, 0.2], [0.3, 0.4, 0.3], [0.5, 0.2, 0.3]]
    >>> multiclass_auc(["ash", "elm", "oak", "oak"], scores)
    1.0
    >>> round(multiclass_auc(["ash", "elm", "oak", "elm"], scores), 3)
    0.875
    """
    columns = _checked_columns(y_true, y_score, labels)
    if average not in ("macro", "weighted"):
        raise InvalidInputError(f'average must be "macro" or "weighted", got {average!r}.')
    share = np.array([np.mean(columns.truth == label) for label in columns.labels])
    if method == "ovr":
        areas = _one_against_rest(columns, ties)
        return float(np.average(areas, weights=share if average == "weighted" else None))
    if method != "ovo":
        raise InvalidInputError(f'method must be "ovo" or "ovr", got {method!r}.')
    table = pairwise_auc(y_true, y_score, labels=labels, ties=ties)
    pairs = np.triu_indices(len(share), k=1)
    weights = (share[:, None] + share)[pairs] if average == "weighted" else None
    return float(np.average((table + table.T)[pairs] / 2, weights=weights))


def pairwise_auc(y_true: Any, y_score: Any, *, labels: Any = None, ties: Ties = "mid") -> Array:
    """Return how well each class's own score tells it from each other class.

    Shapes: y_true (n,), y_score (n, n_classes), labels (n_classes,) -> (n_classes, n_classes).
    """
    columns = _checked_columns(y_true, y_score, labels)
    table = np.full((len(columns.labels),) * 2, 0.5)
    for i, first in enumerate(columns.labels):
        for j, second in enumerate(columns.labels):
            if i != j:
                rows = (columns.truth == first) | (columns.truth == second)
                own = columns.scores[rows, i]
                table[i, j] = auc(columns.truth[rows] == first, own, ties=ties)
    return table


def _one_against_rest(columns: ClassColumns, ties: Ties) -> list[float]:
    return [
        auc(columns.truth == label, columns.scores[:, i], ties=ties)
        for i, label in enumerate(columns.labels)
    ]


def _checked_columns(y_true: Any, y_score: Any, labels: Any) -> ClassColumns:
    truth, scores = label_vector(y_true, "y_true"), finite_matrix(y_score, "y_score")
    if truth.shape != (len(scores),):
        raise InvalidInputError(f"y_true has shape {truth.shape} for {len(scores)} rows of scores.")
    seen = np.unique(truth)
    classes = seen if labels is None else label_vector(labels, "labels")
    if len(classes) != scores.shape[1]:
        raise InvalidInputError(
            f"y_score has {scores.shape[1]} columns for {len(classes)} classes "
            f"({shorten(classes.tolist())}). Name the columns with labels=."
        )
    if missing := set(classes.tolist()) ^ set(seen.tolist()):
        raise InvalidInputError(
            f"y_true and labels do not hold the same classes: {shorten(sorted(missing, key=str))}."
        )
    return ClassColumns(scores, truth, classes)
