"""A classifier from given precisions: an ordinary RVC in every method."""

import pickle

import numpy as np
import pytest
import skops.io
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_iris

from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes import laplace_evidence
from parsimon.rvm import RVC
from parsimon.rvm._dictionary import make_basis
from parsimon.rvm.classifier import classifier_given

LABELS = np.array(["no", "yes"])


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    codes = (X[:, 0] ** 2 + X[:, 1] + 0.3 * rng.normal(size=60) > 0.8).astype(int)
    basis = make_basis("rbf", X, gamma=0.5)
    alpha = np.full(basis.n_columns, np.inf)
    alpha[[0, 3, 40, 17]] = [0.01, 0.2, 1.0, 5.0]
    return X, codes, basis, alpha


def test_weights_are_the_mode_and_their_spread_is_laplaces(problem):
    X, codes, basis, alpha = problem
    model = classifier_given(RVC(gamma=0.5), basis, X, codes, LABELS, alpha)
    active = [0, 3, 17, 40]
    design, own = basis.design(X)[:, active], alpha[active]

    def loss(w):
        return np.logaddexp(0, -(2 * codes - 1) * (design @ w)).sum() + 0.5 * own @ w**2

    best = minimize(loss, np.zeros(4), tol=1e-12).x
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), best, atol=1e-4)
    np.testing.assert_array_equal(model.alpha_, own[1:])
    assert model.bias_alpha_ == 0.01
    assert model.relevance_.tolist() == [2, 16, 39]
    p = expit(design @ best)
    covariance = np.linalg.inv((design * (p * (1 - p))[:, None]).T @ design + np.diag(own))
    sd = model.set_params(far_variance=False).latent(X, return_std=True)[1]
    plain = classifier_given(
        RVC(gamma=0.5, far_variance=False), basis, X, codes, LABELS, alpha
    ).latent(X, return_std=True)[1]
    np.testing.assert_allclose(
        plain, np.sqrt(np.einsum("nm,mk,nk->n", design, covariance, design)), rtol=1e-4
    )
    assert (sd >= plain - 1e-12).all()
    assert model.log_evidence_ == pytest.approx(laplace_evidence(design, codes * 1.0, own))


def test_the_alpha_of_a_fit_gives_the_fit_back(problem):
    X, codes, basis, _ = problem
    fitted = RVC(gamma=0.5).fit(X, LABELS[codes])
    alpha = np.full(basis.n_columns, np.inf)
    alpha[0] = fitted.bias_alpha_
    alpha[1 + fitted.relevance_] = fitted.alpha_
    model = classifier_given(RVC(gamma=0.5), basis, X, codes, LABELS, alpha, largest_score=np.inf)
    np.testing.assert_allclose(model.latent(X), fitted.latent(X), rtol=1e-4, atol=1e-4)
    stopped = classifier_given(RVC(gamma=0.5), basis, X, codes, LABELS, alpha, largest_score=2.0)
    assert abs(stopped.latent(X)).max() < abs(model.latent(X)).max()
    assert model.log_evidence_ == pytest.approx(fitted.log_evidence_, abs=1e-4)
    assert model.degrees_of_freedom_ == pytest.approx(fitted.degrees_of_freedom_, rel=1e-4)
    assert model.complexity_ == pytest.approx(fitted.complexity_)


def test_a_cutoff_is_one_of_the_latent_mean(problem):
    X, codes, basis, alpha = problem
    plain = classifier_given(RVC(), basis, X, codes, LABELS, alpha)
    cutoff = float(np.sort(plain.latent(X))[20])
    model = classifier_given(RVC(), basis, X, codes, LABELS, alpha, cutoff=cutoff)
    np.testing.assert_array_equal(model.predict(X) == "yes", plain.latent(X) > cutoff)
    assert (model.predict(X) == "yes").sum() == 39
    np.testing.assert_array_equal(model.decision_function(X), plain.latent(X))
    assert model.get_params()["cutoff"] == cutoff


