"""Prior functions have the kernel as covariance, and pictures show what they say."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.kernels import (
    Constant,
    Epanechnikov,
    Linear,
    Periodic,
    Polynomial,
    SquaredExponential,
    plot,
    sample_prior,
)

SE = SquaredExponential


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_draws_have_the_kernel_as_covariance():
    kernel = SE(0, 0.8, 2.0) + Linear(1, 0.5)
    X = np.random.default_rng(1).normal(size=(6, 2))
    draws = sample_prior(kernel, X, 40_000, random_state=0)
    assert draws.shape == (40_000, 6)
    gram = kernel.gram(X)
    # Standard errors of the entries of a sample covariance.
    deviation = np.sqrt((gram**2 + np.outer(np.diag(gram), np.diag(gram))) / 40_000)
    assert (np.abs(np.cov(draws.T) - gram) < 5 * deviation).all()
    assert (np.abs(draws.mean(axis=0)) < 5 * np.sqrt(np.diag(gram) / 40_000)).all()


def test_draws_of_a_singular_kernel_and_their_seed():
    X = np.array([[0.0], [1.0], [2.0]])
    flat = sample_prior(Constant(4.0), X, 5, random_state=3)
    np.testing.assert_allclose(flat, np.repeat(flat[:, :1], 3, axis=1), atol=1e-6)
    again = sample_prior(Constant(4.0), X, 5, random_state=3)
    np.testing.assert_array_equal(again, flat)
    assert not np.array_equal(sample_prior(Constant(4.0), X, 5, random_state=4), flat)
    periodic = sample_prior(Periodic(0, period=2.0), X, random_state=0)[0]
    assert periodic[0] == pytest.approx(periodic[2], abs=1e-6)


def test_what_has_no_prior():
    with pytest.raises(InvalidInputError, match="no function has it as its covariance"):
        sample_prior(Epanechnikov(0), [[0.0]])
    with pytest.raises(InvalidInputError, match="n_samples must be 1 or more"):
        sample_prior(SE(0), [[0.0]], 0)


def test_one_column():
    kernel = SE(2, 2.0, 3.0)
    curve, draws = plot(kernel, names=["a", "b", "glucose"], n_samples=3, random_state=7)
    x, height = curve.lines[0].get_data()
    assert (x[0], x[-1]) == (-6, 6)
    np.testing.assert_allclose(height, 3 * np.exp(-(x**2) / 8), rtol=1e-12)
    assert curve.get_title(loc="left") == "Similarity to glucose = 0"
    assert curve.figure.get_suptitle() == "SE(glucose)"
    X = np.column_stack([np.zeros((len(x), 2)), x])
    expected = sample_prior(kernel, X, 3, random_state=7)
    assert len(draws.lines) == 3
    for line, draw in zip(draws.lines, expected, strict=True):
        np.testing.assert_allclose(line.get_ydata(), draw)
    assert draws.get_xlabel() == "glucose"


def test_the_range_of_data_is_drawn():
    curve, _ = plot(SE(1), [[5.0, 1.0], [6.0, 9.0]])
    assert curve.get_xlim() == (1, 9)
    both = plot(SE(), [[5.0, 1.0], [6.0, 9.0]])[0]
    np.testing.assert_allclose([*both.get_xlim(), *both.get_ylim()], [5, 6, 1, 9])


def test_similarity_of_a_line_is_not_to_its_zero():
    curve, _ = plot(Linear(0, 2.0))
    x, height = curve.lines[0].get_data()
    slope = (height[-1] - height[0]) / (x[-1] - x[0])
    place = curve.lines[1].get_xdata()[0]
    assert place > 0
    assert slope == pytest.approx(2 * place)


@pytest.mark.parametrize("kind", ["contour", "surface"])
@pytest.mark.parametrize("kernel", [SE(0) * SE(1), SE(0) + Linear(1), SE((0, 1))], ids=str)
def test_two_columns(kernel, kind):
    axes = plot(kernel, kind=kind)
    assert len(axes) == 2
    assert [ax.name == "3d" for ax in axes] == [kind == "surface"] * 2
    assert axes[1].get_title(loc="left") == "A function from the prior"
    assert (axes[0].get_xlabel(), axes[0].get_ylabel()) == ("x1", "x2")
    axes[0].figure.canvas.draw()


def test_a_kernel_without_prior_has_one_panel():
    (curve,) = plot(Epanechnikov(0, 4.0))
    x, height = curve.lines[0].get_data()
    assert (x[height > 0].min() > -2, x[height > 0].max() < 2, height.max()) == (True, True, 1)
    assert len(plot(Epanechnikov((0, 1)))) == 1


def test_given_axes_are_used():
    _, axes = plt.subplots(1, 2)
    drawn = plot(Polynomial(0), axes=axes)
    assert list(drawn) == list(axes)
    assert len(axes[1].lines) == 4


def test_the_style_does_not_leak():
    before = plt.rcParams["axes.facecolor"]
    plot(Constant(2.0))
    assert plt.rcParams["axes.facecolor"] == before


def test_what_cannot_be_drawn():
    with pytest.raises(InvalidInputError, match="acts on 3 columns, and a picture holds two"):
        plot(SE(0) + SE(1) * SE(2))
    with pytest.raises(InvalidInputError, match='kind must be "contour" or "surface"'):
        plot(SE(0), kind="bar")
