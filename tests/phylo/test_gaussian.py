import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import Model, Tree, TreeGaussian, covariance, read_tree, yule_tree
from tests.phylo.strategies import models, trees

reuse = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)


@reuse
@given(tree=trees(), model=models(), seed=st.integers(0, 99), data=st.data())
def test_linear_equals_dense(way, tree, model, seed, data):
    rng = np.random.default_rng(seed)
    rows = rng.permutation(tree.n_tips)[: data.draw(st.integers(1, tree.n_tips))]
    gaussian = TreeGaussian(tree, model, rows)
    full = TreeGaussian(tree, model).covariance()
    V = full[np.ix_(rows, rows)]
    np.testing.assert_allclose(gaussian.covariance(), V)
    inverse = np.linalg.inv(V)
    scale = max(np.abs(inverse).max(), 1.0)
    np.testing.assert_allclose(gaussian.precision(), inverse, atol=1e-8 * scale)
    assert gaussian.log_determinant == pytest.approx(np.linalg.slogdet(V)[1], abs=1e-8)
    values = rng.normal(size=(len(rows), 2))
    white = gaussian.whiten(values)
    np.testing.assert_allclose(white.T @ white, values.T @ inverse @ values, atol=1e-8 * scale)
    known = gaussian.conditional(values)
    across = full[:, rows]
    np.testing.assert_allclose(known.mean[tree.tips], across @ inverse @ values, atol=1e-7)
    np.testing.assert_allclose(
        known.variance[tree.tips], np.diag(full - across @ inverse @ across.T), atol=1e-8
    )
    np.testing.assert_allclose(gaussian.marginal_variance()[tree.tips], np.diag(full))
    np.testing.assert_allclose(
        gaussian.covariance_with_mean()[tree.tips], across.mean(axis=1), atol=1e-12
    )


@reuse
@given(tree=trees(zero_tips=True), model=models())
def test_a_singular_covariance_is_an_error_and_a_regular_one_is_not(way, tree, model):
    gaussian = TreeGaussian(tree, model)
    V = gaussian.covariance()
    # Tips coincide exactly or not at all, so that rounding decides nothing.
    eigenvalues = np.linalg.eigvalsh(V)
    if eigenvalues[0] > 1e-9 * eigenvalues[-1]:
        np.testing.assert_allclose(gaussian.precision() @ V, np.eye(len(V)), atol=1e-6)
    elif eigenvalues[0] < 1e-14 * eigenvalues[-1]:
        with pytest.raises(InvalidInputError, match="singular: n"):
            gaussian.whiten(np.zeros(len(V)))


def test_a_single_tip_at_an_inner_node_is_no_problem(way):
    tree = read_tree("((A:0,B:1):1,C:2);")
    np.testing.assert_allclose(
        TreeGaussian(tree).precision(), np.linalg.inv(covariance(tree)), atol=1e-12
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("((A:0,B:0):1,C:2);", "A and B are at distance zero"),
        ("(A:0,B:1);", "A is at the root"),
        ("A:1;", "A is at the root"),
    ],
)
def test_coinciding_tips_are_named(text, message):
    with pytest.raises(InvalidInputError, match=f"{message}.*lambda below 1"):
        _ = TreeGaussian(read_tree(text)).log_determinant


def test_lambda_below_one_separates_coinciding_tips():
    tree = read_tree("((A:0,B:0):1,C:2);")
    V = covariance(tree, pagel_lambda=0.5)
    assert TreeGaussian(tree, Model(0.5)).log_determinant == pytest.approx(np.linalg.slogdet(V)[1])


def test_one_tip_is_one_gaussian_number():
    gaussian = TreeGaussian(read_tree("(A:4);"))
    assert gaussian.log_density([2.0])[0] == pytest.approx(-0.5 * (np.log(2 * np.pi * 4) + 1.0))
    assert gaussian.log_density([2.0], variance=2.0)[0] == pytest.approx(
        -0.5 * (np.log(2 * np.pi * 8) + 0.5)
    )


