"""What `ParetoRVC` promises beyond scikit-learn's contract (test_pareto_contract)."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold

from parsimon.exceptions import (
    ConstantPredictionWarning,
    EmptyFrontError,
    InvalidInputError,
)
from parsimon.inference.irls import logistic_modes
from parsimon.pareto import Front, nondominated
from parsimon.rvm.classifier import RVC
from parsimon.rvm.pareto import ParetoRVC


def rings(n, seed=0):
    """Return an inner class, "yes", and an outer one that overlap a little."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    inside = np.hypot(*X.T) + 0.25 * rng.normal(size=n) < 1.1
    return X, np.where(inside, "yes", "no")


@pytest.fixture(scope="module")
def data():
    X, y = rings(90)
    X.flags.writeable = False
    return X, y


@pytest.fixture(scope="module")
def folded(data):
    return ParetoRVC(gamma=0.5, cv=3, max_iter=300, random_state=0).fit(*data)


@pytest.fixture(scope="module")
def trained(data):
    return ParetoRVC(gamma=0.5, cv=None, max_iter=300, random_state=0).fit(*data)


def rates(model, X, y):
    """Return true and false positive rates of class "yes"."""
    positive = model.predict(X) == "yes"
    return positive[y == "yes"].mean(), positive[y == "no"].mean()


def test_the_front_has_named_objectives_and_nothing_dominated(folded):
    front = folded.front_
    assert isinstance(front, Front)
    assert str(front.directions) == "tpr up, fpr down, complexity down"
    assert nondominated(front.minimised).all()
    assert len(front) > 10
    assert front.rows.tolist() == list(range(len(front)))


@pytest.mark.parametrize("complexity", ["active", "degrees_of_freedom"])
@pytest.mark.parametrize("cv", [None, 3])
def test_the_classifiers_that_need_no_data_are_on_every_front(data, complexity, cv):
    search = ParetoRVC(complexity=complexity, cv=cv, max_iter=30, random_state=0).fit(*data)
    values = search.front_.values.tolist()
    for corner, label in (([1.0, 1.0, 0.0], "yes"), ([0.0, 0.0, 0.0], "no")):
        model = search.select(values.index(corner))
        assert (model.predict(data[0]) == label).all()
        assert len(model.relevance_) == 0


def test_a_baseline_knows_the_class_frequencies(folded, data):
    model = folded.select(folded.front_.values.tolist().index([0.0, 0.0, 0.0]))
    share = np.mean(data[1] == "yes")
    np.testing.assert_allclose(model.predict_proba(data[0])[:, 1], share, atol=1e-6)


def test_without_folds_rates_are_those_of_the_training_rows(trained, data):
    for index in range(0, len(trained.front_), 3):
        tpr, fpr, complexity = trained.front_.values[index]
        model = trained.select(index)
        assert rates(model, *data) == pytest.approx((tpr, fpr), abs=1e-12)
        assert len(model.relevance_) == complexity


def test_with_folds_rates_are_means_over_what_was_held_out(data):
    """Every solution of the front, fitted again outside its fold, has the rates that it shows."""
    X, y = data
    parts = np.arange(len(X)) % 3
    search = ParetoRVC(gamma=0.5, cv=KFold(3).split(X), max_iter=60, random_state=1)
    order = np.argsort(parts, kind="stable")
    X, y, parts = X[order], y[order], np.repeat([0, 1, 2], 30)
    search.fit(X, y)
    for index, (tpr, fpr, size) in enumerate(search.front_.values):
        if size == 0:
            continue
        model = search.select(index)
        design, per_fold = model.basis_.design(X), []
        alpha = np.append([model.bias_alpha_] * model.basis_.has_bias, model.alpha_)
        for part in range(3):
            held = parts == part
            weights = logistic_modes(
                design[~held],
                (y[~held] == "yes") * 1.0,
                alpha,
                np.ones((1, 60)),
                largest_score=30.0,
            ).weights[0]
            positive = design[held] @ weights > model.cutoff
            truth = y[held] == "yes"
            per_fold.append([positive[truth].mean(), positive[~truth].mean()])
        np.testing.assert_allclose((tpr, fpr), np.mean(per_fold, axis=0), atol=1e-9)


def test_training_figures_are_those_of_the_refitted_classifiers(folded, data):
    frame = folded.to_frame()
    for index in range(0, len(frame), 4):
        row, model = frame.loc[index], folded.select(index)
        tpr, fpr = rates(model, *data)
        assert (row["training_tpr"], row["training_fpr"]) == pytest.approx((tpr, fpr), abs=1e-12)
        assert row["training_accuracy"] == pytest.approx(model.score(*data))
        assert row["columns"] == len(model.relevance_) == row["complexity"]
        assert row["cutoff"] == model.cutoff
        share = np.mean(data[1] == "yes")
        assert row["accuracy"] == pytest.approx(share * row["tpr"] + (1 - share) * (1 - row["fpr"]))


