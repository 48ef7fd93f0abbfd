"""The regressor against SVR, its weights, its hard cases."""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVR

from parsimon.exceptions import InvalidInputError, InvertedPredictionWarning
from parsimon.kernels import Multiquadric, SquaredExponential, as_kernel
from parsimon.svm._dual import solve
from parsimon.svm.indefinite import repair_kernel
from parsimon.svm.regressor import EvolutionarySVR, regression_dual
from tests.contract import contract
from tests.svm.duals import repaired_similarities


@contract(EvolutionarySVR(), EvolutionarySVR(kernel="precomputed", epsilon=0.01))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def friedman():
    X, y = make_friedman1(80, noise=1.0, random_state=0)
    X.flags.writeable = False
    return X, y


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize(("C", "epsilon"), [(1.0, 0.1), (20.0, 1.0), (5.0, 0.0)])
def test_it_is_svr_on_definite_kernels(friedman, kernel, C, epsilon):
    X, y = friedman
    options = {"C": C, "epsilon": epsilon, "tol": 1e-5}
    same = as_kernel(kernel, gamma=0.5, degree=2)
    ours = EvolutionarySVR(kernel=same, **options).fit(X, y)
    theirs = SVR(kernel=kernel, gamma=0.5, degree=2, **options).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=2e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-3)
    if kernel == "rbf":
        np.testing.assert_array_equal(ours.support_, theirs.support_)
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=2e-3 * C)
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])
    assert ours.n_support_ == [len(ours.support_)]
    assert (ours.stopped_by_, ours.converged_, ours.n_iter_) == ("concave", True, 1)


@settings(max_examples=15)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.01, 0.3, 1.0]))
def test_the_dual_is_that_of_the_tube(seed, epsilon):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    K, C = SquaredExponential().gram(X), 2.0
    found = solve(regression_dual(K, y, np.full(6, C), epsilon), tol=1e-9)
    above, below = np.split(found.alpha, 2)
    beta = above - below
    error = np.maximum(np.abs(y - K @ beta - found.bias) - epsilon, 0)
    # Strong duality: the primal value of the solution is the dual one.
    assert 0.5 * beta @ K @ beta + C * error.sum() == pytest.approx(found.objective, abs=1e-6)
    assert np.minimum(above, below).max() < 1e-9 or epsilon == 0


def test_the_primal_has_no_lower_value(friedman):
    X, y = friedman
    K = SquaredExponential().gram(X[:8])
    found = solve(regression_dual(K, y[:8], np.full(8, 3.0), 0.5), tol=1e-9)

    def primal(parameters):
        error = np.maximum(np.abs(y[:8] - K @ parameters[:8] - parameters[8]) - 0.5, 0)
        return 0.5 * parameters[:8] @ K @ parameters[:8] + 3.0 * error.sum()

    rough = minimize(primal, np.zeros(9), method="Powell", options={"maxiter": 20_000})
    assert rough.fun >= found.objective - 1e-6
    assert rough.fun == pytest.approx(found.objective, rel=0.05)


@pytest.mark.parametrize("strategy", ["gaussian", "switching", "hybrid", "swarm"])
def test_the_printed_strategies_rise_but_stop_short(friedman, strategy):
    X, y = friedman
    kernel = SquaredExponential()
    options = {"strategy": strategy, "random_state": 0}
    model = EvolutionarySVR(10.0, kernel, **options).fit(X, y)
    # The source drops the equality: the highest point is that of the box.
    dual = regression_dual(kernel.gram(X), y, np.full(len(y), 10.0), 0.1, equality=False)
    assert model.history_[0][0] < model.objective_ < solve(dual).objective
    again = EvolutionarySVR(10.0, kernel, **options).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


@settings(max_examples=15)
@given(st.integers(0, 1000))
def test_integer_weights_are_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(15, 2)), rng.normal(size=15)
    weights = rng.integers(0, 4, size=15)
    weights[0] = 1
    repeated = np.repeat(np.arange(15), weights)[rng.permutation(weights.sum())]
    model = EvolutionarySVR("heuristic")
    weighted = model.fit(X, y, sample_weight=weights).predict(X)
    np.testing.assert_array_equal(weighted, model.fit(X[repeated], y[repeated]).predict(X))


