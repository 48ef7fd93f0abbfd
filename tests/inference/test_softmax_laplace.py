import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from parsimon.exceptions import InvalidInputError
from parsimon.inference import maximise_evidence, softmax_laplace
from parsimon.inference.posterior import Latent
from parsimon.inference.softmax_laplace import softmax_evidence, softmax_probability
from parsimon.kernels import SquaredExponential
from tests.inference.problems import KERNELS, central_differences, table

KERNEL = KERNELS["additive"]


def three_classes(n_rows, seed=0):
    X, _ = table(n_rows, seed)
    return X, np.digitize(X[:, 0] + 0.5 * X[:, 1] * X[:, 2], [-0.5, 0.6])


def brute_force(gram, codes, weights):
    """Return mode, covariance and log evidence from matrices over all classes and rows."""
    n_classes, n = 3, len(codes)
    prior = block_diag(*[gram] * n_classes)
    inverse = np.linalg.inv(prior)
    target = (codes == np.arange(n_classes)[:, None]).astype(float)

    def minus_log_density(flat):
        f = flat.reshape(n_classes, n)
        value = 0.5 * flat @ inverse @ flat - (weights * target * log_softmax(f, axis=0)).sum()
        return value, inverse @ flat - (weights * (target - softmax(f, axis=0))).ravel()

    found = minimize(minus_log_density, np.zeros(n_classes * n), jac=True, tol=1e-12)
    probability = softmax(found.x.reshape(n_classes, n), axis=0)
    W = np.zeros((n_classes * n, n_classes * n))
    for i in range(n):
        rows = i + n * np.arange(n_classes)
        p = probability[:, i]
        W[np.ix_(rows, rows)] = weights[i] * (np.diag(p) - np.outer(p, p))
    evidence = -found.fun - 0.5 * np.linalg.slogdet(np.eye(len(W)) + prior @ W)[1]
    return found.x.reshape(n_classes, n), W, prior, evidence


@pytest.mark.parametrize("weighted", [False, True])
def test_mode_evidence_and_predictions_are_those_of_brute_force(weighted):
    X, codes = three_classes(25)
    weights = np.tile([1.0, 2.0, 0.5, 1.5, 1.0], 5) if weighted else np.ones(25)
    posterior = softmax_laplace(KERNEL, X, codes, weights=weights)
    gram = KERNEL.gram(X)
    mode, W, prior, evidence = brute_force(gram + 1e-9 * np.eye(25), codes, weights)
    np.testing.assert_allclose(posterior.mode, mode, atol=1e-4)
    assert posterior.log_evidence == pytest.approx(evidence, abs=1e-5)
    X_star = table(4, seed=8)[0]
    cross = block_diag(*[KERNEL.gram(X_star, X)] * 3)
    inner = np.linalg.solve(np.eye(75) + W @ prior, W)
    whole = block_diag(*[KERNEL.gram(X_star)] * 3) - cross @ inner @ cross.T
    latent = posterior.latent(X_star)
    for i in range(4):
        rows = i + 4 * np.arange(3)
        np.testing.assert_allclose(latent.variance[i], whole[np.ix_(rows, rows)], atol=1e-5)
    means = cross @ np.linalg.solve(prior, mode.ravel())
    np.testing.assert_allclose(latent.mean.T.ravel(), means, atol=1e-3)


def test_latent_means_at_the_training_rows_are_the_mode():
    X, codes = three_classes(30)
    posterior = softmax_laplace(KERNEL, X, codes)
    np.testing.assert_allclose(posterior.latent(X).mean.T, posterior.mode, atol=1e-6)


@pytest.mark.parametrize("name", ["additive", "linear"])
def test_gradient_is_that_of_central_differences(name):
    X, codes = three_classes(30)
    kernel, weights = KERNELS[name], np.tile([1.0, 0.5, 2.0], 10)

    def value(theta):
        return softmax_laplace(
            kernel.with_theta(theta), X, codes, weights=weights, tol=1e-10
        ).log_evidence

    gradient = softmax_laplace(kernel, X, codes, weights=weights).evidence_gradient()
    np.testing.assert_allclose(
        gradient, central_differences(value, kernel.theta), rtol=1e-5, atol=1e-5
    )


