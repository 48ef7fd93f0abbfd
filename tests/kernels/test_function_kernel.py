"""A kernel of one's own: derivatives, algebra, fits, and files."""

import numpy as np
import pytest

import parsimon
from parsimon.exceptions import InvalidInputError
from parsimon.gp import GPClassifier, GPRegressor
from parsimon.kernels import FunctionKernel
from parsimon.kernels import SquaredExponential as SE

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
LABELS = (X[:, 0] > 0).astype(int)


def bump(A, B, width, power):
    distance = np.sqrt(((A[:, None] - B) ** 2).sum(axis=2))
    return (1 + distance / width) ** -power


def same(A, B):
    return np.exp(-0.5 * ((A[:, None] - B) ** 2).sum(axis=2))


def test_values_are_those_of_the_function_times_the_variance():
    kernel = FunctionKernel(same, 1, variance=2.0)
    np.testing.assert_allclose(kernel.gram(X), SE(1, variance=2.0).gram(X))
    np.testing.assert_allclose(kernel.diagonal(X), np.full(30, 2.0))


def test_derivatives_are_those_of_central_differences():
    kernel = FunctionKernel(bump, parameters=(0.7, 1.5), variance=1.3)
    assert len(kernel.theta) == 3
    _, slopes = kernel.gradients(X[:5], X[5:9])
    flat = kernel.diagonal_gradients(X[:4])
    for place in range(3):
        step = 1e-5 * (np.arange(3) == place)
        up, down = kernel.with_theta(kernel.theta + step), kernel.with_theta(kernel.theta - step)
        expected = (up.gram(X[:5], X[5:9]) - down.gram(X[:5], X[5:9])) / 2e-5
        np.testing.assert_allclose(slopes[place], expected, atol=1e-8)
        there = (up.diagonal(X[:4]) - down.diagonal(X[:4])) / 2e-5
        np.testing.assert_allclose(np.asarray(flat)[place], there, atol=1e-8)


def test_slopes_along_the_inputs_are_those_of_a_known_kernel():
    ours, theirs = (k.input_gradient(X[:4], X[4:7]) for k in (FunctionKernel(same, 0), SE(0)))
    np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_a_plain_function_fits_as_the_same_kernel_does():
    ours = GPClassifier(same, n_restarts=0).fit(X, LABELS)
    theirs = GPClassifier(SE(fixed=("lengthscale",)), n_restarts=0).fit(X, LABELS)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


def test_its_parameters_are_fitted_and_it_adds_to_others():
    y = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=30)
    start = FunctionKernel(bump, 0, parameters=(1.0, 2.0)) + SE(1)
    model = GPRegressor(start, n_restarts=0).fit(X, y)
    assert model.kernel_.theta.tolist() != start.theta.tolist()
    assert model.score(X, y) > 0.8
    assert [part.name for part in model.components(X)] == ["OWN_1", "SE_2"]


@pytest.mark.parametrize("kernel", [same, FunctionKernel(same, 0), SE(0) + FunctionKernel(same, 1)])
def test_it_is_saved_and_loaded_where_it_is_trusted(kernel, tmp_path):
    model = GPClassifier(kernel, n_restarts=0).fit(X, LABELS)
    path = tmp_path / "model.skops"
    with pytest.raises(InvalidInputError, match="trusted"):
        parsimon.save_model(model, path)
    parsimon.save_model(model, path, trusted=[same])
    with pytest.raises(InvalidInputError, match="trusted"):
        parsimon.load_model(path)
    again = parsimon.load_model(path, trusted=[same])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_lambda_cannot_be_saved(tmp_path):
    model = GPClassifier(lambda A, B: same(A, B), n_restarts=0).fit(X, LABELS)
    with pytest.raises(InvalidInputError, match="cannot be saved"):
        parsimon.save_model(model, tmp_path / "model.skops", trusted=[same])


def test_a_wrong_shape_is_told():
    with pytest.raises(InvalidInputError, match=r"shape \(30, 30\).*got shape \(30,\)"):
        FunctionKernel(lambda A, _: np.ones(len(A))).gram(X)
