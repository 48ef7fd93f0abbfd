"""From the share of votes to a probability, by a line on the scale of log odds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from parsimon._typing import Array, Indices

# Votes of none and of all are not certain: this far from 0 and 1.
_EDGE = 0.01


@dataclass(frozen=True)
class VoteCalibration:
    """Log odds of the probability: slope times log odds of the vote, plus an offset."""

    slope: float
    offset: float

    def probability(self, votes: Array) -> Array:
        """Return probabilities of yes, which rise strictly with the votes, shape (n,)."""
        found: Array = expit(self.slope * _log_odds(votes) + self.offset)
        return found


def fitted_vote_calibration(votes: Array, codes: Indices) -> VoteCalibration:
    """Return the line of greatest likelihood, held weakly at slope 1 and offset 0.

    Votes should come from members that had not seen the rows. Shapes: votes (n,), codes (n,).
    """
    x = np.column_stack([_log_odds(votes), np.ones(len(votes))])
    wished, precision = np.array([1.0, 0.0]), np.array([1.0, 0.1])
    line = wished.copy()
    for _ in range(50):
        p = expit(x @ line)
        gradient = x.T @ (codes - p) - precision * (line - wished)
        curvature = (x * (p * (1 - p))[:, None]).T @ x + np.diag(precision)
        step = np.linalg.solve(curvature, gradient)
        # Steps beyond 2 overshoot where the logistic curve is flat.
        line = line + step * min(1.0, 2.0 / max(1e-12, float(np.abs(step).max())))
        if np.abs(step).max() < 1e-10:
            break
    # Votes against the truth teach nothing; a slope must keep their order.
    return VoteCalibration(max(float(line[0]), 1e-3), float(line[1]))


def two_columns(positive: Array) -> Any:
    """Return probabilities of no and yes, shapes (n,) -> (n, 2)."""
    return np.column_stack([1.0 - positive, positive])


def _log_odds(votes: Array) -> Array:
    odds: Array = logit(_EDGE + (1.0 - 2.0 * _EDGE) * votes)
    return odds
