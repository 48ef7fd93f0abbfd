"""ParetoConstructor: formulas found, chosen, transformed, limited, resumed."""

import pickle
import warnings
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

from parsimon.exceptions import CheckpointError, ConstantPredictionWarning, InvalidInputError
from parsimon.features import (
    Expression,
    OwnFunction,
    ParetoConstructor,
    apply,
    bounds,
    in_words,
    parse,
    quick_formulas,
)
from parsimon.features.feature_sets import FeatureProblem, cross_sets
from parsimon.features.formula_model import linear_fit, logistic_fit
from parsimon.pareto import Front
from tests.contract import contract

QUICK = {"max_iter": 3, "population_size": 12, "random_state": 0}


def uniform(seed, n_rows, /, **ranges):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: rng.uniform(*ends, n_rows) for name, ends in ranges.items()})


def physical_tables():
    """Yield laws of physics as (name, table, target): ten rows of the source each in words."""
    t = uniform(1, 200, q1=(1, 5), q2=(1, 5), e=(1, 5), r=(1, 5))
    yield "Coulomb", t, t.q1 * t.q2 / (4 * np.pi * t.e * t.r**2)
    t = uniform(2, 200, m=(1, 5), u=(1, 5), v=(1, 5), w=(1, 5))
    yield "kinetic energy", t, 0.5 * t.m * (t.u**2 + t.v**2 + t.w**2)
    t = uniform(3, 200, d1=(1, 5), d2=(1, 5), n=(1, 5))
    yield "lens", t, 1 / (1 / t.d1 + t.n / t.d2)
    t = uniform(4, 200, a=(1, 5), b=(1, 5), c=(1, 5), d=(1, 5))
    yield "distance", t, np.sqrt((t.a - t.b) ** 2 + (t.c - t.d) ** 2)
    t = uniform(5, 200, m=(1, 5), v=(1, 2), c=(3, 10))
    yield "relativistic mass", t, t.m / np.sqrt(1 - t.v**2 / t.c**2)
    t = uniform(6, 200, g=(1, 3), h=(1, 3), k=(1, 3), x=(3, 4), y=(1, 2), z=(1, 2))
    yield "gravitation", t, t.g * t.h * t.k / ((t.x - t.y) ** 2 + t.z**2)
    t = uniform(7, 200, i1=(1, 5), i2=(1, 5), angle=(1, 5))
    yield "interference", t, t.i1 + t.i2 + 2 * np.sqrt(t.i1 * t.i2) * np.cos(t.angle)


@pytest.mark.parametrize("case", list(physical_tables()), ids=lambda case: case[0])
def test_laws_of_physics_are_found_and_chosen_by_default(case):
    _, table, y = case
    search = ParetoConstructor(**QUICK).fit(table[:150], y[:150])
    assert 1 - search.score(table[150:], y[150:]) < 1e-6
    assert search.best_estimator_.expression.size <= 20


def test_the_function_of_chapter_six_is_found_down_to_its_noise():
    rng = np.random.default_rng(0)
    x, other = rng.uniform(-20, 25, 400), rng.normal(size=400)
    y = 3 * x**3 - x**2 + 1000 / np.abs(x) + 2000 * np.abs(x) + rng.normal(0, 0.02, 400)
    X = np.column_stack([x, other])
    search = ParetoConstructor(**QUICK).fit(X[:300], y[:300])
    error = np.sqrt(np.mean((search.predict(X[300:]) - y[300:]) ** 2))
    assert error < 0.03
    assert search.best_estimator_.expression.columns == {"x0"}
    # One over a column that passes zero is flagged, and can be refused.
    assert search.to_frame()["unbounded"].iloc[search.best_index_] == 1
    careful = clone(search).set_params(guard="refuse").fit(X[:300], y[:300])
    assert careful.to_frame()["unbounded"].max() == 0
    ranges = {"x0": (-20.0, 25.0), "x1": (-4.0, 4.0)}
    for index in range(len(careful.front_)):
        features = careful.front_.solution(index).features
        assert all(bounds(feature, ranges).is_finite for feature in features)


