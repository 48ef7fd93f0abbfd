"""Few members of many: weights, folds, fronts and what comes out of them."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from parsimon.datasets import load, make_ripley
from parsimon.ensembles import ABCClassifier, ChainOptions, HardTree, SparseEnsemble, pair_areas
from parsimon.ensembles._votes import fitted_vote_calibration
from parsimon.ensembles.pruning import WAYS, weighted_scores
from parsimon.exceptions import InvalidInputError
from parsimon.roc import auc
from tests.contract import contract

X, Y = make_ripley(160, random_state=0)
NEW, TRUTH = make_ripley(1000, random_state=1)
TREES = [DecisionTreeClassifier(max_depth=2, max_features=1, random_state=k) for k in range(30)]


def columns(n_members=25, n=120):
    rng = np.random.default_rng(0)
    codes = (np.arange(n) % 2).astype(np.intp)
    wrong = rng.random((n, n_members)) < np.linspace(0.1, 0.45, n_members)
    return (codes[:, None] ^ wrong).astype(float), codes


def test_areas_are_those_of_scikit_learn():
    table, codes = columns()
    expected = [roc_auc_score(codes, column) for column in table.T]
    np.testing.assert_allclose(pair_areas(table, codes), expected)


@pytest.mark.parametrize("method", WAYS)
def test_a_path_has_ever_more_members_and_weights_of_sum_one(method):
    table, codes = columns()
    path = WAYS[method](table, codes, 8, np.random.default_rng(0))
    sizes = [np.count_nonzero(weights) for weights in path]
    assert sizes == sorted(sizes)
    assert sizes[0] >= 1
    for weights in path:
        assert np.abs(weights).sum() == pytest.approx(1.0)
        votes = weighted_scores(table, weights)
        assert votes.min() >= -1e-12
        assert votes.max() <= 1 + 1e-12
    if method not in ("regression", "classification"):
        assert max(sizes) <= 8
        assert all((weights >= 0).all() for weights in path)


def test_non_negative_weights_are_those_of_the_whole_problem_in_the_end():
    from scipy.optimize import nnls

    table, codes = columns(6)
    path = WAYS["nonnegative"](table, codes, 6, np.random.default_rng(0))
    whole, _ = nnls(table - table.mean(axis=0), codes - codes.mean())
    np.testing.assert_allclose(path[-1], whole / whole.sum(), atol=1e-8)


def test_one_member_is_that_which_alone_explains_most():
    """Members of very different shares of yes: agreement is counted in units of their spread."""
    rng = np.random.default_rng(8)
    for _ in range(5):
        codes = (rng.random(80) < 0.2).astype(int)
        table = (rng.random((80, 6)) < [0.05, 0.1, 0.2, 0.4, 0.6, 0.9]).astype(float)
        table[:, :2] *= codes[:, None]
        table[np.flatnonzero(codes)[0], :2] = 1.0
        weights = WAYS["nonnegative"](table, codes, 1, rng)[0]
        fits = [np.corrcoef(column, codes)[0, 1] for column in table.T]
        assert np.flatnonzero(weights).tolist() == [int(np.round(fits, 9).argmax())]


def test_the_best_members_have_the_largest_areas():
    table, codes = columns()
    chosen = np.flatnonzero(WAYS["performance"](table, codes, 5, np.random.default_rng(0))[4])
    areas = np.array([auc(codes, column, ties="strict") for column in table.T])
    assert areas[chosen].min() >= np.delete(areas, chosen).max()


@pytest.mark.parametrize("method", WAYS)
def test_an_ensemble_of_trees_is_pruned_and_beats_one_of_them(method):
    model = SparseEnsemble(TREES, method=method, max_size=8, random_state=0).fit(X, Y)
    single = max(roc_auc_score(TRUTH, clone(t).fit(X, Y).predict(NEW)) for t in TREES)
    if method != "classification":
        assert roc_auc_score(TRUTH, model.predict_proba(NEW)[:, 1]) > single - 0.01
    few = model.select("best:auc where members<=3")
    assert len(few.members) <= 3
    assert few.predict(NEW).shape == (1000,)
    assert list(model.to_frame().columns[:2]) == ["auc", "members"]
    assert f"{len(model.support_)} of 30 members" in model.summary()
    assert model.random_auc_.shape == (50,)


def _folds(codes, n):
    folds = np.empty(len(codes), dtype=int)
    for code in (0, 1):
        folds[codes == code] = np.arange((codes == code).sum()) % n
    return folds


@pytest.mark.parametrize("method", ["consensus", "nonnegative", "performance"])
def test_the_area_of_a_size_is_that_of_paths_that_have_not_seen_the_fold(method):
    codes = (Y == 1).astype(int)
    folds = _folds(codes, 4)
    said = np.empty((len(X), 12))
    for place, tree in enumerate(TREES[:12]):
        for k in range(4):
            own = clone(tree).fit(X[folds != k], Y[folds != k])
            said[folds == k, place] = own.predict(X[folds == k])
    model = SparseEnsemble(TREES[:12], method=method, cv=4, max_size=5, n_random=0).fit(X, Y)
    for point in model.front_:
        size, areas = int(point.objectives["members"]), []
        for k in range(4):
            held = folds == k
            rng = np.random.default_rng(0)
            path = WAYS[method](said[~held], codes[~held], 5, rng)
            [weights] = [one for one in path if np.count_nonzero(one) == size]
            areas.append(roc_auc_score(codes[held], weighted_scores(said[held], weights)))
        assert point.objectives["auc"] == pytest.approx(np.mean(areas))


@pytest.mark.parametrize("method", ["consensus", "performance", "regression"])
def test_where_members_guess_areas_are_at_chance_and_probabilities_too(method):
    """Which columns fall with yes is learnt from the rows as well, so that folds learn it anew."""
    rng = np.random.default_rng(0)
    found, losses = [], []
    for _ in range(6):
        table, codes = rng.integers(0, 2, size=(240, 20)).astype(float), rng.permutation(240) % 2
        model = SparseEnsemble(method=method, max_size=4, n_random=5, random_state=0)
        model.fit(table[:40], codes[:40])
        areas = model.to_frame()
        found.append([areas["auc"].mean(), model.all_auc_, model.random_auc_.mean()])
        losses.append(log_loss(codes[40:], model.predict_proba(table[40:])))
    # Two standard errors of the mean area of six tables of 20 and 20 rows: 2 * 0.0925 / sqrt(6).
    np.testing.assert_allclose(np.mean(found, axis=0), 0.5, atol=0.076)
    assert np.mean(losses) < np.log(2) + 0.05


def test_probabilities_are_the_line_of_votes_outside_with_the_least_penalised_loss():
    rng = np.random.default_rng(1)
    for slope in (-0.5, 0.0, 0.3, 2.0):
        votes = rng.integers(0, 3, size=60) / 2
        odds = logit(0.01 + 0.98 * votes)
        codes = (rng.random(60) < expit(slope * odds)).astype(int)

        def loss(line, odds=odds, codes=codes):
            scores = line[0] * odds + line[1]
            lost = np.logaddexp(0, scores) - codes * scores
            return lost.sum() + 0.5 * (line[0] - 1) ** 2 + 0.05 * line[1] ** 2

        best = minimize(loss, [0.0, 0.0], tol=1e-12).x
        found = fitted_vote_calibration(votes, codes)
        assert found.slope == pytest.approx(max(best[0], 1e-3), abs=1e-5)
        assert found.offset == pytest.approx(best[1], abs=1e-5)


def test_members_may_be_fitted_or_columns_or_rules_of_an_average():
    fitted = [clone(tree).fit(X, Y) for tree in TREES]
    given = SparseEnsemble(fitted, random_state=0).fit(X, Y)
    said = np.column_stack([tree.predict(X) for tree in fitted])
    by_columns = SparseEnsemble(random_state=0).fit(said, Y)
    np.testing.assert_allclose(given.weights_, by_columns.weights_)
    new = np.column_stack([tree.predict(NEW) for tree in fitted])
    np.testing.assert_allclose(given.predict_proba(NEW), by_columns.predict_proba(new))
    average = ABCClassifier(
        HardTree(2),
        chains=ChainOptions(0.45, n_chains=4, n_samples=100, max_r_hat=None),
        calibration=None,
        random_state=0,
    ).fit(X, Y)
    rules = SparseEnsemble(average, random_state=0).fit(X, Y)
    kept = average.member_labels(NEW)[rules.support_]
    votes = kept.T @ rules.weights_[rules.support_]
    np.testing.assert_allclose(rules.best_estimator_.votes(NEW), votes)


def test_labels_of_any_kind_come_back():
    names = np.where(Y == 1, "yes", "no")
    model = SparseEnsemble(TREES[:10]).fit(X, names)
    with pytest.raises(InvalidInputError, match="Member 0 was fitted to the classes"):
        SparseEnsemble(model.best_estimator_.members.models).fit(X, Y)
    assert set(model.predict(NEW)) == {"no", "yes"}
    assert model.score(X, names) > 0.8


def test_hard_machines_of_many_costs_reach_the_forest_with_few():
    data = load("ripley")
    train, test = slice(0, 250), slice(250, None)
    pool = [
        make_pipeline(StandardScaler(), SVC(C=c, class_weight={0: 1.0, 1: ratio}))
        for c in (0.3, 1.0, 3.0)
        for ratio in np.geomspace(1 / 16, 16, 13)
    ]
    model = SparseEnsemble(pool, random_state=0).fit(data.data[train], data.target[train])
    assert len(model.support_) <= 20
    votes = model.predict_proba(data.data[test])[:, 1]
    assert roc_auc_score(data.target[test], votes) >= 0.965


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "best"}, "method must be"),
        ({"members": []}, "members is empty"),
        ({"max_size": 0}, "max_size must be"),
        ({"cv": 1}, "cv must be"),
    ],
)
def test_what_is_refused(options, words):
    with pytest.raises(InvalidInputError, match=words):
        SparseEnsemble(**options).fit(X, Y)


def test_a_class_of_one_row_is_refused():
    with pytest.raises(InvalidInputError, match="A class has one row"):
        SparseEnsemble().fit(X[:9], [1, *[0] * 8])


def test_members_that_guess_hardly_change_the_consensus():
    table, codes = columns()
    guesses = np.random.default_rng(1).integers(2, size=(len(codes), 25)).astype(float)
    alone = WAYS["consensus"](table, codes, 8, np.random.default_rng(0))[-1]
    among = WAYS["consensus"](np.hstack([table, guesses]), codes, 8, np.random.default_rng(0))[-1]
    assert among[25:].sum() < 0.1
    assert auc(codes, table @ among[:25]) == pytest.approx(auc(codes, table @ alone), abs=0.02)


@contract(SparseEnsemble(n_random=2), SparseEnsemble(method="dirichlet", n_random=2))
def test_scikit_learn_contract(estimator, check):
    check(estimator)
