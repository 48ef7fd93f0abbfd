import numpy as np
import pytest
from scipy import stats

from parsimon.exceptions import InvalidInputError
from parsimon.features import fixed_models, label_noise, regression_screen

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


def test_named_columns_are_judged_on_other_rows():
    y = np.repeat([0, 1], 40)
    X = RNG.normal(size=(80, 3))
    X[:, 0] += 1.5 * y
    found = fixed_models(X, y, {"good": [0], "noise": [1, 2]}, n_splits=10, random_state=0)
    assert found.test[0].mean() > 0.75
    assert abs(found.test[1].mean() - 0.5) < 3 * found.null_sd
    assert found.plot().get_xlabel()
