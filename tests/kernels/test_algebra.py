"""Sums and products are arithmetic on Gram matrices; kernels are values."""

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.kernels import Constant, Linear, Product, SquaredExponential, Sum
from tests.kernels.examples import (
    DEFINITE,
    INDEFINITE,
    LEAVES,
    X,
    Y,
    combinations_of,
    frozen,
    identify,
)

SE = SquaredExponential
kernels = combinations_of(LEAVES)


@given(kernels, kernels, kernels)
def test_algebra_is_arithmetic_on_gram_matrices(a, b, c):
    for left, right in [
        (a * b + c, a.gram(X, Y) * b.gram(X, Y) + c.gram(X, Y)),
        (a * (b + c), a.gram(X, Y) * (b.gram(X, Y) + c.gram(X, Y))),
        ((a + b) * c, (a.gram(X, Y) + b.gram(X, Y)) * c.gram(X, Y)),
        (a + b * c, a.gram(X, Y) + b.gram(X, Y) * c.gram(X, Y)),
        (Product((a, Sum((b, c)))), a.gram(X, Y) * (b.gram(X, Y) + c.gram(X, Y))),
    ]:
        size = np.abs(right).max()
        np.testing.assert_allclose(left.gram(X, Y), right, rtol=1e-9, atol=1e-12 * size)


@given(kernels)
def test_diagonal_of_an_expression(kernel):
    gram = np.diag(kernel.gram(X))
    np.testing.assert_allclose(kernel.diagonal(X), gram, rtol=1e-9, atol=1e-12 * abs(gram).max())


@given(
    combinations_of(DEFINITE),
    st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).normal(size=(12, 4))),
)
def test_positive_semi_definite_where_claimed(kernel, X):
    assert kernel.is_psd
    gram = kernel.gram(frozen(X))
    assert np.linalg.eigvalsh(gram).min() >= -1e-10 * np.trace(gram)


@pytest.mark.parametrize("kernel", INDEFINITE, ids=identify)
def test_indefinite_leaves_do_not_claim_it_and_have_negative_eigenvalues(kernel):
    assert not kernel.is_psd
    assert not (kernel + Constant()).is_psd
    assert not (Linear(0) * kernel).is_psd
    for seed in range(200):
        rows = np.random.default_rng(seed).normal(size=(40, 4))
        gram = kernel.gram(rows)
        if np.linalg.eigvalsh(gram).min() < -1e-6 * np.abs(gram).max():
            return
    pytest.fail("no negative eigenvalue in 200 tables")


@given(kernels)
def test_theta_round_trip(kernel):
    theta = kernel.theta
    assert theta.shape == (kernel.n_theta,) == (len(kernel.theta_names),)
    np.testing.assert_allclose(kernel.with_theta(theta).theta, theta, atol=1e-12)
    shifted = kernel.with_theta(theta + 0.25)
    np.testing.assert_allclose(shifted.theta, theta + 0.25, atol=1e-12)
    np.testing.assert_array_equal(kernel.theta, theta)
    assert type(shifted) is type(kernel)


@given(kernels)
def test_kernels_are_values(kernel):
    copy = pickle.loads(pickle.dumps(kernel))
    assert copy == kernel
    assert hash(copy) == hash(kernel)
    assert len({copy, kernel}) == 1
    if kernel.n_theta:
        assert kernel.with_theta(kernel.theta + 0.1) != kernel


def test_nothing_can_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError, match="variance"):
        SE(0).variance = 2.0
    with pytest.raises(dataclasses.FrozenInstanceError, match="terms"):
        (SE(0) + SE(1)).terms = ()


def test_equality_sees_everything():
    different = [
        SE(0),
        SE(1),
        SE(0, 2.0),
        SE(0, 1.0, 2.0),
        SE(0, fixed="variance"),
        SE(),
        Linear(0),
        Linear(0, centre=1.0),
        SE(0) + SE(1),
        SE(1) + SE(0),
        SE(0) * SE(1),
        Product((SE(0), SE(1))),
        Sum((SE(0), SE(1), SE(2))),
        Sum((SE(0), Sum((SE(1), SE(2))))),
    ]
    assert len(set(different)) == len(different)
    assert SE(0, 1, 2) == SE((0,), 1.0, 2.0)


