import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from parsimon.gp import GPClassifier, GPRegressor
from parsimon.report.findings import Variable
from parsimon.statistician.families.gp._variables import band_of, variable_findings
from parsimon.structures import find_structures
from tests.statistician.questions import asked, result_of, table


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
    return {one.variable.name: one for one in variable_findings(searched)}


def test_every_column_that_varies_has_a_finding_in_the_order_of_error(searched):
    findings = variable_findings(searched)
    assert {one.variable.name for one in findings} == {"a", "b", "c", "d"}
    keys = [(one.model.error, one.model.negative_log_evidence) for one in findings]
    assert keys == sorted(keys)


def test_shapes_and_bands_say_how_the_table_was_made(found):
    assert found["a"].shape == "rising"
    assert found["b"].shape == "turning"
    assert found["c"].shape == "flat"
    assert found["d"].shape == "falling"
    assert found["a"].band in ("some", "little")
    for one in found.values():
        assert one.period is None
        assert one.slope is None
        assert one.model.roc is None


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


def test_an_indicator_is_a_closed_form(found, searched):
    model = next(one for one in searched.search.first_layer_ if one.columns == (3,))
    fitted = GPClassifier(model.kernel, optimise=False).fit(
        searched.question.X.to_numpy(), searched.question.y
    )
    posterior = fitted._model.fits[0].posterior
    rows = np.zeros((2, 5))
    rows[1, 3] = 1.0
    mean, covariance = posterior.latent(rows, covariance=True)
    step = np.array([-1.0, 1.0])
    expected = norm.cdf(step @ mean / np.sqrt(step @ covariance @ step))
    assert found["d"].rising == pytest.approx(expected, abs=1e-4)
    assert found["d"].rising + found["d"].falling == pytest.approx(1.0)
    assert found["d"].variable.kind == "indicator"
    assert found["d"].judged_between is None
    values = np.sort(searched.question.X["a"])
    assert found["a"].judged_between == (values[4], values[75])


def test_variables_are_described_by_their_numbers_or_as_they_are_known(found, searched):
    a = found["a"].variable
    values = searched.question.X["a"]
    assert (a.kind, a.column) == ("number", "a")
    assert (a.minimum, a.maximum) == (values.min(), values.max())
    assert (a.mean, a.deviation) == pytest.approx((values.mean(), values.std(ddof=0)))
    known = Variable(
        name="a", column="when", kind="date", minimum=0, maximum=1, mean=0.5, deviation=0.1
    )
    again = {one.variable.name: one for one in variable_findings(searched, (known,))}
    assert again["a"].variable is known
    assert again["b"] == found["b"]


def test_the_same_seed_gives_the_same_draws(found, searched):
    again = {one.variable.name: one for one in variable_findings(searched)}
    assert again == found
    other = asked(searched, seed=np.random.SeedSequence(1))
    different = {one.variable.name: one for one in variable_findings(other)}
    assert different != found
    for name, one in found.items():
        assert different[name].rising == one.rising
        assert different[name].turning == pytest.approx(one.turning, abs=0.08)
    assert different["d"] == found["d"]


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


def test_a_period_is_found_and_said():
    x = np.sort(np.random.default_rng(0).uniform(0, 8, 80))
    subject = result_of(
        table({"day": x}), np.sin(2 * np.pi * x / 2.0) > 0, base=("se", "per"), depth=1
    )
    [one] = variable_findings(subject)
    assert one.shape == "periodic"
    assert one.period == pytest.approx(2.0, rel=0.05)
    assert one.model.kind == "periodic"


