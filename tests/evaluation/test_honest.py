import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from parsimon.evaluation import HomogeneousKFold, StratifiedHalves, corrected_t, honest_score
from parsimon.evaluation.honest import seeded


def without_times(result):
    return result.to_frame().drop(columns="seconds")


def test_scores_are_those_of_cross_validation_by_hand(table):
    X, y = table
    folds = StratifiedKFold(4, shuffle=True, random_state=5)
    search = GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0]})
    result = honest_score(search, X, y, outer=folds)
    by_hand = cross_val_score(search, X, y, cv=folds)
    baseline = cross_val_score(DummyClassifier(strategy="prior"), X, y, cv=folds)
    guides = [clone(search).fit(X[train], y[train]).best_score_ for train, _ in folds.split(X, y)]
    np.testing.assert_allclose(result.scores, by_hand)
    assert result.mean == pytest.approx(by_hand.mean())
    assert result.baseline == pytest.approx(baseline.mean())
    assert result.guide == pytest.approx(np.mean(guides))
    assert result.optimism == pytest.approx(np.mean(guides) - by_hand.mean())
    assert result.complete
    assert result.seconds > 0


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_squared_error"])
def test_the_baseline_of_a_fold_is_the_mean_of_its_training_rows(table, scoring):
    X, _ = table
    target = X[:, 0] + np.linspace(0, 3, len(X))
    folds = KFold(4)
    result = honest_score(Ridge(), X, target, outer=folds, scoring=scoring)
    by_hand = cross_val_score(DummyRegressor(), X, target, cv=folds, scoring=scoring)
    np.testing.assert_allclose([fold.baseline for fold in result.folds], by_hand)


def test_the_baseline_of_a_fold_has_the_shares_of_its_training_rows(table):
    X, y = table
    order, folds = np.argsort(y, kind="stable"), KFold(3, shuffle=True, random_state=1)
    options = {"cv": folds, "scoring": "neg_log_loss"}
    by_hand = cross_val_score(DummyClassifier(strategy="prior"), X[order], y[order], **options)
    result = honest_score(
        LogisticRegression(), X[order], y[order], outer=folds, scoring="neg_log_loss"
    )
    np.testing.assert_allclose([fold.baseline for fold in result.folds], by_hand)


def test_predictions_are_out_of_fold_and_cover_every_row(table):
    X, y = table
    result = honest_score(LogisticRegression(), X, y, outer=3, repeats=2, random_state=0)
    predictions = result.predictions()
    for _, repeat in predictions.groupby("repeat"):
        assert sorted(repeat["row"]) == list(range(60))
    assert (y[predictions["row"]] == predictions["truth"]).all()
    by_fold = (predictions["truth"] == predictions["prediction"]).groupby(
        [predictions["repeat"], predictions["fold"]]
    )
    np.testing.assert_allclose(by_fold.mean(), result.scores)
    assert result.to_frame()["n_train"].tolist() == [40] * 6
    assert result.to_frame()["n_test"].tolist() == [20] * 6
    assert result.guide is None
    assert "believed" not in result.describe()


