"""Which model to recommend: the smallest that is probably not much worse than the best.

Losses are paired row by row and proper: minus the log probability of the class, or the squared
miss. Before the rows a smaller model is as good as the best with even odds, or else worse by a
half-normal amount whose scale is a fifth of what the best one loses. The rows give the difference
of the two with its standard error, and so a probability that the smaller one loses more than a
twentieth more (`probably_worse`).

The linear model takes the place of the best unless it is more probable than not that it loses so
much more: of many models on few rows the best looks better than it is, and on the small tables that
the rule was settled on (25 real ones and 64 drawn, apart from those of
`python -m benchmarks.peers report`, which judges it) nothing did as well on new rows as a rule that
begins there. The smallest model is then recommended of which that probability, beside the model
begun with, is below one tenth, and beside the best below one half; where something surely predicts
it must keep seven tenths of what that model gains over guessing. A model that is both smaller and
better in the folds than the linear one is never passed over for it. `is_better` says where guessing
is out of the question.

Probabilities that are too sure are tempered, as far as rows that were not seen ask for it.

All log odds of a model are multiplied by one slope between 0 and 1 (temperature scaling; Guo and
others 2017, ICML), so that the class that is called stays the same, and so does the order of rows.
A few dozen rows can determine one number, and no more.
"""

import math

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_ndtr
from scipy.stats import norm, ttest_1samp

from parsimon._typing import Array, Indices

# Parts of what the best loses: what is forgiven, and by how much a model is worse if it is worse.
TOLERANCE, _SPREAD = 0.05, 0.2
# From this probability on of being worse by more than the tolerance, a model is not recommended in
# place of a larger one, nor the linear one in place of the best.
LIKELY, PROVED = 0.1, 0.5
# The least part of the gain over guessing that a smaller model keeps, where there surely is one.
KEPT = 0.7
# With a smaller one-sided probability under chance alone, a model is better than guessing.
_CHANCE = 0.05


def probably_worse(gap: float, error: float) -> float:
    """Return how probable it is that a model is worse than the best by more than the tolerance.

    gap, error: By how much its mean loss is above the best one's on the same rows, and the standard
        error of that, as parts of what the best loses.
    """
    error = max(error, 1e-9)
    reach = math.hypot(error, _SPREAD)
    middle, spread = gap * (_SPREAD / reach) ** 2, error * _SPREAD / reach
    above_zero = float(log_ndtr(middle / spread))
    worse = norm.logpdf(gap, scale=reach) + math.log(2.0) + above_zero
    odds = worse - norm.logpdf(gap, scale=error)
    beyond = float(log_ndtr((middle - TOLERANCE) / spread)) - above_zero
    return float(expit(odds)) * math.exp(min(beyond, 0.0))


def beats_chance(gains: Array) -> bool:
    """Return whether gains over guessing, one for each unit of rows, are above zero beyond chance.

    Student's paired test, one-sided.
    """
    # Equal gains differ by rounding.
    if len(gains) < 2 or gains.std() <= 1e-12 * abs(gains.mean()):
        return bool(len(gains) > 1 and gains.mean() > 0)
    return bool(ttest_1samp(gains, 0.0, alternative="greater").pvalue < _CHANCE)


# No model is taken to be surer than this.
SURE = 1e-6
# A slope from here on is taken for 1.
_SLIGHT = 0.95


def temper(chances: Array, slope: float) -> Array:
    """Return probabilities whose log odds are multiplied by the slope, shape (m, c)."""
    if slope == 1.0:
        return chances
    logs = slope * np.log(np.maximum(chances, SURE))
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def tempered_slope(chances: Array, codes: Indices) -> float:
    """Return the slope up to 1 of the least log loss on rows that a model has not seen.

    Shapes: chances (n, c), codes (n,).
    """
    rows = np.arange(len(codes))

    def loss(slope: float) -> float:
        own = temper(chances, slope)[rows, codes]
        return float(-np.log(np.maximum(own, SURE)).mean())

    best = minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-4})
    return 1.0 if best.x > _SLIGHT or loss(1.0) <= best.fun else float(best.x)
