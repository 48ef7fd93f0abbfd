"""scikit-learn's own checks, on every estimator and option."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from parsimon.gp import GPClassifier, GPRegressor


@parametrize_with_checks(
    [
        GPClassifier(n_restarts=0),
        GPClassifier(inference="laplace", n_restarts=1),
        GPClassifier(multi_class="softmax", n_restarts=0),
        GPClassifier("rbf", response="plug_in", inference="laplace", class_weight="balanced"),
        GPClassifier(optimise=False, form="low_rank"),
        GPRegressor(),
        GPRegressor("rbf", noise=0.1, normalise_y=False, n_restarts=0),
        GPRegressor(optimise=False, noise="estimate", form="dense"),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
