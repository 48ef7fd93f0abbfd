"""Checks at the door: numbers, labels and options that users give.

Each is made once, where a user's call comes in; an error is one sentence that says what was seen
and what is allowed.
"""

import difflib
import warnings
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError, ScalingWarning


def finite_matrix(values: Any, name: str = "values") -> Array:
    """Return `values` as a float matrix of shape (n, m), refusing NaN and infinities."""
    try:
        matrix = np.array(values, dtype=np.float64, ndmin=2)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must be numbers, got {error}.") from error
    if matrix.ndim != 2:
        raise InvalidInputError(
            f"{name} must have two dimensions (rows, columns), got shape {matrix.shape}."
        )
    bad = ~np.isfinite(matrix)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InvalidInputError(
            f"{name} must be finite, but {bad.sum()} of {bad.size} are not "
            f"(first: row {row}, column {column}). Remove or replace them."
        )
    return matrix


def finite_vector(values: Any, name: str = "values") -> Array:
    """Return `values` as a float vector, refusing NaN and infinities."""
    vector = np.asarray(values)
    if vector.ndim != 1:
        raise InvalidInputError(f"{name} must be one-dimensional, got shape {vector.shape}.")
    return finite_matrix(vector[:, None], name)[:, 0]


def binary_labels(y: Any, positive: Any = None) -> tuple[Indices, Any]:
    """Return 0/1 codes and the label that became 1.

    Without `positive` it is the greater label in sorted order, as in scikit-learn.
    """
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InvalidInputError(f"Labels must be one-dimensional, got shape {labels.shape}.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InvalidInputError("Labels hold NaN or infinity. Remove those rows.")
    classes = np.unique(labels)
    if len(classes) != 2:
        raise InvalidInputError(
            f"Two classes are needed, got {len(classes)}: {shorten(classes.tolist())}."
        )
    label = classes[1] if positive is None else positive
    if label not in classes:
        raise InvalidInputError(
            f"The positive label {positive!r} is not among the classes {classes.tolist()}."
        )
    return (labels == label).astype(np.intp), label


# Standard deviations this far apart leave the smaller columns without a say in a distance.
_FAR_APART = 1e3


def warn_of_units(X: Array, *, stacklevel: int = 3) -> None:
    """Warn if a distance over all columns would be that of the widest alone.

    Shapes: X (n, d).
    """
    spread = X.std(axis=0)
    varying = spread[spread > 0]
    if len(varying) > 1 and varying.max() >= _FAR_APART * varying.min():
        warnings.warn(
            f"The standard deviations of the columns go from {varying.min():.3g} to "
            f"{varying.max():.3g}, and one width for all of them sees the widest alone; put a "
            "StandardScaler before the model.",
            ScalingWarning,
            stacklevel=stacklevel,
        )


_LONGEST_NAME = 200


def did_you_mean(name: str, known: Iterable[Any]) -> str:
    """Return " Did you mean 'x'?" for the nearest of the known names, or nothing."""
    near = nearest_name(name, known)
    return f" Did you mean {near!r}?" if near else ""


def nearest_name(name: str, known: Iterable[Any]) -> str:
    """Return the known name that is most like another one, whatever its case; empty for none."""
    # The comparison takes the product of both lengths.
    lower = {str(word).lower(): str(word) for word in known if len(str(word)) <= _LONGEST_NAME}
    near = difflib.get_close_matches(str(name).lower()[:_LONGEST_NAME], lower, n=1)
    return lower[near[0]] if near else ""


def shorten(items: Sequence[Any], most: int = 5) -> str:
    """Return the first few items as text, for error messages."""
    shown = ", ".join(str(item) for item in items[:most])
    return shown if len(items) <= most else f"{shown}, ... ({len(items)} in all)"


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """Return `value` as an integer of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidInputError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return int(value)


def check_probability(name: str, value: Any) -> float:
    """Return `value` as a probability."""
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise InvalidInputError(f"{name} must be between 0 and 1, got {value!r}.")
    return float(value)


def check_positive(name: str, value: Any, *, or_zero: bool = False) -> float:
    """Return `value` as a finite positive number, zero included if asked."""
    number = float(value) if isinstance(value, Real) else float("nan")
    if not (0 < number < float("inf") or (or_zero and number == 0)):
        kind = "zero or a positive number" if or_zero else "a positive number"
        raise InvalidInputError(f"{name} must be {kind}, got {value!r}.")
    return number


def check_seconds(name: str, value: Any) -> float | None:
    """Return None, or `value` as a positive number of seconds."""
    if value is None:
        return None
    if not isinstance(value, Real) or not float(value) > 0:
        raise InvalidInputError(f"{name} must be None or positive seconds, got {value!r}.")
    return float(value)


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return `value` if it is one of `choices`."""
    # An array compared with a word is an array; identity or a plain True is meant here.
    if not any(value is choice or (value == choice) is True for choice in choices):
        allowed = " or ".join(
            f'"{choice}"' if isinstance(choice, str) else repr(choice) for choice in choices
        )
        raise InvalidInputError(f"{name} must be {allowed}, got {value!r}.")
    return value


def is_precomputed(estimator: Any) -> bool:
    """Return whether X holds similarities with the training rows instead of features."""
    return isinstance(estimator.kernel, str) and estimator.kernel == "precomputed"
