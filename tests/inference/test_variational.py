"""The bound of variational classification: values, derivatives and what it converges to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr
from scipy.stats import multivariate_normal

from parsimon.inference.ep import expectation_propagation
from parsimon.inference.posterior import Latent
from parsimon.inference.prior import latent_prior
from parsimon.inference.variational import (
    CHUNK_ROWS,
    JITTER,
    NARROW,
    InducingPrior,
    LabelledRows,
    VariationalPosterior,
    WhitenedGaussian,
    bound_gradient,
    bound_statistics,
    expected_log_likelihood,
)
from parsimon.inference.variational_fit import climb_bound
from parsimon.kernels import Constant, Linear, Matern, Periodic, SquaredExponential

KERNELS = [
    SquaredExponential(None, lengthscale=(1.3, 0.7), variance=2.0),
    Constant(0.5) + SquaredExponential(0, 0.8) * Matern(1, 1.1),
    Linear(0) + Periodic(1, period=1.7),
]


def table(n, *, n_problems=1, n_columns=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    latent = np.sin(2 * X[:, :1]) + X[:, 1:2] * np.arange(n_problems) + 0.1
    signs = np.where(latent + 0.5 * rng.normal(size=latent.shape) > 0, 1.0, -1.0)
    for array in (X, signs):
        array.flags.writeable = False
    return LabelledRows(X, signs, rng.uniform(0.5, 2.0, n))


def some_gaussian(m, seed=0):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(m, m))
    return WhitenedGaussian(rng.normal(size=m), np.eye(m) + factor @ factor.T / m)


def bound_by_definition(kernel, Z, gaussian, rows):
    """Hensman et al. (2015), equation 10, unwhitened and with plain inverses."""
    K = kernel.gram(Z)
    K = K + JITTER * np.mean(np.diagonal(K)) * np.eye(len(Z))
    L = np.linalg.cholesky(K)
    covariance = np.linalg.inv(gaussian.precision)
    m, S = L @ covariance @ gaussian.shift, L @ covariance @ L.T
    B = kernel.gram(rows.X, Z) @ np.linalg.inv(K)
    means = B @ m
    variances = np.diagonal(kernel.gram(rows.X) - B @ (K - S) @ B.T)
    total = 0.0
    for y, w, mean, variance in zip(rows.signs[:, 0], rows.weights, means, variances, strict=True):
        total += w * integral(lambda f, y=y: log_ndtr(y * f), mean, variance)
    _, log_det_K = np.linalg.slogdet(K)
    _, log_det_S = np.linalg.slogdet(S)
    inverse = np.linalg.inv(K)
    trace = np.trace(inverse @ S) + m @ inverse @ m - len(Z)
    return total - 0.5 * (trace + log_det_K - log_det_S)


def integral(function, mean, variance):
    """The expectation of a function under a Gaussian, by adaptive quadrature."""
    sd = np.sqrt(variance)
    bend = np.clip(-mean / sd, -11.9, 11.9)
    answer, _ = quad(
        lambda u: function(mean + sd * u) * np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi),
        -12,
        12,
        points=[bend],
        epsabs=1e-12,
        limit=400,
    )
    return answer


class TestExpectedLogLikelihood:
    @given(
        st.floats(-6, 6),
        st.one_of(st.floats(1e-6, NARROW), st.floats(NARROW, 400)),
        st.sampled_from([-1.0, 1.0]),
    )
    def test_equals_adaptive_quadrature(self, mean, variance, y):
        latent = Latent(np.array([mean]), np.array([variance]))
        value = expected_log_likelihood(latent, np.array([y])).value[0]
        expected = integral(lambda f: log_ndtr(y * f), mean, variance)
        assert value == pytest.approx(expected, rel=1e-8, abs=1e-9)

    @given(st.floats(-6, 6), st.floats(0.01, 100), st.sampled_from([-1.0, 1.0]))
    def test_derivatives_are_those_of_the_value(self, mean, variance, y):
        step = 1e-4 * min(1.0, variance)

        def value(m, v):
            at = Latent(np.array([m]), np.array([v]))
            return expected_log_likelihood(at, np.array([y])).value[0]

        at = Latent(np.array([mean]), np.array([variance]))
        _, slope, curvature = expected_log_likelihood(at, np.array([y]))
        for_mean = (value(mean + 1e-4, variance) - value(mean - 1e-4, variance)) / 2e-4
        for_variance = (value(mean, variance + step) - value(mean, variance - step)) / (2 * step)
        assert slope[0] == pytest.approx(for_mean, rel=1e-5, abs=1e-5)
        assert curvature[0] == pytest.approx(-2 * for_variance, rel=1e-4, abs=1e-4)
        assert curvature[0] >= 0

    def test_far_tails_are_finite(self):
        latent = Latent(np.array([-1e4, 1e4, 0.0]), np.array([1.0, 1e6, 0.0]))
        for moment in expected_log_likelihood(latent, np.ones(3)):
            assert np.isfinite(moment).all()

    def test_narrow_and_wide_rules_meet(self):
        means = np.linspace(-5, 5, 11)
        below = expected_log_likelihood(Latent(means, np.full(11, NARROW)), np.ones(11))
        above = expected_log_likelihood(
            Latent(means, np.full(11, NARROW * (1 + 1e-13))), np.ones(11)
        )
        np.testing.assert_allclose(below, above, rtol=1e-7)


class TestWhitenedGaussian:
    @given(st.integers(1, 6), st.integers(0, 1000))
    def test_moments_and_divergence_equal_plain_formulas(self, m, seed):
        q = some_gaussian(m, seed)
        covariance = np.linalg.inv(q.precision)
        np.testing.assert_allclose(q.covariance, covariance, atol=1e-10)
        np.testing.assert_allclose(q.mean, covariance @ q.shift, atol=1e-10)
        entropy = multivariate_normal(np.zeros(m), covariance).entropy()
        square = np.trace(covariance) + q.mean @ q.mean
        cross = 0.5 * (m * np.log(2 * np.pi) + square)
        assert q.divergence == pytest.approx(cross - entropy, abs=1e-9)

    def test_the_prior_has_no_divergence(self):
        assert WhitenedGaussian.standard(4).divergence == pytest.approx(0, abs=1e-14)


class TestBound:
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_equals_its_definition_without_whitening(self, kernel):
        rows = table(12)
        Z, q = rows.X[:5] + 0.05, some_gaussian(5)
        bound = bound_statistics(InducingPrior(kernel, Z), [q], rows).bound
        assert bound == pytest.approx(bound_by_definition(kernel, Z, q, rows), abs=1e-7)

    def test_several_problems_add_up(self):
        rows = table(20, n_problems=3)
        prior = InducingPrior(KERNELS[0], rows.X[:6])
        gaussians = [some_gaussian(6, seed) for seed in range(3)]
        together = bound_statistics(prior, gaussians, rows)
        alone = [
            bound_statistics(prior, [q], rows._replace(signs=rows.signs[:, [problem]]))
            for problem, q in enumerate(gaussians)
        ]
        assert together.bound == pytest.approx(sum(each.bound for each in alone))
        for ours, theirs in zip(together.targets, alone, strict=True):
            np.testing.assert_allclose(ours.shift, theirs.targets[0].shift)
            np.testing.assert_allclose(ours.precision, theirs.targets[0].precision)

    def test_mini_batches_average_to_the_whole(self):
        rows = table(30)
        prior, q = InducingPrior(KERNELS[0], rows.X[:6]), some_gaussian(6)
        whole = bound_statistics(prior, [q], rows)
        parts = [
            bound_statistics(prior, [q], rows.take(which, 3.0))
            for which in np.split(np.arange(30), 3)
        ]
        assert np.mean([part.bound for part in parts]) == pytest.approx(whole.bound)
        shifts = [part.targets[0].shift for part in parts]
        np.testing.assert_allclose(np.mean(shifts, axis=0), whole.targets[0].shift)
        gradients = [
            bound_gradient(prior, [q], rows.take(which, 3.0))
            for which in np.split(np.arange(30), 3)
        ]
        # The inducing points' own covariance enters every batch's estimate linearly.
        np.testing.assert_allclose(
            np.mean(gradients, axis=0), bound_gradient(prior, [q], rows), atol=1e-9
        )

    def test_chunks_do_not_change_it(self):
        rows = table(CHUNK_ROWS + 7)
        prior, q = InducingPrior(KERNELS[0], rows.X[:6]), some_gaussian(6)
        pieces = [rows.take(slice(0, 500)), rows.take(slice(500, None))]
        whole = bound_statistics(prior, [q], rows)
        bounds = [bound_statistics(prior, [q], piece).bound for piece in pieces]
        assert whole.bound == pytest.approx(sum(bounds) + q.divergence)

    @pytest.mark.parametrize("n", [2, 3])
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_never_exceeds_the_log_evidence(self, n, kernel):
        rows = table(n)._replace(weights=np.ones(n))
        covariance = kernel.gram(rows.X)
        noisy = rows.signs * (covariance + np.eye(n)) * rows.signs.T
        scale = np.sqrt(np.diagonal(noisy))
        correlation = (noisy / np.outer(scale, scale))[np.tril_indices(n, -1)]
        # P(y) is the chance that f + standard noise has these signs: Sheppard's formula.
        evidence = np.log(2.0**-n + np.arcsin(correlation).sum() / (2 ** (n - 1) * np.pi))
        prior = InducingPrior(kernel, rows.X)
        best = climb_bound(prior, [WhitenedGaussian.standard(n)], rows)
        assert best.converged
        assert best.bound < evidence
        assert best.bound > evidence - 0.1
        for seed in range(5):
            assert bound_statistics(prior, [some_gaussian(n, seed)], rows).bound < best.bound

    def test_more_inducing_points_tighten_it(self):
        rows = table(40)
        bounds = [
            climb_bound(
                InducingPrior(KERNELS[0], rows.X[:m]), [WhitenedGaussian.standard(m)], rows
            ).bound
            for m in (2, 5, 10, 20, 40)
        ]
        assert (np.diff(bounds) > 0).all()


class TestGradient:
    # At the shorter distance the jitter is a good part of what tells two points apart.
    @pytest.mark.parametrize("distance", [1.0, 1e-2])
    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("n_problems", [1, 2])
    def test_equals_central_differences(self, kernel, n_problems, distance):
        rows = table(25, n_problems=n_problems)
        Z = np.concatenate([rows.X[:4], rows.X[:3] + distance])
        gaussians = [some_gaussian(7, seed) for seed in range(n_problems)]

        def bound(theta):
            prior = InducingPrior(kernel.with_theta(theta), Z)
            return bound_statistics(prior, gaussians, rows).bound

        step = 1e-5 * np.eye(kernel.n_theta)
        numeric = [(bound(kernel.theta + s) - bound(kernel.theta - s)) / 2e-5 for s in step]
        analytic = bound_gradient(InducingPrior(kernel, Z), gaussians, rows)
        np.testing.assert_allclose(analytic, numeric, rtol=1e-5, atol=1e-6)

    def test_a_kernel_without_free_hyperparameters_has_an_empty_one(self):
        rows = table(10)
        kernel = SquaredExponential(fixed=("lengthscale", "variance"))
        prior = InducingPrior(kernel, rows.X[:3])
        assert bound_gradient(prior, [some_gaussian(3)], rows).shape == (0,)

    def test_the_natural_gradient_is_fisher_inverse_times_the_gradient(self):
        """Salimbeni et al. (2018): the Fisher matrix is the Jacobian of the expectations."""
        rows = table(15)
        m = 3
        prior, q = InducingPrior(KERNELS[0], rows.X[:m]), some_gaussian(m)
        below = np.tril_indices(m)

        def packed(gaussian):
            precision = gaussian.precision.copy()
            precision[np.diag_indices(m)] /= 2
            return np.concatenate([gaussian.shift, -precision[below]])

        def unpacked(natural):
            half = np.zeros((m, m))
            half[below] = -natural[m:]
            return WhitenedGaussian(natural[:m], half + half.T)

        def expectations(natural):
            gaussian = unpacked(natural)
            second = gaussian.covariance + np.outer(gaussian.mean, gaussian.mean)
            return np.concatenate([gaussian.mean, second[below]])

        def differences(function, at):
            steps = 1e-5 * np.eye(len(at))
            return np.array([(function(at + s) - function(at - s)) / 2e-5 for s in steps])

        at = packed(q)
        fisher = differences(expectations, at)
        gradient = differences(lambda eta: bound_statistics(prior, [unpacked(eta)], rows).bound, at)
        natural_gradient = np.linalg.solve(fisher, gradient)
        target = bound_statistics(prior, [q], rows).targets[0]
        np.testing.assert_allclose(packed(target) - at, natural_gradient, rtol=1e-4, atol=1e-5)


class TestOptimum:
    def test_with_all_rows_as_inducing_points_it_is_the_dense_approximation(self):
        """Opper and Archambeau (2009): mean K s, covariance inv(inv(K) + diag(k)).

        Solved here by iterating their two equations without any whitening.
        """
        rows = table(40)
        kernel = KERNELS[0]
        K = kernel.gram(rows.X) + JITTER * kernel.diagonal(rows.X).mean() * np.eye(40)
        mean, covariance = np.zeros(40), K
        for _ in range(300):
            latent = Latent(mean, np.diagonal(covariance))
            _, slope, curvature = expected_log_likelihood(latent, rows.signs[:, 0])
            precision = np.diag(rows.weights * curvature)
            covariance = K - K @ np.linalg.solve(np.linalg.inv(precision) + K, K)
            shift = rows.weights * (slope + curvature * mean)
            mean = covariance @ shift
        prior = InducingPrior(kernel, rows.X)
        best = climb_bound(prior, [WhitenedGaussian.standard(40)], rows, tol=1e-13)
        found = VariationalPosterior(prior, best.gaussians).latent(rows.X)
        np.testing.assert_allclose(found.mean[:, 0], mean, atol=2e-5)
        np.testing.assert_allclose(found.variance[:, 0], np.diagonal(covariance), atol=2e-5)

    @pytest.mark.parametrize("n", [20, 60])
    def test_probabilities_are_close_to_expectation_propagation(self, n):
        rows = table(n)._replace(weights=np.ones(n))
        new = np.random.default_rng(1).normal(size=(200, 2))
        kernel = KERNELS[0]
        exact = expectation_propagation(latent_prior(kernel, rows.X), rows.signs[:, 0])
        prior = InducingPrior(kernel, rows.X)
        best = climb_bound(prior, [WhitenedGaussian.standard(n)], rows)
        ours = VariationalPosterior(prior, best.gaussians).latent(new)
        theirs = exact.latent(new)
        np.testing.assert_allclose(
            ndtr(ours.mean[:, 0] / np.sqrt(1 + ours.variance[:, 0])),
            ndtr(theirs.mean / np.sqrt(1 + theirs.variance)),
            atol=0.02,
        )
        # The evidence of expectation propagation is all but exact; the bound lies below it.
        assert exact.log_evidence - 0.03 * n < best.bound < exact.log_evidence

    def test_few_inducing_points_suffice_for_a_smooth_function(self):
        rows = table(200, n_columns=2)
        kernel = SquaredExponential(None, lengthscale=3.0)
        new = np.random.default_rng(1).normal(size=(50, 2))
        answers = []
        for Z in (rows.X, rows.X[:30]):
            prior = InducingPrior(kernel, Z)
            best = climb_bound(prior, [WhitenedGaussian.standard(len(Z))], rows)
            answers.append(VariationalPosterior(prior, best.gaussians).latent(new))
        np.testing.assert_allclose(answers[0].mean, answers[1].mean, atol=0.01)
        np.testing.assert_allclose(answers[0].variance, answers[1].variance, atol=0.01)

    def test_latent_values_do_not_depend_on_chunks(self):
        rows = table(30)
        prior, q = InducingPrior(KERNELS[0], rows.X[:6]), some_gaussian(6)
        posterior = VariationalPosterior(prior, (q, q))
        many = np.random.default_rng(1).normal(size=(2 * CHUNK_ROWS + 3, 2))
        whole = posterior.latent(many)
        assert whole.mean.shape == (len(many), 2)
        np.testing.assert_allclose(whole.mean[-5:], posterior.latent(many[-5:]).mean)
        np.testing.assert_allclose(whole.variance[-5:], posterior.latent(many[-5:]).variance)