def test_integer_weights_equal_duplicated_rows_and_zero_leaves_out():
    X, codes = three_classes(24)
    weights = np.tile([1.0, 2.0, 0.0], 8)
    repeated = np.repeat(np.arange(24), weights.astype(int))
    weighted = softmax_laplace(KERNEL, X, codes, weights=weights)
    duplicated = softmax_laplace(KERNEL, X[repeated], codes[repeated])
    assert weighted.log_evidence == pytest.approx(duplicated.log_evidence, abs=1e-6)
    X_star = table(5, seed=8)[0]
    for one, other in zip(weighted.latent(X_star), duplicated.latent(X_star), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    start = np.zeros((3, 24))
    again = softmax_laplace(KERNEL, X, codes, weights=weights, start=start)
    assert again.log_evidence == pytest.approx(weighted.log_evidence, abs=1e-9)


def test_component_means_add_up_and_shrink_to_the_whole():
    X, codes = three_classes(30)
    posterior = softmax_laplace(KERNEL, X, codes)
    X_star = table(6, seed=8)[0]
    parts = [posterior.component(term, X_star) for term in KERNEL.terms]
    whole = posterior.latent(X_star)
    np.testing.assert_allclose(sum(part.mean for part in parts), whole.mean, atol=1e-10)
    assert np.min(np.linalg.eigvalsh(parts[0].variance)) > -1e-9


def test_an_absent_class_gets_a_function_too():
    X, codes = three_classes(20)
    posterior = softmax_laplace(KERNEL, X, codes, n_classes=4)
    assert posterior.mode.shape == (4, 20)
    assert posterior.mode[3].mean() < 0
    np.testing.assert_allclose(posterior.weights.sum(axis=0), 0, atol=1e-9)


def test_probabilities_average_the_softmax():
    X, codes = three_classes(60)
    posterior = softmax_laplace(KERNEL, X, codes)
    latent = posterior.latent(X)
    averaged, plain = softmax_probability(latent), softmax_probability(latent, plug_in=True)
    for probability in (averaged, plain):
        np.testing.assert_allclose(probability.sum(axis=1), 1)
        assert np.mean(probability.argmax(axis=1) == codes) > 0.8
    np.testing.assert_allclose(plain, softmax(latent.mean, axis=1))
    assert averaged.max(axis=1).mean() < plain.max(axis=1).mean()
    many = softmax_probability(latent, n_samples=10_000, random_state=5)
    np.testing.assert_allclose(averaged, many, atol=0.05)
    fewer = softmax_probability(latent, n_samples=50)
    assert np.abs(fewer - many).max() > np.abs(averaged - many).max()
    np.testing.assert_array_equal(averaged, softmax_probability(latent, random_state=0))


def test_equal_rows_have_equal_probabilities():
    latent = Latent(np.tile([0.5, 0.0, -1.0], (3, 1)), np.tile(np.eye(3) * 2, (3, 1, 1)))
    probability = softmax_probability(latent)
    np.testing.assert_array_equal(probability[0], probability[2])


def test_hyperparameters_of_greatest_evidence_are_found():
    X, codes = three_classes(40)
    kernel = SquaredExponential(0).start(X)
    evaluate = softmax_evidence(kernel, X, codes, weights=np.tile([1.0, 0.0], 20))
    fit = maximise_evidence(evaluate, kernel.theta, kernel.bounds(X))
    assert fit.optimisation.converged
    inside = np.all((fit.theta > kernel.bounds(X)[:, 0]) & (fit.theta < kernel.bounds(X)[:, 1]))
    assert inside
    np.testing.assert_allclose(fit.posterior.evidence_gradient(), 0, atol=1e-2)
    assert fit.posterior.log_evidence > evaluate(kernel.theta, None).log_evidence


def test_steps_can_be_limited():
    X, codes = three_classes(30)
    assert not softmax_laplace(KERNEL, X, codes, max_iterations=1).converged
    warm = softmax_laplace(KERNEL, X, codes, start=softmax_laplace(KERNEL, X, codes).weights)
    assert warm.n_iterations == 1


def test_bad_codes_are_refused():
    X, codes = three_classes(10)
    with pytest.raises(InvalidInputError, match="Class codes must be 10 integers, got shape"):
        softmax_laplace(KERNEL, X, codes.astype(float))
    with pytest.raises(InvalidInputError, match=r"must be 0, 1, \.\.\., got -1"):
        softmax_laplace(KERNEL, X, codes - 1)
    with pytest.raises(InvalidInputError, match=r"n_classes is 2, but there is a code 2"):
        softmax_laplace(KERNEL, X, codes, n_classes=2)