def test_a_wave_gets_its_length_and_a_fraction_its_terms():
    table = uniform(14, 300, a=(0, 1), b=(0, 1), c=(0, 1))
    y = 3 * np.sin(np.pi * table.a * table.b) + 2 * table.c + 1
    search = ParetoConstructor(**QUICK).fit(table[:200], y[:200])
    assert 1 - search.score(table[200:], y[200:]) < 1e-6
    table = uniform(15, 300, u=(1, 5), v=(1, 5), c=(1, 5))
    y = (table.u + table.v) / (1 + table.u * table.v / table.c**2)
    assert str(quick_formulas(table, y)[0]) == "(u + v)/(u*v/c^2 + 1)"


def test_a_formula_that_strays_on_mixed_rows_is_not_chosen():
    table = uniform(16, 200, a=(1, 5), b=(1, 5))
    problem = FeatureProblem(
        list(table),
        table.to_numpy(),
        (table.a + table.b).to_numpy(),
        0,
        rng=np.random.default_rng(0),
    )
    a, b = Expression.column("a"), Expression.column("b")
    assert problem.strays((a, b)) == 0
    # Rows on which the difference is small are kept out, until columns are mixed.
    far = np.abs(table.a - table.b) > 1.0
    problem = FeatureProblem(
        list(table),
        table[far].to_numpy(),
        1 / (table.a - table.b)[far].to_numpy(),
        0,
        rng=np.random.default_rng(0),
    )
    assert problem.strays((parse("1/(a - b)"),)) > 1


@pytest.fixture(scope="module")
def noisy():
    table = uniform(8, 150, a=(-2, 2), b=(-2, 2), c=(0.5, 3))
    noise = np.random.default_rng(9).normal(0, 0.1, 150)
    return table, table.a * table.b + np.sin(2 * table.c) + noise


@pytest.fixture(scope="module")
def search(noisy):
    return ParetoConstructor(**QUICK).fit(*noisy)


def test_the_front_is_one_of_error_features_and_nodes(search):
    assert search.front_.names == ("search_error", "n_features", "complexity")
    for index in range(len(search.front_)):
        features = search.front_.solution(index).features
        _, n_features, complexity = search.front_.values[index]
        assert len(set(features)) == n_features == len(features)
        nodes = sum(feature.size for feature in features)
        assert nodes + 3 * max(len(features) - 1, 0) == complexity
    assert not search.front_.solution(len(search.front_) - 1).features
    small = search.select("best:search_error where n_features<=1")
    assert len(small.features) == 1
    assert parse(str(small)) == small.expression


def test_the_inner_error_is_that_of_rows_left_out(noisy):
    table, y = noisy
    y = y.to_numpy()
    problem = FeatureProblem(list(table), table.to_numpy(), y, 0, rng=np.random.default_rng(0))
    features = (parse("a*b"), parse("c"))
    columns = problem.columns.matrix(features)
    expected = cross_val_predict(LinearRegression(), columns, y, cv=LeaveOneOut())
    np.testing.assert_allclose(linear_fit(columns, y).left_out[:, 0], expected, rtol=1e-9)
    np.testing.assert_allclose(
        problem.error(features), np.sqrt(np.mean((y - expected) ** 2)), rtol=1e-9
    )


def test_the_logistic_fit_is_scikit_learns_and_its_left_out_rows_nearly(noisy):
    columns = scale(noisy[0].to_numpy())
    codes = (noisy[1] > 0).to_numpy().astype(int)
    fit = logistic_fit(columns, codes, 2)
    oracle = LogisticRegression(C=100.0, tol=1e-10, max_iter=1000).fit(columns, codes)
    np.testing.assert_allclose(fit.coef[:, 0], oracle.coef_[0], rtol=1e-3)
    exact = cross_val_predict(oracle, columns, codes, cv=LeaveOneOut(), method="decision_function")
    np.testing.assert_allclose(fit.left_out[:, 0], exact, atol=0.05)


def test_transform_gives_the_columns_of_the_named_formulas(noisy, search):
    table, y = noisy
    made = search.transform(table)
    columns = {name: table[name].to_numpy() for name in table}
    for column, text in zip(made.T, search.get_feature_names_out(), strict=True):
        np.testing.assert_array_equal(column, parse(text)(columns))
    piped = make_pipeline(ParetoConstructor(**QUICK), LinearRegression()).fit(table, y)
    assert piped.score(table, y) > 0.9


