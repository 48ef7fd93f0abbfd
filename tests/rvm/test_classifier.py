"""RVC: kernels, weights, probabilities, cutoffs, attributes, saving, pipelines, errors."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.datasets import load, make_banana
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes import laplace_evidence
from parsimon.kernels import Epanechnikov, Multiquadric, MultiResolution, Sigmoid
from parsimon.kernels import SquaredExponential as SE
from parsimon.rvm import RVC
from parsimon.rvm._dictionary import make_basis


@pytest.fixture(scope="module")
def ripley():
    data = load("ripley")
    X, y = data.data.to_numpy(dtype=float), np.asarray(data.target)
    X.flags.writeable = False
    return X[:250:2], y[:250:2], X[250:], y[250:]


@pytest.fixture(scope="module")
def fitted(ripley):
    return RVC(gamma=4.0).fit(ripley[0], ripley[1])


def test_few_rows_classify_ripleys_data_near_the_bayes_rate(ripley, fitted):
    # The best possible accuracy is 0.92; Tipping (2001) reports 0.907 with 4 vectors.
    _, _, X, y = ripley
    assert fitted.score(X, y) > 0.89
    assert 1 <= len(fitted.relevance_) <= 8
    assert fitted.converged_


def test_attributes_rebuild_the_decision(ripley, fitted):
    X, _, new, _ = ripley
    np.testing.assert_array_equal(fitted.relevance_vectors_, X[fitted.relevance_])
    assert (np.diff(fitted.relevance_) > 0).all()
    by_hand = rbf_kernel(new, fitted.relevance_vectors_, gamma=4.0) @ fitted.coef_
    np.testing.assert_allclose(fitted.latent(new), by_hand + fitted.intercept_, rtol=1e-8)
    np.testing.assert_array_equal(fitted.predict(new) == fitted.classes_[1], by_hand > 0)
    np.testing.assert_allclose(fitted.kernel_.lengthscale, 8**-0.5)
    assert fitted.basis_.n_columns == len(fitted.coef_) + np.isfinite(fitted.bias_alpha_)


def test_evidence_complexity_and_degrees_of_freedom_follow_from_alpha(ripley, fitted):
    X, y = ripley[:2]
    labels = (y == fitted.classes_[1]).astype(float)
    design = fitted.basis_.design(X)
    alpha = np.append(fitted.bias_alpha_, fitted.alpha_)
    alpha = alpha[np.isfinite(alpha)]
    evidence = laplace_evidence(design, labels, alpha)
    assert fitted.log_evidence_ == pytest.approx(evidence, abs=1e-5)
    assert fitted.complexity_ == pytest.approx(np.sum(1 / (1 + alpha)))
    p = expit(fitted.latent(X))
    hessian = (design * (p * (1 - p))[:, None]).T @ design
    smoother = np.linalg.solve(hessian + np.diag(alpha), hessian)
    assert fitted.degrees_of_freedom_ == pytest.approx(np.trace(smoother), rel=1e-6)


def test_integer_weights_equal_repeated_rows_in_any_order(ripley, rng):
    X, y, new = ripley[0][::2], ripley[1][::2], ripley[2]
    weights = rng.integers(0, 4, size=len(y))
    weighted = RVC("rbf").fit(X, y, sample_weight=weights)
    order = rng.permutation(weights.sum())
    repeated = RVC("rbf").fit(np.repeat(X, weights, axis=0)[order], np.repeat(y, weights)[order])
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-12)
    np.testing.assert_allclose(weighted.predict_proba(new), repeated.predict_proba(new), rtol=1e-10)
    np.testing.assert_array_equal(
        sorted(weighted.relevance_vectors_.tolist()), sorted(repeated.relevance_vectors_.tolist())
    )
    assert (weights[weighted.relevance_] > 0).all()
    plain = RVC("rbf").fit(X, y)
    assert abs(plain.predict_proba(new) - weighted.predict_proba(new)).max() > 0.01


def test_weights_of_similarities_leave_out_rows_and_columns(ripley, rng):
    X, y, new, _ = ripley
    weights = rng.integers(0, 3, size=len(y)).astype(float)
    gram, similar = rbf_kernel(X, gamma=4.0), rbf_kernel(new[:50], X, gamma=4.0)
    given = RVC("precomputed", far_variance=False).fit(gram, y, sample_weight=weights)
    kernel = RVC(gamma=4.0, far_variance=False).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        given.predict_proba(similar), kernel.predict_proba(new[:50]), atol=1e-4
    )
    assert given.log_evidence_ == pytest.approx(kernel.log_evidence_, abs=1e-4)
    assert (weights[given.relevance_] > 0).all()
    assert given.relevance_vectors_.shape == (0, len(X))


def test_a_balanced_fit_is_one_with_the_weights_written_out(ripley):
    X, y, new, _ = ripley
    first, second = np.unique(y)
    kept = (y == first) | (np.cumsum(y == second) <= 12)
    X, y = X[kept], y[kept]
    share = {label: len(y) / (2 * (y == label).sum()) for label in (first, second)}
    balanced = RVC(gamma=4.0, class_weight="balanced").fit(X, y)
    named = RVC(gamma=4.0, class_weight=share).fit(X, y)
    by_row = RVC(gamma=4.0).fit(X, y, sample_weight=np.vectorize(share.get)(y))
    plain = RVC(gamma=4.0).fit(X, y)
    np.testing.assert_allclose(balanced.predict_proba(new), named.predict_proba(new), rtol=1e-8)
    np.testing.assert_allclose(balanced.predict_proba(new), by_row.predict_proba(new), rtol=1e-8)
    gain = balanced.predict_proba(new)[:, 1].mean() - plain.predict_proba(new)[:, 1].mean()
    assert gain > 0.05


def test_a_label_without_weight_is_as_if_it_had_never_been_there(ripley):
    X, y, new, _ = ripley
    labels = np.where(np.arange(len(y)) % 5 == 0, "none", np.where(y == y[0], "a", "b"))
    weights = (labels != "none").astype(float)
    model = RVC(gamma=4.0).fit(X, labels, sample_weight=weights)
    assert model.classes_.tolist() == ["a", "b"]
    without = RVC(gamma=4.0).fit(X[weights > 0], labels[weights > 0])
    np.testing.assert_allclose(model.predict_proba(new), without.predict_proba(new), rtol=1e-8)
    assert model.predict_proba(new).shape[1] == 2


def test_probabilities_average_the_logistic_over_the_latent_value(ripley, fitted):
    points = ripley[2][:4]
    mean, sd = fitted.latent(points, return_std=True)
    probability = fitted.predict_proba(points)
    for m, s, p in zip(mean, sd, probability[:, 1], strict=True):
        exact = quad(lambda f, m=m, s=s: expit(f) * norm.pdf(f, m, s), m - 10 * s, m + 10 * s)[0]
        assert p == pytest.approx(exact, abs=1e-7)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        fitted.decision_function(points), logit(probability[:, 1]), rtol=1e-6
    )
    plug_in = clone(fitted).set_params(response="plug_in").fit(ripley[0], ripley[1])
    np.testing.assert_allclose(plug_in.predict_proba(points)[:, 1], expit(mean), rtol=1e-6)
    np.testing.assert_allclose(plug_in.decision_function(points), mean, rtol=1e-6)
    assert (abs(probability[:, 1] - 0.5) < abs(expit(mean) - 0.5)).all()


@pytest.mark.parametrize("response", ["averaged", "plug_in"])
def test_predictions_agree_with_probabilities_and_with_the_cutoff(ripley, response):
    X, y, new, _ = ripley
    model = RVC(response=response).fit(X, y)
    highest = model.classes_[np.argmax(model.predict_proba(new), axis=1)]
    np.testing.assert_array_equal(model.predict(new), highest)
    decision = model.decision_function(new)
    cutoff = float(np.sort(decision)[300])
    model.set_params(cutoff=cutoff)
    np.testing.assert_array_equal(model.predict(new) == model.classes_[1], decision > cutoff)
    assert (model.predict(new) == model.classes_[0]).sum() >= 301


def test_variance_grows_away_from_the_data_unless_it_is_left_plain(ripley, fitted):
    far = np.array([[0.0, 0.5], [30.0, 30.0]])
    near_sd, far_sd = fitted.latent(far, return_std=True)[1]
    assert far_sd > 2 * near_sd
    plain = RVC(gamma=4.0, far_variance=False).fit(*ripley[:2])
    mean, sd = plain.latent(far, return_std=True)
    np.testing.assert_allclose(mean, fitted.latent(far))
    assert sd[1] < far_sd / 2


@pytest.mark.parametrize(
    "kernel",
    [
        SE(lengthscale=0.5),
        SE(0, lengthscale=0.5) * SE(1, lengthscale=0.4),
        Epanechnikov(width=1.0),
        Multiquadric(width=0.3),
        Sigmoid(scale=2.0, offset=0.5),
        MultiResolution(0.6),
        "laplacian",
        "poly",
        rbf_kernel,
    ],
    ids=lambda kernel: getattr(kernel, "__name__", str(kernel)),
)
def test_any_kernel_will_do_definite_or_not(ripley, kernel):
    X, y, new, truth = ripley
    model = RVC(kernel, gamma="auto").fit(X, y)
    assert model.score(new, truth) > 0.83
    assert np.isfinite(model.predict_proba(new)).all()
    assert len(model.relevance_) < 30


def test_a_dictionary_of_widths_shows_a_row_once_for_each_function(ripley):
    X, y, new, _ = ripley
    dictionary = MultiResolution(0.5)
    model = RVC(dictionary).fit(X, y)
    assert model.kernel_ == dictionary
    np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])
    widths = [float(label.split()[-1]) for label in model.basis_.labels if label != "bias"]
    assert set(widths) <= {0.5, 0.25, 0.125}
    bumps = np.exp(
        -((np.linalg.norm(new[:, None] - model.relevance_vectors_, axis=2) / widths) ** 2)
    )
    np.testing.assert_allclose(model.latent(new), bumps @ model.coef_ + model.intercept_, rtol=1e-8)


def test_features_are_selected(rng):
    X = rng.normal(size=(120, 30))
    y = X[:, 4] - X[:, 17] + 0.3 * rng.normal(size=120) > 0
    model = RVC("features").fit(X, y)
    assert {4, 17} <= set(model.relevance_)
    assert len(model.relevance_) < 10
    assert model.coef_.shape == model.alpha_.shape == (30,)
    np.testing.assert_array_equal(np.flatnonzero(model.coef_), model.relevance_)
    np.testing.assert_array_equal(np.flatnonzero(np.isfinite(model.alpha_)), model.relevance_)
    np.testing.assert_allclose(model.latent(X), X @ model.coef_ + model.intercept_)
    assert model.relevance_vectors_.shape == (0, 30)
    assert model.classes_.dtype == bool


def test_an_object_with_a_basis_is_a_dictionary(rng):
    class Powers:
        def basis(self, X, centres):
            return np.column_stack([X[:, 0] ** power for power in range(1, 6)])

    X = rng.uniform(-2, 2, size=(80, 1))
    y = X[:, 0] ** 2 > 1
    model = RVC(Powers()).fit(X, y)
    # Of the first five powers, the second and the fourth tell the classes apart.
    assert {1, 3} & set(model.relevance_.tolist())
    assert model.score(X, y) > 0.95


def test_centres_may_be_a_number_or_points(ripley):
    X, y, new, truth = ripley
    few = RVC(gamma=4.0, centres=20, random_state=0).fit(X, y)
    assert few.score(new, truth) > 0.87
    np.testing.assert_array_equal(few.relevance_vectors_, X[few.relevance_])
    again = RVC(gamma=4.0, centres=20, random_state=0).fit(X, y)
    np.testing.assert_array_equal(few.coef_, again.coef_)
    points = np.array([[-0.7, 0.3], [0.3, 0.3], [-0.3, 0.7], [0.4, 0.7]])
    given = RVC(gamma=4.0, centres=points).fit(X, y)
    assert given.score(new, truth) > 0.87
    np.testing.assert_array_equal(given.relevance_vectors_, points[given.relevance_])


def test_without_a_bias_there_is_none(ripley):
    model = RVC(gamma=4.0, bias=False).fit(*ripley[:2])
    assert model.intercept_ == 0.0
    assert model.bias_alpha_ == np.inf
    assert not model.basis_.has_bias


@pytest.mark.parametrize("algorithm", ["em", "variational"])
def test_the_other_algorithms_give_the_same_picture(ripley, fitted, algorithm):
    X, y, new, truth = ripley
    model = RVC(gamma=4.0, algorithm=algorithm).fit(X, y)
    assert model.score(new, truth) > 0.88
    assert abs(model.predict_proba(new) - fitted.predict_proba(new)).mean() < 0.06


def test_the_smooth_prior_is_sparser_and_says_how_much(ripley):
    X, y = ripley[0][::2], ripley[1][::2]
    narrow = {"gamma": 60.0}
    dof = [
        RVC(smoothness=smoothness, **narrow).fit(X, y).degrees_of_freedom_
        for smoothness in (0.1, "bic")
    ]
    assert dof[1] < dof[0]
    assert dof[1] < RVC(**narrow).fit(X, y).degrees_of_freedom_


@pytest.mark.parametrize("options", [{"gamma": 16.0}, {"gamma": 16.0, "algorithm": "em"}])
def test_the_smooth_prior_finds_narrow_functions_that_pay_only_together(options):
    X, y = make_banana(1100, random_state=2)
    model = RVC(smoothness="bic", **options).fit(X[:100], y[:100])
    assert len(model.relevance_) > 5
    assert model.score(X[100:], y[100:]) > 0.7


def test_the_width_is_chosen_by_evidence(ripley):
    X, y, new, truth = ripley
    chosen = RVC(gamma="evidence", random_state=0).fit(X, y)
    others = [RVC(gamma=gamma).fit(X, y).log_evidence_ for gamma in (0.05, 0.5, 5.0)]
    assert chosen.log_evidence_ > max(others) - 0.05
    assert chosen.score(new, truth) > 0.87
    assert isinstance(chosen.kernel_, SE)


def test_inputs_that_do_not_matter_are_found(rng):
    X = rng.uniform(-2, 2, size=(150, 3))
    y = np.where(np.sin(2 * X[:, 1]) > 0.3 * rng.normal(size=150), "up", "down")
    model = RVC(gamma="inputs", random_state=0).fit(X, y)
    assert model.input_relevance_.shape == (3,)
    assert np.argmax(model.input_relevance_) == 1
    assert max(model.input_relevance_[[0, 2]]) < 0.2 * model.input_relevance_[1]
    assert not hasattr(RVC(gamma=1.0).fit(X, y), "input_relevance_")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_tables_with_names_and_text_labels(ripley, make):
    X, y, new, _ = ripley
    table = make({"width": X[:, 0], "height": X[:, 1]})
    labels = np.where(y == y[0], "no", "yes")
    model = RVC(gamma=4.0).fit(table, labels)
    assert model.feature_names_in_.tolist() == ["width", "height"]
    found = model.predict(make({"width": new[:, 0], "height": new[:, 1]}))
    np.testing.assert_array_equal(found, RVC(gamma=4.0).fit(X, labels).predict(new))
    assert set(found) == {"no", "yes"}


def test_lists_will_do():
    model = RVC().fit([[0, 1], [1, 1], [4, 5], [5, 5], [4, 4]], [True, True, False, False, False])
    assert model.predict([[0, 0], [5, 6]]).tolist() == [True, False]


def test_saving_with_pickle_and_skops_changes_no_prediction(ripley, fitted):
    new = ripley[2][:20]
    for model in (fitted, RVC(MultiResolution(0.5)).fit(*ripley[:2])):
        copies = [pickle.loads(pickle.dumps(model))]
        saved = skops.io.dumps(model)
        copies.append(skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved)))
        for copy in copies:
            np.testing.assert_array_equal(copy.predict_proba(new), model.predict_proba(new))


def test_grid_search_pipeline_and_clone(ripley):
    X, y, new, truth = ripley
    pipeline = make_pipeline(StandardScaler(), RVC())
    search = GridSearchCV(pipeline, {"rvc__gamma": [0.01, 1.0, 300.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"rvc__gamma": 1.0}
    assert search.score(new, truth) > 0.88
    assert clone(RVC(SE(), cutoff=0.3)).get_params()["cutoff"] == 0.3


def test_precomputed_similarities_are_cut_by_cross_validation(ripley):
    X, y = ripley[:2]
    given = cross_val_score(RVC("precomputed"), rbf_kernel(X, gamma=4.0), y, cv=3)
    direct = cross_val_score(RVC(gamma=4.0), X, y, cv=3)
    np.testing.assert_allclose(given, direct, atol=0.03)


def test_a_fit_that_stops_early_warns_and_still_predicts(ripley):
    X, y, new, _ = ripley
    with pytest.warns(ConvergenceWarning, match="did not converge: .* Raise max_iter"):
        model = RVC(gamma=60.0, max_iter=1).fit(X, y)
    assert not model.converged_
    assert np.isfinite(model.predict_proba(new)).all()


def test_a_time_limit_gives_the_best_so_far(rng):
    X = rng.normal(size=(1500, 6))
    y = np.sin(X[:, 0] * 3) * X[:, 1] + 0.2 * rng.normal(size=1500) > 0
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = RVC(gamma="evidence", time_limit=0.3).fit(X, y)
    assert np.isfinite(model.predict_proba(X[:9])).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "slow"}, 'algorithm must be "fast" or "em" or "variational", got'),
        ({"multi_class": "pairs"}, 'multi_class must be "one_vs_rest" or "multinomial"'),
        ({"response": "mean"}, 'response must be "averaged" or "plug_in"'),
        ({"gamma": "wide"}, 'gamma must be "scale" or "auto" or "evidence" or "inputs"'),
        ({"gamma": 0.0}, "gamma must be positive"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"time_limit": -1}, "time_limit must be None or positive seconds"),
        ({"bias": "yes"}, "bias must be True or False"),
        ({"far_variance": 2}, "far_variance must be True or False"),
        ({"cutoff": [0.0, 1.0]}, "cutoff must be one number, got"),
        ({"cutoff": "high"}, "cutoff must be one number, got 'high'"),
        ({"class_weight": "even"}, "class_weight must be a dict, 'balanced' or None"),
        ({"class_weight": {7: 2.0}}, "class_weight names 7, which is not among the classes"),
        ({"smoothness": "bic", "algorithm": "variational"}, "has no smoothness"),
        ({"multi_class": "multinomial", "algorithm": "em"}, 'fitted by algorithm="fast"'),
        ({"kernel": "features", "gamma": "evidence"}, "'features' has no width"),
        ({"kernel": "precomputed"}, r"takes a square matrix .* got shape \(125, 2\)"),
    ],
)
def test_what_cannot_be_used_is_refused(ripley, options, message):
    with pytest.raises(InvalidInputError, match=message):
        RVC(**options).fit(*ripley[:2])


def test_one_class_is_refused_with_its_name():
    with pytest.raises(InvalidInputError, match="got 1 class: only"):
        RVC().fit([[0.0], [1.0]], ["only", "only"])
    with pytest.raises(InvalidInputError, match="got 1 class: b"):
        RVC().fit([[0.0], [1.0]], ["a", "b"], sample_weight=[0, 1])


def test_the_basis_at_hand_is_the_one_of_the_dictionary(ripley, fitted):
    X = ripley[0]
    whole = make_basis("rbf", X, gamma=4.0).design(X)
    first = int(fitted.basis_.has_bias)
    np.testing.assert_allclose(
        fitted.basis_.design(X)[:, first:], whole[:, 1 + fitted.relevance_], rtol=1e-9
    )
