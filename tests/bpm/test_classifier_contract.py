"""scikit-learn's own checks, with every kind of option."""

import pytest

from parsimon.bpm import BayesPointClassifier
from tests.contract import contract

VARIANTS = [
    BayesPointClassifier("rbf", prior="ard"),
    BayesPointClassifier("poly"),
    BayesPointClassifier("precomputed"),
    BayesPointClassifier(inference="power"),
    BayesPointClassifier(prior="ard", noise="gaussian"),
    BayesPointClassifier(noise_sd="loo"),
    BayesPointClassifier(inference="adf"),
    BayesPointClassifier("rbf"),
    BayesPointClassifier(label_noise="learn"),
]


def expected_failures(estimator):
    if estimator.inference == "adf":
        return {
            "check_sample_weight_equivalence_on_dense_data": "one pass depends on the rows' order",
        }
    return {}


@contract(
    BayesPointClassifier(),
    *VARIANTS,
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_only_a_precomputed_kernel_is_pairwise():
    assert BayesPointClassifier("precomputed").__sklearn_tags__().input_tags.pairwise
    assert not BayesPointClassifier().__sklearn_tags__().input_tags.pairwise


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_a_stream_needs_a_linear_kernel(kernel):
    model = BayesPointClassifier(kernel)
    assert not hasattr(model, "partial_fit")
    assert not hasattr(model, "merge")
    with pytest.raises(AttributeError, match='partial_fit needs kernel="linear"'):
        model.partial_fit([[0.0], [1.0]], [0, 1])
