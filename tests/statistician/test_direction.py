import numpy as np
import pytest
from scipy.stats import norm, rankdata, spearmanr

from parsimon.datasets import load
from parsimon.gp import fit_classifier, fit_regressor
from parsimon.inference.posterior import Latent
from parsimon.kernels import Constant, Linear, Periodic, SquaredExponential
from parsimon.statistician.families.gp._variables import (
    Direction,
    direction_of,
    line_of,
    slope_direction,
    turning_share,
)

SEED = np.random.SeedSequence(5)


def straight_line(slope, deviation, places):
    """Return a line through zero whose slope is normal: the direction has a closed form."""
    return Latent(slope * places, deviation**2 * np.outer(places, places))


@pytest.mark.parametrize(("slope", "deviation"), [(0.5, 1.0), (-1.0, 0.8), (2.0, 1.0)])
def test_a_line_rises_as_surely_as_its_slope_is_positive_wherever_the_rows_are(slope, deviation):
    latent = straight_line(slope, deviation, np.linspace(1, 4, 40))
    for counts in (np.ones(40), np.arange(1, 41)):
        found = slope_direction(latent, counts)
        assert found.rising == pytest.approx(norm.cdf(slope / deviation))
        assert found.rising + found.falling == pytest.approx(1.0)
    assert turning_share(latent, np.random.default_rng(0)) == 0.0


def test_the_slope_is_that_of_least_squares_over_the_ranks_of_the_rows():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 12, 60)
    mean, root = rng.normal(size=12), rng.normal(size=(12, 12))
    places, counts = np.unique(values, return_counts=True)
    latent = Latent(mean[places], (root @ root.T)[np.ix_(places, places)])
    found = slope_direction(latent, counts)
    paths = mean + np.random.default_rng(1).normal(size=(20_000, 12)) @ root.T
    slopes = np.polyfit(rankdata(values), paths[:, values].T, 1)[0]
    assert found.rising == pytest.approx(np.mean(slopes > 0), abs=0.012)


def test_the_slope_of_a_certain_function_is_certain():
    nothing = np.zeros((2, 2))
    assert slope_direction(Latent(np.array([1.0, 0.0]), nothing), np.ones(2))[:2] == (0.0, 1.0)
    assert slope_direction(Latent(np.ones(2), nothing), np.ones(2))[:2] == (0.0, 0.0)


def test_a_turn_must_be_one_that_all_draws_share():
    places = np.linspace(-1, 1, 40)
    rough = np.exp(-0.5 * (places - places[:, None]) ** 2 / 0.1**2)
    rng = np.random.default_rng
    # Every draw of noise turns somewhere; nothing says where.
    assert turning_share(Latent(0 * places, rough), rng(1)) < 0.5
    assert turning_share(Latent(4 * places**2, 0.1 * rough), rng(1)) > 0.99
    assert turning_share(Latent(4 * places, 0.1 * rough), rng(1)) < 0.01
    # A fall by less than a fifth of the range is no turn.
    dip = np.where(places > 0.8, 0.8 - (places - 0.8), places)
    assert turning_share(Latent(dip, 1e-9 * rough), rng(1)) == 0.0


def test_a_response_hides_what_it_flattens():
    places = np.linspace(-1, 1, 40)
    turning = Latent(8 * places - 16 * np.maximum(places - 0.6, 0), np.zeros((40, 40)))
    assert turning_share(turning, np.random.default_rng(1)) == 1.0
    assert turning_share(turning, np.random.default_rng(1), response=norm.cdf) == 0.0


