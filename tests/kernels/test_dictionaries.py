import numpy as np
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.kernels import MultiResolution
from tests.kernels.examples import X, Y


def test_each_column_is_a_gaussian_bump():
    basis = MultiResolution(width=1.5).basis(X, Y)
    assert basis.shape == (9, 15)
    for level, width in enumerate([1.5, 0.75, 0.375]):
        for centre in range(5):
            expected = np.exp(-np.sum((X - Y[centre]) ** 2, axis=1) / width**2)
            np.testing.assert_allclose(basis[:, 5 * level + centre], expected, rtol=1e-12)


def test_options():
    with_bias = MultiResolution(1.5, bias=True).basis(X, Y)
    assert with_bias.shape == (9, 16)
    np.testing.assert_array_equal(with_bias[:, 0], np.ones(9))
    np.testing.assert_array_equal(with_bias[:, 1:], MultiResolution(1.5).basis(X, Y))
    assert MultiResolution(1.0, n_levels=4).widths == (1.0, 0.5, 0.25, 0.125)
    chosen = MultiResolution(1.5, columns=(2, 0)).basis(X, Y)
    np.testing.assert_array_equal(chosen, MultiResolution(1.5).basis(X[:, [0, 2]], Y[:, [0, 2]]))


@pytest.mark.parametrize("n_levels", [1, 3])
def test_the_sum_over_widths_is_a_kernel(n_levels):
    dictionary = MultiResolution(1.5, columns=(0, 2), n_levels=n_levels)
    basis = dictionary.basis(X, Y).reshape(9, n_levels, 5)
    kernel = dictionary.summed()
    np.testing.assert_allclose(kernel.gram(X, Y), basis.sum(axis=1), rtol=1e-12)
    assert kernel.is_psd


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MultiResolution(0.0), "width must be positive"),
        (lambda: MultiResolution(1.0, n_levels=0), "n_levels must be 1 or more"),
        (lambda: MultiResolution(1.0, columns=-1), "columns must be None"),
        (lambda: MultiResolution().basis(X, Y[:, :2]), "X has 4 columns and centres has 2"),
        (lambda: MultiResolution(columns=4).basis(X, Y), "uses column 4"),
        (lambda: MultiResolution().basis(X[:, 0], Y), "two dimensions"),
    ],
)
def test_what_cannot_be(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


def test_it_is_a_value():
    assert MultiResolution(1.0, columns=2) == MultiResolution(1.0, columns=(2,))
    assert hash(MultiResolution(1.0)) != hash(MultiResolution(2.0))
