"""Probabilities: calibrated, coupled, and always in agreement with the predicted class."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from sklearn.datasets import make_classification, make_moons

from parsimon.svm._dual import solve
from parsimon.svm._pairs import (
    Slopes,
    agree,
    couple,
    fit_slopes,
    pair_classes,
    unseen_decisions,
)
from parsimon.svm.classifier import EvolutionarySVC
from tests.svm.duals import random_dual

seeds = st.integers(0, 10_000)
numbers = st.floats(-1e3, 1e3, allow_nan=False)


@given(st.lists(numbers, min_size=1, max_size=8), st.floats(1e-12, 1e6), st.floats(1e-12, 1e6))
def test_a_probability_is_above_half_exactly_where_the_decision_is_above_zero(
    decisions, above, below
):
    values = np.array(decisions)
    p = Slopes(above, below).probability(values)
    assert ((p > 0.5) == (values > 0)).all()
    assert ((p < 0.5) == (values < 0)).all()
    order = np.argsort(values)
    assert (np.diff(p[order]) >= 0).all()


@given(seeds, st.floats(0.0, 4.0))
def test_slopes_have_the_greatest_likelihood_for_their_number(seed, steepness):
    rng = np.random.default_rng(seed)
    decisions = rng.normal(0.4, 1.5, size=60)
    signs = np.where(rng.random(60) < expit(steepness * decisions), 1.0, -1.0)
    weights = rng.uniform(0.5, 2, size=60)
    if np.unique(signs).size < 2:
        return
    n_positive, n_negative = weights[signs > 0].sum(), weights[signs < 0].sum()
    targets = np.where(signs > 0, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    found = fit_slopes(decisions, signs, weights)

    def loss(log_above, log_below):
        score = np.exp(np.where(decisions > 0, log_above, log_below)) * decisions
        return float(weights @ (np.logaddexp(0, score) - targets * score))

    def least(function):
        return minimize_scalar(
            function, bounds=(-8, 8), method="bounded", options={"xatol": 1e-9}
        ).fun

    none = float(np.log(2) * weights.sum())
    one = least(lambda slope: loss(slope, slope))
    two = least(lambda slope: loss(slope, 0.0)) + least(lambda slope: loss(0.0, slope))
    two -= loss(0.0, 0.0)
    best = min(none, one + 1, two + 2)
    n_slopes = len({*found}) if max(found) > 0.01 else 0
    assert loss(*np.log(found)) + n_slopes <= best + 0.02


def test_decisions_that_say_nothing_are_not_believed():
    rng = np.random.default_rng(0)
    flat = 0
    for _ in range(50):
        signs = np.where(np.arange(100) < 50, 1.0, -1.0)
        found = fit_slopes(rng.normal(size=100), signs, np.ones(100))
        flat += max(found) < 0.01
    assert flat > 35


def test_a_side_without_rows_takes_the_slope_of_the_other():
    found = fit_slopes(np.array([1.0, 2.0]), np.array([1.0, -1.0]), np.ones(2))
    assert found.above == found.below
    nothing = fit_slopes(np.zeros(2), np.array([1.0, -1.0]), np.ones(2))
    assert nothing == Slopes(1.0, 1.0)


def test_decisions_that_are_always_wrong_give_flat_but_rising_probabilities():
    decisions, signs = np.array([-1.0, -2.0, 1.0, 2.0]), np.array([1.0, 1.0, -1.0, -1.0])
    found = fit_slopes(decisions, signs, np.ones(4))
    assert 0 < found.above < 0.01
    assert 0 < found.below < 0.01


@settings(max_examples=15)
@given(seeds, st.integers(3, 5))
def test_coupling_minimises_wu_lin_and_weng(seed, n_classes):
    rng = np.random.default_rng(seed)
    pairs = pair_classes(n_classes)
    r = rng.uniform(0.05, 0.95, size=len(pairs))
    p = couple(r[None], n_classes)[0]
    assert p.sum() == pytest.approx(1.0)
    assert (p >= 0).all()

    def loss(q):
        return sum(
            ((1 - r[k]) * q[first] - r[k] * q[second]) ** 2
            for k, (first, second) in enumerate(pairs)
        )

    start = np.full(n_classes, 1 / n_classes)
    best = minimize(
        loss,
        start,
        bounds=[(0, 1)] * n_classes,
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
        options={"ftol": 1e-14},
    )
    assert loss(p) <= best.fun + 1e-9


@given(seeds, st.integers(3, 5))
def test_coupling_recovers_consistent_probabilities(seed, n_classes):
    p = np.random.default_rng(seed).dirichlet(np.ones(n_classes)) * 0.9 + 0.1 / n_classes
    r = np.array([[p[first] / (p[first] + p[second]) for first, second in pair_classes(n_classes)]])
    np.testing.assert_allclose(couple(r, n_classes)[0], p, atol=1e-8)


@given(seeds, st.booleans())
def test_agreement_is_reached_by_the_nearest_probabilities(seed, ties):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(4), size=5)
    if ties:
        p = np.round(2 * p) / 2
        p = (p + 0.25) / (p + 0.25).sum(axis=1, keepdims=True)
    winners = rng.integers(4, size=5)
    agreed = agree(p, winners)
    np.testing.assert_array_equal(agreed.argmax(axis=1), winners)
    np.testing.assert_allclose(agreed.sum(axis=1), 1.0)
    same = p.argmax(axis=1) == winners
    np.testing.assert_array_equal(agreed[same], p[same])
    for row, winner, found in zip(p, winners, agreed, strict=True):
        # Any other point of that kind, such as this mixture, is further away.
        corner = np.eye(4)[winner]
        share = next(
            s for s in np.linspace(0, 1, 1001) if (1 - s) * row[winner] + s >= ((1 - s) * row).max()
        )
        mixture = (1 - share) * row + share * corner
        assert np.linalg.norm(found - row) <= np.linalg.norm(mixture - row) + 1e-6


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_the_greatest_probability_is_always_the_predicted_class(n_classes, class_weight):
    for seed in range(3):
        X, y = make_classification(
            60,
            4,
            n_informative=4,
            n_redundant=0,
            n_classes=n_classes,
            n_clusters_per_class=1,
            flip_y=0.3,
            weights=[0.6, *[0.4 / (n_classes - 1)] * (n_classes - 1)],
            random_state=seed,
        )
        model = EvolutionarySVC(
            5.0, probability=True, class_weight=class_weight, random_state=seed
        ).fit(X, y)
        new = np.random.default_rng(seed).normal(scale=2, size=(500, 4))
        p = model.predict_proba(new)
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(new))
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(new)), p)
        far = 1e6 * new
        np.testing.assert_array_equal(
            model.classes_[model.predict_proba(far).argmax(axis=1)], model.predict(far)
        )


def test_probabilities_are_calibrated_and_ranked_as_decisions():
    X, y = make_moons(1200, noise=0.35, random_state=0)
    model = EvolutionarySVC(probability=True, random_state=0).fit(X[:400], y[:400])
    p = model.predict_proba(X[400:])[:, 1]
    confident = np.abs(p - 0.5) > 0.35
    right = model.predict(X[400:]) == y[400:]
    assert right[confident].mean() == pytest.approx(
        np.maximum(p, 1 - p)[confident].mean(), abs=0.04
    )
    assert right.mean() == pytest.approx(np.maximum(p, 1 - p).mean(), abs=0.04)
    order = np.argsort(model.decision_function(X[400:]))
    assert (np.diff(p[order]) >= 0).all()


def test_probabilities_follow_the_seed_alone():
    X, y = make_classification(60, 6, n_informative=4, n_classes=3, random_state=0)
    with parallel_config(backend="threading"):
        fits = [
            EvolutionarySVC(probability=True, random_state=seed, n_jobs=n_jobs).fit(X, y)
            for seed, n_jobs in ((0, None), (0, 2), (1, None))
        ]
    first, parallel, other = (model.predict_proba(X) for model in fits)
    np.testing.assert_array_equal(first, parallel)
    assert (first != other).any()


def test_there_are_none_unless_asked_for():
    X, y = make_moons(20, random_state=0)
    model = EvolutionarySVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        _ = model.predict_proba


def test_decisions_for_calibration_come_from_machines_that_have_not_seen_the_row():
    dual = random_dual(0, n=30, C=1e6)
    seen = dual.scores(cross_alpha(dual))

    def machine(part, seed):
        found = solve(part)
        return found.alpha, found.bias

    held_out = unseen_decisions(dual, np.ones(30), machine, np.random.SeedSequence(0))
    # Labels are random here: a machine with a large C has learnt them by heart.
    assert (np.sign(seen) == dual.signs).mean() > 0.95
    assert (np.sign(held_out) == dual.signs).mean() < 0.8


def cross_alpha(dual):
    return solve(dual).alpha


def test_a_class_of_one_row_is_calibrated_on_what_was_seen():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 0, 1]
    model = EvolutionarySVC(probability=True, random_state=0).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))


def test_copies_of_a_row_are_not_all_left_out_at_once():
    # Four kinds of row, of which those in one corner are positive in three of four cases.
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(400, 2)).astype(float)
    chance = np.where(X.all(axis=1), 0.75, 0.1)
    y = rng.random(400) < chance
    model = EvolutionarySVC(probability=True, random_state=0).fit(X, y)
    p = model.predict_proba([[1.0, 1.0], [0.0, 0.0]])[:, 1]
    np.testing.assert_allclose(p, [0.75, 0.1], atol=0.08)


def _numbered(dual):
    """Write the number of each row on the diagonal, so that parts tell which rows they have."""
    return replace(dual, kernel=dual.kernel + np.diag(np.arange(len(dual)) / 1000))


def _rows(part):
    return np.round(1000 * (np.diagonal(part.kernel) - 1)).astype(int)


def test_a_row_that_stands_for_several_is_left_out_a_part_at_a_time():
    dual = _numbered(random_dual(1, n=12))
    counts = np.array([1.0, 2.0, 3.0, 7.0] * 3)
    left_to_learn = np.zeros(12)

    def machine(part, _):
        left_to_learn[_rows(part)] += part.upper
        return np.zeros(len(part)), 1.0

    decisions = unseen_decisions(dual, counts, machine, np.random.SeedSequence(0))
    # Each copy is missing once, so that all folds but one learn from it.
    np.testing.assert_allclose(left_to_learn, 4 * dual.upper)
    np.testing.assert_allclose(decisions, 1.0)


def test_decisions_of_rows_left_out_are_those_of_machines_of_the_others():
    dual, parts = _numbered(random_dual(2, n=20)), []

    def machine(part, _):
        found = solve(part)
        parts.append((part, found.alpha, found.bias))
        return found.alpha, found.bias

    decisions = unseen_decisions(dual, np.ones(20), machine, np.random.SeedSequence(0))
    seen = np.zeros(20, dtype=int)
    for part, alpha, bias in parts:
        kept = _rows(part)
        left = np.setdiff1d(np.arange(20), kept)
        seen[left] += 1
        told = dual.kernel[np.ix_(left, kept)] @ (alpha * dual.signs[kept]) + bias
        np.testing.assert_allclose(decisions[left], told)
    np.testing.assert_array_equal(seen, 1)
