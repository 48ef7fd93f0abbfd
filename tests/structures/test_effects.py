import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from parsimon.structures import Effects, LevelRows, find_structures
from parsimon.structures import _evidence as evidence
from parsimon.structures._evidence import fit_structure
from parsimon.structures._terms import LevelTerms, NumberTerms
from parsimon.structures.blocks import level_blocks, variable_blocks
from parsimon.structures.effects import Effect, WeightedFit
from parsimon.structures.posterior import Structure, log_prior


def _random(seed, n=120):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=n)


def _columns(kind, rng, n=120):
    if kind == "number with a flag":
        return np.column_stack([rng.normal(size=n), rng.random(n) < 0.2])
    if kind == "flags":
        return np.eye(4)[rng.integers(0, 4, n)][:, :3]
    if kind == "few values":
        return rng.integers(0, 4, (n, 1)).astype(float)
    return {"normal": rng.normal(size=(n, 1)), "skewed": rng.exponential(size=(n, 1)) ** 2}[kind]


@pytest.mark.parametrize("kind", ["normal", "skewed", "few values", "flags", "number with a flag"])
@pytest.mark.parametrize("filled", [False, True])
def test_the_blocks_of_a_variable_as_functions_are_those_at_the_rows(kind, filled):
    rng, y = _random(1)
    columns = _columns(kind, rng)
    doubts = rng.normal(size=(len(y), 2)) * (rng.random((len(y), 1)) < 0.3) if filled else None
    own = variable_blocks(columns, y, waves=True, doubts=doubts)
    found = NumberTerms.learn(columns, own, doubts)(columns, doubts)
    wanted = {"linear": own.line, "smooth": own.curve, "periodic": own.wave, "leading": own.leading}
    for name, block in wanted.items():
        assert (name in found) == (block is not None)
        if block is not None:
            np.testing.assert_allclose(found[name], block, atol=1e-8)


@pytest.mark.parametrize("ordered", [False, True])
def test_levels_are_found_by_their_names(ordered):
    rng, _ = _random(2)
    codes = rng.integers(-1, 6, 120)
    levels = LevelRows(codes, codes / 3 if ordered else None, tuple("abcdef"))
    columns = np.column_stack([codes == 0, codes == 1]).astype(float)
    own = level_blocks(columns, levels)
    terms = LevelTerms.learn(levels, own)
    np.testing.assert_allclose(terms(codes)["linear"], own.line)
    np.testing.assert_allclose(terms(codes)["leading"], own.leading)
    turned = LevelRows(np.where(codes < 0, -1, 5 - codes), labels=tuple("fedcba"))
    np.testing.assert_allclose(terms(turned)["linear"], own.line)
    unseen = terms(LevelRows(np.array([0, 1]), labels=("z", "a")))["linear"]
    np.testing.assert_allclose(unseen[0], 0)
    np.testing.assert_allclose(unseen[1], own.line[np.argmax(codes == 0)])


def _line_effects(x, y, task):
    """The effects of a variable under the one structure that holds it along a line."""
    own = variable_blocks(x[:, None], y, waves=False)
    fit = fit_structure({(0, "linear"): own.line}, y, task)
    terms = NumberTerms.learn(x[:, None], own, None)
    return fit, Effects(variables={0: terms}, fits=(WeightedFit.of(fit, 1.0),))


def test_one_structure_with_known_variances_is_a_dense_bayesian_regression(monkeypatch):
    """In the space of functions: f has covariance 100 + v z z', and noise is normal."""
    monkeypatch.setattr(evidence, "_Noisy", partial(evidence._Noisy, tails=1e9))
    rng, x = _random(4, n=50)
    y = 0.7 * x + rng.normal(size=50)
    y = (y - y.mean()) / y.std()
    fit, effects = _line_effects(x, y, "regression")
    variance, places = np.exp(fit.end.log_variances[0, "linear"]), np.linspace(-3, 3, 9)
    z, z_star = ((one - x.mean()) / x.std() for one in (x, places))
    inverse = np.linalg.inv(100 + variance * np.outer(z, z) + fit.end.noise * np.eye(50))
    for found, own in (
        (effects.outcome({0: places}), 100.0),
        (effects.effect({0: places}), 0.0),
    ):
        shared = own + variance * np.outer(z_star, z)
        mean = shared @ inverse @ y
        spread = own + variance * z_star**2 - np.einsum("mn,nk,mk->m", shared, inverse, shared)
        np.testing.assert_allclose(found.mean, mean, atol=1e-4)
        np.testing.assert_allclose(found.deviation, np.sqrt(np.maximum(spread, 0)), rtol=1e-4)


