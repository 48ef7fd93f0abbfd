"""What a fitted machine shows of itself: which rows or features matter, and how much."""

from typing import Any, NamedTuple

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.rvm.basis import Basis
from parsimon.rvm.columns import BumpColumns, DictionaryColumns, KernelColumns, TableColumns


class Shown(NamedTuple):
    """Weights and precisions by row or feature, for k functions; one function has no first axis.

    Shapes: coef (k, n_relevant), intercept (k,), bias_alpha (k,).

    relevance (n_relevant,): Row, feature or centre of each function in the model, without the
        bias.
    relevance_vectors (n_relevant, d): No rows where functions are no places.
    """

    relevance: Indices
    relevance_vectors: Array
    coef: Array
    intercept: Any
    alpha: Array
    bias_alpha: Any


def shown(basis: Basis, weights: Array, alpha: Array, n_features: int) -> Shown:
    """Return what is shown of the functions in a model.

    Shapes: weights, alpha (k, n_columns).
    """
    first = int(basis.has_bias)
    intercept = weights[:, 0] if first else np.zeros(len(weights))
    bias_alpha = alpha[:, 0] if first else np.full(len(weights), np.inf)
    coef, precision = weights[:, first:], alpha[:, first:]
    functions = basis.functions
    if isinstance(functions, TableColumns) and functions.word == "feature":
        coef = _spread_out(coef, basis.places, n_features, 0.0)
        precision = _spread_out(precision, basis.places, n_features, np.inf)
    vectors = np.empty((0, n_features)) if basis.centres is None else basis.centres
    if len(weights) == 1:
        return Shown(
            basis.places, vectors, coef[0], float(intercept[0]), precision[0], float(bias_alpha[0])
        )
    return Shown(basis.places, vectors, coef, intercept, precision, bias_alpha)


def source(basis: Basis) -> Any:
    """Return what the functions come from: a kernel, a dictionary, or the name of a table."""
    functions = basis.functions
    if isinstance(functions, KernelColumns):
        return functions.kernel
    if isinstance(functions, BumpColumns | DictionaryColumns):
        return functions.dictionary
    is_feature = isinstance(functions, TableColumns) and functions.word == "feature"
    return "features" if is_feature else "precomputed"


def _spread_out(table: Array, places: Indices, width: int, otherwise: float) -> Array:
    whole = np.full((len(table), width), otherwise)
    whole[:, places] = table
    return whole