def test_only_the_same_operator_is_flattened():
    a, b, c, d = (SE(column) for column in range(4))
    assert (a + b + (c + d)).terms == (a, b, c, d)
    assert len((a * b + c).terms) == 2
    assert len(((a + b) * c).terms) == 2
    assert len((a * b * (c * d)).terms) == 4
    assert str(a * b + c * (d + a)) == "SE_1 × SE_2 + SE_3 × (SE_4 + SE_1)"


def test_numbers_are_constants():
    kernel = SE(0, variance=3.0)
    assert kernel + 2 == kernel + Constant(2.0)
    assert 2 + kernel == Constant(2.0) + kernel
    assert (np.float64(2.0) * kernel) == 2.0 * kernel == Constant(2.0) * kernel
    np.testing.assert_allclose((2.0 * kernel).gram(X), 2 * kernel.gram(X))
    assert sum([SE(0), SE(1)]) == SE(0) + SE(1)
    with pytest.raises(InvalidInputError, match="variance must be positive"):
        -2.0 * kernel
    for combine in (lambda: kernel + "SE", lambda: None + kernel, lambda: kernel * None):
        with pytest.raises(TypeError, match="unsupported operand"):
            combine()


def test_a_product_has_one_variance():
    product = SE(0, variance=2.0) * SE(1, variance=3.0) * SE(2, variance=5.0)
    assert [term.variance for term in product.terms] == [30.0, 1.0, 1.0]
    assert [term.fixed for term in product.terms] == [(), ("variance",), ("variance",)]
    assert Product(tuple(SE(c, variance=2.0) for c in range(3))).n_theta == 6


def test_a_sum_in_a_product_keeps_the_ratio_of_its_variances():
    kernel = SE(0, variance=2.0) * (SE(1, variance=3.0) + SE(2, variance=6.0))
    first, second = kernel.terms
    assert first.variance == 6.0
    assert [term.variance for term in second.terms] == [1.0, 2.0]
    assert [term.fixed for term in second.terms] == [("variance",), ()]


@given(kernels, kernels)
def test_tying_twice_changes_nothing(a, b):
    product = a * b
    assert product.tied() == product
    assert sum(term.scale_is_free for term in product.terms) <= 1


def test_fixed_variances():
    held = SE(0, variance=2.0, fixed="variance")
    free = SE(1, variance=3.0)
    assert (held * held).terms == (held, held)
    assert (held * free).terms == (SE(0, variance=6.0), SE(1, fixed="variance"))
    both = held + held
    assert (both * free).terms == (both, free)
    assert (free * both).terms == (free, both)


@given(kernels, kernels)
def test_tying_leaves_what_can_be_expressed(a, b):
    literal, tied = Product((a, b)), a * b
    # A scale that was free in the parts is free in the product, and one that was not is not.
    assert literal.scale_is_free == tied.scale_is_free
    rank = {k: np.linalg.matrix_rank(_log_slopes(k), tol=1e-7) for k in (literal, tied)}
    assert rank[literal] == rank[tied]


def _log_slopes(kernel):
    gram, derivatives = kernel.gradients(X, Y)
    return derivatives.reshape(len(derivatives), -1) / np.abs(gram).max()


def test_active_columns_are_gathered():
    assert (SE(3) * SE(1) + SE((0, 3))).columns == (0, 1, 3)
    assert (SE(3) + SE()).columns is None
    assert Constant().columns == ()
    assert (Constant() * SE(2)).columns == (2,)


def test_theta_of_the_wrong_length():
    for kernel in (SE(0), SE(0) + SE(1)):
        with pytest.raises(InvalidInputError, match=r"theta must have shape \(\d,\)"):
            kernel.with_theta(np.zeros(7))


def test_a_combination_needs_two_kernels():
    with pytest.raises(InvalidInputError, match="A Sum needs two or more kernels"):
        Sum((SE(0),))
    with pytest.raises(InvalidInputError, match="A Product needs two or more kernels"):
        Product((SE(0), 2.0))
