from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectKBest, SelectorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.exceptions import InvalidInputError
from parsimon.features import FewColumnsClassifier, ParetoSelector, StableSelector
from parsimon.features._halves import fit_halves
from parsimon.rvm import RVC, ParetoRVC


def table(n=48, d=120, shift=2.5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], n // 2)
    X = rng.normal(size=(n, d))
    X[:, [4, 9]] += shift * y[:, None]
    return X, y


X, Y = table()


def test_counts_are_those_of_the_fits_to_halves():
    selector = StableSelector(n_splits=6, n_permutations=0, random_state=3).fit(X, Y)
    seed = np.random.SeedSequence(3).spawn(1)[0]
    shared = selector._table(X, Y)
    totals, both = np.zeros(120, dtype=int), np.zeros(120, dtype=int)
    for split in seed.spawn(6):
        one, other = (set(half.columns.tolist()) for half in fit_halves(shared, split))
        for column in range(120):
            totals[column] += (column in one) + (column in other)
            both[column] += column in one and column in other
    np.testing.assert_array_equal(selector.totals_, totals)
    np.testing.assert_array_equal(selector.coincidences_, both)
    np.testing.assert_allclose(selector.frequencies_, totals / 12)


def test_planted_columns_are_found_and_noise_is_not():
    selector = StableSelector(n_splits=20, random_state=0).fit(X, Y)
    assert set(selector.get_support(indices=True)) == {4, 9}
    assert selector.chance_.total_p_value[4] == 1 / 20
    assert selector.totals_[4] > selector.chance_.total_level
    assert selector.chance_.observed_coincidences > selector.chance_.expected_coincidences
    assert selector.test_auc_.mean() > 0.5 + 3 * selector.null_sd_ / np.sqrt(40)
    assert selector.expected_false_["shah_samworth"] < 0.5


def test_noise_gives_an_empty_selection_within_the_bound():
    rng = np.random.default_rng(1)
    kept = []
    for seed in range(10):
        noise = rng.normal(size=(40, 300))
        selector = StableSelector(n_splits=20, random_state=seed, n_permutations=0)
        kept.append(selector.fit(noise, np.tile([0, 1], 20)).get_support().sum())
    assert np.mean(kept) <= selector.expected_false_["meinshausen_buhlmann"] + 0.3


def test_the_bound_holds_for_columns_of_unequal_scatter():
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(40, 300)) * np.exp(0.7 * rng.normal(size=300))
    kept, bounds = [], []
    for seed in range(12):
        target = np.random.default_rng(seed).permutation(np.tile([0, 1], 20))
        selector = StableSelector(n_splits=20, random_state=seed, n_permutations=1)
        kept.append(selector.fit(noise, target).get_support().sum())
        bounds.append(selector.expected_false_["meinshausen_buhlmann"])
    assert np.mean(kept) <= np.mean(bounds)
    assert max(bounds) <= 0.5
    # So many columns that equal chances would allow are too many here.
    alike = StableSelector(n_splits=20, random_state=0, n_permutations=0).fit(noise, target)
    assert selector.n_selected_[0] < alike.n_selected_[0]


def test_chance_by_permutation_is_the_count_over_permuted_runs():
    selector = StableSelector(n_splits=10, random_state=0, n_permutations=2).fit(X, Y)
    p_value = selector.chance_.permuted_p_value
    assert p_value[4] == p_value[9] == 1 / (1 + 2 * 120)
    assert p_value[selector.totals_ == 0].min() == 1.0
    assert 0 <= selector.chance_.permuted_coincidences < selector.chance_.observed_coincidences
    without = StableSelector(n_splits=2, n_permutations=0, random_state=0).fit(X, Y)
    assert without.chance_.permuted_p_value is None


def test_chance_of_any_column_is_the_rank_of_the_most_frequent():
    options = {"n_splits": 6, "random_state": 5, "n_permutations": 4, "fixed": [4]}
    selector = StableSelector(**options).fit(X, Y)
    shared = replace(selector._table(X, Y), n_selected=int(selector.n_selected_[0]))
    most, together = [], []
    for seed in np.random.SeedSequence(5).spawn(6)[1:-1]:
        order, splits = seed.spawn(2)
        table = replace(shared, y=np.random.default_rng(order).permutation(Y))
        halves = [half for one in splits.spawn(6) for half in fit_halves(table, one)]
        picked = np.array([np.isin(np.arange(120), half.columns) for half in halves])
        most.append(picked.sum(axis=0).max())
        together.append((picked[::2] & picked[1::2]).sum(axis=0).max())
    chance = selector.chance_
    assert (chance.total_level, chance.coincident_level) == (max(most), max(together))
    assert chance.level_rate == 1 / 5
    for column in (9, 30, 77):
        reached = 1 + sum(one >= selector.totals_[column] for one in most)
        assert chance.total_p_value[column] == reached / 5
    without = StableSelector(n_splits=2, n_permutations=0, random_state=0).fit(X, Y).chance_
    assert np.isnan(without.total_p_value).all()
    assert np.isnan(without.total_level)


