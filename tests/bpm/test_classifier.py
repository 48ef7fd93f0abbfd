"""What users rely on: units, weights, repeats, streams, parts, kernels, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logit
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from parsimon.bpm import BayesPointClassifier, gamma_ep, kernel_gamma_ep, pac_bayes_bounds
from parsimon.datasets import load
from parsimon.exceptions import InvalidInputError
from parsimon.kernels import SquaredExponential

PIMA = load("pima_cleaned")
ROWS = PIMA.data.to_numpy(np.float64)
LABELS = np.asarray(PIMA.target)


@pytest.fixture(scope="module")
def model():
    return BayesPointClassifier().fit(ROWS, LABELS)


def test_units_of_the_columns_do_not_matter(model):
    scale = 10.0 ** np.arange(-3, ROWS.shape[1] - 3)
    other = BayesPointClassifier().fit(ROWS * scale + 100 * scale, LABELS)
    assert_allclose(
        other.predict_proba(ROWS * scale + 100 * scale), model.predict_proba(ROWS), atol=1e-6
    )
    assert_allclose(other.coef_ * scale, model.coef_, rtol=1e-4, atol=1e-8)


def test_coefficients_are_the_latent_mean_in_the_columns_own_units(model):
    mean, sd = model.latent(ROWS[:5], return_std=True)
    assert_allclose(ROWS[:5] @ model.coef_[0] + model.intercept_[0], mean, atol=1e-9)
    change = np.zeros(ROWS.shape[1])
    change[1] = 1.0
    assert sd.shape == (5,)
    assert_allclose(model.coef_covariance_[0], model.coef_covariance_[0].T)
    assert np.all(np.linalg.eigvalsh(model.coef_covariance_[0]) > 0)


def test_the_decision_is_the_normal_quantile_of_the_probability(model):
    from scipy.special import ndtr

    far = ROWS.mean(axis=0) + 500 * ROWS.std(axis=0) * np.sign(model.coef_[0])
    scores = model.decision_function(np.vstack([ROWS, far]))
    assert_allclose(ndtr(scores[:-1]), model.predict_proba(ROWS)[:, 1], atol=1e-12)
    assert np.isfinite(scores).all()


def test_integer_weights_are_repeated_rows():
    rows, labels = ROWS[:120], LABELS[:120]
    times = np.arange(120) % 3
    weighted = BayesPointClassifier().fit(rows, labels, sample_weight=times)
    repeated = BayesPointClassifier().fit(np.repeat(rows, times, 0), np.repeat(labels, times))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6)
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_)
    assert weighted.loo_error_ == pytest.approx(repeated.loo_error_)


def test_repeats_with_powers_are_one_row():
    again = np.concatenate([np.arange(100), np.zeros(99, dtype=int)])
    once = BayesPointClassifier(noise_sd=1.0, standardise=False).fit(ROWS[:100] / 100, LABELS[:100])
    many, weighed = (
        BayesPointClassifier(noise_sd=1.0, standardise=False, weights_for_repeats=flag).fit(
            ROWS[again] / 100, LABELS[again]
        )
        for flag in (False, True)
    )
    assert_allclose(weighed.coef_, once.coef_, rtol=1e-9)
    assert np.abs(many.coef_ - once.coef_).max() > 0.05


@pytest.mark.parametrize(
    "options",
    [{}, {"kernel": "rbf"}, {"inference": "adf"}, {"inference": "power"}, {"label_noise": "learn"}],
)
def test_scores_leave_out_a_row_with_all_its_copies(options):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    again = np.repeat(np.arange(40), 4)
    once = BayesPointClassifier(**options).fit(rows, labels)
    many = BayesPointClassifier(weights_for_repeats=True, **options).fit(rows[again], labels[again])
    assert many.loo_error_ == once.loo_error_
    assert many.loo_log_loss_ == pytest.approx(once.loo_log_loss_, rel=1e-6)
    assert many.log_evidence_ == pytest.approx(once.log_evidence_, rel=1e-6)
    assert_allclose(many.predict_proba(rows), once.predict_proba(rows), atol=1e-6)


def test_copies_in_a_matrix_of_similarities_are_left_out_together():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(30, 3)), rng.integers(0, 2, 30)
    gram, again = SquaredExponential().gram(rows), np.repeat(np.arange(30), [4] + [1] * 29)
    once = BayesPointClassifier("precomputed").fit(gram, labels)
    many = BayesPointClassifier("precomputed", weights_for_repeats=True).fit(
        gram[np.ix_(again, again)], labels[again]
    )
    assert many.loo_log_loss_ == pytest.approx(once.loo_log_loss_, rel=1e-6)


@pytest.mark.parametrize("bend", [0.0, 1.0])
def test_a_curved_border_is_not_taken_for_wrong_labels(bend):
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(700, 3))
    right = rng.random(700) < expit(6 * (rows[:, 0] + bend * (rows[:, 1] ** 2 - 1)))
    given = right.copy()
    if not bend:
        given[:300] ^= rng.random(300) < 0.15
    plain, learnt = (
        BayesPointClassifier(label_noise=noise).fit(rows[:300], given[:300])
        for noise in (0.0, "learn")
    )
    before, after = (
        log_loss(right[300:], model.predict_proba(rows[300:])) for model in (plain, learnt)
    )
    if bend:
        assert learnt.label_noise_[0] == 0
        assert after == pytest.approx(before, abs=1e-3)
    else:
        assert 0.05 < learnt.label_noise_[0] < 0.25
        assert after < before - 0.05


@pytest.mark.parametrize("size", [1, 37, 300])
@pytest.mark.parametrize("options", [{}, {"half_life": 400}, {"label_noise": "learn"}])
def test_a_stream_of_batches_is_one_pass_in_the_same_order(size, options):
    n = 200 if size == 1 else len(ROWS)
    whole = BayesPointClassifier(inference="adf", **options).fit(ROWS[:n], LABELS[:n])
    stream = BayesPointClassifier(**options)
    for begin in range(0, n, size):
        part = slice(begin, min(begin + size, n))
        stream.partial_fit(ROWS[part], LABELS[part], classes=np.unique(LABELS))
    assert_allclose(stream.coef_, whole.coef_, rtol=1e-9)
    assert_allclose(stream.coef_covariance_, whole.coef_covariance_, rtol=1e-8, atol=1e-15)
    assert_allclose(stream.log_evidence_, whole.log_evidence_, rtol=1e-10)
    assert_allclose(stream.label_noise_, whole.label_noise_, rtol=1e-9)


def test_one_pass_is_the_filter_of_the_book():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 2))
    labels = np.where(rows[:, 0] + 0.3 * rng.normal(size=300) > 0, 1.0, -1.0)
    options = {"noise": "gaussian", "noise_sd": 1.0, "standardise": False}
    ours = BayesPointClassifier(inference="adf", **options).fit(rows, labels)
    theirs = gamma_ep(np.column_stack([rows, np.ones(300)]), labels, max_passes=1)
    assert_allclose(ours.coef_[0], theirs.mean[:2], rtol=1e-8)
    assert_allclose(ours.coef_covariance_[0], theirs.covariance[:2, :2], rtol=1e-8)


def test_a_stream_goes_on_after_a_fit_and_is_as_good_as_all_rows(model):
    half = BayesPointClassifier().fit(ROWS[:400], LABELS[:400])
    before = half.coef_.copy()
    half.partial_fit(ROWS[400:], LABELS[400:])
    assert np.abs(half.coef_ - before).max() > 0
    assert np.mean(np.abs(half.predict_proba(ROWS) - model.predict_proba(ROWS))) < 0.02


def test_a_forgetful_stream_follows_a_change():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 2))
    change = np.where(np.arange(4000) < 3900, 1.0, -1.0)
    labels = rows[:, 0] * change + 0.5 * rng.normal(size=4000) > 0
    new = rng.normal(size=(500, 2))
    forgetful, faithful = (
        BayesPointClassifier(inference="adf", half_life=half_life).fit(rows, labels)
        for half_life in (30, None)
    )
    assert np.mean(forgetful.predict(new) == (new[:, 0] < 0)) > 0.9
    assert np.mean(faithful.predict(new) == (new[:, 0] < 0)) < 0.5


def test_parts_merge_to_nearly_one_fit(model):
    parts = [BayesPointClassifier().fit(ROWS[i::3], LABELS[i::3]) for i in range(3)]
    merged = parts[0].merge(parts[1:])
    gap = np.abs(merged.predict_proba(ROWS) - model.predict_proba(ROWS))
    assert gap.mean() < 0.01
    # The sum of sites does not depend on the order of the parts, nor on their units.
    other = parts[2].merge([parts[0], parts[1]])
    assert_allclose(other.coef_, merged.coef_, rtol=1e-6)
    variances = [np.diagonal(one.coef_covariance_[0]) for one in (merged, model, parts[0])]
    assert_allclose(variances[0], variances[1], rtol=0.25)
    assert np.all(variances[0] < variances[2])


def test_sites_of_known_factors_merge_exactly():
    # With a fixed prior and units, a product of parts is the prior times all their sites.
    options = {"noise_sd": 1.0, "standardise": False}
    parts = [BayesPointClassifier(**options).fit(ROWS[i::2] / 100, LABELS[i::2]) for i in (0, 1)]
    merged = parts[0].merge(parts[1:])
    inverse = [np.linalg.inv(one._weights[0].covariance) for one in (*parts, merged)]
    prior = np.eye(len(inverse[0]))
    assert_allclose(inverse[2] - prior, inverse[0] + inverse[1] - 2 * prior, rtol=1e-6, atol=1e-6)


def test_merged_parts_have_the_evidence_of_the_whole_table():
    options = {"noise_sd": 1.0, "standardise": False}
    rows = ROWS / ROWS.std(axis=0)
    whole = BayesPointClassifier(**options).fit(rows, LABELS)
    parts = [BayesPointClassifier(**options).fit(rows[i::3], LABELS[i::3]) for i in range(3)]
    merged = parts[0].merge(parts[1:])
    assert merged.log_evidence_ == pytest.approx(whole.log_evidence_, abs=0.3)
    assert sum(part.log_evidence_ for part in parts) < whole.log_evidence_ - 10
    assert whole.merge([]).log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-3)


def test_a_forgetful_stream_forgets_units_and_wrong_labels():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4096, 2))
    labels = rows[:, 0] > 0
    labels[2048:] ^= rng.random(2048) < 0.25
    rows[2048:, 1] *= 10.0
    forgetful, faithful = (
        BayesPointClassifier(half_life=half_life, label_noise="learn").partial_fit(rows, labels)
        for half_life in (200, None)
    )
    assert_allclose(forgetful._belief.standard.unit, [1.0, 10.0], rtol=0.15)
    assert faithful._belief.standard.unit[1] < 8.0
    assert 0.15 < forgetful.label_noise_[0] < 0.3
    assert faithful.label_noise_[0] < 0.12


def test_learnt_label_noise_is_near_the_truth_and_predicts_right_labels():
    X, y = make_classification(1500, 8, n_informative=6, flip_y=0, class_sep=2.0, random_state=0)
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(1000) < 0.2, 1 - y[:1000], y[:1000])
    plain = BayesPointClassifier().fit(X[:1000], noisy)
    robust = BayesPointClassifier(label_noise="learn").fit(X[:1000], noisy)
    assert robust.label_noise_[0] == pytest.approx(0.2, abs=0.05)
    losses = [
        -np.mean(np.log(one.predict_proba(X[1000:])[np.arange(500), y[1000:]]))
        for one in (plain, robust)
    ]
    assert losses[1] < losses[0] - 0.1
    clean = BayesPointClassifier(label_noise="learn").fit(X[:1000], y[:1000])
    assert clean.label_noise_[0] < 0.03


def test_relevance_finds_the_column_that_matters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = X[:, 2] + 0.3 * rng.normal(size=300) > 0
    found = BayesPointClassifier(prior="ard").fit(X, y).relevance_[0]
    assert np.argmax(found) == 2
    assert np.sort(found)[-2] < 0.2 * found[2]


@pytest.mark.parametrize("standardise", [True, False])
def test_the_probable_noise_has_the_greatest_evidence_less_the_price_of_its_width(standardise):
    rows = (ROWS[:150] - ROWS[:150].mean(axis=0)) / ROWS[:150].std(axis=0) * [1, 1, 2, 1]
    found = BayesPointClassifier(standardise=standardise).fit(rows, LABELS[:150])
    lengths = 1.0 if standardise else np.mean(rows**2)
    values = [
        BayesPointClassifier(noise_sd=found.noise_sd_[0] * factor, standardise=standardise)
        .fit(rows, LABELS[:150])
        .log_evidence_
        - np.sqrt(4 * lengths) / (found.noise_sd_[0] * factor)
        for factor in (0.9, 1.0, 1.1)
    ]
    assert values[1] > max(values[0], values[2])
    # The steps of the hyperparameters end within half a percent of the top of that parabola.
    top = 0.5 * (values[0] - values[2]) / (values[0] - 2 * values[1] + values[2])
    assert abs(0.1 * top) < 0.01


def test_every_rule_of_the_noise_is_best_at_what_it_says():
    probable, best, loo = (
        BayesPointClassifier(noise_sd=rule).fit(ROWS, LABELS)
        for rule in ("probable", "evidence", "loo")
    )
    assert probable.log_evidence_ < best.log_evidence_
    assert probable.noise_sd_[0] > best.noise_sd_[0]
    assert loo.loo_log_loss_ <= best.loo_log_loss_ + 1e-4


def test_the_default_noise_is_calibrated_where_there_is_signal():
    rng = np.random.default_rng(0)
    losses, slopes = {"probable": [], "evidence": []}, []
    for _ in range(20):
        weights, rows = rng.normal(size=5), rng.normal(size=(1030, 5))
        labels = rng.random(1030) < expit(5 * rows @ weights / np.linalg.norm(weights))
        for rule, found in losses.items():
            model = BayesPointClassifier(noise_sd=rule).fit(rows[:30], labels[:30])
            stated = model.predict_proba(rows[30:])
            found.append(log_loss(labels[30:], stated))
            if rule == "probable":
                scores = logit(stated[:, 1:])
                slopes.append(LogisticRegression(C=1e6).fit(scores, labels[30:]).coef_[0, 0])
    assert np.mean(losses["probable"]) < np.mean(losses["evidence"]) - 0.02
    assert 0.7 < np.median(slopes) < 1.5


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_labels_without_cause_cost_no_more_than_guessing(kernel):
    rng = np.random.default_rng(1)
    excess = []
    for _ in range(12):
        rows, labels = rng.normal(size=(60, 4)), rng.random(60) < 0.5
        stated = (
            BayesPointClassifier(kernel).fit(rows, labels).predict_proba(rng.normal(size=(300, 4)))
        )
        share = labels.mean()
        guess = -0.5 * (np.log(share) + np.log(1 - share))
        excess.append(-0.5 * np.log(stated).sum(axis=1).mean() - guess)
    assert np.mean(excess) < 0.01


def test_a_narrow_prior_of_weights_leaves_the_share_of_classes():
    narrow = BayesPointClassifier(noise_sd=1e3).fit(ROWS, LABELS)
    share = np.mean(narrow.classes_[1] == LABELS)
    assert_allclose(narrow.predict_proba(ROWS)[:, 1], share, atol=0.01)


def test_every_rule_of_the_noise_holds_for_many_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 5))
    labels = 0.5 * rows[:, 0] + rng.normal(size=3000) > 0
    probable, best, loo = (
        BayesPointClassifier(noise_sd=rule, standardise=False).fit(rows, labels)
        for rule in ("probable", "evidence", "loo")
    )
    assert 1 < probable.noise_sd_[0] / best.noise_sd_[0] < 1.1
    assert 0 < best.log_evidence_ - probable.log_evidence_ < 0.1
    assert abs(np.log(loo.noise_sd_[0] / best.noise_sd_[0])) > 0.02
    assert loo.loo_log_loss_ == pytest.approx(best.loo_log_loss_, abs=1e-4)


@pytest.mark.parametrize(
    "kernel",
    ["rbf", "laplacian", SquaredExponential(), lambda X, Y: np.exp(-abs(X[:, :1] - Y[:, 0]))],
)
def test_kernels_bend_the_boundary(kernel):
    X, y = make_moons(200, noise=0.2, random_state=0)
    new, truth = make_moons(400, noise=0.2, random_state=1)
    linear = BayesPointClassifier().fit(X, y).score(new, truth)
    bent = BayesPointClassifier(kernel).fit(X, y)
    assert not hasattr(bent, "coef_")
    if not callable(kernel) or isinstance(kernel, SquaredExponential):
        assert bent.score(new, truth) > linear + 0.05


def test_a_matrix_of_similarities_is_as_good_as_its_kernel():
    X, y = make_moons(150, noise=0.2, random_state=0)
    kernel = SquaredExponential(lengthscale=0.5)
    direct = BayesPointClassifier(kernel, width=None).fit(X, y)
    given = BayesPointClassifier("precomputed").fit(kernel.gram(X), y)
    new = make_moons(50, noise=0.2, random_state=1)[0]
    assert given.log_evidence_ == pytest.approx(direct.log_evidence_, abs=1e-3)
    assert_allclose(given.predict_proba(kernel.gram(new, X)), direct.predict_proba(new), atol=1e-3)


def test_several_classes_have_a_function_each():
    X, y = load_iris(return_X_y=True)
    model = BayesPointClassifier().fit(X, np.array(["a", "b", "c"])[y])
    assert model.coef_.shape == (3, 4)
    assert model.coef_covariance_.shape == (3, 4, 4)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    stream = BayesPointClassifier(inference="adf").fit(X[::-1], y[::-1])
    assert stream.predict_proba(X).shape == (150, 3)


def test_bounds_say_what_they_are_worth(model):
    found = model.bounds()
    assert found.evidence > 0.5
    assert "nothing" in found.words
    X, y = make_classification(2000, 4, n_redundant=0, class_sep=5.0, flip_y=0, random_state=2)
    easy = BayesPointClassifier(noise_sd=0.05).fit(X[:, :], X[:, 0] + X[:, 1] > 0)
    assert easy.bounds().evidence < 0.2
    assert easy.bounds().words.endswith(
        "if the same rows had not chosen units of columns: a diagnostic, no bound."
    )
    missed = pac_bayes_bounds(-40.0, -0.1, n_rows=1000, n_weights=5)
    assert "if the rows are separable and the prior was fixed before the rows" in missed.words
    learnt = pac_bayes_bounds(-40.0, -0.1, n_rows=1000, n_weights=5, chosen=["the noise"])
    assert "if the rows are separable and the same rows had not chosen the noise" in learnt.words
    # Fearn (2021), eq 4.1: at equal leading terms the bounds differ by ln 4 / n.
    price = pac_bayes_bounds(-np.log(2.0), 1.0, n_rows=50, n_weights=3)
    assert price.margin - price.evidence == pytest.approx(0.0, abs=1e-12)
    assert y.shape == (2000,)


def test_gamma_is_for_study_and_says_when_it_does_not_settle():
    with pytest.warns(ConvergenceWarning, match="did not settle"):
        found = BayesPointClassifier(gamma=0.5, max_iter=3).fit(ROWS[:200], LABELS[:200])
    assert found.score(ROWS, LABELS) > 0.6


def test_gamma_counts_repeated_rows_and_refuses_what_it_cannot_count():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    labels = rows[:, 0] + rng.normal(size=60) > 0
    again = np.concatenate([np.arange(60), np.repeat(np.arange(5), 29)])
    options = {"gamma": -0.5, "noise_sd": 1.0, "standardise": False}
    once, many = (
        BayesPointClassifier(**options).fit(rows[some], labels[some]) for some in (range(60), again)
    )
    signs = np.where(labels[again], 1.0, -1.0)
    design = np.column_stack([rows[again], np.ones(len(again))])
    assert_allclose(many.coef_[0], gamma_ep(design, signs, gamma=-0.5).mean[:2], rtol=1e-9)
    assert np.abs(many.coef_ - once.coef_).max() > 0.1
    with pytest.raises(InvalidInputError, match="takes no sample_weight"):
        BayesPointClassifier(**options).fit(rows, labels, sample_weight=np.ones(60))
    with pytest.raises(InvalidInputError, match="no sites to go on from"):
        once.partial_fit(rows, labels)
    with pytest.raises(InvalidInputError, match="no sites to go on from"):
        many.merge([once])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"inference": "vb"}, "inference must be"),
        ({"noise": "cauchy"}, "noise must be"),
        ({"noise_sd": "best"}, "noise_sd must be"),
        ({"noise_sd": 0.0}, "noise_sd must be a positive"),
        ({"label_noise": 0.5}, "below 0.5"),
        ({"label_noise": 2.0}, "between 0 and 1"),
        ({"fraction": 1.5}, "at most 1"),
        ({"kernel": "rbf", "inference": "adf"}, "needs kernel"),
        ({"gamma": 0.0, "label_noise": 0.1}, "gamma other than"),
        ({"gamma": 0.0, "weights_for_repeats": True}, "weights_for_repeats=False"),
        ({"kernel": "sigmoid"}, "kernel must be"),
        ({"kernel": 3}, "kernel must be a name"),
        ({"half_life": -1.0}, "half_life must be"),
        ({"noise_sd": 1e-9}, "noise_sd must be between"),
        ({"gamma": "none"}, "gamma must be a finite number"),
        ({"kernel": "rbf", "width": "wide"}, "width must be"),
    ],
)
def test_options_are_refused_in_a_sentence(options, match):
    with pytest.raises(InvalidInputError, match=match):
        BayesPointClassifier(**options).fit(ROWS[:50], LABELS[:50])


@pytest.mark.parametrize(
    "other",
    [{"label_noise": 0.1}, {"noise_sd": 0.5}, {"half_life": 9.0}, {"standardise": False}],
)
def test_parts_that_were_asked_something_else_are_not_merged(other):
    one, two = (
        BayesPointClassifier(**options).fit(ROWS[:60], LABELS[:60]) for options in ({}, other)
    )
    ((name, value),) = other.items()
    with pytest.raises(InvalidInputError, match=f"another {name}={value}; fit all parts with"):
        one.merge([two])


def test_streams_refuse_what_they_cannot_use():
    stream = BayesPointClassifier()
    with pytest.raises(InvalidInputError, match="name all"):
        stream.partial_fit(ROWS[:1], LABELS[:1])
    stream.partial_fit(ROWS[:20], LABELS[:20], classes=np.unique(LABELS))
    with pytest.raises(InvalidInputError, match="not among the classes"):
        stream.partial_fit(ROWS[:1], np.array(["other"]))
    other = BayesPointClassifier().fit(ROWS[:40], np.arange(40) % 3)
    with pytest.raises(InvalidInputError, match="Classes differ"):
        stream.merge([other])
    with pytest.raises(InvalidInputError, match="list of classifiers"):
        stream.merge(stream)
    with pytest.raises(InvalidInputError, match="in all parts"):
        stream.merge([BayesPointClassifier("rbf", width=1.0).fit(ROWS[:40], LABELS[:40])])
    with pytest.raises(InvalidInputError, match="batch fit"):
        stream.bounds()


@pytest.mark.parametrize("function", [gamma_ep, kernel_gamma_ep])
def test_arrays_are_checked(function):
    square = np.eye(3)
    with pytest.raises(InvalidInputError, match="-1 and 1"):
        function(square, np.arange(3.0))
    with pytest.raises(InvalidInputError, match="rows"):
        function(square, np.ones(2))
    with pytest.raises(InvalidInputError, match="gamma must be"):
        function(square, np.ones(3), gamma=np.inf)
    with pytest.raises(InvalidInputError, match="noise_sd"):
        function(square, np.ones(3), noise_sd=-1.0)


@pytest.mark.parametrize("variance", [np.ones(2), -np.ones(3)])
def test_prior_variances_are_positive_and_one_for_each_column(variance):
    with pytest.raises(InvalidInputError, match="3 positive numbers"):
        gamma_ep(np.eye(3), np.ones(3), prior_variance=variance)


def test_rows_that_no_step_explains_do_not_converge():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    found = gamma_ep(rows, np.where(rng.random(60) > 0.5, 1.0, -1.0), noise_sd=0.0)
    assert not found.converged
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.covariance).all()


def test_bounds_hold_of_a_prior_that_is_fixed_and_count_every_row():
    rows = np.random.default_rng(0).normal(size=(400, 2))
    again = np.concatenate([rows, rows])
    fixed = BayesPointClassifier(noise_sd=0.02, standardise=False).fit(again, again[:, 0] > 0)
    found = fixed.bounds()
    price = 2 * np.log(800) + np.log(20.0) + 1
    assert found.evidence == pytest.approx(2 / 800 * (price - fixed.log_evidence_))
    assert "if" not in found.words.split(), found.words
    with pytest.raises(InvalidInputError, match="gamma=-1"):
        BayesPointClassifier(gamma=-0.9).fit(rows, rows.sum(axis=1) > rows[::-1, 0]).bounds()


def test_left_out_scores_of_a_fit_go_on_in_streams_and_parts(model):
    merged = model.merge([model])
    assert merged.loo_error_ == pytest.approx(model.loo_error_)
    assert merged.loo_log_loss_ == pytest.approx(model.loo_log_loss_)


@pytest.mark.parametrize("rule", ["support", "alpha"])
def test_another_gamma_is_fitted_again_to_the_kept_rows_only(rule):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(80, 2))
    labels = rows[:, 0] + 0.3 * rng.normal(size=80) > 0
    options = {"gamma": -0.5, "noise_sd": 1.0, "standardise": False}
    found = BayesPointClassifier(**options, sparsify=rule).fit(rows, labels)
    kept = found.support_
    assert 2 < len(kept) < 80
    design = np.column_stack([rows, np.ones(80)])
    alone = gamma_ep(design[kept], np.where(labels[kept], 1.0, -1.0), gamma=-0.5)
    assert_allclose(found.coef_[0], alone.mean[:2], rtol=1e-9)


def test_a_forgetful_stream_takes_new_units_after_each_half_life():
    """Columns that become a thousand times as wide far from a power of two."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6000, 2))
    labels = rows[:, 0] + 0.3 * rng.normal(size=6000) > 0
    rows[4500:] *= 1000.0
    stream = BayesPointClassifier(half_life=100, noise_sd=1.0)
    stream.partial_fit(rows[:4500], labels[:4500]).partial_fit(rows[4500:5500], labels[4500:5500])
    fresh = BayesPointClassifier(half_life=100, noise_sd=1.0)
    fresh.partial_fit(rows[4500:5500], labels[4500:5500])
    assert_allclose(stream.predict_proba(rows[5500:]), fresh.predict_proba(rows[5500:]), atol=0.02)


def test_great_weights_in_a_stream_take_no_longer_than_a_thousand_rows():
    heavy = BayesPointClassifier()
    heavy.partial_fit(ROWS[:20], LABELS[:20], sample_weight=np.full(20, 1e9))
    assert np.isfinite(heavy.log_evidence_)


def test_matrices_that_are_no_kernels_are_refused():
    rng = np.random.default_rng(0)
    rough = rng.normal(size=(40, 40))
    y = np.arange(40) % 2
    with pytest.raises(InvalidInputError, match="symmetric"):
        BayesPointClassifier("precomputed").fit(rough, y)
    with pytest.raises(InvalidInputError, match="positive semi-definite"):
        BayesPointClassifier("precomputed").fit(rough + rough.T, y)
    nothing = BayesPointClassifier("precomputed").fit(np.zeros((40, 40)), y)
    assert_allclose(nothing.predict_proba(np.zeros((1, 40))), 0.5, atol=1e-6)
