import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score

from parsimon.evaluation import BackTest
from parsimon.exceptions import InvalidInputError


def test_no_fold_learns_from_what_comes_later():
    folds = list(BackTest(10).split(np.zeros((163, 2))))
    assert len(folds) == BackTest(10).get_n_splits() == 9
    for train, test in folds:
        assert train.tolist() == list(range(test[0]))
    tested = np.concatenate([test for _, test in folds])
    assert tested.tolist() == list(range(16, 163))


def test_a_gap_is_left_out():
    folds = list(BackTest(4, gap=2).split(range(20)))
    assert [(train[-1], test[0]) for train, test in folds] == [(2, 5), (7, 10), (12, 15)]


def test_scikit_learn_takes_it():
    X = np.arange(40.0)[:, None]
    scores = cross_val_score(LinearRegression(), X, 2 * X[:, 0], cv=BackTest(5))
    np.testing.assert_allclose(scores, 1.0)


@pytest.mark.parametrize(("options", "rows"), [((10, 0), 5), ((2, 3), 6), ((1, 0), 9)])
def test_too_few_rows_or_parts_are_refused(options, rows):
    with pytest.raises(InvalidInputError, match=r"fewer parts|n_parts"):
        list(BackTest(options[0], gap=options[1]).split(range(rows)))
