"""Pictures of a kernel: how similarity falls off, and functions drawn from its prior."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._random import Seed, generator
from parsimon._style import BLUE, CYCLE, GREY, figure_style, sequential_colours
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.kernels._scales import checked_matrix
from parsimon.kernels.base import Kernel
from parsimon.kernels.combination import Combination
from parsimon.kernels.leaf import as_leaf
from parsimon.kernels.words import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def sample_prior(kernel: Kernel, X: Any, n_samples: int = 1, *, random_state: Seed = None) -> Array:
    """Draw functions with this kernel as covariance and mean zero, at the rows of X.

    Parameters
    ----------
    kernel : Kernel
        Positive semi-definite.
    X : array-like of shape (n, d)
        Where to evaluate; the cost grows with the cube of n.
    n_samples : int, default 1
        Number of functions.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    ndarray of shape (n_samples, n)

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> sample_prior(SquaredExponential(0), [[0.0], [0.1], [5.0]], 2, random_state=0).shape
    (2, 3)
    """
    if not kernel.is_psd:
        raise InvalidInputError(
            f"{kernel} is not positive semi-definite: no function has it as its covariance."
        )
    if n_samples < 1:
        raise InvalidInputError(f"n_samples must be 1 or more, got {n_samples}.")
    values, vectors = np.linalg.eigh(kernel.gram(X))
    # The symmetric root does not depend on the signs of eigenvectors, which differ between
    # machines; rounding may leave eigenvalues just below zero.
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return generator(random_state).standard_normal((n_samples, len(values))) @ root


_CURVE_POINTS = 241
# Squared, this many rows: a draw costs the cube of it.
_SURFACE_POINTS = 31


def plot(
    kernel: Kernel,
    X: Any = None,
    *,
    names: Sequence[str] | None = None,
    n_samples: int = 4,
    random_state: Seed = 0,
    kind: str = "contour",
    axes: "Sequence[Axes] | None" = None,
) -> AnyArray:
    """Draw a kernel of one or two columns: similarity to the middle, and prior functions.

    With one column the panels hold a curve and `n_samples` draws; with two, contours or surfaces
    of the similarity and of one draw. A kernel that is not positive semi-definite has no prior,
    and one panel.

    Parameters
    ----------
    kernel : Kernel
        With one or two active columns.
    X : array-like of shape (n, d), optional
        Its range is drawn; without it, three lengthscales to each side of zero.
    names : sequence of str, optional
        Column names for the axes.
    n_samples : int, default 4
        Number of curves in the second panel.
    random_state : int, Generator or None, default 0
        Seed of the draws.
    kind : {"contour", "surface"}
        How two columns are drawn.
    axes : sequence of Axes, optional
        Where to draw, one for each panel; three-dimensional ones for surfaces.

    Returns
    -------
    ndarray of Axes
        One or two.

    Examples
    --------
    >>> from parsimon.kernels import Periodic
    >>> len(plot(Periodic(0, period=2.0)))
    2
    """
    if kind not in {"contour", "surface"}:
        raise InvalidInputError(f'kind must be "contour" or "surface", got {kind!r}.')
    columns = _drawn_columns(kernel, X)
    if len(columns) > 2:
        raise InvalidInputError(
            f"{kernel} acts on {len(columns)} columns, and a picture holds two. Plot its parts: "
            "see sum_of_products."
        )
    with figure_style():
        if axes is None:
            axes = _panels(kernel, "3d" if kind == "surface" and len(columns) == 2 else None)
        labels = [f"x{column + 1}" if names is None else str(names[column]) for column in columns]
        grid = [_limits(kernel, X, column) for column in columns]
        drawn = (kernel, columns, grid, labels, axes)
        if len(columns) == 1:
            _draw_curves(*drawn, n_samples, random_state)
        else:
            _draw_surfaces(*drawn, kind, random_state)
        axes[0].figure.suptitle(plain(kernel, names), fontsize=13, fontweight="bold")
    return np.array(axes, dtype=object)


def _drawn_columns(kernel: Kernel, X: Any) -> tuple[int, ...]:
    if kernel.columns is not None:
        return tuple(kernel.columns) or (0,)
    return (0,) if X is None else tuple(range(checked_matrix(X).shape[1]))


def _panels(kernel: Kernel, projection: str | None) -> "Sequence[Axes]":
    import matplotlib.pyplot as plt

    n_panels = 2 if kernel.is_psd else 1
    figure = plt.figure(figsize=(4.8 * n_panels, 3.9), layout="constrained")
    return [
        figure.add_subplot(1, n_panels, panel + 1, projection=projection)
        for panel in range(n_panels)
    ]


def _limits(kernel: Kernel, X: Any, column: int) -> tuple[float, float]:
    if X is not None:
        values = checked_matrix(X)[:, column]
        return float(values.min()), float(values.max())
    reach = 3 * _reach(kernel, column)
    return -reach, reach


def _reach(kernel: Kernel, column: int) -> float:
    """Return the largest length that the kernel knows in a column, or one."""
    if isinstance(kernel, Combination):
        found = [term for term in kernel.terms if term.columns is None or column in term.columns]
        return max((_reach(term, column) for term in found), default=1.0)
    leaf = as_leaf(kernel)
    for name, power in (("period", 1.0), ("lengthscale", 1.0), ("width", 0.5), ("widths", 0.5)):
        if name in leaf.hyperparameters:
            return float(max(leaf.numbers(name)) ** power)
    return 1.0


def _rows(columns: tuple[int, ...], values: Sequence[Array]) -> Array:
    """Return rows with these values in their columns and zero elsewhere."""
    X = np.zeros((len(values[0]), max(columns) + 1))
    X[:, columns] = np.column_stack(values)
    return X


def _draw_curves(
    kernel: Kernel,
    columns: tuple[int, ...],
    limits: list[tuple[float, float]],
    labels: list[str],
    axes: "Sequence[Axes]",
    n_samples: int,
    random_state: Seed,
) -> None:
    grid = np.linspace(*limits[0], _CURVE_POINTS)
    X = _rows(columns, [grid])
    # The middle of a line that is sure to be zero there would show nothing.
    place = _CURVE_POINTS // 2 if _is_stationary(kernel) else 3 * _CURVE_POINTS // 4
    axes[0].plot(grid, kernel.column(X, place), color=BLUE, linewidth=2.4)
    axes[0].axvline(grid[place], color=GREY, linewidth=1.2, linestyle="--")
    axes[0].set_title(f"Similarity to {labels[0]} = {_short(grid[place])}")
    axes[0].set_ylabel("kernel")
    if len(axes) > 1:
        draws = sample_prior(kernel, X, n_samples, random_state=random_state)
        for draw, colour in zip(draws, _repeated(CYCLE, len(draws)), strict=True):
            axes[1].plot(grid, draw, color=colour)
        axes[1].set_title("Functions from the prior")
        axes[1].set_ylabel("function")
    for ax in axes:
        ax.set_xlabel(labels[0])
        ax.margins(x=0)


def _draw_surfaces(
    kernel: Kernel,
    columns: tuple[int, ...],
    limits: list[tuple[float, float]],
    labels: list[str],
    axes: "Sequence[Axes]",
    kind: str,
    random_state: Seed,
) -> None:
    across, up = np.meshgrid(*(np.linspace(*pair, _SURFACE_POINTS) for pair in limits))
    X = _rows(columns, [across.ravel(), up.ravel()])
    middle = len(X) // 2
    if not _is_stationary(kernel):
        middle = (3 * _SURFACE_POINTS // 4) * (_SURFACE_POINTS + 1)
    heights = [kernel.column(X, middle)]
    point = f"({_short(X[middle, columns[0]])}, {_short(X[middle, columns[1]])})"
    titles = [f"Similarity to {point}", "A function from the prior"]
    if len(axes) > 1:
        heights.append(sample_prior(kernel, X, random_state=random_state)[0])
    draw: Callable[..., None] = _contours if kind == "contour" else _surface
    for ax, height, title in zip(axes, heights, titles, strict=False):
        draw(ax, across, up, height.reshape(across.shape))
        ax.set_title(title, loc="left")
        ax.set_xlabel(labels[0])
        ax.set_ylabel(labels[1])


def _contours(ax: Any, across: Array, up: Array, height: Array) -> None:
    filled = ax.contourf(across, up, height, levels=12, cmap=sequential_colours())
    ax.grid(visible=False)
    bar = ax.figure.colorbar(filled, ax=ax, pad=0.02)
    bar.outline.set_visible(False)


def _surface(ax: Any, across: Array, up: Array, height: Array) -> None:
    ax.plot_surface(
        across, up, height, cmap=sequential_colours(), rstride=1, cstride=1, linewidth=0
    )
    ax.view_init(elev=28, azim=-58)
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.pane.set_visible(False)
        axis._axinfo["grid"].update(color=GREY, linewidth=0.4)


def _is_stationary(kernel: Kernel) -> bool:
    if isinstance(kernel, Combination):
        return all(_is_stationary(term) for term in kernel.terms)
    return not hasattr(as_leaf(kernel), "_shifted")


def _repeated(colours: Sequence[str], number: int) -> list[str]:
    return [colours[place % len(colours)] for place in range(number)]


def _short(value: float) -> str:
    return f"{value:.3g}"
