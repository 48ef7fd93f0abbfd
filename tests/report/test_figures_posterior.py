import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import same_color, to_hex
from scipy.special import expit, ndtr

from parsimon._style import BLUE, GREY, VERMILION
from parsimon.exceptions import InvalidInputError
from parsimon.report.figures import (
    ClassRows,
    DrawnPart,
    component_panels,
    monotonicity,
    posterior_1d,
    posterior_2d,
)
from parsimon.report.figures.one_column import monotone_share, slices
from parsimon.report.figures.svg_text import caption


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def rising(X):
    """A latent function of the first column alone, with a spread that grows with it."""
    return X[:, 0] - 2.0, 0.25 * X[:, 0] ** 2


def table(n_rows=40, n_columns=1, *, seed=0, **options):
    X = np.random.default_rng(seed).uniform(0, 4, (n_rows, n_columns))
    return ClassRows(X, X[:, 0] > 2, **options)


def line_of(ax, width):
    """Return the curve of that width; marks have no line."""
    return next(
        line for line in ax.lines if line.get_linewidth() == width and len(line.get_xdata()) > 2
    )


def marks_of(ax, code):
    tint = VERMILION if code else BLUE
    return next(
        line
        for line in ax.lines
        if line.get_linestyle() == "None" and same_color(line.get_color(), tint)
    )


@pytest.mark.parametrize(("link", "response"), [("probit", ndtr), ("logit", expit)])
def test_line_is_the_response_at_the_latent_mean_and_band_two_deviations(link, response):
    ax = posterior_1d(rising, table(), link=link)
    x, probability = line_of(ax, 1.8).get_data()
    np.testing.assert_allclose(probability, response(x - 2))
    band = ax.collections[0].get_datalim(ax.transData)
    deviation = 0.5 * np.abs(x)
    assert band.y0 == pytest.approx((response(x - 2 - 2 * deviation)).min())
    assert band.y1 == pytest.approx((response(x - 2 + 2 * deviation)).max())


def test_averaged_probability_is_the_integral_over_the_latent_function():
    ax = posterior_1d(rising, table(), averaged=True)
    x, probability = line_of(ax, 1.8).get_data()
    np.testing.assert_allclose(probability, ndtr((x - 2) / np.sqrt(1 + 0.25 * x**2)))
    assert "averaged" in caption(ax)


def test_the_caption_owns_up_to_what_the_band_is():
    words = caption(posterior_1d(rising, table()))
    assert "band: about 95 % of the curves that fit" in words


@pytest.mark.parametrize("margin", [0.0, 0.2])
def test_frame_reaches_beyond_the_data_by_the_margin_and_is_dashed_there(margin):
    points = table()
    ax = posterior_1d(rising, points, margin=margin)
    low, high = points.X.min(), points.X.max()
    reach = high - low
    assert ax.get_xlim() == pytest.approx((low - margin * reach, high + margin * reach))
    seen = line_of(ax, 2.8).get_xdata()
    assert seen.min() >= low
    assert seen.max() <= high
    assert line_of(ax, 1.8).get_linestyle() == "--"


def test_rows_lie_in_the_strip_of_their_class_without_touching_ties():
    points = ClassRows(np.repeat([1.0, 2.0], 10), np.tile([0, 1], 10))
    ax = posterior_1d(rising, points)
    for code, low, high in ((0, -0.18, -0.03), (1, 1.03, 1.18)):
        x, heights = marks_of(ax, code).get_data()
        np.testing.assert_array_equal(np.sort(x), np.sort(points.X[points.y == code, 0]))
        assert low < heights.min() < heights.max() < high
        for value in (1.0, 2.0):
            assert np.diff(np.sort(heights[x == value])).min() > 0.005


def test_classes_differ_without_colour_and_positive_lies_on_top():
    ax = posterior_1d(rising, table())
    negative, positive = marks_of(ax, 0), marks_of(ax, 1)
    assert negative.get_markerfacecolor() == "none"
    assert same_color(positive.get_markerfacecolor(), VERMILION)
    assert positive.get_zorder() > negative.get_zorder()


def test_class_names_and_counts_stand_beside_the_strips():
    points = ClassRows([1.0, 2.0, 3.0], [0, 1, 1], class_names=["well", "ill"])
    ax = posterior_1d(rising, points, title="Dose")
    assert {text.get_text() for text in ax.texts} == {"well\n1 row", "ill\n2 rows"}
    assert ax.get_ylabel() == "probability of ill"
    assert ax.get_title(loc="left") == "Dose"


