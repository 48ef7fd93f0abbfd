"""scikit-learn's own checks of both transductive estimators."""

import pytest

from parsimon.svm.pareto_transductive import ParetoTransductiveSVC
from parsimon.svm.transductive import TransductiveSVC
from tests.contract import contract


def expected_failures(estimator):
    return {
        "check_classifiers_classes": "-1 marks a row without a label, as in scikit-learn's own "
        "semi-supervised classifiers, which this check excepts by name",
        "check_sample_weight_equivalence_on_dense_data": "the solvers stop at a tolerance, as SVC",
    }


# Some checks have labels that nothing can predict.
@pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning")
@contract(
    TransductiveSVC(max_iter=2, stall=1, population_size=4),
    ParetoTransductiveSVC(population_size=12, max_iter=2),
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