def test_the_frame_follows_the_front_in_either_library(folded):
    frame, other = folded.to_frame(), folded.to_frame("polars")
    np.testing.assert_array_equal(frame[["tpr", "fpr", "complexity"]], folded.front_.values)
    assert other["row"].to_list() == frame.index.tolist()
    assert other.columns[1:] == frame.columns.tolist()
    np.testing.assert_array_equal(other["training_tpr"].to_numpy(), frame["training_tpr"])
    with pytest.raises(InvalidInputError, match="backend must be"):
        folded.to_frame("csv")


def test_rows_are_ordinary_classifiers(folded, data):
    model = folded.select("accuracy")
    assert type(model) is RVC
    np.testing.assert_array_equal(
        model.predict(data[0]) == "yes", model.decision_function(data[0]) > model.cutoff
    )
    again = clone(model).fit(*data)
    assert again.cutoff == model.cutoff
    assert (model.alpha_ > 0).all()
    np.testing.assert_array_equal(model.relevance_vectors_, data[0][model.relevance_])
    np.testing.assert_array_equal(folded.front_.solution(0).coef_, folded.select(0).coef_)


def test_the_default_solution_is_the_one_that_choose_picks(folded, data):
    X, _ = data
    model = folded.select()
    assert folded.choose == "training_accuracy"
    assert folded.to_frame()["training_accuracy"].max() == pytest.approx(folded.score(*data))
    assert folded.front_.values[folded.best_index_, 2] == len(model.relevance_)
    np.testing.assert_array_equal(folded.predict(X), model.predict(X))
    np.testing.assert_allclose(
        folded.decision_function(X), model.decision_function(X) - model.cutoff
    )
    np.testing.assert_array_equal(folded.predict(X) == "yes", folded.decision_function(X) > 0)
    odds, found = folded.predict_proba(X), folded.calibration_
    log_odds = found.slope * model.decision_function(X) + found.shift
    is_called = folded.predict(X) == "yes"
    agrees = is_called == (log_odds > 0)
    assert agrees.mean() > 0.8
    np.testing.assert_allclose(np.log(odds[:, 1] / odds[:, 0])[agrees], log_odds[agrees])
    np.testing.assert_allclose(odds[~agrees], 0.5, atol=1e-5)
    np.testing.assert_array_equal(odds.argmax(axis=1) == 1, is_called)
    assert found.slope > 0


def test_probabilities_of_the_default_solution_are_those_of_rows_not_seen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2400, 3))
    y = rng.random(2400) < expit(2.0 * X[:, 0] - 2.0)
    search = ParetoRVC(max_iter=200, random_state=0).fit(X[:400], y[:400])
    rare, base = log_loss(y[400:], search.predict_proba(X[400:])), log_loss(y, [y.mean()] * 2400)
    assert rare < base - 0.05
    share = search.predict_proba(X[400:])[:, 1]
    assert share.mean() == pytest.approx(y[400:].mean(), abs=0.05)


@pytest.mark.parametrize("rule", ["accuracy", "knee:gain", "best:tpr where fpr<=0.1", 3])
def test_choose_may_be_any_rule(data, rule):
    search = ParetoRVC(cv=None, choose=rule, max_iter=60, random_state=0).fit(*data)
    np.testing.assert_array_equal(search.best_estimator_.coef_, search.select(rule).coef_)
    assert search.best_estimator_.cutoff == search.select(rule).cutoff


def test_a_default_that_gives_all_rows_to_one_class_has_finite_decisions(data):
    search = ParetoRVC(cv=None, choose="best:tpr where complexity<=0", max_iter=5, random_state=0)
    with pytest.warns(ConstantPredictionWarning, match="predicts one class for every row"):
        search.fit(*data)
    decision, frequent = search.decision_function(data[0]), np.mean(data[1] == "yes") > 0.5
    assert np.isfinite(decision).all()
    assert ((decision > 0) == frequent).all()
    share = np.mean(data[1] == "yes")
    np.testing.assert_allclose(search.predict_proba(data[0])[:, 1], share, atol=1e-6)
    with pytest.raises(EmptyFrontError, match="beats one class for every row"):
        search.select("accuracy where complexity<=0")


def test_conditions_and_costs_choose_among_rates(trained):
    front = trained.front_
    careful = trained.to_frame().query("fpr <= 0.05")["tpr"].max()
    model = trained.select("best:tpr where fpr<=0.05")
    assert careful == front.values[trained._index("best:tpr where fpr<=0.05"), 0]
    assert isinstance(model, RVC)
    cheap = trained._index("cheapest:cost_fp=1,cost_fn=20,prevalence=0.5")
    cost = front.values[:, 1] + 20 * (1 - front.values[:, 0])
    assert cost[cheap] == pytest.approx(cost.min())


def test_the_front_tells_rings_apart_with_few_functions():
    X, y = rings(200)
    X_new, y_new = rings(600, seed=1)
    search = ParetoRVC(gamma=0.5, max_iter=1500, random_state=0).fit(X, y)
    for rule, most in (("one_se", 6), (None, 20)):
        model = search.select(rule)
        assert len(model.relevance_) <= most
        assert model.score(X_new, y_new) > 0.8
