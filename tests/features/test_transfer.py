"""Features between tasks: weights, transfer and the search that asks."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from parsimon.exceptions import InvalidInputError
from parsimon.features import (
    CaseBase,
    CaseRecall,
    FeatureTransfer,
    OwnFunction,
    ParetoConstructor,
    describe_task,
    product_weights,
    task_weights,
)
from parsimon.features.case_recall import forward_order
from tests.features.cases import NAMES, case_of, relevant_task, table


def test_weights_are_a_ridge_for_numbers_and_point_where_libsvm_does_for_classes():
    X, y = relevant_task(150)
    labels = y + np.random.default_rng(0).normal(size=len(y)) > 0
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    ours, libsvm = task_weights(X, labels), SVC(kernel="linear", C=10).fit(scaled, labels).coef_[0]
    # The loss here is squared, which changes the length more than the direction.
    cosine = ours @ libsvm / np.linalg.norm(ours) / np.linalg.norm(libsvm)
    assert cosine > 0.98
    number = (y - y.mean()) / y.std()
    for C in (0.01, 10.0):
        peer = Ridge(alpha=1 / (2 * C)).fit(scaled, number).coef_
        np.testing.assert_allclose(task_weights(X, y, C=C), peer, atol=1e-4)


def test_the_counter_example_of_theorem_10_1():
    first, second = np.array([1.0, 0.2]), np.array([0.4, 0.5])
    copied = [np.array([w[0] / 2, w[0] / 2, w[1]]) for w in (first, second)]
    assert np.linalg.norm(first - second) ** 2 == pytest.approx(0.6**2 + 0.3**2)
    assert np.linalg.norm(copied[0] - copied[1]) ** 2 == pytest.approx(0.6**2 / 2 + 0.3**2)
    assert np.abs(copied[0] - copied[1]).sum() == pytest.approx(np.abs(first - second).sum())


def test_copies_and_noise_do_not_move_tasks_in_the_case_base():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    targets = [X[:, 0] + 0.1 * X[:, 1], X[:, 1] - X[:, 2]]
    plain = [describe_task(X, y, names=list(NAMES)) for y in targets]
    wide = np.column_stack([X, 3 * X[:, 0] - 1, rng.normal(size=2000)])
    names = [*NAMES, "copy", "noise"]
    more = [describe_task(wide, y, names=names) for y in targets]

    def distance(pair):
        base = CaseBase()
        base.add(pair[1])
        return base.retrieve(pair[0], 1)[0].distance

    assert distance(more) == pytest.approx(distance(plain), rel=0.05)


def test_products_of_copies_share_the_weight_of_the_product():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = X[:, 0] * X[:, 1] + 0.5 * X[:, 0] ** 2
    square, product, _ = product_weights(X, y)
    wide = product_weights(np.column_stack([X, 2 * X[:, 0] + 3]), y)
    by_pair = dict(zip(zip(*np.triu_indices(3), strict=True), wide, strict=True))
    squares = [by_pair[pair] for pair in ((0, 0), (0, 2), (2, 2))]
    products = [by_pair[pair] for pair in ((0, 1), (1, 2))]
    assert sum(squares) == pytest.approx(square, rel=0.01)
    assert sum(products) == pytest.approx(product, rel=0.01)
    np.testing.assert_allclose(squares, squares[0])
    np.testing.assert_allclose(products, products[0])


def test_tasks_that_slopes_do_not_tell_apart_are_told_apart_by_products():
    X = np.random.default_rng(0).normal(size=(400, 3))
    base, slopes = CaseBase(), CaseBase()
    for i, j in ((0, 1), (0, 2), (1, 2), (0, 0), (1, 1), (2, 2)):
        formula = f"x{i}*x{j}"
        case = describe_task(X, X[:, i] * X[:, j], formulas=[formula])
        base.add(case)
        slopes.add(replace(case, products=()))
    new = np.random.default_rng(1).normal(size=(400, 3))
    for i, j in ((1, 2), (2, 2)):
        task = describe_task(new, 3 - 2 * new[:, i] * new[:, j])
        assert base.retrieve(task, 1)[0].case.formulas == (f"x{i}*x{j}",)
    # What the cases do not know of products does not change their order.
    few = describe_task(new, new[:, 0] ** 2, products=False, shares=False)
    more = describe_task(new, new[:, 0] ** 2, shares=False)
    found = [[each.case for each in slopes.retrieve(one, 6)] for one in (few, more)]
    assert found[0] == found[1]


def test_products_are_left_out_of_short_and_of_wide_tables():
    X = np.random.default_rng(0).normal(size=(500, 21))
    assert len(describe_task(X[:, :5], X[:, 0]).products) == 15
    assert describe_task(X[:99, :5], X[:99, 0]).products == ()
    assert describe_task(X, X[:, 0]).products == ()


# Transfer


def constructor(**options):
    return ParetoConstructor(max_iter=2, random_state=0, **options)


def test_a_second_task_takes_the_features_of_the_first(tmp_path):
    X = table()
    first = FeatureTransfer(tmp_path, constructor=constructor())
    first.fit(X, X[:, 2] + np.exp(X[:, 0] + X[:, 1]))
    assert (first.source_, first.stored_, len(first.case_base_)) == ("construction", True, 1)
    assert first.case_.formulas == ("exp(x0 + x1)",)
    y = 5 * X[:, 2] - 2 * np.exp(X[:, 0] + X[:, 1])
    second = FeatureTransfer(tmp_path, constructor=False).fit(X, y)
    assert second.source_ == "cases"
    assert second.formula_ == "5*x2 - 2*exp(x0 + x1)"
    assert second.score(
        table(seed=5),
        5 * table(seed=5)[:, 2] - 2 * np.exp(table(seed=5)[:, 0] + table(seed=5)[:, 1]),
    ) == pytest.approx(1)
    assert second.gain_ > 0.99
    assert list(second.get_feature_names_out()) == ["x2", "exp(x0 + x1)"]
    np.testing.assert_allclose(second.transform(X)[:, 1], np.exp(X[:, 0] + X[:, 1]))
    assert len(CaseBase(tmp_path)) == 2


@pytest.mark.parametrize("method", ["manhattan", "euclidean", "sampled", "two_phase"])
def test_every_way_to_look_finds_a_case_that_helps(method):
    X = table()
    base = CaseBase()
    base.extend(case_of([0.1, 0, 0], [f"sin({k}*x1)"], title=str(k)) for k in (2, 3))
    base.add(describe_task(X, X[:, 0] * X[:, 1], formulas=["x0*x1"]))
    found = FeatureTransfer(base, method=method, n_cases=1, constructor=False, store=False)
    found.fit(X, X[:, 2] + 3 * X[:, 0] * X[:, 1])
    assert len(found.neighbours_) == 1
    assert len(base) == 3
    if method != "sampled":
        everything = clone(found).set_params(n_cases=3).fit(X, X[:, 2] + 3 * X[:, 0] * X[:, 1])
        assert everything.formula_ == "x2 + 3*x0*x1"


def test_what_gains_too_little_is_neither_used_nor_stored():
    X = table()
    noise = np.random.default_rng(3).normal(size=len(X))
    base = CaseBase()
    base.add(case_of([1, 0, 0], ["x0^2"]))
    found = FeatureTransfer(base, constructor=False).fit(X, X[:, 0] + noise)
    assert (found.source_, found.stored_, len(base)) == ("columns", False, 1)
    assert found.formula_.count("x0^2") == 0
    greedy = FeatureTransfer(base, constructor=False, min_gain=0.9)
    greedy.fit(X, X[:, 0] + 0.3 * X[:, 0] ** 2 + noise)
    assert greedy.source_ == "columns"


def test_a_task_that_columns_solve_asks_nobody():
    X = table()
    found = FeatureTransfer(CaseBase()).fit(X, 2 * X[:, 0] - X[:, 1])
    assert (found.source_, found.neighbours_) == ("columns", [])
    assert found.formula_ == "2*x0 - x1"


def test_classes_take_features_over_too():
    X = table(300)
    base = CaseBase()
    base.add(describe_task(X, np.where(X[:, 0] * X[:, 1] > 0, "a", "b"), formulas=["x0*x1"]))
    y = np.where(X[:, 0] * X[:, 1] > 0.3, "in", "out")
    found = FeatureTransfer(base, constructor=False).fit(X, y)
    assert found.source_ == "cases"
    assert "x0*x1" in found.get_feature_names_out()
    assert found.score(X, y) > 0.97
    assert found.predict_proba(X).shape == (300, 2)
    assert set(found.predict(X)) == {"in", "out"}
    three = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])
    several = FeatureTransfer(base, "classification", constructor=False).fit(X, three)
    assert several.decision_function(X).shape == (300, 3)
    assert several.score(X, three) > 0.8


def test_copies_of_an_estimator_share_their_case_base():
    X = table()
    base = CaseBase()
    model = make_pipeline(StandardScaler(), FeatureTransfer(base, constructor=constructor()))
    clone(model).fit(X, np.exp(X[:, 0]))
    assert len(base) == 1


def test_names_of_other_tables_are_matched_if_asked():
    X = table()
    base = CaseBase()
    base.add(
        describe_task(X, X[:, 0] + np.exp(X[:, 1]), names=["u", "v", "w"], formulas=["exp(v)"])
    )
    y = X[:, 0] + np.exp(X[:, 1])
    moved, names = X[:, [2, 1, 0]], ["a", "b", "c"]
    frame = pd.DataFrame(moved, columns=names)
    plain = FeatureTransfer(base, constructor=False, store=False).fit(frame, y)
    assert plain.source_ == "columns"
    matched = FeatureTransfer(base, constructor=False, mapping="assignment").fit(frame, y)
    assert matched.formula_ == "c + exp(b)"


def test_functions_of_your_own_travel_with_their_case_base():
    bump = OwnFunction("bump", lambda x: np.exp(-(x**2)))
    X = table()
    base = CaseBase(functions=[bump])
    base.add(case_of([0, 0, 1.0], ["bump(x0)"]))
    found = FeatureTransfer(base, constructor=False).fit(X, X[:, 2] + 4 * np.exp(-(X[:, 0] ** 2)))
    assert found.formula_ == "x2 + 4*bump(x0)"


def test_helping_columns_are_found_in_the_order_of_rows_left_out():
    X = table(60)
    y = 3 * X[:, 1] + X[:, 2]
    columns = np.column_stack([X, X[:, 1] + 1e-12])
    order = forward_order(columns, y[:, None], 5)
    assert order[:2] in ([1, 2], [3, 2])

    def left_out(chosen):
        total = 0.0
        for row in range(60):
            rest = np.delete(np.arange(60), row)
            design = np.column_stack([np.ones(60), X[:, chosen]])
            weights = np.linalg.lstsq(design[rest], noisy[rest], rcond=None)[0]
            total += float((noisy[row] - design[row] @ weights) ** 2)
        return total

    noisy = y + np.random.default_rng(0).normal(size=60)
    assert forward_order(X, noisy[:, None], 1) == [min(range(3), key=lambda j: left_out([j]))]


# YAGGA3


def test_the_search_asks_in_generation_five_and_every_ten_from_there():
    recall = CaseRecall(CaseBase())
    assert [g for g in range(40) if recall.is_due(g)] == [5, 15, 25, 35]
    assert [g for g in range(10) if CaseRecall(CaseBase(), first=2, every=3).is_due(g)] == [2, 5, 8]
    with pytest.raises(InvalidInputError, match="every must be"):
        CaseRecall(CaseBase(), every=0)


def asking(case_base, **options):
    chosen = {"start": "columns", "population_size": 6, "max_iter": 5, "random_state": 0, **options}
    return ParetoConstructor(case_base=case_base, choose="best:search_error", **chosen)


def hard_task():
    X = table(150)
    return X, np.sin(X[:, 0] * X[:, 1] + np.exp(X[:, 2]))


def hard_cases(folder=None):
    base = CaseBase(folder)
    X, y = hard_task()
    base.add(describe_task(X, y, formulas=["sin(x0*x1 + exp(x2))"]))
    base.add(case_of([5, 5, 5], ["sin(x0)*x1"]))
    return base


def test_a_search_finds_with_a_case_base_what_it_would_not_find_alone():
    X, y = hard_task()
    assert asking(None).fit(X, y).front_.values[:, 0].min() > 0.1
    found = asking(hard_cases()).fit(X, y)
    assert found.formula_ == "sin(exp(x2) + x0*x1)"
    before = asking(hard_cases(), max_iter=4).fit(X, y)
    assert before.front_.values[:, 0].min() > 0.1
    early = asking(CaseRecall(hard_cases(), first=0), max_iter=0).fit(X, y)
    assert early.front_.values[:, 0].min() < 1e-6


def test_a_search_without_a_case_base_is_what_it_was():
    X, y = hard_task()
    alone, empty = asking(None).fit(X, y), asking(CaseBase()).fit(X, y)
    np.testing.assert_array_equal(alone.front_.values, empty.front_.values)


def test_operations_that_are_not_allowed_are_not_taken_from_cases():
    X, y = hard_task()
    found = asking(hard_cases(), operations=["+", "*", "exp"]).fit(X, y)
    models = [found.select(place) for place in range(len(found.front_))]
    assert not any("sin" in str(feature) for model in models for feature in model.features)


def test_a_search_that_asks_resumes_to_the_same_bits(tmp_path):
    X, y = hard_task()
    whole = asking(hard_cases(), max_iter=16).fit(X, y)
    file, folder = tmp_path / "search", tmp_path / "cases"
    hard_cases(folder)
    asking(str(folder), max_iter=7, checkpoint=file).fit(X, y)
    resumed = asking(folder, max_iter=16, checkpoint=file).fit(X, y)
    np.testing.assert_array_equal(resumed.front_.values, whole.front_.values)


def test_weights_are_shares_that_copies_of_a_column_leave_as_they_are():
    X = np.random.default_rng(0).normal(size=(400, 2))
    y = 3 * X[:, 0] + X[:, 0] * X[:, 1]
    case, plain = describe_task(X, y), describe_task(X, y, shares=False)
    assert sum(map(abs, case.terms.values())) == pytest.approx(1.0)
    unit = sum(map(abs, plain.terms.values()))
    assert case.terms == pytest.approx({term: w / unit for term, w in plain.terms.items()})
    copied = describe_task(np.column_stack([X, 2 * X[:, 0] + 3]), y, products=False)
    weights = describe_task(X, y, products=False).weights
    assert copied.weights["x0"] + copied.weights["x2"] == pytest.approx(weights["x0"], abs=1e-3)
    assert describe_task(np.zeros((50, 2)), X[:50, 0]).weights == {"x0": 0.0, "x1": 0.0}


@pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning")
def test_few_rows_of_many_columns_have_no_products():
    """All products of 400 columns took over a minute; of noise nothing is found."""
    X = np.random.default_rng(0).normal(size=(12, 400))
    found = FeatureTransfer(random_state=0).fit(X, np.arange(12) % 2)
    assert (found.source_, found.stored_) == ("columns", False)
