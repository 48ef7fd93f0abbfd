"""Areas: under a curve, under a front of classifiers, by counting pairs, and of many classes."""

from typing import Any, Literal

import numpy as np

from parsimon._checks import finite_matrix, shorten
from parsimon._typing import AnyArray, Array, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.roc._samples import Ties, class_scores, label_vector, weight_below
from parsimon.roc.curve import checked_rates, roc_hull


def auc(
    y_true: Any,
    y_score: Any,
    *,
    ties: Ties = "mid",
    pos_label: Any = None,
    sample_weight: Any = None,
) -> float:
    """Return how often a random positive scores above a random negative.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two classes, as numbers or text.
    y_score : array-like of shape (n,)
        Greater means more positive.
    ties : {"mid", "strict"}, default="mid"
        A pair with equal scores counts one half (the Mann-Whitney statistic, the trapezium
        area, scikit-learn's `roc_auc_score`) or nothing (the area of conservative rectangles;
        for a hard classifier T (1 - F), so that guessing scores at most 0.25). Clark
        (2011) states that the two agree; they do so only without ties.
    pos_label : label, optional
        The positive class; without it, the greater of the two in sorted order.
    sample_weight : array-like of shape (n,), optional
        How much each row counts.

    Returns
    -------
    float

    References
    ----------
    Clark (2011), equation 2.43; Hanley and McNeil (1982), Radiology 143:29-36.

    Examples
    --------
    >>> auc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    0.875
    >>> auc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8], ties="strict")
    0.75
    """
    sample = class_scores(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight)
    outranked = weight_below(sample.positive, sample.negative, sample.negative_weight, ties)
    pairs = sample.positive_weight.sum() * sample.negative_weight.sum()
    # Sums of weights may differ in the last bit from their parts' sums; an area may not.
    return float(min(1.0, sample.positive_weight @ outranked / pairs))


def area_under(
    fpr: Any, tpr: Any, *, rule: Literal["rectangle", "trapezium", "hull"] = "rectangle"
) -> float:
    """Return the area under ROC points, which may come from one classifier or from many.

    Parameters
    ----------
    fpr, tpr : array-like of shape (n,)
        Points in any order; (0, 0) and (1, 1) are always understood.
    rule : {"rectangle", "trapezium", "hull"}, default="rectangle"
        ``"rectangle"``: the area the points strictly dominate, without interpolation
        (conservative). ``"trapezium"``: straight lines between the points of one curve, which
        assumes that classifiers may be mixed at random. ``"hull"``: below the convex hull, the
        best that mixing can do.

    Returns
    -------
    float

    References
    ----------
    Clark (2011), section 2.2.2, figure 2.4.

    Examples
    --------
    >>> area_under([0.5], [0.75]), area_under([0.5], [0.75], rule="trapezium")
    (0.375, 0.625)
    """
    fpr, tpr = checked_rates(fpr, tpr)
    if rule == "hull":
        hull = roc_hull(fpr, tpr)
        return float(np.trapezoid(hull.tpr, hull.fpr))
    if rule == "rectangle":
        return _rectangles(fpr, tpr)
    if rule != "trapezium":
        raise InvalidInputError(f'rule must be "rectangle", "trapezium" or "hull", got {rule!r}.')
    order = np.lexsort((tpr, fpr))
    x = np.concatenate(([0.0], fpr[order], [1.0]))
    y = np.concatenate(([0.0], tpr[order], [1.0]))
    if (np.diff(y) < 0).any():
        raise InvalidInputError(
            "These points are no curve: tpr falls while fpr grows, so they come from several "
            'classifiers. Use rule="rectangle" or rule="hull".'
        )
    return float(np.trapezoid(y, x))


def undominated_rates(fpr: Any, tpr: Any) -> Mask:
    """Mark the points that no other beats in one rate without losing in the other.

    This flattens a front of more objectives onto the ROC plane. Equal points are kept together.

    Parameters
    ----------
    fpr, tpr : array-like of shape (n,)

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> undominated_rates([0.1, 0.2, 0.3], [0.5, 0.4, 0.9])
    array([ True, False,  True])
    """
    fpr, tpr = checked_rates(fpr, tpr)
    order = np.lexsort((-tpr, fpr))
    x, y = fpr[order], tpr[order]
    highest = np.maximum.accumulate(y)
    fresh = np.diff(highest, prepend=-1.0) > 0
    same = (np.diff(x, prepend=-1.0) == 0) & (np.diff(y, prepend=-1.0) == 0)
    # A copy of a kept point is kept: it follows its original in this order.
    group = np.cumsum(~same) - 1
    mask = np.empty(len(x), dtype=bool)
    mask[order] = fresh[~same][group]
    return mask


def front_area(fpr: Any, tpr: Any, *, rows: Any = None) -> float:
    """Return the area that a front of classifiers strictly dominates in the ROC plane.

    Other objectives are dropped and the attainment surface of the points is measured; points
    dominated in the plane add nothing. To judge a front on test data, choose the solutions on
    training data and measure the same ones again::

        rows = undominated_rates(train_fpr, train_tpr)
        front_area(train_fpr, train_tpr), front_area(test_fpr, test_tpr, rows=rows)

    Parameters
    ----------
    fpr, tpr : array-like of shape (n,)
        Rates of each solution.
    rows : array-like of int or bool, optional
        Measure these solutions only.

    Returns
    -------
    float

    References
    ----------
    Clark (2011), section 3.6 and table 3.3.

    Examples
    --------
    >>> front_area([0.0, 0.5, 0.6], [0.5, 1.0, 0.9])
    0.75
    """
    fpr, tpr = checked_rates(fpr, tpr)
    if rows is not None:
        try:
            fpr, tpr = fpr[np.asarray(rows)], tpr[np.asarray(rows)]
        except IndexError as error:
            raise InvalidInputError(f"rows do not fit {len(fpr)} solutions: {error}.") from error
    return area_under(fpr, tpr, rule="rectangle")


def _rectangles(fpr: Array, tpr: Array) -> float:
    order = np.argsort(fpr)
    attained = np.maximum.accumulate(tpr[order])
    return float(attained @ np.diff(fpr[order], append=1.0))


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
    scores, truth, classes = _checked_columns(y_true, y_score, labels)
    if average not in ("macro", "weighted"):
        raise InvalidInputError(f'average must be "macro" or "weighted", got {average!r}.')
    share = np.array([np.mean(truth == label) for label in classes])
    if method == "ovr":
        areas = [auc(truth == label, scores[:, i], ties=ties) for i, label in enumerate(classes)]
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
    scores, truth, classes = _checked_columns(y_true, y_score, labels)
    table = np.full((len(classes),) * 2, 0.5)
    for i, first in enumerate(classes):
        for j, second in enumerate(classes):
            if i != j:
                rows = (truth == first) | (truth == second)
                table[i, j] = auc(truth[rows] == first, scores[rows, i], ties=ties)
    return table


def _checked_columns(y_true: Any, y_score: Any, labels: Any) -> tuple[Array, AnyArray, AnyArray]:
    """Return scores of shape (n, n_classes), the class of each row, and what each column is."""
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
    return scores, truth, classes
