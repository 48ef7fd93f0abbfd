"""Tables with missing cells, against matrices of all cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import Model, TreeGaussian, read_tree, yule_tree
from parsimon.phylo._matrix_normal import (
    CellOptions,
    PartialTable,
    branches_of,
    check_cells,
    completed_rows,
    expectation,
    fit_cells,
    fit_lambda,
    low_rank,
    matrix_log_likelihood,
    moments,
    star,
)
from tests.phylo.strategies import trees


def any_covariance(d, rng):
    root = rng.normal(size=(d, d))
    return root @ root.T + 0.1 * np.eye(d)


def with_holes(values, share, rng):
    """Return a table with missing cells, but at least one cell in each column."""
    holes = rng.random(values.shape) < share
    holes[rng.integers(len(values), size=values.shape[1]), np.arange(values.shape[1])] = False
    return PartialTable(np.where(holes, np.nan, values))


def dense(gaussian, table, covariance, mean=None):
    """Return log likelihood, mean, completed table and scatter by matrices of all cells."""
    n, d = table.values.shape
    V = gaussian.covariance()
    K, seen = np.kron(V, covariance), table.observed.ravel()
    inverse = np.linalg.inv(K[np.ix_(seen, seen)])
    cells = table.values.ravel()[seen]
    if mean is None:
        D = np.tile(np.eye(d), (n, 1))[seen]
        mean = np.linalg.solve(D.T @ inverse @ D, D.T @ inverse @ cells)
    centre = np.tile(mean, n)
    height = multivariate_normal.logpdf(cells, centre[seen], K[np.ix_(seen, seen)])
    expected = centre + K[:, seen] @ inverse @ (cells - centre[seen])
    left = K - K[:, seen] @ inverse @ K[seen]
    # Rows without any cell have no part in the scatter.
    rows = table.observed.any(axis=1)
    V_inverse = np.linalg.inv(V[np.ix_(rows, rows)])
    residual = (expected.reshape(n, d) - mean)[rows]
    scatter = residual.T @ V_inverse @ residual
    blocks = left.reshape(n, d, n, d)[np.ix_(rows, range(d), rows, range(d))]
    scatter += np.einsum("ij,iajb->ab", V_inverse, blocks)
    return height, mean, expected.reshape(n, d), scatter


@given(trees(least=3), st.floats(0.0, 1.0), st.integers(0, 2**31), st.booleans())
def test_expectations_are_those_of_the_matrix_of_all_cells(tree, share, seed, free):
    rng = np.random.default_rng(seed)
    n, d = tree.n_tips, 3
    gaussian = TreeGaussian(tree, Model(pagel_lambda=share), rng.permutation(n))
    covariance = any_covariance(d, rng)
    table = with_holes(5.0 + rng.normal(size=(n, d)), 0.4, rng)
    mean = None if free else rng.normal(size=d)
    found = expectation(branches_of(gaussian, table), table, covariance, mean)
    height, mean, completed, scatter = dense(gaussian, table, covariance, mean)
    assert found.log_likelihood == pytest.approx(height, rel=1e-9, abs=1e-8)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found.completed, completed, rtol=1e-7, atol=1e-8)
    # One tip has no scatter at all: the scale is then that of the covariance.
    size = max(np.abs(scatter).max(), np.abs(covariance).max())
    np.testing.assert_allclose(found.scatter, scatter, atol=1e-8 * size)


@pytest.mark.parametrize("share", [0.05, 0.4, 0.9])
def test_the_slope_is_the_derivative_by_lambda(share, rng):
    tree = yule_tree(15, random_state=2)
    covariance = any_covariance(4, rng)
    table = with_holes(rng.normal(size=(15, 4)), 0.3, rng)

    def at(value):
        gaussian = TreeGaussian(tree, Model(pagel_lambda=value))
        return expectation(branches_of(gaussian, table), table, covariance)

    numeric = (at(share + 1e-5).log_likelihood - at(share - 1e-5).log_likelihood) / 2e-5
    assert at(share).slope == pytest.approx(numeric, rel=1e-6)


def form_of(n_components):
    if n_components is None:
        return lambda expected: expected
    return lambda expected: low_rank(expected, n_components).covariance


def simulated(n, d, share, seed):
    """Return a tree and a table of two strong directions with holes."""
    rng = np.random.default_rng(seed)
    tree = yule_tree(n, random_state=seed)
    W = 2.0 * rng.normal(size=(d, 2))
    white = TreeGaussian(tree, Model(pagel_lambda=0.6)).sample(d, random_state=seed)
    values = 3.0 + white @ np.linalg.cholesky(W @ W.T + np.eye(d)).T
    return tree, values, with_holes(values, share, rng)


@pytest.mark.parametrize("n_components", [1, 2, None])
@pytest.mark.parametrize("centre", [None, np.full(4, 3.0)])
def test_no_step_lowers_the_likelihood(n_components, centre):
    tree, _, table = simulated(30, 4, 0.2, 3)
    options = CellOptions(form_of(n_components), centre, tol=1e-12)
    fit = fit_cells(TreeGaussian(tree), table, options)
    assert fit.converged
    assert len(fit.heights) > 5
    assert fit.heights[-1] - fit.heights[0] > 1.0
    assert np.diff(fit.heights).min() > -1e-9
    covariance = form_of(n_components)(fit.expected)
    height, _, completed, scatter = dense(TreeGaussian(tree), table, covariance, centre)
    assert fit.found.log_likelihood == pytest.approx(height, abs=1e-8)
    np.testing.assert_allclose(fit.found.completed, completed, atol=1e-7)
    # The covariance is the best for the scatter that it lets expect.
    np.testing.assert_allclose(form_of(n_components)(scatter / 30), covariance, rtol=1e-4)


@pytest.mark.parametrize("n_components", [1, 3, None])
def test_without_holes_it_is_the_closed_form(n_components):
    tree, values, _ = simulated(30, 5, 0.2, 4)
    gaussian = TreeGaussian(tree, Model(pagel_lambda=0.3))
    fit = fit_cells(gaussian, PartialTable(values), CellOptions(form_of(n_components)))
    assert len(fit.heights) <= 3
    found = moments(gaussian, values)
    np.testing.assert_allclose(fit.found.mean, found.mean)
    np.testing.assert_allclose(fit.expected, found.scatter / 30)
    best = form_of(n_components)(found.scatter / 30)
    closed = matrix_log_likelihood(found, np.linalg.slogdet(best)[1], 5.0)
    assert fit.found.log_likelihood == pytest.approx(closed, abs=1e-8)
    np.testing.assert_array_equal(fit.found.completed, values)


def test_nothing_is_more_likely():
    """A general optimiser, with the density of all cells as a matrix, climbs no higher."""
    tree, _, table = simulated(12, 3, 0.2, 5)
    gaussian = TreeGaussian(tree, Model(pagel_lambda=0.5))
    fit = fit_cells(gaussian, table, CellOptions(form_of(1)))

    def lost(parameters):
        W, noise = parameters[:3, None], np.exp(parameters[3])
        return -dense(gaussian, table, W @ W.T + noise * np.eye(3))[0]

    start = low_rank(fit.expected, 1)
    begin = np.append(start.loadings[:, 0] * [1.3, 0.7, 1.1], np.log(start.noise) + 0.5)
    best = minimize(lost, begin, options={"gtol": 1e-7})
    assert fit.found.log_likelihood == pytest.approx(-best.fun, abs=1e-6)
    np.testing.assert_allclose(np.abs(best.x[:3]), np.abs(start.loadings[:, 0]), rtol=1e-3)


def test_one_column_with_holes_has_a_closed_form(rng):
    """Anderson (1957): the regression of the second column on the first, and all of the first."""
    x = rng.normal(size=40)
    y = 1.0 + 2.0 * x + rng.normal(size=40)
    y[25:] = np.nan
    options = CellOptions(form_of(None), tol=1e-13)
    fit = fit_cells(star(40), PartialTable(np.column_stack([x, y])), options)
    slope, intercept = np.polyfit(x[:25], y[:25], 1)
    noise = np.mean((y[:25] - intercept - slope * x[:25]) ** 2)
    expected = np.array([[1.0, slope], [slope, slope**2]]) * x.var() + np.diag([0.0, noise])
    np.testing.assert_allclose(fit.expected, expected, rtol=1e-5)
    np.testing.assert_allclose(fit.found.mean, [x.mean(), intercept + slope * x.mean()], rtol=1e-5)
    np.testing.assert_allclose(fit.found.completed[25:, 1], intercept + slope * x[25:], rtol=1e-4)


@pytest.mark.parametrize("n_components", [1, None])
def test_lambda_is_the_top_of_the_profile(n_components):
    tree, _, table = simulated(30, 3, 0.2, 6)
    gaussian = TreeGaussian(tree)
    options = CellOptions(form_of(n_components))
    share, fit = fit_lambda(gaussian, table, options, (0.0, 1.0))
    assert 0.05 < share < 0.99
    assert abs(fit.found.slope) < 1e-3
    for other in [0.0, 0.3, 0.5, 0.7, 0.9, share - 1e-3, share + 1e-3]:
        there = fit_cells(gaussian.with_model(Model(pagel_lambda=other)), table, options)
        assert there.found.log_likelihood < fit.found.log_likelihood + 1e-8
    assert fit_lambda(gaussian, table, options, (0.1, 0.3))[0] == pytest.approx(0.3, abs=1e-6)
    assert fit_lambda(gaussian, table, options, (0.99, 1.0))[0] == pytest.approx(0.99, abs=1e-6)


def test_a_lower_hill_of_the_profile_is_no_trap():
    tree, _, table = simulated(30, 3, 0.2, 6)
    gaussian, options = TreeGaussian(tree), CellOptions(form_of(1))
    # The profile falls from lambda 0 before it rises: there are two hills.
    assert fit_lambda(gaussian, table, options, (0.0, 0.02))[0] == 0.0
    assert fit_lambda(gaussian, table, options, (0.0, 0.3))[0] == pytest.approx(0.3, abs=1e-6)


def test_completed_rows_are_regressions(rng):
    covariance = any_covariance(4, rng)
    row, mean = rng.normal(size=4), rng.normal(size=4)
    holes = np.array([True, False, True, False])
    found = completed_rows(np.where(holes, np.nan, row)[None], mean, covariance)[0]
    weights = covariance[np.ix_(holes, ~holes)] @ np.linalg.inv(covariance[np.ix_(~holes, ~holes)])
    np.testing.assert_allclose(found[holes], mean[holes] + weights @ (row - mean)[~holes])
    np.testing.assert_array_equal(found[~holes], row[~holes])
    # A column that repeats another one tells nothing more.
    repeated = np.array([[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 1.0]]) * 1e-9
    found = completed_rows(np.array([[2.0, 2.0, np.nan]]), np.zeros(3), repeated)
    np.testing.assert_allclose(found, [[2.0, 2.0, 1.0]])


def test_what_cannot_be_estimated_is_said(rng):
    values = rng.normal(size=(6, 3))
    empty = values.copy()
    empty[:, [0, 2]] = np.nan
    with pytest.raises(InvalidInputError, match="These columns have no cells: 0, 2"):
        check_cells(PartialTable(empty), 1)
    few = values.copy()
    few[3:] = np.nan
    with pytest.raises(InvalidInputError, match="3 rows with cells leave nothing of 3 columns"):
        check_cells(PartialTable(few), 2)
    check_cells(PartialTable(few), 1)
    same = values.copy()
    same[:, 2] = same[:, 1]
    same[0, 0] = np.nan
    with pytest.raises(InvalidInputError, match="leave nothing of some columns unexplained"):
        fit_cells(star(6), PartialTable(same), CellOptions(form_of(None)))
    flat = read_tree("((A:0,B:1):1,C:2,D:1);")
    holes = PartialTable(np.array([[1.0, 2.0], [np.nan, 1.0], [0.5, 0.1], [3.0, 1.0]]))
    with pytest.raises(InvalidInputError, match="but these have none: A"):
        fit_cells(TreeGaussian(flat), holes, CellOptions(form_of(None)))
    # A tip without cells may be anywhere, and a lambda below 1 gives every tip a length.
    none = PartialTable(np.array([[np.nan, np.nan], [0.4, 1.0], [0.5, 0.1], [3.0, 1.0]]))
    found = expectation(branches_of(TreeGaussian(flat), none), none, np.eye(2))
    assert np.isfinite(found.log_likelihood)
    share, _ = fit_lambda(TreeGaussian(flat), holes, CellOptions(form_of(1)), (0.0, 1.0))
    assert 0 <= share < 1
