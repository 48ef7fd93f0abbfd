"""Averages of rules: the posterior they sample, the bits they repeat, and what they refuse."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

from parsimon.ensembles import (
    ABCClassifier,
    ChainOptions,
    ErrorOf,
    HardNetwork,
    HardTree,
    RuleList,
    YesNoRule,
)
from parsimon.ensembles._votes import class_folds, fitted_vote_calibration
from parsimon.ensembles.chains import abc_sample
from parsimon.ensembles.rules import average_vote
from parsimon.exceptions import CheckpointError, InvalidInputError
from parsimon.pareto import Checkpoint
from parsimon.pareto.run import SearchOptions
from parsimon.roc import auc
from tests.contract import contract

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = (X[:, 0] + 0.4 * RNG.normal(size=60) > 0).astype(int)


def walk(**options):
    """Return few chains of few steps."""
    return ChainOptions(**{"n_chains": 4, "n_samples": 40, "thin": 4, "patience": 300} | options)


SMALL = {"chains": walk(), "calibration": None}
FEWEST = {**SMALL, "chains": walk(n_samples=20, thin=2, patience=100)}


def above_level(theta, rows):
    return rows[:, 0] > theta[:, :1]


def signs(theta, rows):
    return np.where(rows[:, 0] > theta[0], 1, -1)


def words(theta, rows):
    return np.where(rows[:, 0] > theta[0], "yes", "no")


GRID = np.linspace(-2.0, 2.0, 9)


def on_grid(theta, rows):
    """Say yes above the grid's level nearest to the parameter."""
    return rows[:, 0] > GRID[np.abs(theta[:, :1] - GRID).argmin(axis=1)][:, None]


def same(ours, theirs):
    np.testing.assert_array_equal(ours.samples_, theirs.samples_)
    np.testing.assert_array_equal(ours.errors_, theirs.errors_)
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))


def test_the_posterior_is_that_of_exact_rejection_on_a_grid():
    # A parameter uniform between -2.25 and 2.25 has each of nine levels with equal probability.
    rule = YesNoRule(on_grid, [("uniform", -2.25, 2.25)], vectorised=True)
    errors = ErrorOf("auc", Y)(GRID[:, None] < X[:, :1].T)
    kept = errors <= 0.4
    chains = ChainOptions(0.4, n_chains=40, n_samples=2000, thin=20, start_tolerance=0.9)
    model = ABCClassifier(rule, chains=chains, calibration=None, random_state=0).fit(X, Y)
    nearest = np.abs(model.samples_[:, :, 0, None] - GRID).argmin(axis=2)
    shares = np.bincount(nearest.ravel(), minlength=9) / nearest.size
    exact = kept / kept.sum()
    assert 2 <= kept.sum() <= 6
    # 4000 samples that are nearly independent: four standard errors of a share.
    np.testing.assert_allclose(shares, exact, atol=4 * 0.5 / np.sqrt(4000))


def test_a_prior_that_is_not_flat_weights_what_is_kept():
    rule = YesNoRule(above_level, {"level": ("normal", 0.5, 0.3)}, vectorised=True)
    chains = ChainOptions(0.99, n_chains=40, n_samples=2000, start_tolerance=0.99)
    model = ABCClassifier(rule, chains=chains, calibration=None, random_state=1).fit(X, Y)
    # Nearly every level is within so wide a tolerance: the prior comes back.
    assert model.samples_.mean() == pytest.approx(0.5, abs=0.03)
    assert model.samples_.std() == pytest.approx(0.3, abs=0.03)
    assert max(model.r_hat_.values()) < 1.1


