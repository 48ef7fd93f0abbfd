"""The ROC curve: all thresholds at once, and its convex hull.

The decision rule of the whole package is *positive if score > threshold*, as in Clark (2.32).
Thresholds found from data lie midway between neighbouring scores, so that scikit-learn's
``score >= threshold`` gives the same labels.
"""

from typing import Any, NamedTuple

import numpy as np

from parsimon._checks import finite_vector
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.roc._samples import ClassScores, as_numbers, class_scores


class RocPoints(NamedTuple):
    """Rates at each threshold; unpacks like scikit-learn's `roc_curve`.

    fpr, tpr (n_thresholds,): Share of negatives and of positives with a score above the
        threshold.
    thresholds (n_thresholds,): A row is called positive if its score is *greater* than this.
    """

    fpr: Array
    tpr: Array
    thresholds: Array


class RocHull(NamedTuple):
    """Vertices of the upper convex hull, from (0, 0) to (1, 1).

    fpr, tpr (n_vertices,): The vertices.
    rows (n_vertices,): Which of the given points each vertex is; -1 for (0, 0) or (1, 1) if it
        was not given.
    """

    fpr: Array
    tpr: Array
    rows: Indices


def roc_points(
    y_true: Any,
    y_score: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    thresholds: Any = None,
    step: float | None = None,
) -> RocPoints:
    """Return false and true positive rates at every threshold that makes a difference.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two classes, as numbers or text.
    y_score : array-like of shape (n,)
        Greater means more positive: probabilities, decision values, or hard 0/1 predictions
        (which give one point between (0, 0) and (1, 1)).
    pos_label : label, optional
        The positive class; without it, the greater of the two in sorted order.
    sample_weight : array-like of shape (n,), optional
        How much each row counts.
    thresholds : array-like of shape (n_thresholds,), optional
        Evaluate these, in this order, instead: for instance the thresholds chosen on training
        data, to see the same classifiers on test data.
    step : float, optional
        Evaluate 0, step, 2 step, ..., 1 (Clark's grid; scores must be probabilities) and the
        two ends of the curve.

    Returns
    -------
    RocPoints
        From (0, 0), threshold infinity, to (1, 1), threshold minus infinity, unless
        `thresholds` were given.

    References
    ----------
    Clark (2011), equations 2.32, 2.37, 2.38; Fawcett (2006), Pattern Recogn. Lett. 27:861-874.

    Examples
    --------
    >>> fpr, tpr, thresholds = roc_points(["no", "yes", "no", "yes"], [0.1, 0.4, 0.4, 0.8])
    >>> fpr, tpr
    (array([0. , 0. , 0.5, 1. ]), array([0. , 0.5, 1. , 1. ]))
    >>> thresholds.round(3)
    array([  inf,  0.6 ,  0.25,  -inf])
    """
    sample = class_scores(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight)
    if thresholds is not None and step is not None:
        raise InvalidInputError("Give thresholds or step, not both.")
    if thresholds is not None:
        return points_at(sample, _checked_thresholds(thresholds))
    return points_at(sample, _midpoints(sample) if step is None else _grid(sample, step))


def points_at(sample: ClassScores, thresholds: Array) -> RocPoints:
    """Return the rates of the rule *score > threshold* at the given thresholds."""
    fpr = _share_above(thresholds, sample.negative, sample.negative_weight)
    tpr = _share_above(thresholds, sample.positive, sample.positive_weight)
    points = RocPoints(fpr, tpr, np.array(thresholds))
    for column in points:
        column.flags.writeable = False
    return points


