"""Rows in space: of up to three columns as they are, and among surfaces of equal probability.

The surfaces are found by marching tetrahedra.
"""

import itertools
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes
from parsimon._typing import Array, Indices, Mask
from parsimon._writing import write_file
from parsimon.exceptions import InvalidInputError
from parsimon.inference.likelihoods import Link
from parsimon.report.figures.latent_grid import (
    Posterior,
    frame,
    held_row,
    held_words,
    respond,
    rows_on,
)
from parsimon.report.figures.points import (
    ClassRows,
    classes_above,
    draw_points,
    label,
    spread_apart,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Kuhn's division: each order of the three axes is a walk from the cube's first corner to its
# last, and the four corners that it visits make one of six tetrahedra. Neighbouring cubes cut
# their common face along the same diagonal, so that the surface has no cracks.
_STEPS = np.eye(3, dtype=np.intp)
_CORNERS = np.array(
    [
        [np.zeros(3, dtype=np.intp), *np.cumsum(_STEPS[list(order)], axis=0)]
        for order in itertools.permutations(range(3))
    ]
)


def isosurface(values: Array, level: float, sides: tuple[Array, Array, Array]) -> Array:
    """Return the triangles of the surface where gridded values equal a level.

    Shapes: values (n1, n2, n3), sides (n1,) -> (n_triangles, 3, 3).

    Values are taken as linear along the edges of tetrahedra, six to each cell (Doi and Koide
    1991). Unlike marching cubes there are no ambiguous cases and no table of 256 rows.
    """
    cells, heights = _find_crossed(values, level)
    inside = heights > level
    # Corners above the level first: then each count of them is one case.
    order = np.argsort(~inside, axis=1, kind="stable")
    heights = np.take_along_axis(heights, order, axis=1)
    places = np.take_along_axis(cells, order[:, :, None], axis=1)
    corners = np.stack([side[places[..., k]] for k, side in enumerate(sides)], axis=-1)
    pieces = []
    for count, edges in _EDGES.items():
        these = inside.sum(axis=1) == count
        cut = _cut(corners[these], heights[these], level, edges)
        pieces.append(_turn(cut, corners[these], count).reshape(-1, 3, 3))
    triangles = np.concatenate(pieces)
    return triangles[_areas(triangles) > 0]


# For each number of corners above the level, the edges (a, b) that a triangle's corners lie on.
_EDGES = {
    1: np.array([[(0, 1), (0, 2), (0, 3)]]),
    2: np.array([[(0, 2), (0, 3), (1, 3)], [(0, 2), (1, 3), (1, 2)]]),
    3: np.array([[(3, 0), (3, 1), (3, 2)]]),
}


def _find_crossed(values: Array, level: float) -> tuple[Indices, Array]:
    """Return corners, shape (m, 4, 3), and values, shape (m, 4), of tetrahedra that are cut."""
    n1, n2, n3 = values.shape
    above = values > level
    origin = np.stack(
        np.meshgrid(*(np.arange(n - 1) for n in (n1, n2, n3)), indexing="ij"), axis=-1
    ).reshape(-1, 3)
    shifts = list(itertools.product((0, 1), repeat=3))
    counts = sum(above[a : n1 - 1 + a, b : n2 - 1 + b, c : n3 - 1 + c] * 1 for a, b, c in shifts)
    mixed: Mask = ((np.asarray(counts) > 0) & (np.asarray(counts) < 8)).ravel()
    cells = (origin[mixed][:, None, None, :] + _CORNERS[None]).reshape(-1, 4, 3)
    heights = values[cells[..., 0], cells[..., 1], cells[..., 2]]
    n_above = (heights > level).sum(axis=1)
    cut = (n_above > 0) & (n_above < 4)
    return cells[cut], heights[cut]


def _cut(corners: Array, heights: Array, level: float, edges: Indices) -> Array:
    """Return where edges meet the level, shape (m, triangles, 3, 3)."""
    start, stop = edges[..., 0], edges[..., 1]
    share = (level - heights[:, start]) / (heights[:, stop] - heights[:, start])
    return corners[:, start] + share[..., None] * (corners[:, stop] - corners[:, start])


def _turn(cut: Array, corners: Array, count: int) -> Array:
    """Swap two corners where the normal points to the side above the level."""
    outwards = corners[:, count:].mean(axis=1) - corners[:, :count].mean(axis=1)
    wrong = np.einsum("mtk,mk->mt", _normals(cut), outwards) < 0
    turned = cut.copy()
    turned[wrong] = cut[wrong][:, [0, 2, 1]]
    return turned


def _normals(triangles: Array) -> Array:
    return np.cross(
        triangles[..., 1, :] - triangles[..., 0, :], triangles[..., 2, :] - triangles[..., 0, :]
    )


def _areas(triangles: Array) -> Array:
    """Return the areas of triangles of shape (..., 3, 3)."""
    return 0.5 * np.linalg.norm(_normals(triangles), axis=-1)


# From above, left and front, as readers expect light to fall.
_LIGHT = np.array([-0.4, -0.5, 0.77])


def isosurface_3d(
    posterior: Posterior,
    points: ClassRows,
    *,
    columns: Sequence[int | str] | None = None,
    levels: Sequence[float] = (0.1, 0.5, 0.9),
    hold: Any = "typical",
    averaged: bool = False,
    link: Link = "probit",
    margin: float = 0.05,
    n_grid: int = 26,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw surfaces of equal probability of the positive class among the rows.

    Surfaces below one half are blue, one half is grey, those above are vermilion (He 2016,
    section 4.4).
    """
    places = points.two_classes().columns(columns, 3)
    if not levels or not all(0 < level < 1 for level in levels):
        raise InvalidInputError(f"levels must lie between 0 and 1, got {list(levels)}.")
    sides = [frame(points.X[:, place], margin, n_grid) for place in places]
    grid = [axis.ravel() for axis in np.meshgrid(*sides, indexing="ij")]
    held = held_row(points, hold)
    response = respond(posterior, rows_on(grid, places, held), link=link, averaged=averaged)
    # On the latent scale values are nearly linear between places, so that a coarse grid does.
    cube = ndtri(np.clip(response.probability, 1e-12, 1 - 1e-12)).reshape((n_grid,) * 3)
    with figure_style():
        ax = axes_3d(points, places, sides, ax)
        for level in sorted(levels):
            _draw_surface(ax, cube, level, sides)
        classes_above(ax, height=0.93)
        if title is not None:
            ax.set_title(label(title, 60), y=1.0)
    shown = ", ".join(f"{100 * level:g}" for level in sorted(levels))
    ax.set_label(
        f"Surfaces where the probability of {points.class_title(1, 40)} is {shown} %: blue "
        f"below one half, grey at it, vermilion above."
        f"{points.marks_words()}{held_words(points, places, held)}"
    )
    return ax


def axes_3d(
    points: ClassRows, places: Sequence[int], sides: Sequence[Array], ax: "Axes | None"
) -> Any:
    """Return three-dimensional axes in the house style with the rows in them."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    box: Any = ax
    if box is None:
        # Axes in space take the colour of their grid when they are made, and no opacity.
        with mpl.rc_context({"grid.color": (0.5, 0.5, 0.5, 0.22)}):
            box = plt.figure(figsize=(5.8, 5.2)).add_subplot(projection="3d")
        box.figure.subplots_adjust(left=0.0, right=0.95, bottom=0.05, top=0.97)
    elif not hasattr(box, "set_zlim"):
        raise InvalidInputError('ax must be three-dimensional: add_subplot(projection="3d").')
    draw_points(box, points, [points.X[:, place] for place in places])
    for axis, place, side in zip("xyz", places, sides, strict=True):
        getattr(box, f"set_{axis}lim")(side[0], side[-1])
        getattr(box, f"set_{axis}label")(points.title(place, 20), labelpad=6)
        drawn = getattr(box, f"{axis}axis")
        drawn.pane.set_alpha(0.0)
        drawn.pane.set_edgecolor(GREY)
        drawn.set_major_locator(MaxNLocator(4))
    box.view_init(elev=22, azim=-58)
    box.set_box_aspect(None, zoom=0.95)
    return box


def _draw_surface(ax: Any, cube: Array, level: float, sides: Sequence[Array]) -> None:
    from matplotlib.colors import to_rgb
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    unit = np.linspace(0, 1, cube.shape[0])
    triangles = isosurface(cube, float(ndtri(level)), (unit, unit, unit))
    if not len(triangles):
        return
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    # Both faces of a surface can be seen, so that the sign of the normal says nothing.
    light = 0.55 + 0.45 * np.abs(normals @ _LIGHT) / lengths
    tint = GREY if level == 0.5 else VERMILION if level > 0.5 else BLUE
    faces = np.column_stack([light[:, None] * to_rgb(tint), np.full(len(light), 0.4)])
    low, high = (np.array([side[end] for side in sides]) for end in (0, -1))
    surface = Poly3DCollection(
        low + triangles * (high - low),
        facecolors=faces,
        edgecolors="none",
        linewidths=0,
        # Hard edges of neighbours share pixels and show a mesh; soft ones, this faint, do not.
        antialiased=True,
        # Thousands of triangles: as vectors they would weigh megabytes.
        rasterized=True,
    )
    ax.add_collection3d(surface)


def rotate(
    ax: "Axes",
    path: Any,
    *,
    n_frames: int = 40,
    fps: int = 10,
    dpi: int = 72,
    background: str = "white",
    n_colours: int = 48,
) -> Path:
    """Save a picture that turns once around its vertical axis, as an endless GIF."""
    target = Path(path)
    if target.suffix.lower() != ".gif":
        raise InvalidInputError(f"path must end in .gif, got {target.name!r}.")
    if n_frames < 2 or fps < 1 or not 8 <= n_colours <= 256:
        raise InvalidInputError(
            f"n_frames must be 2 or more, fps 1 or more and n_colours 8 to 256; got {n_frames}, "
            f"{fps} and {n_colours}."
        )
    frames = _frames(ax, n_frames, dpi, background)
    # One palette serves all frames: no flicker, and equal pixels compress.
    palette = _palette(frames[0], n_colours, background)
    reduced = [frame.quantize(palette=palette, dither=0) for frame in frames]
    buffer = BytesIO()
    reduced[0].save(
        buffer,
        format="GIF",
        save_all=True,
        append_images=reduced[1:],
        duration=round(1000 / fps),
        loop=0,
        optimize=True,
    )
    return write_file(target, buffer.getvalue())


def _palette(frame: Any, n_colours: int, background: str) -> Any:
    """Return a palette of the frame's colours, with the page and the classes exactly as named."""
    from matplotlib.colors import to_rgb
    from PIL import Image

    named = [to_rgb(colour) for colour in (background, BLUE, VERMILION, GREY)]
    exact = np.round(255 * np.array(named)).astype(int)
    n_found = n_colours - len(exact)
    found = np.reshape(frame.quantize(n_found).getpalette()[: 3 * n_found], (-1, 3))
    # Pillow looks colours up in steps of eight: one that near would be taken for the exact one.
    apart = np.abs(found[:, None] - exact).max(axis=2).min(axis=1) > 8
    palette = Image.new("P", (1, 1))
    palette.putpalette(np.concatenate([exact, found[apart]]).ravel().tolist())
    return palette


def _frames(ax: Any, n_frames: int, dpi: int, background: str) -> list[Any]:
    import matplotlib as mpl
    from PIL import Image

    elevation, azimuth = ax.elev, ax.azim
    frames = []
    try:
        for turn in np.arange(n_frames) / n_frames:
            # A slight nod shows the surfaces from above and from the side.
            ax.view_init(elevation + 8 * np.sin(2 * np.pi * turn), azimuth + 360 * turn)
            buffer = BytesIO()
            # Cut to its content, each frame would have a size of its own.
            with mpl.rc_context({"savefig.bbox": "standard"}):
                ax.figure.savefig(buffer, format="png", dpi=dpi, facecolor=background)
            frames.append(Image.open(buffer).convert("RGB"))
    finally:
        ax.view_init(elevation, azimuth)
    return frames


def data_figure(points: ClassRows, *, title: str | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw a table in the way that fits its number of columns.

    One column gives a strip for each class, two a scatter plot, three a scatter plot in space.
    """
    if points.n_columns > 3:
        raise InvalidInputError(
            f"A figure of the rows has up to three columns, got {points.n_columns}."
        )
    with figure_style():
        drawn = (_strips, _scatter, _space)[points.n_columns - 1](points, ax)
        if title is not None:
            drawn.set_title(label(title, 60), pad=24 if points.n_columns == 2 else 8)
    n_rows = f"{len(points.y)} rows"
    said = (
        f"{n_rows} in strips by class, spread vertically to show ties."
        if points.n_columns == 1
        else f"{n_rows}; each mark is a row."
    )
    drawn.set_label(said + points.marks_words())
    return drawn


def _strips(points: ClassRows, ax: "Axes | None") -> "Axes":
    n_classes = len(points.class_names)
    ax = new_axes(ax, figsize=(5.6, 1.4 + 0.5 * n_classes))
    values = points.X[:, 0]
    draw_points(ax, points, (values, points.y - 0.32 + 0.64 * spread_apart(values)))
    ax.set_yticks(
        range(n_classes),
        [f"{points.class_title(k)}\n({points.of_class(k).sum()})" for k in range(n_classes)],
    )
    ax.set_ylim(-0.5, n_classes - 0.5)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(points.title(0))
    return ax


def _scatter(points: ClassRows, ax: "Axes | None") -> "Axes":
    ax = new_axes(ax, figsize=(5.2, 4.4))
    draw_points(ax, points, points.X.T)
    ax.set_xlabel(points.title(0))
    ax.set_ylabel(points.title(1))
    classes_above(ax)
    return ax


def _space(points: ClassRows, ax: "Axes | None") -> "Axes":
    sides = [frame(points.X[:, place], 0.05, 3) for place in range(3)]
    box: Axes = axes_3d(points, range(3), sides, ax)
    classes_above(box, height=0.93)
    return box
