from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from benchmarks.reproduce._mierswa_6_baselines import selection_baselines
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from parsimon.exceptions import CheckpointError, ConstantPredictionWarning, InvalidInputError
from parsimon.features import CommonalityCrossover, ParetoSelector
from parsimon.features.pareto_selector import nesting
from parsimon.pareto import Bits, Front

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 5))
NUMBER = X[:, 0] - 2 * X[:, 3] + X[:, 1] + 0.8 * RNG.normal(size=90)
TWO = np.where(NUMBER + RNG.normal(size=90) > 0, "yes", "no")
THREE = np.digitize(NUMBER, [-1.0, 1.0])
FRAME = pd.DataFrame(X, columns=["age", "height", "mass", "dose", "noise"])
FOLDS = list(KFold(3, shuffle=True, random_state=0).split(X))
EXACT = {"cv": FOLDS}
TREE = DecisionTreeClassifier(max_depth=2, random_state=0)


def by_brute_force(learner, table, y, scoring, best, folds=FOLDS):
    """Return the front of all subsets, by scikit-learn in a loop."""
    d = table.shape[1]
    subsets = [list(one) for size in range(1, d + 1) for one in combinations(range(d), size)]
    values = [
        [
            best - cross_val_score(learner, table[:, one], y, cv=folds, scoring=scoring).mean(),
            len(one),
        ]
        for one in subsets
    ]
    return Front(np.round(values, 10), ["error", "n_features"], ties="first")


@pytest.mark.parametrize(
    ("options", "y", "learner", "scoring", "best"),
    [
        ({}, TWO, make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8)), "accuracy", 1.0),
        ({}, THREE, make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8)), "accuracy", 1),
        (
            {},
            NUMBER,
            make_pipeline(StandardScaler(), Ridge()),
            "neg_root_mean_squared_error",
            0.0,
        ),
        ({"estimator": TREE}, TWO, TREE, "accuracy", 1.0),
        ({"estimator": TREE, "scoring": "f1_macro"}, THREE, TREE, "f1_macro", 1.0),
    ],
)
def test_the_front_is_that_of_a_loop_over_all_subsets(options, y, learner, scoring, best):
    search = ParetoSelector(**options, **EXACT).fit(X, y)
    wanted = by_brute_force(learner, X, y, scoring, best)
    assert search.exact_
    assert search.n_evaluations_ == 31
    np.testing.assert_allclose(search.front_.values, wanted.values, atol=1e-8)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), d=st.integers(2, 4), n=st.integers(12, 30))
@pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning")
def test_any_small_table_has_the_front_of_brute_force(seed, d, n):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, size=d)
    y = rng.normal(size=n) + table[:, 0] / np.abs(table[:, 0]).max()
    folds = list(KFold(2, shuffle=True, random_state=seed).split(table))
    search = ParetoSelector(task="regression", cv=folds).fit(table, y)
    learner = make_pipeline(StandardScaler(), Ridge())
    wanted = by_brute_force(learner, table, y, "neg_root_mean_squared_error", 0.0, folds)
    np.testing.assert_allclose(search.front_.values, wanted.values, atol=1e-8)


@pytest.mark.parametrize("y", [TWO, THREE, NUMBER], ids=["two", "three", "number"])
def test_it_predicts_with_the_learner_on_the_chosen_columns(y):
    search = ParetoSelector(random_state=0).fit(X, y)
    last = Ridge() if y is NUMBER else LogisticRegression()
    columns = np.ascontiguousarray(X[:, search.get_support()])
    assert is_regressor(search) == (y is NUMBER)
    assert is_classifier(search) == (y is not NUMBER)
    model = make_pipeline(StandardScaler(), last).fit(columns, y)
    np.testing.assert_array_equal(search.predict(X), model.predict(columns))
    assert search.score(X, y) == model.score(columns, y)
    if y is not NUMBER:
        np.testing.assert_array_equal(search.predict_proba(X), model.predict_proba(columns))


def test_the_target_or_the_learner_or_the_option_says_what_the_task_is():
    def task(y, **options):
        return ParetoSelector(**options).fit(X, y).task_

    assert task(NUMBER) == "regression"
    assert task(THREE) == "classification"
    assert task(THREE, task="regression") == "regression"
    assert task(THREE, estimator=Ridge()) == "regression"
    assert task(NUMBER > 0) == "classification"
    assert is_classifier(ParetoSelector(LogisticRegression()))
    with pytest.raises(InvalidInputError, match="A regression needs numbers, and y has 'no'"):
        ParetoSelector(task="regression").fit(X, TWO)