def test_a_constant_kernel_gives_a_flat_line_at_the_share_of_positives():
    ax = posterior_1d(lambda X: (np.full(len(X), -0.4), np.full(len(X), 0.01)), table())
    np.testing.assert_allclose(line_of(ax, 1.8).get_ydata(), ndtr(-0.4))


@pytest.mark.parametrize(
    ("hold", "expected"),
    [
        ("mean", [2.0, 3.0]),
        ("median", [1.0, 3.0]),
        ("typical", [1.0, 3.0]),
        ([7.0, 9.0], [7.0, 9.0]),
    ],
)
def test_other_columns_are_held_where_asked(hold, expected):
    X = [[0.0, 2.0], [1.0, 3.0], [5.0, 4.0]]
    asked = []

    def posterior(rows):
        asked.append(rows)
        return rows[:, 1], 0 * rows[:, 0]

    ax = posterior_1d(posterior, ClassRows(X, [0, 1, 1]), column="x2", hold=hold, n_grid=11)
    np.testing.assert_allclose(np.vstack(asked)[:, 0], expected[0])
    assert len(np.unique(np.vstack(asked)[:, 1])) == 11
    assert f"x1 = {expected[0]:g}" in caption(ax)
    typical = "a typical" if expected == [1.0, 3.0] else "this"
    assert f"is as in {typical} row:" in caption(ax)


def test_a_typical_row_has_a_level_that_occurs():
    """Never "sex = 0.68": of two values the more frequent one is held."""
    X = [[0.0, 1.0, 5.0], [1.0, 1.0, 6.0], [2.0, 0.0, 9.0], [3.0, 1.0, 7.5]]
    points = ClassRows(X, [0, 1, 1, 0], names=["age", "sex = male", "bmi"])
    words = caption(posterior_1d(rising, points, column="age"))
    assert "is as in a typical row: age = 1.5, sex = male, bmi = 6.75." in words
    other = ClassRows(1 - np.array(X), [0, 1, 1, 0], names=["age", "sex = male", "bmi is missing"])
    assert "sex other than male" in caption(posterior_1d(rising, other, column="age"))


def test_a_large_grid_is_asked_block_by_block():
    sizes = []

    def posterior(rows):
        sizes.append(len(rows))
        return rows[:, 0], 0 * rows[:, 0]

    posterior_2d(posterior, table(n_columns=2), n_grid=101)
    assert sum(sizes) == 101**2
    assert max(sizes) <= 4096


def test_slices_draw_the_active_columns_and_hold_the_others():
    points = table(n_columns=4, names=["a", "b", "c", "d"])
    panels = slices(rising, points, columns=["a", 2])
    assert [ax.get_xlabel() for ax in panels] == ["a", "c"]
    flat = line_of(panels[1], 1.8).get_ydata()
    np.testing.assert_allclose(flat, ndtr(np.median(points.X[:, 0]) - 2))
    assert "one column at a time" in caption(panels)
    assert f"b = {np.median(points.X[:, 1]):.4g}" in caption(panels)
    assert len(slices(rising, points)) == 4
    with pytest.raises(InvalidInputError, match="no column to draw"):
        slices(rising, points, columns=[])


@pytest.mark.parametrize(("n_rows", "pixels"), [(1400, False), (1600, True)])
def test_marks_of_all_panels_together_decide_on_pixels(n_rows, pixels):
    panels = slices(rising, table(n_rows, 2))
    assert all(marks_of(ax, 0).get_rasterized() == pixels for ax in panels)


def test_contours_lie_at_the_levels_and_one_half_is_thick():
    panels = posterior_2d(lambda X: (X[:, 0] - 2, 0 * X[:, 0]), table(n_columns=2))
    lines = next(c for c in panels[0].collections if len(c.get_linewidths()) == len(c.levels))
    assert list(lines.levels) == [0.05, 0.25, 0.5, 0.75, 0.95]
    for level, path, width in zip(
        lines.levels, lines.get_paths(), lines.get_linewidths(), strict=True
    ):
        # Probabilities are Phi(x - 2), so that each contour is a vertical line.
        np.testing.assert_allclose(ndtr(path.vertices[:, 0] - 2), level, atol=2e-3)
        assert (width > 2) == (level == 0.5)
    dashed = [pattern is not None for _, pattern in lines.get_linestyle()]
    assert dashed == [True, True, False, False, False]
    tints = [to_hex(colour) for colour in lines.get_edgecolor()]
    assert [tint.upper() for tint in tints] == [BLUE, BLUE, GREY, VERMILION, VERMILION]


