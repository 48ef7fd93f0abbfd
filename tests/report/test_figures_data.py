import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import binomtest

from parsimon._style import BLUE, GREY, VERMILION
from parsimon.exceptions import InvalidInputError
from parsimon.report.figures import (
    ClassRows,
    calibration_curve,
    data_figure,
    search_tree,
)
from parsimon.report.figures.calibration import calibration_bins
from parsimon.report.figures.search_figures import SearchNode
from parsimon.report.figures.svg_text import caption


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def table(n_rows=60, n_columns=4, *, n_classes=2, seed=0, **options):
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, n_columns)) + np.outer(y, np.arange(n_columns))
    return ClassRows(X, y, **options)


def lines_by_class(ax):
    """Return the collections of lines, in the order of the classes."""
    return [c for c in ax.collections if hasattr(c, "get_segments")]


def test_more_than_three_columns_are_refused():
    with pytest.raises(InvalidInputError, match="up to three columns, got 4"):
        data_figure(table(20, 4))


def test_the_data_figure_fits_the_number_of_columns():
    strips = data_figure(table(n_columns=1, class_names=["well", "ill"]), title="One")
    assert [t.get_text() for t in strips.get_yticklabels()] == ["well\n(30)", "ill\n(30)"]
    for code in (0, 1):
        heights = strips.lines[code].get_ydata()
        assert np.abs(heights - code).max() < 0.4
    points = table(n_columns=2)
    scatter = data_figure(points)
    np.testing.assert_array_equal(scatter.lines[1].get_xydata(), points.X[points.y == 1])
    assert data_figure(table(n_columns=3)).name == "3d"


@pytest.mark.parametrize("n_columns", [1, 2, 3])
@pytest.mark.parametrize("case", ["five rows", "constant column", "no positive row", "one row"])
def test_data_figures_draw_for_edge_cases(n_columns, case):
    X = np.arange(5.0 * n_columns).reshape(5, n_columns)
    y = [0, 1, 0, 1, 1]
    if case == "constant column":
        X[:, 0] = 3.0
    if case == "no positive row":
        y = [0] * 5
    if case == "one row":
        X, y = X[:1], y[:1]
    ax = data_figure(ClassRows(X, y))
    ax.figure.canvas.draw()
    assert caption(ax)


def history():
    return [
        SearchNode("constant", error=0.34, on_path=True),
        SearchNode("SE_1", 0, 0.25, on_path=True),
        SearchNode("SE_2", 0, 0.33),
        *(SearchNode(f"SE_1 + SE_{k}", 1, 0.2 + k / 100) for k in range(2, 8)),
        SearchNode("SE_1 × SE_9", 1, 0.4, on_path=True, best=True),
        SearchNode("unmeasured", 2),
    ]


def texts(ax):
    return {text.get_text(): text for text in ax.texts}


def test_a_tree_has_levels_in_columns_and_parents_amid_their_children():
    found = texts(search_tree(history(), most_children=10, title="Search"))
    assert found["SE_1  25.0 %"].axes.get_title(loc="left") == "Search"
    across = {name: text.get_position()[0] for name, text in found.items()}
    up = {name: text.get_position()[1] for name, text in found.items()}
    assert across["constant  34.0 %"] < across["SE_1  25.0 %"] == across["SE_2  33.0 %"]
    assert across["SE_1 × SE_9  40.0 %"] == across["unmeasured"] > across["SE_1  25.0 %"]
    children = [up[name] for name in up if name.startswith(("SE_1 +", "SE_1 ×"))]
    assert up["SE_1  25.0 %"] == (min(children) + max(children)) / 2
    assert len(set(children)) == len(children) == 7
    # The axis points down: the child of least error has the least height.
    assert min(children) == up["SE_1 + SE_2  22.0 %"]


def test_the_path_is_blue_and_the_result_vermilion():
    found = texts(search_tree(history()))
    assert found["SE_1  25.0 %"].get_color() == BLUE
    assert found["SE_1 × SE_9  40.0 %"].get_color() == VERMILION
    assert found["SE_2  33.0 %"].get_color() == GREY


def test_worse_children_are_counted_but_the_path_stays():
    ax = search_tree(history(), most_children=2)
    found = texts(ax)
    assert "SE_1 × SE_9  40.0 %" in found
    assert "+ 4 worse" in found
    assert "SE_1 + SE_5  25.0 %" not in found
    assert "4 worse candidates" in caption(ax)
    assert "tried 11 candidates" in caption(ax)


@pytest.mark.parametrize(
    ("nodes", "options", "message"),
    [
        ([], {}, "one node"),
        ([SearchNode("a", parent=1), SearchNode("b")], {}, "parents must come before"),
        ([SearchNode("a")], {"most_children": 0}, "most_children of 1 or more"),
    ],
)
def test_trees_refuse_what_is_not_one(nodes, options, message):
    with pytest.raises(InvalidInputError, match=message):
        search_tree(nodes, **options)


def test_a_tree_of_one_node_and_a_forest_draw():
    assert list(texts(search_tree([SearchNode("only")]))) == ["only"]
    assert len(texts(search_tree([SearchNode("a"), SearchNode("b"), SearchNode("c", 1)]))) == 3


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_calibration_intervals_are_clopper_and_pearson(rng, confidence):
    probability = np.round(rng.random(200), 2)
    y = rng.random(200) < probability
    bins = calibration_bins(y, probability, n_bins=7, confidence=confidence)
    assert bins.counts.sum() == 200
    for count, share, low, high in zip(
        bins.counts, bins.observed, bins.low, bins.high, strict=True
    ):
        exact = binomtest(round(count * share), count).proportion_ci(confidence, "exact")
        assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-12)


def test_calibration_keeps_ties_together_and_handles_sure_groups():
    bins = calibration_bins([0, 0, 0, 1, 1, 1], [0.2, 0.2, 0.2, 0.2, 0.9, 0.9], n_bins=3)
    np.testing.assert_allclose(bins.predicted, [0.2, 0.9])
    np.testing.assert_array_equal(bins.counts, [4, 2])
    assert bins.high[1] == 1.0
    assert calibration_bins([0, 0], [0.1, 0.1]).low[0] == 0.0


def test_calibration_curve_draws_the_bins_and_the_diagonal(rng):
    probability = rng.random(500)
    y = rng.random(500) < probability
    ax = calibration_curve(y, probability, n_bins=5, positive="ill", title="Check", confidence=0.9)
    bins = calibration_bins(y, probability, n_bins=5, confidence=0.9)
    np.testing.assert_allclose(ax.lines[1].get_xydata(), np.column_stack(bins[:2]))
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0, 0], [1, 1]])
    assert ax.get_xlabel() == "predicted probability of ill"
    assert ax.get_title(loc="left") == "Check"
    assert "90% intervals" in caption(ax)


@pytest.mark.parametrize(
    ("y", "probability", "options", "message"),
    [
        ([0, 1], [0.5], {}, "same rows"),
        ([0, 2], [0.5, 0.5], {}, "y must hold 0 and 1"),
        ([0, 1], [0.5, 1.5], {}, r"lie in \[0, 1\]"),
        ([0, 1], [0.5, np.nan], {}, "probability must be finite"),
        ([0, 1], [0.5, 0.5], {"n_bins": 0}, "n_bins must be 1"),
        ([0, 1], [0.5, 0.5], {"confidence": 1.0}, "confidence in"),
    ],
)
def test_calibration_refuses(y, probability, options, message):
    with pytest.raises(InvalidInputError, match=message):
        calibration_bins(y, probability, **options)
