"""Every derivative against a central difference of step 1e-5."""

import numpy as np
import pytest
from hypothesis import given

from parsimon.kernels import Constant, Periodic, SquaredExponential
from tests.kernels.examples import (
    LEAVES,
    X,
    Y,
    central_difference,
    combinations_of,
    identify,
)


def assert_theta_gradients(kernel):
    for second in (None, Y):
        gram, derivatives = kernel.gradients(X, second)
        np.testing.assert_allclose(gram, kernel.gram(X, second), rtol=1e-12, atol=1e-300)
        numeric = central_difference(
            lambda t, second=second: kernel.with_theta(t).gram(X, second), kernel.theta
        )
        assert derivatives.shape == (kernel.n_theta, *gram.shape)
        size = max(1.0, np.abs(gram).max())
        np.testing.assert_allclose(
            derivatives, numeric.reshape(derivatives.shape), **close_to(size)
        )
    numeric = central_difference(lambda t: kernel.with_theta(t).diagonal(X), kernel.theta)
    derivatives = kernel.diagonal_gradients(X)
    size = max(1.0, np.abs(kernel.diagonal(X)).max())
    np.testing.assert_allclose(derivatives, numeric.reshape(derivatives.shape), **close_to(size))


def assert_input_gradients(kernel):
    exact = kernel.input_gradient(X, Y)
    assert exact.shape == (len(X), len(Y), X.shape[1])
    size = max(1.0, np.abs(kernel.gram(X, Y)).max())
    for row in range(len(X)):
        numeric = central_difference(lambda x: kernel.gram(x[None], Y)[0], X[row])
        np.testing.assert_allclose(exact[row], numeric.T, **close_to(size))


def close_to(size):
    # The error of a central difference grows with the size of the function.
    return {"rtol": 1e-6, "atol": 1e-8 * size}


@pytest.mark.parametrize("kernel", LEAVES, ids=identify)
def test_leaves(kernel):
    assert_theta_gradients(kernel)
    assert_input_gradients(kernel)


@given(combinations_of(LEAVES))
def test_expressions(kernel):
    assert_theta_gradients(kernel)
    assert_input_gradients(kernel)


def test_a_product_with_a_zero_factor_has_its_derivatives():
    # Dividing the product by one factor to get the others would give NaN here.
    kernel = SquaredExponential(0, 1e-3) * SquaredExponential(1, 1e-3) * Periodic(2)
    gram, derivatives = kernel.gradients([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    assert gram[0, 1] == 0
    assert np.isfinite(derivatives).all()


@pytest.mark.parametrize("kernel", LEAVES, ids=identify)
def test_fixed_hyperparameters_leave_theta_and_its_derivatives(kernel):
    _, every = kernel.gradients(X)
    for name in kernel.hyperparameters:
        held = type(kernel)(**{**vars(kernel), "fixed": (name,)})
        numbers = [(own, value) for own in kernel.free for value in kernel.numbers(own)]
        kept = [place for place, (own, _) in enumerate(numbers) if own != name]
        np.testing.assert_array_equal(held.theta, kernel.theta[kept])
        np.testing.assert_array_equal(held.gradients(X)[1], every[kept])
        np.testing.assert_array_equal(held.gram(X), kernel.gram(X))


def test_a_kernel_without_free_hyperparameters():
    kernel = Constant(2.0, fixed="variance") + Constant(1.0, fixed=("variance",))
    assert kernel.theta.shape == (0,)
    assert kernel.gradients(X)[1].shape == (0, 9, 9)
    assert kernel.with_theta(kernel.theta) == kernel
    assert kernel.bounds(X).shape == (0, 2)