def test_a_band_holds_95_percent_of_its_normal_distribution():
    band = Effect(np.array([2.0, -1.0]), np.array([0.5, 3.0]))
    np.testing.assert_allclose(norm.cdf(band.low, *band), 0.025, atol=1e-5)
    np.testing.assert_allclose(norm.cdf(band.high, *band), 0.975, atol=1e-5)


@pytest.mark.parametrize("effect", [0.5, 1.5])
def test_a_band_of_classes_is_that_of_quadrature(effect):
    rng, x = _random(5, n=60)
    y = (rng.random(60) < expit(effect * x)).astype(float)
    fit, effects = _line_effects(x, y, "classification")
    variance = np.exp(fit.end.log_variances[0, "linear"])
    z = (x - x.mean()) / x.std()
    intercepts, weights = np.linspace(-4, 4, 161), np.linspace(-4, 8, 481)
    latent = intercepts[:, None, None] + weights[None, :, None] * z
    log = (y * latent - np.logaddexp(0, latent)).sum(axis=2) - intercepts[:, None] ** 2 / 200
    log -= weights**2 / (2 * variance)
    chance = np.exp(log - log.max()).sum(axis=0)
    chance /= chance.sum()
    mean = float(chance @ weights)
    deviation = float(np.sqrt(chance @ (weights - mean) ** 2))
    found = effects.effect({0: np.array([x.mean() + x.std()])})
    # Laplace's method has the mode in place of the mean.
    assert found.mean[0] == pytest.approx(mean, abs=0.25 * deviation)
    assert found.deviation[0] == pytest.approx(deviation, rel=0.1)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_effects_are_averaged_over_all_structures(task):
    """Of a variable of two values there are two: without it, and with it along a line."""
    rng = np.random.default_rng(6)
    x = (rng.random(80) < 0.5).astype(float)
    y = 0.5 * x + rng.normal(size=80)
    y = (y > 0).astype(float) if task == "classification" else (y - y.mean()) / y.std()
    found = find_structures(x[:, None], y, task)
    fit, alone = _line_effects(x, y, task)
    structures = [Structure(), Structure(((0, "linear"),))]
    logs = [
        one.log_evidence + log_prior(structure, 1, [1])
        for one, structure in zip((fit_structure({}, y, task), fit), structures, strict=True)
    ]
    chance = expit(logs[1] - logs[0])
    assert 0.02 < chance < 0.98
    own = alone.effect({0: np.array([0.0, 1.0])})
    averaged = found.effects.effect({0: np.array([0.0, 1.0])})
    np.testing.assert_allclose(averaged.mean, chance * own.mean, rtol=1e-3)
    # E f^2 is known of both structures, and nothing in one of them.
    second = chance * (own.deviation**2 + own.mean**2)
    np.testing.assert_allclose(averaged.deviation**2, second - (chance * own.mean) ** 2, rtol=1e-3)


def _searched(task, seed=7, n=300):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 3] = rng.random(n) < 0.5
    latent = X[:, 0] + 1.5 * X[:, 1] * X[:, 2] + X[:, 3]
    y = latent + rng.normal(size=n) if task == "regression" else None
    if y is None:
        y = (rng.random(n) < expit(2 * latent)).astype(float)
    return X, y, find_structures(X, y, task)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_prediction_of_rows_is_the_sum_of_effects_and_each_is_zero_on_average(task):
    X, _, found = _searched(task)
    top = replace(found.effects.fits[0], chance=1.0)
    effects = replace(found.effects, fits=(top,))
    values = found.values_of(X)
    joined = {one for join in effects.joins for one in join if join in top.names}
    assert joined == {1, 2}
    parts = [effects.effect({k: values[k]}).mean for k in values if k not in joined]
    parts.append(effects.effect({k: values[k] for k in joined}).mean)
    for part in parts:
        assert part.mean() == pytest.approx(0, abs=1e-6)
    level = effects.outcome({}).mean[0]
    whole = replace(found, effects=effects).predict(X).mean
    np.testing.assert_allclose(level + sum(parts), whole, atol=1e-8)