class BestColumn(ClassifierMixin, BaseEstimator):
    """Search all columns for the one whose sign agrees best with y; believe that agreement."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        agreement = np.mean((X > 0) == (y == self.classes_[1])[:, None], axis=0)
        self.column_, self.best_score_ = np.argmax(agreement), agreement.max()
        return self

    def predict(self, X):
        return self.classes_[(X[:, self.column_] > 0) * 1]


@pytest.mark.parametrize("seed", range(5))
def test_on_pure_noise_the_guide_is_optimistic_and_the_honest_score_is_chance(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(200, 300)), np.tile([0, 1], 100)
    result = honest_score(BestColumn(), X, y, outer=4, repeats=5, random_state=seed)
    assert result.guide > 0.6
    assert result.optimism > 0.08
    low, high = result.interval
    assert low < 0.5 < high
    assert result.baseline == 0.5
    assert "inside the interval: the search is not shown to do better" in result.describe()
    assert "too high by" in result.describe()


def test_the_corrected_interval_is_its_formula(table):
    X, y = table
    options = {"outer": 4, "random_state": 0, "interval": "corrected_t"}
    wide = honest_score(LogisticRegression(C=1e-3), X, y, confidence=0.99, **options)
    narrow = honest_score(LogisticRegression(C=1e-3), X, y, **options)
    low, high = narrow.interval
    # t(0.975, 3 df) = 3.182446, variance factor 1/4 + 15/45.
    half = 3.182446 * np.sqrt((1 / 4 + 15 / 45) * narrow.scores.var(ddof=1))
    assert (low, high) == pytest.approx((narrow.mean - half, narrow.mean + half), rel=1e-6)
    assert wide.interval[0] < low
    assert "95% interval" in narrow.describe()
    assert "99% interval" in wide.describe()
    # The same numbers against a constant are a corrected t test: p = 5% at the interval's end.
    ends = corrected_t(narrow.scores, np.full(4, low), n_train=narrow.n_train, n_test=narrow.n_test)
    assert ends.p_value == pytest.approx(0.05)


def test_an_interval_does_not_leave_the_range_of_the_score(table):
    X, y = table
    y = np.where(X[:, 0] > 0, "yes", "no")
    result = honest_score(LogisticRegression(), X, y, random_state=0, interval="corrected_t")
    assert result.scores.std() > 0
    assert result.interval[1] == 1
    assert result.mean < honest_score(LogisticRegression(), X, y, random_state=0).interval[1] < 1
    unbounded = honest_score(
        LogisticRegression(),
        X,
        y,
        random_state=0,
        scoring=lambda *fitted: fitted[0].score(*fitted[1:]),
    )
    assert unbounded.interval[1] > 1


def test_the_bootstrap_interval_is_that_of_a_proportion(rng):
    X, y = rng.normal(size=(200, 1)), np.tile([0, 1, 1, 1], 50)
    result = honest_score(
        DummyClassifier(), X, y, interval="bootstrap", random_state=0, confidence=0.9
    )
    # All folds score 0.75: binomial standard error 0.0306, normal quantile 1.645.
    assert result.interval == pytest.approx((0.6996, 0.8004), abs=0.008)
    assert "resamples the tested rows" in result.describe()
    grouped = honest_score(
        DummyClassifier(),
        X,
        y,
        interval="bootstrap",
        groups=np.repeat(np.arange(20), 10),
        random_state=0,
    )
    # Groups of ten hold seven or eight ones: far less spread between groups than between rows.
    assert np.ptp(grouped.interval) < 0.5 * np.ptp(result.interval)


@pytest.mark.parametrize("scoring", ["neg_mean_squared_error", "neg_mean_absolute_error"])
def test_the_bootstrap_interval_of_an_error_holds_its_mean(scoring, rng):
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + rng.normal(size=80)
    result = honest_score(Ridge(), X, y, scoring=scoring, interval="bootstrap", random_state=0)
    low, high = result.interval
    assert low < result.mean < high < 0
    assert "Honest negative mean" in result.describe()


@pytest.mark.parametrize("inner", [3, StratifiedKFold(3, shuffle=True)])
def test_the_same_seed_gives_the_same_result_for_one_and_two_jobs(table, inner):
    X, y = table
    forest = RandomForestClassifier(n_estimators=3)
    search = make_pipeline(StandardScaler(), GridSearchCV(forest, {"max_depth": [1, 3]}, cv=inner))
    options = {"outer": 3, "repeats": 2, "random_state": 7}
    one = honest_score(search, X, y, **options)
    two = honest_score(search, X, y, n_jobs=2, **options)
    pd.testing.assert_frame_equal(without_times(one), without_times(two), check_exact=True)
    pd.testing.assert_frame_equal(one.predictions(), two.predictions(), check_exact=True)
    other = honest_score(search, X, y, **options | {"random_state": 8})
    assert not one.predictions().equals(other.predictions())
    assert one.guide is not None


def test_seeds_fill_gaps_only_and_differ_between_folds_and_parameters():
    search = GridSearchCV(RandomForestClassifier(), {}, cv=ShuffleSplit(2))
    given = KFold(2, shuffle=True, random_state=3)
    first, again, other = (
        seeded(clone(search), np.random.SeedSequence(seed)) for seed in (0, 0, 1)
    )
    assert first.estimator.random_state == again.estimator.random_state
    assert first.cv.random_state == again.cv.random_state
    assert first.estimator.random_state != other.estimator.random_state
    assert first.estimator.random_state != first.cv.random_state
    assert search.cv.random_state is None
    kept = seeded(
        GridSearchCV(RandomForestClassifier(random_state=5), {}, cv=given),
        np.random.SeedSequence(0),
    )
    assert kept.estimator.random_state == 5
    assert kept.cv is given


def test_repeats_draw_new_folds_and_the_search_is_left_untouched(table):
    X, y = table
    search = DecisionTreeClassifier()
    result = honest_score(search, X, y, outer=3, repeats=3, random_state=0)
    first_folds = [tuple(fold.test) for fold in result.folds if fold.number == 1]
    assert len(set(first_folds)) == 3
    assert not hasattr(search, "tree_")
    assert search.random_state is None


@pytest.mark.parametrize(
    "outer",
    [
        3,
        StratifiedKFold(3),
        HomogeneousKFold(3),
        HomogeneousKFold(3, stratify=True, random_state=0),
        StratifiedHalves(2),
        ShuffleSplit(3),
    ],
)
def test_any_splitter_can_be_the_outer_one(outer, table):
    X, y = table
    one, two = (honest_score(LogisticRegression(), X, y, outer=outer, random_state=1) for _ in "ab")
    assert len(one.folds) == (outer if outer == 3 else outer.get_n_splits())
    assert np.array_equal(one.scores, two.scores)


@pytest.mark.parametrize(
    "kind", [np.asarray, pd.DataFrame, lambda X: pl.DataFrame(X), csr_array, lambda X: X.tolist()]
)
def test_any_kind_of_table_gives_the_same_scores(kind, table):
    X, y = table
    X.flags.writeable = False
    model = LogisticRegression()
    expected = honest_score(model, X, y, random_state=0).scores
    for labels in (pd.Series(y), pl.Series(y), y.tolist()):
        found = honest_score(model, kind(X), labels, random_state=0)
        np.testing.assert_allclose(found.scores, expected)


def test_a_frame_reaches_the_search_as_a_frame_and_missing_cells_are_its_business(table):
    X, y = table
    X[3, 1] = np.nan
    frame = pd.DataFrame(X, columns=list("abc"))
    model = make_pipeline(SimpleImputer().set_output(transform="pandas"), LogisticRegression())
    assert honest_score(model, frame, y, random_state=0).complete


def test_groups_stay_whole_outside_and_reach_an_inner_splitter_that_needs_them(table):
    X, y = table
    groups = np.repeat(np.arange(12), 5)
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=GroupKFold(3))
    for model, target in ((search, y), (Ridge(), X[:, 1])):
        result = honest_score(model, X, target, outer=4, groups=groups, random_state=0)
        assert result.complete
        for fold in result.folds:
            rest = np.setdiff1d(np.arange(60), fold.test)
            assert not set(groups[fold.test]) & set(groups[rest])


@pytest.mark.parametrize(
    ("own", "asked", "name", "comparable"),
    [
        (None, None, "accuracy", True),
        (None, "accuracy", "accuracy", True),
        ("roc_auc", None, "roc_auc", True),
        ("roc_auc", "accuracy", "accuracy", False),
        (["accuracy", "roc_auc"], None, "roc_auc", True),
        ({"accuracy": "accuracy", "roc_auc": "balanced_accuracy"}, None, "balanced_accuracy", True),
    ],
)
def test_the_score_is_that_of_the_search_unless_another_is_asked(
    own, asked, name, comparable, table
):
    X, y = table
    refit = "roc_auc" if isinstance(own, list | dict) else True
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, scoring=own, refit=refit, cv=2)
    folds = StratifiedKFold(3)
    result = honest_score(search, X, y, outer=folds, scoring=asked)
    assert result.scoring == name
    np.testing.assert_allclose(result.scores, cross_val_score(search, X, y, cv=folds, scoring=name))
    assert (result.optimism is not None) == comparable
    assert ("guided by another score" in result.describe()) == (not comparable)
    ignorant = cross_val_score(DummyClassifier(), X, y, cv=folds, scoring=name)
    assert result.baseline == pytest.approx(ignorant.mean())


def test_a_scorer_object_and_a_regressor(table):
    X, _ = table
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    result = honest_score(Ridge(), X, X[:, 0], scoring=scorer, random_state=0)
    assert result.scoring == "mean_absolute_error"
    assert result.baseline < result.mean < 0
    default = honest_score(Ridge(), X, X[:, 0], random_state=0)
    assert default.scoring == "r2"
    assert default.baseline < 0.1
    assert "below the interval." in default.describe()


def test_an_undefined_baseline_metric_is_zero_without_a_warning(table):
    X, y = table
    result = honest_score(LogisticRegression(), X, (y == "yes") * 1, scoring="precision")
    assert np.isfinite(result.baseline)


def test_guide_may_be_a_function_of_the_fitted_search(table):
    X, y = table
    result = honest_score(
        LogisticRegression(), X, y, guide=lambda fitted: fitted.score(X, y), random_state=0
    )
    assert result.optimism == pytest.approx(result.guide - result.mean)


def test_a_search_that_does_worse_than_the_baseline_is_told_so():
    class Contrary(DummyClassifier):
        def predict(self, X):
            return 1 - super().predict(X)

    rows, y = np.zeros((40, 1)), np.tile([0, 0, 0, 1], 10)
    result = honest_score(Contrary(), rows, y)
    assert "above the interval: the search does worse than no model" in result.describe()
    assert 0 < result.interval[0] < 0.25 < result.interval[1] < 0.75
    result = honest_score(Contrary(), rows, y, interval="corrected_t")
    assert "All scores are equal, so the interval has no width" in result.describe()


def test_a_result_prints_one_line(table):
    X, y = table
    result = honest_score(LogisticRegression(), X, y, outer=4, random_state=0)
    shown = repr(result)
    assert shown.startswith(f"HonestScore(accuracy {result.mean:.3g}, 95% from ")
    assert shown.endswith(f"4 folds, baseline {result.baseline:.3g})")
    assert "\n" not in shown
    assert len(shown) < 100
