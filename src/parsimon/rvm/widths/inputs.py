"""A width for each input column, starting from one for all."""

from dataclasses import replace
from typing import Any

import numpy as np

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.kernels import Kernel, Laplacian, MultiResolution
from parsimon.kernels.leaf import Leaf, as_leaf
from parsimon.rvm.widths.climb import common_climb, evidence_slope
from parsimon.rvm.widths.families import Box, KernelFamily, kernel_box
from parsimon.rvm.widths.search import Ascent
from parsimon.rvm.widths.setting import GRID, STARTS, Setting, Walk, ascended

# The widest and the narrowest width of one input, over its standard deviation.
_WIDEST, _NARROWEST = 1e3, 0.05


def width_each(single: Ascent, setting: Setting) -> Ascent:
    """Give each input its own width, starting from the best common one."""
    family = single.state.family
    if not isinstance(family, KernelFamily) or not isinstance(family.kernel, Leaf):
        raise TypeError("Widths of inputs belong to a single kernel.")
    X = setting.problems.X
    deviations = _deviations(X, family.kernel.columns)
    common = family.kernel.numbers("lengthscale")
    apart = family.kernel._replaced(lengthscale=common * len(deviations))
    box = _input_box(family.kernel, apart, deviations, X)
    family = replace(family, kernel=apart)
    walks = [Walk(apart.theta[None], box.bounds, single.state.fits)]
    if not box.is_fixed:
        # In proportion to the deviations, and so that all inputs together make a distance.
        scaled = np.log(np.where(deviations > 0, deviations, 1.0) * np.sqrt(len(deviations)))
        starts = np.tile(apart.theta, (len(STARTS), 1))
        starts[:, box.widths] = scaled + np.log(STARTS)[:, None]
        theta, bounds = _common_widths(family, starts, box, setting)
        walks.append(Walk(theta + np.log(GRID)[:, None] * box.widths, bounds))
    found = ascended(family, walks, setting)
    return replace(found, n_fits=found.n_fits + single.n_fits)


def _common_widths(
    family: KernelFamily, starts: Array, box: Box, setting: Setting
) -> tuple[Array, Array]:
    """Return the best theta of a model with one precision for all functions, and its bounds.

    The inputs that add less to its evidence than the price of a width are left out: their widths
    are held at the widest.
    """
    problems, bounds = setting.problems, box.bounds.copy()
    while True:
        moved, parts = common_climb(family, problems, starts, bounds, setting.rng())
        theta, value = moved.theta, evidence_slope(moved, parts, problems)[0]
        left = np.flatnonzero(box.widths & (bounds[:, 0] < bounds[:, 1]))
        # The least relevant first; one input stays.
        for place in left[np.argsort(bounds[left, 1] - theta[left])][:-1]:
            without = theta.copy()
            without[place] = bounds[place, 1]
            reached = evidence_slope(family.moved(without), parts, problems)[0]
            if reached > value - setting.width_price:
                theta, value, bounds[place, 0] = without, reached, bounds[place, 1]
        if np.count_nonzero(bounds[left, 0] < bounds[left, 1]) == len(left):
            return theta, bounds
        if problems.time_left == 0.0:
            return theta, bounds
        starts = theta[None]


def shared_width(kernel: Kernel | MultiResolution) -> Leaf:
    """Return the kernel with one lengthscale for all inputs, refusing what has none for each."""
    if (
        not isinstance(kernel, Leaf)
        or "lengthscale" not in kernel.several
        or "lengthscale" in kernel.fixed
    ):
        raise InvalidInputError(
            'input_relevance needs the kernel "rbf" or "laplacian", or a single '
            "SquaredExponential, Matern, RationalQuadratic or Laplacian whose lengthscale is free; "
            f"got {kernel}."
        )
    lengthscales = kernel.numbers("lengthscale")
    return kernel._replaced(lengthscale=float(np.exp(np.mean(np.log(lengthscales)))))


def _input_box(shared: Leaf, apart: Leaf, deviations: Array, X: Array) -> Box:
    """Return bounds that hold the widths of constant inputs and include the common width."""
    common = kernel_box(shared, X)
    is_width = np.concatenate(
        [np.full(len(apart.numbers(name)), name == "lengthscale") for name in apart.free]
    )
    start = apart.theta
    bounds = np.stack([start, start], axis=1)
    position = list(shared.free).index("lengthscale")
    bounds[~is_width] = np.delete(common.bounds, position, axis=0)
    varies = deviations > 0
    middle = np.log(np.where(varies, deviations, 1.0))
    limits = np.log([_NARROWEST, _WIDEST]) * varies[:, None]
    widths = np.where(varies[:, None], middle[:, None] + limits, bounds[is_width])
    bounds[is_width] = widths
    bounds[:, 0] = np.minimum(bounds[:, 0], start)
    bounds[:, 1] = np.maximum(bounds[:, 1], start)
    return Box(start, bounds, is_width)


def input_relevance(kernel: Kernel | MultiResolution, X: Array) -> Array:
    r"""Return how much each input counts in a kernel with a lengthscale for each.

    The factor :math:`\eta_j` of an input in the exponent, times its variance: with
    `SquaredExponential` :math:`\sigma_j^2 / 2 \ell_j^2`. In `Laplacian`, where differences are not
    squared, it is :math:`\sigma_j / \ell_j`. Zero for inputs that are constant or that the kernel
    does not see.

    Shapes: X (n, d) -> (d,).
    """
    leaf = as_leaf(kernel) if isinstance(kernel, Kernel) else None
    relevance = np.zeros(X.shape[1])
    if leaf is not None:
        deviations = _deviations(X, leaf.columns)
        share = deviations / np.array(leaf.numbers("lengthscale"))
        seen = slice(None) if leaf.columns is None else list(leaf.columns)
        relevance[seen] = share if isinstance(leaf, Laplacian) else 0.5 * share**2
    return relevance


def _deviations(X: Array, columns: Any) -> Array:
    """Return the standard deviations of the columns that count, exactly zero if constant."""
    seen = X if columns is None else X[:, list(columns)]
    largest = np.abs(seen).max(axis=0, initial=0.0)
    constant = np.ptp(seen, axis=0) <= 8 * np.finfo(np.float64).eps * largest
    return np.where(constant, 0.0, seen.std(axis=0))
