import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.special import ndtr

from parsimon.exceptions import InvalidInputError
from parsimon.report.figures import ClassRows, DrawnPart, component_panels
from parsimon.report.figures.latent_grid import two_values
from parsimon.report.figures.levels import posterior_by_level, posterior_levels
from parsimon.report.figures.one_column import slices
from parsimon.report.figures.parts import component_reach
from parsimon.report.figures.svg_text import caption


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def table(n_rows=60):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=n_rows), rng.integers(0, 2, n_rows)])
    return ClassRows(X, X[:, 1] > 0, names=["age", "smoker"], class_names=["well", "ill"])


def latent(X):
    return X[:, 0] + 2 * X[:, 1] - 1, 0.25 + 0 * X[:, 0]


def test_two_values_are_found_and_others_are_not():
    assert two_values(np.array([3.0, 1.0, 3.0])) == (1.0, 3.0)
    assert two_values(np.ones(4)) is None
    # The third value hides behind the rows that are looked at first.
    assert two_values(np.concatenate([np.tile([0.0, 1.0], 50), [0.5]])) is None


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("hold", ["mean", [0.7, 0.0]])
def test_points_lie_at_the_probability_and_bars_at_two_deviations(averaged, hold):
    points = table()
    ax = posterior_levels(latent, points, column="smoker", averaged=averaged, hold=hold)
    (bars,) = ax.containers
    f = (points.X[:, 0].mean() if hold == "mean" else 0.7) + np.array([-1.0, 1.0])
    centre = ndtr(f / np.sqrt(1.25)) if averaged else ndtr(f)
    np.testing.assert_allclose(bars[0].get_ydata(), centre)
    ends = np.array([path.vertices[:, 1] for path in bars[2][0].get_paths()])
    np.testing.assert_allclose(ends, np.column_stack([ndtr(f - 1), ndtr(f + 1)]))


def test_levels_say_their_rows_and_shares_only_where_they_compare():
    points = table()
    ax = posterior_levels(latent, points, column=1)
    counts = [int((points.X[:, 1] == k).sum()) for k in (0, 1)]
    assert [t.get_text() for t in ax.get_xticklabels()] == [
        f"{k}\n{count} rows" for k, count in enumerate(counts)
    ]
    diamonds = [line for line in ax.lines if line.get_marker() == "D"]
    np.testing.assert_allclose(diamonds[0].get_ydata(), [0.0, 1.0])
    assert "observed shares" in caption(ax)
    bare = posterior_levels(latent, points, column=1, shares=False)
    assert not any(line.get_marker() == "D" for line in bare.lines)
    assert "observed shares" not in caption(bare)


def test_a_curve_for_each_level():
    points = table()
    ax = posterior_by_level(latent, points, columns=["age", "smoker"], n_grid=11, margin=0.0)
    for line, shift in zip(ax.lines[:2], (-1, 1), strict=True):
        np.testing.assert_allclose(line.get_ydata(), ndtr(line.get_xdata() + shift))
    assert ax.lines[0].get_xdata()[0] == points.X[:, 0].min()
    assert [t.get_text().split(" (")[0] for t in ax.get_legend().get_texts()] == [
        "smoker = 0",
        "smoker = 1",
    ]


def test_two_columns_of_two_values_give_four_points():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1.0]])
    ax = posterior_by_level(latent, ClassRows(X, [0, 1, 0, 1]), columns=[0, 1])
    found = np.array([bars[0].get_ydata() for bars in ax.containers])
    np.testing.assert_allclose(found, ndtr(np.array([[-1, 0], [1, 2]])))


def test_a_column_of_many_values_is_refused():
    with pytest.raises(InvalidInputError, match="'age' does not have two distinct values"):
        posterior_levels(latent, table(), column="age")
    with pytest.raises(InvalidInputError, match="'age' does not have two distinct values"):
        posterior_by_level(latent, table(), columns=["smoker", "age"])


def test_slices_draw_points_where_a_column_has_two_values():
    first, second = slices(latent, table())
    assert not first.containers
    assert len(second.containers) == 1
    assert first.get_ylim() == second.get_ylim()


@pytest.mark.parametrize(
    ("columns", "n_lines", "n_bars"), [(["smoker"], 0, 1), (["smoker", "age"], 2, 0)]
)
def test_components_of_two_values_are_points_or_curves(columns, n_lines, n_bars):
    part = DrawnPart("part", columns, latent)
    (ax,) = component_panels([part], table(), n_grid=9)
    assert len([line for line in ax.lines if line.get_linewidth() == 2.6]) == n_lines
    assert len(ax.containers) == n_bars


def test_reach_and_target_of_components_are_kept():
    points = table()
    part = DrawnPart("part", ["age"], latent)
    (ax,) = component_panels([part], points, reach=7.0, target="$pressure$", centred=True)
    assert ax.get_ylim() == pytest.approx((-7.35, 7.35))
    assert ax.get_ylabel() == r"part of \$pressure\$"
    assert "$pressure$, around its mean" in caption(ax)
    assert "mean zero over the rows" in caption(ax)
    ends = np.array([points.X[:, 0].min(), points.X[:, 0].max()])
    f = ends + 2 * np.median(points.X[:, 1]) - 1
    assert component_reach([part], points) == pytest.approx(max(np.abs([f - 1, f + 1]).ravel()))
