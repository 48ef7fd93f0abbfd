"""What all votes share: two classes, how wrong labels are, folds, and a line to probabilities."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice
from parsimon._data import validate_data
from parsimon._typing import AnyArray, Array, Indices, Mask
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
        return validate_data(self, X, dtype=np.float64, reset=False)


ERRORS = ("auc", "balanced", "misclassification")
# Of a coin, which says yes to half of either class.
_COIN = {"auc": 0.75, "balanced": 0.5, "misclassification": 0.5}


class ErrorOf:
    """The error of blocks of labels against the truth, and its standard error.

    kind: "auc", one minus the conservative area T (1 - F); "balanced", one minus the mid-rank
        area; "misclassification"; or a callable ``loss(y, labels)`` of two vectors of 0 and 1.
    """

    def __init__(self, kind: str | Callable[[Any, Any], float], y: Indices) -> None:
        if not callable(kind):
            check_choice("error", kind, ERRORS)
        self.kind, self.y = kind, y
        positive = y == 1
        self.sizes = int(positive.sum()), int((~positive).sum())
        shares = [positive / max(1, self.sizes[0]), ~positive / max(1, self.sizes[1])]
        self._shares = np.column_stack(shares).astype(np.float32)

    def __call__(self, labels: Mask) -> Array:
        """Return the errors of labels, shapes (b, n) -> (b,)."""
        if callable(self.kind):
            return np.array([float(self.kind(self.y, row)) for row in labels.astype(np.intp)])
        rates = self.rates(labels)
        return self._of_rates(rates[:, 0], rates[:, 1])

    def rates(self, labels: Mask) -> Array:
        """Return true and false positive rates, shapes (b, n) -> (b, 2)."""
        counts = np.rint((labels.astype(np.float32) @ self._shares) * np.array(self.sizes))
        return counts / np.array(self.sizes, dtype=np.float64)

    def _of_rates(self, tpr: Array, fpr: Array) -> Array:
        if self.kind == "auc":
            return 1.0 - tpr * (1.0 - fpr)
        if self.kind == "balanced":
            return 0.5 * (1.0 - tpr + fpr)
        n_positive, n_negative = self.sizes
        return (n_positive * (1.0 - tpr) + n_negative * fpr) / (n_positive + n_negative)

    @property
    def of_a_coin(self) -> float:
        """The error of labels drawn by a coin; infinite for a loss of one's own."""
        return _COIN[self.kind] if isinstance(self.kind, str) else float("inf")

    def standard_error(self, labels: Mask) -> float:
        """Return how far the error of one classifier is from that of endless rows, shape (n,).

        Binomial in each class, with one row more of either kind so that it is never zero.
        """
        tpr, fpr = self.rates(labels[None])[0]
        (p, n) = self.sizes
        t, f = (tpr * p + 1) / (p + 2), (fpr * n + 1) / (n + 2)
        variance_t, variance_f = t * (1 - t) / p, f * (1 - f) / n
        if self.kind == "auc":
            return float(np.sqrt((1 - f) ** 2 * variance_t + t**2 * variance_f))
        shares = (0.5, 0.5) if self.kind == "balanced" else (p / (p + n), n / (p + n))
        return float(np.sqrt(shares[0] ** 2 * variance_t + shares[1] ** 2 * variance_f))


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
        return expit(self.slope * _log_odds(votes) + self.offset)


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


def _log_odds(votes: Array) -> Array:
    return logit(_EDGE + (1.0 - 2.0 * _EDGE) * votes)