def test_labels_make_it_a_classifier():
    table = uniform(10, 240, x=(-2, 2), y=(-2, 2))
    labels = np.where(table.x * table.y > 0, "same", "other")
    search = ParetoConstructor(**QUICK).fit(table[:160], labels[:160])
    assert search.task_ == "classification"
    assert list(search.classes_) == ["other", "same"]
    assert search.score(table[160:], labels[160:]) > 0.95
    chances = search.predict_proba(table[160:])
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    # Neither column alone tells the classes apart.
    assert {"x", "y"} == set().union(*(f.columns for f in search.best_estimator_.features))


def test_several_classes():
    table = uniform(11, 300, x=(-2, 2), y=(-2, 2))
    radius = np.hypot(table.x, table.y)
    labels = np.digitize(radius, [0.8, 1.6])
    search = ParetoConstructor("classification", **QUICK).fit(table[:200], labels[:200])
    assert search.predict_proba(table).shape == (300, 3)
    assert search.decision_function(table).shape == (300, 3)
    assert search.score(table[200:], labels[200:]) > 0.75


def test_numbers_have_no_probabilities(search):
    assert not hasattr(search, "predict_proba")


def test_the_same_seed_gives_the_same_front(noisy, search):
    second = ParetoConstructor(**QUICK).fit(*noisy)
    assert second.front_ == search.front_
    assert second.formula_ == search.formula_
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(noisy[0]), search.predict(noisy[0]))


def test_a_search_that_was_stopped_goes_on_to_the_same_result(noisy, search, tmp_path):
    part = ParetoConstructor(**{**QUICK, "max_iter": 1}, checkpoint=tmp_path / "search").fit(*noisy)
    assert part.n_iter_ == 1
    rest = ParetoConstructor(**QUICK, checkpoint=tmp_path / "search").fit(*noisy)
    assert rest.front_ == search.front_
    assert rest.formula_ == search.formula_
    assert rest.n_evaluations_ == search.n_evaluations_


COLUMNS_FIRST = {**QUICK, "start": "columns"}
VARIANTS = [
    {"start": "columns", "max_iter": 40},
    {"estimator": DecisionTreeRegressor(max_depth=3, random_state=0), "max_iter": 5},
]


@pytest.mark.filterwarnings("ignore:ParetoConstructor predicts")  # by the first generation
@pytest.mark.parametrize("options", VARIANTS, ids=lambda options: next(iter(options)))
def test_every_variant_goes_on_to_the_same_result(options, noisy, tmp_path):
    options = {**COLUMNS_FIRST, **options}
    whole = ParetoConstructor(**options).fit(*noisy)
    assert whole.score(*noisy) > 0.3
    file = tmp_path / "search"
    ParetoConstructor(**{**options, "max_iter": 1}, checkpoint=file).fit(*noisy)
    rest = ParetoConstructor(**options, checkpoint=file).fit(*noisy)
    assert rest.front_ == whole.front_
    np.testing.assert_array_equal(rest.predict(noisy[0]), whole.predict(noisy[0]))


def test_a_checkpoint_of_another_variant_is_refused(noisy, tmp_path):
    options = {**COLUMNS_FIRST, "checkpoint": tmp_path / "search"}
    ParetoConstructor(**options).fit(*noisy)
    with pytest.raises(CheckpointError, match="max_size"):
        ParetoConstructor(**options, max_size=20).fit(*noisy)


def test_any_learner_with_any_number_of_workers(noisy):
    table, y = noisy
    labels = np.where(y > 0, "up", "down")
    learner = KNeighborsClassifier(5)
    options = {**QUICK, "max_iter": 1, "estimator": learner}
    one, two = (ParetoConstructor(**options, n_jobs=n).fit(table, labels) for n in (1, 2))
    assert one.front_ == two.front_
    np.testing.assert_array_equal(one.predict_proba(table), two.predict_proba(table))
    assert one.score(table, labels) > 0.8
    assert not hasattr(one, "decision_function")
    best = one.best_estimator_
    assert one.formula_ == ", ".join(one.get_feature_names_out())
    # The inner error is that of the learner on the folds.
    columns = one.transform(table)
    oracle = clone(learner).fit(columns, labels)
    np.testing.assert_array_equal(oracle.predict(columns), best.predict(table.to_numpy()))


def test_a_classifier_without_probabilities_is_judged_by_its_mistakes(noisy):
    table, y = noisy
    codes = np.digitize(y, [-0.5, 1.0])
    search = ParetoConstructor(estimator=LinearSVC(), **{**QUICK, "max_iter": 1}).fit(table, codes)
    assert search.task_ == "classification"
    assert not hasattr(search, "predict_proba")
    assert 0 <= search.front_.values[:, 0].min() < search.front_.values[:, 0].max() <= 1
    assert search.score(table, codes) > 0.6


