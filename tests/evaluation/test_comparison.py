import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_moons
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.svm import SVC

from parsimon.evaluation import anova, corrected_t, mann_whitney, pairwise, wilcoxon_signed_rank
from parsimon.evaluation import (
    compare as permutation,
)
from parsimon.evaluation.compare import holm
from parsimon.exceptions import InvalidInputError

REFERENCE = json.loads((Path(__file__).parent / "reference" / "tests.json").read_text())
# Demsar (2006), table 2: AUC of C4.5 without and with tuning, 14 data sets, two ties.
C45 = [0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1, 0.94, 0.619, 0.972, 0.957]
C45_M = [
    0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1, 0.962, 0.666, 0.981, 0.978
]  # fmt: skip

small = st.lists(st.integers(-3, 3), min_size=1, max_size=7)


def signed_rank_by_enumeration(differences, zeros):
    """Flip the sign of every difference in all ways; double the smaller tail."""
    d = np.array(differences, dtype=float)
    d = d[d != 0] if zeros == "drop" else d
    ranks = scipy.stats.rankdata(abs(d))
    observed = ranks[d > 0].sum()
    moved = ranks[d != 0]
    sums = [np.dot(signs, moved) for signs in itertools.product([0, 1], repeat=len(moved))]
    return min(1.0, 2 * min(np.mean(np.array(sums) <= observed), np.mean(sums >= observed)))


def rank_sum_by_enumeration(a, b):
    ranks = scipy.stats.rankdata([*a, *b])
    observed = ranks[: len(a)].sum()
    sums = [sum(chosen) for chosen in itertools.combinations(ranks, len(a))]
    return min(1.0, 2 * min(np.mean(np.array(sums) <= observed), np.mean(sums >= observed)))


@pytest.mark.parametrize("zeros", ["drop", "split"])
@given(differences=small)
def test_signed_rank_is_exact_with_ties_and_zeros(zeros, differences):
    test = wilcoxon_signed_rank(differences, np.zeros(len(differences)), zeros=zeros)
    if any(differences):
        assert test.p_value == pytest.approx(signed_rank_by_enumeration(differences, zeros))
        assert not test.note
    else:
        assert test.p_value == 1
        assert "All differences are zero" in test.describe()


@given(small, small)
def test_rank_sum_is_exact_with_ties(a, b):
    test = mann_whitney(a, b)
    assert test.p_value == pytest.approx(rank_sum_by_enumeration(a, b))
    a12 = np.mean([(x > y) + 0.5 * (x == y) for x in a for y in b])
    assert test.effect == pytest.approx(a12)
    assert test.statistic == pytest.approx(a12 * len(a) * len(b))


@given(small, small)
def test_swapping_the_samples_changes_the_sign_of_the_effect_only(a, b):
    forth, back = mann_whitney(a, b), mann_whitney(b, a)
    assert forth.p_value == pytest.approx(back.p_value)
    assert forth.effect == pytest.approx(1 - back.effect)
    n = min(len(a), len(b))
    forth, back = wilcoxon_signed_rank(a[:n], b[:n]), wilcoxon_signed_rank(b[:n], a[:n])
    assert forth.p_value == pytest.approx(back.p_value)
    assert forth.statistic == back.statistic
    assert forth.effect == -back.effect


@pytest.mark.parametrize("n", [8, 30, 50])
def test_untied_samples_agree_with_scipy_exactly(n, rng):
    a, b = rng.normal(size=n), rng.normal(0.3, 1, size=n)
    ours, scipys = wilcoxon_signed_rank(a, b), scipy.stats.wilcoxon(a, b, method="exact")
    assert ours.statistic == scipys.statistic
    assert ours.p_value == pytest.approx(scipys.pvalue, rel=1e-9)
    assert "exact" in ours.method
    ours, scipys = mann_whitney(a, b[:-3]), scipy.stats.mannwhitneyu(a, b[:-3], method="exact")
    assert ours.statistic == scipys.statistic
    assert ours.p_value == pytest.approx(scipys.pvalue, rel=1e-9)
    assert "exact" in ours.method


