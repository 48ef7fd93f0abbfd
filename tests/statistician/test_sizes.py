"""One currency for all models: each counts the numbers that its rows determine."""

import math
import pickle
import re
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from parsimon.bpm import BayesPointClassifier
from parsimon.features import parse
from parsimon.features.expressions import Expression
from parsimon.features.operations import OPERATIONS
from parsimon.features.series import SeriesExtractor
from parsimon.features.series.series_model import smooth_kernel
from parsimon.features.series.tree_methods import METHODS
from parsimon.kernels import SquaredExponential
from parsimon.statistician.families._size import (
    ModelSize,
    _count_numbers,
    linear_freedom,
    machine_freedom,
    model_size,
    size_of_numbers,
    smoother_trace,
    total_size,
)
from parsimon.statistician.families.feature_fronts import formula_bits
from parsimon.statistician.families.gp._kernel_result import pivot_regressor
from parsimon.svm import ParetoSVC

rng = np.random.default_rng(3)
X = rng.normal(size=(40, 7)) @ np.diag([3.0, 1.0, 1.0, 0.5, 0.2, 0.1, 0.1])
Y = X[:, 0] + rng.normal(size=40)


def sized(model, X=X):
    return model_size(model, n_rows=len(X), n_columns=X.shape[1], X=X)


def divergence(fitted, y, step=1e-5):
    """Return by how much each fitted value follows its own target, in all, (n, ...)."""
    total = 0.0
    for place in np.ndindex(y.shape):
        up, down = y.copy(), y.copy()
        up[place] += step
        down[place] -= step
        total += (fitted(up)[place] - fitted(down)[place]) / (2 * step)
    return total


@pytest.mark.parametrize(
    ("formula", "numbers"),
    [("exp(a - b)", 0), ("-a*b", 0), ("a - 1", 1), ("exp(2*a - b)", 1), ("log(0.5 - a/3)", 2)],
)
def test_a_minus_is_no_number_of_a_formula(formula, numbers):
    assert _count_numbers(parse(formula)) == numbers


@pytest.mark.parametrize("alpha", [0.1, 5.0, 300.0])
@pytest.mark.parametrize("constant", [True, False])
def test_the_freedom_of_ridge_is_how_far_fitted_values_follow_the_target(alpha, constant):
    def fitted(y):
        return Ridge(alpha=alpha, fit_intercept=constant).fit(X, y).predict(X)

    found = linear_freedom(Ridge(alpha=alpha, fit_intercept=constant).fit(X, Y), X)
    assert found == pytest.approx(divergence(fitted, Y), abs=1e-6)


def test_a_ridge_of_three_degrees_pays_for_three_numbers():
    model = make_pipeline(StandardScaler(), RidgeCV([110.0])).fit(X, Y)
    freedom = linear_freedom(model[-1], model[0].transform(X))
    assert 2.5 < freedom < 3.5
    size = sized(model)
    assert size.words == "3 numbers"
    full = model_size(model, n_rows=40, n_columns=7)
    assert full.words == "8 numbers"
    assert full.bits - size.bits == pytest.approx((8 - freedom) * np.log2(40) / 2)
    assert sized(LinearRegression().fit(X, Y)).words == "8 numbers"
    assert sized(Lasso(alpha=0.5).fit(X, Y)).numbers == 2


def test_a_number_is_half_the_logarithm_of_the_rows():
    """And the columns are told: how many of seven, and which."""
    whole, few = sized(LinearRegression().fit(X, Y)), sized(Lasso(alpha=0.5).fit(X, Y))
    assert whole.bits == pytest.approx(8 * np.log2(40) / 2 + np.log2(8))
    assert few.bits == pytest.approx(2 * np.log2(40) / 2 + np.log2(8) + np.log2(7))


