"""Plain families: who there is, how each is made for a table, and what it predicts."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from parsimon.exceptions import InvalidInputError
from parsimon.statistician.families.family import (
    Family,
    Setting,
    class_shares,
    normalised,
    sampled,
)
from parsimon.statistician.families.feature_fronts import few_columns, formulas
from parsimon.statistician.families.registered import (
    FAMILIES,
    OURS,
    RIVALS,
    as_families,
    chosen_families,
    family_called,
)

TOLD = {
    "gp": ("kernel search", "a Gaussian process of the parts that the report describes"),
    "rvm": ("relevance vector machine", "a few rows or columns with a weight each"),
    "bpm": ("Bayes point machine", "the average of all straight borders"),
    "plain-gp": ("plain Gaussian process", "a smooth function of all variables"),
    "svm": ("support vector machine", "the widest margin that pays, from a Pareto front"),
    "linear": ("linear model", "a weighted sum of the variables"),
    "tree": ("decision tree", "at most eight leaves"),
    "forest": ("random forest", "the mean of many trees"),
    "boosting": ("gradient boosting", "a sum of many small trees"),
}


def setting(task="classification", n=100, d=4, classes=2, rarest=40):
    classes = classes if task == "classification" else 0
    return Setting(task, n, d, classes, rarest if classes else n, 7, ("a", "b", "c", "d"))


def made(key, *given, **more):
    return family_called(key).make(setting(*given, **more))


def test_every_family_has_a_name_a_key_and_words():
    found = {one.key: (one.name, one.words) for one in (*OURS, *RIVALS) if one.key in TOLD}
    assert found == TOLD
    assert FAMILIES == ("gp", "rvm", "bpm", "plain-gp", "svm", "formula")
    assert [one.key for one in RIVALS] == ["linear", "tree", "forest", "boosting"]
    assert {one.kind for one in RIVALS} == {"rival"}
    kinds = {one.key: one.kind for one in OURS}
    assert [kinds[key] for key in ("gp", "rvm", "bpm", "plain-gp", "svm")] == [
        *("gp", "rvm", "bpm", "gp", "svm")
    ]
    for key, (name, _) in TOLD.items():
        called = (key, name, name.upper().replace(" ", "_"))
        assert {family_called(one).key for one in called} == {key}


def test_families_are_asked_for_by_name_by_word_or_with_an_estimator():
    assert as_families("all") == as_families(["ALL"]) == FAMILIES
    assert as_families("none") == as_families("") == ()
    assert as_families(" svm,Plain_GP, svm,") == ("svm", "plain-gp")
    asked = chosen_families(("svm", "rvm"), ["tree", GaussianNB(), ("Mine", GaussianNB())])
    assert [one.name for one in asked] == [
        *("guessing", "decision tree", "GaussianNB", "Mine"),
        *("relevance vector machine", "support vector machine"),
    ]
    own = asked[3]
    assert (own.key, own.kind, own.words) == ("mine", "own", "GaussianNB")
    assert [one.key for one in chosen_families((), "tree,linear")] == ["guessing", "tree", "linear"]
    assert len(chosen_families((), "all")) == 5
    assert len(chosen_families((), "none")) == 1
    with pytest.raises(InvalidInputError, match="number 2 is int"):
        chosen_families((), ["tree", 3])
    with pytest.raises(InvalidInputError, match="Two models are called 'decision tree'"):
        chosen_families((), ["tree", ("decision tree", GaussianNB())])
    with pytest.raises(InvalidInputError, match="rivals must be among linear, tree, forest"):
        chosen_families((), "trees")


def test_a_users_estimator_is_copied_and_gets_a_seed_if_it_has_none():
    given = DecisionTreeClassifier(max_depth=2)
    copy, kept = (
        chosen_families((), [one])[1].make(setting())
        for one in (given, DecisionTreeClassifier(random_state=3))
    )
    assert copy is not given
    assert (copy.max_depth, copy.random_state, kept.random_state) == (2, 7, 3)
    assert given.random_state is None


def test_our_models_are_made_for_classes_and_for_numbers():
    for key, kinds in {"rvm": ("RVC", "RVR"), "plain-gp": ("GPClassifier", "GPRegressor")}.items():
        for task, kind in zip(("classification", "regression"), kinds, strict=True):
            model = made(key, task)
            assert (type(model).__name__, model.random_state) == (kind, 7)
    assert made("rvm", n=200).centres is None
    assert made("rvm", n=201).centres == 100
    assert type(made("bpm")).__name__ == "BayesPointClassifier"
    margin = made("svm")
    search = margin[-1]
    assert (search.n_points, search.max_iter, search.random_state) == (20, 5, 7)
    assert type(margin[0]).__name__ == "StandardScaler"
    assert isinstance(made("svm", classes=3)[-1], OneVsRestClassifier)


@pytest.mark.parametrize(
    ("key", "given", "words"),
    [
        ("rvm", {"d": 60}, ""),
        ("rvm", {"d": 61}, "it takes too long with more than 60 columns"),
        ("plain-gp", {"d": 61}, "it takes too long with more than 60 columns"),
        ("bpm", {}, ""),
        ("bpm", {"task": "regression"}, "it answers questions of classes only"),
        ("svm", {"task": "regression"}, "it answers questions of classes only"),
        ("svm", {"n": 1500}, ""),
        ("svm", {"n": 1501}, "it takes too long with more than 1,500 rows"),
        ("svm", {"n": 333, "classes": 3}, ""),
        ("svm", {"n": 334, "classes": 3}, "it takes too long with 334 rows of 3 classes"),
        ("linear", {"n": 10**6, "d": 10**4}, ""),
        ("formula", {"d": 60, "classes": 6}, ""),
        ("formula", {"d": 61}, "it takes too long with more than 60 columns"),
        ("formula", {"classes": 7}, "it takes too long with more than 6 classes"),
    ],
)
def test_who_cannot_answer_says_why(key, given, words):
    assert family_called(key).refuses(setting(**given)) == words


def test_guessing_is_the_mean_or_the_shares():
    X, y = np.zeros((4, 1)), np.array([0, 1, 1, 1])
    assert made("guessing").fit(X, y).predict_proba(X)[0].tolist() == [0.25, 0.75]
    assert made("guessing", "regression").fit(X, y).predict(X)[0] == 0.75


def test_a_linear_model_chooses_its_penalty():
    scale, ridge = made("linear", "regression")
    assert isinstance(ridge, RidgeCV)
    assert type(scale).__name__ == "StandardScaler"
    np.testing.assert_allclose(ridge.alphas, 10.0 ** np.arange(-2, 4.1, 0.5))
    chosen = made("linear", rarest=4)[-1]
    assert isinstance(chosen, LogisticRegressionCV)
    np.testing.assert_allclose(chosen.Cs, 10.0 ** np.arange(-3, 2.1))
    assert isinstance(chosen.cv, StratifiedKFold)
    assert (chosen.cv.n_splits, chosen.cv.shuffle, chosen.cv.random_state) == (4, True, 7)
    assert type(made("linear", rarest=1)[-1]).__name__ == "LogisticRegression"


def test_a_tree_has_at_most_eight_leaves():
    for task, folding in (("classification", "StratifiedKFold"), ("regression", "KFold")):
        search = made("tree", task)
        assert isinstance(search, GridSearchCV)
        assert search.param_grid == {"max_leaf_nodes": [2, 3, 4, 5, 6, 8]}
        assert (type(search.cv).__name__, search.cv.n_splits) == (folding, 5)
        assert (search.cv.shuffle, search.cv.random_state) == (True, 7)
        assert (search.estimator.min_samples_leaf, search.estimator.random_state) == (5, 7)
    assert [made("tree", n=n).estimator.min_samples_leaf for n in (9, 29, 49)] == [1, 2, 4]
    assert made("tree", n=10_000).cv.n_splits == 5
    assert made("tree", n=10_001).cv.n_splits == 2
    alone = made("tree", rarest=1)
    assert (type(alone).__name__, alone.max_leaf_nodes) == ("DecisionTreeClassifier", 2)


def test_forests_and_sums_of_trees():
    forest, numbers = made("forest"), made("forest", "regression")
    for one in (forest, numbers):
        assert (one.n_estimators, one.min_samples_leaf, one.max_samples) == (100, 2, None)
        assert one.random_state == 7
    assert (forest.max_features, numbers.max_features) == ("sqrt", 1 / 3)
    assert type(numbers).__name__ == "RandomForestRegressor"
    assert made("forest", n=10_001).max_samples == 10_000
    for task in ("classification", "regression"):
        boosted = made("boosting", task, n=200)
        assert type(boosted).__name__.endswith("Classifier") == (task == "classification")
        found = (boosted.learning_rate, boosted.max_iter, boosted.max_leaf_nodes)
        assert found == (0.06, 100, 8)
        assert (boosted.early_stopping, boosted.random_state) == (False, 7)
    leaves = [made("boosting", n=n).min_samples_leaf for n in (39, 60, 399, 420)]
    assert leaves == [2, 3, 19, 20]


def test_searches_for_formulas_and_columns_are_made_for_a_table():
    screener, search = made("formula", "regression")
    assert (screener.most, screener.task) == (6, "regression")
    assert (search.task, search.random_state) == ("regression", 7)
    assert (search.max_size, search.population_size, search.max_iter) == (5, 20, 3)
    screener, search = formulas(max_size=9).make(setting())
    assert (screener.most, screener.task) == (12, "classification")
    assert (search.max_size, search.task) == (9, "classification")
    columns = few_columns(fixed=("b", "z"), max_iter=2).make(setting(rarest=4))
    assert (columns.task, columns.random_state, columns.max_iter) == ("classification", 7, 2)
    assert (columns.fixed, columns.cv) == (["b"], 4)
    assert few_columns().make(setting(rarest=1)).fixed is None


def test_a_setting_counts_rows_and_classes():
    seed = np.random.SeedSequence(3)
    X = pd.DataFrame(np.zeros((9, 2)), columns=["a", 5])
    found = Setting.of(X, np.repeat([0, 1, 2], [4, 3, 2]), "classification", seed)
    whole = int(seed.generate_state(1)[0])
    assert found == Setting("classification", 9, 2, 3, 2, whole, ("a", "5"))
    assert found.n_folds == 2
    numbers = Setting.of(X.to_numpy(), np.arange(9.0), "regression", seed)
    assert numbers == Setting("regression", 9, 2, 0, 9, whole, ())
    assert (numbers.n_folds, numbers.is_number, found.is_number) == (4, True, False)
    assert [setting(n=n, rarest=r).n_folds for n, r in ((50, 9), (50, 1), (3, 2))] == [5, 0, 0]


def test_a_family_that_takes_few_rows_gets_a_sample():
    taken = []

    class Keeps(GaussianNB):
        def fit(self, X, y):
            taken.append((X, y))
            return self

    family = Family(name="x", key="x", kind="own", words="", make=lambda _: Keeps(), most_rows=30)
    X = pd.DataFrame({"a": np.arange(60.0)})
    for values, task in (
        (np.repeat([0.0, 1.0], [40, 20]), "classification"),
        (np.arange(60.0), "regression"),
    ):
        family.learn(X, values, task, np.random.SeedSequence(0))
        seen, y = taken.pop()
        assert len(y) == 30
        np.testing.assert_array_equal(values[seen["a"].to_numpy(dtype=int)], y)
        assert y.dtype == (np.intp if task == "classification" else np.float64)
    family.learn(X[:30], np.arange(30.0), "regression", np.random.SeedSequence(0))
    assert len(taken.pop()[1]) == 30


def test_a_sample_keeps_the_shares_of_classes_and_at_least_two_of_each():
    values = np.repeat([5, 1, 9, 3], [600, 300, 98, 2])
    places = sampled(values, "classification", 100, np.random.SeedSequence(1))
    assert (np.diff(places) > 0).all()
    found, counts = np.unique(values[places], return_counts=True)
    assert dict(zip(found.tolist(), counts.tolist(), strict=True)) == {5: 60, 1: 30, 9: 10, 3: 2}
    numbers = sampled(np.zeros(50), "regression", 20, np.random.SeedSequence(1))
    assert len(numbers) == 20
    assert (np.diff(numbers) > 0).all()
    assert sampled(np.zeros(9), "regression", 9, np.random.SeedSequence(1)).tolist() == [*range(9)]


def test_shares_of_classes_come_in_the_order_of_their_codes():
    X = pd.DataFrame({"a": [0.0, 1.0]})
    some = SimpleNamespace(
        classes_=np.array([0, 2]), predict_proba=lambda _: np.array([[0.3, 0.7], [0.6, 0.4]])
    )
    assert class_shares([some], X, 3).tolist() == [[0.3, 0, 0.7], [0.6, 0, 0.4]]
    sure = SimpleNamespace(predict=lambda _: np.array([2.0, 1.0]))
    assert class_shares([sure], X, 3).tolist() == [[0, 0, 1], [0, 1, 0]]
    several = [
        SimpleNamespace(classes_=[0, 1], predict_proba=lambda _, p=p: np.array([[1 - p, p]] * 2))
        for p in (0.2, 0.4, 0.2)
    ]
    np.testing.assert_allclose(class_shares(several, X, 3), [[0.25, 0.5, 0.25]] * 2)
    np.testing.assert_allclose(normalised(np.array([[0.2], [0.9]])), [[0.8, 0.2], [0.1, 0.9]])
    assert normalised(np.zeros((1, 3))).tolist() == [[0, 0, 0]]
