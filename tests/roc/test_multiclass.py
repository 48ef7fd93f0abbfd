import itertools

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from parsimon.exceptions import InvalidInputError
from parsimon.roc import auc, multiclass_auc
from parsimon.roc.area import pairwise_auc

SCORES = np.eye(3)


@pytest.fixture
def trees(rng):
    names = np.array(["ash", "elm", "oak", "yew"])
    codes = rng.choice(4, 90, p=[0.1, 0.2, 0.3, 0.4])
    scores = rng.dirichlet(np.ones(4), 90).round(1) + 0.3 * np.eye(4)[codes]
    return names[codes], scores / scores.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("method", ["ovo", "ovr"])
@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_areas_equal_scikit_learn_s(trees, method, average):
    expected = roc_auc_score(*trees, multi_class=method, average=average)
    assert multiclass_auc(*trees, method=method, average=average) == pytest.approx(expected)


def test_the_default_is_hand_and_till_s(trees):
    table = pairwise_auc(*trees)
    pairs = list(itertools.combinations(range(4), 2))
    expected = sum((table[i, j] + table[j, i]) / 2 for i, j in pairs) / len(pairs)
    assert multiclass_auc(*trees) == pytest.approx(expected)
    np.testing.assert_array_equal(np.diag(table), 0.5)
    y, scores = trees
    rows = (y == "elm") | (y == "yew")
    assert table[1, 3] == pytest.approx(auc(y[rows], scores[rows, 1], pos_label="elm"))


def test_columns_may_be_named_in_any_order(trees):
    y, scores = trees
    order = [2, 0, 3, 1]
    labels = np.unique(y)[order]
    named = multiclass_auc(y, scores[:, order], labels=labels)
    assert named == pytest.approx(multiclass_auc(y, scores))
    np.testing.assert_allclose(
        pairwise_auc(y, scores[:, order], labels=labels),
        pairwise_auc(y, scores)[np.ix_(order, order)],
    )


def test_strict_ties_score_less(trees):
    y, scores = trees
    for method in ("ovo", "ovr"):
        tied = scores.round(1)
        strict = multiclass_auc(y, tied, method=method, ties="strict")
        assert strict < multiclass_auc(y, tied, method=method) - 0.01


def test_two_classes_give_the_ordinary_area(binormal):
    y, scores = binormal
    assert multiclass_auc(y, np.column_stack((-scores, scores))) == pytest.approx(auc(y, scores))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: multiclass_auc([0, 1, 2], SCORES, method="all"), "got 'all'"),
        (lambda: multiclass_auc([0, 1, 2], SCORES, average="micro"), "got 'micro'"),
        (lambda: multiclass_auc([0, 1, 1], SCORES), "3 columns for 2 classes"),
        (lambda: multiclass_auc([0, 1, 1], SCORES, labels=[0, 1, 2]), "same classes: 2"),
        (lambda: multiclass_auc([0, np.nan, 1], SCORES), "y_true holds missing labels"),
        (lambda: multiclass_auc([0, 1], SCORES), "for 3 rows of scores"),
        (lambda: multiclass_auc([0, 1, 2], np.full((3, 3), np.nan)), "y_score must be finite"),
    ],
)
def test_unusable_input_is_named(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