@pytest.mark.parametrize("zeros", ["drop", "split"])
def test_large_signed_rank_samples_agree_with_scipys_normal_approximation(zeros, rng):
    a, b = rng.integers(0, 40, size=(2, 600))
    a = a if zeros == "drop" else np.where(a == b, a + 41, a)
    ours = wilcoxon_signed_rank(a, b, zeros=zeros)
    method = "wilcox" if zeros == "drop" else "zsplit"
    scipys = scipy.stats.wilcoxon(
        a.astype(float), b, correction=True, zero_method=method, method="asymptotic"
    )
    assert ours.p_value == pytest.approx(scipys.pvalue, rel=1e-9)
    assert "normal approximation" in ours.method


def test_large_rank_sum_samples_agree_with_scipys_normal_approximation(rng):
    a, b = rng.integers(0, 9, size=70), rng.integers(0, 10, size=50)
    ours, scipys = mann_whitney(a, b), scipy.stats.mannwhitneyu(a, b, method="asymptotic")
    assert ours.p_value == pytest.approx(scipys.pvalue, rel=1e-9)
    assert "normal approximation" in ours.method


def test_the_approximations_are_close_where_they_take_over(rng, monkeypatch):
    a, b = rng.normal(0.1, 1, size=500), rng.normal(0.4, 1, size=50)
    exact = wilcoxon_signed_rank(a, np.zeros(500)).p_value, mann_whitney(a[:50], b).p_value
    monkeypatch.setattr(permutation, "MOST_PAIRS", 499)
    monkeypatch.setattr(permutation, "MOST_VALUES", 99)
    close = wilcoxon_signed_rank(a, np.zeros(500)).p_value, mann_whitney(a[:50], b).p_value
    assert close != exact
    assert close == pytest.approx(exact, abs=5e-4)


def test_values_of_r():
    signed = REFERENCE["signed_rank"]
    test = wilcoxon_signed_rank(signed["a"], signed["b"])
    assert test.p_value == pytest.approx(signed["p"], rel=1e-12)
    assert test.statistic == 45 - signed["V"]
    ranked = REFERENCE["rank_sum"]
    test = mann_whitney(ranked["a"], ranked["b"])
    assert (test.statistic, test.p_value) == pytest.approx((ranked["W"], ranked["p"]), rel=1e-12)
    for name, paired in (("anova", False), ("repeated", True)):
        test = anova(*REFERENCE[name]["groups"], paired=paired)
        expected = REFERENCE[name]["F"], REFERENCE[name]["p"]
        assert (test.statistic, test.p_value) == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(holm(REFERENCE["holm"]["raw"]), REFERENCE["holm"]["adjusted"])


def test_demsars_example_with_two_zero_differences():
    test = wilcoxon_signed_rank(C45, C45_M, zeros="split")
    assert test.statistic == 12
    assert test.n == (14,)
    assert test.significant(0.05)
    dropped = wilcoxon_signed_rank(C45, C45_M)
    assert dropped.statistic == 6.5
    assert dropped.n == (12,)
    assert "2 of 14 pairs do not differ and were left out" in dropped.describe()


@pytest.mark.parametrize(("case", "printed"), list(enumerate([0.25, 0.96, 0.94, 0.077])))
def test_p_values_printed_as_paired_are_those_of_the_unpaired_test(case, printed, monkeypatch):
    # Fearn (2021), table 4.7, calls its p-values those of the paired signed-rank test.
    chromosomes = REFERENCE["chromosomes"]
    samples = (
        np.array(chromosomes["first"]) / 1000,
        np.array(chromosomes["others"][case]) / 1000,
    )
    exact = wilcoxon_signed_rank(*samples).p_value
    assert mann_whitney(*samples).p_value == pytest.approx(printed, abs=0.0055)
    assert exact != pytest.approx(printed, rel=0.4)
    assert (exact < 0.01) == (case == 0)
    monkeypatch.setattr(permutation, "MOST_PAIRS", 0)
    monkeypatch.setattr(permutation, "MOST_VALUES", 0)
    approximate = wilcoxon_signed_rank(*samples).p_value, mann_whitney(*samples).p_value
    in_r = chromosomes["paired"][case], chromosomes["unpaired"][case]
    assert approximate == pytest.approx(in_r, rel=1e-9)


def test_scores_that_differ_by_rounding_alone_are_ties():
    assert 0.8 - 0.7 != 0.9 - 0.8
    a, b = [0.8, 0.9, 0.5, 0.3], [0.7, 0.8, 0.6, 0.3 + 1e-16]
    whole = wilcoxon_signed_rank([8, 9, 5, 3], [7, 8, 6, 3])
    assert wilcoxon_signed_rank(a, b).statistic == whole.statistic == 2
    assert mann_whitney([0.1 + 0.2], [0.3]).effect == 0.5


