"""Fronts of features as findings, from searches that are made up."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from parsimon.features import parse
from parsimon.statistician import feature_front as fronts
from parsimon.statistician.families.family import Question


def asked(values, task="regression"):
    table = pd.DataFrame({"x": np.arange(len(values)) * 1.0})
    return Question(
        table=table,
        X=table,
        y=np.asarray(values, dtype=float),
        values=np.asarray(values, dtype=float),
        task=task,
        target="height",
        rows=np.arange(1, len(values) + 1),
        seed=np.random.SeedSequence(0),
    )


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_front_of_columns_has_the_best_of_each_number(task):
    frame = pd.DataFrame(
        {
            "error": [0.4, 0.3, 0.2, 0.25],
            "standard_error": [0.04, 0.03, 0.02, 0.01],
            "holdout_error": [0.5, 0.35, 0.3, 0.1],
        }
    )
    sets = [[2], [0, 2], [0, 1, 2], [0, 1]]
    search = SimpleNamespace(
        to_frame=lambda: frame,
        front_=SimpleNamespace(solution=sets.__getitem__),
        best_index_=1,
        task_=task,
        constant_error_=0.5,
        exact_=True,
        n_evaluations_=7,
        errors_=SimpleNamespace(y=np.zeros(9)),
        rank_breaks_=[(1, 2)],
    )
    found = fronts.column_front(search, ["a", "b", "c"])
    assert found.kind == "columns"
    assert found.measure == ("error" if task == "classification" else "typical miss")
    assert [one.size for one in found.sizes] == [1, 2, 3]
    # Of two solutions of one number the first counts.
    assert [one.features for one in found.sizes] == [("c",), ("a", "c"), ("a", "b", "c")]
    assert [one.words for one in found.sizes] == ["c", "a, c", "a, b, c"]
    assert [one.error for one in found.sizes] == [0.4, 0.3, 0.2]
    assert [one.outside for one in found.sizes] == [0.5, 0.35, 0.3]
    assert [one.standard_error for one in found.sizes] == [0.04, 0.03, 0.02]
    assert [one.chosen for one in found.sizes] == [False, True, False]
    assert (found.guessing, found.exact, found.n_tried) == (0.5, True, 7)
    assert (found.n_rows, found.n_columns, found.breaks) == (9, 3, ((1, 2),))
    del frame["holdout_error"]
    assert math.isnan(fronts.column_front(search, ["a", "b", "c"]).sizes[0].outside)


def formulas(n=16, *, task="regression"):
    """Return a search whose k-th formula has k signs and an error of 2^-k, but for the third."""
    errors = 0.5 ** np.arange(n)
    errors[3] = 0.9
    frame = pd.DataFrame(
        {
            "complexity": np.arange(1.0, n + 1),
            "n_features": 1 + np.arange(n) // 8,
            "search_error": errors,
            "holdout_error": errors * 2,
            "relative_error": errors / 5,
            "unbounded": np.arange(n) % 2,
        }
    )
    model = SimpleNamespace(features=(parse("x^2"),), classes=("a", "b", "c"))
    return SimpleNamespace(
        to_frame=lambda: frame,
        front_=SimpleNamespace(solution=lambda _: model),
        best_index_=9,
        n_rows_=8,
        task_=task,
        n_evaluations_=40,
        n_features_in_=2,
        n_holdout_=5,
    )


def test_the_front_of_formulas_shows_those_that_buy_most_and_the_chosen_one():
    found = fronts.formula_front(formulas(), asked(np.arange(8.0)), ())
    sizes = [one.size for one in found.sizes]
    assert len(sizes) == 12
    # The fourth is worse than a shorter one; both ends stay.
    assert 4 not in sizes
    assert sizes == sorted(sizes)
    assert {1, 10, 16} <= set(sizes)
    assert [one.size for one in found.sizes if one.chosen] == [10]
    assert found.guessing == pytest.approx(10.0)
    assert found.measure == "typical miss"
    assert (found.n_tried, found.n_rows, found.n_columns) == (40, 8, 2)
    first = found.sizes[0]
    assert (first.error, first.outside, first.unbounded) == (1.0, 2.0, 0)
    assert math.isnan(first.standard_error)
    assert first.features == ("x^2",)
    short = fronts.formula_front(formulas(), asked(np.arange(8.0)), (), most=1)
    assert max(one.size for one in short.sizes) == 10
    assert {one.size for one in short.sizes} == {1, 2, 3, 5, 6, 7, 8, 10}


def test_without_rows_held_out_there_is_no_error_outside():
    search = formulas(task="classification")
    search.n_holdout_ = 0
    found = fronts.formula_front(search, asked(np.tile([0, 1], 4), "classification"), ("no", "yes"))
    assert found.measure == "log loss"
    assert all(math.isnan(one.outside) for one in found.sizes)
    assert found.gives == "the log odds of yes"


def test_what_a_formula_gives_is_said():
    classes = asked(np.arange(3), "classification")
    assert fronts._name_outcome(asked(np.arange(3.0)), ()) == "height"
    assert fronts._name_outcome(classes, ("a", "b")) == "the log odds of b"
    assert fronts._name_outcome(classes, ("a", "b", "c")).endswith("each class against the others")


def test_the_formula_that_is_least_better_than_the_one_before_goes_first():
    frame = pd.DataFrame({"search_error": [1.0, 0.5, 0.45, 0.2, 0.19]})
    # The last is an end, though it gains least.
    assert fronts._least_gain(frame, [0, 1, 2, 3, 4]) == 2
    assert fronts._least_gain(frame, [0, 1, 3, 4]) == 1


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_the_target_is_drawn_against_each_feature_that_is_finite(monkeypatch, n_classes):
    drawn = []
    monkeypatch.setattr(
        "parsimon.report.figures.feature_response",
        lambda *given, share: drawn.append((given, share)),
    )
    monkeypatch.setattr(fronts, "picture_of", lambda *given: given)
    y = np.arange(9.0) if not n_classes else np.arange(9) % n_classes
    values = np.column_stack([(y == 1) * 1.0, np.arange(9.0), np.full(9, np.inf)])
    front = SimpleNamespace(chosen=SimpleNamespace(features=("f", "g", "h")))
    question = asked(y, "classification" if n_classes else "regression")
    found = fronts.feature_pictures(front, values, question, ["a", "b", "c"][:n_classes])
    # Of several classes the one that the first feature tells best; of two the second.
    target = "b" if n_classes else "height"
    assert [(one[0], one[2]) for one in found] == [
        ("feature-1", f"{target} by f"),
        ("feature-2", f"{target} by g"),
    ]
    for place, ((own, told, name, called), share) in enumerate(drawn):
        np.testing.assert_array_equal(own, values[:, place])
        np.testing.assert_array_equal(told, (y == 1) if n_classes else y)
        assert (name, called, share) == ("fg"[place], target, bool(n_classes))
    nothing = SimpleNamespace(chosen=SimpleNamespace(features=()))
    assert fronts.feature_pictures(nothing, values, question, []) == ()
