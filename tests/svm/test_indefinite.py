"""Spectra, repairs and kernel matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from sklearn.svm import SVC

from parsimon._style import BLUE, VERMILION
from parsimon.exceptions import InvalidInputError
from parsimon.kernels import Epanechnikov, SquaredExponential, as_kernel
from parsimon.svm._gram import Gram
from parsimon.svm.indefinite import kernel_spectrum, repair_kernel

seeds = st.integers(0, 10_000)


def symmetric(seed, n=8):
    square = np.random.default_rng(seed).normal(size=(n, n))
    return square + square.T


@given(seeds)
def test_the_spectrum_is_that_of_the_matrix(seed):
    K = symmetric(seed)
    spectrum = kernel_spectrum(K)
    values = np.linalg.eigvalsh(K)
    np.testing.assert_allclose(spectrum.eigenvalues, values[::-1], atol=1e-12)
    assert spectrum.n_negative == (values < 0).sum()
    assert spectrum.smallest == pytest.approx(values.min())
    assert spectrum.negative_mass == pytest.approx(-values[values < 0].sum() / np.abs(values).sum())
    assert not spectrum.is_psd


def test_rounding_is_not_a_negative_eigenvalue():
    K = np.ones((50, 50))
    assert kernel_spectrum(K).is_psd
    K = np.diag([1.0, -1e-6])
    assert kernel_spectrum(K).n_negative == 1
    assert kernel_spectrum(K, tol=1e-5).n_negative == 0


@given(seeds, st.sampled_from(["clip", "flip", "shift"]))
def test_repairs_are_positive_semi_definite_and_do_what_they_say(seed, how):
    K = symmetric(seed)
    repair = repair_kernel(K, how)
    before, vectors = np.linalg.eigh(K)
    wanted = {
        "clip": np.maximum(before, 0),
        "flip": np.abs(before),
        "shift": before - before.min(),
    }[how]
    np.testing.assert_allclose(repair.train, (vectors * wanted) @ vectors.T, atol=1e-10)
    np.testing.assert_allclose(repair.spectrum.eigenvalues, before[::-1], atol=1e-12)


@given(seeds, st.sampled_from(["clip", "flip"]))
def test_new_rows_that_are_training_rows_get_their_training_similarities(seed, how):
    K = symmetric(seed)
    repair = repair_kernel(K, how)
    np.testing.assert_allclose(K[2:4] @ repair.map, repair.train[2:4], atol=1e-10)


@pytest.mark.parametrize("how", ["native", "clip", "flip", "shift"])
def test_a_definite_matrix_is_left_alone(how):
    K = np.array([[2.0, 1.0], [1.0, 2.0]])
    repair = repair_kernel(K, how)
    np.testing.assert_array_equal(repair.train, K)
    assert repair.map is None


def test_native_changes_nothing_and_shift_no_new_rows():
    K = symmetric(0)
    np.testing.assert_array_equal(repair_kernel(K, "native").train, K)
    assert repair_kernel(K, "native").map is None
    assert repair_kernel(K, "shift").map is None


def test_matrices_that_are_no_kernels_are_refused():
    with pytest.raises(InvalidInputError, match="differ by up to 1"):
        kernel_spectrum([[0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(InvalidInputError, match="square matrix, got shape"):
        kernel_spectrum(np.ones((2, 3)))
    with pytest.raises(InvalidInputError, match="must be finite"):
        kernel_spectrum([[np.nan]])
    with pytest.raises(InvalidInputError, match="indefinite must be"):
        repair_kernel(np.eye(2), "square")


def test_the_picture_has_a_bar_for_each_eigenvalue_and_marks_the_negative_ones():
    K = np.diag([3.0, 1.0, -2.0, 0.5])
    axes = kernel_spectrum(K).plot()
    heights = [bar.get_height() for bar in axes.patches]
    assert heights == [3.0, 1.0, 0.5, -2.0]
    colours = [plt.matplotlib.colors.to_hex(bar.get_facecolor()).upper() for bar in axes.patches]
    assert colours == [BLUE, BLUE, BLUE, VERMILION]
    assert axes.get_title(loc="left") == "1 of 4 eigenvalues negative, 31 % of the mass"
    assert [text.get_text() for text in axes.texts] == ["\N{MINUS SIGN}2"]
    fewer = kernel_spectrum(K).plot(n_shown=2)
    assert [bar.get_height() for bar in fewer.patches] == [3.0, -2.0]
    assert len(kernel_spectrum(np.diag(np.arange(1.0, 31.0))).plot().patches) == 20
    assert len(kernel_spectrum(np.diag(np.arange(1.0, 31.0))).plot(n_shown=None).patches) == 30
    plt.close("all")


def test_the_picture_of_a_definite_matrix_says_so_and_uses_given_axes():
    axes = plt.figure().add_subplot()
    assert kernel_spectrum(np.eye(3)).plot(axes) is axes
    assert axes.get_title(loc="left").startswith("Positive semi-definite: 3 eigenvalues")
    assert axes.get_legend() is None
    plt.close("all")


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
def test_named_kernels_are_those_of_svc(kernel, gamma, rng):
    X, new = rng.normal(size=(20, 3)), rng.normal(size=(5, 3))
    y = np.arange(20) % 2
    gram = Gram.of(kernel, gamma, X)
    theirs = SVC(kernel=kernel, gamma=gamma).fit(X, y)
    ours = SVC(kernel="precomputed").fit(gram.train, y)
    np.testing.assert_allclose(
        ours.decision_function(gram.between(new)), theirs.decision_function(new), atol=1e-8
    )
    assert gram.is_psd == (kernel != "sigmoid")


def test_weights_count_in_the_scale(rng):
    X = rng.normal(size=(4, 2))
    repeated = Gram.of("rbf", "scale", np.repeat(X, [1, 2, 1, 3], axis=0))
    weighted = Gram.of("rbf", "scale", X, weights=np.array([1.0, 2.0, 1.0, 3.0]))
    np.testing.assert_allclose(weighted.between(X), repeated.between(X)[:, [0, 1, 3, 4]])


def test_objects_callables_and_matrices_are_kernels_too(rng):
    X = rng.normal(size=(6, 2))
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    as_object = Gram.of(SquaredExponential(lengthscale=2.0), "scale", X)
    np.testing.assert_allclose(as_object.train, np.exp(-squared / 8))
    assert as_object.is_psd
    assert not Gram.of(Epanechnikov(width=2.0), "scale", X).is_psd
    called = Gram.of(lambda A, B: A @ B.T, "scale", X)
    np.testing.assert_allclose(called.between(X[:2]), X[:2] @ X.T)
    given_matrix = Gram.of("precomputed", "scale", X @ X.T)
    np.testing.assert_allclose(given_matrix.train, X @ X.T)
    few = given_matrix.subset(np.array([4, 1]))
    np.testing.assert_allclose(few.train, (X @ X.T)[np.ix_([4, 1], [4, 1])])
    np.testing.assert_allclose(few.between(np.arange(12.0).reshape(2, 6)), [[4, 1], [10, 7]])
    again = few.subset(np.array([1]))
    np.testing.assert_allclose(again.between(np.arange(6.0)[None]), [[1]])


def test_kernels_that_cannot_be_used_are_refused(rng):
    X = rng.normal(size=(4, 2))
    with pytest.raises(InvalidInputError, match="square matrix of the similarities"):
        Gram.of("precomputed", "scale", X)
    with pytest.raises(InvalidInputError, match="a parsimon kernel or a callable; got 3"):
        Gram.of(3, "scale", X)
    with pytest.raises(InvalidInputError, match="not symmetric"):
        _ = Gram.of("precomputed", "scale", np.array([[1.0, 2.0], [0.0, 1.0]])).train
    with pytest.raises(InvalidInputError, match="not finite on these rows"):
        _ = Gram.of(lambda A, B: A @ B.T + np.inf, "scale", np.zeros((2, 1))).train
    with pytest.raises(InvalidInputError, match="not finite on these rows"):
        _ = Gram.of(as_kernel("poly", degree=300), 1.0, 1e9 * X).train
