import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import multivariate_normal, norm

from parsimon.structures import _evidence as evidence
from parsimon.structures._evidence import fit_structure, gains, predicted_densities
from parsimon.structures.blocks import variable_blocks


def _rows(seed, n=40):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return rng, (x - x.mean()) / x.std()


@pytest.mark.parametrize("effect", [0.0, 1.0, 2.5])
def test_the_evidence_of_a_line_is_that_of_quadrature(effect):
    """Over intercept, weight and the log variance, for classes."""
    rng, x = _rows(int(10 * effect))
    y = (rng.random(len(x)) < expit(effect * x)).astype(float)
    centre, deviation = evidence._LOG_VARIANCE["classification"], evidence._LOG_VARIANCE_SD
    intercepts, weights = np.linspace(-6, 6, 241), np.linspace(-12, 12, 481)
    latent = intercepts[:, None, None] + weights[None, :, None] * x
    likelihood = np.exp((y * latent - np.logaddexp(0, latent)).sum(axis=2))
    likelihood *= norm.pdf(intercepts, scale=10)[:, None]
    by_weight = likelihood.sum(axis=0) * (intercepts[1] - intercepts[0])

    def given(log_variance):
        prior = norm.pdf(weights, scale=np.exp(log_variance / 2))
        chance = float(by_weight @ prior) * (weights[1] - weights[0])
        return chance * norm.pdf(log_variance, centre, deviation)

    exact = np.log(quad(given, centre - 6 * deviation, centre + 6 * deviation, limit=200)[0])
    assert fit_structure({"line": x[:, None]}, y, "classification").log_evidence == pytest.approx(
        exact, abs=0.35
    )


def test_the_evidence_at_given_variances_is_exact_for_gaussian_noise():
    rng, x = _rows(3)
    y = 0.5 * x + rng.normal(size=len(x))
    design = np.column_stack([np.ones(len(x)), x])
    precision = np.array([0.01, 1 / 0.7])
    likelihood = evidence._Noisy(y, tails=1e9)
    likelihood.noise = 0.8
    tangent = evidence._tangent(design, np.zeros(2), np.zeros(len(x)), likelihood)
    mode = evidence._mode(tangent, precision)
    found = evidence._log_evidence(mode, design @ mode.weights, precision, likelihood)
    covariance = design @ np.diag(1 / precision) @ design.T + 0.8 * np.eye(len(x))
    exact = multivariate_normal(np.zeros(len(x)), covariance).logpdf(y)
    # The constant of the density is the same for every structure and is left out.
    assert found == pytest.approx(exact + 0.5 * len(x) * np.log(2 * np.pi), abs=1e-5)


def test_the_slope_by_a_log_variance_is_that_of_central_differences():
    """For numbers; for classes MacKay's step leaves out that the curvature moves with the mode."""
    rng, x = _rows(5)
    blocks = np.column_stack([np.ones(len(x)), x, x**2 - 1, rng.normal(size=len(x))])
    sizes, log_variances = np.array([1, 2]), np.array([0.2, -0.6])
    y = x + rng.normal(size=len(x))
    likelihood = evidence._Noisy(y, tails=1e9)

    def at(log_variances):
        weights = np.zeros(4)
        precision = evidence._precisions(log_variances, sizes)
        for _ in range(60):
            tangent = evidence._tangent(blocks, weights, blocks @ weights, likelihood)
            mode = evidence._mode(tangent, precision)
            weights = mode.weights
        return mode, evidence._log_evidence(mode, blocks @ weights, precision, likelihood)

    slopes, _, _ = evidence._variance_slopes(at(log_variances)[0], log_variances, sizes, 0.0)
    slopes = slopes + log_variances / evidence._LOG_VARIANCE_SD**2
    for place in range(2):
        step = 1e-5 * np.eye(2)[place]
        rise = at(log_variances + step)[1] - at(log_variances - step)[1]
        assert slopes[place] == pytest.approx(rise / 2e-5, abs=1e-5)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_gain_of_a_block_is_nearly_that_of_a_fit_where_it_is_small(task):
    rng, x = _rows(7, n=200)
    more = rng.normal(size=(200, 3))
    latent = 0.8 * x + 0.15 * more[:, 0]
    y = latent + rng.normal(size=200)
    y = (y > 0).astype(float) if task == "classification" else (y - y.mean()) / y.std()
    before = fit_structure({"line": x[:, None]}, y, task)
    after = fit_structure({"line": x[:, None], "more": more}, y, task)
    design = np.column_stack([np.ones(200), x])
    found = gains(before, design, more[None], task)[0]
    assert found == pytest.approx(after.log_evidence - before.log_evidence, abs=0.6)
    noise = gains(before, design, rng.normal(size=(1, 200, 3)), task)[0]
    assert noise < min(0, found)


