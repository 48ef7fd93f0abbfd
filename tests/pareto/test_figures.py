"""Rules that look at more than the objectives, and never end at a constant prediction unsaid."""

import numpy as np
import pytest

from parsimon.exceptions import EmptyFrontError, InvalidInputError
from parsimon.pareto import Front
from parsimon.pareto.choose import Figures, choose

# Rates of five classifiers: both constant ones, a poor one, a small and a large good one.
RATES = [[1.0, 1.0, 0], [0.97, 0.2, 9], [0.85, 0.1, 2], [0.3, 0.05, 1], [0.0, 0.0, 0]]


@pytest.fixture
def front():
    return Front(RATES, ["tpr", "fpr", "size"], maximise=["tpr"])


@pytest.fixture
def figures(front):
    tpr, fpr = front.values.T[:2]
    error = 0.5 * (1 - tpr) + 0.5 * fpr
    return Figures(
        columns={"error": error, "accuracy": 1 - error},
        maximise=("accuracy",),
        error="error",
        size=("size",),
        knee=("error", "size"),
        n_rows=100,
        beats_constant=tpr > fpr,
        constant="always predicting one class",
    )


@pytest.mark.parametrize(
    ("rule", "index"),
    [
        ("error", 1),
        ("accuracy", 1),
        ("best:error", 1),
        ("one_se", 2),
        ("one_se:0", 1),
        ("knee", 2),
        ("best:fpr", 3),
        ("best:tpr where fpr<=0.1", 2),
        ("accuracy where size<=1", 3),
        ("accuracy where accuracy>=0.6 and size<=2", 2),
        ("cheapest:cost_fp=1,cost_fn=1 where size<9", 2),
        (0, 0),
        ("4", 4),
    ],
)
def test_rules_see_all_columns(front, figures, rule, index):
    assert choose(front, rule, figures) == index


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("accuracy where size<=0", "that meets the conditions beats always predicting one class"),
        ("best:tpr where fpr>=0.9", "beats always predicting one class"),
        ("accuracy where size>100", "No solution is left"),
        ("cheapest:cost_fp=1000,cost_fn=1", "always predicting one class is cheaper"),
    ],
)
def test_a_constant_prediction_is_never_chosen_silently(front, figures, rule, message):
    with pytest.raises(EmptyFrontError, match=message):
        choose(front, rule, figures)


def test_a_front_of_constants_says_so(front, figures):
    constant = Figures(figures.columns, beats_constant=np.zeros(5, dtype=bool))
    with pytest.raises(EmptyFrontError, match="No solution beats a constant prediction"):
        choose(front, "knee", constant)


def test_constant_predictions_are_the_end_from_which_a_knee_is_measured():
    # Falling fast to size 2, slowly after: without size 0 the chord would begin at size 2.
    front = Front([[0.5, 0], [0.1, 2], [0.06, 4], [0.05, 10]], ["error", "size"])
    size = front.values[:, 1]
    figures = Figures(knee=("error", "size"), beats_constant=size > 0)
    assert size[choose(front, "knee", figures)] == 2
    assert size[choose(front, "knee where size>0", figures)] == 4


def test_rules_may_judge_a_column_with_more_care_than_tables_show():
    front = Front([[1, 2], [2, 1]], ["a", "b"])
    shown = {"accuracy": np.array([0.9, 0.8])}
    cautious = {"accuracy": np.array([0.7, 0.8])}
    better = ("accuracy",)
    assert choose(front, "accuracy", Figures(shown, maximise=better)) == 0
    assert choose(front, "accuracy", Figures(shown, maximise=better, judged=cautious)) == 1


def test_ties_of_a_column_go_to_the_smallest():
    front = Front([[1, 3, 9], [2, 2, 1], [3, 1, 4]], ["a", "b", "size"])
    figures = Figures({"error": np.array([0.1, 0.3 - 0.2, 0.2])}, size=("size",))
    assert choose(front, "error", figures) == 1


@pytest.mark.parametrize(("spread", "index"), [(0.01, 0), (0.05, 1), (0.2, 2)])
def test_one_se_takes_the_standard_error_of_the_figures(spread, index):
    front = Front([[1.10, 3], [1.14, 2], [1.29, 1]], ["error", "size"])
    columns = {"spread": np.array([spread, 9.0, 9.0])}
    figures = Figures(columns, error="error", size=("size",), standard_error="spread")
    assert choose(front, "one_se", figures) == index


@pytest.mark.parametrize(
    "known",
    [
        {"size": ("size",)},
        {"size": ("size",), "standard_error": "spread"},
        {"n_rows": 50.0},
    ],
)
def test_one_se_says_what_it_lacks(known):
    front = Front([[0.10, 3], [0.14, 2]], ["error", "size"])
    figures = Figures({"spread": np.array([np.nan, np.nan])}, error="error", **known)
    with pytest.raises(InvalidInputError, match="one_se needs the standard error of the least"):
        choose(front, "one_se", figures)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("one_se", "one_se needs to know the error"),
        ("holdout_error", "no rule 'holdout_error'; .* or a column \\(tpr, fpr, size\\)"),
        ("knee where auc<=1", "no column 'auc'"),
        ("knee where fpr=1", "looks like size<=0.05"),
    ],
)
def test_what_is_not_there_gets_one_sentence(front, rule, message):
    with pytest.raises(InvalidInputError, match=message):
        choose(front, rule)