def test_a_period_needs_waves_among_the_claims():
    """The best kernel of noise may have a period; the claims about the rows do not."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 8, 80))
    wave = np.sin(2 * np.pi * x / 2.0) > 0
    subject = result_of(table({"day": x}), wave, base=("se", "per"), depth=1)
    for y, shape in ((wave, True), (rng.random(80) < 0.5, False)):
        found = find_structures(x[:, None], y.astype(float), "classification")
        [one] = variable_findings(asked(subject, structures=found))
        assert (one.shape == "periodic") == shape


def test_a_period_longer_than_the_data_is_not_claimed():
    x = np.linspace(0, 2.6, 60)
    subject = result_of(table({"day": x}), np.sin(2 * np.pi * x / 2.0) > 0, base=("per",), depth=1)
    [one] = variable_findings(subject)
    assert one.period is not None
    assert one.shape != "periodic"


@pytest.mark.parametrize("sign", [1, -1])
def test_a_line_is_found_and_its_slope_is_that_of_the_latent_mean(sign):
    rng = np.random.default_rng(3)
    x = rng.normal(size=80)
    labels = sign * x + 0.7 * rng.normal(size=80) > 0.3
    subject = result_of(table({"dose": 10 * x}), labels, base=("se", "lin"), depth=1, guide="nlml")
    [one] = variable_findings(subject)
    assert one.shape == "linear"
    assert one.model.kind == "linear"
    assert (one.rising if sign > 0 else one.falling) > 0.99
    at = subject.model.latent(table({"dose": [2.0, 3.0]}))
    assert one.slope == pytest.approx(at[1] - at[0], rel=1e-5)
    assert np.sign(one.slope) == sign


def test_a_line_with_less_evidence_than_a_curve_is_not_called_linear():
    """All rows are called right by either; the curve explains them much better."""
    x = np.linspace(-1, 1, 60)
    y = 100 + 20 * x + 30 * x**3
    y = y + np.random.default_rng(0).normal(size=60)
    subject = result_of(table({"x": x}), y, base=("se", "lin"), depth=1)
    line = next(one for one in subject.search.first_layer_ if str(one.kernel) == "LIN_1")
    history = subject.search.history_
    forced = replace(line, guide=0.0, error=0.0)
    curve = next(one for one in history.first_layer if str(one.kernel) == "SE_1")
    subject.search.history_ = replace(history, levels=((forced, curve),))
    subject.search.first_layer_ = (forced, curve)
    [one] = variable_findings(subject)
    assert one.model.symbols == "LIN_1"
    assert one.shape == "rising"


def test_a_line_and_a_period_are_compared_with_a_curve_that_the_search_did_not_try():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 8, size=60)
    noise = 0.2 * rng.normal(size=60)
    [line] = variable_findings(result_of(table({"x": x}), 3 * x + noise, base="lin", depth=1))
    assert line.shape == "linear"
    assert line.slope == pytest.approx(3.0, rel=1e-2)
    [bent] = variable_findings(result_of(table({"x": x}), x**2 + noise, base="lin", depth=1))
    assert bent.model.symbols == "LIN_1"
    assert bent.shape == "rising"
    [wave] = variable_findings(
        result_of(table({"x": x}), np.sin(np.pi * x) + noise, base="per", depth=1)
    )
    assert wave.shape == "periodic"
    [chirp] = variable_findings(
        result_of(table({"x": x}), np.sin(0.35 * x**2) + noise, base="per", depth=1)
    )
    assert chirp.model.symbols == "PER_1"
    assert chirp.shape == "turning"


def test_a_number_has_shares_of_variance_and_slopes_in_its_units():
    rng = np.random.default_rng(1)
    X = table({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    y = 500 - 40 * X["a"] + 20 * rng.normal(size=60)
    subject = result_of(X, y, base=("se", "lin"), depth=1, guide="nlml")
    first, second = variable_findings(subject)
    assert first.variable.name == "a"
    assert first.shape == "linear"
    assert first.falling > 0.999
    assert first.slope == pytest.approx(np.polyfit(X["a"], y, 1)[0], rel=0.05)
    expected = GPRegressor(
        next(one for one in subject.search.first_layer_ if str(one.kernel) == "LIN_1").kernel
    ).fit(X, y)
    step = expected.predict(table({"a": [0.0, 1.0], "b": [0.0, 0.0]}))
    assert first.slope == pytest.approx(step[1] - step[0], rel=1e-3)
    assert first.model.error == pytest.approx(1 - np.corrcoef(X["a"], y)[0, 1] ** 2, abs=0.05)
    assert second.shape == "flat"
    assert second.band in ("little", "none")


def test_a_column_that_was_only_fitted_is_cross_validated_and_one_that_failed_is_left_out(searched):
    history = searched.search.history_
    layer = list(history.first_layer)
    layer[0] = replace(layer[0], judged_by="leave-one-out", error=math.nan, fold_errors=())
    layer[-1] = replace(layer[-1], judged_by="failed", error=math.nan)
    changed = replace(history, levels=(tuple(layer),))
    search = _with_history(searched.search, changed)
    names = {one.variable.name: one for one in variable_findings(replace(searched, search=search))}
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
