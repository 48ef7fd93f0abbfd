"""One currency for all models: each counts the numbers that its rows determine."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.datasets import load_iris
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from parsimon.bpm import BayesPointClassifier
from parsimon.features import parse
from parsimon.features.expressions import Expression
from parsimon.features.operations import OPERATIONS
from parsimon.features.series import SeriesExtractor
from parsimon.features.series.smooth import smooth_kernel
from parsimon.features.series.tree_methods import METHODS
from parsimon.kernels import SquaredExponential
from parsimon.statistician.families import model_size
from parsimon.statistician.families._size import (
    _written_numbers,
    linear_freedom,
    machine_freedom,
    smoother_trace,
)
from parsimon.statistician.families.feature_fronts import formula_bits
from parsimon.statistician.families.gp._kernel_result import pivot_regressor
from parsimon.svm import ParetoSVC

rng = np.random.default_rng(3)
X = rng.normal(size=(40, 7)) @ np.diag([3.0, 1.0, 1.0, 0.5, 0.2, 0.1, 0.1])
Y = X[:, 0] + rng.normal(size=40)


def sized(model, X=X):
    return model_size(model, n_rows=len(X), n_columns=X.shape[1], X=X)


def divergence(fitted, y, step=1e-5):
    """Return by how much each fitted value follows its own target, in all, (n, ...)."""
    total = 0.0
    for place in np.ndindex(y.shape):
        up, down = y.copy(), y.copy()
        up[place] += step
        down[place] -= step
        total += (fitted(up)[place] - fitted(down)[place]) / (2 * step)
    return total


@pytest.mark.parametrize(
    ("formula", "numbers"),
    [("exp(a - b)", 0), ("-a*b", 0), ("a - 1", 1), ("exp(2*a - b)", 1), ("log(0.5 - a/3)", 2)],
)
def test_a_minus_is_no_number_of_a_formula(formula, numbers):
    assert _written_numbers(parse(formula)) == numbers


@pytest.mark.parametrize("alpha", [0.1, 5.0, 300.0])
@pytest.mark.parametrize("constant", [True, False])
def test_the_freedom_of_ridge_is_how_far_fitted_values_follow_the_target(alpha, constant):
    def fitted(y):
        return Ridge(alpha=alpha, fit_intercept=constant).fit(X, y).predict(X)

    found = linear_freedom(Ridge(alpha=alpha, fit_intercept=constant).fit(X, Y), X)
    assert found == pytest.approx(divergence(fitted, Y), abs=1e-6)


def test_a_ridge_of_three_degrees_pays_for_three_numbers():
    model = make_pipeline(StandardScaler(), RidgeCV([110.0])).fit(X, Y)
    freedom = linear_freedom(model[-1], model[0].transform(X))
    assert 2.5 < freedom < 3.5
    size = sized(model)
    assert size.words == "3 numbers"
    full = model_size(model, n_rows=40, n_columns=7)
    assert full.words == "8 numbers"
    assert full.bits - size.bits == pytest.approx((8 - freedom) * np.log2(40) / 2)
    assert sized(LinearRegression().fit(X, Y)).words == "8 numbers"
    assert sized(Lasso(alpha=0.5).fit(X, Y)).numbers == 2


def test_a_number_is_half_the_logarithm_of_the_rows():
    """And the columns are told: how many of seven, and which."""
    whole, few = sized(LinearRegression().fit(X, Y)), sized(Lasso(alpha=0.5).fit(X, Y))
    assert whole.bits == pytest.approx(8 * np.log2(40) / 2 + np.log2(8))
    assert few.bits == pytest.approx(2 * np.log2(40) / 2 + np.log2(8) + np.log2(7))


def fitted_shares(y, price, n_classes):
    """Return what penalised logistic regression fits to targets that need not be classes."""
    design = np.column_stack([X, np.ones(len(X))])

    def penalised(flat):
        weights = flat.reshape(n_classes, -1)
        scores = design @ weights.T
        if n_classes == 1:
            loss = np.logaddexp(0.0, scores).sum() - (y * scores).sum()
            slope = expit(scores) - y
        else:
            top = scores.max(axis=1, keepdims=True)
            logs = scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
            loss, slope = -(y * logs).sum(), softmax(scores, axis=1) * y.sum(1, keepdims=True) - y
        # The last penalty settles a common shift of the constants, which says nothing.
        squares = np.column_stack([weights[:, :-1] / price, 1e-9 * weights[:, -1:]])
        return loss + 0.5 * (squares * weights).sum(), (slope.T @ design + squares).ravel()

    begin = np.zeros(n_classes * design.shape[1])
    found = minimize(
        penalised, begin, jac=True, tol=1e-13, options={"maxiter": 5000, "gtol": 1e-11}
    )
    scores = design @ found.x.reshape(n_classes, -1).T
    return expit(scores) if n_classes == 1 else softmax(scores, axis=1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_freedom_of_logistic_regression_is_how_far_probabilities_follow_the_labels(n_classes):
    codes = (np.arange(40) + (X[:, 0] > 0)) % n_classes
    price = 0.3
    model = LogisticRegression(C=price, tol=1e-10, max_iter=5000).fit(X, codes)
    labels = np.eye(n_classes)[codes]
    if n_classes == 2:
        labels = labels[:, 1:]
    slow = divergence(lambda y: fitted_shares(y, price, labels.shape[1]), labels, step=1e-4)
    assert linear_freedom(model, X) == pytest.approx(slow, rel=2e-3)
    assert slow < (n_classes - 1) * 8


def test_only_classes_that_share_a_softmax_save_one_function():
    X, y = load_iris(return_X_y=True)
    joint, rest = LogisticRegression(max_iter=500), OneVsRestClassifier(LogisticRegression())
    shared = model_size(joint.fit(X, y), n_rows=150, n_columns=4)
    apart = model_size(rest.fit(X, y), n_rows=150, n_columns=4)
    assert shared.numbers == 10
    assert apart.numbers == 15
    assert apart.words == "3 functions, 15 numbers"
    machine = BayesPointClassifier(noise_sd=1e-3).fit(X, y)
    assert 10 < machine.degrees_of_freedom_ <= 15
    assert sized(machine, X).numbers == round(machine.degrees_of_freedom_)


def test_the_freedom_of_a_bayes_point_machine_is_the_trace_of_its_smoother():
    y = (Y > 0).astype(int)
    model = BayesPointClassifier(noise_sd=2.0).fit(X, y)
    unit = X.std(axis=0)
    left = 4.0 * np.trace(model.coef_covariance_[0] * np.outer(unit, unit))
    assert 7 - left < model.degrees_of_freedom_ < 8 - left
    assert model_size(model, n_rows=40, n_columns=7).numbers == round(model.degrees_of_freedom_)
    # Under a strong prior only the constant counts.
    assert BayesPointClassifier(noise_sd=100.0).fit(X, y).degrees_of_freedom_ < 1.5


def test_the_freedom_of_a_machine_is_that_of_a_process_with_its_kernel():
    K = X @ X.T
    precision = rng.uniform(0.1, 2.0, 40)
    direct = np.trace(K @ np.linalg.inv(K + np.diag(1 / precision)))
    assert smoother_trace(K, precision) == pytest.approx(direct)
    y = (Y > 0).astype(int)
    cheap, dear = (SVC(kernel="linear", C=C).fit(X, y) for C in (1e-3, 1.0))
    assert machine_freedom(cheap, X) < machine_freedom(dear, X) < 7
    search = make_pipeline(StandardScaler(), ParetoSVC(n_points=5, max_iter=1, random_state=0))
    size = sized(search.fit(X, y))
    assert re.fullmatch(r"\d+ rows of the table, \d+ numbers", size.words)
    assert size.bits < model_size(search, n_rows=40, n_columns=7).bits
    # Without a row it says the same of all, whatever its kernel sees.
    constant = sized(search[-1].select(0))
    assert (constant.used, constant.words) == ((), "1 number")


def test_the_freedom_of_features_of_series_is_that_of_their_smooth_function():
    series = rng.normal(size=(30, 12))
    codes = (series[:, 3:8].mean(axis=1) > 0).astype(int)
    search = SeriesExtractor(max_features=2, max_iter=0, random_state=0).fit(series, codes)
    model = search.best_estimator_
    K = smooth_kernel(model.Z, model.Z, model.inner.width)
    values = np.linalg.eigvalsh(K)
    freedom = np.sum(values / (values + model.inner.noise))
    options = sum(len(step.options) for tree in model.trees for step in tree.steps)
    size = model_size(model, n_rows=30, n_columns=1)
    assert size.words == f"{len(model.trees)} features, {round(freedom + options + 2)} numbers"
    bits = sum(tree.size for tree in model.trees) * np.log2(len(METHODS))
    assert size.bits == pytest.approx(bits + 0.5 * (freedom + options + 2) * np.log2(30))


def test_a_process_of_few_rows_is_counted_as_a_process():
    size = sized(pivot_regressor(SquaredExponential(lengthscale=3.0), X, Y, 0.5))
    assert "byte" not in size.words
    K = SquaredExponential(lengthscale=3.0).gram(X)
    freedom = smoother_trace(K, np.full(40, 1 / 0.5))
    # Kernel and noise are told too.
    assert freedom < size.numbers < freedom + 5


def test_the_explanation_has_the_bits_of_the_code():
    page = Path("docs/explanation/size-of-models.md").read_text()
    sign = next(line for line in page.splitlines() if line.startswith("| a sign of a formula"))
    assert formula_bits([Expression.column("x")]) == pytest.approx(np.log2(len(OPERATIONS) + 2))
    assert f"log₂ {len(OPERATIONS) + 2} " in sign
    assert f"one of {len(OPERATIONS)} operations" in sign
