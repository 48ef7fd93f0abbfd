"""A function of one to three columns: curves, points, contours, panels."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.special import expit

from parsimon.report.figures import ClassRows, NumberRows
from parsimon.report.figures.svg_text import caption
from parsimon.statistician.gallery import draw_function


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def columns(names):
    """Columns of random numbers, those in capitals of two values."""
    rng = np.random.default_rng(0)
    return np.column_stack(
        [rng.integers(0, 2, 60) if name.isupper() else rng.normal(size=60) for name in names]
    )


def numbers(names):
    X = columns(names)
    return NumberRows(X, X.sum(axis=1), names=list(names), target="height")


def classes(names):
    X = columns(names)
    return ClassRows(X, X[:, 0] > 0.2, names=list(names), class_names=["no", "yes"])


def total(X):
    return X.sum(axis=1), 0.01 + 0 * X[:, 0]


def product(X):
    return X.prod(axis=1), 0.01 + 0 * X[:, 0]


def test_log_odds_become_probabilities():
    [line] = [
        one for one in draw_function(total, classes("a")).lines if len(one.get_xdata()) == 128
    ]
    np.testing.assert_allclose(line.get_ydata(), expit(line.get_xdata()))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("a", "Predicted height along a. Line"),
        ("A", "Predicted height at both values of A"),
        ("ab", "Predicted mean of height over a and b"),
        ("Ab", "Predicted height along b, for each value of A. Line"),
        ("AB", "Predicted height for each value of A, for each value of B. Points"),
    ],
)
def test_a_number_is_drawn_in_the_way_that_reads_best(names, said):
    assert caption(draw_function(total, numbers(names))).startswith(said)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("a", "Probability of yes along a."),
        ("A", "Probability of yes at both values of A."),
        ("ab", "Probability of yes over a and b."),
        ("Ab", "Probability of yes along b, for each value of A."),
        ("AB", "Probability of yes for each value of A, for each value of B."),
    ],
)
def test_classes_are_drawn_in_the_way_that_reads_best(names, said):
    assert caption(draw_function(total, classes(names))).startswith(said)


@pytest.mark.parametrize("rows", [numbers, classes])
def test_of_three_columns_two_are_drawn_at_two_values_of_the_third(rows):
    table = rows("abC")
    left, right = draw_function(product, table)
    assert [ax.get_title(loc="left") for ax in (left, right)] == ["C = 0", "C = 1"]
    assert caption(np.array([left, right])).endswith("Left: C = 0; right: 1.")
    assert "What is not drawn" not in caption(np.array([left, right]))


def test_a_third_number_is_held_at_its_quartiles():
    table = numbers("abc")
    low, high = np.quantile(table.points.X[:, 2], [0.25, 0.75])
    panels = draw_function(product, table)
    shown = [float(ax.get_title(loc="left").split("=")[1].replace("−", "-")) for ax in panels]
    np.testing.assert_allclose(shown, [low, high], rtol=1e-3)
