"""Each leaf against its formula, written out for two rows, and against scikit-learn."""

import math

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as scikit
from sklearn.metrics.pairwise import (
    laplacian_kernel,
    polynomial_kernel,
    rbf_kernel,
    sigmoid_kernel,
)

from parsimon.exceptions import InvalidInputError
from parsimon.kernels import (
    Constant,
    Epanechnikov,
    GaussianCombination,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    SquaredExponential,
)
from tests.kernels.examples import LEAVES, X, Y, identify

u, w = (0.3, -1.2, 2.0), (1.1, 0.4, 1.5)
squares = [(a - b) ** 2 for a, b in zip(u, w, strict=True)]
products = [a * b for a, b in zip(u, w, strict=True)]
BY_HAND = [
    (SquaredExponential(1, 2.0, 3.0), 3 * math.exp(-squares[1] / 8)),
    (
        SquaredExponential((2, 0), (2.0, 0.5)),
        math.exp(-squares[2] / 8 - squares[0] / 0.5),
    ),
    (Matern(0, 2.0, 3.0, nu=0.5), 3 * math.exp(-0.8 / 2)),
    (RationalQuadratic(1, 2.0, 3.0, 0.7), 3 * (1 + squares[1] / 4 / 1.4) ** -0.7),
    (
        Periodic((0, 1), 2.0, 0.5, 3.0),
        3 * math.exp(-8 * (math.sin(math.pi * 0.4) ** 2 + math.sin(math.pi * 0.8) ** 2)),
    ),
    (Laplacian((0, 1), (2.0, 4.0), 3.0), 3 * math.exp(-0.8 / 2 - 1.6 / 4)),
    (Linear((1, 0), 2.0, (0.1, -0.2)), 2 * ((-1.3) * 0.3 + 0.5 * 1.3)),
    (Polynomial((0, 2), 0.5, 0.7, 3, 2.0), 2 * (0.5 * (products[0] + products[2]) + 0.7) ** 3),
    (Sigmoid((0, 2), 0.5, 0.7, 2.0), 2 * math.tanh(0.5 * (products[0] + products[2]) - 0.7)),
    (Epanechnikov((0, 1), 5.0, 1.5, 2.0), 2 * (1 - (squares[0] + squares[1]) / 5) ** 1.5),
    (Epanechnikov(None, 1.0, 1.5), 0.0),
    (
        GaussianCombination(0, (1.0, 2.0, 3.0), 2.0),
        2 * (math.exp(-0.64) + math.exp(-0.32) - math.exp(-0.64 / 3)),
    ),
    (Multiquadric(1, 0.5, 0.3, 2.0), 2 * math.sqrt(2 * squares[1] + 0.09)),
    (Constant(2.5), 2.5),
]


@pytest.mark.parametrize(("kernel", "value"), BY_HAND, ids=lambda item: f"{item}")
def test_formula(kernel, value):
    assert kernel.gram([u], [w])[0, 0] == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (SquaredExponential(lengthscale=1.7), scikit.RBF(1.7)),
        (SquaredExponential(lengthscale=(1, 2, 3, 4)), scikit.RBF([1, 2, 3, 4])),
        (Matern(lengthscale=1.7, nu=0.5), scikit.Matern(1.7, nu=0.5)),
        (Matern(lengthscale=1.7, nu=1.5), scikit.Matern(1.7, nu=1.5)),
        (Matern(lengthscale=(1, 2, 3, 4), nu=2.5), scikit.Matern([1, 2, 3, 4], nu=2.5)),
        (RationalQuadratic(None, 1.7, mixture=0.6), scikit.RationalQuadratic(1.7, alpha=0.6)),
        (Linear(), scikit.DotProduct(0.0)),
    ],
)
def test_scikit_learn_agrees(ours, theirs):
    np.testing.assert_allclose(ours.gram(X, Y), theirs(X, Y), rtol=1e-12)


def test_scikit_learns_periodic_kernel_agrees_on_one_column():
    theirs = scikit.ExpSineSquared(0.8, 1.7)(X[:, [2]], Y[:, [2]])
    np.testing.assert_allclose(Periodic(2, 1.7, 0.8).gram(X, Y), theirs, rtol=1e-10)


@pytest.mark.parametrize("n_columns", [1, 2, 15, 16, 60])
def test_distances_of_few_and_many_columns(n_columns, rng):
    left, right = (rng.normal(1e3, 1, size=(n, n_columns)) for n in (7, 5))
    lengthscale = n_columns**0.5
    ours = SquaredExponential(lengthscale=lengthscale)
    difference = left[:, None, :] - right[None, :, :]
    exact = np.exp(-np.sum(difference**2, axis=2) / (2 * n_columns))
    np.testing.assert_allclose(ours.gram(left, right), exact, rtol=1e-12)
    np.testing.assert_array_equal(np.diag(ours.gram(left)), np.ones(7))


