import numpy as np
import pytest
from scipy.stats import norm

from parsimon.gp import fit_classifier, fit_regressor
from parsimon.inference.posterior import Latent
from parsimon.kernels import Constant, Linear, Periodic, SquaredExponential
from parsimon.statistician.families.gp._variables import (
    Direction,
    direction_of,
    drawn_direction,
    line_of,
    step_direction,
)

SEED = np.random.SeedSequence(5)


def straight_line(slope, deviation, places):
    """Return a line through zero whose slope is normal: the direction has a closed form."""
    return Latent(slope * places, deviation**2 * np.outer(places, places))


@pytest.mark.parametrize(("slope", "deviation"), [(0.5, 1.0), (-1.0, 0.8), (2.0, 1.0)])
def test_the_draws_of_a_line_rise_as_often_as_its_slope_is_positive(slope, deviation):
    latent = straight_line(slope, deviation, np.linspace(1, 4, 40))
    found = drawn_direction(latent, np.random.default_rng(1), n_draws=4000)
    assert found.rising == pytest.approx(norm.cdf(slope / deviation), abs=0.025)
    assert found.falling == pytest.approx(norm.cdf(-slope / deviation), abs=0.025)


def test_a_response_that_is_increasing_changes_no_line_but_hides_what_it_flattens():
    places = np.linspace(-1, 1, 40)
    line = straight_line(0.7, 1.0, places)
    plain = drawn_direction(line, np.random.default_rng(1))
    assert drawn_direction(line, np.random.default_rng(1), response=norm.cdf) == plain
    turning = Latent(8 * places - 12 * np.maximum(places - 0.6, 0), np.zeros((40, 40)))
    assert drawn_direction(turning, np.random.default_rng(1)).shape == "turning"
    assert drawn_direction(turning, np.random.default_rng(1), response=norm.cdf).shape == "rising"


def test_draws_depend_on_the_generator_and_on_nothing_else():
    latent = straight_line(0.5, 1.0, np.linspace(1, 4, 40))
    again = [drawn_direction(latent, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert again[0] == again[1] != again[2]


def test_the_step_between_two_values_is_a_normal_distribution_function():
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    found = step_direction(Latent(np.array([1.0, 1.7]), covariance))
    assert found.rising == pytest.approx(norm.cdf(0.7 / np.sqrt(2.0)))
    assert found.rising + found.falling == pytest.approx(1.0)
    assert step_direction(Latent(np.array([1.0, 0.0]), np.zeros((2, 2)))) == (0.0, 1.0)
    assert step_direction(Latent(np.ones(2), np.zeros((2, 2)))) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("rising", "falling", "shape"),
    [
        (0.9, 0.0, "rising"),
        (0.0, 0.9, "falling"),
        (0.899, 0.05, "unclear"),
        (0.0999, 0.0, "turning"),
        (0.1, 0.0, "unclear"),
        (0.0, 0.1, "unclear"),
    ],
)
def test_shapes_change_at_the_thresholds(rising, falling, shape):
    assert Direction(rising, falling).shape == shape


def test_an_indicator_is_exact_and_ignores_the_seed():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 40), rng.normal(size=40)]).astype(float)
    y = np.where(rng.random(40) < 0.35 + 0.3 * X[:, 0], 1.0, -1.0)
    posterior = fit_classifier(SquaredExponential(0), X, y, optimise=False).posterior
    found = direction_of(posterior, posterior.kernel, 0, X[:, 0], seed=SEED)
    other = direction_of(posterior, posterior.kernel, 0, X[:, 0], seed=np.random.SeedSequence(9))
    assert found == other
    mean, covariance = posterior.latent(np.array([[0.0, 9], [1, 9]]), covariance=True)
    spread = np.sqrt(np.array([-1, 1]) @ covariance @ np.array([-1, 1]))
    assert found.rising == pytest.approx(norm.cdf((mean[1] - mean[0]) / spread))
    assert 0.5 < found.rising < 1


