"""A width for each input: planted inputs that do not matter, scales, constant columns."""

import numpy as np
import pytest
from scipy.special import expit

from parsimon.exceptions import InvalidInputError
from parsimon.kernels import Laplacian, Matern, MultiResolution, SquaredExponential
from parsimon.rvm import _widths
from parsimon.rvm._widths import best_gamma, input_relevance, input_widths


def planted(n, d, *, task, seed=0, noise=0.2):
    """Two inputs matter, the others do not."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    latent = 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 - 1.0
    if task == "regression":
        return X, latent + noise * rng.normal(size=n)
    return X, (rng.random(n) < expit(4.0 * latent)).astype(np.float64)


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_inputs_that_do_not_matter_get_small_relevance(task, kernel):
    X, y = planted(120, 4, task=task)
    found = input_widths(kernel, X, y, task=task, random_state=0)
    assert found.input_relevance.shape == (4,)
    assert found.input_relevance[:2].min() > 10.0 * found.input_relevance[2:].max()
    shared = best_gamma(kernel, X, y, task=task, random_state=0)
    assert found.history[-1] >= shared.history[-1] + 5.0
    assert (np.diff(found.history) > 0).all()


@pytest.mark.parametrize(("task", "seed"), [("regression", 0), ("classification", 1)])
def test_bare_evidence_is_never_lower_than_with_one_width(task, seed, monkeypatch):
    X, _ = planted(25, 2, task=task, seed=seed)
    # Nothing matters: there is nothing to gain but by overfitting.
    y = np.random.default_rng(seed + 50).integers(0, 2, size=25) * 1.0
    monkeypatch.setattr(_widths, "column_price", lambda n_rows: 0.0)  # noqa: ARG005
    how = {"task": task, "random_state": 0}
    found, shared = input_widths("rbf", X, y, **how), best_gamma("rbf", X, y, **how)
    assert found.log_evidence >= shared.log_evidence - 0.05
    assert found.history[-1] >= shared.history[-1] - 1e-6


def test_scaled_inputs_have_the_same_relevance():
    X, y = planted(120, 3, task="regression")
    one = input_widths("rbf", X, y, task="regression", random_state=0)
    other = input_widths("rbf", X * [1.0, 1e3, 1e-3], y, task="regression", random_state=0)
    assert one.input_relevance[2] < 0.01 * one.input_relevance[:2].min()
    np.testing.assert_allclose(other.input_relevance[:2], one.input_relevance[:2], rtol=0.05)
    assert other.input_relevance[2] < 0.01 * other.input_relevance[:2].min()


def test_constant_and_unseen_inputs_have_none():
    X, y = planted(80, 3, task="regression")
    X = np.column_stack([X, np.full(80, 7.0)])
    found = input_widths(Matern((0, 1, 3)), X, y, task="regression")
    assert found.input_relevance[[2, 3]].tolist() == [0.0, 0.0]
    assert found.input_relevance[:2].min() > 0
    assert isinstance(found.kernel, Matern)
    assert found.kernel.columns == (0, 1, 3)


def test_input_relevance_is_variance_over_twice_the_squared_lengthscale(rng):
    X = rng.normal(size=(30, 3)) * [1.0, 2.0, 5.0]
    kernel = SquaredExponential((0, 2), lengthscale=(1.0, 4.0))
    expected = [X[:, 0].var() / 2, 0.0, X[:, 2].var() / 32]
    np.testing.assert_allclose(input_relevance(kernel, X), expected)
    rough = Laplacian(lengthscale=(1.0, 2.0, 4.0))
    np.testing.assert_allclose(input_relevance(rough, X), X.std(axis=0) / [1.0, 2.0, 4.0])


@pytest.mark.parametrize(
    "kernel",
    [
        "poly",
        "linear",
        MultiResolution(),
        SquaredExponential(0) + SquaredExponential(1),
        SquaredExponential(fixed=("lengthscale",)),
    ],
)
def test_kernels_without_a_width_for_each_input_are_refused(kernel):
    X, y = planted(20, 2, task="regression")
    with pytest.raises(InvalidInputError, match='gamma="inputs" needs the kernel'):
        input_widths(kernel, X, y, task="regression")
