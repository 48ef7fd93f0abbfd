import math
from dataclasses import replace

import numpy as np
import pytest

from parsimon.report.findings import Variable
from parsimon.statistician.families.gp._parts import band_of, variable_findings
from tests.statistician.questions import result_of, table, variables_of


@pytest.fixture(scope="module")
def searched():
    """Labels rise with a, turn with b, and do not depend on c; d is an indicator."""
    rng = np.random.default_rng(6)
    n = 80
    X = table(
        {
            "a": rng.normal(size=n),
            "b": rng.uniform(-1, 1, size=n),
            "c": rng.normal(size=n),
            "d": rng.integers(0, 2, n),
            "constant": np.ones(n),
        }
    )
    latent = 2.2 * X["a"] + 4 * (X["b"] ** 2 - 0.33) - 2.2 * (X["d"] - 0.5)
    return result_of(X, latent + 0.5 * rng.normal(size=n) > 0, depth=1)


@pytest.fixture(scope="module")
def found(searched):
    return {one.variable.name: one for one in variable_findings(searched, variables_of(searched))}


def test_every_column_that_varies_has_a_finding_in_the_order_of_error(searched):
    findings = variable_findings(searched, variables_of(searched))
    assert {one.variable.name for one in findings} == {"a", "b", "c", "d"}
    keys = [(one.model.error, one.model.negative_log_evidence) for one in findings]
    assert keys == sorted(keys)


def test_numbers_are_measured_against_the_baseline(found, searched):
    baseline = searched.search.baseline_
    for one in found.values():
        assert one.ratio == one.model.error / baseline.error
        assert one.band == band_of(one.ratio)
        assert one.log_bayes_factor == pytest.approx(
            -baseline.log_evidence - one.model.negative_log_evidence
        )
    assert [name for name, one in found.items() if one.in_model] == [
        searched.question.names[column] for column in searched.search.best_candidate_.columns
    ]


def test_variables_are_described_by_their_numbers_or_as_they_are_known(found, searched):
    a = found["a"].variable
    values = searched.question.X["a"]
    assert (a.kind, a.column) == ("number", "a")
    assert (a.minimum, a.maximum) == (values.min(), values.max())
    assert (a.mean, a.deviation) == pytest.approx((values.mean(), values.std(ddof=0)))
    known = Variable(
        name="a", column="when", kind="date", minimum=0, maximum=1, mean=0.5, deviation=0.1
    )
    variables = (known, *variables_of(searched)[1:])
    again = {one.variable.name: one for one in variable_findings(searched, variables)}
    assert again["a"].variable is known
    assert again["b"] == found["b"]


@pytest.mark.parametrize(
    ("ratio", "band"),
    [
        (0.0, "strong"),
        (0.2499, "strong"),
        (0.25, "some"),
        (0.7999, "some"),
        (0.08 / 0.1, "little"),
        (0.9999, "little"),
        (1.0, "none"),
        (0.3 / 0.1 - 2, "none"),
        (math.inf, "none"),
    ],
)
def test_bands_include_their_lower_edge(ratio, band):
    assert band_of(ratio) == band


def test_a_number_has_shares_of_variance():
    rng = np.random.default_rng(1)
    X = table({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    y = 500 - 40 * X["a"] + 20 * rng.normal(size=60)
    result = result_of(X, y, base=("se", "lin"), depth=1, guide="nlml")
    first, second = variable_findings(result, variables_of(result))
    assert first.variable.name == "a"
    assert first.model.error == pytest.approx(1 - np.corrcoef(X["a"], y)[0, 1] ** 2, abs=0.05)
    assert second.band in ("little", "none")


def test_a_column_that_was_only_fitted_is_cross_validated_and_one_that_failed_is_left_out(searched):
    history = searched.search.history_
    layer = list(history.first_layer)
    layer[0] = replace(layer[0], judged_by="leave-one-out", error=math.nan, fold_errors=())
    layer[-1] = replace(layer[-1], judged_by="failed", error=math.nan)
    changed = replace(history, levels=(tuple(layer),))
    search = _with_history(searched.search, changed)
    result = replace(searched, search=search)
    findings = variable_findings(result, variables_of(result))
    names = {finding.variable.name: finding for finding in findings}
    half_known = searched.question.names[layer[0].columns[0]]
    assert names[half_known].model.error == history.first_layer[0].error
    assert searched.question.names[layer[-1].columns[0]] not in names
    assert len(names) == 3


def _with_history(search, history):
    import copy

    changed = copy.copy(search)
    changed.history_ = history
    changed.first_layer_ = history.first_layer
    return changed
