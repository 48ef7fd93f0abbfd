"""scikit-learn's contract: every check once a class, what an option can break for its variants."""

from functools import partial
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

# What an option can break, as it changes how a model is fitted and used: that it learns twice the
# same, from rows that weigh, and answers each row by itself. How options are set, copied and kept,
# how labels and types of numbers are read, and what is refused at the door, is the same code
# whatever they are. That a variant is accurate has tests of its own, and so have files of every
# kind of fit: tests/test_saved_estimators.py.
OF_VARIANTS = {
    "check_fit_idempotent",
    "check_methods_subset_invariance",
    "check_sample_weight_equivalence_on_dense_data",
}


def contract(*estimators: BaseEstimator, **options: Any) -> pytest.MarkDecorator:
    """Parametrise a test by estimator and check; `options` are those of scikit-learn.

    The first estimator of a class meets all checks; those after it only what an option can break,
    and what none before them has met, as a regressor does after a classifier.
    """
    for estimator in estimators:
        # Some checks fit without a seed: one draw in a hundred finds nothing in their few rows.
        if estimator.get_params(deep=False).get("random_state", 0) is None:
            estimator.set_params(random_state=0)
    every = parametrize_with_checks([*estimators], **options)
    names, cases = every.args
    first: dict[tuple[type, str], BaseEstimator] = {}
    hardest: dict[tuple[int, str], Any] = {}
    for case in cases:
        estimator, check = _parts(case)
        name = check.func.__name__
        met_by = first.setdefault((type(estimator), name), estimator)
        if met_by is not estimator and name not in OF_VARIANTS:
            continue
        before = hardest.get((id(estimator), name))
        # Of the forms of a check only the one whose table is also read-only and of another type.
        if before is None or len(check.keywords) >= len(_parts(before)[1].keywords):
            hardest[id(estimator), name] = case
    return pytest.mark.parametrize(names, list(hardest.values()), **every.kwargs)


def _parts(case: Any) -> tuple[BaseEstimator, partial[None]]:
    return getattr(case, "values", case)
