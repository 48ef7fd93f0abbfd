from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpl_toolkits.mplot3d import proj3d
from PIL import Image
from scipy.special import ndtri

from parsimon.exceptions import InvalidInputError
from parsimon.report.figures import ClassRows
from parsimon.report.figures.svg_text import caption
from parsimon.report.figures.three_columns import isosurface, isosurface_3d, rotate


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def ball(n_grid, *, reach=1.0):
    side = np.linspace(-reach, reach, n_grid)
    x, y, z = np.meshgrid(side, side, side, indexing="ij")
    return -np.sqrt(x**2 + y**2 + z**2), (side, side, side)


def areas_and_volume(triangles):
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return areas, float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


@given(st.floats(0.3, 0.9))
def test_the_surface_of_a_ball_has_its_radius_area_and_volume(radius):
    values, sides = ball(33)
    triangles = isosurface(values, -radius, sides)
    # Linear interpolation along an edge of length L errs by L^2 / 8 times the curvature at most.
    edge = np.sqrt(3) * (sides[0][1] - sides[0][0])
    bound = edge**2 / (8 * (radius - edge))
    np.testing.assert_allclose(np.linalg.norm(triangles, axis=2), radius, atol=bound)
    areas, volume = areas_and_volume(triangles)
    assert areas.sum() == pytest.approx(4 * np.pi * radius**2, rel=0.02)
    # A positive volume says that every normal points outwards, where values are below the level.
    assert volume == pytest.approx(4 / 3 * np.pi * radius**3, rel=0.03)


def test_the_surface_is_closed():
    values, sides = ball(12)
    triangles = np.round(isosurface(values, -0.61, sides), 9)
    edges = Counter(
        frozenset((tuple(triangle[i]), tuple(triangle[(i + 1) % 3])))
        for triangle in triangles
        for i in range(3)
    )
    assert set(edges.values()) == {2}


def test_linear_values_give_an_exact_plane_in_any_units():
    sides = (np.linspace(0, 1, 4), np.linspace(-5, 5, 6), np.linspace(100, 300, 5))
    x, y, z = np.meshgrid(*sides, indexing="ij")
    triangles = isosurface(2 * x + y - 0.01 * z, -1.37, sides)
    np.testing.assert_allclose(triangles @ [2, 1, -0.01], -1.37, atol=1e-12)


@pytest.mark.parametrize("level", [-9.0, 9.0])
def test_a_level_never_taken_has_no_surface(level):
    values, sides = ball(5)
    assert isosurface(values, level, sides).shape == (0, 3, 3)


def space(n_rows=60, **options):
    X = np.random.default_rng(1).normal(size=(n_rows, 3)) * [1, 10, 100]
    return ClassRows(X, X[:, 0] > 0, **options)


def linear(X):
    return 2 * X[:, 0], 0 * X[:, 0]


def test_surfaces_lie_where_the_probability_is_the_level():
    ax = isosurface_3d(linear, space(), n_grid=9, levels=[0.9, 0.1])
    # Seen from the front and without perspective, places across the page are the first column.
    ax.set_proj_type("ortho")
    ax.view_init(elev=0, azim=-90)
    ax.figure.canvas.draw()
    zero, one = (proj3d.proj_transform(x, 0, 0, ax.get_proj())[0] for x in (0, 1))
    for level, surface in zip([0.1, 0.9], ax.collections, strict=True):
        across = np.concatenate([path.vertices[:, 0] for path in surface.get_paths()])
        np.testing.assert_allclose(2 * (across - zero) / (one - zero), ndtri(level), rtol=1e-6)
        assert surface.get_rasterized()
    assert "is 10, 90 %" in caption(ax)


def test_space_is_labelled_and_drawn_into_given_axes():
    points = space(names=["age", "dose", "weight"], class_names=["well", "ill"])
    given_axes = plt.figure().add_subplot(projection="3d")
    ax = isosurface_3d(linear, points, columns=["weight", 0, 1], n_grid=6, ax=given_axes, title="T")
    assert ax is given_axes
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_zlabel()) == ("weight", "age", "dose")
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == [f"well ({(points.y == 0).sum()})", f"ill ({(points.y == 1).sum()})"]
    with pytest.raises(InvalidInputError, match="three-dimensional"):
        isosurface_3d(linear, points, n_grid=6, ax=plt.figure().add_subplot())


@pytest.mark.parametrize("levels", [[], [0.5, 1.0]])
def test_levels_must_be_probabilities(levels):
    with pytest.raises(InvalidInputError, match="levels must lie between 0 and 1"):
        isosurface_3d(linear, space(), levels=levels)


def test_rotation_is_a_small_endless_gif_with_the_asked_frames(tmp_path):
    ax = isosurface_3d(linear, space(), n_grid=8)
    view = ax.elev, ax.azim
    path = rotate(
        ax, tmp_path / "turn.gif", n_frames=5, fps=20, dpi=40, background="#102030", n_colours=16
    )
    assert (ax.elev, ax.azim) == view
    with Image.open(path) as picture:
        assert picture.n_frames == 5
        assert picture.info["duration"] == 50
        assert picture.info["loop"] == 0
        assert picture.size == (232, 208)
        frames = []
        for frame in range(5):
            picture.seek(frame)
            frames.append(np.asarray(picture.convert("RGB")).copy())
    assert all(tuple(frame[1, 1]) == (0x10, 0x20, 0x30) for frame in frames)
    assert len(np.unique(frames[0].reshape(-1, 3), axis=0)) <= 16
    assert all(np.any(frames[0] != frame) for frame in frames[1:])
    assert path.stat().st_size < 60_000


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("turn.mp4", {}, "must end in .gif"),
        ("turn.gif", {"n_frames": 1}, "n_frames must be 2 or more"),
        ("turn.gif", {"n_colours": 500}, "n_colours 8 to 256"),
    ],
)
def test_rotation_refuses_and_writes_nothing(tmp_path, name, options, message):
    ax = isosurface_3d(linear, space(), n_grid=5)
    with pytest.raises(InvalidInputError, match=message):
        rotate(ax, tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "points",
    [
        ClassRows(np.arange(15.0).reshape(5, 3), [0, 1, 0, 1, 1]),
        ClassRows(np.column_stack([np.ones(6), np.arange(6.0), np.arange(6.0) ** 2]), [0, 1] * 3),
        ClassRows(np.arange(15.0).reshape(5, 3), np.zeros(5)),
    ],
    ids=["five rows", "constant column", "no positive row"],
)
def test_space_draws_for_edge_cases(points):
    ax = isosurface_3d(linear, points, n_grid=5)
    ax.figure.canvas.draw()
    assert ax.get_legend().get_texts()
