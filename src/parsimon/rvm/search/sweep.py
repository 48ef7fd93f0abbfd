"""All thresholds of one model at once: its corner points in the ROC plane.

A row is predicted positive where its score is above the cutoff, strictly. Every distinct set of
such rows is one operating point; only the corners of the staircase, which no other point of the
same model dominates, can ever be on a front, so only they are returned.
"""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError

# Rates are sums of reciprocals; beyond this many digits they differ by rounding only.
_DIGITS = 1e12


class View(NamedTuple):
    """The rows on which rates are measured, each with what it adds to them.

    entries (n_entries,): Which of the flattened scores, shape (k, n_distinct), are looked at.
    positive, negative (n_entries,): What predicting the row positive adds to the true and to
        the false positive rate.
    """

    entries: Indices
    positive: Array
    negative: Array


def view_of(n_positive: Array, n_negative: Array) -> View:
    """Return the view in which k folds count alike, each with its own rates.

    Shapes: n_positive, n_negative (k, n_distinct).
    """
    entries = np.flatnonzero(n_positive + n_negative)
    rates = []
    for counts in (n_positive, n_negative):
        sizes = counts.sum(axis=1, keepdims=True)
        shares = np.divide(counts, sizes, out=np.zeros_like(counts), where=sizes > 0)
        rates.append(shares.ravel()[entries] / max(1, np.count_nonzero(sizes)))
    return View(entries, rates[0], rates[1])


@dataclass(frozen=True)
class ExactSweep:
    """Every distinct score is a threshold; cutoffs lie halfway between neighbours."""

    def __call__(self, scores: Array, view: View) -> Array:
        """Return cutoffs, true and false positive rates of the corners, shape (3, c).

        A cutoff is infinite where all rows or none are predicted positive; rates ascend.

        Shapes: scores (n_entries,).
        """
        loops = _compiled()
        make = staircase if loops is None else loops.staircase
        points: Array = make(scores, scores.argsort(), view.positive, view.negative)
        return points


@dataclass(frozen=True)
class GridSweep:
    """Thresholds on the probability in equal steps from 0 to 1, as Clark printed it.

    The step limits how finely models that are nearly indifferent everywhere are told apart.
    """

    step: float = 0.01

    def __post_init__(self) -> None:
        if not 0 < self.step <= 1:
            raise InvalidInputError(
                f"The step between thresholds must be above 0 and at most 1, got {self.step!r}."
            )

    def __call__(self, scores: Array, view: View) -> Array:
        """Return the corners as `ExactSweep` does."""
        loops = _compiled()
        make = grid if loops is None else loops.grid
        points: Array = make(
            scores, scores.argsort(), view.positive, view.negative, _cutoffs(self.step)
        )
        return points


Sweep = ExactSweep | GridSweep


def sweep_of(thresholds: str | float) -> Sweep:
    """Return the sweep for "exact" or for a step between probabilities."""
    if isinstance(thresholds, str):
        if thresholds != "exact":
            raise InvalidInputError(
                f'thresholds must be "exact" or a step such as 0.01, got {thresholds!r}.'
            )
        return ExactSweep()
    return GridSweep(float(thresholds))


@cache
def _cutoffs(step: float) -> Array:
    """Return the logits of probabilities from 1 down to 0."""
    cutoffs: Array = logit(np.minimum(np.arange(0.0, 1.0 + 0.5 * step, step), 1.0))[::-1].copy()
    return cutoffs


@cache
def _compiled() -> ModuleType | None:
    """Return the compiled loops if the extra `fast` is installed; they give the same bits."""
    if find_spec("numba") is None:
        return None
    from parsimon.rvm.search import sweep_compiled

    return sweep_compiled


def staircase(scores: Array, order: Indices, positive: Array, negative: Array) -> Array:
    """Return the corners among all distinct thresholds, as `ExactSweep` does.

    Shapes: scores (n_entries,), order (n_entries,), positive, negative (n_entries,).
    """
    falling = order[::-1]
    ordered = scores[falling]
    ends = np.append(np.flatnonzero(ordered[:-1] > ordered[1:]), len(order) - 1)
    upper, lower = ordered[ends[:-1]], ordered[ends[:-1] + 1]
    middle = lower + 0.5 * (upper - lower)
    points = np.zeros((3, len(ends) + 1))
    points[0, 0], points[0, -1] = np.inf, -np.inf
    # Between two neighbouring numbers there is no third: the lower one parts them as well.
    points[0, 1:-1] = np.where(middle < upper, middle, lower)
    points[1, 1:] = positive[falling].cumsum()[ends]
    points[2, 1:] = negative[falling].cumsum()[ends]
    return _corners(points)


def grid(scores: Array, order: Indices, positive: Array, negative: Array, cutoffs: Array) -> Array:
    """Return the corners among given thresholds, as `GridSweep` does; `cutoffs` descend."""
    points = np.empty((3, len(cutoffs)))
    points[0] = cutoffs
    above = len(order) - np.searchsorted(scores[order], cutoffs, side="right")
    for rate, gains in zip(points[1:], (positive, negative), strict=True):
        rate[:] = np.append(0.0, gains[order[::-1]].cumsum())[above]
    # Of thresholds that say the same of every row the smallest is kept.
    return _corners(points[:, np.append(above[1:] > above[:-1], True)])


def _corners(points: Array) -> Array:
    """Keep those of rising points that none of the others dominates.

    A point is a corner if the rows added last raised the true positive rate and those added next
    raise the false positive rate.
    """
    points[1:] = np.rint(points[1:] * _DIGITS) / _DIGITS
    corner = np.ones(points.shape[1], dtype=np.bool_)
    corner[1:] = points[1, 1:] > points[1, :-1]
    corner[:-1] &= points[2, 1:] > points[2, :-1]
    return points[:, corner]


def rates_at(scores: Array, view: View, cutoffs: Array) -> Array:
    """Return true and false positive rates at given cutoffs, shape (2, c).

    Shapes: scores (n_entries,), cutoffs (c,).
    """
    loops = _compiled()
    measure = rates if loops is None else loops.rates
    found: Array = measure(scores, scores.argsort(), view.positive, view.negative, cutoffs)
    return found


def rates(scores: Array, order: Indices, positive: Array, negative: Array, cutoffs: Array) -> Array:
    """Return what `rates_at` does; `order` sorts the scores ascending."""
    above = len(order) - np.searchsorted(scores[order], cutoffs, side="right")
    sums = [np.append(0.0, gains[order[::-1]].cumsum())[above] for gains in (positive, negative)]
    return np.rint(np.array(sums) * _DIGITS) / _DIGITS
