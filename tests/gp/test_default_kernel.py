"""Without a kernel: the units do not matter, and what is chosen is what the rows support."""

import numpy as np
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.gp import GPClassifier, GPRegressor, SparseGPClassifier
from parsimon.gp._default_kernel import StandardColumns, candidates
from parsimon.kernels import Constant, Laplacian, Linear, SquaredExponential


@pytest.fixture(scope="module")
def normal():
    X = np.random.default_rng(5).normal(size=(120, 3))
    X.flags.writeable = False
    return X


def labels(log_odds, seed=0):
    chance = np.random.default_rng(seed).random(len(log_odds))
    return (chance < 1 / (1 + np.exp(-log_odds))).astype(int)


def kinds(model):
    return {type(term) for term in getattr(model.kernel_, "terms", (model.kernel_,))}


@pytest.mark.parametrize(
    "model", [GPClassifier(), SparseGPClassifier(n_inducing=20, random_state=0), GPRegressor()]
)
def test_units_and_origins_of_columns_do_not_matter(normal, model):
    y = labels(2 * normal[:, 0] + normal[:, 1] ** 2 - 1)
    other = (normal + np.array([3.0, -20.0, 0.5])) * [1e-4, 50.0, 1e5]
    predict = "predict" if isinstance(model, GPRegressor) else "predict_proba"
    first = getattr(model.fit(normal, y), predict)(normal)
    second = getattr(model.fit(other, y), predict)(other)
    np.testing.assert_allclose(first, second, atol=1e-4)


def test_a_kernel_in_the_units_of_the_table_is_the_same_kernel(normal):
    X = np.column_stack([(normal + 7.0) * [1e-3, 1.0, 1e3], np.ones(120)])
    weights = np.random.default_rng(0).integers(1, 4, size=120).astype(float)
    table = StandardColumns.of(X, weights)
    assert table.columns == (0, 1, 2)
    np.testing.assert_allclose(np.average(table.X, axis=0, weights=weights), 0, atol=1e-12)
    np.testing.assert_allclose(np.average(table.X**2, axis=0, weights=weights), 1)
    found = list(candidates(table.X))
    assert len(found) == 5
    for kernel in found:
        restated = table.restated(kernel)
        np.testing.assert_allclose(restated.gram(X), kernel.gram(table.X), rtol=1e-8, atol=1e-10)


def test_noise_supports_a_constant_alone():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(150, 10)), np.arange(150) % 3 == 0
    for model in (GPClassifier(), SparseGPClassifier(random_state=0)):
        model.fit(X, y)
        assert model.kernel_.n_theta == 1
        assert isinstance(model.kernel_, Constant)
        np.testing.assert_allclose(
            model.predict_proba(rng.normal(size=(5, 10)))[:, 1], 1 / 3, atol=0.02
        )


def test_a_straight_truth_gets_lines_and_a_bent_one_more(normal):
    straight = GPClassifier().fit(normal, labels(4 * normal[:, 0] - 2 * normal[:, 1]))
    assert kinds(straight) == {Constant, Linear}
    assert [part.name for part in straight.components(normal)] == ["C", "LIN_1", "LIN_2", "LIN_3"]
    bent = GPClassifier().fit(normal, labels(6 * normal[:, 0] * normal[:, 1]))
    assert kinds(bent) & {SquaredExponential, Laplacian}
    regression = GPRegressor().fit(normal, np.sin(3 * normal[:, 0]))
    assert SquaredExponential in kinds(regression)


def test_classes_of_three_may_have_different_kernels():
    X = np.random.default_rng(2).normal(size=(90, 2))
    y = np.where(X[:, 0] > 0.4, 2, np.where(np.hypot(*X.T) < 0.8, 1, 0))
    for multi_class in ("one_vs_rest", "softmax"):
        model = GPClassifier(multi_class=multi_class).fit(X, y)
        assert model.score(X, y) > 0.85
        assert isinstance(model.kernel_, tuple) == (multi_class == "one_vs_rest")


def test_a_given_kernel_is_not_replaced_and_an_unfitted_default_is_smooth(normal):
    y = labels(3 * normal[:, 0])
    given = GPClassifier("rbf", n_restarts=0).fit(normal, y)
    assert kinds(given) == {SquaredExponential}
    held = GPClassifier(optimise=False).fit(normal, y)
    assert kinds(held) == {Constant, Linear, SquaredExponential}
    assert held.n_iter_ == 1


def test_time_is_shared_and_many_rows_are_compared_on_some():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(700, 2))
    y = labels(3 * X[:, 0])
    model = GPClassifier(time_limit=1e-6)
    with pytest.warns(UserWarning, match="did not converge"):
        model.fit(X, y)
    assert model.predict_proba(X).shape == (700, 2)
    whole = GPClassifier().fit(X, y)
    assert kinds(whole) == {Constant, Linear}
    assert whole.score(X, y) > 0.8


def test_columns_that_are_all_constant_are_refused():
    for model in (GPClassifier(), GPRegressor()):
        with pytest.raises(InvalidInputError, match="is constant"):
            model.fit(np.ones((20, 2)), np.arange(20) % 2)
