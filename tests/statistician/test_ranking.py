"""Curves and areas without outer folds: rows ranked with both rows of each pair left out."""

import numpy as np
import pytest
from scipy.stats import rankdata

from parsimon.gp import GPClassifier, fit_classifier
from parsimon.inference.likelihoods import positive_probability
from parsimon.inference.posterior import Latent
from parsimon.kernels import SquaredExponential
from parsimon.roc import auc
from parsimon.statistician.families.gp._kernel_result import (
    in_order_of,
    own_predictions,
    pair_wins,
)
from parsimon.statistician.measure import check_findings, front_models
from tests.statistician.questions import result_of, table


def brute_force(posterior):
    """Return wins by conditioning anew on the sites that are left, for each pair."""
    K = posterior.kernel.gram(posterior.prior.X)
    t, v = posterior.sites
    n = len(K)
    wins = np.zeros(n)
    for i in range(n):
        for j in set(range(n)) - {i}:
            left = np.array([row not in (i, j) for row in range(n)])
            S = np.linalg.inv(np.linalg.inv(K + 1e-10 * np.eye(n)) + np.diag(left * t))
            latent = Latent(S @ (left * v), np.diag(S))
            p = positive_probability(latent)
            wins[i] += 0.5 if abs(p[i] - p[j]) < 1e-6 else p[i] > p[j]
    return wins


def wins_of(posterior):
    F, Q = posterior.conditioned.basis()
    return pair_wins(posterior.mean, F @ Q @ F.T, posterior.sites)


def test_two_sites_are_taken_out_as_if_they_had_never_been_there():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(14, 2))
    y = np.where(X[:, 0] + rng.normal(size=14) > 0, 1.0, -1.0)
    posterior = fit_classifier(SquaredExponential(0) + SquaredExponential(1), X, y).posterior
    np.testing.assert_array_equal(wins_of(posterior), brute_force(posterior))


def test_rows_that_a_model_cannot_tell_apart_tie():
    X = np.array([0.0, 0, 0, 0, 1, 1, 1, 2, 2, 2])[:, None]
    y = np.array([0.0, 0, 1, 0, 1, 0, 1, 1, 1, 0])
    posterior = fit_classifier(SquaredExponential(0), X, 2 * y - 1, optimise=False).posterior
    wins = wins_of(posterior)
    for value in range(3):
        of_value = wins[X[:, 0] == value]
        same = of_value[y[X[:, 0] == value] == 1][0]
        np.testing.assert_array_equal(of_value[y[X[:, 0] == value] == 1], same)
    model = GPClassifier(SquaredExponential(0), optimise=False).fit(X, y)
    own = own_predictions(model, X, y, "classification")
    ranked = in_order_of(wins, own.value)
    np.testing.assert_array_equal(rankdata(own.ranking), rankdata(ranked))


def test_noise_has_an_area_of_one_half_on_average_and_not_less():
    areas = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(100, 1)), rng.integers(0, 2, 100).astype(float)
        model = GPClassifier(SquaredExponential(0, lengthscale=3.0), optimise=False).fit(X, y)
        own = own_predictions(model, X, y, "classification")
        areas.append((auc(y, own.value), auc(y, own.ranking)))
    one_out, pairs_out = np.mean(areas, axis=0)
    assert one_out < 0.4
    assert pairs_out == pytest.approx(0.5, abs=0.05)


def test_many_tied_rows_have_the_area_that_their_values_have():
    rng = np.random.default_rng(0)
    word = np.where(rng.random(600) < 0.7, 0.0, rng.integers(1, 4, 600))
    y = (rng.random(600) < np.array([0.25, 0.5, 0.75, 0.95])[word.astype(int)]).astype(float)
    subject = result_of(table({"word": word}), y, depth=1)
    # Such a model can rank by the word alone.
    expected = auc(y, word)
    found, front = check_findings(subject), front_models(subject)
    assert expected - 0.02 < found.roc.auc.estimate <= expected + 1e-12
    left_out = subject.model.leave_one_out().probability[:, 1]
    assert auc(y, left_out) < expected - 0.1
    assert front.front[front.chosen].roc.auc.estimate == found.roc.auc.estimate


def test_the_same_probabilities_stand_in_the_order_of_wins():
    ranked = in_order_of(np.array([2.5, 0.0, 2.5, 1.0]), np.array([0.1, 0.9, 0.3, 0.2]))
    np.testing.assert_allclose(ranked, [0.6, 0.1, 0.6, 0.2])
