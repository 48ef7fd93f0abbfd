"""scikit-learn's own checks, on the classifier with every kind of option."""

import pytest

from parsimon.kernels import Sigmoid
from parsimon.svm.classifier import EvolutionarySVC
from tests.contract import contract

VARIANTS = [
    EvolutionarySVC(kernel=Sigmoid(scale=0.1, offset=1.0), stall=2),
    EvolutionarySVC(kernel="precomputed", indefinite="clip"),
    EvolutionarySVC(strategy="hybrid"),
]


@contract(EvolutionarySVC(probability=True), *VARIANTS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("kernel", "pairwise"), [("precomputed", True), ("rbf", False)])
def test_only_a_precomputed_kernel_is_pairwise(kernel, pairwise):
    tags = EvolutionarySVC(kernel=kernel).__sklearn_tags__()
    assert tags.input_tags.pairwise == pairwise
