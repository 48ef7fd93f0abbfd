"""Moderated probabilities against adaptive quadrature; variances far from the data against brute
force: the column is added and the whole posterior computed again."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit

from parsimon.exceptions import InvalidInputError
from parsimon.kernels import Laplacian, Linear, Matern, MultiResolution, SquaredExponential
from parsimon.rvm import _machine as machine_module
from parsimon.rvm._classes import less_probable
from parsimon.rvm._machine import (
    CallableColumn,
    FarVariance,
    latent_variance,
    new_column,
)


def moderated_probability(mean, variance):
    """Return the averaged probability of the positive class."""
    less = less_probable(mean, variance)
    return np.where(mean > 0, 1.0 - less, less)


means = st.floats(-30.0, 30.0)
variances = st.floats(0.0, 1e4)


def probability_by_quadrature(mean, variance):
    """Over standard deviations round the mean, split where the logistic function turns."""
    deviation = np.sqrt(variance)

    def integrand(z):
        return expit(mean + deviation * z) * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)

    turn = -mean / deviation
    width = 40.0 / deviation
    points = sorted({*np.clip([turn - width, turn, turn + width], -12, 12), -12.0, 12.0})
    pieces = [
        quad(integrand, low, high, epsabs=1e-14, epsrel=1e-12, limit=400)[0]
        for low, high in pairwise(points)
    ]
    return sum(pieces)


@given(means, st.floats(1e-4, 1e4))
def test_moderated_probability_is_the_integral(mean, variance):
    found = moderated_probability(np.array([mean]), np.array([variance]))[0]
    assert found == pytest.approx(probability_by_quadrature(mean, variance), abs=1e-8)


@given(variances)
def test_zero_mean_is_exactly_one_half(variance):
    found = moderated_probability(np.array([0.0, -0.0]), np.array([variance, variance]))
    assert found.tolist() == [0.5, 0.5]


@given(means, variances)
def test_probability_is_on_the_side_of_the_mean_and_symmetric(mean, variance):
    both = moderated_probability(np.array([mean, -mean]), np.array([variance, variance]))
    assert np.sign(both[0] - 0.5) == np.sign(mean)
    smaller, larger = np.sort(both)
    assert larger == 1.0 - smaller or mean == 0


def test_the_smallest_mean_and_the_largest_variance_keep_their_side():
    mean, variance = np.array([5e-324, -5e-324, 1e-139, 1.0]), np.array([1.0, 1e300, 2.0, np.inf])
    found = moderated_probability(mean, variance)
    assert (np.sign(found - 0.5) == np.sign(mean)).all()


def test_tables_of_latent_values_keep_their_shape():
    mean, variance = np.array([[0.0, 1.0], [-1.0, 2.0]]), np.array([[1.0, 0.1], [9.0, 0.0]])
    table = moderated_probability(mean, variance)
    np.testing.assert_array_equal(
        table.ravel(), moderated_probability(mean.ravel(), variance.ravel())
    )
    assert table.shape == (2, 2)


def test_without_variance_it_is_the_logistic_function():
    mean = np.linspace(-40.0, 30.0, 71)
    np.testing.assert_allclose(moderated_probability(mean, np.zeros(71)), expit(mean), rtol=2e-4)


def test_variance_moves_probabilities_towards_one_half():
    found = moderated_probability(np.full(50, 2.0), np.geomspace(1e-2, 1e6, 50))
    assert (np.diff(found) < 0).all()
    assert found[-1] == pytest.approx(0.5, abs=1e-3)


def test_mackay_is_wrong_by_less_than_documented():
    mean, variance = (each.ravel() for each in np.meshgrid(np.r_[:40], np.geomspace(0.1, 1e3, 40)))
    mackay = expit(mean / np.sqrt(1 + np.pi * variance / 8))
    error = np.abs(mackay - moderated_probability(mean, variance)).max()
    assert 0.01 < error < 0.02


def test_latent_variance_is_the_quadratic_form(rng):
    design, root = rng.normal(size=(7, 4)), rng.normal(size=(4, 4))
    covariance = root @ root.T
    np.testing.assert_allclose(
        latent_variance(design, covariance), np.diagonal(design @ covariance @ design.T)
    )
    assert latent_variance(design[:, :0], covariance[:0, :0]).tolist() == [0.0] * 7


class Model:
    """A sparse model with a bias, its precisions and rows given; everything else computed."""

    def __init__(self, column, *, task="regression", has_bias=True, n=30, weights=None, seed=0):
        rng = np.random.default_rng(seed)
        self.column, self.has_bias, self.weights = column, has_bias, weights
        self.X = rng.uniform(-2.0, 2.0, size=(n, 2))
        self.centres = self.X[rng.choice(n, 5, replace=False)]
        self.design = self.columns(self.X)
        self.alpha = rng.uniform(0.2, 3.0, size=self.design.shape[1])
        self.mean = rng.normal(size=self.design.shape[1])
        self.noise_variance = 0.05 if task == "regression" else None
        p = expit(self.design @ self.mean)
        self.precision = np.full(n, 1 / 0.05) if task == "regression" else p * (1 - p)
        if weights is not None:
            self.precision = self.precision * weights
        self.covariance = self.posterior(self.design, self.alpha)

    def columns(self, X):
        own = self.column.gram(X, self.centres)
        return np.hstack([np.ones((len(X), 1)), own]) if self.has_bias else own

    def posterior(self, design, alpha):
        return np.linalg.inv(design.T @ (self.precision[:, None] * design) + np.diag(alpha))

    def far(self, **options):
        options = {"noise_variance": self.noise_variance, "row_weights": self.weights} | options
        return FarVariance.fit(
            self.column,
            self.X,
            self.design,
            alpha=self.alpha,
            mean=self.mean,
            has_bias=self.has_bias,
            **options,
        )

    def augmented_variance(self, row, alpha_new):
        """Add the column centred on the row and compute the posterior again."""
        design = np.hstack([self.design, self.column.gram(self.X, row[None])])
        covariance = self.posterior(design, np.append(self.alpha, alpha_new))
        new = np.append(self.columns(row[None])[0], self.column.gram(row[None])[0, 0])
        return new @ covariance @ new


new_rows = np.array([[0.1, 0.2], [1.9, -1.7], [3.0, 3.0], [8.0, -6.0], [40.0, 0.0]])


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize(
    "column",
    [
        SquaredExponential(lengthscale=0.8),
        Matern(lengthscale=1.5, variance=3.0),
        Laplacian(lengthscale=2.0),
        Linear(),
        CallableColumn(lambda X, Z: np.exp(-np.abs(X[:, None] - Z[None]).sum(axis=2))),
    ],
)
def test_the_sum_is_the_variance_of_the_augmented_posterior(column, task, has_bias):
    model = Model(column, task=task, has_bias=has_bias)
    far = model.far()
    columns = model.columns(new_rows)
    total = latent_variance(columns, model.covariance) + far.added(new_rows, columns)
    expected = [model.augmented_variance(row, far.alpha) for row in new_rows]
    np.testing.assert_allclose(total, expected, rtol=1e-10)


def test_row_weights_are_repeated_rows():
    counts = np.random.default_rng(3).integers(0, 4, size=30)
    weighted = Model(SquaredExponential(), weights=counts.astype(float))
    far = weighted.far()
    repeated = FarVariance.fit(
        weighted.column,
        np.repeat(weighted.X, counts, axis=0),
        np.repeat(weighted.design, counts, axis=0),
        alpha=weighted.alpha,
        mean=weighted.mean,
        noise_variance=0.05,
        has_bias=True,
    )
    columns = weighted.columns(new_rows)
    assert far.alpha == pytest.approx(repeated.alpha, rel=1e-12)
    np.testing.assert_allclose(
        far.added(new_rows, columns), repeated.added(new_rows, columns), rtol=1e-10
    )
    assert len(far.anchors) == np.count_nonzero(counts)


def test_given_precisions_take_the_place_of_the_default():
    model = Model(SquaredExponential(), task="classification")
    columns = model.columns(new_rows)
    same = model.far(precision=model.precision).added(new_rows, columns)
    np.testing.assert_allclose(same, model.far().added(new_rows, columns), rtol=1e-12)
    assert not np.allclose(same, model.far(precision=np.ones(30)).added(new_rows, columns))


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_variance_grows_along_a_ray_where_the_plain_one_vanishes(task):
    model = Model(SquaredExponential(lengthscale=0.8), task=task, has_bias=False, n=80)
    ray = np.linspace(2.0, 12.0, 60)[:, None] * np.array([[0.8, 0.6]])
    columns = model.columns(ray)
    plain = latent_variance(columns, model.covariance)
    far = model.far()
    healed = plain + far.added(ray, columns)
    assert plain[-1] < 1e-12 < plain[0]
    assert (healed > plain).all()
    assert (np.diff(healed) >= 0).all()
    assert healed[-1] == pytest.approx(1 / far.alpha, rel=1e-6)
    assert healed[-1] > 10 * plain.max()


def test_hardly_anything_is_added_among_the_data():
    model = Model(SquaredExponential(lengthscale=1.0), n=300)
    far = model.far()
    added = far.added(model.X, model.design)
    assert np.median(added) < 0.01 / far.alpha


def test_one_column_at_its_fixed_point_keeps_its_own_prior_variance():
    # alpha = 1 / (mean^2 + variance) is the fixed point of the evidence; with it the prior
    # variance of the new weight is that of the weight which is there.
    X, kernel = np.linspace(-1, 1, 15)[:, None], SquaredExponential()
    design = kernel.gram(X, X[7:8])
    strength, misfit = (design**2).sum() / 0.1, design[:, 0] @ np.cos(X[:, 0]) / 0.1
    alpha = strength**2 / (misfit**2 - strength)
    mean = misfit / (strength + alpha)
    assert 1 / alpha == pytest.approx(mean**2 + 1 / (strength + alpha))
    far = FarVariance.fit(
        kernel, X, design, alpha=np.array([alpha]), mean=np.array([mean]), noise_variance=0.1
    )
    assert 1 / far.alpha == pytest.approx(np.mean(design**2) / alpha)


def test_large_weights_that_cancel_do_not_inflate_the_far_variance():
    X = np.linspace(-1, 1, 40)[:, None]
    kernel = SquaredExponential(lengthscale=20.0)
    design = kernel.gram(X, X[::10])
    alpha = np.full(4, 1e-8)
    covariance = np.linalg.inv(design.T @ design / 0.01 + np.diag(alpha))
    mean = covariance @ design.T @ X[:, 0] / 0.01
    far = FarVariance.fit(kernel, X, design, alpha=alpha, mean=mean, noise_variance=0.01)
    assert np.mean(np.sum(design**2 / alpha, axis=1)) > 1e8
    assert 0.1 < 1 / far.alpha < 1.0


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize(("noise_variance", "expected"), [(0.3, 0.3), (None, 4.0)])
def test_without_relevance_vectors_the_noise_is_the_scale(has_bias, noise_variance, expected):
    X, kernel = np.arange(6.0)[:, None], SquaredExponential(variance=3.0)
    design = np.ones((6, int(has_bias)))
    far = FarVariance.fit(
        kernel,
        X,
        design,
        alpha=np.ones(int(has_bias)),
        mean=np.ones(int(has_bias)),
        noise_variance=noise_variance,
        has_bias=has_bias,
    )
    added = far.added(np.array([[1e3]]), np.ones((1, int(has_bias))))
    assert added == pytest.approx([expected])


@pytest.mark.parametrize("alpha", [0.0, 1e-300, 1e-12, 1e12, 1e300])
def test_extreme_precisions_give_finite_variances(alpha):
    model = Model(SquaredExponential())
    model.alpha = np.full(6, alpha)
    added = model.far().added(new_rows, model.columns(new_rows))
    assert np.isfinite(added).all()
    assert (added >= 0).all()


def test_identical_columns_do_no_harm():
    model = Model(SquaredExponential())
    twice = FarVariance.fit(
        model.column,
        model.X,
        np.hstack([model.design, model.design[:, 1:]]),
        alpha=np.full(11, 1e-9),
        mean=np.ones(11),
        noise_variance=0.05,
        has_bias=True,
    )
    columns = model.columns(new_rows)
    assert np.isfinite(twice.added(new_rows, np.hstack([columns, columns[:, 1:]]))).all()


def test_blocks_of_new_rows_change_nothing(monkeypatch):
    model = Model(SquaredExponential())
    rows = np.random.default_rng(1).normal(size=(23, 2)) * 3
    whole = model.far().added(rows, model.columns(rows))
    monkeypatch.setattr(machine_module, "MOST_ENTRIES", 150)
    np.testing.assert_allclose(model.far().added(rows, model.columns(rows)), whole, rtol=1e-12)
    assert model.far().added(rows[:0], model.columns(rows[:0])).shape == (0,)


def test_anchors_stand_for_all_rows(monkeypatch):
    model = Model(SquaredExponential(), n=4000)
    assert len(model.far().anchors) == 2000
    monkeypatch.setattr(machine_module, "MOST_ANCHORS", 1000)
    some = model.far()
    assert some.anchors.shape == (1000, 2)
    assert some.precision.sum() == pytest.approx(model.precision.sum())
    rows = np.random.default_rng(5).uniform(-4.0, 4.0, size=(200, 2))
    columns = model.columns(rows)
    monkeypatch.setattr(machine_module, "MOST_ANCHORS", 4000)
    whole = model.far().added(rows, columns)
    # Not scaled up, the anchors would leave up to four times as much.
    assert np.median(some.added(rows, columns) / whole) == pytest.approx(1.0, abs=0.05)
    columns = model.columns(new_rows)
    monkeypatch.setattr(machine_module, "MOST_ANCHORS", 1000)
    again = model.far().added(new_rows, columns)
    np.testing.assert_array_equal(again, some.added(new_rows, columns))


def test_no_row_with_weight_is_refused():
    model = Model(SquaredExponential())
    with pytest.raises(InvalidInputError, match="Every row has weight zero"):
        model.far(row_weights=np.zeros(30))


def test_new_columns_of_each_kind_of_basis(rng):
    X = rng.normal(size=(70, 2))
    kernel = Matern()
    assert new_column(kernel) is kernel
    widest = new_column(MultiResolution(width=3.0, columns=1))
    np.testing.assert_allclose(
        widest.gram(X, X[:4]), MultiResolution(width=3.0, columns=1).basis(X, X[:4])[:, :4]
    )
    plain = new_column(lambda X, Z: (X @ Z.T + 1.0) ** 2)
    np.testing.assert_allclose(plain.diagonal(X), plain.gram(X).diagonal())
    assert plain.diagonal(X[:0]).shape == (0,)

    class Dictionary:
        def basis(self, X, centres):
            return X

        def __call__(self, X, Z):
            return X

    assert [new_column(each) for each in ("features", "precomputed", Dictionary())] == [None] * 3


def test_far_variance_survives_pickling():
    model = Model(SquaredExponential())
    columns = model.columns(new_rows)
    copy = pickle.loads(pickle.dumps(model.far()))
    np.testing.assert_array_equal(
        copy.added(new_rows, columns), model.far().added(new_rows, columns)
    )