def test_a_limit_of_time(noisy):
    short = ParetoConstructor(**QUICK, time_limit=0.01).fit(*noisy)
    assert short.stopped_by_ == "time_limit"


def test_each_feature_is_said_in_words_and_drawn(noisy):
    table, y = noisy
    search = ParetoConstructor(**QUICK).fit(table, y)
    lines = search.describe().splitlines()
    assert len(lines) == len(search.best_estimator_.features)
    assert "a times b" in search.describe()
    assert all("; the prediction" in line and "between" in line for line in lines)
    axes = search.plot_features()
    assert len(axes) == len(lines)
    plt.close("all")
    with pytest.raises(InvalidInputError, match="axes; give one for each"):
        search.plot_features(plt.subplots(1, len(lines) + 1)[1])
    plt.close("all")
    pole = ParetoConstructor(**QUICK, operations=["/"]).fit(table[["a"]], 1 / table.a)
    assert "may become infinite" in pole.describe()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a*b/c^2", "a times b divided by the square of c"),
        ("-2*a", "minus 2 times a"),
        ("1/(a + b)", "1 divided by the sum of a and b"),
        ("exp(a - b)", "e to the power of the difference of a and b"),
        ("max(a, b, c)", "the greatest of a, b and c"),
        ("min(a, 1)", "the smaller of a and 1"),
        (
            "sqrt(abs(a)) - log(b)",
            "the square root of the absolute value of a minus the logarithm of b",
        ),
        ("a^4", "a to the power of 4"),
    ],
)
def test_a_formula_in_words(text, words):
    assert in_words(parse(text)) == words


def test_functions_of_a_users_own_take_part():
    table = uniform(12, 150, x=(-3, 3))
    bump = OwnFunction("bump", smooth_bump)
    y = 2 * smooth_bump(table.x.to_numpy())
    search = ParetoConstructor(operations=["*", bump], **{**QUICK, "max_iter": 15}).fit(table, y)
    assert "bump(x)" in search.formula_


def smooth_bump(x):
    return np.exp(-(np.abs(x) ** 3)) * np.sign(x)


COLUMNS = st.sets(st.sampled_from("abcdefgh"), min_size=1).map(
    lambda names: tuple(map(Expression.column, sorted(names)))
)


@given(first=COLUMNS, second=COLUMNS, seed=st.integers(0, 10_000))
def test_crossing_repeats_nothing_and_makes_nothing_up(first, second, seed):
    child = cross_sets(first, second, np.random.default_rng(seed))
    assert child
    assert len(set(child)) == len(child)
    assert set(child) <= {*first, *second}
    assert set(first) & set(second) <= set(child)


@given(seed=st.integers(0, 10_000), n_columns=st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_the_front_of_few_columns_is_that_of_all_subsets(seed, n_columns):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, n_columns))
    y = X @ rng.normal(size=n_columns) + rng.normal(size=30)
    names = [f"x{j}" for j in range(n_columns)]
    problem = FeatureProblem(names, X, y, 0, rng=rng)
    # With addition alone, and no feature of more than one node, only columns can be used.
    search = ParetoConstructor(
        operations=["+"], max_size=1, max_iter=30, population_size=30, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantPredictionWarning)
        front = search.fit(X, y).front_
    every = [s for k in range(1, n_columns + 1) for s in combinations(problem.originals, k)]
    measured = np.vstack([problem.evaluate(every), [1, 0, 0]])
    expected = Front(measured * [problem.constant_error, 1, 1], front.names, ties="first")
    np.testing.assert_allclose(front.values, expected.values, rtol=1e-12)


def test_copies_of_a_feature_are_left_out(noisy):
    table, y = noisy
    problem = FeatureProblem(
        list(table), table.to_numpy(), y.to_numpy(), 0, rng=np.random.default_rng(0)
    )
    a, b = Expression.column("a"), Expression.column("b")
    assert problem.reduce([a, 3 * a + 1, b, apply("sin", a / 100)]) == (a, b)


