"""What `RVC()` and `RVR()` do without a width: noise is not fitted, units do not matter, and
probabilities hold on new rows."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from parsimon.inference.likelihoods import positive_probability
from parsimon.inference.posterior import Latent
from parsimon.kernels import Laplacian, SquaredExponential
from parsimon.rvm import RVC, RVR
from parsimon.rvm._automatic import deal_out, deal_rows, shared_weights
from parsimon.rvm._calibration import Calibration, fit_calibration
from parsimon.rvm._classes import averaged_log_odds
from parsimon.rvm._machine import FarVariance


def rings(n, seed):
    """A class inside the other, three columns of which one is noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    radius = np.hypot(X[:, 0], X[:, 1])
    return X, (rng.random(n) < expit(4.0 * (radius - 1.2))).astype(int)


@pytest.fixture(scope="module")
def noise():
    rng = np.random.default_rng(3)
    return rng.normal(size=(200, 20)), (rng.random(200) < 0.3).astype(int)


def test_pure_noise_gets_the_class_frequencies(noise):
    X, y = noise
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RVC().fit(X, y)
        found = model.predict_proba(100.0 * X)
    assert len(model.relevance_) == 0
    assert model.relevance_vectors_.shape == (0, 20)
    assert model.calibration_.slope == 0.0
    np.testing.assert_allclose(found, np.tile([1 - y.mean(), y.mean()], (200, 1)), rtol=1e-12)
    assert (model.predict(X) == 0).all()
    mean, sd = model.latent(X, return_std=True)
    assert np.ptp(mean) == 0.0
    assert np.isfinite(sd).all()


def test_noise_of_three_classes_gets_their_frequencies():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.permutation(np.repeat([0, 1, 2], [30, 20, 10]))
    model = RVC().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X[:2]), [[1 / 2, 1 / 3, 1 / 6]] * 2, rtol=1e-12)
    assert model.decision_function(X).shape == (60, 3)
    assert (model.predict(X) == 0).all()


def test_noise_in_regression_gets_the_mean():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 8)), 5.0 + rng.normal(size=100)
    model = RVR().fit(X, y)
    assert len(model.relevance_) == 0
    mean, sd = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, y.mean())
    np.testing.assert_allclose(sd, y.std(), rtol=0.05)


UNITS = np.array([1e-5, 1.0, 3e4])


def test_units_of_the_columns_do_not_matter_to_classes():
    X, y = rings(150, 0)
    new, truth = rings(1000, 1)
    plain, other = RVC().fit(X, y), RVC().fit(X * UNITS + 7 * UNITS, y)
    expected = plain.predict_proba(new)
    np.testing.assert_allclose(other.predict_proba(new * UNITS + 7 * UNITS), expected, atol=1e-4)
    np.testing.assert_array_equal(other.relevance_, plain.relevance_)
    np.testing.assert_allclose(other.relevance_vectors_, (X * UNITS + 7 * UNITS)[other.relevance_])
    frequencies = np.tile([1 - y.mean(), y.mean()], (1000, 1))
    assert log_loss(truth, expected) < log_loss(truth, frequencies) - 0.1
    assert plain.score(new, truth) > RVC(gamma="scale").fit(X * UNITS, y).score(new * UNITS, truth)


def test_units_of_the_columns_do_not_matter_to_numbers():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(120, 3)), rng.normal(size=(500, 3))
    y = np.sin(1.5 * X[:, 0]) + X[:, 2] + 0.2 * rng.normal(size=120)
    truth = np.sin(1.5 * new[:, 0]) + new[:, 2]
    model = RVR().fit(X * UNITS, y)
    assert model.score(new * UNITS, truth) > 0.9
    assert RVR(gamma="scale").fit(X * UNITS, y).score(new * UNITS, truth) < 0.9
    assert model.kernel_.lengthscale == pytest.approx(RVR().fit(X, y).kernel_.lengthscale * UNITS)


def test_breast_cancer_in_its_own_units():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:300], order[300:]
    model = RVC().fit(X[train], y[train])
    loss = log_loss(y[test], model.predict_proba(X[test]))
    assert loss < 0.13
    assert len(model.relevance_) < 20


def test_the_default_is_as_accurate_as_the_scale_on_a_curved_border():
    scores = []
    for seed in range(3):
        X, y = rings(100, seed)
        new, truth = rings(2000, 100 + seed)
        X, new = X[:, :2], new[:, :2]
        given = RVC(gamma="scale").fit(X, y).score(new, truth)
        scores.append((RVC().fit(X, y).score(new, truth), given))
    default, given = np.mean(scores, axis=0)
    assert default > given - 0.01


