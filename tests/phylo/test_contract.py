from sklearn.utils.estimator_checks import parametrize_with_checks

from parsimon.phylo import PGLS, PhyRVM


@parametrize_with_checks(
    [
        PGLS(),
        PGLS(method="REML", fit_intercept=False, prediction="marginal"),
        PhyRVM(),
        PhyRVM(kernel="rbf", fit_intercept=False, prediction="marginal"),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
