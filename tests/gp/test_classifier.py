"""GPClassifier: evidence, forms, weights, probabilities, classes, components, errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon._data import class_weights
from parsimon.datasets import load
from parsimon.exceptions import InvalidInputError
from parsimon.gp import GPClassifier
from parsimon.kernels import Sigmoid
from parsimon.kernels import SquaredExponential as SE


@pytest.fixture(scope="module")
def wave():
    """Two columns; the label depends on a wave of the first and a slope of the second."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-3, 3, size=(80, 2))
    y = np.where(np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=80) > 0, "up", "down")
    X.flags.writeable = False
    return X, y


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    return data.data[::2, 2:], data.target_names[data.target[::2]]


@pytest.fixture(scope="module")
def pima():
    data = load("pima_cleaned")
    kernel = (SE(0) + SE(2) * SE(3)).start(data.data)
    return data, GPClassifier(kernel, n_restarts=0).fit(data.data, data.target)


def test_the_evidence_on_pima_is_the_one_of_the_literature(pima):
    assert pima[1].log_evidence_ == pytest.approx(-353.19, abs=0.01)
    assert pima[1].form_.startswith("low rank")


def test_dense_and_low_rank_give_the_same_evidence_and_predictions(pima):
    data, model = pima
    options = {"optimise": False, "form": "dense"}
    dense = GPClassifier(model.kernel_, **options).fit(data.data, data.target)
    assert dense.form_ == "dense"
    assert abs(dense.log_evidence_ - model.log_evidence_) / 724 < 1e-6
    np.testing.assert_allclose(
        dense.predict_proba(data.data), model.predict_proba(data.data), atol=1e-4
    )


def test_text_labels_come_back(wave):
    X, y = wave
    model = GPClassifier(n_restarts=0).fit(X, y)
    assert model.classes_.tolist() == ["down", "up"]
    assert model.score(X, y) > 0.85
    assert set(model.predict(X)) == {"down", "up"}


@pytest.mark.parametrize("inference", ["ep", "laplace"])
def test_integer_weights_equal_repeated_rows(wave, inference):
    X, y = wave
    weights = np.random.default_rng(0).integers(0, 4, size=len(y))
    options = {"inference": inference, "n_restarts": 0}
    weighted = GPClassifier(**options).fit(X, y, sample_weight=weights)
    repeated = GPClassifier(**options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-10)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-8)
    plain = GPClassifier(**options).fit(X, y)
    assert abs(plain.predict_proba(X) - weighted.predict_proba(X)).max() > 0.01


def test_a_balanced_fit_is_one_with_the_weights_written_out(wave):
    X, y = wave
    rare = np.flatnonzero(y == "up")[:10]
    X, y = (np.concatenate([part[y == "down"], part[rare]]) for part in (X, y))
    kernel = SE(lengthscale=1.5)
    balanced = GPClassifier(kernel, optimise=False, class_weight="balanced").fit(X, y)
    n, n_up = len(y), 10
    weights = {"up": n / (2 * n_up), "down": n / (2 * (n - n_up))}
    given = GPClassifier(kernel, optimise=False, class_weight=weights).fit(X, y)
    by_row = GPClassifier(kernel, optimise=False).fit(
        X, y, sample_weight=np.where(y == "up", weights["up"], weights["down"])
    )
    np.testing.assert_allclose(balanced.predict_proba(X), given.predict_proba(X), rtol=1e-6)
    np.testing.assert_allclose(balanced.predict_proba(X), by_row.predict_proba(X), rtol=1e-6)
    plain = GPClassifier(kernel, optimise=False).fit(X, y)
    assert balanced.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.05


def test_balanced_weights_count_sample_weights():
    codes = np.array([0, 0, 1])
    weighted = class_weights("balanced", np.array([0, 1]), codes, np.array([1.0, 2.0, 1.0]))
    repeated = class_weights("balanced", np.array([0, 1]), np.array([0, 0, 0, 1]), np.ones(4))
    assert weighted[0] == repeated[0]
    assert weighted[2] == repeated[3]


def test_probabilities_average_the_latent_value_or_plug_it_in(wave):
    X, y = wave
    far = np.array([[0.5, 0.2], [2.0, -6.0]])
    averaged = GPClassifier(n_restarts=0).fit(X, y)
    mean, sd = averaged.latent(far, return_std=True)
    np.testing.assert_allclose(
        averaged.predict_proba(far)[:, 1], norm.cdf(mean / np.sqrt(1 + sd**2)), rtol=1e-10
    )
    plug_in = GPClassifier(n_restarts=0, response="plug_in").fit(X, y)
    np.testing.assert_allclose(plug_in.predict_proba(far)[:, 1], norm.cdf(mean), rtol=1e-8)
    np.testing.assert_allclose(averaged.decision_function(far), mean / np.sqrt(1 + sd**2))
    np.testing.assert_allclose(plug_in.decision_function(far), mean, rtol=1e-8)
    np.testing.assert_array_equal(averaged.latent(far), mean)


