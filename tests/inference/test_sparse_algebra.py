"""The algebra of one column and of all precisions, against models that are fitted anew."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.inference.sparse_bayes._moves import (
    add_column,
    best_gain,
    climb_together,
    deletion_gains,
    drop,
    exchange,
    greedy_picks,
    make_surrogate,
    move,
    prune,
)
from parsimon.inference.sparse_bayes.design import scaled_columns
from parsimon.inference.sparse_bayes.fast import Budget, Climber, climb
from parsimon.inference.sparse_bayes.sequential import BernoulliProblem, GaussianProblem

KINDS = ["regression", "known noise", "classes"]
SMOOTHNESS = [0.0, 1.7]


def make(kind, smoothness, n=30, m=9, seed=0):
    """Return a problem with scaled columns and a fit of four of them."""
    rng = np.random.default_rng(seed)
    design, weights = rng.normal(size=(n, m)), rng.integers(0, 4, n).astype(float)
    columns = scaled_columns(design, weights)
    signal = design[:, 0] - design[:, 1] + 0.5 * rng.normal(size=n)
    if kind == "classes":
        problem = BernoulliProblem(columns, (signal > 0).astype(float), weights, smoothness)
    else:
        noise = 0.2 if kind == "known noise" else None
        problem = GaussianProblem(columns, signal, weights, smoothness, noise)
    active = np.array([0, 4, 2, 7])
    theta = np.append([0.3, -0.5, 1.0, 2.0], [0.8] if kind == "regression" else [])
    return problem, fitted(problem, active, theta)


def fitted(problem, active, theta):
    return problem.evaluate(active, theta, problem.take(active), np.zeros(len(active)))


def differences(function, theta, step=1e-5):
    """Return the central differences of a function of theta, scalar or vector."""
    moves = step * np.eye(len(theta))
    return np.array([(function(theta + e) - function(theta - e)) / (2 * step) for e in moves])


@pytest.mark.parametrize("smoothness", SMOOTHNESS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_that_of_central_differences(kind, smoothness):
    problem, fit = make(kind, smoothness)
    expected = differences(lambda t: fitted(problem, fit.active, t).objective, fit.theta)
    np.testing.assert_allclose(fit.gradient, expected, atol=1e-6)


@pytest.mark.parametrize("smoothness", SMOOTHNESS)
@pytest.mark.parametrize("kind", ["regression", "known noise"])
def test_the_hessian_is_that_of_central_differences(kind, smoothness):
    problem, fit = make(kind, smoothness)
    expected = differences(lambda t: fitted(problem, fit.active, t).gradient, fit.theta)
    np.testing.assert_allclose(fit.hessian, expected, atol=1e-6)


def test_the_hessian_of_classification_knows_that_b_moves():
    problem, fit = make("classes", 0.0)
    expected = differences(lambda t: fitted(problem, fit.active, t).gradient, fit.theta)
    np.testing.assert_allclose(fit.hessian, expected, atol=1e-8)


@pytest.mark.parametrize("smoothness", SMOOTHNESS)
def test_gains_of_additions_are_those_of_larger_models(smoothness):
    problem, fit = make("known noise", smoothness)
    sweep = problem.sweep(fit)
    gains, alphas = sweep.additions()
    assert (gains[fit.active] == 0).all()
    assert (gains > 0).any()
    for place in np.flatnonzero(gains):
        larger = add_column(problem, fit, sweep, int(place), float(alphas[place]))
        assert larger.objective - fit.objective == pytest.approx(gains[place], abs=1e-8)
        assert larger.gradient[-1] == pytest.approx(0, abs=1e-8)
    for place in np.flatnonzero((gains == 0) & ~sweep.inside):
        firm = add_column(problem, fit, sweep, int(place), 1e6)
        assert firm.objective < fit.objective


@pytest.mark.parametrize("smoothness", SMOOTHNESS)
@pytest.mark.parametrize("kind", ["regression", "known noise"])
def test_gains_of_deletions_are_those_of_smaller_models(kind, smoothness):
    problem, fit = make(kind, smoothness)
    for place, gain in enumerate(deletion_gains(fit, smoothness)):
        fewer = drop(problem, fit, np.arange(4) == place)
        assert fewer.objective - fit.objective == pytest.approx(gain, abs=1e-8)


@pytest.mark.parametrize("smoothness", SMOOTHNESS)
def test_gains_of_exchanges_are_those_of_other_models(smoothness):
    problem, fit = make("known noise", smoothness)
    sweep = problem.sweep(fit)
    gains = sweep.exchanges(fit)
    assert gains.shape == (9, 4)
    for leaving in range(4):
        part = drop(problem, fit, np.arange(4) == leaving)
        best, _ = problem.sweep(part).additions()
        outside = ~sweep.inside
        expected = part.objective + best - fit.objective
        np.testing.assert_allclose(gains[outside, leaving], expected[outside], atol=1e-8)


def test_an_exchange_is_the_model_that_it_promises():
    problem, fit = make("known noise", 0.0)
    sweep = problem.sweep(fit)
    gains = sweep.exchanges(fit)
    place, leaving = np.unravel_index(np.argmax(gains), gains.shape)
    other = exchange(problem, fit, sweep, int(place), int(leaving))
    assert other.active[leaving] == place
    assert other.objective - fit.objective == pytest.approx(gains[place, leaving], abs=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_guessed_weights_are_those_of_the_mode_where_the_curvature_stays(kind):
    problem, fit = make(kind, 0.0)
    seen = []

    class Recorder(type(problem)):
        def evaluate(self, active, theta, columns, guess):
            seen.append((guess, fitted(problem, active, theta).weights))
            return fitted(problem, active, theta)

    recorder = Recorder(**vars_of(problem))
    sweep = problem.sweep(fit)
    move(recorder, fit, fit.theta + 0.1 * (np.arange(len(fit.theta)) < 4))
    drop(recorder, fit, np.arange(4) == 1)
    add_column(recorder, fit, sweep, 1, 3.0)
    tol = 0.4 if kind == "classes" else 1e-9
    for guess, weights in seen:
        np.testing.assert_allclose(guess, weights, atol=tol)


def vars_of(problem):
    return {field.name: getattr(problem, field.name) for field in fields(problem)}


@pytest.mark.parametrize("smoothness", SMOOTHNESS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_gaussian_model_has_the_slope_of_the_truth(kind, smoothness):
    problem, fit = make(kind, smoothness)
    others = np.hstack([fit.columns, problem.take(np.array([1, 3]))])
    model, same = make_surrogate(fit, others, problem.precisions, smoothness)
    np.testing.assert_allclose(same.gradient, fit.gradient[:4], atol=1e-9)
    np.testing.assert_allclose(same.weights, fit.weights, atol=1e-9)
    exact = problem.sweep(fit, np.array([1, 3]))
    ours = model.sweep(same, np.array([4, 5]))
    np.testing.assert_allclose(ours.quality, exact.quality, rtol=1e-8)
    np.testing.assert_allclose(ours.sparsity, exact.sparsity, rtol=1e-8)
    expected = differences(
        lambda t: model.evaluate(same.active, t, same.columns).objective, same.theta
    )
    np.testing.assert_allclose(same.gradient, expected, atol=1e-6)


def test_with_a_fixed_likelihood_the_gaussian_model_is_the_truth():
    problem, fit = make("known noise", 0.0)
    model, same = make_surrogate(fit, fit.columns, problem.precisions, 0.0)
    theta = fit.theta + np.array([0.5, -1.0, 0.2, 0.1])
    ours = model.evaluate(same.active, theta, same.columns)
    gain = fitted(problem, fit.active, theta).objective - fit.objective
    assert ours.objective - same.objective == pytest.approx(gain, abs=1e-9)


def test_greedy_picks_are_scored_in_the_growing_model():
    problem, fit = make("known noise", 0.0, n=60, m=20)
    rest = np.setdiff1d(np.arange(20), fit.active)
    together = np.hstack([fit.columns, problem.take(rest)])
    model, here = make_surrogate(fit, together, problem.precisions, 0.0)
    picks, alphas = greedy_picks(model, here, 0.0, 6)
    assert len(picks) > 1

    class OpenModel(type(model)):
        def take(self, indices):
            return np.empty((0, len(indices)))

    model = OpenModel(**vars_of(model))
    grown = here
    for pick, alpha in zip(picks, alphas, strict=True):
        sweep = model.sweep(grown)
        gains, best = sweep.additions()
        assert pick == np.argmax(gains)
        assert alpha == pytest.approx(best[pick])
        grown = add_column(model, grown, sweep, int(pick), float(alpha))


@given(st.floats(1e-3, 1e3), st.floats(0, 1e4))
def test_the_best_precision_is_a_maximum(sparsity, squared):
    gain, alpha = best_gain(np.array([sparsity]), np.array([squared]))

    def value(precision):
        inner = squared / (precision + sparsity)
        return 0.5 * (np.log(precision / (precision + sparsity)) + inner)

    if squared <= sparsity:
        assert gain[0] == 0
        assert alpha[0] == np.inf
    else:
        assert value(alpha[0]) == pytest.approx(gain[0], rel=1e-6, abs=1e-9)
        assert value(2 * alpha[0]) <= gain[0] + 1e-9
        assert value(alpha[0] / 2) <= gain[0] + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_steps_go_uphill_and_a_climb_ends_where_nothing_can_be_gained(kind):
    problem, fit = make(kind, 0.0, n=60, m=20)
    moved, foreseen = climb_together(problem, fit)
    assert foreseen > 0
    assert moved.objective > fit.objective
    assert prune(problem, moved).objective >= moved.objective
    climber = Climber(problem, Budget(1e-3, 1000, np.inf), problem.empty().objective)
    top = climb(climber, fit)
    assert top.objective > moved.objective
    gains, _ = problem.sweep(top).additions()
    assert gains.max() <= climber.worth(top)
    assert deletion_gains(top, 0.0).max() <= 0


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_columns_are_scaled_without_touching_the_design(monkeypatch, precision, order):
    monkeypatch.setattr("parsimon.inference.sparse_bayes.design._SMALL", 7)
    monkeypatch.setattr("parsimon.inference.sparse_bayes.design._LARGE", 7)
    rng = np.random.default_rng(0)
    design = np.asarray(rng.normal(size=(11, 4)) * [1.0, 1e8, 1e-8, 0.0], precision, order=order)
    design.flags.writeable = False
    weights = rng.random(11)
    columns = scaled_columns(design, weights)
    assert columns.design is design
    np.testing.assert_array_equal(columns.usable, [True, True, True, False])
    scaled = design.astype(float) / columns.scale
    np.testing.assert_allclose(weights @ scaled[:, :3] ** 2, weights.sum())
    np.testing.assert_allclose(columns.take(np.array([2, 0])), scaled[:, [2, 0]])
    right = rng.normal(size=(11, 2))
    np.testing.assert_allclose(columns.project(right), scaled.T @ right, atol=1e-12)
    np.testing.assert_allclose(columns.squares(weights), weights @ scaled**2)