@pytest.mark.parametrize("rule", [HardNetwork(2), HardTree(2), RuleList(2)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_kept_rules_err_as_recorded_and_within_the_tolerance(rule):
    model = ABCClassifier(rule, **SMALL, random_state=0).fit(X, Y)
    labels = model.member_labels(X)
    errors = [1 - auc(Y, one.astype(float), ties="strict") for one in labels]
    assert max(errors) <= model.tolerance_ + 1e-12
    np.testing.assert_allclose(model.average_vote(X), labels.mean(axis=0))
    assert model.n_distinct_ == len({one.tobytes() for one in labels})
    assert model.vote_spread(X).shape == (60,)
    best = model.rule_.labeller(X)(model.best_parameters_[None])[0]
    assert 1 - auc(Y, best.astype(float), ties="strict") == pytest.approx(model.best_error_)
    assert model.training_auc_ == pytest.approx(auc(Y, model.average_vote(X)))
    assert "rules of 4 chains" in model.summary()


@pytest.mark.parametrize("kind", ["auc", "balanced", "misclassification"])
def test_errors_are_those_of_single_rules(kind):
    labels = RNG.random((5, 60)) < 0.5
    expected = {
        "auc": lambda one: 1 - auc(Y, one, ties="strict"),
        "balanced": lambda one: 1 - auc(Y, one),
        "misclassification": lambda one: np.mean(one != Y),
    }[kind]
    np.testing.assert_allclose(ErrorOf(kind, Y)(labels), [expected(o * 1.0) for o in labels])
    # A bootstrap of rows in each class knows the standard error.
    draws = []
    positive, negative = np.flatnonzero(Y == 1), np.flatnonzero(Y == 0)
    for _ in range(4000):
        rows = np.append(RNG.choice(positive, len(positive)), RNG.choice(negative, len(negative)))
        draws.append(expected(labels[0, rows] * 1.0) if kind != "misclassification" else
                     np.mean(labels[0, rows] != Y[rows]))  # fmt: skip
        if kind != "misclassification":
            own = labels[0, rows] * 1.0
            draws[-1] = 1 - auc(Y[rows], own, ties="strict" if kind == "auc" else "mid")
    assert ErrorOf(kind, Y).standard_error(labels[0]) == pytest.approx(np.std(draws), rel=0.1)


def test_a_network_in_single_precision_has_the_labels_of_double():
    bound = HardNetwork(5).bind(X)
    theta = bound.draw(200, np.random.default_rng(3))
    theta[:50] *= 1e-3  # outputs near zero
    rows = (X - bound.centre) / bound.spread
    inner, bias = theta[:, :10].reshape(-1, 5, 2), theta[:, 10:15]
    hidden = np.tanh(np.einsum("bhd,nd->bnh", inner, rows) + bias[:, None])
    output = np.einsum("bnh,bh->bn", hidden, theta[:, 15:20]) + theta[:, 20:]
    np.testing.assert_array_equal(bound.labeller(X)(theta), output > 0)


def test_a_tree_and_a_list_follow_their_questions():
    tree = HardTree(1).bind(X)
    middle = np.median(X[:, 1])
    theta = np.array([[0.9, 0.5, 0.2, 0.8]])  # the second column, its median, no, yes
    np.testing.assert_array_equal(tree.labeller(X)(theta)[0], X[:, 1] > middle)
    rules = RuleList(1).bind(X)
    theta = np.array([[0.9, 0.5, 0.2, 0.8, 0.1]])  # below the median yes, else no
    np.testing.assert_array_equal(rules.labeller(X)(theta)[0], X[:, 1] <= middle)


def test_an_average_does_not_depend_on_blocks(monkeypatch):
    bound = HardNetwork(3).bind(X)
    theta = bound.draw(50, np.random.default_rng(0))
    whole = average_vote(bound, theta, X)
    monkeypatch.setattr("parsimon.ensembles.rules._BLOCK", 1000)
    np.testing.assert_array_equal(average_vote(bound, theta, X), whole)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("tolerance", [None, 0.4])
def test_an_interrupted_run_goes_on_to_the_same_bits(tolerance, tmp_path):
    chains = walk(n_samples=200, tolerance=tolerance)
    settings = {"chains": chains, "calibration": 2, "random_state": 5}
    whole = ABCClassifier(HardTree(1), **settings).fit(X, Y)
    file = tmp_path / "walk.npz"
    for most in (100, 300, None):
        again = ABCClassifier(
            HardTree(1), **settings, checkpoint=Checkpoint(file, every=1), max_iter=most
        ).fit(X, Y)
    same(again, whole)
    with pytest.raises(CheckpointError, match="data"):
        ABCClassifier(HardTree(1), **settings, checkpoint=file).fit(X[:50], Y[:50])


def _votes_of_folds(rows, monkeypatch):
    """Return what the folds of the calibration say of each row."""
    seen = []

    def spied(votes, codes):
        seen.append(votes)
        return fitted_vote_calibration(votes, codes)

    monkeypatch.setattr("parsimon.ensembles.abc.fitted_vote_calibration", spied)
    options = {"chains": walk(max_r_hat=None), "calibration": 3, "random_state": 2}
    ABCClassifier(HardTree(2), **options).fit(rows, Y)
    return seen[0]


def test_what_a_fold_says_of_a_row_does_not_depend_on_the_rows_it_leaves_out(monkeypatch):
    folds = class_folds(Y.astype(np.intp), 3)
    other = np.flatnonzero(folds == 1)[::2]
    alone = np.flatnonzero(folds == 1)[1::2]
    changed = X.copy()
    changed[other] = 100.0 * (1 - 2 * Y[other, None])
    before, after = _votes_of_folds(X, monkeypatch), _votes_of_folds(changed, monkeypatch)
    np.testing.assert_array_equal(before[alone], after[alone])
    assert (before[folds == 0] != after[folds == 0]).any()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_probabilities_of_random_labels_are_no_worse_than_guesses():
    rng = np.random.default_rng(3)
    losses, honest = [], []
    for seed in range(3):
        rows, labels = rng.normal(size=(240, 3)), rng.permutation(240) % 2
        model = ABCClassifier(HardTree(3), **{**SMALL, "calibration": 3}, random_state=seed)
        model.fit(rows[:60], labels[:60])
        assert model.training_auc_ > 0.6
        losses.append(log_loss(labels[60:], model.predict_proba(rows[60:])))
        honest.append(model.calibration_.slope)
    assert np.mean(losses) < np.log(2) + 0.03
    assert np.mean(honest) < 0.4


def test_chains_that_do_not_agree_take_twice_as_many_steps():
    def model(**options):
        chains = walk(n_samples=100, **options)
        return ABCClassifier(HardNetwork(2), chains=chains, calibration=None, random_state=0)

    once = model(max_r_hat=None).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="do not agree after 400 recorded steps"):
        again = model(max_r_hat=1e-3, n_doublings=2).fit(X, Y)
    assert (once.n_doubled_, once.errors_.shape) == (0, (4, 100))
    assert (again.n_doubled_, again.errors_.shape) == (2, (4, 400))
    assert again.samples_.shape == once.samples_.shape == (4, 25, 9)
    # Two standard errors more are allowed after two doublings; a given tolerance stays.
    assert again.tolerance_ > once.tolerance_
    fixed = model(tolerance=0.4, max_r_hat=1e-3, n_doublings=1)
    with pytest.warns(ConvergenceWarning, match="do not agree after 200 recorded steps"):
        assert fixed.fit(X, Y).tolerance_ == 0.4


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_stop_after_a_doubling_keeps_what_was_recorded_before():
    chains = walk(n_samples=100, burn_in=100, max_r_hat=1e-3, n_doublings=0)
    first = ABCClassifier(HardNetwork(2), chains=chains, calibration=None, random_state=0)
    more = clone(first).set_params(chains=replace(chains, n_doublings=3))
    first.fit(X, Y)
    stopped = more.set_params(max_iter=first.n_iter_ + 100).fit(X, Y)
    assert stopped.stopped_by_ == "max_iter"
    np.testing.assert_array_equal(stopped.samples_, first.samples_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_workers_do_not_change_a_bit():
    alone = ABCClassifier(HardNetwork(2), **SMALL, random_state=2).fit(X, Y)
    same(ABCClassifier(HardNetwork(2), **SMALL, random_state=2, n_jobs=2).fit(X, Y), alone)


def test_a_tolerance_out_of_reach_is_told():
    chains = walk(tolerance=1e-6)
    model = ABCClassifier(HardTree(1), chains=chains, calibration=None, random_state=0)
    with pytest.warns(ConvergenceWarning, match="4 of 4 chains stayed above the tolerance 1e-06"):
        model.fit(X, Y)
    assert model.tolerance_ < 0.6


def test_a_rule_no_better_than_a_coin_is_told():
    model = ABCClassifier(HardTree(1), **SMALL, random_state=0)
    with pytest.warns(ConvergenceWarning, match="no rule did better than a coin"):
        model.fit(np.ones_like(X), Y)
    assert model.tolerance_ == 1.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_few_rows_do_not_make_every_rule_as_good_as_the_best():
    model = ABCClassifier(HardTree(1), **SMALL, random_state=0).fit(X[:6], [0, 1, 0, 1, 0, 1])
    assert model.tolerance_ <= 0.5 * (0.75 + model.best_error_)


def test_a_time_limit_ends_the_run_with_what_there_is():
    chains = ChainOptions(n_samples=10**6)
    model = ABCClassifier(HardTree(1), chains=chains, calibration=None, time_limit=0.2)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X, Y)
    assert model.stopped_by_ == "time_limit"
    assert model.predict(X).shape == (60,)


def test_a_deadline_cuts_a_chunk_of_steps_and_keeps_where_the_chains_stood(monkeypatch):
    monkeypatch.setattr("parsimon.ensembles.chains.is_late", lambda deadline: deadline is not None)
    model = ABCClassifier(HardTree(1), **SMALL, time_limit=1e9, random_state=0)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X, Y)
    assert (model.stopped_by_, model.n_iter_) == ("time_limit", 0)
    assert model.samples_.shape[1] == 1