def test_held_out_log_odds_have_a_slope_near_one():
    rng = np.random.default_rng(1)
    X, new = rng.normal(size=(250, 5)), rng.normal(size=(4000, 5))
    latent = [1.5 * each[:, 0] - each[:, 1] * each[:, 2] for each in (X, new)]
    y, truth = (rng.random(len(each)) < expit(each) for each in latent)
    model = RVC().fit(X, y)
    odds = model.decision_function(new)
    slope = LogisticRegression(C=np.inf).fit(odds[:, None], truth).coef_[0, 0]
    assert 0.7 < slope < 1.4
    given = RVC(gamma=1.0).fit(X, y).decision_function(new)
    overconfident = LogisticRegression(C=np.inf).fit(given[:, None], truth).coef_[0, 0]
    assert abs(np.log(slope)) < abs(np.log(max(overconfident, 1e-9)))
    np.testing.assert_allclose(expit(odds), model.predict_proba(new)[:, 1])
    np.testing.assert_array_equal(model.predict(new), odds > 0)


def test_several_classes_share_a_calibrated_model():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    model = RVC().fit(X[order[:75]], y[order[:75]])
    found = model.predict_proba(X[order[75:]])
    assert log_loss(y[order[75:]], found) < 0.25
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    np.testing.assert_allclose(np.exp(model.decision_function(X)), model.predict_proba(X))
    assert model.calibration_.shift.shape == (3,)


