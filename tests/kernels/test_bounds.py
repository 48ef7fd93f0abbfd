"""Bounds and first values that come from the data."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy.spatial.distance import pdist

from parsimon import datasets
from parsimon.exceptions import InvalidInputError
from parsimon.kernels import (
    Constant,
    Epanechnikov,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Periodic,
    Polynomial,
    Product,
    RationalQuadratic,
    Sigmoid,
    SquaredExponential,
)
from tests.kernels.examples import LEAVES, X, combinations_of, frozen

SE = SquaredExponential
TABLE = frozen(np.array([[0.0, 5.0], [1.0, 5.5], [4.0, 7.0], [1.0, 5.0]]))


def natural(kernel, X=TABLE, **options):
    return np.exp(kernel.bounds(X, **options))


@pytest.mark.parametrize("leaf", [SE, Matern, RationalQuadratic, Laplacian])
def test_a_lengthscale_lies_between_the_gap_and_twice_the_range(leaf):
    np.testing.assert_allclose(natural(leaf(0))[0], [1, 8])
    np.testing.assert_allclose(natural(leaf(1))[0], [0.5, 4])
    np.testing.assert_allclose(natural(leaf((0, 1), (1.0, 1.0)))[:2], [[1, 8], [0.5, 4]])


@pytest.mark.parametrize("leaf", [SE, Matern, Laplacian])
def test_a_shared_lengthscale_lies_between_distances_of_rows(leaf):
    distances = pdist(TABLE)
    expected = [distances[distances > 0].min(), 2 * distances.max()]
    np.testing.assert_allclose(natural(leaf((0, 1)))[0], expected)
    np.testing.assert_allclose(natural(leaf())[0], expected)


def test_distances_of_very_many_rows_come_from_some(rng):
    many = rng.normal(size=(5000, 2))
    low, high = natural(SE(), many)[0]
    distances = pdist(many)
    assert distances.min() <= low < np.quantile(distances, 0.01)
    assert 0.8 * distances.max() < high / 2 <= distances.max()


def test_bounds_published_for_pima():
    bunch = datasets.load("pima_cleaned")
    data = np.asarray(bunch.data, dtype=float)
    gaps, ranges = [1, 0.1, 0.001, 1], [155, 48.9, 2.342, 60]
    for column in range(4):
        low, high = natural(SE(column), data)[0]
        assert low == pytest.approx(gaps[column], rel=1e-9)
        assert high == pytest.approx(2 * ranges[column], rel=1e-9)


def test_the_gap_can_be_floored():
    np.testing.assert_allclose(natural(SE(1), gap_floor=0.4)[0], [0.8, 4])
    np.testing.assert_allclose(natural(SE(1), gap_floor=0.1)[0], [0.5, 4])
    longest = pdist(TABLE).max()
    np.testing.assert_allclose(natural(SE(), gap_floor=0.4)[0], [0.4 * longest, 2 * longest])


def test_rounding_is_no_gap():
    values = np.array([[0.1 + 0.2], [0.3], [0.5]])
    assert values[0, 0] != values[1, 0]
    np.testing.assert_allclose(natural(SE(0), values)[0], [0.2, 0.4])


def test_periods_and_their_lengthscales():
    np.testing.assert_allclose(natural(Periodic(0))[:2], [[2, 4], [0.1, 10]])
    literal = natural(Periodic(0), periodic_lengthscale="literal")
    np.testing.assert_allclose(literal[:2], [[2, 4], [1, 8]])
    np.testing.assert_allclose(natural(Periodic((0, 1)))[0], [1, 4])
    binary = np.array([[0.0], [1.0], [1.0]])
    np.testing.assert_allclose(natural(Periodic(0), binary)[0], [1, 2])


def test_variances():
    np.testing.assert_allclose(natural(SE(0))[1], [0.04, 400])
    np.testing.assert_allclose(natural(Constant())[0], [0.04, 400])
    np.testing.assert_allclose(natural(SE(0), variance=(0.1, 9))[1], [0.1, 9])


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(1, centre=2.0),
        Linear(1, variance=55.0) * SE(0),
        SE(0, variance=7.0) * Linear(1),
        Polynomial((0, 1), degree=3),
        Product((Linear(0), Linear(1))),
        Multiquadric(0, offset=3.0),
    ],
    ids=str,
)
def test_the_prior_variance_of_what_is_not_stationary_starts_near_one(kernel):
    large = np.random.default_rng(0).normal([300.0, 0.02], [40.0, 0.01], size=(400, 2))
    started = kernel.start(large)
    assert 0.5 < started.diagonal(large).mean() < 2


def test_a_variance_inside_a_tied_sum_is_relative_to_the_first():
    large = np.random.default_rng(0).normal([300.0, 5.0], [40.0, 3.0], size=(400, 2))
    kernel = SE(1) * (Linear(0) + SE(1))
    size = np.mean(large[:, 0] ** 2)
    bounds = natural(kernel, large)
    names = kernel.theta_names
    np.testing.assert_allclose(bounds[names.index("variance of x2")], [0.04 * size, 400 * size])
    started = kernel.start(large)
    parts = [term.diagonal(large).mean() for term in started.terms[1].terms]
    assert parts[0] == pytest.approx(parts[1])


def test_other_hyperparameters():
    np.testing.assert_allclose(natural(RationalQuadratic(0))[1], [0.1, 100])
    np.testing.assert_allclose(natural(Epanechnikov(0))[:2], [[1, 64], [1, 10]])
    np.testing.assert_allclose(natural(Multiquadric(0))[:2], [[1, 64], [0.01, 100]])
    size = np.mean(TABLE[:, 0] ** 2)
    np.testing.assert_allclose(natural(Sigmoid(0))[0], [0.01 / size, 100 / size])


def test_a_sigmoid_that_is_zero_on_the_diagonal_has_bounds():
    kernel = Sigmoid(0, offset=1.0)
    signs = np.array([[1.0], [-1.0]])
    assert np.isfinite(kernel.bounds(signs)).all()
    assert np.isfinite(kernel.start(signs).theta).all()


@given(combinations_of(LEAVES))
def test_the_start_lies_inside_bounds_that_no_value_moves(kernel):
    bounds = kernel.bounds(X)
    assert bounds.shape == (kernel.n_theta, 2)
    assert (bounds[:, 0] < bounds[:, 1]).all()
    start = kernel.start(X).theta
    assert (start >= bounds[:, 0] - 1e-12).all()
    assert (start <= bounds[:, 1] + 1e-12).all()
    moved = kernel.with_theta(kernel.theta + 0.3)
    np.testing.assert_allclose(moved.bounds(X), bounds, atol=1e-12)
    np.testing.assert_allclose(moved.start(X).theta, start, atol=1e-12)


def test_the_start_is_the_standard_deviation_and_one():
    kernel = SE(0, 9.0, 9.0) + SE((0, 1), 9.0) * Matern(1, 9.0)
    first, product = kernel.start(TABLE).terms
    assert first.lengthscale == pytest.approx(TABLE[:, 0].std())
    assert first.variance == pytest.approx(1)
    assert product.terms[0].lengthscale == pytest.approx(np.sqrt(TABLE.var(axis=0).sum()))
    assert product.terms[1].lengthscale == pytest.approx(TABLE[:, 1].std())
    assert Periodic(0).start(TABLE).period == pytest.approx(np.sqrt(2 * 4))
    assert Periodic(0).start(TABLE).lengthscale == pytest.approx(1)


def test_the_start_obeys_the_options_of_the_bounds():
    floored = SE(0).start(TABLE, gap_floor=0.9)
    assert floored.lengthscale == pytest.approx(0.9 * 4)
    assert SE(0).start(TABLE, variance=(2.0, 3.0)).variance == pytest.approx(2.0)


def test_fixed_values_stay():
    started = SE(0, 33.0, 77.0, fixed="lengthscale").start(TABLE)
    assert (started.lengthscale, started.fixed) == (33.0, ("lengthscale",))
    assert started.variance == pytest.approx(1)


@pytest.mark.parametrize(
    "kernel", [SE(1), SE(), Periodic(1), Linear(1), SE(0) * Polynomial(1), Epanechnikov(1)], ids=str
)
def test_a_constant_column_is_named(kernel):
    flat = np.array([[1.0, 4.2], [2.0, 4.2], [3.0, 4.2]])
    for ask in (kernel.bounds, kernel.start):
        with pytest.raises(InvalidInputError, match=r"Column 'x2' is constant \(4.2\)"):
            ask(flat)
        with pytest.raises(InvalidInputError, match="Column 'age' is constant"):
            ask(flat, names=["glucose", "age"])
        with pytest.raises(InvalidInputError, match="Column 'size' is constant"):
            ask(pd.DataFrame(flat, columns=["weight", "size"]))
    assert SE(0).bounds(flat).shape == (2, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gap_floor": 1.0}, "gap_floor is a share"),
        ({"gap_floor": -0.1}, "gap_floor is a share"),
        ({"periodic_lengthscale": "free"}, 'must be "dimensionless" or "literal"'),
        ({"variance": (2.0, 1.0)}, "variance must be two positive limits"),
        ({"names": ["one"]}, "1 names were given for 2 columns"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(InvalidInputError, match=message):
        SE(0).bounds(TABLE, **options)


def test_a_column_that_is_not_there():
    with pytest.raises(InvalidInputError, match="uses column 5"):
        SE(5).bounds(TABLE)