def test_many_rows_get_fewer_draws_to_start_from(monkeypatch):
    n_drawn = []

    class Counting:
        def __init__(self, bound):
            self.bound = bound

        def __getattr__(self, name):
            return getattr(self.bound, name)

        def draw(self, n, rng):
            n_drawn.append(n)
            return self.bound.draw(n, rng)

    random = np.random.default_rng(0).integers(2, size=len(X))
    bound = HardTree(1).bind(X)
    monkeypatch.setattr("parsimon.ensembles.chains._PRIOR_ROWS", 20 * len(X))
    options = ChainOptions(n_chains=1, start_tolerance=0.01, n_samples=20, max_r_hat=None)
    abc_sample(Counting(bound), X, ErrorOf("auc", random), options, SearchOptions(0))
    assert n_drawn == [20]


def test_a_rule_and_a_loss_of_ones_own():
    rule = YesNoRule(lambda theta, rows: rows[:, 0] > theta[0], [("uniform", -3, 3)])
    model = ABCClassifier(
        rule,
        error=lambda y, labels: np.mean(y != labels),
        chains=ChainOptions(0.3, n_chains=4, n_samples=200),
        calibration=2,
        random_state=0,
    ).fit(X, np.where(Y, "yes", "no"))
    assert model.score(X, np.where(Y, "yes", "no")) > 0.75
    assert list(model.classes_) == ["no", "yes"]
    proba = model.predict_proba(X)[:, 1]
    order = np.argsort(X[:, 0])
    assert (np.diff(proba[order]) >= 0).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rule": "network"}, "rule must be"),
        ({"error": "loss"}, "error must be"),
        ({"error": abs}, "needs a tolerance"),
        ({"chains": 8}, "chains must be ChainOptions, got 8"),
        ({"calibration": 1}, "calibration must be"),
        ({"rule": YesNoRule(above_level, [])}, "prior is empty"),
        ({"rule": YesNoRule(above_level, [("uniform", 1, 0)])}, "low < high"),
        ({"rule": YesNoRule(above_level, ["flat"])}, "A prior is"),
        ({"rule": YesNoRule(lambda _, rows: rows, [("normal", 0, 1)])}, "answers of shape"),
        ({"rule": YesNoRule(signs, [("normal", 0, 1)])}, "The rule answered -1"),
        ({"rule": YesNoRule(words, [("normal", 0, 1)])}, "The rule answered '(yes|no)'"),
        ({"time_limit": -1}, "time_limit must be"),
    ],
)
def test_what_is_refused(options, words):
    with pytest.raises(InvalidInputError, match=words):
        ABCClassifier(**options).fit(X, Y)


def test_chains_that_keep_nothing_are_refused():
    with pytest.raises(InvalidInputError, match="thin is 1000000, more than the 1000 samples"):
        ChainOptions(thin=10**6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@contract(ABCClassifier(HardNetwork(2), **{**FEWEST, "calibration": 2}, random_state=0))
def test_scikit_learn_contract(estimator, check):
    check(estimator)
