"""Checks of labels and weights that enter an inference."""

from typing import Any

import numpy as np

from parsimon._typing import Array
from parsimon._validation import finite_vector
from parsimon.exceptions import InvalidInputError


def checked_signs(y: Any) -> Array:
    """Return labels as floats, refusing anything but -1 and 1."""
    labels = finite_vector(y, "y")
    if not np.isin(labels, (-1.0, 1.0)).all():
        seen = labels[~np.isin(labels, (-1.0, 1.0))][0]
        raise InvalidInputError(f"Labels must be -1 and 1 here, got {seen:g}.")
    return labels
