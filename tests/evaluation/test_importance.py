"""What a column is worth in company: shuffled by hand, by scikit-learn, and in a report."""

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from parsimon.evaluation import permutation_gain
from parsimon.evaluation.folds import outer_parts
from parsimon.evaluation.importance import shuffled_rises
from parsimon.statistician import analyse

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
LABELS = np.where(2 * X[:, 0] + X[:, 1] + 0.5 * RNG.normal(size=300) > 0, "a", "b")
NUMBERS = 3 * X[:, 0] + X[:, 1] + 0.3 * RNG.normal(size=300)


def test_rises_are_those_of_scikit_learn_on_average():
    model = LinearRegression().fit(X, NUMBERS)

    def losses(rows):
        return (model.predict(rows) - NUMBERS) ** 2

    groups = {"x0": [0], "x1": [1], "x2": [2]}
    ours = shuffled_rises(losses, X, groups, np.random.default_rng(1), 60)
    theirs = permutation_importance(
        model, X, NUMBERS, n_repeats=60, scoring="neg_mean_squared_error", random_state=1
    )
    for place, name in enumerate(groups):
        assert ours[name].mean() == pytest.approx(
            theirs.importances_mean[place], rel=0.05, abs=0.01
        )


def test_a_group_is_shuffled_together():
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 2.0, 3.0, 4.0], "c": 0.0})

    def losses(rows):
        assert (rows["a"] == rows["b"]).all()
        return rows["a"].to_numpy() * 0.0

    shuffled_rises(losses, table, {"both": [0, 1]}, np.random.default_rng(0))
    assert table["a"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("model", "y"), [(LogisticRegression(), LABELS), (LinearRegression(), NUMBERS)]
)
def test_columns_come_by_worth_with_intervals(model, y):
    table = pd.DataFrame(X, columns=["much", "some", "none"])
    found = permutation_gain(model, table, y, random_state=0)
    assert [one.name for one in found] == ["much", "some", "none"]
    assert found[0].gain.low > 0
    assert found[2].gain.low <= 0 <= found[2].gain.high
    again = permutation_gain(model, table, y, random_state=0)
    assert found == again


def test_a_copy_makes_a_column_worth_little_in_company():
    alone = permutation_gain(LinearRegression(), X[:, :1], NUMBERS, random_state=0)
    both = np.column_stack([X[:, 0], X[:, 0] + 0.01 * RNG.normal(size=300)])
    shared = permutation_gain(LinearRegression(), both, NUMBERS, random_state=0)
    assert min(one.gain.estimate for one in shared) < alone[0].gain.estimate


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_report_holds_what_columns_are_worth():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {"dose": rng.normal(size=80), "ward": rng.choice(["a", "b", "c"], 80), "noise": 0.0}
    )
    table["noise"] = rng.normal(size=80)
    shift = 1.5 * (table["ward"] == "a")
    table["state"] = np.where(table["dose"] + shift > 0.5, "ill", "well")
    options = {"depth": 1, "outer": 2, "n_jobs": 1, "families": "gp", "rivals": "linear"}
    found = analyse(table, "state", **options).findings.importance
    assert found[0].name == "dose"
    assert found[0].in_company.low > 0
    assert found[0].alone > 0.1
    # A category is one column, whatever number of variables it has.
    assert {one.name for one in found} <= {"dose", "ward", "noise"}


def test_gains_are_rises_of_refits_to_training_rows():
    found = permutation_gain(LogisticRegression(), X, LABELS, outer=3, n_repeats=2, random_state=4)
    folding, shuffling = np.random.SeedSequence(4).spawn(2)
    rng = np.random.default_rng(shuffling)
    parts = outer_parts(3, X, LABELS, groups=None, classes=True, repeats=1, seed=folding)
    rises = np.zeros((3, 300))
    for part in parts:
        model = LogisticRegression().fit(X[part.train], LABELS[part.train])
        wrong = model.predict(X[part.test]) != LABELS[part.test]
        for column in range(3):
            for _ in range(2):
                mixed = X[part.test].copy()
                mixed[:, column] = mixed[rng.permutation(len(mixed)), column]
                rises[column, part.test] += (model.predict(mixed) != LABELS[part.test]) / 2
            rises[column, part.test] -= wrong
    for one in found:
        assert one.gain.estimate == pytest.approx(rises[int(one.name[1])].mean())


def test_columns_are_worth_nothing_where_labels_are_random():
    labels = np.random.default_rng(1).permutation(300) % 2
    # A tree has learnt all rows by heart, and uses every column for it.
    for one in permutation_gain(DecisionTreeClassifier(random_state=0), X, labels, random_state=0):
        assert one.gain.low <= 0 <= one.gain.high
        assert abs(one.gain.estimate) < 0.1
