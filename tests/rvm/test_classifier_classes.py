"""Three classes and more: one against the rest, and the softmax likelihood."""

import pickle

import numpy as np
import pytest
import skops.io
from joblib import parallel_config
from scipy.special import expit, softmax
from sklearn.datasets import load_iris

from parsimon.exceptions import InvalidInputError
from parsimon.kernels import SquaredExponential as SE
from parsimon.rvm import RVC

both = pytest.mark.parametrize("multi_class", ["one_vs_rest", "multinomial"])


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    X = data.data[:, 1:]
    X.flags.writeable = False
    y = data.target_names[data.target]
    return X[::2], y[::2], X[1::2], y[1::2]


@both
def test_iris_is_learnt_from_few_rows(iris, multi_class):
    X, y, new, truth = iris
    model = RVC(multi_class=multi_class, gamma=0.3).fit(X, y)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.score(new, truth) > 0.92
    assert len(model.relevance_) < 15
    assert model.converged_


@both
@pytest.mark.parametrize("response", ["averaged", "plug_in"])
def test_probabilities_are_normalised_and_agree_with_predictions(iris, multi_class, response):
    X, y, new, _ = iris
    model = RVC(multi_class=multi_class, response=response, gamma=0.3).fit(X, y)
    probability = model.predict_proba(new)
    assert probability.shape == (75, 3)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    assert (probability > 0).all()
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(new))
    decision = model.decision_function(new)
    np.testing.assert_array_equal(decision.argmax(axis=1), probability.argmax(axis=1))
    mean, sd = model.latent(new, return_std=True)
    assert mean.shape == sd.shape == decision.shape == (75, 3)
    if response == "plug_in" and multi_class == "one_vs_rest":
        share = expit(mean) / expit(mean).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(probability, share, rtol=1e-8)
    if response == "plug_in" and multi_class == "multinomial":
        np.testing.assert_allclose(probability, softmax(mean, axis=1), rtol=1e-8)


@both
def test_attributes_hold_a_row_for_each_class(iris, multi_class):
    X, y, new, _ = iris
    model = RVC(SE(lengthscale=1.5), multi_class=multi_class).fit(X, y)
    n_relevant = len(model.relevance_)
    assert model.coef_.shape == model.alpha_.shape == (3, n_relevant)
    assert model.intercept_.shape == model.bias_alpha_.shape == (3,)
    np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])
    np.testing.assert_array_equal(model.coef_ != 0, np.isfinite(model.alpha_))
    assert np.isfinite(model.alpha_).any(axis=0).all()
    design = model.kernel_.gram(new, model.relevance_vectors_)
    np.testing.assert_allclose(
        model.latent(new), design @ model.coef_.T + model.intercept_, atol=1e-9
    )
    alpha = np.append(model.alpha_.ravel(), model.bias_alpha_)
    assert model.complexity_ == pytest.approx(np.sum(1 / (1 + alpha)))
    assert 0 < model.degrees_of_freedom_ <= np.isfinite(alpha).sum()


def test_one_class_against_the_rest_is_that_binary_machine(iris):
    X, y, new, _ = iris
    model = RVC(gamma=0.3).fit(X, y)
    evidence = 0.0
    for k, label in enumerate(model.classes_):
        alone = RVC(gamma=0.3).fit(X, y == label)
        np.testing.assert_allclose(model.latent(new)[:, k], alone.latent(new), rtol=1e-6)
        np.testing.assert_allclose(
            model.decision_function(new)[:, k], alone.decision_function(new), rtol=1e-6
        )
        evidence += alone.log_evidence_
    assert model.log_evidence_ == pytest.approx(evidence)


def test_the_number_of_jobs_changes_no_bit(iris):
    X, y, new = iris[0][::2], iris[1][::2], iris[2]
    one = RVC("rbf").fit(X, y)
    with parallel_config("threading", n_jobs=2):
        more = RVC("rbf").fit(X, y)
    np.testing.assert_array_equal(one.coef_, more.coef_)
    np.testing.assert_array_equal(one.predict_proba(new), more.predict_proba(new))


