"""What a search over kernels minimises, and what it looks at before it cross-validates."""

import math
from typing import Literal, TypeAlias

import numpy as np

from parsimon.gp.judging import Folded, Whole

Guide: TypeAlias = Literal["cv_error", "cv_logloss", "loo_logloss", "nlml", "bic"]

GUIDES = ("cv_error", "cv_logloss", "loo_logloss", "nlml", "bic")
# Decimals to which guides are compared: an error to 0.01 %, evidence to 0.01 (He's program).
_DECIMALS = {"cv_error": 4, "cv_logloss": 4, "loo_logloss": 4, "nlml": 2, "bic": 2}


def bic(whole: Whole, n_rows: int) -> float:
    """Return minus twice the log evidence plus the number of hyperparameters times log n.

    As in the kernel search for regression by Duvenaud et al. (2013), section 4.
    """
    return -2 * whole.log_evidence + whole.n_theta * math.log(n_rows)


def needs_folds(guide: Guide) -> bool:
    """Say whether a guide is measured on the folds."""
    return guide.startswith("cv_")


def guide_value(guide: Guide, whole: Whole, folded: Folded | None, n_rows: int) -> float:
    """Return what the guide says of a kernel, less being better; NaN if it is not yet known."""
    if guide == "nlml":
        return -whole.log_evidence
    if guide == "bic":
        return bic(whole, n_rows)
    if guide == "loo_logloss":
        return whole.loss
    if folded is None:
        return math.nan
    return float(np.mean(folded.errors if guide == "cv_error" else folded.losses))


def first_look(guide: Guide, whole: Whole, n_rows: int) -> tuple[float, float]:
    """Return the key that decides who is cross-validated: leave-one-out's view of the guide."""
    if guide == "cv_error":
        return rounded(guide, whole.error), whole.loss
    if guide == "cv_logloss":
        return rounded(guide, whole.loss), -whole.log_evidence
    return rounded(guide, guide_value(guide, whole, None, n_rows)), -whole.log_evidence


def rounded(guide: Guide, value: float) -> float:
    """Return a guide's value as precisely as two kernels are told apart."""
    return round(value, _DECIMALS[guide])


def deviation(guide: Guide, whole: Whole, folded: Folded | None) -> float:
    """Return the standard error of the guide's value; NaN where there is none."""
    if guide == "loo_logloss":
        return whole.loss_deviation
    if folded is None or not needs_folds(guide):
        return math.nan
    values = folded.errors if guide == "cv_error" else folded.losses
    return standard_error(values)


def standard_error(values: tuple[float, ...]) -> float:
    """Return the standard error of a mean over folds; NaN for a single fold."""
    if len(values) < 2:
        return math.nan
    return float(np.std(values, ddof=1) / math.sqrt(len(values)))