def test_noise_alone_is_predicted_by_the_simplest_formula():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    with warnings.catch_warnings():
        # Whether something seems to beat a constant on 50 rows is up to chance.
        warnings.simplefilter("ignore", ConstantPredictionWarning)
        search = ParetoConstructor(**QUICK).fit(X, y)
    assert len(search.best_estimator_.features) <= 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "ranking"}, "task must be"),
        ({"operations": ["cot"]}, "operations must be"),
        ({"operations": []}, "at least one"),
        ({"guard": "no"}, "guard must be"),
        ({"choose": "kneee"}, "no rule"),
        ({"max_size": 0}, "max_size"),
        ({"start": "nothing"}, "start must be"),
        ({"estimator": "ridge"}, "estimator must have fit and predict"),
        ({"estimator": LinearRegression(), "n_jobs": 0}, "n_jobs must not be 0"),
    ],
)
def test_options_that_cannot_be_used_get_one_sentence(options, message, noisy):
    with pytest.raises(InvalidInputError, match=message):
        ParetoConstructor(**options).fit(*noisy)


def test_hostile_columns_get_one_clear_sentence():
    y = np.arange(60.0)
    with pytest.raises(InvalidInputError, match="No column of X varies"):
        ParetoConstructor().fit(np.ones((60, 2)), y)
    with pytest.raises(ValueError, match="NaN"):
        ParetoConstructor().fit(np.where(np.eye(60, 2) > 0, np.nan, 1.0), y)
    rows = np.random.default_rng(0).normal(size=(60, 2))
    for scale_of, message in ((1e200, "too large"), (1e-200, "too little")):
        with pytest.raises(InvalidInputError, match=f"Column 1 of X .*{message}"):
            ParetoConstructor().fit(rows * [1.0, scale_of], y)
    with pytest.raises(InvalidInputError, match="Two classes or more are needed, got 1 class: a"):
        ParetoConstructor().fit(np.random.default_rng(0).normal(size=(60, 2)), ["a"] * 60)
    # A constant column beside one that varies is left alone.
    X = np.column_stack([np.ones(60), np.linspace(1, 3, 60)])
    assert ParetoConstructor(**QUICK).fit(X, X[:, 1] ** 2).formula_ == "x1^2"


def test_quick_formulas():
    table = uniform(13, 120, f=(1, 5), g=(1, 5))
    y = 1 / (1 / table.f + 1 / table.g)
    found = quick_formulas(table, y, n_formulas=3)
    assert len(found) <= 3
    assert str(found[0]) == "1/(1/f + 1/g)"
    np.testing.assert_allclose(found[0].predict(table), y)
    with pytest.raises(InvalidInputError, match="2 columns and 1 names"):
        quick_formulas(table.to_numpy(), y, ["f"])
    with pytest.raises(InvalidInputError, match="same number of rows"):
        quick_formulas(table, y[:5])


@contract(
    ParetoConstructor("regression", max_iter=1, population_size=4, start="columns", random_state=0),
    ParetoConstructor("classification", max_iter=1, population_size=4, random_state=0),
)
@pytest.mark.filterwarnings("ignore:ParetoConstructor predicts")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_noise_is_answered_by_a_constant():
    rng = np.random.default_rng(5)
    tables = [(n, d, classes) for n, d in ((25, 4), (80, 3)) for classes in (False, True)]
    n_formulas = 0
    for n, d, classes in tables:
        X, y = rng.normal(size=(n, d)), rng.normal(size=n)
        target = np.where(y > 0, "a", "b") if classes else y
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantPredictionWarning)
            search = ParetoConstructor(max_iter=1, random_state=0).fit(X, target)
        n_formulas += len(search.best_estimator_.features) > 0
        if not search.best_estimator_.features:
            assert search.transform(X).shape == (n, 0)
            assert len(np.unique(search.predict(X))) == 1
            assert search.describe() == ""
    # One of twenty is expected; the search's own error is far below that of a constant.
    assert n_formulas <= 1
    assert search.front_.values[:, 0].min() < 0.9 * search.front_.values[:, 0].max()


def test_quick_formulas_of_noise_are_a_constant():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    (constant,) = quick_formulas(X, y)
    np.testing.assert_allclose(constant.predict(X), y.mean())


def test_few_rows_still_show_a_law():
    X = np.random.default_rng(0).normal(size=(20, 4))
    law = ParetoConstructor(max_iter=1, random_state=0)
    law.fit(np.exp(X), np.exp(X[:, 0] + X[:, 1] - 2 * X[:, 2]))
    assert law.formula_ == "x0*x1/x2^2"