@pytest.mark.parametrize("inference", ["ep", "laplace"])
def test_cavities_come_close_to_leaving_rows_out(wave, inference):
    X, y = wave
    kernel = SE(0, lengthscale=0.8, variance=2.0) + SE(1, lengthscale=3.0)
    options = {"inference": inference, "optimise": False}
    model = GPClassifier(kernel, **options).fit(X, y)
    without = [
        GPClassifier(kernel, **options)
        .fit(np.delete(X, i, axis=0), np.delete(y, i))
        .predict_proba(X[[i]])[0, 1]
        for i in range(0, 80, 8)
    ]
    left = model.leave_one_out()
    tol = 0.01 if inference == "ep" else 0.03
    np.testing.assert_allclose(left.probability[::8, 1], without, atol=tol)
    assert abs(model.predict_proba(X[::8])[:, 1] - without).max() > 0.05
    own = np.where(y == "up", left.probability[:, 1], left.probability[:, 0])
    assert left.log_loss == pytest.approx(-np.log(own).mean())
    assert left.error == pytest.approx(np.mean(own < 0.5))


def test_leaving_out_one_of_two_equal_rows_keeps_the_other(wave):
    X, y = wave
    kernel = SE(lengthscale=1.0)
    twice = GPClassifier(kernel, optimise=False).fit(np.vstack([X, X]), np.append(y, y))
    once = GPClassifier(kernel, optimise=False).fit(X, y)
    both = twice.leave_one_out().probability
    np.testing.assert_allclose(both[:80], both[80:])
    right = (y == "up").astype(int)
    rows = np.arange(80)
    assert (both[rows, right] > once.leave_one_out().probability[rows, right]).mean() > 0.9


def test_a_row_without_weight_is_predicted_as_a_new_one(wave):
    X, y = wave
    weights = np.ones(80)
    weights[[3, 50]] = 0
    model = GPClassifier(n_restarts=0).fit(X, y, sample_weight=weights)
    left = model.leave_one_out().probability
    np.testing.assert_allclose(left[[3, 50]], model.predict_proba(X[[3, 50]]))


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "softmax"])
def test_three_classes(iris, multi_class):
    X, y = iris
    model = GPClassifier(multi_class=multi_class, n_restarts=0).fit(X, y)
    probability = model.predict_proba(X)
    assert model.score(X, y) > 0.93
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(
        model.decision_function(X).argmax(axis=1), probability.argmax(axis=1)
    )
    mean, sd = model.latent(X, return_std=True)
    assert mean.shape == sd.shape == (75, 3)
    left = model.leave_one_out()
    assert left.probability.shape == (75, 3)
    np.testing.assert_allclose(left.probability.sum(axis=1), 1)
    assert 0.02 < left.error < 0.1


def test_softmax_leave_one_out_comes_close_to_leaving_rows_out(iris):
    X, y = iris
    options = {"multi_class": "softmax", "optimise": False}
    model = GPClassifier(SE(lengthscale=1.0, variance=3.0), **options).fit(X, y)
    rows = [5, 30, 42, 60]
    without = [
        GPClassifier(SE(lengthscale=1.0, variance=3.0), **options)
        .fit(np.delete(X, i, axis=0), np.delete(y, i))
        .predict_proba(X[[i]])[0]
        for i in rows
    ]
    np.testing.assert_allclose(model.leave_one_out().probability[rows], without, atol=0.01)


def test_one_against_the_rest_is_the_same_in_parallel(iris):
    X, y = iris
    one = GPClassifier(n_restarts=2, random_state=4).fit(X, y)
    two = GPClassifier(n_restarts=2, random_state=4, n_jobs=2).fit(X, y)
    assert one.kernel_ == two.kernel_
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert len(one.kernel_) == len(one.form_) == 3


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "softmax"])
def test_components_add_up_to_the_latent_mean_of_each_class(iris, multi_class):
    X, y = iris
    kernel = SE(0) + SE(1)
    model = GPClassifier(kernel, multi_class=multi_class, n_restarts=0).fit(X, y)
    found = model.components(X)
    lists = (found,) if multi_class == "softmax" else found
    means = np.column_stack([sum(part.mean for part in parts) for parts in lists])
    np.testing.assert_allclose(means, model.latent(X), atol=1e-8)


