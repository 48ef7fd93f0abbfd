"""What features of series are worth for new ones, and the chances that they give."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from parsimon.features.series import SeriesExtractor
from parsimon.features.series.series_model import chances, fit_chances, fold_outputs, kept_share
from parsimon.features.series.tree_search import Targets


def test_true_chances_stay_as_they_are_and_bold_ones_are_mended():
    rng = np.random.default_rng(0)
    true = rng.dirichlet((1.0, 1.0, 1.0), size=3000)
    codes = np.array([rng.choice(3, p=each) for each in true])
    floor, power = fit_chances(true, codes)
    assert floor <= 0.01
    assert 0.8 < power < 1.25
    bold = chances(true, 1e-9, 2.0)
    floor, power = fit_chances(bold, codes)
    assert power == pytest.approx(0.5, abs=0.1)
    np.testing.assert_allclose(chances(true, floor, 1.0).sum(axis=1), 1.0)


def test_the_share_kept_is_that_of_least_squares():
    rng = np.random.default_rng(1)
    said, truth = rng.normal(size=(2, 40, 2))
    truth = 0.3 * said + 0.1 * truth
    tried = np.linspace(0, 1, 1001)
    errors = [((truth - share * said) ** 2).sum() for share in tried]
    assert kept_share(said, truth) == pytest.approx(tried[int(np.argmin(errors))], abs=1e-3)
    assert kept_share(said, 0.9 * said) == 1.0
    assert kept_share(said, -said) == 0.0


def test_noise_has_no_trust_and_every_series_the_shares_of_the_classes():
    rng = np.random.default_rng(7)
    trusted = 0
    for n in (30, 40, 50, 60):
        X, y = rng.normal(size=(n, 32)).cumsum(axis=1), rng.integers(0, 2, size=n)
        search = SeriesExtractor(max_features=5, max_iter=0, random_state=0).fit(X, y)
        trusted += search.trust_ > 0
        if search.trust_ == 0:
            shares = np.bincount(y) / n
            np.testing.assert_allclose(search.predict_proba(X), np.tile(shares, (n, 1)))
    assert trusted <= 1


def test_chances_of_a_weak_signal_are_better_than_guesses_and_not_bold():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(400, 24)), rng.integers(0, 2, size=400)
    X[y == 1, 6:12] += 0.5
    search = SeriesExtractor(max_features=5, max_iter=0, random_state=0).fit(X[:150], y[:150])
    assert search.trust_ > 0
    told = search.predict_proba(X[150:])
    assert log_loss(y[150:], told) < 0.95 * np.log(2)
    odds = np.log(told[:, 1] / told[:, 0])
    slopes = np.linspace(0.2, 3.0, 57)
    losses = [np.logaddexp(0, -(2 * y[150:] - 1) * slope * odds).mean() for slope in slopes]
    assert 0.5 < slopes[int(np.argmin(losses))] < 2.0


def test_features_of_a_fold_are_chosen_without_its_rows():
    """Of hundreds of columns of noise the best fit all rows; rows outside must not gain by it."""
    rng = np.random.default_rng(2)
    agreement = []
    for _ in range(12):
        Z, codes = rng.normal(size=(40, 400)), np.arange(40) % 2
        targets = Targets.of_classes(codes)
        said, middle, rows = fold_outputs(Z, targets, 5)
        agreement.append(np.corrcoef((said - middle)[:, 0], targets.T[rows, 0])[0, 1])
    assert abs(np.mean(agreement)) < 0.15
