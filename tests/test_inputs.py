"""What no estimator can use is refused at every door alike, in one sentence of our own."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from parsimon.exceptions import InvalidInputError
from parsimon.statistician import analyse
from tests.estimators import CASES, NEW, NUMBER, OF_A_TREE, TREE, TWO, X, rows_for


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


SEARCHES = ["ParetoRVC", "ParetoSVC", "ParetoTransductiveSVC"]


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("kneee", "There is no rule 'kneee'; the rules are knee, best"),
        ("best:acuracy", "There is no column 'acuracy'"),
        ("knee where siz<=3", "There is no column 'siz'"),
        ("knee:elbow", "method must be"),
        ("nearest:siz=3", "siz"),
    ],
)
def test_a_mistyped_rule_is_refused_before_the_search(name, rule, said, tmp_path):
    estimator, y = CASES[name]
    search = clone(estimator).set_params(choose=rule, checkpoint=tmp_path / "search.npz")
    with pytest.raises(InvalidInputError, match=said):
        search.fit(X, y)
    assert not list(tmp_path.iterdir()), "the search has begun"


def test_a_rule_that_needs_rows_held_out_is_refused_before_the_search():
    search = clone(CASES["ParetoSVC"][0])
    search.set_params(choose="one_se", validation_fraction=0, max_iter=10**9)
    with pytest.raises(InvalidInputError, match="No rows were held out"):
        search.fit(X, TWO)


@pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning")
@pytest.mark.parametrize("name", SEARCHES)
def test_every_column_of_a_front_is_a_rule(name):
    estimator, y = CASES[name]
    search = clone(estimator).fit(X, y)
    for column in search.to_frame().columns:
        again = clone(estimator).set_params(choose=f"best:{column} where {column}>=-1e9")
        assert len(again.fit(X, y).front_) == len(search.front_)


def _spread_out(rows):
    """Return rows as every second cell of a larger table, backwards, in another order of bytes."""
    larger = np.zeros((2 * len(rows), 2 * rows.shape[1]), dtype=">f8")
    larger[::2, ::2] = rows[::-1]
    return larger[::2, ::2][::-1]


NAMES = ["x0", "x1", "x2"]
FORMS = {
    "Fortran's order": np.asfortranarray,
    "a view": _spread_out,
    "a data frame": lambda rows: pd.DataFrame(dict(zip(NAMES, rows.T, strict=True))),
    "a frame of polars": lambda rows: pl.DataFrame(dict(zip(NAMES, rows.T, strict=True))),
}
# These take seconds, or a frame of tips, and read rows by the same function as the others.
SLOW = {
    *("ParetoRVC", "RVC", "RVR", "ABCClassifier"),
    *(name for name in CASES if name.endswith("of a number")),
    *(name for name, (model, _) in CASES.items() if isinstance(model, OF_A_TREE)),
}


def _answers(model, rows):
    names = ("predict", "predict_proba", "decision_function", "transform", "score_samples")
    return [np.asarray(getattr(model, name)(rows)) for name in names if hasattr(model, name)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [name for name in CASES if name not in SLOW])
def test_no_bit_depends_on_how_a_table_lies_in_memory(name):
    estimator, y = CASES[name]
    plain = clone(estimator).fit(X, y)
    wanted = _answers(plain, NEW)
    for called, form in FORMS.items():
        model = clone(estimator).fit(form(X), y)
        for ours, theirs in zip(wanted, _answers(model, form(NEW)), strict=True):
            np.testing.assert_array_equal(theirs, ours, err_msg=called)


WEIGHTED = [name for name, (model, _) in CASES.items() if has_fit_parameter(model, "sample_weight")]


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("extreme", [1e300, 1.7e308, 1e10, 1e-300, 5e-324])
@pytest.mark.parametrize("n_rows", [1, len(X)])
def test_weights_beyond_all_counts_are_refused(name, extreme, n_rows):
    estimator, y = CASES[name]
    weights = np.ones(len(X))
    weights[:n_rows] = extreme
    with pytest.raises(InvalidInputError, match=r"how many times a row counts, and .* is beyond"):
        clone(estimator).fit(X, y, sample_weight=weights)


WITH_CLASS_WEIGHTS = [name for name, (one, _) in CASES.items() if hasattr(one, "class_weight")]


@pytest.mark.parametrize("name", WITH_CLASS_WEIGHTS)
@pytest.mark.parametrize("weight", [1e300, np.nan, -1.0, np.inf, "many", None])
def test_class_weights_that_are_no_counts_are_refused(name, weight):
    estimator, y = CASES[name]
    search = clone(estimator).set_params(class_weight={np.unique(y)[-1].item(): weight})
    with pytest.raises(InvalidInputError, match=r"Class weights must be pos|A class weight says"):
        search.fit(X, y)


SEEDED = [name for name, (model, _) in CASES.items() if hasattr(model, "random_state")]


@pytest.mark.parametrize("name", SEEDED)
@pytest.mark.parametrize("seed", [-1, np.int64(-5), 1.5, "one"])
def test_what_is_no_seed_is_refused(name, seed):
    estimator, y = CASES[name]
    search = clone(estimator).set_params(random_state=seed)
    with pytest.raises(InvalidInputError, match=r"^A seed \(random_state\) must be .* got"):
        search.fit(rows_for(estimator, X), y)


@pytest.mark.parametrize("name", [name for name, (_, y) in CASES.items() if y is TWO])
def test_labels_of_two_kinds_are_refused(name):
    mixed = np.array([place if place % 2 else str(place % 4) for place in range(len(X))], object)
    with pytest.raises(InvalidInputError, match=r"y has text and numbers as labels, such as '0'"):
        clone(CASES[name][0]).fit(X, mixed)
