"""An ordinary classifier from precisions that a search chose, instead of from maximum evidence."""

from typing import Any

import numpy as np
from sklearn.base import clone

from parsimon._typing import AnyArray, Array, Indices
from parsimon._weights import row_weights
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes import SparseBayes, SparseSoftmax, softmax_given
from parsimon.rvm.basis import Basis
from parsimon.rvm.classifier import RVC
from parsimon.rvm.machine import posterior_given
from parsimon.rvm.multiclass import checked_cutoff


def classifier_with(
    options: RVC,
    basis: Basis,
    X: Array,
    codes: Indices,
    classes: AnyArray,
    alpha: Array,
    *,
    cutoff: Any = 0.0,
    sample_weight: Any = None,
    design: Array | None = None,
    feature_names: Any = None,
    largest_score: float = 30.0,
) -> RVC:
    """Return a fitted classifier whose precisions are given.

    For two classes the weights are the mode by iteratively reweighted least squares, and their
    covariance is Laplace's; for more, those of the softmax likelihood with precisions that all
    classes share. The result is an ordinary `RVC`: it predicts, can be saved, and `clone` makes
    an unfitted one with the options, which `fit` would fit by evidence.

    Shapes: X (n, d), codes (n,), classes (n_classes,), alpha (M,), cutoff (n_classes,),
        sample_weight (n,), design (n, M), feature_names (d,).
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    if alpha.shape != (basis.n_columns,) or np.isnan(alpha).any() or (alpha < 0).any():
        raise InvalidInputError(
            f"alpha must be one precision, not negative, for each of {basis.n_columns} columns; "
            f"got shape {alpha.shape}."
        )
    X, codes, classes = np.asarray(X, dtype=np.float64), np.asarray(codes), np.asarray(classes)
    checked_cutoff(cutoff, len(classes))
    weights = row_weights(sample_weight, len(X))
    design = basis.design(X) if design is None else design
    model: RVC = clone(options).set_params(cutoff=cutoff, response="plug_in")
    model.classes_, model.n_features_in_ = classes, X.shape[1]
    if feature_names is not None:
        model.feature_names_in_ = np.asarray(feature_names, dtype=object)
    posterior: SparseBayes | SparseSoftmax
    if len(classes) == 2:
        posterior = posterior_given(
            design,
            codes.astype(np.float64),
            alpha,
            row_weights=weights,
            largest_score=largest_score,
        )
    else:
        posterior = _softmax_given(design, codes, len(classes), alpha, weights)
    model._store(basis, [posterior], (X, design, weights))
    return model


def _softmax_given(
    design: Array, codes: Indices, n_classes: int, alpha: Array, weights: Array
) -> SparseSoftmax:
    """Return the posterior of the columns in the model, counted in the whole dictionary."""
    active = np.flatnonzero(np.isfinite(alpha))
    result = softmax_given(
        design[:, active], codes.astype(np.intp), n_classes, alpha[active], row_weights=weights
    )
    pairs = np.column_stack([result.pairs[:, 0], active[result.pairs[:, 1]]])
    return SparseSoftmax(**vars(result) | {"pairs": pairs})