def test_noise_seldom_passes_the_level_of_chance():
    """In 2 of 40 tables; a level for columns that are taken at random was passed in 27."""
    rng = np.random.default_rng(6)
    passed, least = [], []
    for seed in range(40):
        noise, target = rng.normal(size=(30, 60)), np.tile([0, 1], 15)
        selector = StableSelector(n_splits=6, random_state=seed).fit(noise, target)
        passed.append(selector.totals_.max() > selector.chance_.total_level)
        least.append(selector.chance_.total_p_value.min())
    assert np.mean(passed) <= 0.1
    np.testing.assert_array_equal(passed, np.array(least) <= 0.05)


def test_the_line_of_chance_says_how_rare_it_is():
    for runs, label in ((0, None), (3, "chance, 25 %"), (19, "chance, 5 %"), (40, "chance, 4.9 %")):
        selector = StableSelector(n_splits=2, n_permutations=runs, random_state=0).fit(X, Y)
        for kind in ("total", "coincident"):
            legend = selector.plot(kind).get_legend()
            assert (None if legend is None else legend.get_texts()[0].get_text()) == label


def test_the_order_of_columns_changes_nothing():
    order = np.random.default_rng(0).permutation(120)
    one = StableSelector(n_splits=8, random_state=0).fit(X, Y)
    other = StableSelector(n_splits=8, random_state=0).fit(X[:, order], Y)
    np.testing.assert_array_equal(one.totals_[order], other.totals_)
    np.testing.assert_array_equal(one.coincidences_[order], other.coincidences_)
    np.testing.assert_allclose(one.test_auc_, other.test_auc_)
    assert one.expected_false_ == other.expected_false_