def test_the_sklearn_example_of_the_corrected_t_test():
    # scikit-learn's gallery, "Statistical comparison of models using grid search": t = 0.750 and
    # one-sided p = 0.227 for the rbf against the linear kernel over 10 x 10 folds.
    X, y = make_moons(noise=0.352, random_state=1, n_samples=100)
    cv = RepeatedStratifiedKFold(n_splits=10, n_repeats=10, random_state=0)
    rbf, linear = (
        cross_val_score(SVC(kernel=kernel, random_state=0), X, y, cv=cv, scoring="roc_auc")
        for kernel in ("rbf", "linear")
    )
    test = corrected_t(rbf, linear, n_train=90, n_test=10)
    assert test.statistic == pytest.approx(0.750, abs=5e-4)
    assert test.p_value / 2 == pytest.approx(0.227, abs=5e-4)


def test_without_overlap_the_corrected_t_is_the_paired_t(rng):
    a, b = rng.normal(size=(2, 12))
    ours = corrected_t(a, b, n_train=1e15, n_test=1)
    scipys = scipy.stats.ttest_rel(a, b)
    assert (ours.statistic, ours.p_value) == pytest.approx((scipys.statistic, scipys.pvalue))
    assert corrected_t(a, b, n_train=2, n_test=1).p_value > ours.p_value


@given(st.integers(0, 100))
def test_anova_of_two_groups_is_the_t_test(seed):
    a, b = np.random.default_rng(seed).normal(size=(2, 6))
    for paired, t_test in ((False, scipy.stats.ttest_ind), (True, scipy.stats.ttest_rel)):
        ours, expected = anova(a, b, paired=paired), t_test(a, b)
        assert ours.statistic == pytest.approx(expected.statistic**2)
        assert ours.p_value == pytest.approx(expected.pvalue)


def test_anova_of_unequal_groups_is_scipys(rng):
    groups = [rng.normal(shift, 1, size=n) for shift, n in ((0, 4), (1, 9), (0.5, 6))]
    ours, scipys = anova(*groups), scipy.stats.f_oneway(*groups)
    assert (ours.statistic, ours.p_value) == pytest.approx((scipys.statistic, scipys.pvalue))
    total = np.var(np.concatenate(groups)) * 19
    within = sum(np.var(group) * len(group) for group in groups)
    assert ours.effect == pytest.approx(1 - within / total)


def test_pairwise_adjusts_by_holm_over_all_pairs(rng):
    groups = {
        name: rng.normal(shift, 1, size=10) for name, shift in zip("abc", (0, 1, 3), strict=True)
    }
    found = pairwise(groups, corrected_t, n_train=9, n_test=1)
    assert list(found) == [("a", "b"), ("a", "c"), ("b", "c")]
    raw = [corrected_t(groups[x], groups[y], n_train=9, n_test=1).p_value for x, y in found]
    np.testing.assert_allclose([test.raw_p_value for test in found.values()], raw)
    np.testing.assert_allclose([test.p_value for test in found.values()], holm(raw))
    assert all("Holm-adjusted over 3" in test.method for test in found.values())


def test_pairwise_defaults_to_the_signed_rank_test_and_raises_the_smallest_p(rng):
    scores = rng.normal(size=(3, 6))
    found = pairwise(dict(zip("abc", scores, strict=True)))
    assert found["a", "b"].raw_p_value == wilcoxon_signed_rank(*scores[:2]).p_value
    assert found["a", "b"].smallest_p == pytest.approx(3 * 2 / 2**6)
    assert "No outcome could be significant at 0.05" in found["a", "b"].describe()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_order_and_only_raises(p_values):
    adjusted, raw = holm(p_values), np.array(p_values)
    assert np.all(adjusted >= raw)
    assert adjusted.max() <= 1
    assert np.all(np.diff(adjusted[np.argsort(raw, kind="stable")]) >= 0)
    assert adjusted.min() == min(1.0, raw.min() * len(raw))


def test_ten_pairs_cannot_go_below_one_in_512():
    test = wilcoxon_signed_rank(np.arange(1, 11), np.zeros(10))
    assert test.p_value == test.smallest_p == 2 / 2**10
    assert test.significant(0.05)
    assert "significant at 0.05" in test.describe(0.05)
    assert "smallest possible p is 0.00195" in test.describe(0.001)


