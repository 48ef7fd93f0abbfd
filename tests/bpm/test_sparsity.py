"""Bayes point machines on few rows: which are kept, what the others say, and the front."""

import numpy as np
import pytest
import skops.io
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GroupKFold
from sklearn.svm import SVC

from parsimon.bpm import (
    AlphaRows,
    BayesPointClassifier,
    DivergenceMKL,
    SupportRows,
    gamma_ep,
    sparsity_front,
)
from parsimon.datasets import make_ripley
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Front

X, y = make_ripley(160, random_state=0)
SIGNS = np.where(y == 1, 1.0, -1.0)
DESIGN = np.column_stack([X - X.mean(axis=0), np.ones(len(X))])
PRIOR = np.array([9.0, 9.0, 4.0])


def test_alpha_keeps_the_rows_that_push():
    rule = AlphaRows(threshold=0.01, gamma=0.3)
    kept = rule.kept(DESIGN, SIGNS, PRIOR)
    alpha = gamma_ep(DESIGN, SIGNS, gamma=0.3, prior_variance=PRIOR).alpha
    np.testing.assert_array_equal(kept, alpha > 0.01)
    fewer = AlphaRows(threshold=0.1, gamma=0.3).kept(DESIGN, SIGNS, PRIOR)
    assert 0 < fewer.sum() < kept.sum() < len(X)
    assert (kept | ~fewer).all()


def test_support_rows_are_those_of_the_machine():
    kept = SupportRows(C=2.0).kept(DESIGN, SIGNS, PRIOR)
    machine = SVC(kernel="linear", C=2.0).fit(DESIGN * np.sqrt(PRIOR), SIGNS)
    np.testing.assert_array_equal(np.flatnonzero(kept), np.sort(machine.support_))
    assert SupportRows(nu=0.6).kept(DESIGN, SIGNS, PRIOR).sum() >= 0.6 * len(X)


def test_no_class_is_lost():
    kept = AlphaRows(threshold=1e9).kept(DESIGN, SIGNS, PRIOR)
    assert sorted(SIGNS[kept]) == [-1, 1]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("rule", [AlphaRows(0.01), SupportRows()])
def test_the_noise_of_the_whole_fit_is_kept(kernel, rule):
    whole = BayesPointClassifier(kernel).fit(X, y)
    few = BayesPointClassifier(kernel, sparsify=rule).fit(X, y)
    assert 2 <= len(few.support_) < len(X)
    assert few.noise_sd_ == pytest.approx(whole.noise_sd_)
    assert few.score(X, y) > 0.8


class _These(AlphaRows):
    """Keep rows of these places, whatever their labels."""

    def __init__(self, places):
        object.__setattr__(self, "places", places)

    def kept(self, design, y, variances):
        # The classifier sorts its rows.
        return np.isin(np.lexsort(X.T[::-1]), self.places)


def test_labels_of_other_rows_have_no_say():
    few = BayesPointClassifier(noise_sd=1.0, sparsify=AlphaRows(0.1)).fit(X, y)
    others = np.setdiff1d(np.arange(len(X)), few.support_)
    assert len(others) > 20
    turned = y.copy()
    turned[others] = 1 - y[others]
    again = BayesPointClassifier(noise_sd=1.0, sparsify=_These(few.support_)).fit(X, turned)
    np.testing.assert_allclose(again.coef_, few.coef_, rtol=1e-4)
    np.testing.assert_array_equal(again.support_, few.support_)


def test_left_out_errors_are_of_all_rows():
    few = BayesPointClassifier(sparsify=AlphaRows(0.01)).fit(X, y)
    others = np.setdiff1d(np.arange(len(X)), few.support_)
    wrong = few.predict(X[others]) != y[others]
    # Rows that were not kept have no site to take out.
    assert few.loo_error_ * len(X) >= wrong.sum() - 1e-9


def test_several_classes_keep_what_any_of_them_needs():
    three = np.digitize(X[:, 0], [-0.4, 0.3])
    few = BayesPointClassifier(sparsify="support").fit(X, three)
    assert len(few.support_) < len(X)
    assert few.score(X, three) > 0.8


def test_few_rows_do_on_breast_cancer():
    rows, labels = load_breast_cancer(return_X_y=True)
    train = np.arange(len(rows)) % 3 > 0
    scores = {}
    for sparsify in (None, "alpha", "support"):
        model = BayesPointClassifier(sparsify=sparsify).fit(rows[train], labels[train])
        scores[sparsify] = model.score(rows[~train], labels[~train])
        if sparsify is not None:
            assert len(model.support_) < 0.25 * train.sum()
    assert min(scores["alpha"], scores["support"]) > scores[None] - 0.04


def test_the_front_trades_error_against_rows():
    front = sparsity_front(
        BayesPointClassifier(), X, y, rules=[None, "alpha", AlphaRows(0.1), "support"], cv=3
    )
    assert isinstance(front, Front)
    assert front.names == ("error", "rows")
    assert (np.diff(front.values[:, 0]) >= 0).all()
    for index, member in enumerate(front):
        model = front.solution(index)
        assert len(getattr(model, "support_", X)) == member.objectives["rows"]
    again = skops.io.dumps(front)
    types = skops.io.get_untrusted_types(data=again)
    assert skops.io.loads(again, trusted=types) == front


def test_the_front_is_the_same_for_any_number_of_workers_and_folds_may_be_groups():
    options = {"rules": ["alpha", "support"], "cv": GroupKFold(3), "groups": np.arange(160) % 5}
    fronts = [sparsity_front(BayesPointClassifier(), X, y, n_jobs=n, **options) for n in (1, 2)]
    assert fronts[0] == fronts[1]


def test_a_mixed_kernel_takes_a_bayes_point():
    from sklearn.pipeline import make_pipeline

    machine = make_pipeline(DivergenceMKL(), BayesPointClassifier("precomputed"))
    assert machine.fit(X[:120], y[:120]).score(X[120:], y[120:]) > 0.8
    few = make_pipeline(DivergenceMKL(), BayesPointClassifier("precomputed", sparsify="support"))
    assert few.fit(X[:120], y[:120]).score(X[120:], y[120:]) > 0.75


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sparsify": "few"}, "sparsify must be None"),
        ({"sparsify": AlphaRows(threshold=-1.0)}, "threshold must be"),
        ({"sparsify": AlphaRows(gamma=-1.0)}, "gamma must be"),
        ({"sparsify": SupportRows(C=0.0)}, "C must be"),
        ({"sparsify": "alpha", "inference": "adf"}, "all rows at once"),
    ],
)
def test_options_are_checked(options, words):
    with pytest.raises(InvalidInputError, match=words):
        BayesPointClassifier(**options).fit(X, y)


def test_fronts_are_of_bayes_point_machines():
    with pytest.raises(InvalidInputError, match="BayesPointClassifier, got SVC"):
        sparsity_front(SVC(), X, y)
    with pytest.raises(InvalidInputError, match="no rule"):
        sparsity_front(BayesPointClassifier(), X, y, rules=[])
