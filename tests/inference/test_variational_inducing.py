"""Where inducing points go."""

import numpy as np
import pytest

from parsimon.inference import variational
from parsimon.inference.variational import kmeans_points, pivoted_points
from parsimon.kernels import SquaredExponential


def seeded():
    return np.random.default_rng(0)


def grouped(rng, n=200):
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 1000.0]])
    return np.concatenate([centre + rng.normal(size=(n, 2)) * [1, 100] for centre in centres])


def test_kmeans_finds_groups_in_units_of_each_column(rng):
    X = grouped(rng)
    found = kmeans_points(X, 3, rng=seeded())
    means = X.reshape(3, -1, 2).mean(axis=1)
    np.testing.assert_allclose(np.unique(found.round(9), axis=0), np.unique(means.round(9), axis=0))


def test_kmeans_ignores_columns_of_scale_zero(rng):
    X = grouped(rng)
    found = kmeans_points(X, 2, rng=seeded(), scale=np.array([1.0, 0.0]))
    far = X[:, 0] > 5
    expected = [X[~far].mean(axis=0), X[far].mean(axis=0)]
    np.testing.assert_allclose(found[found[:, 0].argsort()], expected)


def test_kmeans_centres_are_weighted_means():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    found = kmeans_points(X, 2, rng=seeded(), weights=np.array([3.0, 1.0, 1.0, 1.0]))
    np.testing.assert_allclose(np.sort(found[:, 0]), [0.25, 10.5])


@pytest.mark.parametrize("n_points", [3, 50])
def test_distinct_rows_are_returned_when_they_are_few(n_points):
    X = np.array([[2.0, 1.0], [0.0, 5.0], [2.0, 1.0], [1.0, 1.0]])
    expected = [[0.0, 5.0], [1.0, 1.0], [2.0, 1.0]]
    np.testing.assert_array_equal(kmeans_points(X, n_points, rng=seeded()), expected)
    pivoted = pivoted_points(SquaredExponential(), X, n_points, rng=seeded())
    np.testing.assert_array_equal(pivoted, expected)


def test_large_tables_are_sampled(rng, monkeypatch):
    monkeypatch.setattr(variational, "MOST_ROWS", 30)
    X = rng.normal(size=(500, 2))
    for points in (
        kmeans_points(X, 10, rng=seeded()),
        pivoted_points(SquaredExponential(), X, 10, rng=seeded()),
    ):
        assert points.shape == (10, 2)
    few = kmeans_points(X, 29, rng=seeded())
    # Thirty rows in 29 groups: all but two rows are centres themselves.
    assert sum((point == X).all(axis=1).any() for point in few) == 28


def test_pivoted_rows_leave_no_row_as_unexplained_as_random_ones_do(rng):
    X = rng.normal(size=(300, 2))
    kernel = SquaredExponential(lengthscale=1.0)

    def most_unexplained(Z):
        K = kernel.gram(Z) + 1e-10 * np.eye(len(Z))
        cross = kernel.gram(X, Z)
        return np.max(1 - np.einsum("ij,ji->i", cross, np.linalg.solve(K, cross.T)))

    ours = most_unexplained(pivoted_points(kernel, X, 20, rng=seeded()))
    at_random = [most_unexplained(X[rng.choice(300, 20, replace=False)]) for _ in range(20)]
    assert ours < 0.5 * min(at_random)


def test_pivoted_rows_are_made_up_to_the_number_asked_for(rng):
    X = rng.normal(size=(100, 1))
    points = pivoted_points(SquaredExponential(lengthscale=50.0), X, 60, rng=seeded())
    assert len(np.unique(points)) == 60
    assert np.isin(points, X).all()


def test_weights_equal_duplicated_rows(rng):
    X = rng.normal(size=(60, 2))
    times = rng.integers(0, 4, 60)
    weighted = kmeans_points(X, 7, rng=seeded(), weights=times.astype(float))
    repeated = kmeans_points(np.repeat(X, times, axis=0), 7, rng=seeded())
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)
