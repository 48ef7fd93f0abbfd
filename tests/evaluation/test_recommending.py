"""The smallest model that is probably not much worse; probabilities that are not too sure."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import halfnorm, norm

from parsimon.evaluation.recommending import (
    LIKELY,
    TOLERANCE,
    beats_chance,
    probably_worse,
    temper,
    tempered_slope,
)


@pytest.mark.parametrize("gap", [0.0, 0.02, 0.06, 0.2])
@pytest.mark.parametrize("error", [0.01, 0.05, 0.3])
def test_the_probability_is_that_of_even_odds_and_a_half_normal_excess(gap, error):
    def weight(excess):
        return halfnorm.pdf(excess, scale=0.2) * norm.pdf(gap, excess, error)

    points = sorted({gap, TOLERANCE})
    worse = quad(weight, 0, 3, points=points, limit=200)[0]
    much = quad(weight, TOLERANCE, 3, points=points[-1:], limit=200)[0]
    alike = norm.pdf(gap, 0.0, error)
    assert probably_worse(gap, error) == pytest.approx(much / (worse + alike), rel=1e-6)


def test_rows_decide_and_where_they_cannot_the_best_stays():
    assert probably_worse(0.0, 0.01) < 0.01
    assert probably_worse(0.5, 0.01) == pytest.approx(1.0)
    assert probably_worse(50.0, 1e-12) == pytest.approx(1.0)
    # Errors so wide that the rows say nothing leave what was thought before, which is too much.
    assert probably_worse(0.0, 5.0) > LIKELY
    # A smaller model that is close is taken where the rows can tell, and not where they cannot.
    assert probably_worse(0.03, 0.03) < LIKELY < probably_worse(0.15, 0.15)
    gaps = np.linspace(0, 0.5, 40)
    assert (np.diff([probably_worse(gap, 0.05) for gap in gaps]) >= 0).all()


def test_gains_beyond_chance_are_told_from_luck():
    rng = np.random.default_rng(0)
    luck = [beats_chance(rng.normal(size=30)) for _ in range(400)]
    assert 0.02 < np.mean(luck) < 0.09
    assert beats_chance(rng.normal(0.8, 1.0, 30))
    assert beats_chance(np.full(5, 0.1))
    assert beats_chance(-np.log(0.5) + np.log(np.where(np.arange(60) < 2, 0.97, 0.97 + 1e-16)))
    assert not beats_chance(np.zeros(5))


def test_what_is_too_sure_is_tempered_and_what_is_not_is_left_alone():
    rng = np.random.default_rng(2)
    scores = rng.normal(scale=1.5, size=(4000, 3))
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    codes = (rng.random((4000, 1)) > chances.cumsum(axis=1)).sum(axis=1)
    assert tempered_slope(chances, codes) == pytest.approx(1.0, abs=0.06)
    bold = chances**2.5 / (chances**2.5).sum(axis=1, keepdims=True)
    slope = tempered_slope(bold, codes)
    assert slope == pytest.approx(0.4, abs=0.03)
    mended = temper(bold, slope)
    assert (mended.argmax(axis=1) == bold.argmax(axis=1)).all()
    np.testing.assert_allclose(mended.sum(axis=1), 1.0)
    held = bold.min(axis=1) > 1e-6
    np.testing.assert_allclose(temper(bold, 0.4)[held], chances[held])
    timid = np.sqrt(chances) / np.sqrt(chances).sum(axis=1, keepdims=True)
    assert tempered_slope(timid, codes) == 1.0
    assert temper(timid, 1.0) is timid
