from parsimon.phylo import PGLS, PhyRVM
from tests.contract import contract


@contract(
    PGLS(),
    PhyRVM(),
    PGLS(method="REML", fit_intercept=False, prediction="marginal"),
    PhyRVM(kernel="rbf", fit_intercept=False, prediction="marginal"),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
