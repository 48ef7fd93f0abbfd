"""Waves, spirals, boards and discs: geometry by brute force, error rates as printed."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from parsimon.datasets import (
    load,
    make_checkerboard,
    make_global_and_local,
    make_spiral,
    make_waveform,
    shapes,
)
from parsimon.exceptions import InvalidInputError

MANY = 100_000
PAIRS = ((0, 1), (0, 2), (1, 2))


def waves():
    """Breiman's formulas, written out."""

    def h1(i):
        return max(6 - abs(i - 11), 0)

    return np.array(
        [[h(i) for i in range(1, 22)] for h in (h1, lambda i: h1(i - 4), lambda i: h1(i + 4))]
    )


def test_waveform_classes_have_breimans_profiles_and_covariances():
    X, y = make_waveform(MANY, random_state=0)
    np.testing.assert_allclose(np.bincount(y) / MANY, 1 / 3, atol=0.006)
    for label, (first, second) in enumerate(PAIRS):
        a, b = waves()[[first, second]]
        rows = X[y == label]
        np.testing.assert_allclose(rows.mean(axis=0), (a + b) / 2, atol=0.05)
        # u is uniform: its variance, 1/12, lies along the difference of the two waves.
        expected = np.eye(21) + np.outer(a - b, a - b) / 12
        np.testing.assert_allclose(np.cov(rows.T), expected, atol=0.1)


def test_waveform_best_accuracy_and_area_are_the_published_ones():
    X, y = make_waveform(MANY, binary=True, random_state=1)
    densities = np.array([blend_density(X, *waves()[list(pair)]) for pair in PAIRS])
    score = densities[1] / densities.sum(axis=0)
    assert roc_auc_score(y, score) == pytest.approx(0.9788, abs=0.0015)
    assert np.mean((score > 0.5) == y) == pytest.approx(0.918, abs=0.003)


