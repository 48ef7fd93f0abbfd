"""Learning a variational classifier: ascent, stopping, interruption, Adam."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize

from parsimon._interrupts import stoppable
from parsimon.exceptions import InterruptWarning
from parsimon.inference.variational import (
    InducingPrior,
    LabelledRows,
    WhitenedGaussian,
    bound_gradient,
    bound_statistics,
)
from parsimon.inference.variational_fit import Adam, climb_bound, maximise_bound, stochastic_bound
from parsimon.kernels import SquaredExponential


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 6, (n, 1))
    signs = np.where(np.sin(X) + 0.3 * rng.normal(size=X.shape) > 0, 1.0, -1.0)
    X.flags.writeable = signs.flags.writeable = False
    return LabelledRows(X, signs, np.ones(n))


def begin(rows, m=8):
    kernel = SquaredExponential().start(rows.X)
    Z = np.linspace(0.2, 5.8, m)[:, None]
    return InducingPrior(kernel, Z), kernel.bounds(rows.X)


@dataclass(frozen=True)
class Impatient(SquaredExponential):
    """Someone presses Ctrl-C when the kernel is asked for derivatives at a third theta."""

    def _fill_gradients(self, X, Y, out):
        if self.lengthscale not in SEEN:
            SEEN.append(self.lengthscale)
        if len(SEEN) > 2:
            raise KeyboardInterrupt
        return super()._fill_gradients(X, Y, out)


SEEN: list[float] = []


@pytest.fixture
def impatient():
    SEEN.clear()
    return Impatient(lengthscale=1.0)


class TestClimb:
    def test_ends_where_the_natural_gradient_vanishes(self):
        rows = table(50)
        prior, _ = begin(rows)
        top = climb_bound(prior, [WhitenedGaussian.standard(8)], rows, tol=1e-14)
        (target,) = bound_statistics(prior, top.gaussians, rows).targets
        assert top.converged
        np.testing.assert_allclose(target.shift, top.gaussians[0].shift, atol=1e-4)
        np.testing.assert_allclose(target.precision, top.gaussians[0].precision, atol=1e-4)

    def test_steps_are_halved_where_a_full_one_overshoots(self):
        """Under a wide prior, full steps jump between a poor and a bad q(v) for ever."""
        rows = LabelledRows(np.zeros((1, 1)), np.ones((1, 1)), np.ones(1))
        prior = InducingPrior(SquaredExponential(variance=400.0), rows.X)
        begin = WhitenedGaussian.standard(1)
        first = bound_statistics(prior, [begin], rows)
        second = bound_statistics(prior, first.targets, rows)
        third = bound_statistics(prior, second.targets, rows)
        assert third.bound == pytest.approx(first.bound)

        def loss(x):
            precision = np.exp(x[1])
            gaussian = WhitenedGaussian(np.array([x[0] * precision]), np.array([[precision]]))
            return -bound_statistics(prior, [gaussian], rows).bound

        best = -minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-6}).fun
        top = climb_bound(prior, [begin], rows)
        assert top.converged
        assert top.bound == pytest.approx(best, abs=1e-6)
        bounds = [climb_bound(prior, [begin], rows, max_passes=k).bound for k in range(1, 15)]
        assert (np.diff(bounds) >= 0).all()

    def test_counts_its_passes(self):
        rows = table(20)
        prior, _ = begin(rows)
        top = climb_bound(prior, [WhitenedGaussian.standard(8)], rows, max_passes=2, tol=0.0)
        assert (top.n_passes, top.converged) == (2, False)

    def test_a_deadline_in_the_past_leaves_one_pass(self):
        rows = table(20)
        prior, _ = begin(rows)
        top = climb_bound(prior, [WhitenedGaussian.standard(8)], rows, deadline=0.0)
        assert (top.n_passes, top.converged) == (1, False)


class TestMaximiseBound:
    def test_the_gradient_vanishes_inside_the_bounds(self):
        rows = table(60)
        prior, bounds = begin(rows)
        fit = maximise_bound(prior, rows, bounds, tol=1e-10)
        theta = fit.posterior.prior.kernel.theta
        assert fit.reason == "converged"
        assert ((bounds[:, 0] < theta) & (theta < bounds[:, 1])).all()
        gradient = bound_gradient(fit.posterior.prior, fit.posterior.gaussians, rows)
        np.testing.assert_allclose(gradient, 0, atol=1e-2)
        assert fit.bound == fit.history.max()

    def test_a_tolerance_for_the_bound_is_one_for_the_search_too(self):
        rows = table(60)
        prior, bounds = begin(rows)
        loose, tight = (maximise_bound(prior, rows, bounds, tol=tol) for tol in (0.3, 1e-9))
        assert len(loose.history) < len(tight.history) / 2
        assert loose.bound < tight.bound

    def test_its_bound_is_that_of_its_posterior(self):
        rows = table(60)
        prior, bounds = begin(rows)
        fit = maximise_bound(prior, rows, bounds)
        again = bound_statistics(fit.posterior.prior, fit.posterior.gaussians, rows).bound
        assert fit.bound == pytest.approx(again)

    def test_fixed_hyperparameters_stay(self):
        rows = table(30)
        kernel = SquaredExponential(fixed=("lengthscale", "variance"))
        prior = InducingPrior(kernel, rows.X[:5])
        fit = maximise_bound(prior, rows, kernel.bounds(rows.X))
        assert fit.posterior.prior.kernel == kernel
        assert (fit.reason, fit.n_iterations) == ("converged", 1)
        top = climb_bound(prior, [WhitenedGaussian.standard(5)], rows)
        assert fit.bound == pytest.approx(top.bound)

    def test_says_when_iterations_or_time_ran_out(self):
        rows = table(60)
        prior, bounds = begin(rows)
        assert maximise_bound(prior, rows, bounds, max_iter=1).reason == "max_iter"
        assert maximise_bound(prior, rows, bounds, time_limit=1e-9).reason == "time_limit"

    def test_ctrl_c_keeps_the_best_so_far(self, impatient):
        rows = table(60)
        prior, bounds = begin(rows)
        prior = InducingPrior(impatient, prior.Z)
        with pytest.warns(InterruptWarning, match="the best so far"):
            fit = stoppable(maximise_bound)(prior, rows, bounds)
        assert fit.reason == "interrupt"
        assert len(fit.history) == 2
        assert fit.bound == fit.history.max()


class TestStochasticBound:
    def test_comes_close_to_the_search_over_all_rows(self):
        rows = table(600)
        prior, bounds = begin(rows)
        best = maximise_bound(prior, rows, bounds).bound
        fit = stochastic_bound(
            prior, rows, bounds, rng=np.random.default_rng(0), batch_size=50, tol=1e-4
        )
        assert best - 0.01 * abs(best) < fit.bound <= best + 1e-6 * abs(best)

    def test_its_bound_is_that_of_its_posterior_over_all_rows(self):
        rows = table(300)
        prior, bounds = begin(rows)
        fit = stochastic_bound(
            prior, rows, bounds, rng=np.random.default_rng(0), batch_size=64, max_iter=2
        )
        again = bound_statistics(fit.posterior.prior, fit.posterior.gaussians, rows).bound
        assert fit.bound == pytest.approx(again)
        assert (fit.reason, fit.n_iterations, len(fit.history)) == ("max_iter", 2, 2)

    def test_history_estimates_the_bound_of_all_rows(self):
        rows = table(300)
        prior, bounds = begin(rows)
        still = stochastic_bound(
            prior,
            rows,
            bounds,
            rng=np.random.default_rng(0),
            batch_size=50,
            max_iter=1,
            natural_step=1e-12,
            learning_rate=1e-12,
        )
        here = bound_statistics(prior, [WhitenedGaussian.standard(8)], rows).bound
        assert still.history[0] == pytest.approx(here, rel=1e-8)

    def test_same_seed_same_bits(self):
        rows = table(300)
        prior, bounds = begin(rows)
        first, second, other = (
            stochastic_bound(
                prior, rows, bounds, rng=np.random.default_rng(seed), batch_size=64, max_iter=3
            )
            for seed in (0, 0, 1)
        )
        np.testing.assert_array_equal(first.history, second.history)
        assert first.bound == second.bound
        assert first.bound != other.bound

    def test_steps_have_an_effect(self):
        rows = table(300)
        prior, bounds = begin(rows)

        def first_pass(**options):
            rng = np.random.default_rng(0)
            return stochastic_bound(
                prior, rows, bounds, rng=rng, batch_size=64, max_iter=1, **options
            )

        plain = first_pass()
        moved = np.abs(plain.posterior.prior.kernel.theta - prior.kernel.theta).max()
        slow = first_pass(learning_rate=1e-6).posterior.prior.kernel.theta
        assert 0.01 < moved <= 5 * 0.03 * 1.5
        np.testing.assert_allclose(slow, prior.kernel.theta, atol=1e-5)
        assert first_pass(natural_step=0.5).history[0] > first_pass(natural_step=0.01).history[0]

    def test_hyperparameters_stay_inside_their_bounds(self):
        rows = table(300)
        prior, _ = begin(rows)
        tight = np.column_stack([prior.kernel.theta - 0.01, prior.kernel.theta + 0.01])
        fit = stochastic_bound(
            prior, rows, tight, rng=np.random.default_rng(0), batch_size=64, max_iter=2
        )
        theta = fit.posterior.prior.kernel.theta
        # Kernels hold the exponential, so the logarithm may differ in its last digit.
        assert (theta >= tight[:, 0] - 1e-12).all()
        assert (theta <= tight[:, 1] + 1e-12).all()
        assert (theta != prior.kernel.theta).all()

    def test_fixed_hyperparameters_stay(self):
        rows = table(200)
        kernel = SquaredExponential(fixed=("lengthscale", "variance"))
        prior = InducingPrior(kernel, rows.X[:5])
        bounds = kernel.bounds(rows.X)
        fit = stochastic_bound(prior, rows, bounds, rng=np.random.default_rng(0), batch_size=50)
        assert fit.posterior.prior.kernel == kernel
        top = climb_bound(prior, [WhitenedGaussian.standard(5)], rows)
        assert fit.bound == pytest.approx(top.bound, rel=1e-3)

    def test_stops_at_the_time_limit(self):
        rows = table(300)
        prior, bounds = begin(rows)
        fit = stochastic_bound(
            prior, rows, bounds, rng=np.random.default_rng(0), batch_size=8, time_limit=1e-9
        )
        assert fit.reason == "time_limit"
        assert np.isfinite(fit.bound)

    def test_ctrl_c_keeps_the_last_step(self, impatient):
        rows = table(300)
        prior, bounds = begin(rows)
        prior = InducingPrior(impatient, prior.Z)
        options = {"rng": np.random.default_rng(0), "batch_size": 64}
        with pytest.warns(InterruptWarning, match="the best so far"):
            fit = stoppable(stochastic_bound)(prior, rows, bounds, **options)
        assert fit.reason == "interrupt"
        # Two steps of Adam were finished; the third batch was not.
        assert fit.posterior.prior.kernel.lengthscale == SEEN[2]
        assert fit.posterior.gaussians[0].mean.any()

    def test_reports_every_pass(self):
        rows = table(300)
        prior, bounds = begin(rows)
        seen = []
        fit = stochastic_bound(
            prior,
            rows,
            bounds,
            rng=np.random.default_rng(0),
            batch_size=64,
            max_iter=3,
            report=lambda n, bound: seen.append((n, bound)),
        )
        assert seen == list(enumerate(fit.history, start=1))


class TestAdam:
    def test_follows_algorithm_1(self, rng):
        gradients = rng.normal(size=(5, 3))
        adam = Adam.begin(np.zeros(3))
        x, first, second = np.zeros(3), np.zeros(3), np.zeros(3)
        free = np.array([[-np.inf, np.inf]] * 3)
        for t, gradient in enumerate(gradients, start=1):
            adam = adam.step(gradient, free, 0.1)
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            x = x + 0.1 * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
        np.testing.assert_allclose(adam.point, x, rtol=1e-12)
