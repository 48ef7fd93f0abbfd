"""Figures of clade folds from predictions that are made up."""

import numpy as np
import pytest

from parsimon.statistician.families.family import Prediction
from parsimon.statistician.families.phylo._clades import _judged, _leak, _over_folds

FOLDS = [(np.setdiff1d(np.arange(9), test), test) for test in np.arange(9).reshape(3, 3)]


@pytest.fixture
def told(rng):
    y = rng.normal(size=9)
    names = {"mean": 1.0, "pgls": 0.3, "phyrvm": 0.5}
    return y, {
        name: Prediction(y + off * rng.normal(size=9), np.full(9, 0.4))
        for name, off in names.items()
    }


def test_models_are_compared_with_the_one_that_leads(told):
    y, found = told
    by_name = {one.model: one for one in _judged(y, FOLDS, found, "pgls")}
    rmse = {name: np.sqrt(np.mean((y - one.value) ** 2)) for name, one in found.items()}
    for name, one in by_name.items():
        assert one.rmse.estimate == pytest.approx(rmse[name])
        assert 0 <= one.rmse.low < one.rmse.estimate < one.rmse.high
        assert one.explained == pytest.approx(1 - (rmse[name] / rmse["mean"]) ** 2)
        inside = np.abs(y - found[name].value) <= 0.4
        assert one.coverage == pytest.approx(inside.mean())
        if name != "pgls":
            assert one.difference.estimate == pytest.approx(rmse[name] - rmse["pgls"])
    assert by_name["pgls"].difference is None


def test_the_gain_over_the_mean_is_planned_and_the_others_hold_together(told):
    y, found = told
    one = {each.model: each for each in _judged(y, FOLDS, found, "pgls")}

    def gap(name):
        def statistic(rows):
            own, led = ((y - found[each].value)[rows] ** 2 for each in (name, "pgls"))
            return float(np.sqrt(own.mean()) - np.sqrt(led.mean()))

        return statistic

    # Of three models two are no mean, one of which leads: one difference is left.
    for name in ("mean", "phyrvm"):
        expected = _over_folds(gap(name), FOLDS)
        assert (one[name].difference.low, one[name].difference.high) == pytest.approx(
            (expected.low, expected.high)
        )
    more = found | {"lasso": found["phyrvm"], "ridge": found["mean"]}
    wide = {each.model: each for each in _judged(y, FOLDS, more, "pgls")}
    expected = _over_folds(gap("phyrvm"), FOLDS, confidence=1 - 0.05 / 3)
    assert wide["phyrvm"].difference.high == pytest.approx(expected.high)


def test_the_leak_is_the_error_of_clades_beyond_that_of_random_folds(told):
    y, found = told
    leak = _leak(y, found["mean"], found["pgls"], FOLDS)
    rmse = [np.sqrt(np.mean((y - found[name].value) ** 2)) for name in ("mean", "pgls")]
    assert leak.estimate == pytest.approx(rmse[0] - rmse[1])