def test_workers_change_nothing():
    one = StableSelector(n_splits=6, random_state=0, n_jobs=1).fit(X, Y)
    two = StableSelector(n_splits=6, random_state=0, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(one.totals_, two.totals_)
    np.testing.assert_array_equal(one.test_auc_, two.test_auc_)
    assert one.front_ == two.front_


@pytest.mark.parametrize(
    "estimator",
    [
        SelectKBest(k=4),
        RVC("features"),
        ParetoSelector(max_features=1, cv=2, random_state=0),
        FewColumnsClassifier(3),
        make_pipeline(StandardScaler(), LogisticRegression(l1_ratio=1.0, solver="liblinear")),
        make_pipeline(SelectKBest(k=5), LogisticRegression()),
        ParetoRVC("features", max_iter=30, cv=2, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_any_selector_sparse_model_or_front_can_stand_inside(estimator):
    selector = StableSelector(estimator, n_splits=4, n_permutations=0, random_state=0).fit(X, Y)
    assert set(selector.ranking_[:2]) & {4, 9}
    assert selector.front_.names == ("AUC", "columns", "stability")
    assert ((selector.test_auc_ >= 0) & (selector.test_auc_ <= 1)).all()


def test_a_model_that_hides_its_columns_is_refused():
    from sklearn.neighbors import KNeighborsClassifier

    with pytest.raises(InvalidInputError, match="does not say which columns"):
        StableSelector(KNeighborsClassifier(), n_splits=1).fit(X, Y)


def test_fixed_columns_are_kept_never_counted_and_adjusted_for():
    rng = np.random.default_rng(0)
    age = np.repeat([0.0, 1.0], 30) + 0.3 * rng.normal(size=60)
    values = rng.normal(size=(60, 100))
    values[:, 3] = age + 0.3 * rng.normal(size=60)
    frame = pd.DataFrame(values, columns=[f"g{k}" for k in range(100)]).assign(age=age)
    y = np.repeat([0, 1], 30)
    alone = StableSelector(n_splits=10, random_state=0).fit(frame, y)
    given = StableSelector(n_splits=10, random_state=0, fixed=["age"]).fit(frame, y)
    assert alone.frequencies_[3] == 1
    assert given.frequencies_[3] < 0.6
    assert given.totals_[100] == 0
    assert given.get_support()[100]
    with pytest.raises(InvalidInputError, match="names of columns, got 'sex'"):
        StableSelector(fixed=["sex"]).fit(frame, y)


class Beside(SelectorMixin, BaseEstimator):
    """Takes the three columns that go best with what fixed columns leave of the target."""

    def __init__(self, fixed=()):
        self.fixed = fixed

    def fit(self, X, y):
        given = np.column_stack([np.ones(len(y)), X[:, list(self.fixed)]])
        left = y - given @ np.linalg.lstsq(given, y, rcond=None)[0]
        along = np.abs(np.corrcoef(X.T, left)[-1, :-1])
        along[list(self.fixed)] = 0.0
        self.mask_ = along >= np.sort(along)[-3]
        return self

    def _get_support_mask(self):
        return self.mask_


@pytest.mark.parametrize(
    "estimator",
    [SelectKBest(k=3), Beside()],
    ids=["adjusted", "forced"],
)
def test_fixed_columns_are_held_in_other_estimators_too(estimator):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    age = y + 0.3 * rng.normal(size=60)
    values = np.column_stack([rng.normal(size=(60, 40)), age])
    values[:, 3] = age + 0.3 * rng.normal(size=60)
    options = {"n_splits": 8, "n_permutations": 0, "random_state": 0}
    alone = StableSelector(estimator, **options).fit(values, y)
    given = StableSelector(estimator, fixed=[40], **options).fit(values, y)
    assert given.frequencies_[3] < 0.5 * alone.frequencies_[3]
    assert given.totals_[40] == 0
    assert given.test_auc_.mean() > 0.85


def test_fixed_columns_have_names():
    selector = StableSelector(fixed=["age"], n_splits=2, n_permutations=0, random_state=0)
    frame = pd.DataFrame(X, columns=["age", *(f"g{k}" for k in range(1, 120))])
    assert "age" in clone(selector).fit(frame, Y).get_feature_names_out()
    with pytest.raises(InvalidInputError, match="names of columns, got 'height'"):
        clone(selector).set_params(fixed=["height"]).fit(frame, Y)


def test_columns_that_stand_for_each_other_form_a_group_and_masking_shows_the_next():
    values, y = table(seed=3)
    rng = np.random.default_rng(0)
    values[:, 50] = values[:, 4] + 0.2 * rng.normal(size=48)
    selector = StableSelector(n_splits=15, random_state=0).fit(values, y)
    group = next(one for one in selector.groups_ if {4, 50} & set(one.members))
    assert {4, 50} <= set(group.members)
    assert group.frequency >= selector.frequencies_[group.representative]
    again = selector.without_top(values, y, n=1)
    assert again.frequencies_[selector.ranking_[0]] == 0


def test_a_number_is_a_target_too():
    rng = np.random.default_rng(0)
    selector = StableSelector(n_splits=10, random_state=0)
    selector.fit(X, X[:, 7] + 0.5 * rng.normal(size=48))
    assert selector.get_support(indices=True).tolist() == [7]
    assert selector.test_auc_.mean() > 0.7
    assert np.isnan(selector.null_sd_)
    assert selector.plot("models").get_xlabel() == "concordance on own half"


def test_a_classifier_of_the_kept_columns():
    selector = StableSelector(n_splits=10, random_state=0).fit(X, Y)
    model = selector.classifier(X, Y)
    np.testing.assert_array_equal(model.get_support(), selector.get_support())
    assert model.score(X, Y) > 0.8
    nothing = StableSelector(n_splits=4, random_state=0).fit(X[:, 20:], Y)
    with pytest.raises(InvalidInputError, match="nothing to classify by"):
        nothing.classifier(X[:, 20:], Y)


def test_max_features_keeps_the_most_frequent():
    selector = StableSelector(n_splits=10, max_features=1, random_state=0).fit(X, Y)
    assert selector.get_support(indices=True).tolist() == [selector.ranking_[0]]


@pytest.mark.parametrize("kind", ["total", "coincident", "sizes", "models", "null"])
def test_every_picture_can_be_drawn(kind):
    selector = StableSelector(n_splits=4, random_state=0).fit(X, Y)
    axes = selector.plot(kind)
    assert axes.get_xlabel()


def test_few_columns_predict_other_rows():
    other, y = table(seed=9)
    model = FewColumnsClassifier(2).fit(X, Y)
    assert set(model.columns_) == {4, 9}
    assert model.score(other, y) > 0.8
    given = FewColumnsClassifier(columns=[9, 4]).fit(X, Y)
    assert given.get_support(indices=True).tolist() == [4, 9]
    with pytest.raises(InvalidInputError, match="from 0 to 119"):
        FewColumnsClassifier(columns=[120]).fit(X, Y)


def test_a_shared_unit_and_levels_of_rows_do_not_matter():
    raw = np.exp(X)
    one = FewColumnsClassifier(5, shared_unit=True).fit(raw, Y)
    two = FewColumnsClassifier(5, shared_unit=True).fit(1000 * raw, Y)
    np.testing.assert_array_equal(one.columns_, two.columns_)
    own = FewColumnsClassifier(5, shared_unit=False).fit(X, Y)
    scaled = FewColumnsClassifier(5, shared_unit=False).fit(X * np.geomspace(1e-3, 1e3, 120), Y)
    np.testing.assert_array_equal(own.columns_, scaled.columns_)


def test_a_time_limit_changes_nothing_where_there_is_time_and_leaves_splits_out_where_not():
    free = StableSelector(n_splits=4, n_permutations=2, random_state=0).fit(X, Y)
    timely = clone(free).set_params(time_limit=600).fit(X, Y)
    np.testing.assert_array_equal(free.totals_, timely.totals_)
    assert (timely.n_splits_, timely.n_permutations_) == (4, 2)
    short = clone(free).set_params(n_splits=10_000, time_limit=0.001).fit(X, Y)
    assert (short.n_splits_, short.n_permutations_) == (1, 0)
    assert len(short.test_auc_) == 2
    assert np.isnan(short.expected_false_["permuted"])