def test_data_frames_and_pipelines():
    search = ParetoSelector(random_state=0, choose="error where n_features<=2").fit(FRAME, TWO)
    names = list(search.get_feature_names_out())
    assert len(names) == 2
    assert "dose" in names
    assert list(search.set_output(transform="pandas").transform(FRAME).columns) == names
    search.predict(FRAME)
    inside = make_pipeline(StandardScaler(), ParetoSelector(random_state=0), TREE).fit(FRAME, TWO)
    assert list(inside[:-1].get_feature_names_out()) == [
        FRAME.columns[place] for place in np.flatnonzero(inside[1].get_support())
    ]
    assert inside.score(FRAME, TWO) > 0.7


def test_select_gives_any_solution_as_a_fitted_pipeline():
    search = ParetoSelector(random_state=0).fit(FRAME, TWO)
    one = search.select("error where n_features<=1")
    assert one[0].get_support().sum() == 1
    assert one.score(FRAME, TWO) > 0.5
    knee, cheap = search.select("knee"), search.select("one_se")
    assert cheap[0].get_support().sum() <= search.front_.values[0, 1]
    assert knee[0].get_support().any()


def test_groups_come_together_and_fixed_columns_are_always_there():
    options = {"groups": [["age", "noise"], ["height", "mass"]], "fixed": ["mass"]}
    with pytest.raises(InvalidInputError, match="in no other group and not fixed"):
        ParetoSelector(**options).fit(FRAME, TWO)
    search = ParetoSelector(groups=[["age", "noise"]], fixed=["mass"], **EXACT).fit(FRAME, TWO)
    assert search.n_evaluations_ == 2**3
    for place in range(len(search.front_)):
        chosen = set(search.front_.solution(place))
        assert 2 in chosen
        assert (0 in chosen) == (4 in chosen)


def test_costs_are_a_third_objective():
    costs = [5.0, 1.0, 1.0, 20.0, 1.0]
    search = ParetoSelector(costs=costs, **EXACT).fit(FRAME, NUMBER)
    assert search.front_.names == ("error", "n_features", "cost")
    for place, row in enumerate(search.front_.values):
        assert row[2] == sum(costs[column] for column in search.front_.solution(place))
    cheap = search.select("error where cost<=6")
    assert not cheap[0].get_support()[3]
    pair = search.front_.project(["error", "n_features"])
    plain = ParetoSelector(**EXACT).fit(FRAME, NUMBER).front_
    np.testing.assert_allclose(np.unique(pair.values, axis=0), np.unique(plain.values, axis=0))


@pytest.fixture
def few_subsets(monkeypatch):
    """Let searches begin beyond so many subsets, with small populations."""

    def at(n, population_size=6):
        monkeypatch.setattr("parsimon.features._subset_search._MOST_SUBSETS", n)
        monkeypatch.setattr("parsimon.features._subset_search._POPULATION", population_size)

    return at


def test_max_features_limits_all_subsets(few_subsets):
    search = ParetoSelector(max_features=2, **EXACT).fit(X, NUMBER)
    assert search.n_evaluations_ == 5 + 10
    assert search.front_.values[:, 1].max() == 2
    few_subsets(3, 40)
    searched = ParetoSelector(max_features=2, **EXACT).fit(X, NUMBER)
    assert not searched.exact_
    np.testing.assert_array_equal(searched.front_.values, search.front_.values)


def test_the_search_finds_the_exact_front_of_nine_columns(few_subsets):
    rng = np.random.default_rng(1)
    table = rng.normal(size=(80, 9))
    table[:, 1] = table[:, 0] + 0.3 * rng.normal(size=80)
    y = table[:, 0] * table[:, 2] + table[:, 3] - table[:, 1] + 0.5 * rng.normal(size=80)
    exact = ParetoSelector(random_state=0).fit(table, y)
    few_subsets(300, 40)
    found = ParetoSelector(random_state=0).fit(table, y)
    assert exact.exact_
    assert not found.exact_
    np.testing.assert_array_equal(found.front_.values, exact.front_.values)