def test_separated_classes_have_finite_evidence():
    x = np.linspace(-1, 1, 30)
    fit = fit_structure({"line": x[:, None] / x.std()}, (x > 0).astype(float), "classification")
    assert np.isfinite(fit.log_evidence)


def test_one_row_far_away_makes_no_structure():
    rng, x = _rows(11, n=100)
    y = rng.normal(size=100)
    x[0], y[0] = 4.0, 12.0
    y = (y - y.mean()) / y.std()
    empty = fit_structure({}, y, "regression").log_evidence
    assert fit_structure({"line": x[:, None]}, y, "regression").log_evidence < empty + 2


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_evidence_does_not_depend_on_where_the_steps_begin(task):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 6))
    latent = X[:, 0] + 0.5 * X[:, 1] * X[:, 2]
    noise = rng.logistic(size=150)
    y = (latent + noise > 0).astype(float) if task == "classification" else latent + noise
    y = y if task == "classification" else (y - y.mean()) / y.std()
    blocks = {"first": X[:, :1], "second": X[:, 1:3], "third": X[:, 3:]}
    near = fit_structure({name: blocks[name] for name in ("first", "third")}, y, task)
    begun = fit_structure(blocks, y, task, near)
    assert begun.log_evidence == pytest.approx(
        fit_structure(blocks, y, task).log_evidence, abs=1e-4
    )


def test_the_curvature_of_the_variances_is_that_of_the_evidence():
    rng = np.random.default_rng(4)
    design = np.hstack([np.ones((80, 1)), rng.normal(size=(80, 5))])
    sizes, centre = np.array([2, 3]), 0.0
    y = design @ rng.normal(size=6) + rng.normal(size=80)
    tangent = evidence._Tangent(design.T @ design, design.T @ y)
    place = np.array([-0.3, 0.4])

    def slopes(log_variances):
        mode = evidence._mode(tangent, evidence._precisions(log_variances, sizes))
        return mode, *evidence._variance_slopes(mode, log_variances, sizes, centre)

    step = 1e-5
    moved = [
        (slopes(place + step * one)[1] - slopes(place - step * one)[1]) / (2 * step)
        for one in np.eye(2)
    ]
    mode, slope, curved, _ = slopes(place)
    found = evidence._variance_step(mode, place, sizes, slope, curved)
    assert found == pytest.approx(
        np.clip(-np.linalg.solve(np.array(moved), slope), -1, 1), rel=1e-5
    )


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_what_a_block_gains_for_new_rows_is_that_of_fits_without_each_row(task):
    rng, x = _rows(3, n=60)
    more = rng.normal(size=(60, 3))
    y = 1.2 * x + more[:, 0] + rng.normal(size=60)
    y = (y - y.mean()) / y.std() if task == "regression" else (y > 0).astype(float)
    small = {"line": x[:, None]}
    large = small | {"more": more}
    found, exact = (
        sum(densities(large, y, task)) - sum(densities(small, y, task))
        for densities in (_predicted, _predicted_by_refits)
    )
    assert found == pytest.approx(exact, abs=0.5)
    assert found > 3


def _predicted(blocks, y, task):
    return predicted_densities(fit_structure(blocks, y, task), blocks, y, task)


