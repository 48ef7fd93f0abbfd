"""Errors on rows that a search for features has not seen: those of refits, and chance on noise."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from parsimon.exceptions import ConstantPredictionWarning
from parsimon.features import ParetoConstructor, ParetoSelector, StableSelector
from parsimon.features._halves import fit_half, halve_rows
from parsimon.features.column_values import ColumnCache
from parsimon.features.formula_model import InnerLearner
from parsimon.features.series import SeriesExtractor
from parsimon.features.series.tree_search import Targets

LEARNER = LogisticRegression(C=1e6)
QUICK = {"max_iter": 1, "population_size": 8, "operations": ["*", "exp"], "random_state": 0}


def table(n, d, seed=0, signal=0.0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.permutation(n) % 2
    X[:, 0] += signal * y
    return X, y


def test_the_error_on_rows_set_apart_is_that_of_refits_to_the_searched_rows():
    X, y = table(60, 4, signal=1.0)
    search = ParetoSelector(LEARNER, random_state=0).fit(X, y)
    searched = search.errors_.X
    held = [row for row in range(60) if not (X[row] == searched).all(axis=1).any()]
    assert len(held) + len(searched) == 60
    assert len(held) == 12
    own = np.setdiff1d(np.arange(60), held)
    frame = search.to_frame()
    for place in range(len(frame)):
        columns = search.front_.solution(place)
        model = LogisticRegression(C=1e6).fit(X[np.ix_(own, columns)], y[own])
        error = np.mean(model.predict(X[np.ix_(held, columns)]) != y[held])
        assert frame["holdout_error"].iloc[place] == pytest.approx(error)


@pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning")
def test_subsets_of_noise_are_at_chance_on_rows_set_apart():
    errors = []
    for seed in range(4):
        X, y = table(60, 8, seed)
        search = ParetoSelector(LEARNER, choose="error", max_iter=2, random_state=seed).fit(X, y)
        errors.append(search.to_frame()["holdout_error"].iloc[search.best_index_])
        assert search.to_frame()["error"].iloc[search.best_index_] < 0.5
    # Three standard errors of a share of about 60 rows.
    assert np.mean(errors) == pytest.approx(0.5, abs=0.2)


def test_the_error_of_formulas_on_rows_held_out_is_that_of_fits_to_the_others():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 2))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=120)
    search = ParetoConstructor(**QUICK)
    seen = []
    usual = search._measure

    def spied(problem, found, whole, held):
        seen.append((problem, held))
        return usual(problem, found, whole, held)

    search._measure = spied
    search.fit(X, y)
    ((problem, held),) = seen
    rest = np.setdiff1d(np.arange(120), held)
    assert search.n_holdout_ == len(held) > 20
    np.testing.assert_array_equal(problem.target, y[rest])
    columns = ColumnCache(dict(zip(problem.names, X.T, strict=True)))
    frame = search.to_frame()
    for place, model in enumerate(search.front_.solution(k) for k in range(len(frame))):
        if not model.features:
            expected = np.sqrt(np.mean((y[held] - y[rest].mean()) ** 2))
        else:
            made = columns.matrix(model.features)
            told = LinearRegression().fit(made[rest], y[rest]).predict(made[held])
            expected = np.sqrt(np.mean((y[held] - told) ** 2))
        assert frame["holdout_error"].iloc[place] == pytest.approx(expected, rel=1e-6)


def test_formulas_of_noise_are_no_better_than_a_constant_on_rows_held_out():
    ratios = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantPredictionWarning)
            frame = ParetoConstructor(**QUICK).fit(X, y).to_frame()
        ratios.append(frame["relative_error"].iloc[frame["search_error"].argmin()])
    assert np.mean(ratios) > 0.97


def test_areas_of_halves_are_those_of_refits_to_the_other_half():
    X, y = table(30, 12, signal=1.5)
    model = LogisticRegression(C=0.3, l1_ratio=1.0, solver="liblinear", random_state=0)
    selector = StableSelector(model, n_splits=3, n_permutations=0, random_state=5).fit(X, y)
    areas = []
    for split in np.random.SeedSequence(5).spawn(1)[0].spawn(3):
        draw, *seeds = split.spawn(3)
        one, other = halve_rows(y, np.array([0, 1]), draw)
        for rows, rest, seed in ((one, other, seeds[0]), (other, one, seeds[1])):
            state = int(np.random.default_rng(seed).integers(2**31))
            fitted = model.set_params(random_state=state).fit(X[rows], y[rows])
            areas.append(roc_auc_score(y[rest], fitted.decision_function(X[rest])))
    np.testing.assert_allclose(selector.test_auc_, areas)


def test_what_a_half_selects_and_learns_does_not_depend_on_the_other():
    X, y = table(40, 30, signal=1.0)
    selector = StableSelector(n_splits=2, n_permutations=0, random_state=0).fit(X, y)
    rows, others = halve_rows(y, np.array([0, 1]), 1)
    before = fit_half(selector._table(X, y), rows, others, 0)
    changed = X.copy()
    changed[others[::2]] = 50.0 * y[others[::2], None]
    after = fit_half(selector._table(changed, y), rows, others, 0)
    np.testing.assert_array_equal(before.columns, after.columns)
    np.testing.assert_allclose(before.train, after.train)
    assert (before.test != after.test).any()


def test_areas_of_noise_are_at_chance_in_the_other_half():
    X, y = table(40, 300)
    selector = StableSelector(n_splits=15, n_permutations=0, random_state=0).fit(X, y)
    assert selector.train_auc_.mean() > 0.85
    assert selector.test_auc_.mean() == pytest.approx(0.5, abs=3 * selector.null_sd_ / 30**0.5)


@pytest.mark.parametrize("n_classes", [0, 2])
def test_losses_of_a_learner_of_your_own_are_those_of_refits_to_training_rows(n_classes):
    X, y = table(40, 3)
    y = y if n_classes else X[:, 0] + np.random.default_rng(1).normal(size=40)
    kind = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
    learner = InnerLearner(kind(max_depth=3, random_state=0), list(KFold(4).split(X)))
    (found,) = learner.losses([X], y, n_classes)
    method = "predict_proba" if n_classes else "predict"
    told = cross_val_predict(learner.estimator, X, y, cv=KFold(4), method=method)
    if n_classes:
        expected = -np.log(np.clip(told[np.arange(40), y], 1e-15, None))
        np.testing.assert_array_equal(found > np.log(2), expected > np.log(2))
        sure = (told > 0).all(axis=1)
        np.testing.assert_allclose(found[sure], expected[sure])
    else:
        np.testing.assert_allclose(found, (y - told) ** 2)


def test_forecasts_by_features_of_noise_do_not_beat_the_last_value():
    """Of hundreds of columns the best fit all rows; those of a fold are chosen without its rows."""
    rng = np.random.default_rng(3)
    extractor = SeriesExtractor(task="forecast", max_features=5, cv=KFold(4))
    extractor.task_ = "forecast"
    targets = Targets.of_numbers(rng.normal(size=60))
    Z = rng.normal(size=(60, 800))
    assert not extractor._beats_last(Z, targets)
    # A column that does tell is found.
    Z[:, 7] += 2 * targets.T[:, 0]
    assert extractor._beats_last(Z, targets)