def test_ornstein_uhlenbeck_has_hansens_covariance():
    tree = read_tree("((A:1,B:2):0.5,(C:1,D:0.3):2);")
    V = covariance(tree)
    depth = np.diag(V)
    distance = depth[:, None] + depth - 2 * V
    alpha = 0.8
    stationary = np.exp(-alpha * distance) / (2 * alpha)
    np.testing.assert_allclose(covariance(tree, alpha=alpha, root="stationary"), stationary)
    np.testing.assert_allclose(
        covariance(tree, alpha=alpha), stationary * (1 - np.exp(-2 * alpha * V))
    )


def test_a_strong_pull_stays_accurate():
    tree = yule_tree(30, random_state=0)
    model = Model(alpha=50 / tree.depth.max())
    gaussian = TreeGaussian(tree, model)
    V = gaussian.covariance()
    np.testing.assert_allclose(gaussian.precision() @ V, np.eye(30), atol=1e-8)


def test_ancestors_are_conditional_expectations_too():
    # Inner nodes as tips at the end of branches of length zero.
    tree = yule_tree(12, random_state=3)
    inner = np.flatnonzero(~tree.is_tip)[1:]
    grown = Tree(
        np.append(tree.parent, inner),
        np.append(tree.length, np.zeros(len(inner))),
        [*tree.name, *(f"inner{node}" for node in inner)],
    )
    names = list(grown.tip_names)
    V = covariance(grown)
    rows = [names.index(name) for name in tree.tip_names]
    asked = [names.index(f"inner{node}") for node in inner]
    y = np.random.default_rng(0).normal(size=12)
    known = TreeGaussian(tree).conditional(y)
    weights = V[np.ix_(asked, rows)] @ np.linalg.inv(V[np.ix_(rows, rows)])
    np.testing.assert_allclose(known.mean[inner], weights @ y, atol=1e-10)
    spread = np.diag(V[np.ix_(asked, asked)] - weights @ V[np.ix_(rows, asked)])
    np.testing.assert_allclose(known.variance[inner], spread, atol=1e-10)


def test_samples_have_the_covariance(way):
    tree = read_tree("((A:1,B:2):0.5,(C:1,D:0.3,E:1):2);")
    gaussian = TreeGaussian(tree, Model(alpha=0.4, root="stationary"), np.array([3, 0, 2]))
    draws = gaussian.sample(40_000, random_state=0)
    np.testing.assert_allclose(np.cov(draws), gaussian.covariance(), atol=0.03)
    np.testing.assert_array_equal(draws, gaussian.sample(40_000, random_state=0))


def test_deep_and_wide_trees_are_walked(way):
    n = 3000
    comb = np.concatenate([[-1], np.repeat(np.arange(0, 2 * n, 2), 2)])
    names = [f"t{i}" for i in range(len(comb))]
    caterpillar = Tree(comb, np.full(len(comb), 1e-2), names)
    star = Tree([-1] + [0] * n, np.full(n + 1, 2.0), names[: n + 1])
    y = np.random.default_rng(0).normal(size=n)
    white, log_determinant = TreeGaussian(star).whitened(y)
    assert np.sum(white**2) == pytest.approx(np.sum(y**2) / 2)
    assert log_determinant == pytest.approx(n * np.log(2))
    assert TreeGaussian(star).conditional(y).mean[0] == 0
    # Of a comb with equal branches, joined from the end: variances of contrasts by recursion.
    spread, expected = 1e-2, 0.0
    for _ in range(n):
        expected += np.log(spread + 1e-2)
        spread = spread * 1e-2 / (spread + 1e-2) + 1e-2
    expected += np.log(spread - 1e-2)
    assert TreeGaussian(caterpillar).log_determinant == pytest.approx(expected, rel=1e-10)


def test_rows_that_do_not_fit_are_refused():
    tree = read_tree("(A:1,B:1);")
    with pytest.raises(InvalidInputError, match="3 rows were given for 2 tips"):
        TreeGaussian(tree).whiten(np.zeros(3))
    with pytest.raises(InvalidInputError, match="values must be finite"):
        TreeGaussian(tree).whiten([1.0, np.nan])
    with pytest.raises(InvalidInputError, match="more than one row"):
        TreeGaussian(tree, tips=np.array([0, 0]))


def test_another_model_on_the_same_tips_needs_no_new_schedule():
    tree = yule_tree(12, random_state=0)
    some = TreeGaussian(tree, tips=np.arange(5))
    assert some.with_model(Model(pagel_lambda=0.5)).schedule is some.schedule
