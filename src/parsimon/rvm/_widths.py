"""The two choices of widths: one for all inputs, or one for each.

A width for each input column, starting from one for all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parsimon._random import Seed
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes import SparseBayes
from parsimon.kernels import (
    Kernel,
    Laplacian,
    MultiResolution,
    Polynomial,
    Sigmoid,
    SquaredExponential,
)
from parsimon.kernels._leaf import Leaf, as_leaf
from parsimon.rvm._width_families import Box, KernelFamily, Task, kernel_box
from parsimon.rvm._width_search import (
    GRID,
    MOST_ROWS,
    STARTS,
    Ascent,
    Limits,
    Setting,
    Walk,
    ascended,
    common_climb,
    evidence_slope,
    one_width,
    own_kernel,
    prepared,
)

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


@dataclass(frozen=True, eq=False)
class WidthFit:
    """Widths chosen by evidence, and the sparse models that they were chosen with.

    kernel: With the chosen widths; give it to `parsimon.rvm._dictionary.make_basis`.
    gamma: For a named kernel with one width, what the name calls gamma.
    input_relevance (d,): From `input_widths`: the factor of each input in the kernel's
        exponent, in units of the input's standard deviation, so that inputs can be compared.
    log_evidence: Of the chosen model on `rows`, summed over the problems.
    fits: One for each problem, on `rows`; where no centres were given their columns are the
        bias, if there is one, and the functions centred on these rows.
    rows (r,): Training rows that were used.
    history (n_accepted + 1,): Log evidence less the price of the columns after each accepted
        step, ascending.
    n_fits: Sparse fits, the grid of starts included.
    converged: False if the rounds or the time ran out.
    """

    kernel: Kernel | MultiResolution
    gamma: float | None
    input_relevance: Array | None
    log_evidence: float
    fits: tuple[SparseBayes, ...]
    rows: Indices
    history: Array
    n_fits: int
    converged: bool


def best_gamma(
    kernel: Any,
    X: Array,
    targets: Array,
    *,
    task: Task,
    degree: int = 3,
    coef0: float = 0.0,
    bias: bool = True,
    centres: Any = None,
    row_weights: Array | None = None,
    options: Mapping[str, Any] | None = None,
    price: float | str = "bic",
    max_rows: int = MOST_ROWS,
    max_rounds: int = 10,
    tolerance: float = 0.1,
    time_limit: float | None = None,
    random_state: Seed = None,
) -> WidthFit:
    r"""Choose the width of a kernel by the evidence of the sparse model.

    A model in which all functions share one precision shows where to look. Sparse fits on a grid of
    widths round there follow, each beginning with its neighbour's; from the best of them, gradient
    steps on the widths [1] and sparse fits take turns for as long as the evidence rises. The
    gradient is exact: that of the evidence for the design matrix, times that of the kernel.

    The evidence of a relevance vector machine is a likelihood maximised over as many precisions as
    there are columns in the model, and narrow functions need many of them: bare, it prefers widths
    that overfit, with more relevance vectors and greater errors on new rows. Widths are therefore
    compared at a price for each column.

    Shapes: X (n, d), targets (n,), centres (c, d), row_weights (n,).

    [1] Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", appendix C,
    adapts the widths of each input with the same gradient.
    [2] Schwarz (1978), "Estimating the dimension of a model", Ann. Statist. 6:461-464.
    """
    setting = prepared(
        X,
        targets,
        task=task,
        bias=bias,
        centres=centres,
        row_weights=row_weights,
        options=options,
        price=price,
        limits=Limits(max_rows, max_rounds, tolerance, time_limit),
        random_state=random_state,
    )
    own = own_kernel(kernel, setting.problems.X, degree=degree, coef0=coef0)
    ascent = one_width(own, setting, keep_given=not isinstance(kernel, str))
    return _result(ascent, setting, gamma=_gamma(kernel, ascent.state.family.kernel))


def input_widths(
    kernel: Any,
    X: Array,
    targets: Array,
    *,
    task: Task,
    bias: bool = True,
    centres: Any = None,
    row_weights: Array | None = None,
    options: Mapping[str, Any] | None = None,
    price: float | str = "bic",
    max_rows: int = MOST_ROWS,
    max_rounds: int = 10,
    tolerance: float = 0.1,
    time_limit: float | None = None,
    random_state: Seed = None,
) -> WidthFit:
    r"""Choose a width for each input column by the evidence of the sparse model.

    The kernel becomes :math:`\exp(-\sum_j \eta_j (x_j - z_j)^2)`, or its like, and
    :math:`\log \eta` follows the exact gradient of the evidence: first that of a model in which all
    functions share one precision, from widths in proportion to the inputs' standard deviations;
    inputs whose own width adds less than its price to that evidence are left out, with
    :math:`\eta_j` next to zero. From there, and from the best single width (`best_gamma`), that of
    the sparse model. The evidence, less the price of the columns, is never lower than with one
    width.

    The evidence can be overfitted: with d widths to choose, a few dozen rows and many inputs leave
    room for widths that explain noise. Trust small relevances more than large ones, and check on
    other rows where rows are fewer than, say, ten for each input.

    Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", section 5.2 and
    appendix C.
    """
    setting = prepared(
        X,
        targets,
        task=task,
        bias=bias,
        centres=centres,
        row_weights=row_weights,
        options=options,
        price=price,
        limits=Limits(max_rows, max_rounds, tolerance, time_limit),
        random_state=random_state,
    )
    leaf = shared_width(own_kernel(kernel, setting.problems.X))
    single = one_width(leaf, setting.halved(), keep_given=not isinstance(kernel, str))
    ascent = width_each(single, setting)
    return replace(
        _result(ascent, setting, gamma=None),
        input_relevance=input_relevance(ascent.state.family.kernel, setting.problems.X),
    )


def _gamma(name: Any, kernel: Kernel | MultiResolution) -> float | None:
    """Return what scikit-learn calls gamma, if a name was given."""
    if isinstance(name, str) and name == "rbf" and isinstance(kernel, SquaredExponential):
        return 0.5 / kernel.numbers("lengthscale")[0] ** 2
    if isinstance(name, str) and isinstance(kernel, Laplacian):
        return 1.0 / kernel.numbers("lengthscale")[0]
    if isinstance(name, str) and isinstance(kernel, Polynomial | Sigmoid):
        return kernel.scale
    return None


def _result(ascent: Ascent, setting: Setting, *, gamma: float | None) -> WidthFit:
    family = ascent.state.family
    fits = setting.problems.fit(family, ascent.state.fits)
    return WidthFit(
        kernel=family.kernel,
        gamma=gamma,
        input_relevance=None,
        log_evidence=sum(fit.log_evidence for fit in fits),
        fits=fits,
        rows=setting.rows,
        history=ascent.history,
        n_fits=ascent.n_fits + 1,
        converged=ascent.converged,
    )


__all__ = ["WidthFit", "best_gamma", "input_relevance", "input_widths"]