def test_the_search_is_no_worse_than_its_baselines_at_any_size():
    rng = np.random.default_rng(2)
    table = rng.normal(size=(100, 18))
    y = table[:, :6].sum(axis=1) + rng.normal(size=100) > 0
    search = ParetoSelector(random_state=0, max_iter=5).fit(table, y)
    found = selection_baselines(search, ["forward", "backward", "floating", "linear SVM"])
    for front in found.values():
        for error, size in front.values:
            fits = search.front_.values[:, 1] <= size
            assert search.front_.values[fits, 0].min() <= error + 1e-12


def test_the_same_seed_and_any_number_of_workers_give_the_same_front(few_subsets):
    few_subsets(5)
    fronts = [
        ParetoSelector(TREE, n_jobs=n_jobs, max_iter=2, random_state=3).fit(X, TWO).to_frame()
        for n_jobs in (1, 1, 2)
    ]
    pd.testing.assert_frame_equal(fronts[0], fronts[1])
    pd.testing.assert_frame_equal(fronts[0], fronts[2])


def test_the_best_of_many_subsets_of_noise_looks_better_than_it_is():
    rng = np.random.default_rng(0)
    rises = []
    for _ in range(5):
        table, y = rng.normal(size=(60, 10)), np.repeat([0, 1], 30)
        search = ParetoSelector(choose="error", random_state=rng).fit(table, y)
        rises.append(search.to_frame()["optimism"].iloc[search.best_index_])
    assert np.mean(rises) > 0.05


def test_where_nothing_beats_a_constant_a_warning_says_so():
    y = np.repeat([0, 1, 1], 30)
    with pytest.warns(ConstantPredictionWarning, match="with the subset of least error"):
        search = ParetoSelector(random_state=0).fit(np.ones((90, 1)), y)
    assert search.get_support().all()


def test_reading_along_the_front():
    subsets = np.array(
        [[1, 1, 1, 0, 1], [0, 1, 1, 0, 1], [1, 1, 0, 0, 0], [0, 1, 0, 0, 0]], dtype=bool
    )
    ranking, nestedness, breaks = nesting(subsets)
    assert ranking.tolist() == [2, 1, 3, 5, 3]
    assert breaks == [(2, 3)]
    assert nestedness == pytest.approx(2 / 3)