def roc_hull(fpr: Any, tpr: Any) -> RocHull:
    """Return the convex hull of ROC points: what mixing the classifiers at random can reach.

    A point off the hull is never the cheapest, whatever the costs and the prevalence.

    Parameters
    ----------
    fpr, tpr : array-like of shape (n,)
        Points of one curve or of many classifiers, in any order.

    Returns
    -------
    RocHull
        Vertices only; points on an edge are left out.

    References
    ----------
    Provost and Fawcett (2001), Machine Learning 42:203-231.

    Examples
    --------
    >>> hull = roc_hull([0.1, 0.5, 0.4], [0.6, 0.7, 0.9])
    >>> hull.fpr, hull.tpr, hull.rows
    (array([0. , 0.1, 0.4, 1. ]), array([0. , 0.6, 0.9, 1. ]), array([-1,  0,  2, -1]))
    """
    fpr, tpr = checked_rates(fpr, tpr)
    order = np.lexsort((-tpr, fpr))
    highest = np.maximum.accumulate(np.concatenate(([0.0], tpr[order])))
    records = order[tpr[order] > highest[:-1]]
    # The two trivial classifiers close the hull; a given point in their place keeps its row.
    start, end = _find(fpr, tpr, 0.0), _find(fpr, tpr, 1.0)
    inner = records[(fpr[records] < 1) | (tpr[records] < 1)]
    rows = np.concatenate(([start], inner, [end])).astype(np.intp)
    x = np.concatenate(([0.0], fpr[inner], [1.0]))
    y = np.concatenate(([0.0], tpr[inner], [1.0]))
    kept = _upper_chain(x.tolist(), y.tolist())
    return RocHull(x[kept], y[kept], rows[kept])


def checked_rates(fpr: Any, tpr: Any) -> tuple[Array, Array]:
    """Return two vectors of rates of equal length, refusing what is not in [0, 1]."""
    rates = finite_vector(fpr, "fpr"), finite_vector(tpr, "tpr")
    if len(rates[0]) != len(rates[1]):
        raise InvalidInputError(f"fpr has {len(rates[0])} entries and tpr has {len(rates[1])}.")
    for name, values in zip(("fpr", "tpr"), rates, strict=True):
        if ((values < 0) | (values > 1)).any():
            raise InvalidInputError(f"{name} must lie between 0 and 1, as a rate does.")
    return rates


def _share_above(thresholds: Array, scores: Array, weight: Array) -> Array:
    order = np.argsort(scores)
    cumulative = np.concatenate(([0.0], np.cumsum(weight[order])))
    below = cumulative[np.searchsorted(scores[order], thresholds, side="right")]
    return (cumulative[-1] - below) / cumulative[-1]


def _midpoints(sample: ClassScores) -> Array:
    scores = np.unique(np.concatenate((sample.positive, sample.negative)))[::-1]
    above, below = scores[:-1], scores[1:]
    middle = above / 2 + below / 2
    # Between adjacent floating-point numbers there is no middle: the lower one still separates
    # them under the rule score > threshold.
    middle = np.where((below <= middle) & (middle < above), middle, below)
    return np.concatenate(([np.inf], middle, [-np.inf]))


def _grid(sample: ClassScores, step: float) -> Array:
    if not 0 < step <= 1:
        raise InvalidInputError(f"step must lie in (0, 1], got {step}.")
    scores = np.concatenate((sample.positive, sample.negative))
    if scores.min() < 0 or scores.max() > 1:
        raise InvalidInputError(
            f"A grid of thresholds needs scores between 0 and 1, got {scores.min():g} to "
            f"{scores.max():g}. Leave step out to sweep all scores, or give thresholds."
        )
    # Dividing keeps 29/100 the number a reader would type; 29 * 0.01 need not be.
    grid = np.arange(int(np.floor(1 / step + 1e-9)) + 1) / (1 / step)
    return np.concatenate(([np.inf], grid[::-1], [-np.inf]))


def _checked_thresholds(thresholds: Any) -> Array:
    values = as_numbers(thresholds, "thresholds")
    if values.ndim != 1:
        raise InvalidInputError(f"thresholds must be one list, got shape {values.shape}.")
    return values


def _find(fpr: Array, tpr: Array, corner: float) -> int:
    rows = np.flatnonzero((fpr == corner) & (tpr == corner))
    return int(rows[0]) if len(rows) else -1


def _upper_chain(x: list[float], y: list[float]) -> list[int]:
    """Andrew's monotone chain; three points of N+ and N- rows turn by at least 1 / (N+ N-)."""
    kept: list[int] = []
    for k in range(len(x)):
        while len(kept) > 1:
            i, j = kept[-2:]
            if (x[j] - x[i]) * (y[k] - y[i]) - (y[j] - y[i]) * (x[k] - x[i]) < -1e-15:
                break
            kept.pop()
        kept.append(k)
    return kept
