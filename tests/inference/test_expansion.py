"""Sites found from an expansion of a dense posterior."""

import numpy as np
import pytest

from parsimon.inference import ep as ep_module
from parsimon.inference import expectation_propagation, latent_prior
from parsimon.inference.ep import expanded_sites
from parsimon.inference.posterior import Latent, Sites
from tests.inference.problems import SUM, table

TIGHT = {"tol": 1e-10, "max_iterations": 500}


def distance(one, other):
    return max(float(np.max(np.abs(a - b))) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("weights", [None, np.tile([1.0, 2.0, 0.4], 20)], ids=["ones", "mixed"])
def test_what_is_left_is_of_the_square_of_what_was_there(weights):
    X, y = table(60)
    exact = expectation_propagation(latent_prior(SUM, X), y, weights=weights, **TIGHT).sites
    terms = ep_module.Terms.of(y, np.ones(len(y)) if weights is None else weights)
    left = []
    for share in (0.1, 0.01):
        here = Sites(*((1 + share) * part for part in exact))
        state = ep_module._SitesAt.of(latent_prior(SUM, X, form="dense"), here, terms)
        found = expanded_sites(
            state.conditioned,
            state.marginal,
            state.target,
            lambda marginal, sites: terms.match(terms.cavity(marginal, sites)),
            tol=1e-12,
        )
        left.append(distance(found, exact))
        assert left[-1] < 0.2 * distance(state.target, exact)
    assert left[1] < 0.05 * left[0]


@pytest.mark.parametrize("start", [True, False], ids=["warm", "cold"])
def test_rounds_with_and_without_it_end_at_the_same_sites(monkeypatch, start):
    X, y = table(450, columns=4)
    near = expectation_propagation(latent_prior(SUM, X), y).sites if start else None
    prior = latent_prior(SUM.with_theta(SUM.theta + 0.1), X, form="dense")
    quick = expectation_propagation(prior, y, start=near, tol=1e-9)
    monkeypatch.setattr(ep_module, "EXPAND_FROM", 10_000)
    plain = expectation_propagation(prior, y, start=near, tol=1e-9)
    assert quick.converged
    assert quick.n_iterations < plain.n_iterations
    assert quick.log_evidence == pytest.approx(plain.log_evidence, abs=1e-9)
    np.testing.assert_allclose(quick.sites, plain.sites, atol=1e-7)


def test_an_expansion_that_fails_is_not_used_again(monkeypatch):
    X, y = table(450, columns=4)
    prior, calls = latent_prior(SUM, X, form="dense"), []
    expected = expectation_propagation(prior, y).log_evidence

    def useless(conditioned, marginal, target, match, *, tol):
        calls.append(tol)
        wrong = np.nan if len(calls) == 1 else 1.5
        return Sites(wrong * target.precision, target.shift)

    monkeypatch.setattr(ep_module, "expanded_sites", useless)
    posterior = expectation_propagation(prior, y)
    assert posterior.converged
    assert len(calls) == 2
    assert posterior.log_evidence == pytest.approx(expected, abs=1e-9)


def test_marginals_stay_where_a_cavity_exists():
    """A step far too long for an expansion must not leave the range of numbers."""
    prior = latent_prior(SUM.with_theta(SUM.theta + 3.0), table(40)[0], form="dense")
    conditioned = prior.condition(np.full(40, 0.5))
    marginal = Latent(conditioned.mean(np.ones(40)), conditioned.variance)
    seen = []

    def match(here, sites):
        seen.append(np.max(here.variance * sites.precision))
        return Sites(sites.precision * 5, sites.shift)

    found = expanded_sites(
        conditioned, marginal, Sites(np.full(40, 50.0), np.ones(40)), match, tol=1e-6
    )
    assert np.isfinite(found).all()
    assert max(seen) < 1