def test_draws_depend_on_the_generator_and_on_nothing_else():
    places = np.linspace(-1, 1, 40)
    rough = np.exp(-0.5 * (places - places[:, None]) ** 2 / 0.1**2)
    latent = Latent(places**2, 0.1 * rough)
    again = [turning_share(latent, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert again[0] == again[1] != again[2]


@pytest.mark.parametrize(
    ("rising", "turning", "shape"),
    [
        (0.95, 0.0, "rising"),
        (0.05, 0.0, "falling"),
        (0.949, 0.0, "unclear"),
        (0.06, 0.9, "unclear"),
        (0.99, 0.949, "rising"),
        (0.99, 0.95, "turning"),
        (0.5, 0.95, "turning"),
    ],
)
def test_shapes_change_at_the_thresholds(rising, turning, shape):
    assert Direction(rising, 1 - rising, turning).shape == shape


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


@pytest.mark.parametrize("classes", [True, False])
def test_the_average_slope_of_a_curve_is_that_of_its_posterior(classes):
    """Joint draws at all rows, each with its line of least squares over the ranks."""
    rng = np.random.default_rng(3)
    x = rng.lognormal(size=60)
    y = x**0.3 + 0.8 * rng.normal(size=60) - 1
    kernel = SquaredExponential(0, lengthscale=2.0)
    if classes:
        posterior = fit_classifier(kernel, x[:, None], np.sign(y), optimise=False).posterior
    else:
        fit = fit_regressor(kernel, x[:, None], y, noise_variance=5.0, optimise=False)
        posterior = fit.posterior
    found = direction_of(posterior, posterior.kernel, 0, x, seed=SEED)
    mean, covariance = posterior.latent(x[:, None], covariance=True)
    paths = np.random.default_rng(0).multivariate_normal(mean, covariance, 20_000)
    slopes = np.polyfit(rankdata(x), paths.T, 1)[0]
    assert 0.6 < found.rising < 0.9999
    assert found.rising == pytest.approx(np.mean(slopes > 0), abs=0.012)


def test_outlying_rows_decide_neither_direction_nor_turn():
    """The function falls in a tenth of the range that holds 4 % of the rows."""
    rng = np.random.default_rng(1)
    x = np.append(rng.uniform(0, 1, 240), rng.uniform(8, 10, 10))
    y = np.where(x < 2, 3 * x, 0.0) + 0.3 * rng.normal(size=250)
    posterior = fit_regressor(
        SquaredExponential(0, lengthscale=0.7, variance=4.0),
        x[:, None],
        y,
        noise_variance=0.1,
        optimise=False,
    ).posterior
    found = direction_of(posterior, posterior.kernel, 0, x, seed=SEED)
    assert found.shape == "rising"
    assert found.turning < 0.05


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda u: 2.5 * u, "rising"),
        (lambda u: np.minimum(3 * u, 1.2), "rising"),
        (lambda u: 1.5 * (u > 0.5), "rising"),
        (lambda u: 14 * (u - 0.5) ** 2, "turning"),
        (lambda u: 4 * np.maximum(u - 0.6, 0) - 3 * np.maximum(0.2 - u, 0) + u, "rising"),
    ],
    ids=["line", "saturation", "step", "valley", "kinks"],
)
def test_shapes_of_known_truths(function, shape, sign):
    rng = np.random.default_rng(2)
    x = rng.lognormal(size=300)
    u = (rankdata(x) - 0.5) / 300
    g = sign * (function(u) - function(u).mean())
    y = np.where(g + 0.7 * rng.normal(size=300) > 0, 1.0, -1.0)
    posterior = fit_classifier(SquaredExponential(0), np.log(x)[:, None], y).posterior
    found = direction_of(posterior, posterior.kernel, 0, np.log(x), seed=SEED)
    expected = "falling" if shape == "rising" and sign < 0 else shape
    assert found.shape == expected


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
    signs[(x > 0.3) & (np.arange(80) % 2 > 0)] = -1.0
    posterior = fit_classifier(kernel, x[:, None], signs, optimise=False).posterior
    shapes = [
        direction_of(posterior, kernel, 0, x, seed=SEED, level=level).shape for level in (0.0, 4.0)
    ]
    assert shapes == ["turning", "rising"]


def test_a_line_is_told_from_other_kernels():
    assert line_of(Linear(1)) == Linear(1)
    assert line_of(Constant(2.0) + Linear(1)) == Linear(1)
    assert line_of(Linear(0) + Linear(1)) is None
    assert line_of(Constant() + Periodic(0)) is None
    assert line_of(Constant()) is None


def test_variables_of_real_tables_that_go_one_way_get_that_direction():
    """Each numeric column with a rank correlation of p < 1e-4, in a model of its own."""
    said, n_turning = [], 0
    for name in ("pima", "bupa", "wisconsin", "iris", "crabs"):
        data = load(name)
        frame = data.data.assign(target=list(data.target)).dropna()
        frame = frame.sample(min(len(frame), 300), random_state=0)
        signs = np.where(frame["target"] == frame["target"].iloc[0], 1.0, -1.0)
        for column in data.data.select_dtypes("number"):
            x = frame[column].to_numpy(dtype=float)
            correlation, p = spearmanr(x, signs)
            if p < 1e-4:
                kernel = SquaredExponential(0, lengthscale=float(x.std()))
                posterior = fit_classifier(kernel, x[:, None], signs).posterior
                found = direction_of(posterior, posterior.kernel, 0, x, seed=SEED)
                said.append((found.rising if correlation > 0 else found.falling) >= 0.95)
                n_turning += found.shape == "turning"
    assert len(said) >= 15
    assert all(said)
    assert n_turning <= 1