def test_too_few_values_for_any_verdict_are_said_to_be_so():
    test = mann_whitney([1, 2], [3, 4])
    assert test.smallest_p == pytest.approx(1 / 3)
    assert "with n = 2 and 2 the smallest possible p is 0.333" in test.describe()
    assert not test.significant()


def test_descriptions_say_what_was_found_and_what_is_assumed():
    same = wilcoxon_signed_rank([1, -2, 3, -4, 5, -6.5], np.zeros(6)).describe()
    assert "No significant difference at 0.05; that is not proof of equality" in same
    for test in (wilcoxon_signed_rank, mann_whitney, anova):
        described = test(np.arange(9.0), np.arange(9.0) + 5).describe()
        assert "not independent: p then comes out too small" in described
    assert "paired: wilcoxon_signed_rank uses that" in mann_whitney([1], [2]).assumes
    assert "factor 1/3 + 0.25" in corrected_t([1, 2, 3], [3, 1, 1], n_train=4, n_test=1).assumes
    assert "equal correlations" in anova([1, 2], [3, 5], paired=True).assumes
    assert "equal correlations" not in anova([1, 2], [3, 5]).assumes


@pytest.mark.parametrize(
    ("test", "note"),
    [
        (wilcoxon_signed_rank([1, 2], [1, 2]), "All differences are zero"),
        (wilcoxon_signed_rank([1, 2], [1, 2], zeros="split"), "All differences are zero"),
        (mann_whitney([1, 1], [1, 1, 1]), "All values are equal"),
        (mann_whitney([0, 0], [0]), "All values are equal"),
        (corrected_t([0.1, 0.2], [0.1, 0.2], n_train=1, n_test=1), "scores are all equal"),
        (corrected_t([0.3, 0.2], [0.2, 0.1], n_train=1, n_test=1), "No difference varies"),
        (anova([0.1] * 3, [0.1] * 3), "scores are all equal"),
        (anova([0.1] * 3, [0.7] * 3), "No score within a group varies"),
        (anova([0.1, 0.2], [0.3, 0.4], paired=True), "No score within a group varies"),
    ],
)
def test_samples_without_spread_get_a_sentence_not_a_nan(test, note):
    assert note in test.describe()
    assert test.p_value == 1
    assert np.isfinite([test.statistic, test.effect]).all()
    assert not test.significant(0.99)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wilcoxon_signed_rank([1, 2], [1]), "equal lengths; got 2 and 1"),
        (lambda: wilcoxon_signed_rank([], []), "a is empty"),
        (lambda: wilcoxon_signed_rank([1, np.nan], [1, 2]), "a must be finite"),
        (lambda: wilcoxon_signed_rank([1, 2], [1, 2], zeros="keep"), "'drop' or 'split'"),
        (lambda: mann_whitney([1], [np.inf]), "b must be finite"),
        (lambda: mann_whitney([[1]], [1]), "a must be one-dimensional"),
        (lambda: mann_whitney([1], []), "b is empty"),
        (lambda: corrected_t([1], [2], n_train=1, n_test=1), "at least two folds; got 1"),
        (lambda: corrected_t([1, 2], [2, 1], n_train=0, n_test=1), "must be positive; got 0"),
        (lambda: corrected_t([1, 2], [1], n_train=1, n_test=1), "equal lengths"),
        (lambda: anova([1, 2]), "at least two groups"),
        (lambda: anova([1], [2]), r"more values than groups; got group sizes \[1, 1\]"),
        (lambda: anova([1, 2], [1, np.nan]), "group 2 must be finite"),
        (lambda: anova([1, 2], [1], paired=True), r"groups of one size; got \[2, 1\]"),
        (lambda: pairwise({"a": [1, 2]}), "at least two groups; got 1"),
        (lambda: holm([0.1, 1.2]), "from 0 to 1"),
        (lambda: holm([]), "one or more numbers"),
        (lambda: mann_whitney([1], [2]).describe(0), "alpha must lie between 0 and 1; got 0"),
        (lambda: mann_whitney([1], [2]).significant(1.5), r"alpha .* got 1\.5"),
    ],
)
def test_what_cannot_be_compared_is_refused(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
