"""Agreement with R's pROC; tests/reference/proc.R wrote the values."""

import json
from pathlib import Path

import numpy as np
import pytest

from parsimon.roc import (
    auc,
    auc_interval,
    cheapest_threshold,
    delong_test,
    multiclass_auc,
    roc_hull,
    roc_points,
)

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "proc.json").read_text())
# R wrote 15 significant digits.
CLOSE = {"rel": 1e-12, "abs": 1e-13}


@pytest.fixture(params=["plain", "tied"])
def case(request):
    return REFERENCE[request.param]


def test_areas_and_delong_s_variances(case):
    for k, scores in enumerate((case["first"], case["second"])):
        assert auc(case["y"], scores) == pytest.approx(case["auc"][k], **CLOSE)
        error = auc_interval(case["y"], scores).standard_error
        assert error**2 == pytest.approx(case["variance"][k], **CLOSE)


@pytest.mark.parametrize(("field", "confidence"), [("ci95", 0.95), ("ci80", 0.8)])
def test_delong_s_interval(case, field, confidence):
    interval = auc_interval(case["y"], case["first"], method="delong", confidence=confidence)
    assert [interval.lower, interval.auc, interval.upper] == pytest.approx(case[field], **CLOSE)


def test_bootstrap_interval(case):
    interval = auc_interval(
        case["y"], case["first"], method="percentile", n_resamples=20_000, random_state=0
    )
    low, _, high = case["ci_bootstrap"]
    # Each end is a 2.5% quantile of 20000 draws, on either side: 4 sd of their difference.
    noise = 4 * np.sqrt(2) * interval.standard_error * np.sqrt(0.025 * 0.975 / 20_000) / 0.0584
    assert (interval.lower, interval.upper) == pytest.approx((low, high), abs=noise)


def test_paired_test(case):
    test = delong_test(case["y"], case["first"], case["second"])
    assert test.statistic == pytest.approx(case["paired_statistic"], **CLOSE)
    assert test.p_value == pytest.approx(case["paired_p"], **CLOSE)
    assert (test.lower, test.upper) == pytest.approx(tuple(case["paired_ci"]), **CLOSE)
    expected = sum(case["variance"]) - 2 * case["covariance"]
    assert test.standard_error**2 == pytest.approx(expected, **CLOSE)
    greater = delong_test(case["y"], case["first"], case["second"], alternative="greater")
    assert greater.p_value == pytest.approx(case["paired_p_greater"], **CLOSE)


def test_unpaired_test():
    plain, tied, expected = (REFERENCE[name] for name in ("plain", "tied", "unpaired"))
    test = delong_test(plain["y"], plain["first"], tied["second"], y_second=tied["y"])
    assert test.statistic == pytest.approx(expected["statistic"], **CLOSE)
    assert test.degrees_of_freedom == pytest.approx(expected["degrees_of_freedom"], **CLOSE)
    assert test.p_value == pytest.approx(expected["p"], **CLOSE)


def test_points_and_thresholds(case):
    points = roc_points(case["y"], case["first"])
    np.testing.assert_allclose(points.fpr, case["fpr"], atol=1e-13)
    np.testing.assert_allclose(points.tpr, case["tpr"], atol=1e-13)
    expected = np.array([float(threshold) for threshold in case["thresholds"]])
    np.testing.assert_allclose(points.thresholds, expected, rtol=1e-12)


def test_hull(case):
    hull = roc_hull(case["fpr"], case["tpr"])
    np.testing.assert_allclose(hull.fpr, case["hull_fpr"])
    np.testing.assert_allclose(hull.tpr, case["hull_tpr"])


def test_cheapest_threshold(case):
    (best,) = case["best"]
    chosen = cheapest_threshold(
        case["y"],
        case["first"],
        cost_fn=case["best_cost_fn"],
        prevalence=case["best_prevalence"],
    )
    assert chosen.threshold == pytest.approx(best["threshold"])
    assert chosen.tpr == pytest.approx(best["sensitivity"])
    assert chosen.fpr == pytest.approx(1 - best["specificity"])


def test_multiclass_area():
    case = REFERENCE["multiclass"]
    assert multiclass_auc(case["y"], case["scores"], labels=case["labels"]) == pytest.approx(
        case["auc"], **CLOSE
    )
