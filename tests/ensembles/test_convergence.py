"""R-hat and effective samples where the answers are known."""

import numpy as np
import pytest

from parsimon.ensembles import effective_sample_size, r_hat
from parsimon.exceptions import InvalidInputError

RNG = np.random.default_rng(0)


def autoregressive(rho, n_chains, n):
    """Return stationary chains of variance 1 with autocorrelation rho^k."""
    values = np.empty((n_chains, n))
    values[:, 0] = RNG.normal(size=n_chains)
    for i in range(1, n):
        values[:, i] = rho * values[:, i - 1] + np.sqrt(1 - rho**2) * RNG.normal(size=n_chains)
    return values


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_a_known_posterior_has_its_known_size_and_agrees(rho):
    values = autoregressive(rho, 8, 5000)
    assert r_hat(values) == pytest.approx(1.0, abs=0.02)
    exact = values.size * (1 - rho) / (1 + rho)
    assert effective_sample_size(values) == pytest.approx(exact, rel=0.15)


def test_chains_around_different_values_have_the_ratio_of_variances():
    offset = np.array([-3.0, 3.0, -3.0, 3.0])
    values = RNG.normal(size=(4, 20_000)) + offset[:, None]
    # Within 1, between the variance of eight halves at -3 and 3: 72 / 7.
    assert r_hat(values) == pytest.approx(np.sqrt(1 + 72 / 7), rel=0.01)
    assert effective_sample_size(values) < 20


@pytest.mark.parametrize("n", [8, 21])
def test_the_effective_size_of_short_chains_is_its_formula(n):
    """Vehtari et al. (2021), equations 10 to 13, with sums over single pairs of samples."""
    values = autoregressive(0.4, 3, n)
    length = n // 2
    halves = np.concatenate([values[:, :length], values[:, -length:]])
    means = halves.mean(axis=1)
    within = halves.var(axis=1, ddof=1).mean()
    total = (length - 1) / length * within + means.var(ddof=1)

    def autocovariance(lag):
        products = [
            (h[: length - lag] - m) * (h[lag:] - m) for h, m in zip(halves, means, strict=True)
        ]
        return np.sum(products) / (len(halves) * length)

    rho = [1.0] + [1 - (within - autocovariance(lag)) / total for lag in range(1, length)]
    time, least = -1.0, np.inf
    for lag in range(0, length - length % 2, 2):
        pair = rho[lag] + rho[lag + 1]
        if pair <= 0 and lag:
            break
        least = min(least, pair if pair > 0 or not lag else 0.0)
        time += 2 * least
    size = halves.size
    expected = min(size / max(time, 1 / np.log10(max(10, size))), size)
    assert effective_sample_size(values) == pytest.approx(expected)


def test_a_chain_that_drifts_disagrees_with_itself():
    assert r_hat(np.linspace(0, 1, 100)[None] + 0.01 * RNG.normal(size=(1, 100))) > 1.5


def test_many_quantities_at_once_and_constants():
    values = RNG.normal(size=(4, 50, 3))
    values[:, :, 2] = 7.0
    many, sizes = r_hat(values), effective_sample_size(values)
    for k in range(3):
        assert many[k] == pytest.approx(r_hat(values[:, :, k]))
        assert sizes[k] == pytest.approx(effective_sample_size(values[:, :, k]))
    assert (many[2], sizes[2]) == (1.0, 200.0)
    assert r_hat(np.repeat([[0.0], [1.0]], 10, axis=1)) == np.inf


def test_too_few_samples_are_refused():
    with pytest.raises(InvalidInputError, match="four samples or more"):
        r_hat(np.zeros((2, 3)))