def test_it_is_saved_cloned_and_refitted_like_any_other(problem):
    X, codes, basis, alpha = problem
    options = RVC(gamma=0.5, class_weight="balanced")
    model = classifier_given(
        options, basis, X, codes, LABELS, alpha, cutoff=0.2, feature_names=["a", "b"]
    )
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.n_features_in_ == 2
    assert options.get_params()["cutoff"] == 0.0
    model = classifier_given(options, basis, X, codes, LABELS, alpha, cutoff=0.2)
    saved = skops.io.dumps(model)
    loaded = skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved))
    for copy in (pickle.loads(pickle.dumps(model)), loaded):
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    again = clone(model)
    assert not hasattr(again, "classes_")
    assert again.get_params()["class_weight"] == "balanced"
    assert again.fit(X, LABELS[codes]).score(X, LABELS[codes]) > 0.8


def test_weights_of_rows_count(problem):
    X, codes, basis, alpha = problem
    weights = np.arange(60) % 3
    weighted = classifier_given(RVC(), basis, X, codes, LABELS, alpha, sample_weight=weights)
    repeated = classifier_given(
        RVC(), basis, np.repeat(X, weights, axis=0), np.repeat(codes, weights), LABELS, alpha
    )
    np.testing.assert_allclose(weighted.latent(X), repeated.latent(X), atol=1e-6)
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_)


@pytest.mark.parametrize("active", [[], [0], [5]])
def test_none_one_or_the_bias_alone(problem, active):
    X, codes, basis, _ = problem
    alpha = np.full(basis.n_columns, np.inf)
    alpha[active] = 1e-12
    model = classifier_given(RVC(), basis, X, codes, LABELS, alpha)
    assert np.isfinite(model.predict_proba(X)).all()
    if active == [0]:
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], codes.mean(), atol=1e-4)
    if not active:
        np.testing.assert_array_equal(model.predict_proba(X), 0.5)
        assert model.log_evidence_ == pytest.approx(-60 * np.log(2))
    three = classifier_given(RVC(), basis, X, np.arange(60) % 3, np.arange(3), alpha)
    np.testing.assert_allclose(three.predict_proba(X).sum(axis=1), 1.0)
    assert three.predict(X).shape == (60,)


def test_hardly_any_prior_on_separable_rows_stays_finite():
    X = np.arange(10.0)[:, None]
    codes = (X[:, 0] > 4.5).astype(int)
    basis = make_basis("rbf", X, gamma=1.0)
    model = classifier_given(RVC(), basis, X, codes, LABELS, np.full(11, 1e-12))
    assert model.score(X, LABELS[codes]) == 1.0
    assert np.isfinite(model.predict_proba(X)).all()


def test_classes_share_their_precisions():
    data = load_iris()
    X, codes = data.data[::3, 2:], data.target[::3]
    basis = make_basis("features", X)
    model = classifier_given(
        RVC("features"), basis, X, codes, data.target_names, np.array([0.1, 0.5, np.inf])
    )
    assert model.coef_.shape == (3, 2)
    np.testing.assert_array_equal(model.alpha_, np.tile([0.5, np.inf], (3, 1)))
    np.testing.assert_array_equal(model.bias_alpha_, 0.1)
    assert model.score(X, data.target_names[codes]) > 0.9
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    moved = classifier_given(
        RVC("features"),
        basis,
        X,
        codes,
        data.target_names,
        np.array([0.1, 0.5, np.inf]),
        cutoff=[-99.0, 0.0, 0.0],
    )
    assert set(moved.predict(X)) == {"setosa"}


@pytest.mark.parametrize("alpha", [np.ones(3), np.full(61, np.nan), np.full(61, -1.0)])
def test_precisions_that_cannot_be_used_are_refused(problem, alpha):
    X, codes, basis, _ = problem
    with pytest.raises(InvalidInputError, match="one precision, not negative, for each of 61"):
        classifier_given(RVC(), basis, X, codes, LABELS, alpha)