def straight(n, seed):
    """Return columns in units of their own, far from zero, and a sum of two of them."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, 5)) + 20.0) * [1.0, 1e4, 1e-3, 1.0, 1.0]
    return X, X[:, 0] - 20.0 + 2e3 * (X[:, 2] - 0.02), rng


def test_the_columns_themselves_are_chosen_where_the_truth_is_a_straight_line():
    X, truth, rng = straight(200, 0)
    model = RVC().fit(X, truth + 0.5 * rng.logistic(size=200) > 0)
    assert model.kernel_ == "features"
    assert set(model.relevance_) >= {0, 2}
    assert model.relevance_vectors_.shape == (0, 5)
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.latent(X), rtol=1e-8)
    assert not model.coef_[np.setdiff1d(np.arange(5), model.relevance_)].any()


def test_columns_of_a_number_are_weighted_in_their_own_units():
    X, truth, rng = straight(150, 1)
    model = RVR().fit(X, 7.0 + truth + 0.1 * rng.normal(size=150))
    assert model.kernel_ == "features"
    np.testing.assert_allclose(model.coef_[[0, 2]], [1.0, 2e3], rtol=0.05)
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.predict(X), rtol=1e-8)


def test_given_centres_ask_for_a_kernel():
    X, truth, _ = straight(40, 2)
    model = RVC(centres=20, random_state=0).fit(X, truth > 0)
    names = {candidate[0] for candidate in model.candidates_}
    assert names == {"constant", "rbf", "laplacian", "rbf unscaled"}


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_a_named_kernel_is_the_only_one_compared(name):
    X, y = rings(40, 0)
    model = RVC(name).fit(X, y)
    assert {candidate[0] for candidate in model.candidates_} == {"constant", name}
    given = RVC(name, gamma=0.5).fit(X, y)
    assert given.calibration_ is None
    assert not hasattr(given, "candidates_")


def test_a_few_rows_are_fitted_without_a_choice():
    model = RVC().fit([[0.0], [1.0], [5.0]], ["a", "a", "b"])
    assert model.candidates_ == ()
    assert model.calibration_ is None
    assert isinstance(model.kernel_, SquaredExponential)


def test_centres_are_kept_in_the_units_of_the_table():
    X, y = rings(80, 0)
    centres = X[:10] * UNITS
    model = RVC("laplacian", centres=centres).fit(X * UNITS, y)
    assert isinstance(model.kernel_, Laplacian)
    np.testing.assert_array_equal(model.relevance_vectors_, centres[model.relevance_])
    some = RVC(centres=12, random_state=0).fit(X * UNITS, y)
    np.testing.assert_array_equal(some.relevance_vectors_, (X * UNITS)[some.relevance_])


def test_a_pickle_has_no_training_rows_and_nearly_their_variance(monkeypatch):
    X, y = rings(500, 0)
    new, _ = rings(300, 1)
    plain = RVC(gamma=0.5).fit(X, y)
    monkeypatch.setattr(FarVariance, "summary", lambda whole, *_, **__: whole)
    kept = RVC(gamma=0.5).fit(X, y)
    assert len(pickle.dumps(plain)) < 20_000 < len(pickle.dumps(kept))
    assert X[-1].tobytes() not in pickle.dumps(plain) or 499 in plain.relevance_
    apart = np.abs(plain.predict_proba(new) - kept.predict_proba(new))
    assert apart.mean() < 0.005
    assert apart.max() < 0.06
    far = np.full((1, 3), 1e3)
    np.testing.assert_allclose(
        plain.latent(far, return_std=True)[1], kept.latent(far, return_std=True)[1], rtol=1e-6
    )


def test_fast_log_odds_are_those_of_the_integral():
    mean, variance = np.meshgrid(np.linspace(-20, 20, 41), np.r_[0.0, np.geomspace(1e-3, 1e4, 15)])
    found = averaged_log_odds(mean, variance)
    less = positive_probability(Latent(-np.abs(mean), variance), link="logit")
    np.testing.assert_allclose(np.abs(found), np.log1p(-less) - np.log(less), atol=3e-4)
    np.testing.assert_array_equal(np.sign(found), np.sign(mean))


def test_held_out_parts_are_all_of_the_weight_once():
    groups = np.repeat([0, 1], [17, 8])
    weights = np.ones(25)
    weights[3], weights[20] = 7.0, 2.5
    parts = deal_out(groups, weights)
    np.testing.assert_allclose(np.bincount(parts.rows, parts.weights), weights)
    assert parts.n_folds == 5
    for fold in range(5):
        held = parts.rows[parts.folds == fold]
        assert set(groups[held]) == {0, 1}
    # Seven copies are in every fold; a weight that is no count stays whole.
    assert (parts.rows == 3).sum() == 5
    assert (parts.rows == 20).sum() == 1
    assert deal_out(np.array([0, 0, 1]), np.ones(3)).n_folds == 0


@pytest.mark.parametrize("trust", [0.0, 1.0])
def test_calibration_finds_the_slope_shift_and_trust_that_were_there(trust):
    rng = np.random.default_rng(0)
    latent = np.column_stack([6.0 * rng.normal(size=4000), rng.exponential(30.0, size=4000)])
    score = latent[:, 0] / np.sqrt(1.0 + trust * np.pi / 8.0 * latent[:, 1])
    codes = (rng.random(4000) < expit(0.5 * score - 1.0)).astype(int)
    found = fit_calibration(latent, codes, np.ones(4000))
    assert found.trust == trust
    assert found.slope == pytest.approx(0.5, abs=0.06)
    assert found.shift == pytest.approx([-1.0], abs=0.15)
    given = Calibration(1.0, np.zeros(1), trust)
    assert found.losses(latent, codes).mean() < given.losses(latent, codes).mean()


def test_classes_that_are_told_apart_without_error_get_no_endless_slope():
    mean = np.linspace(-2.0, 2.0, 40)
    latent = np.column_stack([mean, np.zeros(40)])
    found = fit_calibration(latent, (mean > 0).astype(int), np.ones(40))
    share = expit(found.scores(latent)[:, 0])
    assert share.max() < 1.0 - 1.0 / 200
    assert share.min() > 1.0 / 200


def test_columns_of_one_unit_may_stay_as_they_are():
    # Many columns that hardly vary drown two that say all, once each is given the same deviation.
    rng = np.random.default_rng(0)
    X = np.hstack([rng.standard_normal((150, 2)), 0.05 * rng.standard_normal((150, 30))])
    y = np.hypot(*X[:, :2].T) > 1.2
    model = RVC().fit(X, y)
    assert min(model.candidates_, key=lambda tried: tried[2])[0] == "rbf unscaled"
    lengthscale = model.kernel_.lengthscale
    np.testing.assert_allclose(lengthscale, lengthscale[0])
    new = np.hstack([rng.standard_normal((500, 2)), 0.05 * rng.standard_normal((500, 30))])
    assert model.score(new, np.hypot(*new[:, :2].T) > 1.2) > 0.85


def test_columns_of_about_one_deviation_are_not_tried_twice():
    X = np.random.default_rng(0).standard_normal((40, 2))
    assert all(tried[0] != "rbf unscaled" for tried in RVC().fit(X, X[:, 0] > 0).candidates_)


def test_few_rows_are_dealt_out_several_times():
    assert [len(deal_rows(np.arange(n) % 2, np.ones(n))) for n in (200, 201)] == [3, 1]
    first, second, _ = deal_rows(np.arange(100) % 2, np.ones(100))
    assert not np.array_equal(first.rows, second.rows)
    np.testing.assert_allclose(shared_weights((first, second)).sum(), 100.0)
