"""Surfaces of equal value in a grid of numbers, by marching tetrahedra."""

import itertools

import numpy as np

from parsimon._typing import Array, Indices, Mask

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
    cells, heights = _crossed(values, level)
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
        pieces.append(_turned(cut, corners[these], count).reshape(-1, 3, 3))
    triangles = np.concatenate(pieces)
    return triangles[_areas(triangles) > 0]


# For each number of corners above the level, the edges (a, b) that a triangle's corners lie on.
_EDGES = {
    1: np.array([[(0, 1), (0, 2), (0, 3)]]),
    2: np.array([[(0, 2), (0, 3), (1, 3)], [(0, 2), (1, 3), (1, 2)]]),
    3: np.array([[(3, 0), (3, 1), (3, 2)]]),
}


def _crossed(values: Array, level: float) -> tuple[Indices, Array]:
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
    met: Array = corners[:, start] + share[..., None] * (corners[:, stop] - corners[:, start])
    return met


def _turned(cut: Array, corners: Array, count: int) -> Array:
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
    areas: Array = 0.5 * np.linalg.norm(_normals(triangles), axis=-1)
    return areas
