"""RVR: noise, evidence, units, weights, kernels, standard deviations, saving, errors."""

import pickle

import numpy as np
import pytest
import skops.io
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.exceptions import InvalidInputError
from parsimon.kernels import Epanechnikov, Multiquadric, MultiResolution
from parsimon.kernels import SquaredExponential as SE
from parsimon.rvm import RVR


def sinc(x):
    return np.sinc(x / np.pi)


@pytest.fixture(scope="module")
def noisy():
    """Tipping's (2001) example: sinc on [-10, 10] with noise of standard deviation 0.1."""
    rng = np.random.default_rng(1)
    X = np.linspace(-10, 10, 100)[:, None]
    y = sinc(X[:, 0]) + 0.1 * rng.normal(size=100)
    X.flags.writeable = y.flags.writeable = False
    return X, y


@pytest.fixture(scope="module")
def fitted(noisy):
    return RVR(gamma=1 / 9).fit(*noisy)


def test_few_functions_find_sinc_and_its_noise(noisy, fitted):
    X, _ = noisy
    assert len(fitted.relevance_) <= 12
    assert 0.08 < np.sqrt(fitted.noise_variance_) < 0.12
    assert np.sqrt(np.mean((fitted.predict(X) - sinc(X[:, 0])) ** 2)) < 0.05
    assert fitted.converged_


def test_attributes_rebuild_the_prediction(noisy, fitted):
    X, _ = noisy
    np.testing.assert_array_equal(fitted.relevance_vectors_, X[fitted.relevance_])
    by_hand = rbf_kernel(X, fitted.relevance_vectors_, gamma=1 / 9) @ fitted.coef_
    np.testing.assert_allclose(fitted.predict(X), by_hand + fitted.intercept_, atol=1e-9)


def test_the_evidence_is_the_density_of_the_targets(noisy):
    X, y = noisy
    model = RVR(gamma=1 / 9, bias=False).fit(X, y)
    design = model.basis_.design(X)
    covariance = model.noise_variance_ * np.eye(100) + design / model.alpha_ @ design.T
    exact = multivariate_normal(np.zeros(100), covariance).logpdf(y)
    assert model.log_evidence_ == pytest.approx(exact, abs=1e-6)
    smoother = design @ np.linalg.solve(
        design.T @ design + model.noise_variance_ * np.diag(model.alpha_), design.T
    )
    assert model.degrees_of_freedom_ == pytest.approx(np.trace(smoother), rel=1e-6)


@pytest.mark.parametrize(("shift", "unit"), [(0.0, 1e-9), (1e6, 1.0), (0.0, 1e150), (-3.0, 20.0)])
def test_units_of_the_target_change_nothing_but_the_units(noisy, fitted, shift, unit):
    X, y = noisy
    moved = RVR(gamma=1 / 9).fit(X, shift + unit * y)
    tol = 1e-3 if shift > 1e3 else 1e-6
    mean, sd = fitted.predict(X, return_std=True)
    new_mean, new_sd = moved.predict(X, return_std=True)
    np.testing.assert_allclose((new_mean - shift) / unit, mean, atol=tol)
    np.testing.assert_allclose(new_sd / unit, sd, rtol=tol)
    assert moved.log_evidence_ == pytest.approx(fitted.log_evidence_ - 100 * np.log(unit), abs=0.01)


def test_standard_deviations_include_the_noise_and_grow_away_from_the_data(noisy, fitted):
    X, y = noisy
    new = np.array([[0.0], [4.2], [60.0]])
    mean, sd = fitted.predict(new, return_std=True)
    latent_mean, latent_sd = fitted.latent(new, return_std=True)
    np.testing.assert_array_equal(mean, latent_mean)
    np.testing.assert_array_equal(mean, fitted.predict(new))
    np.testing.assert_allclose(sd**2, latent_sd**2 + fitted.noise_variance_, rtol=1e-9)
    assert latent_sd[2] > 2 * latent_sd[:2].max()
    plain = RVR(gamma=1 / 9, far_variance=False).fit(X, y)
    assert plain.latent(new, return_std=True)[1][2] < latent_sd[2] / 2
    inside = (
        np.abs(sinc(X[:, 0]) + 0.0 - fitted.predict(X)) < 2 * fitted.latent(X, return_std=True)[1]
    )
    assert inside.mean() > 0.8


def test_integer_weights_equal_repeated_rows(noisy, rng):
    X, y = noisy[0][::2], noisy[1][::2]
    weights = rng.integers(0, 4, size=50)
    weighted = RVR("rbf").fit(X, y, sample_weight=weights)
    order = rng.permutation(weights.sum())
    repeated = RVR("rbf").fit(np.repeat(X, weights, axis=0)[order], np.repeat(y, weights)[order])
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-10)
    assert weighted.noise_variance_ == pytest.approx(repeated.noise_variance_, rel=1e-10)
    np.testing.assert_allclose(
        np.transpose(weighted.predict(X, return_std=True)),
        np.transpose(repeated.predict(X, return_std=True)),
        rtol=1e-8,
        atol=1e-12,
    )
    assert abs(RVR("rbf").fit(X, y).predict(X) - weighted.predict(X)).max() > 0.01


def test_the_noise_may_be_held(noisy):
    X, y = noisy
    model = RVR(gamma=1 / 9, noise=0.25).fit(X, y)
    assert model.noise_variance_ == pytest.approx(0.25)
    assert model.degrees_of_freedom_ < RVR(gamma=1 / 9).fit(X, y).degrees_of_freedom_
    estimated = [
        RVR(gamma=1 / 9, noise=noise).fit(X, y).noise_variance_ for noise in (None, "estimate")
    ]
    assert estimated[0] == estimated[1] < 0.02


