"""What no estimator can use is refused at every door alike, in one sentence of our own."""

import pandas as pd
import pytest
from sklearn.base import clone

from parsimon.exceptions import InvalidInputError
from parsimon.statistician import analyse
from tests.estimators import CASES, TREE, TWO, X


@pytest.mark.parametrize("name", CASES)
def test_repeated_names_of_columns_are_refused(name):
    estimator, y = CASES[name]
    frame = pd.DataFrame(X, columns=["dose", "age", "dose"], index=TREE.tip_names[: len(X)])
    with pytest.raises(InvalidInputError, match=r"^X has 2 columns called 'dose'; rename all"):
        clone(estimator).fit(frame, y)


def test_repeated_names_are_made_different_in_an_analysis():
    frame = pd.DataFrame(X, columns=["dose", "age", "dose"]).assign(outcome=TWO)
    found = analyse(frame, "outcome", fast=True, depth=1, n_jobs=1).findings
    assert len({one.name for one in found.table.variables}) == 3
    with pytest.raises(InvalidInputError, match=r"2 columns called 'outcome'; rename all but one"):
        analyse(frame.set_axis(["dose", "age", "outcome", "outcome"], axis=1), "outcome")