def blend_density(X, a, b):
    """Integrate N(x | u a + (1 - u) b, I) over u by Gauss and Legendre, up to a constant."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    u, weights = (nodes + 1) / 2, weights / 2
    squared = ((X - b) ** 2).sum(axis=1)[:, None]
    squared = squared - 2 * u * ((X - b) @ (a - b))[:, None] + u**2 * ((a - b) ** 2).sum()
    return np.exp(-squared / 2) @ weights


def test_binary_waveform_is_the_middle_class_against_the_others():
    X, y = make_waveform(500, random_state=3)
    X_binary, y_binary = make_waveform(500, binary=True, random_state=3)
    np.testing.assert_array_equal(X_binary, X)
    np.testing.assert_array_equal(y_binary, y == 1)


def test_positive_waves_are_those_of_the_benchmark(data_folder, monkeypatch):
    monkeypatch.setenv("PARSIMON_DATA", str(data_folder))
    real = load("raetsch_waveform")
    X, y = make_waveform(MANY, binary=True, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    profile = real.data.to_numpy()[real.target == 1].mean(axis=0)
    assert np.corrcoef(X[y == 1].mean(axis=0), profile)[0, 1] > 0.999


@pytest.mark.parametrize("n", [500, 501, 2])
def test_spiral_without_noise_lies_on_its_two_arms(n):
    X, y = make_spiral(n, noise=0.0, random_state=0)
    expected = []
    for arm, size in ((0, (n + 1) // 2), (1, n // 2)):
        for step in range(size):
            angle = 1.5 * math.pi + (4.5 * math.pi * step / (size - 1) if size > 1 else 0)
            radius = 10 * angle / (4.5 * math.pi) - 2 * arm
            expected.append((radius * math.cos(angle), radius * math.sin(angle), arm))
    found = np.column_stack([X, y])
    # Rows come in random order: each expected one must have its own neighbour.
    distances = np.linalg.norm(found[:, None] - np.array(expected)[None], axis=2)
    assert distances.min(axis=0).max() < 1e-9
    assert sorted(distances.argmin(axis=1)) == list(range(n))


def test_spiral_rows_are_shuffled():
    _, y = make_spiral(500, random_state=0)
    assert 100 < np.abs(np.diff(y)).sum() < 400


@pytest.mark.parametrize("noise", [0.1, 0.75])
def test_spiral_noise_is_a_standard_deviation(noise):
    clean, _ = make_spiral(20_000, noise=0.0, random_state=5)
    noisy, _ = make_spiral(20_000, noise=noise, random_state=5)
    np.testing.assert_allclose((noisy - clean).std(axis=0), noise, rtol=0.02)
    np.testing.assert_allclose((noisy - clean).mean(axis=0), 0, atol=0.03)


def svm_error(make):
    """Mean tenfold error of a support vector machine with gamma = 1 over eight samples."""
    errors = []
    for seed in range(8):
        folds = StratifiedKFold(10, shuffle=True, random_state=seed)
        errors.append(1 - cross_val_score(SVC(gamma=1.0), *make(seed), cv=folds).mean())
    return np.mean(errors)


def test_spiral_is_as_hard_as_mierswas():
    # He prints 16.4 to 17.8 % with a standard deviation of 4.5 between folds.
    assert 0.14 < svm_error(lambda seed: make_spiral(random_state=seed)) < 0.22
    assert svm_error(lambda seed: make_spiral(noise=0.1, random_state=seed)) == 0.0


def test_checkerboard_is_as_hard_as_mierswas():
    # He prints 22.7 to 24.0 % with a standard deviation of 4.9 between folds.
    usual = svm_error(lambda seed: make_checkerboard(random_state=seed))
    coarse = svm_error(lambda seed: make_checkerboard(tile=5.0, random_state=seed))
    assert 0.21 < usual < 0.27
    assert coarse > usual


@pytest.mark.parametrize(("tile", "n_tiles"), [(3.0, 8), (5.0, 8), (0.7, 3)])
def test_checkerboard_labels_are_parities(tile, n_tiles):
    X, y = make_checkerboard(5000, tile=tile, n_tiles=n_tiles, random_state=0)
    parity = [(math.floor(a / tile) + math.floor(b / tile)) % 2 for a, b in X]
    assert y.tolist() == parity
    assert X.min() >= 0
    assert X.max() < tile * n_tiles
    tiles = np.floor(X / tile) @ [n_tiles, 1]
    counts = np.bincount(tiles.astype(int), minlength=n_tiles**2)
    expected = 5000 / n_tiles**2
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)


def test_checkerboard_usual_board_is_24_wide():
    X, y = make_checkerboard(MANY, random_state=0)
    np.testing.assert_allclose(X.max(axis=0), 24, atol=0.01)
    np.testing.assert_allclose(X.mean(axis=0), 12, atol=0.1)
    assert y.mean() == pytest.approx(0.5, abs=0.01)


coordinates = st.floats(-3, 3, allow_nan=False)


@given(
    arrays(float, (7, 2), elements=coordinates),
    arrays(float, (4, 2), elements=coordinates),
    arrays(float, (4,), elements=st.floats(0, 2)),
    st.integers(0, 4),
)
def test_discs_come_before_the_line_and_positive_before_negative(X, centres, radii, n_positive):
    def label(point):
        for disc, (centre, radius) in enumerate(zip(centres, radii, strict=True)):
            if np.linalg.norm(point - centre) <= radius:
                return int(disc < n_positive)
        return int(point[0] + point[1] > 0)

    found = shapes.disc_labels(X, centres, radii, n_positive=n_positive)
    assert found.tolist() == [label(point) for point in X]


@pytest.mark.parametrize(("lower", "upper"), [(-10.0, 10.0), (0.0, 2.0)])
def test_discs_are_drawn_as_rapidminer_draws_them(lower, upper, monkeypatch):
    drawn = []
    labels = shapes.disc_labels

    def spy(X, centres, radii, *, n_positive):
        drawn.append((centres, radii, n_positive))
        return labels(X, centres, radii, n_positive=n_positive)

    monkeypatch.setattr(shapes, "disc_labels", spy)
    for seed in range(400):
        make_global_and_local(2, lower=lower, upper=upper, random_state=seed)
    centres = np.concatenate([draw[0] for draw in drawn])
    radii = np.concatenate([draw[1] for draw in drawn])
    assert len(radii) == 400 * 13
    assert {draw[2] for draw in drawn} == {8}
    width = upper - lower
    assert centres.min() >= lower
    assert centres.max() <= upper
    np.testing.assert_allclose(centres.mean(axis=0), (lower + upper) / 2, atol=0.02 * width)
    assert 0 <= radii.min() < radii.max() <= width / 8
    assert radii.max() > 0.99 * width / 8
    assert radii.mean() == pytest.approx(width / 16, rel=0.03)


@pytest.mark.parametrize("label_noise", [0.05, 0.3])
def test_label_noise_flips_that_share_of_labels(label_noise):
    X, y = make_global_and_local(20_000, label_noise=0.0, random_state=0)
    X_noisy, y_noisy = make_global_and_local(20_000, label_noise=label_noise, random_state=0)
    np.testing.assert_array_equal(X_noisy, X)
    assert np.mean(y_noisy != y) == pytest.approx(label_noise, abs=0.01)


def test_global_and_local_is_uniform_and_mostly_a_diagonal():
    X, y = make_global_and_local(20_000, label_noise=0.0, random_state=0)
    np.testing.assert_allclose(X.min(axis=0), -10, atol=0.01)
    np.testing.assert_allclose(X.max(axis=0), 10, atol=0.01)
    np.testing.assert_allclose(X.var(axis=0), 400 / 12, rtol=0.02)
    agree = np.mean(y == (X.sum(axis=1) > 0))
    assert 0.8 < agree < 1.0
    _, usual = make_global_and_local(random_state=0)
    _, clean = make_global_and_local(label_noise=0.0, random_state=0)
    assert 0.02 < np.mean(usual != clean) < 0.08


@pytest.mark.parametrize(
    ("make", "pattern"),
    [
        (lambda: make_spiral(noise=-1), "noise must be 0 or more, got -1"),
        (lambda: make_checkerboard(tile=0), "tile must be above 0, got 0"),
        (lambda: make_checkerboard(n_tiles=0), "n_tiles must be an integer of at least 1"),
        (
            lambda: make_global_and_local(label_noise=2),
            "label_noise must be between 0 and 1, got 2",
        ),
        (lambda: make_global_and_local(lower=1, upper=1), "lower must be below upper, got 1 and 1"),
    ],
)
def test_options_outside_their_range_are_refused(make, pattern):
    with pytest.raises(InvalidInputError, match=pattern):
        make()
