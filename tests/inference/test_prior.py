import numpy as np
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.inference import latent_prior
from parsimon.inference._covariance import contract, symmetric_gradient, weighted_gradient
from parsimon.inference.prior import DensePrior, LowRankPrior
from parsimon.kernels import Constant, SquaredExponential
from tests.inference.problems import KERNELS, SUM, central_differences, table


def both_forms(name, n_rows=150):
    X, _ = table(n_rows)
    kernel = KERNELS[name]
    return (
        latent_prior(kernel, X, form="dense"),
        latent_prior(kernel, X, form="low_rank", tol=1e-11),
    )


@pytest.mark.parametrize("name", KERNELS)
def test_low_rank_algebra_is_dense_algebra(name, rng):
    dense, low = both_forms(name)
    precision = rng.gamma(0.7, size=150)
    precision[::7] = 0.0
    precision[3::11] = 1e-9
    shift, left = rng.normal(size=(2, 150))
    K = dense.kernel.gram(dense.X)
    covariance = K - K @ np.linalg.solve(
        np.eye(150) + precision[:, None] * K, precision[:, None] * K
    )
    inverse = np.diag(precision) - precision[:, None] * covariance * precision
    cross = rng.normal(size=(150, 4))
    for prior in (dense, low):
        conditioned = prior.condition(precision)
        np.testing.assert_allclose(prior.multiply(shift), K @ shift, atol=1e-5)
        np.testing.assert_allclose(conditioned.variance, np.diagonal(covariance), atol=1e-6)
        np.testing.assert_allclose(conditioned.mean(shift), covariance @ shift, atol=1e-5)
        np.testing.assert_allclose(conditioned.solve(shift), inverse @ shift, atol=1e-5)
        np.testing.assert_allclose(conditioned.solve(cross), inverse @ cross, atol=1e-5)
        P, Q = conditioned.whiten(cross)
        np.testing.assert_allclose(P.T @ P - Q.T @ Q, cross.T @ inverse @ cross, atol=1e-5)
        basis, core = conditioned.basis()
        np.testing.assert_allclose(basis @ core @ basis.T, covariance, atol=1e-6)
        log_determinant = np.linalg.slogdet(np.eye(150) + precision[:, None] * K)[1]
        assert conditioned.log_determinant == pytest.approx(log_determinant, abs=1e-6)
        dK = prior.kernel.gradients(prior.X)[1]
        expected = 0.5 * np.einsum("ij,pij->p", np.outer(left, shift) - inverse, dK)
        np.testing.assert_allclose(
            conditioned.gradient(left, shift), expected, rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize("weak", [0.0, 1e-12, 1e-6])
def test_dense_variances_keep_their_digits_under_weak_sites(weak):
    X, _ = table(30)
    prior = latent_prior(KERNELS["additive"], X, form="dense")
    variance = prior.condition(np.full(30, weak)).variance
    K = prior.gram
    expected = np.diagonal(K - weak * K @ K)
    np.testing.assert_allclose(variance, expected, rtol=1e-7)


def test_low_rank_gradient_is_that_of_the_low_rank_form():
    X, _ = table(120)
    kernel = KERNELS["additive"]
    precision, b = np.full(120, 0.4), np.linspace(-1, 1, 120)
    low = latent_prior(kernel, X, form="low_rank", tol=1e-3)
    pivots = low.pivots

    def value(theta):
        trial = kernel.with_theta(theta)
        columns = trial.gram(X, X[pivots])
        K = columns @ np.linalg.solve(columns[pivots], columns.T)
        return 0.5 * b @ K @ b - 0.5 * np.linalg.slogdet(np.eye(120) + 0.4 * K)[1]

    expected = central_differences(value, kernel.theta, step=1e-5)
    np.testing.assert_allclose(low.condition(precision).gradient(b, b), expected, rtol=1e-5)
    bare = LowRankPrior(kernel, X, low.factor, pivots, None)
    np.testing.assert_allclose(bare.condition(precision).gradient(b, b), expected, rtol=1e-5)


def test_form_is_chosen_by_rank():
    X, _ = table(300, columns=2)
    smooth = KERNELS["isotropic"]
    rough = smooth.with_theta(np.log([0.05, 3.0]))
    assert isinstance(latent_prior(smooth, X), LowRankPrior)
    assert isinstance(latent_prior(rough, X), DensePrior)
    assert isinstance(latent_prior(rough, X, form="low_rank"), LowRankPrior)
    assert isinstance(latent_prior(smooth, X, form="dense"), DensePrior)
    assert isinstance(latent_prior(smooth, X[:20]), DensePrior)
    with pytest.raises(InvalidInputError, match="form must be 'auto', 'dense' or 'low_rank'"):
        latent_prior(smooth, X, form="sparse")


def test_tolerance_sets_what_is_left_out():
    X, _ = table(300, columns=2)
    kernel = KERNELS["isotropic"]
    ranks = []
    for tol in (1e-3, 1e-6, 1e-9):
        prior = latent_prior(kernel, X, tol=tol)
        missing = kernel.diagonal(X) - np.sum(prior.factor**2, axis=1)
        assert missing.mean() <= tol
        ranks.append(len(prior.pivots))
    assert ranks == sorted(set(ranks))


class CountingKernel:
    """Forwards to a kernel and counts the columns that were asked for."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.theta = kernel.theta
        self.calls = []

    def gram(self, X, Y=None):
        self.calls.append(("gram", len(X), len(X if Y is None else Y)))
        return self.kernel.gram(X, Y)

    def gradients(self, X, Y=None):
        self.calls.append(("gradients", len(X), len(X if Y is None else Y)))
        return self.kernel.gradients(X, Y)

    def diagonal(self, X):
        return self.kernel.diagonal(X)


def test_known_pivots_need_one_call_for_matrix_and_gradient():
    X, _ = table(200, columns=2)
    kernel = KERNELS["isotropic"]
    pivots = latent_prior(kernel, X).pivots
    counting = CountingKernel(kernel.with_theta(kernel.theta + 0.001))
    prior = latent_prior(counting, X, pivots=pivots)
    prior.condition(np.ones(200)).gradient(np.ones(200), np.ones(200))
    assert counting.calls == [("gradients", 200, len(pivots))]


def test_pivots_are_added_when_too_few_and_dropped_when_too_many():
    X, _ = table(300, columns=2)
    kernel = KERNELS["isotropic"]
    long, short = (kernel.with_theta(np.log([scale, 3.0])) for scale in (4.0, 1.5))
    few, many = latent_prior(long, X).pivots, latent_prior(short, X).pivots
    grown = latent_prior(short, X, pivots=few)
    shrunk = latent_prior(long, X, pivots=many)
    assert len(few) < len(grown.pivots) <= 1.2 * len(many)
    assert len(shrunk.pivots) <= 1.3 * len(few) < len(many)
    for prior, trial in ((grown, short), (shrunk, long)):
        missing = trial.diagonal(X) - np.sum(prior.factor**2, axis=1)
        assert missing.mean() <= 1e-6
        derivatives = trial.gradients(X, X[prior.pivots])[1]
        found = np.full_like(derivatives, np.nan)
        for values, places in prior.derivatives:
            found[:, :, places[places >= 0]] = values[:, :, places >= 0]
        np.testing.assert_array_equal(found, derivatives)


@pytest.mark.parametrize("form", ["dense", "low_rank"])
def test_nothing_free_has_no_derivatives(form):
    X, _ = table(60)
    kernel = SquaredExponential(0, fixed=("lengthscale", "variance"))
    both = latent_prior(kernel, X, form=form).condition(np.ones(60))
    assert both.gradient(X[:, 0], X[:, 0]).shape == (0,)
    assert contract(np.empty((0, 3, 4)), np.ones((3, 4))).shape == (0,)
    assert symmetric_gradient(kernel, X, np.ones((60, 60))).shape == (0,)


@pytest.mark.parametrize("n_rows", [5, 64, 300])
def test_dense_gradients_are_sums_over_all_pairs(n_rows, rng):
    X, _ = table(n_rows)
    left, right = rng.normal(size=(2, n_rows))
    T = rng.uniform(0.1, 2.0, n_rows)
    both = latent_prior(SUM, X, form="dense").condition(T)
    R = np.linalg.inv(SUM.gram(X) + np.diag(1 / T))
    expected = np.einsum("ij,pij->p", np.outer(left, right) - R, SUM.gradients(X)[1]) / 2
    np.testing.assert_allclose(both.gradient(left, right), expected, rtol=1e-8, atol=1e-8)
    # The same solution by products, once the inverse is known.
    np.testing.assert_allclose(both.solve(left), R @ left, atol=1e-9)
    Sigma = np.linalg.inv(np.linalg.inv(SUM.gram(X) + 1e-9 * np.eye(n_rows)) + np.diag(T))
    np.testing.assert_allclose(both.product(left), Sigma @ left, atol=1e-5)
    np.testing.assert_allclose(both.variance, np.diagonal(Sigma), atol=1e-5)


def test_gradients_do_not_depend_on_chunks(monkeypatch, rng):
    X, _ = table(40)
    weights = rng.normal(size=(40, 40))
    whole = weighted_gradient(SUM, X, X, weights)
    low = latent_prior(SUM, X, form="low_rank").condition(np.ones(40))
    gradient = low.gradient(X[:, 0], X[:, 0])
    monkeypatch.setattr("parsimon.inference._covariance.CHUNK", 700)
    monkeypatch.setattr("parsimon.inference.prior.CHUNK", 700)
    np.testing.assert_allclose(weighted_gradient(SUM, X, X, weights), whole)
    np.testing.assert_allclose(
        whole, np.einsum("ij,pij->p", weights, SUM.gradients(X)[1]), rtol=1e-12
    )
    chunked = latent_prior(SUM, X, form="low_rank")
    again = latent_prior(SUM, X, pivots=chunked.pivots, form="low_rank")
    for prior in (chunked, again):
        assert prior.derivatives is None
        found = prior.condition(np.ones(40)).gradient(X[:, 0], X[:, 0])
        np.testing.assert_allclose(found, gradient, rtol=1e-6)


def test_kernels_that_are_not_positive_semi_definite_are_refused():
    X = np.array([[0.0], [1.0]])
    prior = DensePrior(Constant(1.0), X, np.array([[1.0, 3.0], [3.0, 1.0]]))
    with pytest.raises(np.linalg.LinAlgError, match="not positive semi-definite"):
        _ = prior.condition(np.ones(2)).variance


def test_a_kernel_of_zeros_has_rank_zero():
    X = np.zeros((60, 1))
    prior = latent_prior(SquaredExponential(0).with_theta(np.log([1.0, 1e-12])), X)
    conditioned = prior.condition(np.ones(60))
    assert prior.factor.shape == (60, 0)
    np.testing.assert_array_equal(conditioned.variance, np.zeros(60))
    np.testing.assert_array_equal(conditioned.gradient(np.ones(60), np.ones(60)), np.zeros(2))
    assert conditioned.log_determinant == 0
