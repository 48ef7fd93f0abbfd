"""Errors on unseen clades, against the models themselves and plain arithmetic."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.evaluation import corrected_t_interval
from parsimon.exceptions import CheckpointWarning, InvalidInputError
from parsimon.phylo import PGLS, CladeKFold, PhyRVM, brownian_traits, yule_tree
from parsimon.statistician import analyse_traits
from parsimon.statistician import traits as analyse
from parsimon.statistician.families.phylo import _clades
from parsimon.statistician.families.phylo._clades import _over_folds, judge
from parsimon.statistician.families.phylo._regressions import fit_regression, regressions
from parsimon.statistician.families.phylo._species import read_traits
from parsimon.statistician.finished_work import FinishedWork

TREE = yule_tree(24, random_state=5)


@pytest.fixture(scope="module")
def table():
    made = brownian_traits(TREE, 3, random_state=5).rename(columns={"trait3": "nothing"})
    noise = np.random.default_rng(0).normal(size=24)
    made["size"] = 3 + 2 * made["trait1"] - made["trait2"] + 0.3 * noise
    made.iloc[[3, 17], made.columns.get_loc("size")] = np.nan
    return made


@pytest.fixture(scope="module")
def analysis(table):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analyse, "draw_figures", lambda findings, _: findings)
        return analyse_traits(table, TREE, "size", folds=3, seed=4, rivals="none")


@pytest.fixture(scope="module")
def traits(table):
    return read_traits(table, TREE, "size")


def scaled(model):
    return make_pipeline(StandardScaler().set_output(transform="pandas"), model)


def test_errors_are_those_of_clade_folds(analysis, traits):
    error = analysis.findings.error
    y = traits.y.to_numpy()
    for name, model in (("pgls", PGLS(traits.tree)), ("phyrvm", PhyRVM(traits.tree))):
        predicted = np.empty(len(y))
        for train, test in CladeKFold(traits.tree, 3).split(traits.X):
            fitted = scaled(model).fit(traits.X.iloc[train], traits.y.iloc[train])
            predicted[test] = fitted.predict(traits.X.iloc[test])
        expected = np.sqrt(np.mean((y - predicted) ** 2))
        assert error.of(name).rmse.estimate == pytest.approx(expected, rel=1e-6)
    told = [one.predicted.estimate for one in error.species]
    np.testing.assert_allclose(told, predicted)


def test_the_mean_is_the_baseline(analysis, traits):
    y = traits.y.to_numpy()
    predicted = np.empty(len(y))
    for train, test in CladeKFold(traits.tree, 3).split(traits.X):
        predicted[test] = y[train].mean()
    baseline, own = analysis.findings.error.of("mean"), analysis.findings.error.of("phyrvm")
    assert baseline.rmse.estimate == pytest.approx(np.sqrt(np.mean((y - predicted) ** 2)))
    ratio = own.rmse.estimate**2 / baseline.rmse.estimate**2
    assert own.explained == pytest.approx(1 - ratio)
    assert baseline.explained == 0
    assert np.isnan(baseline.coverage)


def test_coverage_and_differences(analysis):
    error = analysis.findings.error
    inside = [one.predicted.low <= one.observed <= one.predicted.high for one in error.species]
    assert error.of("phyrvm").coverage == pytest.approx(np.mean(inside))
    assert error.of("phyrvm").difference is None
    gap = error.of("mean").difference.estimate
    assert gap == pytest.approx(error.of("mean").rmse.estimate - error.of("phyrvm").rmse.estimate)


def test_intervals_of_a_mean_over_equal_folds_are_the_corrected_t_interval(rng):
    values = rng.normal(size=12)
    tests = np.arange(12).reshape(4, 3)
    folds = [(np.setdiff1d(np.arange(12), test), test) for test in tests]
    found = _over_folds(lambda rows: float(values[rows].mean()), folds)
    low, high = corrected_t_interval(values[tests].mean(axis=1), n_train=9, n_test=3)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_intervals_of_a_root_mean_square_over_unequal_folds_are_centred_on_it(rng):
    squares = rng.normal(size=12) ** 2
    tests = [np.arange(2), np.arange(2, 5), np.arange(5, 12)]
    folds = [(np.setdiff1d(np.arange(12), test), test) for test in tests]
    found = _over_folds(lambda rows: float(np.sqrt(squares[rows].mean())), folds)
    whole = np.sqrt(squares.mean())
    parts = np.array([np.sqrt(squares[train].mean()) for train, _ in folds])
    pseudo = 3 * whole - 2 * parts
    # Their mean is another number: the interval must not be centred on it.
    assert abs(pseudo.mean() - whole) > 1e-3
    half = t.ppf(0.975, 2) * np.sqrt((1 / 3 + 4 / 8) * pseudo.var(ddof=1))
    assert found.estimate == pytest.approx(whole)
    assert (found.low, found.high) == pytest.approx((whole - half, whole + half))


def test_differences_hold_together(analysis, traits):
    error = analysis.findings.error
    squares = {}
    y = traits.y.to_numpy()
    folds = list(CladeKFold(traits.tree, 3).split(traits.X))
    for name in ("phyrvm", "relatives", "mean"):
        squares[name] = np.empty(len(y))
        for train, test in folds:
            fitted = fit_regression(name, traits.tree, traits.X.iloc[train], traits.y.iloc[train])
            squares[name][test] = (y[test] - fitted.predict(traits.X.iloc[test])[0]) ** 2

    def gap(name, rows):
        return float(np.sqrt(squares[name][rows].mean()) - np.sqrt(squares["phyrvm"][rows].mean()))

    # Four models beside the leading one and the mean; the mean is a question of its own.
    for name, confidence in (("relatives", 1 - 0.05 / 4), ("mean", 0.95)):
        expected = _over_folds(partial(gap, name), folds, confidence=confidence)
        found = error.of(name).difference
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-5)


def test_the_leak_is_the_error_of_clades_beyond_that_of_random_folds(analysis):
    error = analysis.findings.error
    clades, random = error.of("phyrvm"), error.of("phyrvm", random=True)
    assert error.leak.estimate == pytest.approx(clades.rmse.estimate - random.rmse.estimate)
    assert error.leak.low < error.leak.estimate < error.leak.high


def test_each_fold_decides_which_columns_others_determine(rng):
    values = pd.DataFrame({"a": rng.normal(size=24)}, index=TREE.tip_names)
    folds = list(CladeKFold(TREE, 3).split(values))
    # In all species b and c are features of their own; b is a copy, and c constant, but for the
    # first fold.
    own = folds[0][1]
    values["b"], values["c"] = values["a"], 1.0
    values.iloc[own, 1:] = rng.normal(size=(len(own), 2))
    values["y"] = values["a"] + rng.normal(size=24)
    traits = read_traits(values, TREE, "y")
    assert list(traits.X) == ["a", "b", "c"]
    assert traits.table.redundant == ()
    train = folds[0][0]
    model = fit_regression("pgls", traits.tree, traits.X.iloc[train], traits.y.iloc[train])
    assert len(model.columns) == 1
    assert np.isfinite(model.predict(traits.X.iloc[own])[0]).all()
    judged = judge(traits, "pgls", 3, np.random.SeedSequence(0), lambda _: None)
    assert judged.error.failures == ()


def test_a_trait_without_cause_is_not_explained_on_clades_never_seen():
    values = brownian_traits(TREE, 2, random_state=1)
    values["y"] = np.random.default_rng(1).normal(size=24)
    traits = read_traits(values, TREE, "y")
    judged = judge(traits, "pgls", 2, np.random.SeedSequence(0), lambda _: None).error
    for name in ("pgls", "phyrvm"):
        assert judged.of(name).explained < 0.1
    assert judged.of("mean").difference.low < 0 < judged.of("mean").difference.high


def test_an_interval_does_not_go_below_what_is_possible(rng):
    values = rng.normal(size=6) ** 6
    folds = [(np.setdiff1d(np.arange(6), [k]), np.array([k])) for k in range(6)]
    assert _over_folds(lambda rows: float(values[rows].mean()), folds, least=0.0).low == 0.0


def test_a_time_limit_leaves_out_folds_and_says_so(table):
    found = analyse_traits(table, TREE, "size", folds=3, time_limit=0.01).findings
    assert (found.error, found.comparison) == (None, None)
    assert found.error_failure == "The time limit left no time for it."
    with pytest.raises(InvalidInputError, match="time_limit"):
        analyse_traits(table, TREE, "size", time_limit=-1)


def test_a_time_limit_that_suffices_changes_nothing(table, analysis):
    found = analyse_traits(table, TREE, "size", folds=3, seed=4, time_limit=3600).findings
    assert repr(found.error) == repr(analysis.findings.error)


def test_fewer_folds_are_judged_in_a_short_time(traits, monkeypatch):
    options = (traits, "phyrvm", 6, np.random.SeedSequence(0), lambda _: None)
    monkeypatch.setattr(_clades, "_affordable_folds", lambda *_: 3)
    found = judge(*options, time_limit=10)
    assert repr(found.error) == repr(judge(traits, "phyrvm", 3, *options[3:]).error)


def test_each_fold_is_fitted_twice_within_a_limit(traits, monkeypatch, clock):
    family = regressions(traits.tree)
    monkeypatch.setattr(_clades, "run_folds", lambda *_, **__: setattr(clock, "now", clock.now + 2))
    # 65 of 100 seconds, less the 2 of the first, at 2.6 seconds a fit.
    assert _clades._affordable_folds(traits, family, 20, 100, 1) == 12
    assert _clades._affordable_folds(traits, family, 20, 100, 2) == 20
    assert _clades._affordable_folds(traits, family, 20, 5, 1) < 2


def test_work_kept_of_some_folds_is_not_taken_for_that_of_others(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    kept = FinishedWork(tmp_path / "work", "key")
    kept.under("folds", 5).write("search", (0, 0), "of five")
    assert kept.under("folds", 5).read("search", [(0, 0)]) == {(0, 0): "of five"}
    with pytest.warns(CheckpointWarning, match="other options"):
        assert kept.under("folds", 10).read("search", [(0, 0)]) == {}