def test_weights_are_those_of_svr(friedman):
    X, y = friedman
    weights = np.linspace(0.2, 3.0, len(y))
    ours = EvolutionarySVR(gamma=0.5, tol=1e-6).fit(X, y, sample_weight=weights)
    theirs = SVR(gamma=0.5, tol=1e-6).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)


@pytest.mark.parametrize("how", ["native", "clip", "flip", "shift"])
def test_indefinite_kernels_are_used_as_asked(friedman, how):
    X, y = friedman
    kernel = Multiquadric(width=2.0)
    options = {"indefinite": how, "stall": 2, "random_state": 0, "tol": 1e-5}
    model = EvolutionarySVR(kernel=kernel, **options)
    expected = pytest.warns(InvertedPredictionWarning) if how == "native" else nullcontext()
    with expected:
        model.fit(X, y)
    assert model.repair_ == how
    assert model.inverted_ == (how == "native")
    assert model.smallest_eigenvalue_ < 0
    assert "indefinite" in model.summary()
    repair = repair_kernel(kernel.gram(X), how)
    theirs = SVR(kernel="precomputed", tol=1e-5).fit(repair.train, y)
    if how == "native":
        beta = np.zeros(len(y))
        beta[theirs.support_] = theirs.dual_coef_[0]
        native = y @ beta - 0.1 * np.abs(beta).sum() - 0.5 * beta @ repair.train @ beta
        assert model.objective_ >= native - 1e-6
    else:
        new = repaired_similarities(repair, kernel.gram(X[:9] + 0.1, X))
        np.testing.assert_allclose(model.predict(X[:9] + 0.1), theirs.predict(new), atol=1e-3)


def test_precomputed_similarities_are_those_of_the_kernel(friedman):
    X, y = friedman
    weights = np.where(np.arange(80) % 5 == 0, 0.0, 1.0)
    kernel = SquaredExponential(lengthscale=0.8)
    matrix = EvolutionarySVR(kernel="precomputed", tol=1e-7)
    matrix.fit(kernel.gram(X), y, sample_weight=weights)
    rows = EvolutionarySVR(kernel=kernel, tol=1e-7).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        matrix.predict(kernel.gram(X + 0.1, X)), rows.predict(X + 0.1), atol=1e-5
    )
    assert len(matrix.support_vectors_) == 0
    assert "positive semi-definite" in rows.summary()
    assert rows.smallest_eigenvalue_ == pytest.approx(matrix.smallest_eigenvalue_, abs=1e-9)


def test_small_and_constant_tables_are_no_obstacle():
    one = EvolutionarySVR().fit([[1.0], [1.0]], [3.0, 3.0])
    np.testing.assert_allclose(one.predict([[1.0], [5.0]]), 3.0)
    two = EvolutionarySVR(100.0, "linear", epsilon=0.0, tol=1e-9).fit([[0.0], [2.0]], [1, 5])
    np.testing.assert_allclose(two.predict([[0.0], [1.0], [2.0]]), [1, 3, 5], atol=1e-6)
    flat = EvolutionarySVR().fit([[0.0], [1.0], [2.0]], [4.0, 4.0, 4.0])
    assert len(flat.support_) == 0
    np.testing.assert_allclose(flat.predict([[9.0]]), 4.0)
    same = EvolutionarySVR(epsilon=0.0).fit(np.ones((3, 1)), [0.0, 1.0, 5.0])
    np.testing.assert_allclose(same.predict([[1.0]]), 1.0, atol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": -0.1}, "epsilon must be zero or a positive number"),
        ({"C": -1.0}, "C must be a positive number"),
        ({"strategy": "random"}, "strategy must be"),
        ({"kernel": 4}, "kernel must be"),
        ({"indefinite": "drop"}, "indefinite must be"),
    ],
)
def test_wrong_options_are_refused(friedman, options, message):
    with pytest.raises(InvalidInputError, match=message):
        EvolutionarySVR(**options).fit(*friedman)


def test_there_is_nothing_to_say_before_fit():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        EvolutionarySVR().summary()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = EvolutionarySVR().smallest_eigenvalue_