def fitted_shares(y, price, n_classes):
    """Return what penalised logistic regression fits to targets that need not be classes."""
    design = np.column_stack([X, np.ones(len(X))])

    def penalised(flat):
        weights = flat.reshape(n_classes, -1)
        scores = design @ weights.T
        if n_classes == 1:
            loss = np.logaddexp(0.0, scores).sum() - (y * scores).sum()
            slope = expit(scores) - y
        else:
            top = scores.max(axis=1, keepdims=True)
            logs = scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
            loss, slope = -(y * logs).sum(), softmax(scores, axis=1) * y.sum(1, keepdims=True) - y
        # The last penalty settles a common shift of the constants, which says nothing.
        squares = np.column_stack([weights[:, :-1] / price, 1e-9 * weights[:, -1:]])
        return loss + 0.5 * (squares * weights).sum(), (slope.T @ design + squares).ravel()

    begin = np.zeros(n_classes * design.shape[1])
    found = minimize(
        penalised, begin, jac=True, tol=1e-13, options={"maxiter": 5000, "gtol": 1e-11}
    )
    scores = design @ found.x.reshape(n_classes, -1).T
    return expit(scores) if n_classes == 1 else softmax(scores, axis=1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_freedom_of_logistic_regression_is_how_far_probabilities_follow_the_labels(n_classes):
    codes = (np.arange(40) + (X[:, 0] > 0)) % n_classes
    price = 0.3
    model = LogisticRegression(C=price, tol=1e-10, max_iter=5000).fit(X, codes)
    labels = np.eye(n_classes)[codes]
    if n_classes == 2:
        labels = labels[:, 1:]
    slow = divergence(lambda y: fitted_shares(y, price, labels.shape[1]), labels, step=1e-4)
    assert linear_freedom(model, X) == pytest.approx(slow, rel=2e-3)
    assert slow < (n_classes - 1) * 8


def test_only_classes_that_share_a_softmax_save_one_function():
    X, y = load_iris(return_X_y=True)
    joint, rest = LogisticRegression(max_iter=500), OneVsRestClassifier(LogisticRegression())
    shared = model_size(joint.fit(X, y), n_rows=150, n_columns=4)
    apart = model_size(rest.fit(X, y), n_rows=150, n_columns=4)
    assert shared.numbers == 10
    assert apart.numbers == 15
    assert apart.words == "3 functions, 15 numbers"
    machine = BayesPointClassifier(noise_sd=1e-3).fit(X, y)
    assert 10 < machine.degrees_of_freedom_ <= 15
    assert sized(machine, X).numbers == round(machine.degrees_of_freedom_)


def test_the_freedom_of_a_bayes_point_machine_is_the_trace_of_its_smoother():
    y = (Y > 0).astype(int)
    model = BayesPointClassifier(noise_sd=2.0).fit(X, y)
    unit = X.std(axis=0)
    left = 4.0 * np.trace(model.coef_covariance_[0] * np.outer(unit, unit))
    assert 7 - left < model.degrees_of_freedom_ < 8 - left
    assert model_size(model, n_rows=40, n_columns=7).numbers == round(model.degrees_of_freedom_)
    # Under a strong prior only the constant counts.
    assert BayesPointClassifier(noise_sd=100.0).fit(X, y).degrees_of_freedom_ < 1.5


def test_the_freedom_of_a_machine_is_that_of_a_process_with_its_kernel():
    K = X @ X.T
    precision = rng.uniform(0.1, 2.0, 40)
    direct = np.trace(K @ np.linalg.inv(K + np.diag(1 / precision)))
    assert smoother_trace(K, precision) == pytest.approx(direct)
    y = (Y > 0).astype(int)
    cheap, dear = (SVC(kernel="linear", C=C).fit(X, y) for C in (1e-3, 1.0))
    assert machine_freedom(cheap, X) < machine_freedom(dear, X) < 7
    search = make_pipeline(StandardScaler(), ParetoSVC(n_points=5, max_iter=1, random_state=0))
    size = sized(search.fit(X, y))
    assert re.fullmatch(r"\d+ rows of the table, \d+ numbers", size.words)
    assert size.bits < model_size(search, n_rows=40, n_columns=7).bits
    # Without a row it says the same of all, whatever its kernel sees.
    constant = sized(search[-1].select(0))
    assert (constant.used, constant.words) == ((), "1 number")


def test_the_freedom_of_features_of_series_is_that_of_their_smooth_function():
    series = rng.normal(size=(30, 12))
    codes = (series[:, 3:8].mean(axis=1) > 0).astype(int)
    search = SeriesExtractor(max_features=2, max_iter=0, random_state=0).fit(series, codes)
    model = search.best_estimator_
    K = smooth_kernel(model.Z, model.Z, model.inner.width)
    values = np.linalg.eigvalsh(K)
    freedom = np.sum(values / (values + model.inner.noise))
    options = sum(len(step.options) for tree in model.trees for step in tree.steps)
    size = model_size(model, n_rows=30, n_columns=1)
    assert size.words == f"{len(model.trees)} features, {round(freedom + options + 2)} numbers"
    bits = sum(tree.size for tree in model.trees) * np.log2(len(METHODS))
    assert size.bits == pytest.approx(bits + 0.5 * (freedom + options + 2) * np.log2(30))


def test_a_process_of_few_rows_is_counted_as_a_process():
    size = sized(pivot_regressor(SquaredExponential(lengthscale=3.0), X, Y, 0.5))
    assert "byte" not in size.words
    K = SquaredExponential(lengthscale=3.0).gram(X)
    freedom = smoother_trace(K, np.full(40, 1 / 0.5))
    # Kernel and noise are told too.
    assert freedom < size.numbers < freedom + 5


def test_the_explanation_has_the_bits_of_the_code():
    page = Path("docs/explanation/size-of-models.md").read_text()
    sign = next(line for line in page.splitlines() if line.startswith("| a sign of a formula"))
    assert formula_bits([Expression.column("x")]) == pytest.approx(np.log2(len(OPERATIONS) + 2))
    assert f"log₂ {len(OPERATIONS) + 2} " in sign
    assert f"one of {len(OPERATIONS)} operations" in sign


GRADES = np.digitize(Y, [-1.5, 1.5])
CODES = (Y > 0).astype(int)


def told(numbers=0.0, chosen=None, n=40, d=7):
    """Return the bits of so many numbers, and of having chosen so many of the columns."""
    choice = 0.0 if chosen is None else np.log2(d + 1) + np.log2(math.comb(d, chosen))
    return 0.5 * numbers * np.log2(n) + choice


def split(n_splits, n_trees):
    """Return the bits of trees: whether a node is split, and the column and place of a split."""
    return n_trees + 2 * n_splits + n_splits * (np.log2(7) + np.log2(40))


@pytest.mark.parametrize(
    ("model", "target", "values"),
    [
        (DecisionTreeClassifier(max_leaf_nodes=5), GRADES, 2),
        (DecisionTreeClassifier(max_leaf_nodes=5), CODES, 1),
        (DecisionTreeRegressor(max_leaf_nodes=5), Y, 1),
        (RandomForestClassifier(3, max_leaf_nodes=4, random_state=0), GRADES, 2),
        (RandomForestRegressor(3, max_leaf_nodes=4, random_state=0), Y, 1),
        (GradientBoostingClassifier(n_estimators=2, max_depth=2), GRADES, 1),
        (GradientBoostingRegressor(n_estimators=2, max_depth=2), Y, 1),
    ],
)
def test_trees_are_their_splits_and_the_values_of_their_leaves(model, target, values):
    model.fit(X, target)
    trees = [one.tree_ for one in np.ravel(getattr(model, "estimators_", model))]
    leaves = sum(int((one.children_left < 0).sum()) for one in trees)
    size = sized(model)
    made = "5 leaves" if len(trees) == 1 else f"{len(trees)} trees, {leaves} leaves"
    assert size.words == made
    assert size.bits == pytest.approx(
        told(leaves * values) + split(leaves - len(trees), len(trees))
    )
    assert set(size.used) == {place for one in trees for place in one.feature if place >= 0}
    assert list(size.used) == sorted(size.used)
    assert size.numbers == 0


def test_a_tree_without_a_split_is_one_leaf():
    size = sized(DecisionTreeRegressor().fit(X, np.ones(40)))
    assert size == ModelSize((), pytest.approx(told(1) + 1), "1 leaf", 0)


def test_trees_of_binned_columns_are_counted_like_others():
    model = HistGradientBoostingRegressor(max_iter=2, max_leaf_nodes=3, min_samples_leaf=5)
    size = sized(model.fit(X, Y))
    assert size.words == "2 trees, 6 leaves"
    assert size.bits == pytest.approx(told(6) + split(4, 2))
    predicted = model.predict(X)
    for place in range(7):
        moved = X.copy()
        moved[:, place] = rng.permutation(X[:, place])
        assert np.array_equal(model.predict(moved), predicted) == (place not in size.used)


@pytest.mark.parametrize(
    ("model", "target", "numbers"),
    [(DummyClassifier(), GRADES, 2), (DummyClassifier(), CODES, 1), (DummyRegressor(), Y, 1)],
)
def test_a_constant_is_a_number_for_all_classes_but_one(model, target, numbers):
    size = sized(model.fit(X, target))
    words = "1 number" if numbers == 1 else f"{numbers} numbers"
    assert size == ModelSize((), pytest.approx(told(numbers)), words, numbers)


@pytest.mark.parametrize(
    ("target", "given"), [(CODES, None), (GRADES, None), (GRADES, X)], ids=["two", "three", "rows"]
)
def test_support_vectors_are_rows_and_weights_where_freedom_is_not_known(target, given):
    model = SVC(C=0.5).fit(X, target)
    m = len(model.support_)
    numbers = np.count_nonzero(model.dual_coef_) + 3
    size = model_size(model, n_rows=40, n_columns=7, X=given)
    assert size.words == f"{m} rows of the table, {numbers} numbers"
    rows = np.log2(math.comb(40, m))
    assert size.bits == pytest.approx(told(numbers, chosen=7) + rows)
    assert size.used == tuple(range(7))


@pytest.mark.parametrize(
    ("model", "gram"),
    [
        (SVC(C=0.7), lambda _, d2: np.exp(-d2 / (7 * X.var()))),
        (SVC(C=0.7, gamma="auto"), lambda _, d2: np.exp(-d2 / 7)),
        (SVC(C=2.0, gamma=0.03), lambda _, d2: np.exp(-0.03 * d2)),
        (SVC(kernel="poly", degree=2, gamma=0.1, coef0=1.5), lambda K, _: (0.1 * K + 1.5) ** 2),
    ],
)
def test_a_machine_of_two_classes_is_a_process_that_sees_each_row_through_its_share(model, gram):
    model.fit(X, CODES)
    inner = X @ X.T
    squares = np.diag(inner)[:, None] + np.diag(inner) - 2 * inner
    K = gram(inner, squares)
    share = expit(model.decision_function(X))
    noise = np.diag(1 / (model.C * share * (1 - share)))
    freedom = np.trace(K @ np.linalg.inv(K + noise))
    assert machine_freedom(model, X) == pytest.approx(freedom, rel=1e-6)
    size = sized(model)
    assert size.bits == pytest.approx(told(freedom + 3, chosen=7))
    assert size.words.endswith(f"table, {round(freedom) + 3} numbers")
    # A machine that tells its own steepness is taken at that.
    model.slopes_ = SimpleNamespace(above=3.0, below=1.0)
    share = expit(2 * model.decision_function(X))
    steeper = np.trace(K @ np.linalg.inv(K + np.diag(1 / (2 * model.C * share * (1 - share)))))
    assert machine_freedom(model, X) == pytest.approx(steeper, rel=1e-6)


def test_machines_of_each_class_are_added_up():
    model = OneVsRestClassifier(SVC(C=0.5)).fit(X, GRADES)
    parts = [sized(one) for one in model.estimators_]
    size = sized(model)
    rows = len({row for one in model.estimators_ for row in one.support_.tolist()})
    assert size.words == f"3 functions, {rows} rows of the table"
    assert size.bits == pytest.approx(sum(one.bits for one in parts))


def test_sizes_of_models_that_answer_together_add_up():
    one, two = ModelSize((1, 4), 10.0, "3 numbers", 3), ModelSize((0, 4), 5.5, "1 number", 1)
    assert total_size([one]) is one
    assert total_size([one, two]) == ModelSize((0, 1, 4), 15.5, "2 functions, 4 numbers", 4)
    tree = ModelSize((2,), 1.0, "2 leaves")
    assert total_size([one, tree, tree]) == ModelSize((1, 2, 4), 12.0, "3 numbers + 2 leaves", 3)
    found = size_of_numbers(2.6, [5, 2], n_rows=40, n_columns=7)
    assert found == ModelSize((5, 2), pytest.approx(told(2.6, chosen=2)), "3 numbers", 3)


class Opaque:
    """What cannot be stored."""

    def __reduce__(self):
        raise TypeError("not to be stored")


def test_any_other_model_is_as_large_as_when_stored():
    model = KNeighborsClassifier().fit(X, CODES)
    n_bytes = len(zlib.compress(pickle.dumps(model)))
    words = f"{n_bytes:,} bytes when stored"
    assert sized(model) == ModelSize(tuple(range(7)), 8 * n_bytes, words)
    assert model_size(model, n_rows=40, n_columns=7, used=[3]).used == (3,)
    assert sized(Opaque()) == ModelSize(tuple(range(7)), math.inf, "size not known")


class Keeps(TransformerMixin, BaseEstimator):
    """Passes on some columns."""

    def __init__(self, kept=()):
        self.kept = kept

    def fit(self, X, y=None):
        self.kept_ = list(self.kept)
        return self

    def transform(self, X):
        return X[:, self.kept]


def test_places_are_those_of_the_table_however_often_columns_are_picked():
    model = make_pipeline(Keeps((6, 5, 0, 2)), Keeps((2, 1)), Lasso(alpha=0.1)).fit(X, Y)
    weights = model[-1].coef_
    wanted = tuple(np.array([0, 5])[np.flatnonzero(weights)].tolist())
    assert 0 in wanted
    assert sized(model).used == wanted
    scaled = make_pipeline(StandardScaler(), Keeps((4, 0)), LinearRegression()).fit(X, Y)
    assert sized(scaled).used == (4, 0)


def test_a_search_is_the_model_that_it_found():
    search = GridSearchCV(Ridge(), {"alpha": [3.0]}).fit(X, Y)
    assert sized(search) == sized(search.best_estimator_)
    wrapped = TransformedTargetRegressor(Ridge(alpha=3.0)).fit(X, Y)
    assert sized(wrapped) == sized(wrapped.regressor_)


def test_corners_and_unknown_penalties_count_what_is_not_zero():
    sparse = LogisticRegression(l1_ratio=1.0, C=0.3, solver="saga", max_iter=5000).fit(X, CODES)
    assert math.isnan(linear_freedom(sparse, X))
    assert math.isnan(linear_freedom(LinearRegression().fit(X, Y), X))
    left = np.count_nonzero(sparse.coef_)
    assert 0 < left < 7
    size = sized(sparse)
    assert size.numbers == left + 1
    assert size.used == tuple(np.flatnonzero(sparse.coef_[0]).tolist())
    assert size.bits == pytest.approx(told(left + 1, chosen=left))


def test_relevance_vectors_are_rows_and_the_weights_that_they_determine():
    def vectors(places, kernel, freedom):
        return SimpleNamespace(
            relevance_=places, alpha_=None, degrees_of_freedom_=freedom, kernel_=kernel
        )

    rows = sized(vectors([3, 9, 30], "rbf", 2.4))
    choice = np.log2(math.comb(40, 3))
    assert rows.words == "3 rows of the table, 3 numbers"
    assert rows.bits == pytest.approx(told(3.4, chosen=7) + choice)
    assert rows.used == tuple(range(7))
    columns = sized(vectors([2, 5], "features", 1.6))
    assert columns == ModelSize((2, 5), pytest.approx(told(1.6, chosen=2)), "2 numbers", 2)
    # At least its height has to be told.
    assert sized(vectors([], "rbf", 0.2)) == ModelSize((), pytest.approx(told(1)), "1 number", 1)


def test_a_process_is_what_rows_determine_of_it_and_its_kernel():
    kernels = (SimpleNamespace(theta=[1.0, 2.0]), SimpleNamespace(theta=[0.5]))

    class GPClassifier(SimpleNamespace):
        pass

    one = sized(GPClassifier(kernel_=kernels[0], degrees_of_freedom_=4.3))
    assert one == ModelSize(tuple(range(7)), pytest.approx(told(6.3, chosen=7)), "6 numbers", 6)
    both = sized(GPClassifier(kernel_=kernels, degrees_of_freedom_=4.3))
    assert both.bits - one.bits == pytest.approx(told(1))


@pytest.mark.parametrize(("n_classes", "each"), [(4, 2.0), (0, 0.5 * np.log2(40))])
def test_the_nearest_series_is_found_among_all_that_are_kept(n_classes, each):
    model = SimpleNamespace(kept_values_=None, n_classes_=n_classes, y_=np.zeros(9))
    assert sized(model) == ModelSize(tuple(range(7)), pytest.approx(9 * each), "9 series")
