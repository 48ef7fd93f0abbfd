"""How wrong labels are: the errors that chains walk on and pruning ranks by."""

from collections.abc import Callable
from typing import Any

import numpy as np

from parsimon._checks import check_choice
from parsimon._typing import Array, Indices, Mask

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
            losses = [float(self.kind(self.y, one)) for one in labels.astype(np.intp)]
            return np.array(losses)
        rates = self.rates(labels)
        return self._of_rates(rates[:, 0], rates[:, 1])

    def rates(self, labels: Mask) -> Array:
        """Return true and false positive rates, shapes (b, n) -> (b, 2)."""
        counts = np.rint((labels.astype(np.float32) @ self._shares) * np.array(self.sizes))
        rates: Array = counts / np.array(self.sizes, dtype=np.float64)
        return rates

    def _of_rates(self, tpr: Array, fpr: Array) -> Array:
        if self.kind == "auc":
            return 1.0 - tpr * (1.0 - fpr)
        if self.kind == "balanced":
            return 0.5 * (1.0 - tpr + fpr)
        n_positive, n_negative = self.sizes
        wrong: Array = (n_positive * (1.0 - tpr) + n_negative * fpr) / (n_positive + n_negative)
        return wrong

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
