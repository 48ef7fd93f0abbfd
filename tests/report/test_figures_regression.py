import matplotlib.pyplot as plt
import numpy as np
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.report.figures import NumberRows, error_steps, regression_1d, regression_2d, svg
from parsimon.report.figures.numeric import predicted_observed
from parsimon.report.figures.search_figures import Step
from parsimon.report.figures.svg_text import caption


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def table(n_rows=60, **options):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(n_rows, 2)), rng.integers(0, 2, n_rows)])
    names = ["age", "dose", "smoker"]
    return NumberRows(X, 3 * X[:, 0] + X[:, 2], names=names, target="effect", **options)


def function(X):
    return 3 * X[:, 0] + X[:, 2], 0.04 + 0 * X[:, 0]


def test_the_line_is_the_mean_and_the_band_two_deviations():
    rows = table()
    ax = regression_1d(function, rows, column="age", n_grid=11, hold=[0.0, 0.0, 1.0])
    line = ax.lines[-1]
    np.testing.assert_allclose(line.get_ydata(), 3 * line.get_xdata() + 1)
    band = ax.collections[0].get_paths()[0].vertices
    top = band[:, 1].max()
    assert top == pytest.approx(line.get_ydata().max() + 0.4)
    np.testing.assert_allclose(np.sort(ax.lines[0].get_ydata()), np.sort(rows.y))
    assert ax.get_ylabel() == "effect"
    assert "is as in this row: age = 0, dose = 0, smoker = 1" in caption(ax)


def test_two_values_give_points_and_a_second_column_gives_curves():
    rows = table()
    dots = regression_1d(function, rows, column="smoker", hold=[1.0, 0.0, 0.0])
    np.testing.assert_allclose(dots.containers[0][0].get_ydata(), [3.0, 4.0])
    # Each row stands by its own value.
    at = np.round(dots.lines[0].get_xdata())
    assert np.sum(at == 1) == np.sum(rows.points.X[:, 2] == 1)
    curves = regression_1d(function, rows, column="age", by="smoker", n_grid=5)
    np.testing.assert_allclose(curves.lines[2].get_ydata() - curves.lines[1].get_ydata(), 1.0)
    with pytest.raises(InvalidInputError, match="'dose' of `by` does not have two"):
        regression_1d(function, rows, column="age", by="dose")


def test_contours_cover_two_columns_and_a_constant_is_allowed():
    ax = regression_2d(function, table(), columns=["age", "dose"], n_grid=9, title="a $b$")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "dose")
    assert ax.get_title(loc="left") == r"a \$b\$"
    flat = regression_2d(
        lambda X: (np.ones(len(X)), np.zeros(len(X))), table(), columns=[0, 1], n_grid=5
    )
    assert svg(flat.figure).startswith("<svg")


def test_of_many_rows_a_sample_is_drawn_and_said():
    rows = table(500, most_marks=100)
    ax = regression_1d(function, rows, column="age")
    assert len(ax.lines[0].get_xdata()) == 100
    assert "100 of 500 rows are drawn" in caption(ax)


def test_rows_far_off_are_filled_and_counted():
    rng = np.random.default_rng(1)
    predicted, noise = rng.normal(size=200), rng.normal(size=200)
    ax = predicted_observed(
        predicted + noise, predicted, deviation=np.ones(200), target="effect", most_marks=50
    )
    off = int(np.sum(np.abs(noise) > 2))
    assert f"{off} of 200 rows" in caption(ax)
    assert sum(len(line.get_xdata()) for line in ax.lines[1:]) == 50
    assert "without each row" in caption(ax)
    seen = predicted_observed([1.0, 2.0], [1.0, 2.0], left_out=False)
    assert "has seen the rows" in caption(seen)
    assert "Filled" not in caption(seen)
    with pytest.raises(InvalidInputError, match="same rows, got 2 and 3"):
        predicted_observed([1.0, 2.0], [1.0, 2.0, 3.0])


STEPS = [Step("a constant", 0, 0.34, 0.02), Step("age alone", 1, 0.25), Step("x" * 300, 2, 0.2)]


def test_steps_say_error_words_and_choice():
    ax = error_steps(STEPS, knee=1, chosen=2, unit="share of rows")
    assert [text.get_text() for text in ax.texts] == ["34.0 %", "25.0 %", "20.0 %, drawn here"]
    assert "own folds, share of rows" in ax.get_xlabel()
    longest = [line for text in ax.get_yticklabels() for line in text.get_text().split("\n")]
    assert max(map(len, longest)) <= 36
    bars = ax.containers[0][2][0].get_paths()[0].vertices[:, 0]
    np.testing.assert_allclose(bars, [0.32, 0.36])
    assert "Ring" not in caption(error_steps(STEPS, chosen=0))


def test_steps_of_a_number_say_what_is_explained():
    ax = error_steps(STEPS, chosen=2, unit="share of the variance", explained=True)
    assert [text.get_text() for text in ax.texts] == ["66.0 %", "75.0 %", "80.0 %, drawn here"]
    assert ax.get_xlabel().startswith("explained in the search's own folds")
    assert caption(ax).startswith("What the best model of each size explains;")


def test_steps_without_an_error_are_refused():
    with pytest.raises(InvalidInputError, match="no model with an error"):
        error_steps([Step("a", 0, float("nan"))])
    with pytest.raises(InvalidInputError, match="no model 3; there are 3"):
        error_steps(STEPS, chosen=3)