def test_workers_of_another_kind_may_be_asked_for(iris):
    X, y, new, _ = iris
    with parallel_config("loky", n_jobs=2):
        model = RVC(gamma=0.3).fit(X, y)
    np.testing.assert_array_equal(model.predict(new), RVC(gamma=0.3).fit(X, y).predict(new))


@both
def test_integer_weights_equal_repeated_rows(iris, multi_class, rng):
    X, y, new, _ = iris
    weights = rng.integers(0, 3, size=len(y))
    options = {"multi_class": multi_class, "gamma": 0.3}
    weighted = RVC(**options).fit(X, y, sample_weight=weights)
    repeated = RVC(**options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict_proba(new), repeated.predict_proba(new), rtol=1e-8)
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_)


@both
def test_offsets_move_the_choice_of_class(iris, multi_class):
    X, y, new, _ = iris
    model = RVC(gamma="scale", multi_class=multi_class, cutoff=[0.0, 0.0, -2.0]).fit(X, y)
    shifted = (model.decision_function(new) - [0.0, 0.0, -2.0]).argmax(axis=1)
    np.testing.assert_array_equal(model.predict(new), model.classes_[shifted])
    plain = model.set_params(cutoff=0.0).predict(new)
    assert (model.set_params(cutoff=[0.0, 0.0, -2.0]).predict(new) != plain).any()


@both
def test_far_away_every_class_is_possible(iris, multi_class):
    X, y, _, _ = iris
    far = [[60.0, 60.0, 60.0]]
    model = RVC(multi_class=multi_class, gamma=0.3).fit(X, y)
    plain = RVC(multi_class=multi_class, gamma=0.3, far_variance=False).fit(X, y)
    assert model.predict_proba(far).max() < 0.8
    np.testing.assert_allclose(model.latent(far), plain.latent(far))
    outside, forgotten = (each.latent(far, return_std=True)[1] for each in (model, plain))
    assert (outside > forgotten + 0.5).all()


@both
def test_saving_with_pickle_and_skops_changes_no_prediction(iris, multi_class):
    X, y, new, _ = iris
    model = RVC(multi_class=multi_class, gamma="scale").fit(X, y)
    saved = skops.io.dumps(model)
    loaded = skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved))
    for copy in (pickle.loads(pickle.dumps(model)), loaded):
        np.testing.assert_array_equal(copy.predict_proba(new), model.predict_proba(new))


@both
def test_features_are_selected_for_each_class(iris, multi_class, rng):
    X, y, new, truth = iris
    noisy = np.column_stack([X, rng.normal(size=(len(X), 10))])
    model = RVC("features", multi_class=multi_class).fit(noisy, y)
    assert model.coef_.shape == (3, 13)
    assert model.score(np.column_stack([new, np.zeros((75, 10))]), truth) > 0.85
    assert len(model.relevance_) < 9


def test_the_width_is_shared_by_the_classes(iris):
    X, y, new, truth = iris
    X, y = X[::2, 1:], y[::2]

    def priced(model):
        """What widths maximise: each column costs half the logarithm of the number of rows."""
        n_columns = np.isfinite(model.alpha_).sum() + np.isfinite(model.bias_alpha_).sum()
        return model.log_evidence_ - 0.5 * np.log(len(X)) * n_columns

    model = RVC(gamma="evidence", random_state=0).fit(X, y)
    fixed = [priced(RVC(gamma=gamma).fit(X, y)) for gamma in (0.01, 0.3, 10.0)]
    assert priced(model) > max(fixed) - 0.05
    assert model.score(new[:, 1:], truth) > 0.9


@pytest.mark.parametrize("cutoff", [[0.0, 1.0], "high", [0.0, np.nan, 1.0]])
def test_offsets_must_be_one_for_each_class(iris, cutoff):
    with pytest.raises(InvalidInputError, match="one number for each of 3 classes"):
        RVC(cutoff=cutoff).fit(*iris[:2])
