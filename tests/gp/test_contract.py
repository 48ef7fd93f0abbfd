"""scikit-learn's own checks, on every estimator and option."""

from parsimon.gp import GPClassifier, GPRegressor
from tests.contract import contract


@contract(
    GPClassifier("rbf", n_restarts=0),
    GPRegressor("rbf", n_restarts=0),
    GPClassifier("rbf", inference="laplace", n_restarts=1),
    GPClassifier("rbf", response="plug_in", n_restarts=0, class_weight="balanced"),
    GPClassifier(optimise=False, form="low_rank"),
    GPRegressor("rbf", noise=0.1, normalise_y=False),
    GPRegressor(optimise=False, noise="estimate", form="dense"),
    GPClassifier(),
    GPRegressor(),
    GPClassifier("rbf", multi_class="softmax", n_restarts=0),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
