"""The sparse classifier keeps scikit-learn's contract."""

from parsimon.gp.sparse import SparseGPClassifier
from parsimon.kernels import SquaredExponential
from tests.contract import contract


# Small batches in the last: its larger tables are fitted by mini-batches.
@contract(
    SparseGPClassifier(SquaredExponential(), n_inducing=6, tol=1.0, random_state=0),
    SparseGPClassifier(n_inducing=3, tol=1.0, random_state=0),
    SparseGPClassifier(n_inducing=5, batch_size=40, tol=0.1, random_state=0),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
