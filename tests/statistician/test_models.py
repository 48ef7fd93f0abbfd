import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_curve

from parsimon.exceptions import InvalidInputError
from parsimon.gp import Candidate
from parsimon.kernels import Constant, Linear, SquaredExponential
from parsimon.roc import auc, auc_interval, roc_hull
from parsimon.statistician.families.gp._kernel_result import model_of, posterior_of
from parsimon.statistician.measure import front_models, roc_of
from tests.statistician.questions import result_of, table

SE = SquaredExponential
NAMES = ("glucose", "age")


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(2)
    X = table(rng.normal(size=(70, 3))).set_axis(["dose", "age", "day"], axis=1)
    y = X["dose"] + 0.8 * X["age"] + 0.5 * rng.normal(size=70) > 0.2
    return result_of(X, y, depth=2)


def test_a_model_has_the_words_and_numbers_of_its_candidate():
    candidate = Candidate(
        kernel=SE(0) + SE(0) * SE(1),
        depth=3,
        parent=None,
        columns=(0, 1),
        error=0.2,
        standard_error=0.01,
        log_loss=0.5,
        log_evidence=-100.0,
        fold_log_evidences=(-70.0, -80.0),
    )
    model = model_of(candidate, NAMES)
    assert model.expression == "SE(glucose) + SE(glucose) × SE(age)"
    assert model.symbols == "SE_1 + SE_1 × SE_2"
    assert model.words == "glucose alone, plus an interaction of glucose and age"
    assert model.kind == "additive"
    assert model.variables == NAMES
    assert model.size == 3
    assert (model.error, model.standard_error, model.log_loss) == (0.2, 0.01, 0.5)
    assert (model.negative_log_evidence, model.fold_negative_log_evidence) == (100.0, 75.0)
    assert model.roc is None
    unknown = model_of(replace(candidate, fold_log_evidences=()), NAMES)
    assert math.isnan(unknown.fold_negative_log_evidence)


def test_a_constant_beside_other_terms_is_not_spoken_of():
    def of(kernel, columns):
        return model_of(Candidate(kernel=kernel, depth=1, parent=None, columns=columns), NAMES)

    both = of(Constant() + Linear(0) + SE(1), (0, 1))
    assert (both.words, both.kind) == ("glucose (linear) alone, plus age alone", "additive")
    assert of(Constant() + Linear(1), (1,)).kind == "linear"
    assert (of(Constant(), ()).words, of(Constant(), ()).kind) == ("a constant", "constant")


def test_a_curve_has_the_points_of_scikit_learn_and_the_least_scores_called_positive():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    scores = np.round(rng.random(40) * 0.8 + 0.1 * y, 2)
    curve = roc_of(y, scores)
    fpr, tpr, thresholds = roc_curve(y, scores, drop_intermediate=False)
    np.testing.assert_allclose(curve.fpr, fpr)
    np.testing.assert_allclose(curve.tpr, tpr)
    assert curve.thresholds[0] == 1.0
    np.testing.assert_array_equal(curve.thresholds[1:], thresholds[1:])
    for x, h, threshold in zip(curve.fpr, curve.tpr, curve.thresholds, strict=True):
        assert x == np.mean(scores[y == 0] >= threshold)
        assert h == np.mean(scores[y == 1] >= threshold)
    expected = auc_interval(y, scores)
    assert curve.auc.estimate == expected.auc == auc(y, scores)
    assert (curve.auc.low, curve.auc.high) == (expected.lower, expected.upper)
    assert (curve.n_positive, curve.n_negative) == (y.sum(), 40 - y.sum())


def test_no_score_reaches_the_strictest_threshold():
    curve = roc_of([0, 1], [0.3, 1.0])
    assert curve.thresholds[0] > 1.0
    assert curve.thresholds[1:] == (1.0, 0.3)


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 10, 25, 80]))
def test_a_thinned_curve_keeps_its_ends_and_its_hull(seed, most_points):
    rng = np.random.default_rng(seed)
    y = np.append(rng.integers(0, 2, 150), [0, 1])
    scores = 1 / (1 + np.exp(-rng.normal(size=152) - y))
    whole, thin = roc_of(y, scores, most_points=1000), roc_of(y, scores, most_points=most_points)
    assert len(whole.fpr) == 153
    hull = roc_hull(whole.fpr, whole.tpr)
    # Four thresholds that a report tells of stay too.
    assert len(thin.fpr) <= max(most_points, len(hull.fpr)) + 4
    assert set(zip(hull.fpr, hull.tpr, strict=True)) <= set(zip(thin.fpr, thin.tpr, strict=True))
    assert (thin.thresholds[0], thin.thresholds[-1]) == (1.0, scores.min())
    points = list(zip(whole.fpr, whole.tpr, whole.thresholds, strict=True))
    kept = [points.index(point) for point in zip(thin.fpr, thin.tpr, thin.thresholds, strict=True)]
    assert kept == sorted(set(kept))
    assert thin.auc == whole.auc
    assert roc_of(y, scores, most_points=most_points) == thin


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_the_points_that_a_report_tells_of_stay_in_a_thin_curve(share):
    rng = np.random.default_rng(8)
    y = (rng.random(3000) < share).astype(int)
    scores = np.round(1 / (1 + np.exp(-rng.normal(size=3000) - y)), 3)
    # Rows that lie on a threshold are called.
    scores[:8] = 1 / (1 + np.array([1, 5, 10, float(f"{(1 - y.mean()) / y.mean():.1g}")] * 2))
    thin = roc_of(y, scores, most_points=4)
    for threshold in scores[:4]:
        called = scores >= threshold
        point = np.mean(called[y == 0]), np.mean(called[y == 1])
        assert point in set(zip(thin.fpr, thin.tpr, strict=True))