def test_equal_columns_make_an_equal_front_line_as_the_thesis_shows():
    """Mierswa (2009), figure 6.1: the label is the sum of equally important columns."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(500, 15))
    y = table.sum(axis=1) + 0.1 * rng.normal(size=500)
    search = ParetoSelector(random_state=0).fit(table, y)
    sizes, error = search.front_.values[:, 1], search.front_.values[:, 0]
    assert search.n_evaluations_ == 2**15 - 1
    assert sizes.tolist() == list(range(15, 0, -1))
    # The best of many subsets of a sample lies below the expectation, and not by much.
    expected = np.sqrt(15 - sizes + 0.01)
    assert (error < 1.1 * expected).all()
    assert (error > 0.85 * expected).all()
    assert search.describe().startswith("All 32767 subsets of 15 columns were evaluated. Chosen:")


@given(seed=st.integers(0, 10_000), size=st.integers(1, 12))
def test_commonality_crossover_keeps_what_both_have_and_invents_nothing(seed, size):
    rng = np.random.default_rng(seed)
    a, b = rng.random((2, 20, size)) < 0.5
    for child in CommonalityCrossover()(a, b, Bits(size), rng):
        assert (child[a & b]).all()
        assert not child[~a & ~b].any()


def test_commonality_crossover_keeps_the_expected_size():
    rng = np.random.default_rng(0)
    a, b = np.zeros((2, 4000, 12), dtype=bool)
    a[:, :8], b[:, 6:9] = True, True
    first, second = CommonalityCrossover(rate=1.0)(a, b, Bits(12), rng)
    assert first.sum(axis=1).mean() == pytest.approx(8, abs=0.1)
    assert second.sum(axis=1).mean() == pytest.approx(3, abs=0.1)


def test_a_learner_that_takes_empty_cells_may_have_them():
    holed = X.copy()
    holed[::7, 2] = np.nan
    learner = HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=5, random_state=0)
    search = ParetoSelector(learner, cv=2, max_features=1, random_state=0).fit(holed, TWO)
    search.predict(holed)
    with pytest.raises(ValueError, match="NaN"):
        ParetoSelector().fit(holed, TWO)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "ranking"}, "task"),
        ({"scoring": "kindness"}, "scikit-learn knows no score 'kindness'"),
        ({"scoring": 3}, "scoring must be the name of a score"),
        ({"cv": 1}, "cv"),
        ({"cv": 200}, "too few for 200 folds"),
        ({"cv": FOLDS, "choose": "holdout_error"}, "no rule 'holdout_error'|no column"),
        ({"costs": [1, 2]}, "costs must be 5 numbers"),
        ({"costs": [1, 2, 3, 4, -1]}, "not negative"),
        ({"costs": "dear"}, "costs must be 5 numbers"),
        ({"groups": [[0, 9]]}, "groups must be places from 0 to 4"),
        ({"groups": [0, 1]}, "groups must be lists of columns"),
        ({"fixed": ["age"]}, "fixed must be places from 0 to 4"),
        ({"fixed": [0, 1, 2, 3, 4]}, "All columns are fixed"),
        ({"fixed": [0, 1], "max_features": 1}, "max_features must be at least 2"),
        ({"max_iter": -1}, "max_iter"),
        ({"time_limit": 0}, "time_limit"),
        ({"choose": "best"}, "best needs a column"),
        ({"choose": "error where cost<=3"}, "There is no column 'cost'"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(options, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        ParetoSelector(**options).fit(X, TWO)
    assert "\n" not in str(caught.value)


def test_constant_and_huge_columns():
    table = X.copy()
    table[:, 2] = 4.0
    search = ParetoSelector(**EXACT).fit(table, TWO)
    assert not search.get_support()[2]
    table[:, 2] *= 1e200
    with pytest.raises(InvalidInputError, match="too large to be squared"):
        clone(search).fit(table, TWO)


@pytest.mark.parametrize("most", [31, 5])
def test_time_ends_a_search_with_what_it_has(monkeypatch, few_subsets, most):
    few_subsets(most, 40)
    monkeypatch.setattr("parsimon.features._subsets._BETWEEN_SAVES", 4)
    late = ParetoSelector(TREE, time_limit=1e-9, random_state=0).fit(X, TWO)
    assert (late.exact_, late.stopped_by_) == (False, "time_limit")
    assert 0 < late.n_evaluations_ < 31
    late.predict(X)


def test_enough_time_gives_the_exact_front():
    timed = ParetoSelector(time_limit=60, random_state=0).fit(X, TWO)
    plain = ParetoSelector(random_state=0).fit(X, TWO)
    assert timed.exact_
    assert timed.stopped_by_ == "exhausted"
    pd.testing.assert_frame_equal(timed.to_frame(), plain.to_frame())


@pytest.mark.parametrize("cv", [FOLDS, 3])
def test_pictures(cv):
    search = ParetoSelector(costs=[1, 2, 3, 4, 5], cv=cv, random_state=0)
    axes = search.fit(FRAME, TWO).plot_optimism()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert ("rows set apart" in labels) == (cv == 3)
    assert search.plot().get_xlabel()


class Interrupting:
    """A score that interrupts the fit after some calls."""

    def __init__(self, after=None):
        self.after, self.n_calls = after, 0

    def __call__(self, model, rows, y):
        self.n_calls += 1
        if self.after is not None and self.n_calls > self.after:
            raise KeyboardInterrupt
        return float(np.mean(model.predict(rows) == y))


@pytest.mark.parametrize("most", [31, 5])
def test_an_interrupted_fit_goes_on_to_the_same_front(tmp_path, monkeypatch, few_subsets, most):
    few_subsets(most)
    monkeypatch.setattr("parsimon.features._subsets._BETWEEN_SAVES", 4)
    options = {"max_iter": 2, "random_state": 0}
    place = tmp_path / "errors.npz"

    def search(scoring, **further):
        return ParetoSelector(TREE, scoring=scoring, **options, **further)

    whole = search(Interrupting()).fit(X, TWO)
    with pytest.raises(KeyboardInterrupt):
        search(Interrupting(after=60), checkpoint=place).fit(X, TWO)
    rest = Interrupting()
    again = search(rest, checkpoint=place).fit(X, TWO)
    pd.testing.assert_frame_equal(again.to_frame(), whole.to_frame())
    assert again.n_evaluations_ == whole.n_evaluations_
    assert rest.n_calls < 5 * whole.n_evaluations_
    with pytest.raises(CheckpointError, match="belongs to another table"):
        search(Interrupting(), checkpoint=place).fit(X + 1, TWO)
    place.write_text("something else")
    with pytest.raises(CheckpointError, match="no checkpoint of a selection"):
        search(Interrupting(), checkpoint=place).fit(X, TWO)
