"""Gaussian processes on a matrix of similarities, and lines by name."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from parsimon.datasets import load
from parsimon.exceptions import InvalidInputError
from parsimon.gp import GPClassifier, GPRegressor
from parsimon.kernels import Constant, Linear, SquaredExponential, Sum
from parsimon.rvm import RVC
from parsimon.svm import EvolutionarySVC

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(60, 2)), 2 * RNG.normal(size=(20, 2))
TWO = np.where(X[:, 0] + X[:, 1] ** 2 - 1 + 0.3 * RNG.normal(size=60) > 0, "b", "a")
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
NUMBER = np.sin(2 * X[:, 0])
KERNEL = SquaredExponential(lengthscale=1.3, variance=2.0)


@pytest.mark.parametrize("kernel", [KERNEL, KERNEL + Linear()])
@pytest.mark.parametrize("multi_class", ["one_vs_rest", "softmax"])
@pytest.mark.parametrize("y", [TWO, THREE])
def test_the_matrix_of_a_kernel_gives_what_the_kernel_gives(kernel, multi_class, y):
    options = {"optimise": False, "multi_class": multi_class}
    ours = GPClassifier(kernel, **options).fit(X, y)
    theirs = GPClassifier("precomputed", **options).fit(kernel.gram(X), y)
    assert theirs.log_evidence_ == pytest.approx(ours.log_evidence_, abs=1e-4)
    expected = ours.predict_proba(X)
    np.testing.assert_allclose(theirs.predict_proba(kernel.gram(X)), expected, atol=1e-5)
    np.testing.assert_allclose(
        theirs.leave_one_out().probability, ours.leave_one_out().probability, atol=1e-5
    )
    new = theirs.predict_proba(kernel.gram(NEW, X))
    # A row's similarity with itself is known if it is the same for all.
    tolerance = 1e-5 if kernel is KERNEL else 0.08
    np.testing.assert_allclose(new, ours.predict_proba(NEW), atol=tolerance)


@pytest.mark.parametrize("return_cov", [False, True])
def test_a_number_from_the_matrix_of_a_kernel(return_cov):
    options = {"optimise": False, "noise": 0.01}
    ours = GPRegressor(KERNEL, **options).fit(X, NUMBER)
    theirs = GPRegressor("precomputed", **options).fit(KERNEL.gram(X), NUMBER)
    assert theirs.log_evidence_ == pytest.approx(ours.log_evidence_, abs=1e-3)
    asked = {"return_std": not return_cov, "return_cov": return_cov}
    mean, spread = theirs.predict(KERNEL.gram(NEW, X), **asked)
    expected = ours.predict(NEW, **asked)
    np.testing.assert_allclose(mean, expected[0], atol=1e-4)
    if return_cov:
        spread, expected = np.diagonal(spread), (None, np.diagonal(expected[1]))
    np.testing.assert_allclose(spread, expected[1], atol=1e-4)


def test_scale_and_level_are_fitted_by_default():
    gram = SquaredExponential(lengthscale=1.3).gram(X)
    models = [GPClassifier("precomputed", n_restarts=0).fit(c * gram, TWO) for c in (1.0, 5.0)]
    evidence = [model.log_evidence_ for model in models]
    assert evidence[0] == pytest.approx(evidence[1], abs=1e-3)
    held = GPClassifier("precomputed", optimise=False).fit(gram, TWO)
    assert evidence[0] > held.log_evidence_


def test_folds_are_cut_out_of_rows_and_columns():
    model = GPClassifier("precomputed", n_restarts=0)
    assert model.__sklearn_tags__().input_tags.pairwise
    assert not clone(model).set_params(kernel=None).__sklearn_tags__().input_tags.pairwise
    assert cross_val_score(model, KERNEL.gram(X), TWO, cv=3).mean() > 0.7


@pytest.mark.parametrize("model", [GPClassifier("precomputed"), GPRegressor("precomputed")])
def test_matrices_that_are_no_covariance_are_refused(model):
    y = THREE if isinstance(model, GPClassifier) else NUMBER
    with pytest.raises(InvalidInputError, match="square, symmetric matrix"):
        model.fit(X, y)
    with pytest.raises(InvalidInputError, match="positive semi-definite"):
        model.fit(KERNEL.gram(X) - 3 * np.eye(60), y)


@pytest.mark.parametrize("model", [GPClassifier("linear"), GPRegressor("linear")])
def test_lines_by_name_need_not_go_through_zero(model):
    rows = X + 10.0
    y = np.where(rows[:, 0] > 10, 1, 0) if isinstance(model, GPClassifier) else rows[:, 0] + 5
    model.fit(rows, y)
    assert isinstance(model.kernel_, Sum)
    assert {type(term) for term in model.kernel_.terms} == {Constant, Linear}
    assert model.score(rows, y) > 0.95


def test_a_constant_mends_lines_on_pima():
    data = load("pima_cleaned")
    rows = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    named = GPClassifier("linear", n_restarts=0).fit(rows, data.target)
    through_zero = GPClassifier(Linear(), n_restarts=0).fit(rows, data.target)
    assert named.log_evidence_ > through_zero.log_evidence_ + 20
    assert named.leave_one_out().error < through_zero.leave_one_out().error - 0.015


def test_the_name_means_elsewhere_what_it_means_in_svc():
    """Their machines have an intercept of their own: the kernel is the inner product alone."""
    machine = EvolutionarySVC(kernel="linear", random_state=0).fit(X, TWO)
    np.testing.assert_allclose(machine.kernel_.gram(X), X @ X.T)
    assert RVC(kernel="linear").fit(X, TWO).score(X, TWO) > 0.5