def test_the_slope_of_a_linear_regression_has_the_textbook_posterior():
    rng = np.random.default_rng(3)
    x = rng.normal(size=25)
    y = 0.05 * x + rng.normal(size=25)
    noise, variance = 1.0, 2.0
    posterior = fit_regressor(
        Linear(0, variance=variance), x[:, None], y, noise_variance=noise, optimise=False
    ).posterior
    found = direction_of(posterior, posterior.kernel, 0, x, seed=SEED)
    precision = x @ x / noise + 1 / variance
    assert found.rising == pytest.approx(norm.cdf(x @ y / noise / np.sqrt(precision)))


def test_draws_of_a_posterior_agree_with_the_closed_form_of_its_line():
    """The sum of a line and a constant, drawn at many places, is the exact line."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=30)
    y = np.where(x + 2 * rng.normal(size=30) > 0, 1.0, -1.0)
    kernel = Constant() + Linear(0)
    posterior = fit_classifier(kernel, x[:, None], y, optimise=False).posterior
    exact = direction_of(posterior, kernel, 0, x, seed=SEED)
    places = np.linspace(x.min(), x.max(), 40)[:, None]
    drawn = drawn_direction(
        posterior.latent(places, covariance=True), np.random.default_rng(0), n_draws=4000
    )
    assert 0.5 < exact.rising < 0.999
    assert drawn.rising == pytest.approx(exact.rising, abs=0.02)


def test_the_outer_parts_of_the_range_are_not_judged():
    """The function turns back in the outer tenth at each end."""
    x = np.linspace(0, 10, 81)
    y = np.where(x < 1, 2 - x, np.where(x > 9, 18 - x, x)) - 5
    posterior = fit_regressor(
        SquaredExponential(0, lengthscale=0.7, variance=9.0),
        x[:, None],
        y,
        noise_variance=1e-3,
        optimise=False,
    ).posterior
    everywhere = drawn_direction(
        posterior.latent(x[:, None], covariance=True), np.random.default_rng(0)
    )
    inside = direction_of(posterior, posterior.kernel, 0, x, seed=SEED)
    assert everywhere.shape == "turning"
    assert inside.shape == "rising"


def test_the_draws_belong_to_the_seed_and_the_column():
    x = np.random.default_rng(0).normal(size=40)
    X, y = np.column_stack([x, x]), np.where(np.arange(40) % 3 > 0, 1.0, -1.0)
    found = []
    for column, seed in (
        (0, SEED),
        (0, SEED),
        (1, SEED),
        (0, np.random.SeedSequence(5, spawn_key=(1,))),
    ):
        kernel = SquaredExponential(column)
        posterior = fit_classifier(kernel, X, y, optimise=False).posterior
        found.append(direction_of(posterior, kernel, column, x, seed=seed))
    assert found[0] == found[1]
    assert len(set(found)) == 3


def test_the_level_of_the_other_parts_decides_what_is_flat():
    """A dip matters near an even chance; where the class is sure anyway it does not."""
    x = np.linspace(-1, 1, 80)
    kernel = SquaredExponential(0, lengthscale=0.4, variance=4.0)
    signs = np.where(x > -0.3, 1.0, -1.0)
    signs[(x > 0.3) & (np.arange(80) % 3 == 0)] = -1.0
    posterior = fit_classifier(kernel, x[:, None], signs, optimise=False).posterior
    rises = [
        direction_of(posterior, kernel, 0, x, seed=SEED, level=level).rising for level in (0.0, 4.0)
    ]
    assert rises[0] < 0.1 < 0.8 < rises[1]


def test_a_line_is_told_from_other_kernels():
    assert line_of(Linear(1)) == Linear(1)
    assert line_of(Constant(2.0) + Linear(1)) == Linear(1)
    assert line_of(Linear(0) + Linear(1)) is None
    assert line_of(Constant() + Periodic(0)) is None
    assert line_of(Constant()) is None
