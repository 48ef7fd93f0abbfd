"""What rows left out are told by the inner learner of series: the same as a fit without them."""

import numpy as np
import pytest

from parsimon.features.series.series_model import fold_outputs, smooth_fit, smooth_kernel
from parsimon.features.series.tree_search import (
    Targets,
    quick_fitness,
    standardise_features,
    unlike,
)


def _told(Z, T, train, test, fit):
    """Return what a fit to some rows says of others, by solving the normal equations."""
    gram = smooth_kernel(Z[train], Z[train], fit.width) + fit.noise * np.eye(len(train))
    return smooth_kernel(Z[test], Z[train], fit.width) @ np.linalg.solve(gram, T[train])


@pytest.fixture
def rows(rng):
    Z = rng.normal(size=(24, 3))
    return Z, np.column_stack([Z[:, 0] ** 2, Z[:, 1]]) + 0.5 * rng.normal(size=(24, 2))


def test_a_row_left_out_is_told_what_a_fit_to_the_others_says(rows):
    Z, T = rows
    fit = smooth_fit(Z, T)
    for row in range(len(Z)):
        rest = np.delete(np.arange(len(Z)), row)
        np.testing.assert_allclose(fit.left_out[[row]], _told(Z, T, rest, [row], fit), atol=1e-8)
    assert fit.loss == pytest.approx(np.mean((T - fit.left_out) ** 2))


def test_many_rows_are_told_by_the_rank_of_their_kernel(rng):
    Z = rng.normal(size=(620, 2))
    T = np.column_stack([Z[:, 0] ** 2, Z[:, 1]]) + 0.5 * rng.normal(size=(620, 2))
    fit = smooth_fit(Z, T)
    for row in (0, 311, 619):
        rest = np.delete(np.arange(len(Z)), row)
        np.testing.assert_allclose(fit.left_out[[row]], _told(Z, T, rest, [row], fit), atol=1e-6)
    said = smooth_kernel(Z, Z, fit.width) @ fit.weights
    np.testing.assert_allclose(said + fit.noise * fit.weights, T, atol=1e-5)


def test_a_fold_is_told_what_a_fit_to_its_training_rows_says(rows):
    Z, T = rows
    folds = [(np.arange(0, 12), np.arange(12, 16)), (np.arange(0, 16), np.arange(16, 24))]
    fit = smooth_fit(Z, T, folds)
    assert np.isnan(fit.left_out[:12]).all()
    for train, test in folds:
        np.testing.assert_allclose(fit.left_out[test], _told(Z, T, train, test, fit), atol=1e-8)


def test_rows_left_out_agree_with_noise_by_chance_only(rng):
    agreement = []
    for _ in range(40):
        T = rng.normal(size=(30, 1))
        fit = smooth_fit(rng.normal(size=(30, 4)), T - T.mean())
        agreement.append(float(np.mean(fit.left_out * (T - T.mean()))))
    # Rows left out are told the mean of the others, which lies on the other side of their own.
    assert np.mean(agreement) < 0.02


def test_outputs_of_folds_are_those_of_features_chosen_and_fitted_without_their_rows(rng):
    Z, codes = rng.normal(size=(40, 30)), np.arange(40) % 2
    Z[:, 3] += codes
    targets = Targets.of_classes(codes)
    said, middle, rows = fold_outputs(Z, targets, 4)
    assert sorted(rows) == list(range(40))
    for test in np.split(rows, 5):
        rest = np.setdiff1d(np.arange(40), test)
        own = targets.of(rest)
        learnt, centre, scale = standardise_features(Z[rest])
        chosen = unlike(quick_fitness(learnt, own), learnt, 4)
        fit = smooth_fit(learnt[:, chosen], own.T)
        both = np.vstack([learnt, (Z[test] - centre) / scale])[:, chosen]
        told = _told(both, own.T, np.arange(32), np.arange(32, 40), fit)
        np.testing.assert_allclose(said[np.isin(rows, test)], told, atol=1e-8)
        np.testing.assert_allclose(middle[np.isin(rows, test)], np.tile(own.T.mean(0), (8, 1)))