def test_predictions_explain_rows_that_were_not_seen():
    _, _, found = _searched("regression")
    fresh = np.random.default_rng(8).uniform(-2, 2, size=(2000, 4))
    fresh[:, 3] = fresh[:, 3] > 0
    truth = fresh[:, 0] + 1.5 * fresh[:, 1] * fresh[:, 2] + fresh[:, 3]
    predicted = found.predict(fresh)
    assert np.mean((predicted.mean - truth) ** 2) < 0.05 * truth.var()
    assert 0.7 < found.effects.noise < 1.1


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_an_outcome_turned_over_turns_curves_over(task):
    X, y, found = _searched(task, n=150)
    other = find_structures(X, 1 - y, task)
    places = np.linspace(-2, 2, 7)
    for values in ({0: places}, {1: places, 2: places[::-1]}):
        one, two = found.effects.effect(values), other.effects.effect(values)
        np.testing.assert_allclose(one.mean, -two.mean, atol=0.02)
        np.testing.assert_allclose(one.deviation, two.deviation, rtol=0.05)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_curve_is_the_mean_of_a_surface_over_the_rows_of_the_other_variable(task):
    X, _, found = _searched(task)
    other = found.effects.effect({2: X[:, 2]}).mean
    off = []
    for at in (-1.0, 0.5):
        surface = found.effects.effect({1: np.full(len(X), at), 2: X[:, 2]}).mean
        off.append((surface - other).mean() - found.effects.effect({1: np.array([at])}).mean[0])
    # The products of the rows themselves have a mean, which is the same everywhere.
    assert off[0] == pytest.approx(off[1], abs=1e-8)
    together = found.effects.effect({1: X[:, 1], 2: X[:, 2]}).mean
    assert together.mean() == pytest.approx(0, abs=1e-8)


def test_draws_have_the_moments_of_the_outcome():
    _, _, found = _searched("regression")
    values = {1: np.array([-1.0, 1.0]), 2: np.array([1.0, 1.0])}
    outcome = found.effects.outcome(values)
    drawn = found.effects.draws(values, np.random.default_rng(0), 20_000)
    np.testing.assert_allclose(drawn.mean(axis=0), outcome.mean, atol=0.01)
    np.testing.assert_allclose(drawn.std(axis=0), outcome.deviation, rtol=0.03)


def test_a_variable_without_its_columns_is_as_on_average():
    X, _, found = _searched("regression")
    kept = found.at_columns([1, 2, 3])
    without = found.effects.outcome({k: X[:, k] for k in found.effects.variables if k != 0})
    np.testing.assert_allclose(kept.predict(X[:, 1:]).mean, without.mean)


def test_effects_are_small_and_the_same_in_another_process():
    X, _, found = _searched("classification", n=600)
    packed = pickle.dumps(found)
    assert len(packed) < 400_000
    again = pickle.loads(packed)
    np.testing.assert_array_equal(again.predict(X).mean, found.predict(X).mean)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_deviation_is_the_size_of_errors(task):
    off = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(120, 2))
        latent = 1.5 * X[:, 0] + np.abs(X[:, 1])
        noise = rng.logistic(size=120)
        y = (latent + noise > 1).astype(float) if task == "classification" else latent + noise
        found = find_structures(X, y, task).effects.effect({0: np.array([1.0])})
        off.append((found.mean[0] - 1.5 * (1 - X[:, 0].mean())) / found.deviation[0])
    assert abs(np.mean(off)) < 0.45
    assert 0.8 < np.std(off) < 1.2


def test_curves_and_waves_are_followed():
    """Between two periods of the grid that waves are looked for on."""
    rng = np.random.default_rng(9)
    X = rng.uniform(-2, 2, size=(500, 3))
    y = X[:, 1] ** 2 + np.sin(12.1 * X[:, 2]) + 0.5 * rng.normal(size=500)
    effects = find_structures(X, y, "regression").effects
    grid = np.linspace(-1.9, 1.9, 60)
    for place, truth in ((1, grid**2 - np.mean(X[:, 1] ** 2)), (2, np.sin(12.1 * grid))):
        assert np.abs(effects.effect({place: grid}).mean - truth).max() < 0.2


def test_how_sure_a_period_is_widens_the_band_at_the_ends():
    rng = np.random.default_rng(10)
    X = rng.uniform(-2, 2, size=(300, 1))
    y = np.sin(12 * X[:, 0]) + 0.5 * rng.normal(size=300)
    deviation = (
        find_structures(X, y, "regression")
        .effects.effect({0: np.linspace(-1.95, 1.95, 200)})
        .deviation
    )
    assert deviation[:40].max() > 1.3 * deviation[80:120].max()
    assert deviation[-40:].max() > 1.3 * deviation[80:120].max()