@pytest.mark.parametrize("kernel", LEAVES, ids=identify)
def test_diagonal_and_columns_are_parts_of_the_gram_matrix(kernel):
    gram = kernel.gram(X)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(gram), rtol=1e-12)
    np.testing.assert_allclose(kernel.column(X, 6), gram[:, 6], rtol=1e-12)
    np.testing.assert_allclose(gram, gram.T, rtol=1e-13)
    np.testing.assert_allclose(kernel.gram(X, X[[2, 7]]), gram[:, [2, 7]], rtol=1e-12)


@pytest.mark.parametrize(
    "kernel", [leaf for leaf in LEAVES if leaf.columns is not None], ids=identify
)
def test_other_columns_do_not_matter(kernel):
    others = [column for column in range(4) if column not in kernel.columns]
    changed = X.copy()
    changed[:, others] += 17.0
    np.testing.assert_array_equal(kernel.gram(changed), kernel.gram(X))


def test_columns_are_sorted_with_what_belongs_to_them():
    kernel = SquaredExponential((3, 1), (0.3, 0.1))
    assert (kernel.columns, kernel.lengthscale) == ((1, 3), (0.1, 0.3))
    assert Linear((3, 1), centre=[0.3, 0.1]).centre == (0.1, 0.3)
    assert SquaredExponential(np.array([3, 1])).columns == (1, 3)


def test_names_of_scikit_learn_have_its_meaning():
    from parsimon.kernels.adapters import as_kernel

    options = {"gamma": 0.3, "degree": 2, "coef0": 0.7}
    for name, theirs in [
        ("rbf", rbf_kernel(X, Y, gamma=0.3)),
        ("laplacian", laplacian_kernel(X, Y, gamma=0.3)),
        ("poly", polynomial_kernel(X, Y, degree=2, gamma=0.3, coef0=0.7)),
        ("sigmoid", sigmoid_kernel(X, Y, gamma=0.3, coef0=0.7)),
        ("linear", X @ Y.T),
    ]:
        ours = as_kernel(name, **options).gram(X, Y)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SquaredExponential(0, lengthscale=-1.0), "lengthscale must be positive"),
        (lambda: SquaredExponential(0, lengthscale=np.nan), "lengthscale must be positive"),
        (lambda: SquaredExponential(0, variance=np.inf), "variance must be positive and finite"),
        (lambda: SquaredExponential(0, variance=(1.0, 2.0)), "variance must be one number"),
        (lambda: SquaredExponential(0, lengthscale="long"), "lengthscale must be a number"),
        (lambda: SquaredExponential((0, 1), (1.0, 2.0, 3.0)), "3 values for 2 columns"),
        (lambda: SquaredExponential(-1), "columns must be None, a column number"),
        (lambda: SquaredExponential(0.5), "columns must be None, a column number"),
        (lambda: SquaredExponential(()), "columns must be None, a column number"),
        (lambda: SquaredExponential((1, 1)), "columns must differ"),
        (lambda: SquaredExponential(0, fixed=("nu",)), "cannot fix 'nu'"),
        (lambda: Matern(0, nu=1.0), "nu must be 0.5, 1.5 or 2.5"),
        (lambda: Polynomial(degree=1.5), "degree must be an integer of at least 1"),
        (lambda: Polynomial(degree=0), "degree must be an integer of at least 1"),
        (lambda: Polynomial(offset=np.nan), "offset must be finite"),
        (lambda: Sigmoid(offset="a"), "offset must be a number"),
        (lambda: Linear(centre=np.inf), "centre must be finite"),
        (lambda: GaussianCombination(widths=(1.0, 2.0)), "widths must be three"),
        (lambda: GaussianCombination(widths=2.0), "widths must be three"),
    ],
)
def test_what_cannot_be_a_kernel(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda k: k.gram(X[:, 0]), r"two dimensions .* X\[:, None\]"),
        (lambda k: k.gram([[1.0, np.nan]]), "X must be finite"),
        (lambda k: k.gram([[1.0, 2.0]], [[np.inf, 2.0]]), "Y must be finite"),
        (lambda k: k.gram(np.array([[1.0, np.nan]])), "X must be finite"),
        (lambda k: k.diagonal(np.array([[np.inf, 2.0], [-np.inf, 2.0]])), "X must be finite"),
        (lambda k: k.gram([[1.0]]), "uses column 1 .* only 1 columns"),
        (lambda k: k.gram(X, Y[:, :3]), "X has 4 columns and Y has 3"),
        (lambda k: k.diagonal(X[0]), "two dimensions"),
        (lambda k: k.gradients([["a", "b"]]), "X must be numbers"),
    ],
)
def test_what_cannot_be_an_input(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(SquaredExponential(1))


def test_lengthscales_must_fit_all_columns():
    with pytest.raises(InvalidInputError, match="lengthscale has 3 values, but X has 4 columns"):
        SquaredExponential(lengthscale=(1.0, 2.0, 3.0)).gram(X)


def test_a_laplacian_of_a_thousand_columns_is_the_product_over_them():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(4, 1200)), rng.normal(size=(3, 1200))
    expected = np.exp(-np.abs(left[:, None] - right[None]).sum(axis=2) / 700)
    np.testing.assert_allclose(Laplacian(lengthscale=700.0).gram(left, right), expected, rtol=1e-12)
