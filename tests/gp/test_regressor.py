"""GPRegressor: against scikit-learn, brute force and its own definition."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from parsimon.exceptions import InvalidInputError
from parsimon.gp import GPRegressor
from parsimon.kernels import SquaredExponential as SE


@pytest.fixture(scope="module")
def wave():
    rng = np.random.default_rng(5)
    X = rng.uniform(-3, 3, size=(70, 2))
    y = 50 + 10 * np.sin(2 * X[:, 0]) + 3 * X[:, 1] + rng.normal(size=70)
    X.flags.writeable = False
    return X, y


def test_held_hyperparameters_agree_with_scikit_learn(wave):
    X, y = wave
    model = GPRegressor(
        SE(lengthscale=1.2, variance=90.0), noise=1.5, normalise_y=False, optimise=False
    ).fit(X, y)
    kernel = ConstantKernel(90.0) * RBF(1.2)
    peer = GaussianProcessRegressor(kernel, alpha=1.5, optimizer=None).fit(X, y)
    new = np.array([[0.0, 0.0], [5.0, 1.0]])
    mean, sd = model.predict(new, return_std=True)
    their_mean, their_sd = peer.predict(new, return_std=True)
    np.testing.assert_allclose(mean, their_mean, rtol=1e-6)
    np.testing.assert_allclose(sd, their_sd, rtol=1e-6)
    covariance = model.predict(new, return_cov=True)[1]
    np.testing.assert_allclose(covariance, peer.predict(new, return_cov=True)[1], atol=1e-6)
    assert model.log_evidence_ == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-5)


def test_fitted_hyperparameters_agree_with_scikit_learn(wave):
    X, y = wave
    model = GPRegressor(SE(), normalise_y=False, random_state=0).fit(X, y - y.mean())
    kernel = ConstantKernel(100.0, (1e-2, 1e5)) * RBF(1.0) + WhiteKernel(1.0)
    peer = GaussianProcessRegressor(kernel, alpha=0).fit(X, y - y.mean())
    assert model.log_evidence_ == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-3)
    assert model.noise_variance_ == pytest.approx(peer.kernel_.k2.noise_level, rel=1e-2)


def test_the_evidence_is_that_of_y_in_its_own_units(wave):
    X, y = wave
    centred = (y - y.mean()) / y.std()
    raw = GPRegressor(n_restarts=0).fit(X, y)
    scaled = GPRegressor(n_restarts=0).fit(X, centred)
    assert raw.log_evidence_ == pytest.approx(scaled.log_evidence_ - 70 * np.log(y.std()))
    assert raw.noise_variance_ == pytest.approx(scaled.noise_variance_ * y.var(), rel=1e-4)
    np.testing.assert_allclose(raw.predict(X), y.mean() + y.std() * scaled.predict(X), rtol=1e-5)


def test_noise_is_added_on_request(wave):
    model = GPRegressor(noise=2.0, n_restarts=0).fit(*wave)
    assert model.noise_variance_ == pytest.approx(2.0)
    new = np.zeros((3, 2))
    plain, noisy = (
        model.predict(new, return_std=True, include_noise=noise)[1] for noise in (False, True)
    )
    np.testing.assert_allclose(noisy**2 - plain**2, 2.0)
    covariance = model.predict(new, return_cov=True, include_noise=True)[1]
    np.testing.assert_allclose(np.diag(covariance), noisy**2)


def test_leave_one_out_is_exact(wave):
    X, y = wave
    options = {"noise": 1.0, "normalise_y": False, "optimise": False}
    kernel = SE(0, variance=100.0) + SE(1, lengthscale=3.0, variance=50.0)
    left = GPRegressor(kernel, **options).fit(X, y).leave_one_out()
    for i in (0, 33, 69):
        without = GPRegressor(kernel, **options).fit(np.delete(X, i, axis=0), np.delete(y, i))
        mean, sd = without.predict(X[[i]], return_std=True, include_noise=True)
        assert left.mean[i] == pytest.approx(mean[0], rel=1e-6)
        assert left.sd[i] == pytest.approx(sd[0], rel=1e-6)
    assert left.error == pytest.approx(np.sqrt(np.mean((y - left.mean) ** 2)))
    z = (y - left.mean) / left.sd
    expected = np.mean(-0.5 * z**2 - np.log(left.sd) - 0.5 * np.log(2 * np.pi))
    assert left.log_density == pytest.approx(expected)


def test_leaving_out_one_of_two_equal_rows_is_exact(wave):
    X, y = np.vstack([wave[0], wave[0][:5]]), np.append(wave[1], wave[1][:5])
    options = {"noise": 1.0, "normalise_y": False, "optimise": False}
    left = GPRegressor(SE(variance=100.0), **options).fit(X, y).leave_one_out()
    without = GPRegressor(SE(variance=100.0), **options).fit(X[1:], y[1:])
    assert left.mean[0] == pytest.approx(without.predict(X[:1])[0], rel=1e-6)


def test_integer_weights_equal_repeated_rows(wave):
    X, y = wave
    weights = np.random.default_rng(0).integers(0, 4, size=len(y))
    weighted = GPRegressor(n_restarts=0).fit(X, y, sample_weight=weights)
    repeated = GPRegressor(n_restarts=0).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-8)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)
    unused = weights == 0
    np.testing.assert_allclose(weighted.leave_one_out().mean[unused], weighted.predict(X[unused]))


def test_components_add_up_and_are_exact(wave):
    X, y = wave
    frame = pd.DataFrame(X, columns=["angle", "slope"])
    parts = SE(0), SE(1, lengthscale=3.0)
    model = GPRegressor(parts[0] + parts[1], noise=1.0, optimise=False).fit(frame, y)
    found = model.components(frame)
    assert [part.name for part in found] == ["SE(angle)", "SE(slope)"]
    np.testing.assert_allclose(y.mean() + found[0].mean + found[1].mean, model.predict(frame))
    noise = np.eye(70) / y.var()
    gain = parts[1].gram(X) @ np.linalg.inv(parts[0].gram(X) + parts[1].gram(X) + noise)
    np.testing.assert_allclose(found[1].mean, gain @ (y - y.mean()), atol=1e-4)
    variance = y.var() * np.diag(parts[1].gram(X) - gain @ parts[1].gram(X))
    np.testing.assert_allclose(found[1].sd, np.sqrt(variance), rtol=1e-4)


def test_dense_and_low_rank_agree(wave):
    X = np.linspace(0, 10, 300)[:, None]
    y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=300)
    low, dense = (GPRegressor(n_restarts=0, form=form).fit(X, y) for form in ("auto", "dense"))
    assert low.form_.startswith("low rank")
    assert dense.form_ == "dense"
    assert abs(low.log_evidence_ - dense.log_evidence_) / 300 < 1e-6


def test_constant_targets_are_predicted(wave):
    model = GPRegressor(n_restarts=0).fit(wave[0], np.full(70, 3.0))
    np.testing.assert_allclose(model.predict(np.zeros((2, 2))), 3.0)


def test_a_fit_cut_short_warns(wave):
    with pytest.warns(ConvergenceWarning, match="Raise max_iter or time_limit"):
        GPRegressor(max_iter=1, n_restarts=0).fit(*wave)
    with pytest.warns(ConvergenceWarning, match="time limit was reached"):
        GPRegressor(time_limit=1e-6, n_restarts=0).fit(*wave)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": 0.0}, "noise must be a positive variance"),
        ({"noise": "none"}, "noise must be a positive variance"),
        ({"normalise_y": "yes"}, "normalise_y must be True or False"),
        ({"optimise": 2}, "optimise must be True or False"),
        ({"form": "sparse"}, 'form must be "auto" or'),
        ({"n_restarts": 0.5}, "n_restarts must be an integer"),
        ({"max_iter": 0}, "max_iter must be an integer"),
        ({"time_limit": -1}, "time_limit must be None or positive"),
        ({"kernel": "cubic"}, "kernel must be a parsimon kernel or one of"),
    ],
)
def test_wrong_options_are_refused(wave, options, message):
    with pytest.raises(InvalidInputError, match=message):
        GPRegressor(**options).fit(*wave)


def test_both_kinds_of_spread_cannot_be_asked_for(wave):
    model = GPRegressor(optimise=False).fit(*wave)
    with pytest.raises(InvalidInputError, match="return_std and return_cov were both"):
        model.predict(wave[0], return_std=True, return_cov=True)


def test_nearly_no_noise_costs_no_digits():
    """With shift - precision * mean the weights were rounding errors, and predictions too."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(40, 2)), rng.normal(size=(200, 2))
    kernel = (SE(0) * SE(1)).start(X)
    for form in ("dense", "low_rank"):
        model = GPRegressor(kernel, form=form, random_state=0).fit(X, X[:, 0] * X[:, 1])
        residual = model.predict(new) - new[:, 0] * new[:, 1]
        assert model.noise_variance_ < 1e-5
        assert np.mean(residual**2) < 1e-3 * np.var(new[:, 0] * new[:, 1])
