"""What the functions of sparse Bayesian learning accept: one sentence where it is refused."""

from typing import Any, Literal, TypeAlias

import numpy as np

from parsimon._options import check_choice, check_count, check_positive
from parsimon._typing import Array
from parsimon._validation import finite_vector
from parsimon.exceptions import InvalidInputError

Prior: TypeAlias = Literal["ard", "smooth"]
Smoothness: TypeAlias = Literal["aic", "bic", "ric"] | float


def binary_targets(labels: Any) -> Array:
    """Return labels 0 or 1 as floats."""
    targets = finite_vector(labels, "labels")
    if not np.isin(targets, (0.0, 1.0)).all():
        raise InvalidInputError("labels must be 0 or 1; code the classes first.")
    return targets


def weights_of_rows(row_weights: Any, n_rows: int) -> Array:
    """Return one weight a row, ones if none are given."""
    if row_weights is None:
        return np.ones(n_rows)
    weights = finite_vector(row_weights, "row_weights")
    if len(weights) != n_rows:
        raise InvalidInputError(
            f"row_weights must have one entry for each of {n_rows} rows, got {len(weights)}."
        )
    if (weights < 0).any() or not weights.any():
        raise InvalidInputError("row_weights must not be negative, and not all of them zero.")
    return weights


def smoothness_weight(prior: str, smoothness: str | float, n_rows: float) -> float:
    r"""Return c of the log prior :math:`-c \, DF`: 1, :math:`\frac12\log n` or :math:`\log n`."""
    if check_choice("prior", prior, ("ard", "smooth")) == "ard":
        return 0.0
    if not isinstance(smoothness, str):
        return check_positive("smoothness", smoothness, or_zero=True)
    name: str = check_choice("smoothness", smoothness, ("aic", "bic", "ric"))
    logarithm = float(np.log(max(n_rows, 1.0)))
    return {"aic": 1.0, "bic": 0.5 * logarithm, "ric": logarithm}[name]


def check_budget(
    tolerance: float, max_iter: int, time_limit: float | None
) -> tuple[float, int, float | None]:
    """Return the three after a check of each."""
    limit = None if time_limit is None else check_positive("time_limit", time_limit)
    return check_positive("tolerance", tolerance), check_count("max_iter", max_iter), limit
