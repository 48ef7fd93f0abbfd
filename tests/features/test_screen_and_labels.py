import numpy as np
import pytest
from scipy import stats

from parsimon.exceptions import InvalidInputError
from parsimon.features import FewColumnsClassifier, label_noise, regression_screen
from parsimon.features.screen import moderated_scores, steady_share, target_columns

RNG = np.random.default_rng(0)


def test_the_screen_is_ordinary_regression_column_by_column():
    X, given = RNG.normal(size=(40, 5)), RNG.normal(size=(40, 2))
    y = X[:, 1] + given[:, 0] + RNG.normal(size=40)
    found = regression_screen(X, y, cofactors=given)
    for k in range(5):
        design = np.column_stack([np.ones(40), given, X[:, k]])
        slopes, [squares], _, _ = np.linalg.lstsq(design, y)
        error = np.sqrt(squares / 36 * np.linalg.inv(design.T @ design)[-1, -1])
        assert found.slope[k] == pytest.approx(slopes[-1])
        assert found.t[k] == pytest.approx(slopes[-1] / error)
        assert found.p_value[k] == pytest.approx(2 * stats.t.sf(abs(slopes[-1] / error), 36))


def test_corrections_are_those_of_bonferroni_and_of_benjamini_and_hochberg():
    found = regression_screen(RNG.normal(size=(30, 50)), RNG.normal(size=30))
    np.testing.assert_allclose(found.bonferroni, np.minimum(1.0, 50 * found.p_value))
    expected = stats.false_discovery_control(found.p_value)
    np.testing.assert_allclose(found.benjamini_hochberg, expected)


def test_a_column_that_repeats_a_cofactor_says_nothing():
    X = RNG.normal(size=(30, 2))
    found = regression_screen(X, RNG.normal(size=30), cofactors=X[:, :1])
    assert found.p_value[0] == 1


def test_wrong_labels_are_found_and_cost_area():
    y = np.repeat([0, 1], [97, 35])
    X = RNG.normal(size=(132, 20)) + 1.5 * y[:, None]
    study = label_noise(X, y, flips=(0, 5), n_splits=20, random_state=0)
    assert study.test[1].mean() < study.test[0].mean()
    assert study.hit_rate[1] > 0.7 > study.chance_rate[1]
    wrong = y.copy()
    wrong[[2, 100]] = 1 - wrong[[2, 100]]
    found = label_noise(X, wrong, flips=(0,), n_splits=10, random_state=0)
    assert set(found.suspects(2)) == {2, 100}
    assert found.plot().get_xlabel()
    with pytest.raises(InvalidInputError, match="at most 16"):
        label_noise(X, y, flips=(40,))


def trimmed(rows):
    return np.sort(rows)[1:-1].mean()


def test_scores_of_two_classes_take_the_smaller_distance_with_and_without_extremes():
    y = np.repeat([0, 1], [8, 5])
    X = RNG.normal(size=(13, 60)) + y[:, None] * RNG.normal(size=60)
    found = moderated_scores(X, target_columns(y, np.array([0, 1])))
    scatter, distance = np.empty(60), np.empty(60)
    for k, (ill, well) in enumerate(zip(X[y == 1].T, X[y == 0].T, strict=True)):
        plain, inner = ill.mean() - well.mean(), trimmed(ill) - trimmed(well)
        distance[k] = min(abs(plain), abs(inner)) if plain * inner > 0 else 0.0
        scatter[k] = np.sqrt((7 * well.var(ddof=1) + 4 * ill.var(ddof=1)) / 11)
    expected = np.sqrt(8 * 5) / 13 * distance / (scatter + np.median(scatter))
    np.testing.assert_allclose(found, expected)


def test_the_steady_share_of_three_classes_is_that_of_their_means_and_trimmed_means():
    y = np.repeat([0, 1, 2], [4, 6, 2])
    X = RNG.normal(size=(12, 20))
    X -= X.mean(axis=0)
    share = steady_share(X, target_columns(y, np.arange(3)))
    weights = np.array([4, 6, 2]) / 12
    for k, column in enumerate(X.T):
        parts = [column[y == one] for one in range(3)]
        means = np.array([part.mean() for part in parts])
        inner = np.array([trimmed(part) if len(part) > 2 else part.mean() for part in parts])
        inner = inner - weights @ inner
        kept = np.where(means * inner > 0, np.minimum(abs(means), abs(inner)), 0.0)
        assert share[k] == pytest.approx(weights @ kept**2 / (weights @ means**2))


def test_one_row_makes_no_column():
    y = np.repeat([0, 1], 10)
    X = RNG.normal(size=(20, 300))
    X[:, 5] += 2.5 * y
    X[:, 8] = 0.1 * RNG.normal(size=20)
    X[19, 8] = 4.0
    scores = FewColumnsClassifier().fit(X, y).scores_
    assert scores[5] == scores.max()
    assert scores[8] < np.median(scores)