def _predicted_by_refits(blocks, y, task):
    for row in range(len(y)):
        rest = np.arange(len(y)) != row
        fit = fit_structure({key: part[rest] for key, part in blocks.items()}, y[rest], task)
        latent = fit.end.intercept + sum(fit.end.weights[key] @ blocks[key][row] for key in blocks)
        likelihood = (evidence._Noisy if task == "regression" else evidence._Bernoulli)(y[[row]])
        likelihood.noise = fit.end.noise
        yield float(likelihood.log_densities(np.array([latent]))[0])


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_fit_is_where_its_evidence_says_and_its_figures_are_those_of_that_place(task):
    """Weights, noise and variances are stationary; evidence and covariance follow from them."""
    rng = np.random.default_rng(8)
    x, more = rng.normal(size=(90, 1)), rng.normal(size=(90, 2))
    latent = x[:, 0] + 0.5 * more[:, 0] + rng.logistic(size=90)
    y = (latent > 0.8).astype(float) if task == "classification" else latent / latent.std()
    blocks = {"line": x, "more": more}
    fit = fit_structure(blocks, y, task)
    variances = np.exp(np.repeat([fit.end.log_variances[one] for one in blocks], [1, 2]))
    precision = np.array([0.01, *(1 / variances)])
    weights = np.concatenate([[fit.end.intercept], *(fit.end.weights[one] for one in blocks)])
    design = np.column_stack([np.ones(90), x, more])
    latent, noise = design @ weights, fit.end.noise
    if task == "classification":
        chance = expit(latent)
        density, slack, curvature = np.log(np.where(y, chance, 1 - chance)), y - chance, None
        curvature = chance * (1 - chance)
    else:
        rest = y - latent
        density = -3 * np.log1p(rest**2 / (5 * noise)) - 0.5 * np.log(noise)
        slack, curvature = 6 / (5 + rest**2 / noise) * rest / noise, np.full(90, 0.75 / noise)
    np.testing.assert_allclose(fit.slack, slack, atol=1e-9)
    np.testing.assert_allclose(fit.curvature, curvature, atol=1e-9)
    inverse = design.T @ (design * curvature[:, None]) + np.diag(precision)
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(inverse), atol=2e-4)
    np.testing.assert_allclose(design.T @ slack, precision * weights, atol=0.02)
    # The variances: MacKay's, with the prior's pull; the noise: of weighted squares.
    used = 1 - precision[1:] * np.diag(fit.covariance)[1:]
    centre = np.log(0.7 if task == "classification" else 0.15)
    log_density = density.sum() - 0.5 * np.log(np.linalg.det(inverse / precision[:, None]))
    log_density -= 0.5 * precision @ weights**2
    for name, own in (("line", slice(0, 1)), ("more", slice(1, 3))):
        distance = fit.end.log_variances[name] - centre
        degrees = used[own].sum()
        pull = 0.5 * (weights[1:][own] ** 2 / variances[own]).sum() - 0.5 * degrees
        assert pull == pytest.approx(distance / 1.3**2, abs=0.01)
        peak = 1 / 1.3**2 + 0.5 * degrees**2 / len(used[own])
        log_density -= 0.5 * (distance / 1.3) ** 2 + 0.5 * np.log(1.3**2 * peak)
    assert fit.log_evidence == pytest.approx(log_density, abs=1e-3)
    if task == "regression":
        weighted = (6 / (5 + rest**2 / noise) * rest**2).sum()
        assert noise == pytest.approx(weighted / (90 - 1 - used.sum()), rel=0.01)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_what_a_block_seems_to_gain_is_an_average_over_its_variance(task):
    rng, x = _rows(12)
    y = x + rng.logistic(size=40)
    y = (y > 0).astype(float) if task == "classification" else y / y.std()
    fit = fit_structure({"line": x[:, None]}, y, task)
    design = np.column_stack([np.ones(40), x])
    blocks = rng.normal(size=(3, 40, 2))
    mean = np.log(0.7 if task == "classification" else 0.15)
    for block, found in zip(blocks, gains(fit, design, blocks, task), strict=True):
        weighted = block * fit.curvature[:, None]
        inner = block.T @ weighted - weighted.T @ design @ fit.covariance @ design.T @ weighted
        score = block.T @ fit.slack

        def risen(log_variance, inner=inner, score=score):
            variance = np.exp(log_variance)
            gain = 0.5 * score @ np.linalg.solve(inner + np.eye(2) / variance, score)
            return np.exp(gain) / np.sqrt(np.linalg.det(np.eye(2) + variance * inner))

        exact = quad(lambda z: risen(mean + 1.3 * z) * norm.pdf(z), -8, 8)[0]
        assert found == pytest.approx(np.log(exact), abs=0.02)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_density_of_a_row_is_that_after_one_step_without_it(task):
    rng, x = _rows(13, n=30)
    y = x + rng.logistic(size=30)
    y = (y > 0).astype(float) if task == "classification" else y / y.std()
    blocks = {"line": x[:, None]}
    fit = fit_structure(blocks, y, task)
    design = np.column_stack([np.ones(30), x])
    weights = np.array([fit.end.intercept, *fit.end.weights["line"]])
    inverse = np.linalg.inv(fit.covariance)
    found = predicted_densities(fit, blocks, y, task)
    for row, one in enumerate(design):
        # The score of all rows vanishes at the mode, so that what the row pulled is undone.
        rest = inverse - fit.curvature[row] * np.outer(one, one)
        latent = one @ (weights - np.linalg.solve(rest, one * fit.slack[row]))
        if task == "classification":
            density = np.log(expit(latent if y[row] else -latent))
        else:
            density = -3 * np.log1p((y[row] - latent) ** 2 / (5 * fit.end.noise))
            density -= 0.5 * np.log(fit.end.noise)
        assert found[row] == pytest.approx(density, abs=1e-9)


def test_what_filled_cells_may_be_off_has_no_mean():
    rng = np.random.default_rng(0)
    doubts = np.array([1.0, 5.0]) + rng.normal(size=(40, 2))
    blocks = variable_blocks(
        rng.normal(size=(40, 1)), rng.normal(size=40), waves=False, doubts=doubts
    )
    np.testing.assert_allclose(blocks.line[:, 1:], doubts - doubts.mean(axis=0))
