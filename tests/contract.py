"""scikit-learn's contract: every check for an estimator, the numerical ones for its variants."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

# What an option can break, as it changes how a model is fitted and used: that it learns, twice the
# same, from rows that weigh, and answers each row by itself. How options are set, copied and kept,
# how labels and types of numbers are read, and what is refused at the door, is the same code
# whatever they are. Files of every kind of fit: tests/test_saved_estimators.py.
NUMERICAL = {
    "check_classifiers_one_label",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_train",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_subset_invariance",
    "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_transformer_general",
}
# What a fit that chooses its own options by folds can break beside that; it takes seconds each.
# That what it chose is accurate, agrees with itself and survives a file has tests of its own.
CHOOSING = {
    "check_fit_idempotent",
    "check_methods_subset_invariance",
    "check_sample_weight_equivalence_on_dense_data",
}


def contract(
    estimators: list[BaseEstimator],
    variants: list[BaseEstimator],
    choosing: Sequence[BaseEstimator] = (),
    **options: Any,
) -> pytest.MarkDecorator:
    """Parametrise a test by estimator and check; `options` are those of scikit-learn."""
    for estimator in (*estimators, *variants, *choosing):
        # Some checks fit without a seed: one draw in a hundred finds nothing in their few rows.
        if estimator.get_params(deep=False).get("random_state", 0) is None:
            estimator.set_params(random_state=0)
    every = parametrize_with_checks([*estimators, *variants, *choosing], **options)
    some = {id(one): NUMERICAL for one in variants} | {id(one): CHOOSING for one in choosing}
    names, cases = every.args
    hardest: dict[tuple[int, str], Any] = {}
    for case in cases:
        estimator, check = _parts(case)
        name = check.func.__name__
        if name not in some.get(id(estimator), {name}):
            continue
        before = hardest.get((id(estimator), name))
        # Of the forms of a check only the one whose table is also read-only and of another type.
        if before is None or len(check.keywords) >= len(_parts(before)[1].keywords):
            hardest[id(estimator), name] = case
    return pytest.mark.parametrize(names, list(hardest.values()), **every.kwargs)


def _parts(case: Any) -> tuple[BaseEstimator, partial[None]]:
    return getattr(case, "values", case)
