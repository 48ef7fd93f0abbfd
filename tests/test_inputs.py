"""What no estimator can use is refused at every door alike, in one sentence of our own."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from parsimon.exceptions import InvalidInputError
from parsimon.statistician import analyse
from tests.estimators import CASES, NUMBER, TREE, TWO, X, rows_for


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


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("scale", "said"),
    [
        (
            1e300,
            r"^Column '?1'? of X reaches [\d.e+]*300, which is too large to be squared; give it",
        ),
        (1e-300, r"^Column '?1'? of X varies by only [\d.e-]*(299|300), which is too little to be"),
    ],
)
def test_inputs_beyond_all_scales_are_refused(name, scale, said):
    estimator, y = CASES[name]
    rows = X.copy()
    rows[:, 1] *= scale
    with pytest.raises(InvalidInputError, match=said):
        clone(estimator).fit(rows_for(estimator, rows), y)


OF_NUMBERS = [name for name, (_, y) in CASES.items() if y is NUMBER]


@pytest.mark.parametrize("name", OF_NUMBERS)
@pytest.mark.parametrize(("scale", "said"), [(1e300, "^y reaches"), (1e-300, "^y varies by only")])
def test_targets_beyond_all_scales_are_refused(name, scale, said):
    estimator, y = CASES[name]
    with pytest.raises(InvalidInputError, match=said):
        clone(estimator).fit(rows_for(estimator, X), scale * y)


# The others were given a kernel of a fixed width or a tube of a fixed width.
WITHOUT_SCALE = [
    *("GPClassifier", "GPRegressor", "KernelSearch", "RVC", "RVR", "EvolutionarySVC", "ParetoSVC"),
    *("PGLS", "PhyRVM"),
]


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("name", WITHOUT_SCALE)
def test_no_answer_depends_on_the_unit_of_the_inputs(name, scale):
    estimator, y = CASES[name]
    plain, rows = rows_for(estimator, X), rows_for(estimator, scale * X)
    ours, theirs = clone(estimator).fit(plain, y), clone(estimator).fit(rows, y)
    if y is NUMBER:
        np.testing.assert_allclose(theirs.predict(rows), ours.predict(plain), rtol=1e-3, atol=1e-3)
    else:
        np.testing.assert_array_equal(theirs.predict(rows), ours.predict(plain))


def test_rows_to_predict_are_refused_where_they_are_too_large():
    model = clone(CASES["GPRegressor"][0]).fit(X, NUMBER)
    with pytest.raises(InvalidInputError, match=r"^Column 0 of X reaches 1e\+200"):
        model.predict([[-1e200, 0.0, 0.0]])
    assert len(model.predict(X[:1] + 1e-200)) == 1


@pytest.mark.parametrize(
    ("column", "scale", "said"),
    [
        ("dose", 1e-300, r"^Column 'dose' of X varies by only"),
        ("outcome", 1e-300, r"^The target 'outcome' varies by only"),
    ],
)
def test_an_analysis_names_the_column_of_such_a_scale(column, scale, said):
    frame = pd.DataFrame(X, columns=["dose", "age", "mass"]).assign(outcome=NUMBER)
    frame[column] *= scale
    with pytest.raises(InvalidInputError, match=said):
        analyse(frame, "outcome", fast=True, depth=1, n_jobs=1)


def test_an_analysis_takes_numbers_beyond_all_scales_for_empty_cells():
    frame = pd.DataFrame(X, columns=["dose", "age", "mass"]).assign(outcome=NUMBER)
    frame["age"] *= 1e300
    found = analyse(frame, "outcome", fast=True, depth=1, n_jobs=1).findings
    assert [(one.kind, one.column) for one in found.table.treatments] == [("column_empty", "age")]