def test_components_are_the_exact_posteriors_of_the_parts(wave):
    """The joint prior of part and sum, conditioned on the sites by brute force."""
    X, y = wave
    parts = (SE(0, lengthscale=0.8, variance=2.0), SE(1, lengthscale=3.0, variance=1.5))
    model = GPClassifier(parts[0] + parts[1], optimise=False, form="dense").fit(X, y)
    posterior = model._model.fits[0].posterior
    X_train = posterior.prior.X
    precision, shift = posterior.sites
    K = parts[0].gram(X_train) + parts[1].gram(X_train)
    new = np.array([[0.3, 1.0], [-2.0, 0.0]])
    for part, component in zip(parts, model.components(new), strict=True):
        cross = part.gram(new, X_train)
        gain = cross @ np.linalg.inv(K + np.diag(1 / precision))
        np.testing.assert_allclose(component.mean, gain @ (shift / precision), rtol=1e-8)
        variance = np.diag(part.gram(new) - gain @ cross.T)
        np.testing.assert_allclose(component.sd, np.sqrt(variance), rtol=1e-8)
        assert component.kernel == part


def test_components_carry_the_names_of_the_table(pima):
    data, model = pima
    names = [component.name for component in model.components(data.data.head())]
    assert names == ["SE(glucose)", "SE(pedigree) × SE(age)"]


def test_restarts_never_lower_the_evidence(wave):
    X, y = wave
    kernel = SE(0, lengthscale=5.0) + SE(1)
    alone = GPClassifier(kernel, n_restarts=0).fit(X, y)
    more = GPClassifier(kernel, n_restarts=3, random_state=0).fit(X, y)
    assert more.log_evidence_ >= alone.log_evidence_ - 1e-6
    assert more.n_iter_ > alone.n_iter_


def test_without_optimisation_the_kernel_stays(wave):
    kernel = SE(1, lengthscale=0.3)
    model = GPClassifier(kernel, optimise=False).fit(*wave)
    assert model.kernel_ == kernel
    assert model.n_iter_ == 1


@pytest.mark.parametrize("kernel", [RBF(2.0), "rbf", "linear", "laplacian"])
def test_kernels_of_scikit_learn_are_taken(wave, kernel):
    model = GPClassifier(kernel, n_restarts=0).fit(*wave)
    assert np.isfinite(model.log_evidence_)


def test_a_constant_column_is_left_out_unless_a_kernel_names_it(wave):
    X, y = wave
    wider = np.column_stack([X, np.full(80, 7.0)])
    with_constant, without = GPClassifier(n_restarts=0), GPClassifier(n_restarts=0)
    np.testing.assert_allclose(
        with_constant.fit(wider, y).predict_proba(wider), without.fit(X, y).predict_proba(X)
    )
    assert with_constant.kernel_.columns == (0, 1)
    with pytest.raises(InvalidInputError, match="'x3' is constant"):
        GPClassifier(SE(2)).fit(wider, y)
    with pytest.raises(InvalidInputError, match="Each of the 2 columns of X is constant"):
        GPClassifier().fit(np.ones((80, 2)), y)


def test_frames_pipelines_and_pickles(wave):
    X, y = wave
    frame = pd.DataFrame(X, columns=["angle", "slope"])
    model = make_pipeline(StandardScaler(), GPClassifier(n_restarts=0)).fit(frame, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_a_fit_cut_short_warns(wave):
    X, y = wave
    with pytest.warns(ConvergenceWarning, match="Raise max_iter or time_limit"):
        GPClassifier(SE(0) + SE(1), max_iter=1, n_restarts=0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="time limit was reached"):
        GPClassifier(SE(0) + SE(1), time_limit=1e-6, n_restarts=0).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inference": "vb"}, 'inference must be "ep" or "laplace", got'),
        ({"multi_class": "ovo"}, 'multi_class must be "one_vs_rest" or'),
        ({"response": "mean"}, 'response must be "averaged" or'),
        ({"form": "sparse"}, 'form must be "auto" or'),
        ({"optimise": "yes"}, "optimise must be True or False"),
        ({"n_restarts": -1}, "n_restarts must be an integer of at least 0, got -1"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"time_limit": 0}, "time_limit must be None or positive"),
        ({"kernel": 3}, "kernel must be a kernel of parsimon or of scikit-learn"),
        ({"kernel": Sigmoid()}, "not positive semi-definite"),
        ({"class_weight": "even"}, "class_weight must be a dict, 'balanced'"),
        ({"class_weight": {"sideways": 2.0}}, "'sideways', which is not among the classes"),
        ({"class_weight": 2.0}, "class_weight must be a dict"),
    ],
)
def test_wrong_options_are_refused(wave, options, message):
    with pytest.raises(InvalidInputError, match=message):
        GPClassifier(**options).fit(*wave)


def test_wrong_data_are_refused(wave):
    X, y = wave
    with pytest.raises(InvalidInputError, match="got 1 class: up"):
        GPClassifier().fit(X[y == "up"], y[y == "up"])
    with pytest.raises(InvalidInputError, match="All 80 sample weights are zero"):
        GPClassifier().fit(X, y, sample_weight=np.zeros(80))
    with pytest.raises(InvalidInputError, match="must not be negative"):
        GPClassifier().fit(X, y, sample_weight=np.linspace(-1, 1, 80))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        GPClassifier().fit(np.where(X > 2.9, np.nan, X), y)
