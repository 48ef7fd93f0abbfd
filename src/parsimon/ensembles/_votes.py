"""What all votes share: two classes, folds, and a line from log odds of votes to probabilities."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from parsimon._data import validate_data
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference.logistic import fit_logistic

# Votes of none and of all are not certain: this far from 0 and 1.
_EDGE = 0.01


class TwoClassVote(ClassifierMixin, ABC):
    """A classifier of yes and no."""

    classes_: AnyArray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @abstractmethod
    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities in the order of `classes_`, shape (m, 2)."""

    def predict(self, X: Any) -> Any:
        """Return the more probable class of each row, shape (m,)."""
        is_positive = self.predict_proba(X)[:, 1] > 0.5
        return self.classes_[is_positive.astype(np.intp)]

    def _codes(self, y: Any) -> Indices:
        """Store the two classes; return 1 where y is the greater one, shape (n,)."""
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        n = len(self.classes_)
        if n != 2:
            raise InvalidInputError(
                "Only binary classification is supported: members say yes or no. y has "
                f"{n} {'class' if n == 1 else 'classes'}."
            )
        return codes

    def _rows(self, X: Any) -> Array:
        check_is_fitted(self)
        rows: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return rows


def class_folds(codes: Indices, n_folds: int) -> Indices:
    """Return the fold of each row, in turn through each class, so that no chance is needed."""
    folds = np.empty(len(codes), dtype=np.intp)
    for code in (0, 1):
        own = np.flatnonzero(codes == code)
        folds[own] = np.arange(len(own)) % n_folds
    return folds


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
    odds = _log_odds(votes)
    x = np.column_stack([odds, np.ones(len(votes))])
    # Counted from slope 1 and offset 0, where the penalty holds the line.
    found = fit_logistic(x, codes.astype(np.float64), offset=odds, penalty=np.array([1.0, 0.1]))
    slope, offset = (0.0, 0.0) if found is None else found.tolist()
    # Votes against the truth teach nothing; a slope must keep their order.
    return VoteCalibration(max(1.0 + slope, 1e-3), offset)


def two_columns(positive: Array) -> Any:
    """Return probabilities of no and yes, shapes (n,) -> (n, 2)."""
    return np.column_stack([1.0 - positive, positive])


def _log_odds(votes: Array) -> Array:
    odds: Array = logit(_EDGE + (1.0 - 2.0 * _EDGE) * votes)
    return odds
