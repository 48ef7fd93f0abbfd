import pickle
import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from parsimon.exceptions import InvalidInputError
from parsimon.gp import GPClassifier, GPRegressor, KernelSearch
from parsimon.gp import _kernel_evaluation as evaluation
from parsimon.gp._memory import FailedFit
from parsimon.kernels import Constant, Epanechnikov, SquaredExponential

SE = SquaredExponential


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    return X, np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=60) > 0.3, "yes", "no")


@pytest.fixture(scope="module")
def searched(labelled):
    return KernelSearch(depth=1, cv=3, guide="cv_error", random_state=0).fit(*labelled)


def test_a_judged_kernel_has_the_numbers_of_a_cross_validation_by_hand(labelled, searched):
    X, y = labelled
    found = searched.judge((SE(0) + SE(1)).start(X))
    assert found.judged_by == "cross-validation"
    assert found.columns == (0, 1)
    assert found.depth == found.n_base == 2
    whole = GPClassifier(found.kernel, n_restarts=0).fit(X, y)
    assert found.log_evidence == pytest.approx(whole.log_evidence_, abs=0.01)
    for place, (train, test) in enumerate(searched.problem_.folds):
        model = GPClassifier(found.kernel, n_restarts=0).fit(X[train], y[train])
        own = model.predict_proba(X[test])[np.arange(len(test)), (y[test] == "yes").astype(int)]
        assert found.fold_log_evidences[place] == pytest.approx(model.log_evidence_, abs=0.01)
        assert found.fold_losses[place] == pytest.approx(-np.log(own).mean(), abs=5e-3)
        assert found.fold_errors[place] == np.mean(model.predict(X[test]) != y[test])
    assert found.error == np.mean(found.fold_errors)
    assert found.guide == found.error


def test_the_guide_of_the_search_is_the_guide_of_the_judge(labelled):
    search = KernelSearch(depth=1, cv=2, guide="nlml", random_state=0).fit(*labelled)
    found = search.judge(SE(0) * SE(1))
    assert found.guide == -found.log_evidence
    assert len(found.fold_errors) == 2


def test_a_judged_kernel_has_the_evidence_of_a_classifier(labelled):
    search = KernelSearch(depth=1, cv=2, random_state=0).fit(*labelled)
    found = search.judge(SE(0) * SE(1))
    held = GPClassifier(found.kernel, optimise=False).fit(*labelled)
    assert found.log_evidence == pytest.approx(held.log_evidence_, abs=1e-4)


def test_what_the_search_has_judged_is_not_fitted_again(searched):
    for one in (searched.baseline_, *searched.first_layer_):
        assert searched.judge(one.kernel) is one
    cut = searched.judge(SE(2) + SE(1), time_limit=1e-9)
    assert cut.log_evidence <= searched.judge(SE(2) + SE(1)).log_evidence
    assert searched.judge(SE(2) + SE(1)) is not cut
    assert searched.judge(SE(1, lengthscale=77.0)) is searched.judge(SE(1))
    assert searched.judge(Constant(3.0)) is searched.baseline_
    new = searched.judge(SE(2) + SE(1))
    assert searched.judge(SE(1, lengthscale=9.0) + SE(2)) is new


def test_judging_changes_nothing_else_and_survives_copies(labelled):
    search = KernelSearch(depth=1, cv=2, random_state=0).fit(*labelled)
    length = len(search.history_)
    copied = pickle.loads(pickle.dumps(search))
    copied.judge(SE(0) + SE(2))
    # A seed belongs to the structure, whatever was judged before.
    assert copied.judge(SE(0) * SE(1)) == search.judge(SE(0) * SE(1))
    assert len(search.history_) == length
    with pytest.raises(NotFittedError, match="not fitted"):
        clone(search).judge(SE(0))


def test_a_number_is_judged_with_its_noise():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(60, 2))
    y = 50 + 10 * (X[:, 0] + np.sin(2 * X[:, 1])) + 2 * rng.normal(size=60)
    search = KernelSearch(depth=1, cv=3, random_state=0).fit(X, y)
    found = search.judge(SE(0) + SE(1))
    assert np.sqrt(found.noise_variance * y.var()) == pytest.approx(2.0, rel=0.3)
    by_hand = []
    for train, test in search.problem_.folds:
        model = GPRegressor(found.kernel, n_restarts=0).fit(X[train], y[train])
        by_hand.append(np.mean((model.predict(X[test]) - y[test]) ** 2) / y.var())
    np.testing.assert_allclose(found.fold_errors, by_hand, rtol=0.05)
    assert found.error < 0.3 * search.first_layer_[0].error


@pytest.mark.parametrize("step", ["measure_whole", "measure_folds"])
def test_a_fit_that_breaks_down_is_said(labelled, monkeypatch, step):
    search = KernelSearch(depth=1, cv=2, random_state=0).fit(*labelled)
    monkeypatch.setattr(f"parsimon.gp._beam.{step}", lambda *_: FailedFit("It broke."))
    found = search.judge(SE(0) * SE(1))
    assert found.judged_by == "failed"
    assert found.message == "It broke."
    assert np.isnan(found.error)
    assert found.columns == (0, 1)


def test_what_cannot_be_judged_is_refused(searched):
    with pytest.raises(InvalidInputError, match="Only a kernel can be judged, got str"):
        searched.judge("se")
    with pytest.raises(InvalidInputError, match="not positive semi-definite"):
        searched.judge(Epanechnikov(0))
    with pytest.raises(InvalidInputError, match="only 3 columns"):
        searched.judge(SE(7))


def test_what_a_fold_says_does_not_move_with_the_targets_that_it_is_tested_on():
    """With predictions p, the mean of (y + c - p)^2 and (y - c - p)^2 exceeds that of y by c^2."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(30, 1))
    folds = tuple((np.setdiff1d(np.arange(30), test), test) for test in np.split(np.arange(30), 3))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=30)
    whole = evaluation.WholeFit(SE(0), 0.0, 3, 0.0, 0.0, 0.0, 0.1, True)
    errors = []
    for shift in (-5.0, 0.0, 5.0):
        moved = y + shift * (np.arange(30) < 10)
        problem = evaluation.KernelProblem(X, moved, "regression", folds, refits=False)
        errors.append(evaluation.cross_validate(problem, whole).errors[0])
    assert errors[0] + errors[2] - 2 * errors[1] == pytest.approx(2 * 5.0**2)


def test_folds_keep_the_hyperparameters_of_all_rows_where_time_is_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=40)
    folds = ((np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20)))
    problem = evaluation.KernelProblem(X, y - y.mean(), "regression", folds)
    start, seed = evaluation.FitStart(), np.random.SeedSequence(0)
    whole = evaluation.fit_whole(problem, SE(0).start(X), start, seed)
    refitted = evaluation.cross_validate(problem, whole)
    kept = evaluation.cross_validate(replace(problem, refits=False), whole)
    late = evaluation.cross_validate(replace(problem, deadline=time.monotonic()), whole)
    assert late == kept
    assert late != refitted
