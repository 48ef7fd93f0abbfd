import numpy as np
import pytest
from scipy.special import logsumexp, ndtr
from scipy.stats import norm

from parsimon.exceptions import InvalidInputError
from parsimon.roc import area_under, auc, bayes_roc

# Ripley's synthetic problem (Clark 2011, section 5.4.4): two centres a class, variance 0.03.
RIPLEY = {
    "negative": np.array([[-0.7, 0.3], [0.3, 0.3]]),
    "positive": np.array([[-0.3, 0.7], [0.4, 0.7]]),
}


def ripley_density(label):
    def log_density(X):
        squares = ((X[:, None, :] - RIPLEY[label]) ** 2).sum(axis=2)
        return logsumexp(-squares / 0.06, axis=1) - np.log(2 * 2 * np.pi * 0.03)

    return log_density


def ripley_sampler(label):
    def draw(n, rng):
        return RIPLEY[label][rng.integers(2, size=n)] + np.sqrt(0.03) * rng.normal(size=(n, 2))

    return draw


def waves():
    """Return Breiman's three triangular waves, of height 6 at the positions 11, 15 and 7."""
    positions = np.arange(1, 22)
    return [np.maximum(6 - abs(positions - centre), 0.0) for centre in (11, 15, 7)]


def wave_density(pairs):
    h, (nodes, weights) = waves(), np.polynomial.legendre.leggauss(40)
    share = (nodes + 1) / 2

    def log_density(X):
        terms = []
        for a, b in pairs:
            means = share[:, None] * h[a] + (1 - share[:, None]) * h[b]
            squares = (X**2).sum(axis=1)[:, None] - 2 * X @ means.T + (means**2).sum(axis=1)
            terms.append(logsumexp(-squares / 2, b=weights / 2, axis=1))
        return logsumexp(terms, axis=0) - np.log(len(pairs)) - 10.5 * np.log(2 * np.pi)

    return log_density


def wave_sampler(pairs):
    h = np.array(waves())

    def draw(n, rng):
        chosen, share = np.array(pairs)[rng.integers(len(pairs), size=n)], rng.random((n, 1))
        means = share * h[chosen[:, 0]] + (1 - share) * h[chosen[:, 1]]
        return means + rng.normal(size=(n, 21))

    return draw


@pytest.mark.parametrize("distance", [0.5, 2.0])
def test_two_normal_classes_have_the_closed_form(distance):
    grid = np.linspace(-8, 8 + distance, 4001)[:, None]
    best = bayes_roc(
        lambda x: norm.logpdf(x[:, 0], distance),
        lambda x: norm.logpdf(x[:, 0]),
        grid=grid,
        grid_weight=np.full(4001, grid[1, 0] - grid[0, 0]),
    )
    assert best.auc == pytest.approx(ndtr(distance / np.sqrt(2)), abs=1e-5)
    assert best.standard_error is None
    at = np.interp(0.1, best.points.fpr, best.points.tpr)
    assert at == pytest.approx(norm.sf(norm.isf(0.1) - distance), abs=1e-4)
    assert area_under(best.points.fpr, best.points.tpr, rule="hull") == pytest.approx(best.auc)


def test_ripley_s_problem_by_quadrature_and_by_drawing():
    axes = np.arange(-1.8, 1.6, 0.02), np.arange(-0.8, 1.8, 0.02)
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    densities = ripley_density("positive"), ripley_density("negative")
    exact = bayes_roc(*densities, grid=grid, grid_weight=0.02**2)
    samplers = ripley_sampler("positive"), ripley_sampler("negative")
    rng = np.random.default_rng(1)
    ratios = []
    for sampler in samplers:
        X = sampler(400_000, rng)
        ratios.append(densities[0](X) - densities[1](X))
    pairs = ratios[0] > ratios[1]
    assert abs(exact.auc - pairs.mean()) < 3 * pairs.std() / np.sqrt(400_000)
    # Clark's own 25000 draws gave 0.9714; their standard deviation is 0.0008.
    assert abs(exact.auc - 0.9714) < 0.0008
    options = {"draw_positive": samplers[0], "draw_negative": samplers[1]}
    drawn = bayes_roc(*densities, **options, random_state=0)
    assert drawn.points.fpr.shape == drawn.points.tpr.shape
    assert drawn.standard_error == pytest.approx(0.0008, abs=2e-4)
    assert abs(drawn.auc - exact.auc) < 3 * drawn.standard_error
    again = bayes_roc(*densities, **options, random_state=0)
    few = bayes_roc(*densities, **options, random_state=0, n_draws=2000)
    assert again.auc == drawn.auc
    assert few.standard_error > 2.5 * drawn.standard_error


def test_breiman_s_waveform_has_a_known_optimum():
    positive, negative = [(0, 2)], [(0, 1), (1, 2)]
    best = bayes_roc(
        wave_density(positive),
        wave_density(negative),
        draw_positive=wave_sampler(positive),
        draw_negative=wave_sampler(negative),
        random_state=2,
    )
    assert abs(best.auc - 0.9785) < 3 * best.standard_error < 0.003


def test_no_score_beats_the_density_ratio():
    rng = np.random.default_rng(4)
    X = np.concatenate([ripley_sampler(c)(2000, rng) for c in ("positive", "negative")])
    y = np.repeat([1, 0], 2000)
    best = bayes_roc(
        ripley_density("positive"),
        ripley_density("negative"),
        draw_positive=ripley_sampler("positive"),
        draw_negative=ripley_sampler("negative"),
        random_state=4,
    )
    assert best.auc > auc(y, X[:, 1]) > 0.9


def test_densities_that_do_not_overlap_are_separated():
    def uniform(low):
        def log_density(x):
            inside = (x[:, 0] >= low) & (x[:, 0] < low + 1)
            return np.where(inside, 0.0, -np.inf)

        return log_density

    grid = (np.arange(-100, 300)[:, None] + 0.5) / 100
    best = bayes_roc(uniform(1.0), uniform(0.0), grid=grid, grid_weight=0.01)
    assert best.auc == pytest.approx(1)
    half = bayes_roc(uniform(0.5), uniform(0.0), grid=grid, grid_weight=0.01)
    assert half.auc == pytest.approx(1 - 0.5**3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Give draw_positive and draw_negative, or grid"),
        ({"grid": [[0.0], [1.0]]}, "grid needs grid_weight"),
        ({"grid": [[0.0], [1.0]], "grid_weight": 1.0}, "integrates to 0.64.* instead of 1"),
        (
            {
                "draw_positive": lambda n, rng: rng.normal(size=(n, 1)),
                "draw_negative": lambda n, rng: rng.normal(size=(n, 1)),
                "n_draws": 3,
            },
            "n_draws must be at least 4",
        ),
    ],
)
def test_unusable_input_is_named(options, message):
    with pytest.raises(InvalidInputError, match=message):
        bayes_roc(lambda x: norm.logpdf(x[:, 0]), lambda x: norm.logpdf(x[:, 0]), **options)


def test_a_density_of_the_wrong_shape_is_named():
    with pytest.raises(InvalidInputError, match=r"for each of 2 points, got shape \(2, 1\)"):
        bayes_roc(norm.logpdf, norm.logpdf, grid=[[0.0], [1.0]], grid_weight=1.0)
