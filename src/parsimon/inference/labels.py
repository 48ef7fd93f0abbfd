"""Checks of labels and weights that enter an inference."""

from typing import Any

import numpy as np

from parsimon._typing import Array
from parsimon._validation import finite_vector
from parsimon.exceptions import InvalidInputError


def checked_signs(y: Any) -> Array:
    """Return labels as floats, refusing anything but -1 and 1.

    Examples
    --------
    >>> checked_signs([1, -1])
    array([ 1., -1.])
    """
    labels = finite_vector(y, "y")
    if not np.isin(labels, (-1.0, 1.0)).all():
        seen = labels[~np.isin(labels, (-1.0, 1.0))][0]
        raise InvalidInputError(f"Labels must be -1 and 1 here, got {seen:g}.")
    return labels


def checked_weights(weights: Any, n_rows: int) -> Array:
    """Return weights as floats, ones if there are none, refusing negative ones.

    Examples
    --------
    >>> checked_weights(None, 2)
    array([1., 1.])
    """
    if weights is None:
        return np.ones(n_rows)
    checked = finite_vector(weights, "weights")
    if len(checked) != n_rows:
        raise InvalidInputError(f"There are {n_rows} rows but {len(checked)} weights.")
    if (checked < 0).any() or not (checked > 0).any():
        raise InvalidInputError(
            f"Weights must not be negative and some must be positive; the least is "
            f"{checked.min():g}, the greatest {checked.max():g}."
        )
    return checked