def test_the_confidence_panel_shows_the_width_of_the_band():
    points = table(n_columns=2)
    wide = posterior_2d(lambda X: (0 * X[:, 0], 4 + 0 * X[:, 0]), points, confidence=True)
    assert len(wide) == 2
    assert "width of the band" in caption(wide)
    filled = wide[1].collections[0]
    drawn = [path for path in filled.get_paths() if len(path.vertices)]
    assert len(drawn) == 1
    # Phi(4) - Phi(-4) is nearly one: only the last of ten bins is filled.
    assert len(filled.get_paths()[-1].vertices) > 0
    assert len(posterior_2d(rising, points)) == 1


def test_two_column_figures_fill_given_axes():
    _, axes = plt.subplots(1, 2)
    panels = posterior_2d(rising, table(n_columns=2), confidence=True, axes=axes, title="Both")
    assert panels[0] is axes[0]
    assert axes[0].get_title(loc="left") == "Both"
    with pytest.raises(InvalidInputError, match="1 axes are needed, got 2"):
        posterior_2d(rising, table(n_columns=2), axes=axes)


def test_monotone_share_by_known_paths():
    x = np.linspace(0, 1, 30)
    dipped = x.copy()
    dipped[15] = dipped[14] - 5e-4
    paths = [x, x**3, -x, np.sin(6 * x), 0 * x, dipped]
    assert monotone_share(paths) == pytest.approx((3 / 6, 1 / 6))
    assert monotone_share(paths, tol=0.0) == pytest.approx((2 / 6, 1 / 6))


def test_monotone_share_of_random_lines_is_the_normal_probability(rng):
    slopes = rng.normal(0.5, 1.0, 20_000)
    share = monotone_share(np.outer(slopes, np.linspace(0, 1, 5)))
    assert share.rising == pytest.approx(ndtr(0.5), abs=4 * np.sqrt(0.25 / 20_000))
    assert share.rising + share.falling == pytest.approx(1)


def test_monotonicity_colours_follow_the_gradient():
    points = ClassRows(np.linspace(0, 4, 41), np.arange(41) % 2)
    ax = monotonicity(lambda X: (-((X[:, 0] - 2) ** 2), 0 * X[:, 0]), points, ignored=0.1)
    runs = {line.get_label(): line for line in ax.lines if line.get_linewidth() == 2.8}
    step = 4 * 1.2 / 127
    up = runs["rising"].get_xdata()[np.isfinite(runs["rising"].get_ydata())]
    down = runs["falling"].get_xdata()[np.isfinite(runs["falling"].get_ydata())]
    assert same_color(runs["rising"].get_color(), VERMILION)
    assert same_color(runs["falling"].get_color(), BLUE)
    assert up.min() == pytest.approx(0.4, abs=step)
    assert up.max() == pytest.approx(2.0, abs=2 * step)
    assert down.min() == pytest.approx(2.0, abs=2 * step)
    assert down.max() == pytest.approx(3.6, abs=step)
    shapes = {line.get_marker() for line in ax.lines}
    assert {"^", "v"} <= shapes


@pytest.mark.parametrize(
    ("slopes", "verdict"),
    [
        ([1.0, 2.0, -1.0, 1.0], "Rises throughout in 75.0 % of 4 posterior draws"),
        ([-1.0, -2.0], "Falls throughout in all of 2 posterior draws"),
    ],
)
def test_monotonicity_states_the_share_of_draws(slopes, verdict):
    ax = monotonicity(rising, table(), draw=lambda X: np.outer(slopes, X[:, 0]))
    assert ax.get_title(loc="left") == verdict
    assert verdict.lower() in caption(ax).lower()


def test_draws_that_turn_are_said_to_turn_and_a_title_may_replace_the_verdict():
    def draw(X):
        return np.sin(3 * X[:, 0])[None]

    assert monotonicity(rising, table(), draw=draw).get_title(loc="left").startswith("Turns in all")
    titled = monotonicity(rising, table(), draw=draw, title="Dose")
    assert titled.get_title(loc="left") == "Dose"
    assert monotonicity(rising, table()).get_title(loc="left") == ""


