import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from parsimon.inference.likelihoods import (
    mills_ratio,
    power_tilted,
    probit_log_normaliser,
    probit_tilted,
)
from parsimon.inference.posterior import Latent

means = st.floats(-30, 30)
variances = st.floats(-4, 4).map(lambda exponent: 10.0**exponent)
signs = st.sampled_from([-1.0, 1.0])
powers = st.floats(0.01, 1.0)


def integrate(mean, variance, sign, power):
    """Return log normaliser, mean and variance of Phi^power times a Gaussian, on a fine grid.

    The trapezoidal rule converges exponentially for a smooth density that vanishes at both ends.
    """
    sd = np.sqrt(variance)
    wide = np.linspace(mean - 40 * max(sd, 1), mean + 40 * max(sd, 1), 100_001)
    logs = power * norm.logcdf(sign * wide) + norm.logpdf(wide, mean, sd)
    inside = wide[logs > logs.max() - 45]
    step = wide[1] - wide[0]
    grid = np.linspace(inside[0] - step, inside[-1] + step, 20_001)
    logs = power * norm.logcdf(sign * grid) + norm.logpdf(grid, mean, sd)
    density = np.exp(logs - logs.max())
    first = density @ grid / density.sum()
    second = density @ (grid - first) ** 2 / density.sum()
    return logs.max() + np.log(density.sum() * (grid[1] - grid[0])), first, second


@given(means, variances, signs)
def test_tilted_moments_have_the_closed_form(mean, variance, sign):
    cavity = Latent(np.array([mean]), np.array([variance]))
    y = np.array([sign])
    one = np.ones(1)
    log_normaliser, tilted = power_tilted(cavity, y, one)
    np.testing.assert_allclose(
        log_normaliser, probit_log_normaliser(cavity, y), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(tilted.slope, probit_tilted(cavity, y).slope, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(
        variance * tilted.curvature, variance * probit_tilted(cavity, y).curvature, atol=1e-9
    )


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("power", [0.03, 0.5, 0.9])
@pytest.mark.parametrize(
    ("mean", "variance"), [(0.0, 1.0), (2.0, 0.01), (-3.0, 9.0), (10.0, 400.0), (-60.0, 900.0)]
)
def test_moments_of_a_power_are_those_on_a_fine_grid(mean, variance, sign, power):
    log_normaliser, (slope, curvature) = power_tilted(
        Latent(np.array([mean]), np.array([variance])), np.array([sign]), np.array([power])
    )
    mass, first, second = integrate(mean, variance, sign, power)
    assert log_normaliser[0] == pytest.approx(mass, rel=1e-8, abs=1e-9)
    assert mean + variance * slope[0] == pytest.approx(first, abs=1e-7 * np.sqrt(variance))
    assert variance - variance**2 * curvature[0] == pytest.approx(second, rel=1e-7)


@given(means, variances, signs, powers)
def test_derivatives_belong_to_the_normaliser(mean, variance, sign, power):
    step = 1e-3 * min(1.0, np.sqrt(variance))
    three = Latent(mean + step * np.array([-1.0, 0.0, 1.0]), np.full(3, variance))
    logs, (slope, curvature) = power_tilted(three, np.full(3, sign), np.full(3, power))
    assert (logs[2] - logs[0]) / (2 * step) == pytest.approx(slope[1], rel=1e-4, abs=1e-5)
    assert (slope[2] - slope[0]) / (2 * step) == pytest.approx(-curvature[1], rel=1e-4, abs=1e-5)
    assert curvature.min() >= 0
    assert np.max(variance * curvature) < 1


def test_ratio_and_logarithm_do_not_overflow():
    ratio = mills_ratio(np.array([-1e8, -50.0, 0.0, 50.0, 1e8]))
    np.testing.assert_allclose(ratio, [1e8, 50.01998, 0.7978846, 0, 0], rtol=1e-6)
    far = Latent(np.array([-1e5]), np.array([1.0]))
    assert probit_log_normaliser(far, np.ones(1))[0] == pytest.approx(-2.5e9, rel=1e-6)