@pytest.mark.parametrize(
    "kernel",
    [
        SE(lengthscale=2.0),
        Epanechnikov(width=20.0),
        Multiquadric(),
        MultiResolution(4.0),
        lambda A, B: 1 / (1 + (A - B.T) ** 2),
    ],
    ids=["se", "epanechnikov", "multiquadric", "resolutions", "callable"],
)
def test_any_kernel_will_do_definite_or_not(noisy, kernel):
    X, _ = noisy
    model = RVR(kernel).fit(*noisy)
    assert np.sqrt(np.mean((model.predict(X) - sinc(X[:, 0])) ** 2)) < 0.08
    assert np.isfinite(model.predict(X, return_std=True)).all()


def test_features_are_selected(rng):
    X = rng.normal(size=(80, 25))
    y = 3.0 + 2.0 * X[:, 3] - X[:, 11] + 0.1 * rng.normal(size=80)
    model = RVR("features").fit(X, y)
    assert {3, 11} <= set(model.relevance_)
    assert len(model.relevance_) < 10
    assert model.coef_[3] == pytest.approx(2.0, abs=0.1)
    assert model.intercept_ == pytest.approx(3.0, abs=0.1)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)


def test_precomputed_similarities_are_the_kernel(noisy, fitted):
    X, y = noisy
    new = np.array([[0.5], [3.3]])
    # The same bits: another rounding may lead to another maximum of the evidence.
    kernel = fitted.kernel_
    given = RVR("precomputed").fit(kernel.gram(X), y)
    np.testing.assert_allclose(given.predict(kernel.gram(new, X)), fitted.predict(new), atol=1e-10)


@pytest.mark.parametrize("algorithm", ["em", "variational"])
def test_the_other_algorithms_give_the_same_picture(noisy, fitted, algorithm):
    X, y = noisy
    model = RVR(gamma=1 / 9, algorithm=algorithm).fit(X, y)
    assert abs(model.predict(X) - fitted.predict(X)).max() < 0.06
    assert model.noise_variance_ == pytest.approx(fitted.noise_variance_, rel=0.15)


def test_the_smooth_prior_is_smoother(noisy):
    X, y = noisy
    narrow = {"gamma": 4.0}
    dof = [
        RVR(smoothness=smoothness, **narrow).fit(X, y).degrees_of_freedom_
        for smoothness in (0.1, "bic")
    ]
    assert dof[1] < dof[0]
    assert dof[1] < RVR(**narrow).fit(X, y).degrees_of_freedom_


def test_the_width_is_chosen_by_evidence(noisy):
    X, y = noisy
    chosen = RVR(gamma="evidence", random_state=0).fit(X, y)
    others = [RVR(gamma=gamma).fit(X, y).log_evidence_ for gamma in (0.01, 0.1, 1.0, 10.0)]
    assert chosen.log_evidence_ > max(others) - 0.05


def test_inputs_that_do_not_matter_are_found(rng):
    X = rng.uniform(-2, 2, size=(100, 3)) * [1.0, 50.0, 1.0]
    y = np.sin(2 * X[:, 2]) + 0.05 * rng.normal(size=100)
    model = RVR(gamma="inputs", random_state=0).fit(X, y)
    assert np.argmax(model.input_relevance_) == 2
    assert max(model.input_relevance_[:2]) < 0.1 * model.input_relevance_[2]
    assert np.sqrt(np.mean((model.predict(X) - np.sin(2 * X[:, 2])) ** 2)) < 0.05


def test_centres_may_be_a_number(noisy):
    X, y = noisy
    model = RVR(gamma=1 / 9, centres=30, random_state=0).fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - sinc(X[:, 0])) ** 2)) < 0.06
    np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])


def test_saving_with_pickle_and_skops_changes_no_prediction(noisy, fitted):
    X, _ = noisy
    saved = skops.io.dumps(fitted)
    loaded = skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved))
    for copy in (pickle.loads(pickle.dumps(fitted)), loaded):
        np.testing.assert_array_equal(
            copy.predict(X, return_std=True), fitted.predict(X, return_std=True)
        )


def test_grid_search_over_the_width_in_a_pipeline(noisy):
    X, y = noisy
    order = np.random.default_rng(0).permutation(100)
    pipeline = make_pipeline(StandardScaler(), RVR())
    search = GridSearchCV(pipeline, {"rvr__gamma": [0.001, 4.0, 1e4]}, cv=3)
    search.fit(X[order], y[order])
    assert search.best_params_ == {"rvr__gamma": 4.0}


def test_a_fit_that_stops_early_warns(noisy):
    with pytest.warns(ConvergenceWarning, match="did not converge: .* Raise max_iter"):
        model = RVR(max_iter=1).fit(*noisy)
    assert not model.converged_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": 0.0}, "noise must be a positive variance, 'estimate' or None; got 0.0"),
        ({"noise": "small"}, "noise must be a positive variance"),
        ({"algorithm": "slow"}, 'algorithm must be "fast"'),
        ({"kernel": "precomputed"}, r"takes a square matrix .* got shape \(100, 1\)"),
        ({"kernel": "features", "gamma": "inputs"}, "'features' has no width"),
    ],
)
def test_what_cannot_be_used_is_refused(noisy, options, message):
    with pytest.raises(InvalidInputError, match=message):
        RVR(**options).fit(*noisy)


def test_a_wide_table_whose_noise_is_explained_warns_and_a_price_for_candidates_helps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 1000))
    y = X[:, :3].sum(axis=1) + 0.5 * rng.normal(size=100)
    with pytest.warns(UserWarning, match="of 1,000 columns were kept for 100 rows"):
        RVR("features").fit(X, y)
    sparse = RVR("features", smoothness=np.log(1000)).fit(X, y)
    assert np.flatnonzero(sparse.coef_).tolist() == [0, 1, 2]
