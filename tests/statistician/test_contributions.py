"""Contributions: Shapley's values by hand, sums, kernels, trees and lines."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from parsimon.gp import GPClassifier
from parsimon.kernels import SquaredExponential as SE
from parsimon.rvm import RVC
from parsimon.statistician import fit_model
from parsimon.statistician.contributions import (
    SeenRows,
    joint_variables,
    scores,
    shapley_values,
)
from parsimon.statistician.prepare.recipes import VariableSource

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
Y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)


def by_orders(score, row, typical, groups):
    """Average what each group adds over all orders: Shapley's own definition."""
    values = np.zeros(len(groups))
    orders = list(permutations(range(len(groups))))
    for order in orders:
        now = typical.copy()
        for group in order:
            before = score(now[None])[0]
            now[groups[group]] = row[groups[group]]
            values[group] += score(now[None])[0] - before
    return values / len(orders)


def function(Z):
    return np.sin(Z[:, 0]) + Z[:, 1] * Z[:, 2] + Z[:, 3] ** 2 * Z[:, 0]


@pytest.mark.parametrize("groups", [[[0], [1], [2], [3]], [[0, 2], [1], [3]]])
@pytest.mark.parametrize("joint", [[{0, 1, 2, 3}], [{0}, {1, 2}, {0, 3}]])
def test_values_are_those_of_all_orders(groups, joint):
    typical = np.array([0.3, -0.2, 0.5, 1.0])
    found = shapley_values(function, X, typical, groups, [frozenset(one) for one in joint])
    assert found.exact
    expected = [by_orders(function, row, typical, groups) for row in X]
    np.testing.assert_allclose(found.values, expected, atol=1e-12)


def test_a_wrong_claim_to_be_a_sum_is_noticed():
    typical = np.zeros(4)
    groups = [[0], [1], [2], [3]]
    alone = [frozenset({place}) for place in range(4)]
    found = shapley_values(function, X, typical, groups, alone)
    expected = [by_orders(function, row, typical, groups) for row in X]
    np.testing.assert_allclose(found.values, expected, atol=1e-12)


def test_many_columns_are_sampled_and_still_add_up():
    Z = RNG.normal(size=(5, 14))

    def tied(rows):
        return np.prod(1 + 0.1 * rows, axis=1)

    groups = [[place] for place in range(14)]
    found = shapley_values(tied, Z, np.zeros(14), groups, [frozenset(range(14))])
    assert not found.exact
    np.testing.assert_allclose(found.base + found.values.sum(axis=1), tied(Z))


def test_a_sum_of_kernels_is_a_sum_of_its_parts():
    model = GPClassifier(SE(0) + SE(1) * SE(2), n_restarts=0).fit(X, Y)
    joint = joint_variables(model, 4)
    assert set(joint) == {frozenset({0}), frozenset({1, 2})}
    typical = np.median(X, axis=0)
    found = shapley_values(
        lambda Z: scores(model, Z)[:, 0], X, typical, [[0], [1], [2], [3]], joint
    )
    parts = {part.kernel.columns: part for part in model.components(X)}
    at = {part.kernel.columns: part for part in model.components(typical[None])}
    np.testing.assert_allclose(
        found.values[:, 0], parts[(0,)].mean - at[(0,)].mean, rtol=1e-6, atol=1e-8
    )
    together = found.values[:, 1] + found.values[:, 2]
    np.testing.assert_allclose(together, parts[(1, 2)].mean - at[(1, 2)].mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(found.values[:, 3], 0)


def test_a_line_is_its_slopes():
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    joint = joint_variables(model, 4)
    assert joint == tuple(frozenset({place}) for place in range(4))
    slopes = model[-1].coef_[0] / model[0].scale_
    found = shapley_values(
        lambda Z: scores(model, Z)[:, 0], X, np.ones(4), [[0], [1], [2], [3]], joint
    )
    np.testing.assert_allclose(found.values, (X - 1) * slopes, atol=1e-10)


def test_trees_use_the_variables_at_which_they_branch():
    tree = DecisionTreeRegressor(max_depth=1).fit(X, X[:, 2])
    assert joint_variables(tree, 4) == (frozenset({2}),)
    forest = RandomForestClassifier(5, random_state=0).fit(X, Y)
    assert joint_variables(forest, 4)[0] <= frozenset(range(4))


def alone(*places):
    return tuple(frozenset({place}) for place in places)


def test_columns_that_are_only_scaled_keep_their_places_and_mixed_ones_do_not():
    scalers = (StandardScaler(), MinMaxScaler(), "passthrough", MaxAbsScaler(), RobustScaler())
    line = make_pipeline(*scalers, LogisticRegression()).fit(X, Y)
    assert joint_variables(line, 4) == alone(0, 1, 2, 3)
    every = (frozenset(range(4)),)
    assert joint_variables(make_pipeline(PCA(4), LogisticRegression()).fit(X, Y), 4) == every
    stump = DecisionTreeRegressor(max_depth=1)
    assert joint_variables(make_pipeline(PCA(4), stump).fit(X, Y), 4) == every
    assert joint_variables(make_pipeline(*scalers, stump).fit(X, X[:, 1]), 4) == alone(1)


def test_what_a_model_does_not_use_is_in_no_set():
    sparse = Lasso(alpha=0.3).fit(X, 2 * X[:, 3] - X[:, 1])
    assert joint_variables(sparse, 4) == alone(1, 3)
    classes = LogisticRegression().fit(X[:, :3], np.arange(30) % 3)
    classes.coef_[:, 1], classes.coef_[0, 2], classes.coef_[1, 0] = 0.0, 0.0, 0.0
    assert joint_variables(classes, 3) == alone(0, 2)
    assert joint_variables(DummyClassifier().fit(X, Y), 4) == ()
    flat = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5, max_leaf_nodes=2)
    assert joint_variables(flat.fit(X, X[:, 2] > 0), 4) == alone(2)


def test_kernels_of_several_classes_are_all_looked_at():
    model = SimpleNamespace(kernel_=(SE(0), SE(1) * SE(2), SE(0) + SE(3)))
    assert joint_variables(model, 4) == (*alone(0), frozenset({1, 2}), *alone(3))
    assert joint_variables(SimpleNamespace(kernel_=SE()), 4) == (frozenset(range(4)),)


def test_another_model_ties_everything_together():
    assert joint_variables(RVC().fit(X, Y), 4) == (frozenset(range(4)),)


def test_a_typical_row_has_medians_that_occur_and_the_commonest_level():
    table = pd.DataFrame(
        {"size": [1.0, 2.0, 4.0, 9.0], "a": [1, 0, 0, 0], "b": [0, 1, 1, 0]}, dtype=float
    )
    sources = [
        VariableSource(name="size", column="size"),
        VariableSource(name="a", column="place", kind="indicator"),
        VariableSource(name="b", column="place", kind="indicator"),
    ]
    seen = SeenRows.of(table, sources)
    assert seen.typical[0] in (2.0, 4.0)
    assert seen.typical[1:].tolist() == [0, 1]
    assert (seen.low[0], seen.high[0]) == (1, 9)


def test_the_typical_row_has_a_day_for_a_date_and_a_number_for_a_number():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(41), "D")
    table = pd.DataFrame({"when": days, "age": rng.integers(20, 60, 41), "y": rng.normal(size=41)})
    model = fit_model(table, "y", family="linear", outer=0, n_jobs=1).model
    found = model.contributions(table.head(2))
    typical = dict(zip(found.columns, found.typical, strict=True))
    assert typical["when"] == "2024-03-21"
    assert float(typical["age"]) == np.median(table["age"])
