"""Which setting a model takes: one for all splits, as the source seems to have, or one for each.

The source says that the validation rows choose. Its numbers of support vectors deviate by 1.3 to
3.1 rows between the splits (table 4.1), as they do here at one setting for all of them, C = 0.01
and nu = 0.5 on Sonar, C = 0.1 and nu = 0.1 on Breast; where each split has its own choice, they
deviate by 14 to 42. So literal is one setting for all splits, by the mean validation error, ties
within 0.001 by the printed evidence where it is finite. Corrected is the setting that each split's
own validation rows choose, ties by their mean log probability, which is one number for all
settings, while an evidence of other rows, or of no likelihood, is not.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parsimon._typing import Array, Indices

LITERAL, CORRECTED = "literal", "corrected"
# Validation errors nearer than this are ties.
TIE = 1e-3


class Tried(NamedTuple):
    """One setting on one split.

    error, log_probability: Of the validation rows; the mean of the latter.
    evidence: The printed form.
    test: Figures that a table asks for, the error on the test rows first.
    """

    error: float
    log_probability: float
    evidence: float
    test: tuple[float, ...]


def chosen(tried: Sequence[Sequence[Tried]], form: str) -> Indices:
    """Return the place of each split's setting; of `tried` there is one list for each split."""
    errors, logs, evidences = (
        np.array([[one[field] for one in split] for split in tried]) for field in range(3)
    )
    if form == LITERAL:
        errors, logs = errors.mean(axis=0, keepdims=True), evidences.mean(axis=0, keepdims=True)
    is_tie = errors <= errors.min(axis=1, keepdims=True) + TIE
    # Of settings without a finite number the first.
    worth = np.where(np.isfinite(logs), logs, np.finfo(np.float64).min)
    places = np.argmax(np.where(is_tie, worth, -np.inf), axis=1)
    return np.broadcast_to(places, len(tried))


def figures(tried: Sequence[Sequence[Tried]], form: str, places: Indices | None = None) -> Array:
    """Return the test figures of each split's setting, shape (n_splits, n_figures)."""
    places = chosen(tried, form) if places is None else places
    return np.array([split[place][-1] for split, place in zip(tried, places, strict=True)])
