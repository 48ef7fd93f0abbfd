r"""Probabilities that agree with the predicted class.

Platt's sigmoid has an offset, so that its half is not where the decision changes its sign, and a
coupling of pairwise probabilities need not prefer the class with the most votes. Here a
probability is above one half exactly where the decision is above zero: the sigmoid goes through the
origin, with a slope of its own on each side,

.. math:: p(f) = 1 / (1 + \exp(-a_+ f)) \text{ for } f > 0, \quad 1 / (1 + \exp(-a_- f))
   \text{ for } f < 0,

fitted to decisions of machines that had not seen the rows. Of more than two classes, the coupled
probabilities are moved, where they must be, to the nearest ones that prefer the predicted class.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from parsimon._typing import Array, Indices
from parsimon.svm.pairs import pairs_of

_LEAST_SLOPE, _MOST_SLOPE = 1e-3, 1e6
_ABOVE_HALF = float(np.nextafter(0.5, 1.0))
# What a coupled probability keeps from 0 and 1, so that the system can be solved.
_OPEN = 1e-7
_LEAD = 1e-9


class Slopes(NamedTuple):
    """How fast the probability leaves one half on either side.

    above, below: Per unit of the decision, positive.
    """

    above: float
    below: float

    def probability(self, decisions: Array) -> Array:
        """Return the probability of the positive class, above 1/2 where the decision is above 0."""
        raw = expit(np.where(decisions > 0, self.above, self.below) * decisions)
        bounded: Array = np.where(
            decisions > 0, np.maximum(raw, _ABOVE_HALF), np.minimum(raw, 1.0 - _ABOVE_HALF)
        )
        return np.where(decisions == 0, 0.5, bounded)


def fit_slopes(decisions: Array, signs: Array, weights: Array) -> Slopes:
    """Fit the slopes to decisions about rows with known labels.

    Shapes: decisions, signs, weights (n,).

    Platt (2000), "Probabilities for SV machines", for the targets, which are a little inside 0
    and 1; Lin, Lin and Weng (2007), "A note on Platt's probabilistic outputs".
    """
    n_positive, n_negative = weights[signs > 0].sum(), weights[signs < 0].sum()
    targets = np.where(signs > 0, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    above, below = decisions > 0, decisions < 0
    found = [
        _slope(np.abs(decisions[side]), right[side], weights[side])
        for side, right in ((above, targets), (below, 1.0 - targets))
    ]
    known = [slope for slope in found if slope is not None]
    fallback = known[0] if known else 1.0
    return Slopes(*(fallback if slope is None else slope for slope in found))


def _slope(sizes: Array, targets: Array, weights: Array) -> float | None:
    """Return the slope of greatest likelihood, bounded; None without rows."""
    if len(sizes) == 0:
        return None
    unit = float(np.average(sizes, weights=weights))
    scaled = sizes / unit

    def rising(slope: float) -> bool:
        return float(weights @ (scaled * (targets - expit(slope * scaled)))) > 0

    # The likelihood is concave in the slope: bisect its derivative, in logarithms.
    low, high = np.log(_LEAST_SLOPE), np.log(_MOST_SLOPE)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rising(float(np.exp(middle))) else (low, middle)
    return float(np.exp(0.5 * (low + high))) / unit


def coupled(pairwise: Array, n_classes: int) -> Array:
    """Return class probabilities that fit pairwise ones best.

    Shapes: pairwise (m, n_pairs) -> (m, n_classes).

    Wu, Lin and Weng (2004), "Probability estimates for multi-class classification by pairwise
    coupling", JMLR 5:975-1005, the second method.
    """
    m = len(pairwise)
    r = np.full((m, n_classes, n_classes), 0.5)
    for column, (first, second) in enumerate(pairs_of(n_classes)):
        r[:, first, second] = np.clip(pairwise[:, column], _OPEN, 1.0 - _OPEN)
        r[:, second, first] = 1.0 - r[:, first, second]
    system = np.zeros((m, n_classes + 1, n_classes + 1))
    inner = system[:, :n_classes, :n_classes]
    inner -= r * r.transpose(0, 2, 1)
    every = np.arange(n_classes)
    inner[:, every, every] = (r**2).sum(axis=1) - r[:, every, every] ** 2
    system[:, :n_classes, n_classes] = system[:, n_classes, :n_classes] = 1.0
    right = np.zeros((m, n_classes + 1, 1))
    right[:, n_classes] = 1.0
    found = np.maximum(np.linalg.solve(system, right)[:, :n_classes, 0], 0.0)
    normalised: Array = found / found.sum(axis=1, keepdims=True)
    return normalised


def agreeing(probabilities: Array, winners: Indices) -> Array:
    """Return the nearest probabilities whose greatest is that of the winner.

    The winner and the classes above it are given their common mean, the winner a trifle more.

    Shapes: probabilities (m, n_classes), winners (m,).
    """
    agreed = probabilities.copy()
    for row in np.flatnonzero(probabilities.argmax(axis=1) != winners):
        own, winner = agreed[row], int(winners[row])
        others = [k for k in np.argsort(-own, kind="stable") if k != winner]
        pool, mean = [winner], float(own[winner])
        for k in others:
            if own[k] < mean:
                break
            pool.append(int(k))
            mean = float(own[pool].mean())
        own[pool] = mean * (1.0 - _LEAD)
        own[winner] = mean * (1.0 + _LEAD * (len(pool) - 1))
    return agreed
