"""Describing and writing have their share of a time limit, and a page is always written."""

import numpy as np
import pytest
from benchmarks.peers._report_times import make_weather
from click.testing import CliRunner

from parsimon.cli import main
from parsimon.evaluation.importance import paired_gain
from parsimon.gp import GPRegressor, KernelSearch
from parsimon.kernels import SquaredExponential as SE
from parsimon.statistician import analyse
from parsimon.statistician.families.gp import _kernel_result as kernel_result
from parsimon.statistician.outer_folds import FoldResult, importance_findings
from parsimon.statistician.study import study_of
from parsimon.statistician.time_budget import OutOfTimeError, TimeBudget, TimedSteps
from tests.statistician.questions import result_of, table, variables_of


def test_describing_has_a_share_of_what_is_left(clock):
    budget = TimeBudget.keeping(100, 2.5, 0.12)
    clock.now += 90
    assert budget.left() == 0
    assert budget.left_to_describe() == pytest.approx(6)
    assert budget.left_to_describe(3) == pytest.approx(2)
    clock.now += 20
    assert budget.left_to_describe() == 0
    assert TimeBudget.keeping(None, 2.5, 0.12).left_to_describe() is None


def test_no_step_begins_that_would_end_too_late(clock):
    steps, made, limits = TimedSteps(10.0), [], []

    def step(seconds, time_limit=None):
        clock.now += seconds
        made.append(seconds)
        limits.append(time_limit)
        return seconds

    assert steps(step, 4) == 4
    assert steps(step, 1) == 1
    # Five seconds are left; four may be needed.
    assert steps(step, 1) == 1
    with pytest.raises(OutOfTimeError):
        steps(step, 1)
    assert made == [4, 1, 1]
    assert limits == [10, 6, 5]
    assert [TimedSteps(None)(step, 100) for _ in range(3)] == [100, 100, 100]
    # What was cut at the limit, or took longer, is not told.
    with pytest.raises(OutOfTimeError):
        TimedSteps(10.0)(step, 11)


@pytest.fixture(scope="module")
def product():
    rng = np.random.default_rng(5)
    X = table(rng.uniform(-1, 1, size=(60, 3))).set_axis(list("abc"), axis=1)
    y = X["a"] + 3 * X["b"] * X["c"] + 0.2 * rng.normal(size=60)
    found = result_of(X, y, depth=1)
    search = found.search
    search.best_candidate_ = search.judge((SE(0) + SE(1) * SE(2)).start(X.to_numpy()))
    return found


def test_without_time_sums_are_not_fitted_and_the_study_says_so(product, monkeypatch):
    judged = []
    real = KernelSearch.judge
    monkeypatch.setattr(
        KernelSearch, "judge", lambda search, kernel: judged.append(kernel) or real(search, kernel)
    )
    study, _ = study_of(product, variables_of(product), time_limit=0.0)
    assert judged == []
    assert study.left_out == ("sums of parts", "interactions beside sums")
    assert study.interactions == ()
    assert len(study.components) == 2
    whole = product.describe(variables_of(product))
    assert judged
    assert whole.left_out == ()
    assert len(whole.interactions) == 1


def test_a_report_without_time_is_a_page_all_the_same(tmp_path):
    table, page = tmp_path / "days.csv", tmp_path / "days.html"
    make_weather(120).to_csv(table, index=False)
    words = ["report", str(table), "--target", "weather", "--time-limit", "0.2", "--jobs", "1"]
    words += ["--rivals", "linear", "--families", "gp", "--quiet", "--out", str(page)]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert "precipitation" in page.read_text()
    assert (tmp_path / "days-model.skops").exists()


def test_the_page_says_what_there_was_no_time_for(monkeypatch):
    rng = np.random.default_rng(5)
    X = table(rng.uniform(-1, 1, size=(60, 2))).set_axis(list("ab"), axis=1)
    X["y"] = 3 * X["a"] * X["b"] + 0.2 * rng.normal(size=60)
    monkeypatch.setattr(TimeBudget, "left_to_describe", lambda *_: 0.0)
    found = analyse(X, "y", depth=2, outer=0, rivals="none", families="gp", n_jobs=1)
    assert "interactions beside sums" in found.findings.run.skipped
    assert "the comparison of interactions with sums" in str(found.document)


def test_many_rows_are_fitted_by_some_pivots_with_the_rest_as_noise(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = 5 + np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=80)
    kernel, new = SE(0, 0.3) + SE(1, 0.5), rng.normal(size=(7, 2))
    monkeypatch.setattr(kernel_result, "MOST_PIVOTS", 12)
    model = kernel_result.pivot_regressor(kernel, X, y, 0.05)
    Z = model.points
    assert len(Z) == 12
    # y ~ N(0, Q + diag(K - Q) + noise), Q being what the pivots explain.
    explained = np.linalg.solve(kernel.gram(Z), kernel.gram(Z, X))
    Q = kernel.gram(X, Z) @ explained
    within = Q + np.diag(kernel.diagonal(X) - np.diag(Q) + 0.05)
    across = kernel.gram(new, Z) @ explained
    unit = (y - y.mean()) / y.std()
    mean, deviation = model.predict(new, return_std=True)
    expected = y.mean() + y.std() * across @ np.linalg.solve(within, unit)
    np.testing.assert_allclose(mean, expected, rtol=1e-6)
    variance = kernel.diagonal(new) - np.einsum(
        "ij,ji->i", across, np.linalg.solve(within, across.T)
    )
    np.testing.assert_allclose(deviation, y.std() * np.sqrt(variance), rtol=1e-6)
    assert model.degrees_of_freedom_ == pytest.approx(np.trace(np.linalg.solve(within, Q)))
    monkeypatch.setattr(kernel_result, "MOST_PIVOTS", 80)
    exact = GPRegressor(kernel, noise=0.05 * y.var(), optimise=False).fit(X, y)
    whole = kernel_result.pivot_regressor(kernel, X, y, 0.05)
    np.testing.assert_allclose(whole.predict(X), exact.predict(X), rtol=1e-6)


def test_columns_may_be_shuffled_in_some_rows_alone():
    rng = np.random.default_rng(0)
    y = rng.normal(size=40)
    rises = rng.normal(1.0, 0.1, size=20)
    some = np.full(20, np.nan)
    some[::4] = rises[::4]
    tests = np.arange(20), np.arange(20, 40)
    folds = [
        FoldResult(
            fold=k, question=0, train=tests[1 - k], test=test, prediction=y[test], baseline=0.0,
            rises={name: some for name in names},
        )
        for k, (test, names) in enumerate(zip(tests, ("ab", "a"), strict=True))
    ]  # fmt: skip
    first, second = importance_findings([y], [], folds, "classification")
    seen = np.tile(rises[::4], 2)
    assert first.name == "a"
    assert first.in_company.low == pytest.approx(paired_gain(seen, None).low)
    # A fold whose model does not use a column has no rise in the rows that were looked at.
    assert second.in_company.estimate == pytest.approx(seen[:5].sum() / 10)