def test_components_share_an_axis_and_maps_show_the_sum_over_two_columns():
    points = table(n_columns=3, names=["a", "b", "c"])
    parts = [
        DrawnPart("big", ["a"], lambda X: (3 * X[:, 0] - 6, 0 * X[:, 0])),
        DrawnPart("small", ["b"], lambda X: (0.1 * X[:, 1], 0.04 + 0 * X[:, 0])),
        DrawnPart("both", [0, "c"], lambda X: (X[:, 0] - X[:, 2], 0 * X[:, 0])),
    ]
    panels = component_panels(parts, points, n_grid=21, margin=0.1)
    assert panels[0].get_ylim() == panels[1].get_ylim()
    assert [ax.get_title(loc="left") for ax in panels] == ["big", "small", "both"]
    x, mean = line_of(panels[0], 2.6).get_data()
    np.testing.assert_allclose(mean, 3 * x - 6)
    zero = next(c for c in panels[2].collections if 0.0 in c.levels and len(c.get_linewidths()) > 1)
    place = list(zero.levels).index(0.0)
    across, up = zero.get_paths()[place].vertices.T
    np.testing.assert_allclose(across, up, atol=1e-9)
    with pytest.raises(InvalidInputError, match="no component"):
        component_panels([], points)
    with pytest.raises(InvalidInputError, match="names no column"):
        component_panels([DrawnPart("C", [], rising)], points)


EDGE_CASES = {
    "five rows": ClassRows(np.arange(10.0).reshape(5, 2), [0, 1, 0, 1, 1]),
    "one row": ClassRows([[1.0, 2.0]], [1]),
    "constant column": ClassRows(np.column_stack([np.ones(6), np.arange(6.0)]), [0, 1] * 3),
    "no positive row": ClassRows(np.arange(10.0).reshape(5, 2), np.zeros(5)),
    "no negative row": ClassRows(np.arange(10.0).reshape(5, 2), np.ones(5)),
    "huge numbers": ClassRows(1e12 * np.arange(10.0).reshape(5, 2), [0, 1, 0, 1, 1]),
}


@pytest.mark.parametrize("points", EDGE_CASES.values(), ids=EDGE_CASES)
def test_figures_draw_for_edge_cases(points):
    def posterior(X):
        return np.tanh(X[:, 0] - 1), 1 + 0 * X[:, 0]

    parts = [DrawnPart("c", [0, 1], posterior), DrawnPart("d", [1], posterior)]
    for axes in (
        slices(posterior, points),
        posterior_2d(posterior, points, confidence=True, n_grid=15),
        monotonicity(posterior, points, column=0, draw=lambda X: X[:, 0][None]),
        component_panels(parts, points, n_grid=15),
    ):
        figure = np.ravel(axes)[0].figure
        figure.canvas.draw()
        assert caption(axes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: posterior_1d(rising, p), "Say with `column`"),
        (lambda p: posterior_1d(rising, p, column="z"), "no column 'z'"),
        (lambda p: posterior_1d(rising, p, column=5), "no column 5"),
        (lambda p: posterior_1d(rising, p, column=0, hold="mode"), "hold must be"),
        (lambda p: posterior_1d(rising, p, column=0, hold=[1.0]), "one number for each of 3"),
        (lambda p: posterior_1d(rising, p, column=0, margin=-1), "margin must be 0 or more"),
        (lambda p: posterior_1d(rising, p, column=0, link="cauchit"), "link must be"),
        (lambda p: posterior_2d(rising, p), "shows 2 columns, got 3"),
        (lambda p: monotonicity(rising, p, column=0, ignored=0.5), "ignored must be"),
        (
            lambda p: posterior_1d(lambda X: (X[:, 0] * np.nan, X[:, 0]), p, column=0),
            "Latent means must be finite",
        ),
        (
            lambda p: posterior_1d(lambda X: (X[:3, 0], X[:3, 0]), p, column=0),
            "asked at 128 rows and gave 3 means",
        ),
    ],
)
def test_errors_say_what_to_do(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(table(n_columns=3))


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        ([[1.0], [np.nan]], [0, 1], {}, "X must be finite"),
        ([[1.0], [2.0]], [-1, 1], {}, "codes of classes"),
        ([[1.0], [2.0]], [0.5, 1], {}, "codes of classes"),
        ([[1.0], [2.0]], [0], {}, "2 rows and y has 1"),
        ([[1.0], [2.0]], [0, 1], {"names": ["a", "b"]}, "1 columns need as many names"),
        ([[1.0], [2.0]], [0, 2], {"class_names": ["a", "b"]}, "3 classes need"),
        (np.empty((0, 2)), [], {}, "no row"),
    ],
)
def test_points_refuse_what_cannot_be_drawn(X, y, options, message):
    with pytest.raises(InvalidInputError, match=message):
        ClassRows(X, y, **options)


def test_points_never_change():
    X = np.ones((3, 2))
    points = ClassRows(X, [0, 1, 1])
    X[0, 0] = 9
    assert points.X[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        points.X[0, 0] = 3
    with pytest.raises(InvalidInputError, match="two classes"):
        posterior_1d(rising, ClassRows([1.0, 2.0, 3.0], [0, 1, 2]))