def test_thinning_spreads_what_remains_along_the_curve():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    thin = roc_of(y, 1 / (1 + np.exp(-rng.normal(size=2000) - y)))
    way = np.add(thin.fpr, thin.tpr)
    assert 60 <= len(way) <= 84
    assert np.diff(way).max() < 0.06


def test_too_few_points_are_refused():
    with pytest.raises(InvalidInputError, match="most_points must be 2 or more, got 1"):
        roc_of([0, 1], [0.2, 0.7], most_points=1)


def test_posteriors_are_those_of_the_estimators(labelled):
    search = labelled.search
    posterior = posterior_of(search, search.best_candidate_)
    expected = search.best_estimator_.latent(labelled.question.X)
    np.testing.assert_allclose(
        posterior.latent(labelled.question.X.to_numpy()).mean, expected, atol=1e-5
    )


def test_the_posterior_of_a_number_is_that_of_its_standardised_target():
    rng = np.random.default_rng(0)
    X = table({"a": rng.normal(size=40)})
    y = 100 + 30 * X["a"] + 3 * rng.normal(size=40)
    subject = result_of(X, y, depth=1)
    posterior = posterior_of(subject.search, subject.search.best_candidate_)
    mean = y.mean() + y.std(ddof=0) * posterior.latent(X.to_numpy()).mean
    np.testing.assert_allclose(mean, subject.model.predict(X), atol=1e-3)
    found = front_models(subject)
    assert [model.roc for model in found.front] == [None] * len(found.front)
    assert found.front[0].error == pytest.approx(1.0, abs=0.1)


def test_the_front_grows_from_the_baseline_to_the_chosen_model(labelled):
    found = front_models(labelled)
    search = labelled.search
    sizes = [model.size for model in found.front]
    assert sizes == sorted(sizes)
    assert sizes[0] == 0
    assert found.front[0].error == search.baseline_.error
    assert found.front[found.chosen].error == search.best_candidate_.error
    assert found.front[found.chosen].variables == ("dose", "age")
    errors = [model.error for model in found.front]
    assert errors == sorted(errors, reverse=True)
    knee = search.front_.values[search.front_.knee()]
    assert [found.front[found.knee].error, found.front[found.knee].size] == knee.tolist()
    counts = [len(model.variables) for model in found.front_variables]
    assert counts == list(range(len(counts)))
    assert found.front_variables[0] == found.front[0]


def test_curves_of_the_front_come_from_leave_one_out(labelled):
    found = front_models(labelled)
    probability = labelled.own_predictions().ranking
    roc = found.front[found.chosen].roc
    assert roc.auc.estimate == pytest.approx(auc(labelled.question.y, probability), abs=1e-9)
    left_out = labelled.model.leave_one_out().probability[:, 1]
    np.testing.assert_allclose(probability.mean(), left_out.mean())
    assert found.front_variables[-1].roc == roc


def test_a_constant_ranks_no_row(labelled):
    roc = front_models(labelled).front[0].roc
    assert (roc.fpr, roc.tpr) == ((0.0, 1.0), (0.0, 1.0))
    assert (roc.auc.low, roc.auc.estimate, roc.auc.high) == (0.5, 0.5, 0.5)
    constant = labelled.search.front_.solution(-1)
    share = constant.predict_proba(labelled.question.X)[0, 1]
    assert roc.thresholds[1] == pytest.approx(share, abs=1e-6)
    # What leave-one-out would have said of the same constant.
    assert auc(labelled.question.y, constant.leave_one_out().probability[:, 1]) == 0.0


def test_a_chosen_model_off_the_front_joins_it_in_its_place(labelled):
    search = labelled.search
    dominated = search.first_layer_[-1]
    moved = replace(labelled, search=_choosing(search, dominated))
    before, after = front_models(labelled), front_models(moved)
    assert len(after.front) == len(before.front) + 1
    assert after.front[after.chosen].symbols == str(dominated.kernel)
    sizes = [model.size for model in after.front]
    assert sizes == sorted(sizes)
    assert after.front[after.knee] == before.front[before.knee]


def test_without_structure_the_baseline_is_chosen():
    rng = np.random.default_rng(0)
    subject = result_of(table({"a": rng.normal(size=40)}), rng.integers(0, 2, 40), depth=1)
    found = front_models(subject)
    assert not subject.search.structure_found_
    assert found.chosen == 0
    assert found.front[0].symbols == "C"


def test_a_search_on_some_rows_gives_the_curves_of_those_rows(labelled):
    rows = np.arange(0, 70, 2)
    subject = result_of(labelled.question.X, labelled.question.y, depth=1, rows=rows)
    searched = replace(subject, question=subject.question.at(rows))
    roc = front_models(searched).front[-1].roc
    assert roc.n_positive + roc.n_negative == 35


def _choosing(search, candidate):
    import copy

    changed = copy.copy(search)
    changed.best_candidate_ = candidate
    return changed
