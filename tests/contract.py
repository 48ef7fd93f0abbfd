"""scikit-learn's contract: every check for an estimator, the numerical ones for its variants."""

from functools import partial
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

# What an option can break, as it changes how a model is fitted and used. How options are set and
# copied, and what is refused at the door, is the same code whatever they are.
NUMERICAL = {
    "check_class_weight_classifiers",
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_train",
    "check_decision_proba_consistency",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_estimators_dtypes",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_non_transformer_estimators_n_iter",
    "check_regressors_int",
    "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weights_not_overwritten",
    "check_transformer_general",
    "check_transformer_preserve_dtypes",
}


def contract(
    estimators: list[BaseEstimator], variants: list[BaseEstimator], **options: Any
) -> pytest.MarkDecorator:
    """Parametrise a test by estimator and check; `options` are those of scikit-learn."""
    every = parametrize_with_checks(estimators, **options)
    names, cases = every.args
    chosen = list(cases)
    for variant in variants:
        hardest: dict[str, Any] = {}
        for case in parametrize_with_checks([variant], **options).args[1]:
            check = _check_of(case)
            before = hardest.get(check.func.__name__)
            # One of the forms of a check: the one that is also read-only, or of another type.
            if before is None or len(check.keywords) >= len(_check_of(before).keywords):
                hardest[check.func.__name__] = case
        chosen += [case for name, case in hardest.items() if name in NUMERICAL]
    return pytest.mark.parametrize(names, chosen, **every.kwargs)


def _check_of(case: Any) -> partial[None]:
    return getattr(case, "values", case)[1]
