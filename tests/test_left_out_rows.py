"""Figures of rows left out without a refit: on labels without cause they stay at chance.

Each model here has learnt its own rows nearly by heart, so that a row that is let in shows.
"""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from parsimon.bpm import BayesPointClassifier
from parsimon.gp import GPClassifier, GPRegressor, KernelSearch
from parsimon.kernels import SquaredExponential as SE
from parsimon.structures._evidence import fit_structure, predicted_densities
from parsimon.svm import ParetoSVC

ROUGH = SE(lengthscale=0.3, variance=100.0)


def tables(n=60, d=2, n_tables=3):
    rng = np.random.default_rng(0)
    return [(rng.normal(size=(n, d)), rng.permutation(n) % 2) for _ in range(n_tables)]


@pytest.mark.parametrize("options", [{}, {"inference": "laplace"}])
def test_left_out_probabilities_of_a_gaussian_process_are_at_chance(options):
    errors = []
    for X, y in tables():
        model = GPClassifier(ROUGH, optimise=False, **options).fit(X, y)
        assert model.score(X, y) > 0.9
        left = model.leave_one_out()
        errors.append(left.error)
        # Surer than it should be, it loses more than a guess.
        assert left.log_loss > np.log(2)
        own = left.probability[np.arange(60), y]
        assert left.log_loss == pytest.approx(-np.log(own).mean())
        assert left.error == np.mean(own < 0.5)
    # Three standard errors of a share of 180 rows.
    assert np.mean(errors) == pytest.approx(0.5, abs=0.112)


def test_left_out_probabilities_of_several_classes_are_at_chance():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 2)), rng.permutation(60) % 3
    model = GPClassifier(ROUGH, optimise=False, multi_class="softmax").fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.leave_one_out().error == pytest.approx(2 / 3, abs=0.18)


def test_left_out_targets_of_noise_are_missed_by_its_spread():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    model = GPRegressor(ROUGH, noise=0.1, optimise=False).fit(X, y)
    assert np.std(y - model.predict(X)) < 0.3
    assert model.leave_one_out().error > 0.95 * y.std()


def test_folds_of_a_kernel_search_are_at_chance():
    errors = []
    for X, y in tables(n_tables=2):
        search = KernelSearch(depth=1, cv=2, random_state=0).fit(X, y)
        errors.append(search.judge(ROUGH).error)
    assert np.mean(errors) == pytest.approx(0.5, abs=0.137)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_left_out_figures_of_a_bayes_point_are_at_chance(kernel):
    errors, losses, seen = [], [], []
    for X, y in tables(n=40, d=8):
        model = BayesPointClassifier(kernel, noise_sd=0.1).fit(X, y)
        errors.append(model.loo_error_)
        losses.append(model.loo_log_loss_)
        seen.append(log_loss(y, model.predict_proba(X)))
    assert np.mean(errors) > 0.5 - 0.137
    assert np.mean(losses) > np.log(2)
    assert np.mean(seen) < np.log(2) - 0.05


@pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning")
def test_machines_of_a_front_are_at_chance_on_rows_held_out():
    errors = []
    for X, y in tables(n=80):
        search = ParetoSVC(max_iter=30, random_state=0).fit(X, y)
        frame = search.to_frame()
        narrow = frame["training_error"].argmin()
        assert frame["training_error"].iloc[narrow] < 0.35
        errors.append(frame["holdout_error"].iloc[narrow])
        assert search.n_holdout_ >= 14
    # Three standard errors of a share of about 48 rows.
    assert np.mean(errors) == pytest.approx(0.5, abs=0.22)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_rows_left_out_are_no_more_probable_with_blocks_of_noise(task):
    rng = np.random.default_rng(3)
    gains = []
    for _ in range(4):
        blocks = {place: rng.normal(size=(60, 6)) for place in range(2)}
        y = rng.permutation(60) % 2.0 if task == "classification" else rng.normal(size=60)
        fits = [(one, fit_structure(one, y, task)) for one in ({}, blocks)]
        without, with_blocks = (predicted_densities(fit, one, y, task).sum() for one, fit in fits)
        gains.append(with_blocks - without)
    assert np.mean(gains) < 0.0
