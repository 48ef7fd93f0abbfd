"""The classifier against SVC, its weights, its repairs, its hard cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import SVC

from parsimon.exceptions import InvalidInputError, InvertedPredictionWarning
from parsimon.kernels import Multiquadric, Sigmoid, SquaredExponential, as_kernel
from parsimon.svm import _dual as smo
from parsimon.svm._dual import Dual, solve
from parsimon.svm._pairs import pair_classes, votes_and_margins
from parsimon.svm.classifier import EvolutionarySVC
from parsimon.svm.indefinite import kernel_spectrum, repair_kernel
from tests.svm.duals import repaired_similarities


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(90, noise=0.3, random_state=0)
    X.flags.writeable = False
    return X, y


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    # Without equal rows, which are merged here and not there.
    _, places = np.unique(X, axis=0, return_index=True)
    return X[places], y[places]


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_it_is_svc_on_definite_kernels(moons, kernel, C):
    X, y = moons
    polynomial = {"degree": 2, "coef0": 1.0}
    same = as_kernel(kernel, gamma=0.7, **polynomial)
    ours = EvolutionarySVC(C, same, tol=1e-7).fit(X, y)
    theirs = SVC(C=C, kernel=kernel, gamma=0.7, **polynomial, tol=1e-7).fit(X, y)
    new = X[:30] + 0.1
    np.testing.assert_allclose(
        ours.decision_function(new), theirs.decision_function(new), atol=2e-4
    )
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-4)
    assert set(ours.support_) == set(theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=0.01 * C)
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    assert ours.stopped_by_ == "concave"
    assert ours.converged_


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_three_classes_are_those_of_svc(iris, shape):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    options = {"C": 2.0, "gamma": 0.5, "decision_function_shape": shape}
    ours = EvolutionarySVC(**options, tol=1e-7).fit(X, names)
    theirs = SVC(**options, break_ties=shape == "ovr", tol=1e-7).fit(X, names)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert ours.objective_.shape == (3,)
    assert len(ours.history_) == 3


def test_predictions_are_the_greatest_decision(iris):
    X, y = iris
    model = EvolutionarySVC(gamma=5.0).fit(X, y)
    new = np.random.default_rng(0).uniform(X.min(), X.max(), size=(500, 4))
    greatest = model.classes_[model.decision_function(new).argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(new), greatest)


@given(st.integers(0, 1000), st.integers(3, 5))
def test_votes_come_before_margins(seed, n_classes):
    decisions = np.random.default_rng(seed).normal(size=(4, len(pair_classes(n_classes))))
    votes = np.zeros((4, n_classes))
    for column, (first, second) in enumerate(pair_classes(n_classes)):
        for row in range(4):
            votes[row, first if decisions[row, column] >= 0 else second] += 1
    np.testing.assert_array_equal(votes_and_margins(decisions, n_classes).round(), votes)


def test_the_objective_is_that_of_the_dual(moons):
    X, y = moons
    model = EvolutionarySVC(3.0, gamma=0.7, tol=1e-6).fit(X, y)
    K = SquaredExponential(lengthscale=(2 * 0.7) ** -0.5).gram(X)
    optimum = solve(Dual(K, 2.0 * y - 1, np.full(len(y), 3.0)), tol=1e-8)
    assert model.objective_ == pytest.approx(optimum.objective, rel=1e-7)
    assert 0 < model.gap_ < 1e-6


@pytest.mark.parametrize("strategy", ["gaussian", "switching", "hybrid", "swarm"])
def test_the_printed_strategies_classify_but_stop_short(moons, strategy):
    X, y = moons
    model = EvolutionarySVC(strategy=strategy, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    exact = EvolutionarySVC().fit(X, y)
    assert model.history_[0][0] < model.objective_ < exact.objective_
    assert model.gap_ > 0.1
    assert model.n_iter_ == len(model.history_[0]) <= 1001
    assert model.stopped_by_ == "stall"
    # The source drops the equality: the variables are not balanced.
    assert abs(model.dual_coef_.sum()) > 1e-3
    assert abs(exact.dual_coef_.sum()) < 1e-9


def test_options_of_the_evolution_reach_it(moons):
    X, y = moons
    short = EvolutionarySVC(strategy="hybrid", max_iter=3, random_state=0).fit(X, y)
    assert (short.n_iter_, short.stopped_by_) == (4, "max_iter")
    sigmoid = {"kernel": Sigmoid(scale=0.4, offset=1.0), "indefinite": "native", "random_state": 0}
    few = EvolutionarySVC(**sigmoid, stall=1).fit(X, y)
    many = EvolutionarySVC(**sigmoid, stall=8).fit(X, y)
    assert many.n_iter_ > few.n_iter_
    assert many.objective_ >= few.objective_ - 1e-6
    loose = EvolutionarySVC(tol=0.1).fit(X, y)
    assert 1e-3 < loose.gap_ < 0.1


def test_a_time_limit_keeps_a_model_and_says_so(moons):
    X, y = moons
    options = {"kernel": Sigmoid(scale=0.4, offset=1.0), "indefinite": "native"}
    model = EvolutionarySVC(**options, time_limit=1e-9, random_state=0)
    with pytest.warns(ConvergenceWarning, match="raise time_limit"):
        model.fit(X, y)
    assert model.stopped_by_ == "time_limit"
    assert not model.converged_
    assert model.predict(X).shape == y.shape


def test_steps_that_run_out_are_reported(moons, monkeypatch):
    X, y = moons
    monkeypatch.setattr(smo, "_MOST_REFRESHES", 1)
    monkeypatch.setattr(smo, "_REFRESH", 2)
    with pytest.warns(ConvergenceWarning, match="optimality conditions are violated by up to"):
        EvolutionarySVC().fit(X, y)


@settings(max_examples=15)
@given(st.integers(0, 1000))
def test_integer_weights_are_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 3
    weights = rng.integers(0, 4, size=20)
    weights[:3] = 1
    order = rng.permutation(weights.sum())
    repeated = np.repeat(np.arange(20), weights)[order]
    model = EvolutionarySVC("heuristic", class_weight="balanced")
    weighted = model.fit(X, y, sample_weight=weights).decision_function(X)
    np.testing.assert_array_equal(
        weighted, model.fit(X[repeated], y[repeated]).decision_function(X)
    )


@pytest.mark.parametrize("class_weight", [{0: 3.0, 1: 0.5}, "balanced"])
def test_weights_of_classes_and_rows_are_those_of_svc(moons, class_weight):
    X, y = moons
    X, y = X[20:], y[20:]
    weights = np.linspace(0.5, 2.0, len(y))
    options = {"gamma": 1.0, "C": 2.0, "class_weight": class_weight}
    ours = EvolutionarySVC(**options, tol=1e-7)
    theirs = SVC(**options, tol=1e-7)
    if class_weight == "balanced":  # ours balances weights, theirs counts of rows
        weights = np.ones(len(y))
    np.testing.assert_allclose(
        ours.fit(X, y, sample_weight=weights).decision_function(X),
        theirs.fit(X, y, sample_weight=weights).decision_function(X),
        atol=1e-4,
    )


def test_the_heuristic_is_one_over_the_mean_self_similarity(moons):
    X, y = moons
    model = EvolutionarySVC("heuristic", "linear").fit(X, y)
    assert pytest.approx(len(X) / (X**2).sum()) == model.C_
    assert np.abs(model.dual_coef_).max() == pytest.approx(model.C_)
    assert pytest.approx(1.0) == EvolutionarySVC("heuristic").fit(X, y).C_
    K = -np.eye(4)
    with pytest.raises(InvalidInputError, match="which is -4 here"):
        EvolutionarySVC("heuristic", "precomputed", indefinite="native").fit(K, [0, 1, 0, 1])


@pytest.mark.parametrize("how", ["clip", "flip", "shift"])
def test_repairs_train_and_predict_in_the_repaired_geometry(moons, how):
    X, y = moons
    kernel = Multiquadric(width=2.0)
    model = EvolutionarySVC(kernel=kernel, indefinite=how, tol=1e-6).fit(X, y)
    repair = repair_kernel(kernel.gram(X), how)
    theirs = SVC(kernel="precomputed", tol=1e-6).fit(repair.train, y)
    new = X[:10] + 0.05
    np.testing.assert_allclose(
        model.decision_function(new),
        theirs.decision_function(repaired_similarities(repair, kernel.gram(new, X))),
        atol=1e-4,
    )
    assert model.repair_ == how
    assert model.stopped_by_ == "concave"
    assert model.smallest_eigenvalue_ == pytest.approx(kernel_spectrum(kernel.gram(X)).smallest)


def test_native_says_what_it_did_and_is_no_worse_than_libsvm(moons):
    X, y = moons
    kernel = Multiquadric(width=2.0)
    model = EvolutionarySVC(kernel=kernel, indefinite="native", random_state=0)
    with pytest.warns(InvertedPredictionWarning, match="worse than guessing"):
        model.fit(X, y)
    lib = solve(Dual(kernel.gram(X), 2.0 * y - 1, np.ones(len(y))))
    assert model.objective_ >= lib.objective - 1e-9
    assert (model.repair_, model.stopped_by_) == ("native", "stall")
    assert model.smallest_eigenvalue_ < -1
    text = model.summary()
    assert "The kernel matrix is indefinite: " in text
    assert "it was used as it is" in text
    assert f"the smallest {model.smallest_eigenvalue_:.3g}" in text


def test_by_default_an_indefinite_kernel_is_no_worse_than_guessing(moons):
    X, y = moons
    kernel = Multiquadric(width=2.0)
    model = EvolutionarySVC(kernel=kernel, random_state=0).fit(X, y)
    assert (model.repair_, model.inverted_) == ("flip", False)
    assert model.score(X, y) > 0.8
    native = EvolutionarySVC(kernel=kernel, indefinite="native", random_state=0)
    with pytest.warns(InvertedPredictionWarning, match='use indefinite="flip"'):
        native.fit(X, y)
    assert native.converged_
    assert native.inverted_
    assert native.score(X, y) < 0.5


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_a_definite_kernel_needs_no_repair(moons, kernel):
    X, y = moons
    table = X if kernel == "rbf" else np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=-1))
    model = EvolutionarySVC(kernel=kernel, gamma=1.0, indefinite="clip").fit(table, y)
    assert (model.repair_, model.stopped_by_) == ("none", "concave")
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=-1))
    assert model.smallest_eigenvalue_ == pytest.approx(np.linalg.eigvalsh(K)[0], abs=1e-12)
    assert "positive semi-definite" in model.summary()
    assert f"{len(model.support_)} of 90 distinct rows are support vectors" in model.summary()


def test_precomputed_similarities_are_those_of_the_kernel(moons):
    X, y = moons
    weights = np.where(np.arange(90) % 7 == 0, 0.0, 1.0)
    kernel = SquaredExponential(lengthscale=0.5)
    K, new = kernel.gram(X), kernel.gram(X + 0.1, X)
    matrix = EvolutionarySVC(kernel="precomputed", tol=1e-8).fit(K, y, sample_weight=weights)
    rows = EvolutionarySVC(kernel=kernel, tol=1e-8).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        matrix.decision_function(new), rows.decision_function(X + 0.1), atol=1e-6
    )
    np.testing.assert_array_equal(matrix.support_, rows.support_)
    assert matrix.support_vectors_.shape[0] == 0
    called = EvolutionarySVC(kernel=kernel.gram, tol=1e-8).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(called.decision_function(X), rows.decision_function(X), atol=1e-6)


def test_a_repaired_precomputed_matrix_maps_new_rows(moons):
    X, y = moons
    kernel = Multiquadric(width=2.0)
    weights = np.where(np.arange(90) % 7 == 0, 0.0, 1.0)
    options = {"indefinite": "clip", "tol": 1e-8}
    matrix = EvolutionarySVC(kernel="precomputed", **options)
    matrix.fit(kernel.gram(X), y, sample_weight=weights)
    rows = EvolutionarySVC(kernel=kernel, **options).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        matrix.decision_function(kernel.gram(X[:9] + 0.1, X)),
        rows.decision_function(X[:9] + 0.1),
        atol=1e-5,
    )


def test_the_result_does_not_depend_on_jobs(iris):
    X, y = iris
    options = {"kernel": "sigmoid", "gamma": 0.1, "indefinite": "native", "stall": 2}
    options["random_state"] = 3
    with pytest.warns(InvertedPredictionWarning):
        first = EvolutionarySVC(**options).fit(X, y)
    with parallel_config(backend="threading"), pytest.warns(InvertedPredictionWarning):
        second = EvolutionarySVC(**options, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


def test_a_generator_gives_new_chance_and_a_seed_the_same(moons):
    X, y = moons
    options = {"strategy": "hybrid", "max_iter": 5}
    seed = np.random.SeedSequence(4)
    first, second = (EvolutionarySVC(**options, random_state=seed).fit(X, y) for _ in range(2))
    assert first.objective_ == second.objective_
    rng = np.random.default_rng(0)
    third, fourth = (EvolutionarySVC(**options, random_state=rng).fit(X, y) for _ in range(2))
    assert third.objective_ != fourth.objective_


def test_the_order_of_the_rows_does_not_matter(iris):
    X, y = iris
    order = np.random.default_rng(0).permutation(len(y))
    first = EvolutionarySVC().fit(X, y).decision_function(X)
    np.testing.assert_array_equal(
        EvolutionarySVC().fit(X[order], y[order]).decision_function(X), first
    )


def test_two_rows_are_enough():
    model = EvolutionarySVC(10.0, "linear", probability=True).fit([[0.0], [2.0]], ["a", "b"])
    np.testing.assert_allclose(
        model.decision_function([[0.0], [1.0], [2.0]]), [-1, 0, 1], atol=1e-6
    )
    np.testing.assert_array_equal(model.predict([[0.5], [1.5]]), ["a", "b"])
    assert model.objective_ == pytest.approx(0.5)


def test_one_class_is_refused():
    with pytest.raises(InvalidInputError, match="Two classes or more are needed"):
        EvolutionarySVC().fit([[0.0], [1.0]], [1, 1])
    with pytest.raises(InvalidInputError, match="Two classes or more are needed"):
        EvolutionarySVC().fit([[0.0], [1.0]], [0, 1], sample_weight=[0.0, 1.0])


def test_a_class_without_weight_is_not_there():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 2, 2]
    model = EvolutionarySVC().fit(X, y, sample_weight=[1.0, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(model.classes_, [0, 2])


def test_equal_rows_with_both_labels_have_no_say():
    X = [[0.0], [0.0], [1.0], [3.0]]
    model = EvolutionarySVC(1.0, "linear").fit(X, [0, 1, 0, 1])
    assert np.isfinite(model.decision_function(X)).all()
    all_equal = EvolutionarySVC().fit(np.ones((6, 2)), [0, 1, 0, 1, 1, 1])
    np.testing.assert_array_equal(all_equal.predict(np.ones((2, 2))), [1, 1])


def test_constant_columns_and_huge_scales_are_no_obstacle(moons):
    X, y = moons
    plain = EvolutionarySVC().fit(X, y)
    constant = EvolutionarySVC(gamma=1 / (2 * X.var())).fit(np.c_[X, np.full(90, 7.0)], y)
    np.testing.assert_allclose(
        constant.decision_function(np.c_[X, np.full(90, 7.0)]),
        plain.decision_function(X),
        atol=1e-3,
    )
    huge = EvolutionarySVC().fit(1e8 * X, y)
    np.testing.assert_allclose(
        huge.decision_function(1e8 * X), plain.decision_function(X), atol=1e-3
    )
    tiny = EvolutionarySVC().fit(1e-8 * X, y)
    np.testing.assert_allclose(
        tiny.decision_function(1e-8 * X), plain.decision_function(X), atol=1e-3
    )


def test_a_problem_beyond_the_steps_ends_with_a_warning(moons):
    X, y = moons
    # As C = 1e10 on these rows.
    raw = EvolutionarySVC(kernel="linear")
    with pytest.warns(ConvergenceWarning, match="Scale the columns"):
        raw.fit(1e5 * X, y)
    assert not raw.converged_
    assert raw.gap_ > 1e-3
    assert np.isfinite(raw.decision_function(X)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, "C must be a positive number"),
        ({"C": "best"}, 'C must be "heuristic"'),
        ({"kernel": "wavelet"}, "kernel must be"),
        ({"gamma": -1.0}, "gamma must be positive"),
        ({"strategy": "random"}, "strategy must be"),
        ({"indefinite": "square", "kernel": "sigmoid"}, "indefinite must be"),
        ({"probability": "yes"}, "probability must be"),
        ({"decision_function_shape": "all"}, "decision_function_shape must be"),
        ({"class_weight": "equal"}, "class_weight must be"),
        ({"stall": 0}, "stall must be"),
    ],
)
def test_wrong_options_are_refused(moons, options, message):
    with pytest.raises(InvalidInputError, match=message):
        EvolutionarySVC(**options).fit(*moons)


def test_rows_that_cannot_be_used_are_refused(moons):
    X, y = moons
    with pytest.raises(ValueError, match="contains NaN"):
        EvolutionarySVC().fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(InvalidInputError, match="negative"):
        EvolutionarySVC().fit(X, y, sample_weight=-np.ones(90))
    with pytest.raises(NotFittedError, match="not fitted yet"):
        EvolutionarySVC().summary()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = EvolutionarySVC().smallest_eigenvalue_


def test_it_reaches_the_optimum_on_many_problems():
    for seed in range(5):
        X, y = make_classification(150, 6, n_informative=4, flip_y=0.1, random_state=seed)
        model = EvolutionarySVC().fit(X, y)
        K = SquaredExponential(lengthscale=(X.shape[1] * X.var() / 2) ** 0.5).gram(X)
        optimum = solve(Dual(K, 2.0 * y - 1, np.ones(150)), tol=1e-8).objective
        assert 0.99999 < model.objective_ / optimum < 1 + 1e-9
