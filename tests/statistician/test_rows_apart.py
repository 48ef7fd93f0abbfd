"""Rows that are taken apart, chosen by hand from answers that are made up."""

import numpy as np
import pandas as pd
import pytest

from parsimon.report.findings import Interval, Joint
from parsimon.statistician.contributions import Contributions
from parsimon.statistician.explained_rows import _bars, _classes_apart, joint_rows, taken_apart
from parsimon.statistician.families.family import OwnPredictions, Question
from parsimon.statistician.outer_folds import FoldResult


def asked(y, task):
    n = len(y)
    table = pd.DataFrame({"a": np.arange(n) * 1.0, "site": ["north", "south"] * (n // 2)})
    return Question(
        table=table,
        X=table,
        y=np.asarray(y, dtype=float),
        values=np.asarray(y, dtype=float),
        task=task,
        target="y",
        positive="ill",
        negative="well",
        rows=np.arange(101, 101 + n),
        seed=np.random.SeedSequence(0),
    )


class Model:
    """Says of row k what is in the k-th place, and that column "a" adds its own value."""

    def __init__(self, answers, classes=()):
        self.answers, self.classes = np.asarray(answers, dtype=float), classes

    def predict(self, rows):
        assert len(rows), "a model that is fitted refuses no rows at all"
        return self.answers[rows["a"].astype(int)]

    def predict_proba(self, rows):
        assert len(rows), "a model that is fitted refuses no rows at all"
        own = self.answers[rows["a"].astype(int)]
        return own if own.ndim > 1 else np.column_stack([1 - own, own])

    def contributions(self, rows):
        values = np.column_stack([rows["a"] / 10, np.where(rows["site"] == "north", -2.0, 0.01)])
        towards = None
        if len(self.classes):
            towards = np.array(self.classes)[self.predict_proba(rows).argmax(axis=1)]
        return Contributions(
            columns=("a", "site"),
            values=values,
            base=np.full(len(rows), 7.0),
            towards=towards,
            typical=(),
            exact=True,
        )


def own(value, deviation=0.0):
    value = np.asarray(value, dtype=float)
    reach = np.full(len(value), deviation)
    return OwnPredictions(value=value, deviation=reach, source="leave-one-out")


def test_rows_of_a_number_are_the_usual_the_highest_and_the_most_surprising():
    y = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    value = np.array([1.1, 2.1, 3.3, 4.0, 5.2, 1.0])
    found = taken_apart(Model(value), asked(y, "regression"), own(value, deviation=1.0))
    # Of the half that is missed least the second is nearest to the median, 2.7.
    assert [(one.row, one.role) for one in found] == [
        (102, "typical"),
        (105, "highest"),
        (106, "surprising"),
    ]
    first = found[0]
    assert (first.label, first.probability, first.level) == ("2", 2.1, 7.0)
    assert first.compared_with == "typical"
    assert first.called == ""
    # The part that says most comes first, with the cell as the table has it.
    assert [(part.values, part.contribution) for part in found[2].parts] == [
        ((("a", "5"),), 0.5),
        ((("site", "south"),), 0.01),
    ]
    assert found[1].parts[0].values == (("site", "north"),)


def test_a_row_of_which_the_model_says_otherwise_once_it_has_seen_it_is_not_shown():
    y = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    value = np.array([1.1, 2.1, 3.3, 4.0, 5.2, 1.0])
    seen = value.copy()
    # A tenth of four standard deviations is allowed.
    seen[[4, 5]] += [0.39, 0.41]
    found = taken_apart(Model(seen), asked(y, "regression"), own(value, deviation=1.0))
    assert [(one.row, one.role) for one in found][1:] == [(105, "highest")]


def test_rows_of_two_classes_are_typical_borderline_and_surprising():
    y = np.array([1, 1, 1, 0, 0, 0])
    value = np.array([0.9, 0.7, 0.8, 0.48, 0.1, 0.95])
    found = taken_apart(Model(value, ("well", "ill")), asked(y, "classification"), own(value))
    assert [(one.row, one.role, one.label) for one in found] == [
        (103, "typical", "ill"),
        (104, "borderline", "well"),
        (106, "surprising", "well"),
    ]
    assert [one.probability for one in found] == [0.8, 0.48, 0.95]


def test_where_no_row_is_near_the_border_none_is_called_so():
    y, value = np.array([1, 1, 0, 0]), np.array([0.95, 0.9, 0.05, 0.1])
    found = taken_apart(Model(value, ("well", "ill")), asked(y, "classification"), own(value))
    assert "borderline" not in {one.role for one in found}
    away = Model(1 - value, ("well", "ill"))
    assert taken_apart(away, asked(y, "classification"), own(value)) == ()


def roles(found):
    return {one.role: one.row for one in found}


def test_a_row_that_is_predicted_well_is_never_called_surprising():
    y, value = np.array([1, 1, 0, 0]), np.array([0.95, 0.9, 0.05, 0.1])
    question = asked(y, "classification")
    assert "surprising" not in roles(
        taken_apart(Model(value, ("well", "ill")), question, own(value))
    )
    # By a fit that has not seen it the second is wrong, by the model that is saved it is right.
    unseen = value - [0, 0.45, 0, 0]
    seen = np.where(unseen == unseen[1], 0.52, value)
    found = taken_apart(Model(seen, ("well", "ill")), question, own(unseen))
    assert "surprising" not in roles(found)
    number = own(y + 1.9, deviation=1.0)
    found = taken_apart(Model(y + 1.9), asked(y, "regression"), number)
    assert "surprising" not in roles(found)
    found = taken_apart(Model(y + 2.1), asked(y, "regression"), own(y + 2.1, deviation=1.0))
    assert "surprising" in roles(found)
    codes = SHARES.argmax(axis=1)
    found = _classes_apart(Model(SHARES, ("a", "b", "c")), asked(codes, "classification"), SHARES)
    assert "surprising" not in roles(found)


def test_a_class_is_called_from_one_half_on_and_suspected_from_its_share_on_if_it_is_rare():
    y = np.array([1, 1, 0, 0, 0, 0])
    value = np.array([0.7, 0.36, 0.47, 0.1, 0.34, 0.1])
    found = roles(
        taken_apart(Model(value, ("well", "ill")), asked(y, "classification"), own(value))
    )
    assert found == {"typical": 101, "borderline": 103, "surprising": 102}
    y = np.repeat([1, 0], [1, 9])
    value = np.array([0.3, 0.11, *np.linspace(0.01, 0.06, 8)])
    found = roles(
        taken_apart(Model(value, ("well", "ill")), asked(y, "classification"), own(value))
    )
    assert found == {"typical": 101, "surprising": 102}


SHARES = np.array(
    [
        [0.80, 0.10, 0.10],
        [0.10, 0.75, 0.15],
        [0.45, 0.43, 0.12],
        [0.05, 0.05, 0.90],
        [0.90, 0.08, 0.02],
        [0.20, 0.20, 0.60],
    ]
)


def test_rows_of_several_classes_speak_for_the_class_that_they_are_called():
    codes = np.array([0, 1, 1, 2, 1, 2])
    model = Model(SHARES, ("a", "b", "c"))
    found = _classes_apart(model, asked(codes, "classification"), SHARES)
    # Of those called right the greatest shares are 0.8, 0.75, 0.9 and 0.6.
    assert [(one.row, one.role, one.label, one.called) for one in found] == [
        (101, "typical", "a", "a"),
        (103, "borderline", "b", "a"),
        (105, "surprising", "b", "a"),
    ]
    assert [one.probability for one in found] == [0.8, 0.45, 0.9]


def test_rows_of_folds_that_failed_are_not_taken_apart():
    codes = np.array([0, 1, 1, 2, 1, 2])
    question, model = asked(codes, "classification"), Model(SHARES, ("a", "b", "c"))
    test = np.array([0, 1, 3])
    folds = [
        FoldResult(
            fold=0,
            question=place,
            train=np.array([2, 4, 5]),
            test=test,
            prediction=SHARES[test, place],
            baseline=0.3,
        )
        for place in range(3)
    ]
    nothing = Interval(estimate=0.0, low=0.0, high=0.0)
    joint = Joint(
        classes=("a", "b", "c"),
        error=nothing,
        baseline_error=nothing,
        confusion=(),
        source="outer folds",
    )
    found, pictures = joint_rows(joint, model, question, folds)
    assert {one.row for one in found.explained} <= {101, 102, 104}
    assert [one.picture for one in found.explained] == [one.name for one in pictures]
    assert joint_rows(None, model, question, folds) == (None, ())


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_bars_go_from_the_typical_row_to_what_a_row_has_in_all(task):
    y, value = np.array([1.0, 0.0] * 3), np.array([0.9, 0.1] * 3)
    classes = () if task == "regression" else ("well", "ill")
    question = asked(y, task)
    (first, *_) = taken_apart(Model(value, classes), question, own(value, 1.0))
    bars = _bars(question, first)
    inner = bars if task == "regression" else bars[1:-1]
    assert [bar.value for bar in inner] == [part.contribution for part in first.parts]
    if task == "classification":
        assert (bars[0].name, bars[0].value) == ("typical row", 7.0)
        assert bars[-1].value == pytest.approx(7.0 + sum(bar.value for bar in inner))
        assert bars[0].plain
        assert bars[-1].plain
