"""The line of calibration: its likelihood, its interval, and how often perfect ones are doubted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit, ndtri
from sklearn.linear_model import LogisticRegression

from parsimon.evaluation.row_intervals import dependence_near
from parsimon.statistician.measure import calibration_line


@given(st.integers(0, 10**6), st.floats(0.3, 3), st.floats(-1, 1))
def test_the_line_is_that_of_logistic_regression(seed, slope, intercept):
    rng = np.random.default_rng(seed)
    probability = expit(rng.normal(size=200))
    y = (rng.random(200) < expit(slope * logit(probability) + intercept)).astype(float)
    found = calibration_line(y, probability)
    oracle = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    oracle.fit(logit(probability)[:, None], y)
    expected = (oracle.coef_[0, 0], oracle.intercept_[0])
    assert [one.estimate for one in found] == pytest.approx(expected, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    ("y", "probability"),
    [
        ([1, 1, 1], [0.2, 0.5, 0.9]),
        ([0, 1, 0, 1], [0.5, 0.5, 0.5, 0.5]),
        ([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]),
        ([1, 1, 0, 0], [0.1, 0.3, 0.4, 0.8]),
    ],
)
def test_no_line_where_none_is_finite(y, probability):
    assert calibration_line(np.array(y, dtype=float), np.array(probability)) is None


def test_certain_predictions_are_allowed():
    y = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    found = calibration_line(y, np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0]))
    assert found.slope.estimate > 0
    assert np.isfinite(found).all()
    assert found.slope.low < found.slope.estimate < found.slope.high


def test_the_ends_have_the_likelihood_that_their_variance_allows():
    rng = np.random.default_rng(3)
    odds = rng.normal(size=90)
    y = (rng.random(90) < expit(0.6 * odds - 0.3)).astype(float)
    found = calibration_line(y, expit(odds))

    def loss(slope, intercept):
        score = slope * odds + intercept
        return np.sum(np.logaddexp(0, score) - y * score)

    best = minimize(lambda line: loss(*line), [0, 0], tol=1e-12)
    chance = expit(best.x[0] * odds + best.x[1])
    design = np.column_stack([odds, np.ones(90)])
    inverse = np.linalg.inv((design.T * (chance * (1 - chance))) @ design)
    scores = (design.T * (y - chance) ** 2) @ design * 90 / 88
    shown = np.diag(inverse @ scores @ inverse)
    grown = np.maximum(1, shown / np.diag(inverse))
    for end in (found.slope.low, found.slope.high):
        other = minimize_scalar(lambda b, end=end: loss(end, b)).fun
        errors = end / np.sqrt(grown[0] * inverse[0, 0])
        allowed = grown[0] * ndtri(0.975) ** 2 * (1 + dependence_near(errors))
        assert 2 * (other - best.fun) == pytest.approx(allowed, rel=1e-4)
    for end in (found.intercept.low, found.intercept.high):
        other = minimize_scalar(lambda a, end=end: loss(a, end)).fun
        assert 2 * (other - best.fun) == pytest.approx(grown[1] * ndtri(0.975) ** 2, rel=1e-4)


def test_perfect_probabilities_are_seldom_doubted():
    """Of 120 tables of 150 rows 6 are; by cuts at 0.9 and 1.1 72 were."""
    rng = np.random.default_rng(9)
    held, within = [], []
    for _ in range(120):
        odds = 1.5 * rng.normal(size=150)
        y = (rng.random(150) < expit(odds)).astype(float)
        slope = calibration_line(y, expit(odds)).slope
        held.append(slope.low <= 1 <= slope.high)
        within.append(0.9 <= slope.estimate <= 1.1)
    assert np.mean(held) >= 0.93
    assert np.mean(within) < 0.5


def test_bold_probabilities_are_found_out():
    rng = np.random.default_rng(10)
    odds = 1.5 * rng.normal(size=400)
    y = (rng.random(400) < expit(odds)).astype(float)
    assert calibration_line(y, expit(2 * odds)).slope.high < 1
    assert calibration_line(y, expit(odds / 2)).slope.low > 1
    assert calibration_line(y, expit(odds + 1)).intercept.high < 0


@pytest.mark.parametrize("size", [1e-3, 0.05, 1.0, 3.0])
def test_every_size_of_log_odds_has_intervals(size):
    """Far from the best line the curvature is almost nothing, and a step of Newton's endless."""
    rng = np.random.default_rng(0)
    for wrong in (2, 5, 20):
        y = np.repeat([0.0, 1.0], 100)
        odds = np.where(y == 1, 1, -1) * rng.uniform(0.5, 3, size=200)
        odds[rng.choice(200, wrong, replace=False)] *= -1
        line = calibration_line(y, 1 / (1 + np.exp(-size * odds)))
        whole = calibration_line(y, 1 / (1 + np.exp(-odds)))
        np.testing.assert_allclose(np.array(line.slope) * size, whole.slope, rtol=1e-4)
        np.testing.assert_allclose(line.intercept, whole.intercept, rtol=1e-4, atol=1e-4)


def test_one_row_that_is_called_wrong_leaves_a_finite_interval():
    rng = np.random.default_rng(5)
    y = np.repeat([0.0, 1.0], 100)
    odds = np.where(y == 1, 1, -1) * rng.uniform(0.3, 13.6, size=200)
    odds[0] = rng.uniform(0.3, 2)
    line = calibration_line(y, 1 / (1 + np.exp(-odds)))
    assert np.isfinite([*line.slope, *line.intercept]).all()
    assert line.slope.low < line.slope.estimate < line.slope.high
