"""scikit-learn's own checks, on both estimators with every kind of option."""

import pytest

from parsimon.rvm import RVC, RVR
from tests.contract import contract

VARIANTS = [
    RVC(gamma=0.3),
    RVC("features", response="plug_in", class_weight="balanced"),
    RVC("features", algorithm="variational", far_variance=False),
    RVC(multi_class="multinomial", gamma=0.3),
    RVC("precomputed", algorithm="em"),
    RVC("features", smoothness="bic"),
    RVC(gamma=0.3, centres=8, random_state=0),
    RVR(gamma=0.3),
    RVR("features", smoothness="aic"),
    RVR("precomputed", noise=0.1),
    RVR("features", algorithm="em", bias=False),
    RVR("features", algorithm="variational", far_variance=False),
    RVC(),
    RVR(),
]


@contract(RVC("features"), RVR("features"), *VARIANTS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [RVC, RVR])
def test_only_a_precomputed_kernel_is_pairwise(estimator):
    assert estimator("precomputed").__sklearn_tags__().input_tags.pairwise
    assert not estimator().__sklearn_tags__().input_tags.pairwise
    assert not estimator("features").__sklearn_tags__().input_tags.pairwise
