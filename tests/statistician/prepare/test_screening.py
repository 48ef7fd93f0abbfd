"""Screening: which variables say most about the target, each alone."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import skops.io

from parsimon.exceptions import InvalidInputError
from parsimon.statistician.prepare.preparation import Screener, dependence
from tests.contract import contract


@contract(Screener(), Screener(most=2, task="regression"))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def deviate(statistic, degrees):
    """Wilson and Hilferty (1931): the cube root of chi-squared over its mean is nearly normal."""
    return ((statistic / degrees) ** (1 / 3) - 1 + 2 / (9 * degrees)) / np.sqrt(2 / (9 * degrees))


def groups_of(x, n_groups):
    cuts = np.sort(x)[[len(x) * group // n_groups - 1 for group in range(1, n_groups)]]
    return (x[:, None] > cuts).sum(axis=1)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_score_of_classes_is_pearsons_statistic_or_its_trend(rng, n_classes):
    x, y = rng.normal(size=200), rng.integers(n_classes, size=200)
    for bent in (x, np.abs(x)):
        group = groups_of(bent, 8)
        counts = np.zeros((8, n_classes))
        np.add.at(counts, (group, y), 1)
        chi_squared = scipy.stats.chi2_contingency(counts, correction=False)
        ranks = [group[y == code] for code in range(n_classes)]
        # Analysis of variance of the groups' numbers: what of their variance lies between classes.
        between = sum(len(one) * (one.mean() - group.mean()) ** 2 for one in ranks)
        trend = 200 * between / np.sum((group - group.mean()) ** 2)
        expected = max(
            deviate(chi_squared.statistic * 199 / 200, chi_squared.dof),
            deviate(trend * 199 / 200, n_classes - 1),
        )
        assert dependence(bent[:, None], y)[0] == pytest.approx(expected, rel=1e-10)


def test_the_score_of_a_number_is_kruskal_and_wallis_statistic_or_its_trend(rng):
    x, y = rng.normal(size=120), rng.exponential(size=120)
    for bent, target in ((x, y), (x, x + y), (x, x**2 + 0.1 * y)):
        group = groups_of(bent, 8)
        h = scipy.stats.kruskal(*(target[group == one] for one in range(8))).statistic
        r = np.corrcoef(group, scipy.stats.rankdata(target))[0, 1]
        expected = max(deviate(h, 7), deviate(119 * r**2, 1))
        found = dependence(bent[:, None], target, task="regression")[0]
        assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_bent_relations_are_noticed_among_noise(rng, task):
    X = rng.normal(size=(300, 200))
    target = np.abs(X[:, 40]) + 0.3 * rng.normal(size=300)
    y = target > 0.7 if task == "classification" else target
    screener = Screener(most=5, task=task).fit(X, y)
    assert np.argmax(screener.scores_) == 40
    assert 40 in screener.kept_


def test_a_weak_slope_scores_higher_with_the_trend_than_by_groups_alone(rng):
    x = np.linspace(-1, 1, 400)
    y = rng.random(400) < 0.5 + 0.12 * x
    group = groups_of(x, 8)
    counts = np.array([[np.sum((group == g) & (y == c)) for c in (0, 1)] for g in range(8)])
    chi_squared = scipy.stats.chi2_contingency(counts, correction=False)
    assert dependence(x[:, None], y)[0] > deviate(chi_squared.statistic, 7) + 0.2


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_noise_scores_like_the_greater_of_two_standard_normal_numbers(rng, task):
    X = rng.normal(size=(200, 4000))
    y = rng.normal(size=200)
    scores = dependence(X, y > 0 if task == "classification" else y, task=task)
    # Between one normal number (both statistics agree) and the greater of two independent ones.
    assert 0.0 < scores.mean() < 1 / np.sqrt(np.pi) + 0.05
    assert 0.01 < np.mean(scores > 1.96) < 0.07


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_an_indicator_is_seen_however_rare_its_ones_are(rng, share):
    x = (np.arange(200) < share * 200).astype(float)
    y = np.where(rng.random(200) < 0.9, x, 1 - x)
    noise = rng.normal(size=(200, 30))
    assert np.argmax(dependence(np.column_stack([noise, x]), y)) == 30


def test_scores_do_not_depend_on_monotone_scales_or_blocks(rng, monkeypatch):
    X, y = rng.normal(size=(80, 30)), rng.integers(3, size=80)
    scores = dependence(X, y)
    np.testing.assert_allclose(dependence(np.exp(X), y), scores)
    monkeypatch.setattr("parsimon.statistician.prepare.preparation._BLOCK", 160)
    np.testing.assert_allclose(dependence(X, y), scores, rtol=1e-12)


def test_a_constant_says_nothing(rng):
    X = np.column_stack([np.ones(50), rng.normal(size=50)])
    scores = dependence(X, X[:, 1] > 0)
    assert np.isfinite(scores).all()
    assert scores[0] < 0 < scores[1]


@pytest.mark.parametrize("n", [2, 5, 9])
def test_a_few_rows_are_enough(n):
    X = np.column_stack([np.arange(n), np.arange(n)[::-1], np.ones(n)]).astype(float)
    assert np.isfinite(dependence(X, np.arange(n) > 0)).all()
    assert np.isfinite(dependence(X, np.arange(n), task="regression")).all()


def test_the_best_are_kept_in_the_tables_order_and_it_is_said(rng):
    y = rng.integers(2, size=100)
    names = [f"g{place}" for place in range(30)]
    X = pd.DataFrame(rng.normal(size=(100, 30)), columns=names)
    X["g20"] += 3 * y
    X["g3"] += y
    screener = Screener(most=2).fit(X, y)
    assert screener.transform(X).columns.tolist() == ["g3", "g20"]
    assert list(screener.get_feature_names_out()) == ["g3", "g20"]
    said = screener.treatments_[0]
    assert (said.kind, said.count, said.value) == ("columns_screened", 2, "30")
    pd.testing.assert_frame_equal(screener.transform(X), X[["g3", "g20"]])


def test_up_to_the_limit_all_are_kept_without_a_word(rng):
    X, y = pd.DataFrame(rng.normal(size=(40, 20))), rng.integers(2, size=40)
    screener = Screener().fit(X.set_axis([f"g{n}" for n in range(20)], axis=1), y)
    assert len(screener.kept_) == 20
    assert screener.treatments_ == ()


def test_equal_scores_keep_the_first(rng):
    x = rng.normal(size=40)
    pair = np.column_stack([x, rng.normal(size=40)])
    screener = Screener(most=5).fit(np.tile(pair, 100), x > 0)
    assert screener.kept_.tolist() == [0, 2, 4, 6, 8]


def test_impossible_options_are_refused(rng):
    X, y = rng.normal(size=(20, 3)), rng.integers(2, size=20)
    with pytest.raises(InvalidInputError, match="most must be at least 1, got 0"):
        Screener(most=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="task must be"):
        Screener(task="clustering").fit(X, y)
    with pytest.raises(ValueError, match="length equal to number of features"):
        Screener().fit(X, y).get_feature_names_out(["a"])


def test_a_saved_screener_keeps_the_same(rng):
    X, y = rng.normal(size=(40, 30)), rng.integers(2, size=40)
    screener = Screener(most=4).fit(X, y)
    data = skops.io.dumps(screener)
    again = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    np.testing.assert_array_equal(again.transform(X), screener.transform(X))
