"""Which rows, which centres and which kernel a choice of widths works with, and where it begins."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from parsimon._options import check_positive
from parsimon._random import Seed, generator
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.kernels import Kernel, MultiResolution, SquaredExponential, as_kernel
from parsimon.rvm.basis import make_basis, named_kernel
from parsimon.rvm.widths.climb import common_climb
from parsimon.rvm.widths.families import (
    Family,
    KernelFamily,
    ResolutionFamily,
    kernel_box,
    resolution_box,
)
from parsimon.rvm.widths.problems import Fits, Problems, Task
from parsimon.rvm.widths.search import Ascent, State, ascend, walk

# Rows on which widths are chosen when there are more.
MOST_ROWS = 2000
# Widths over the standard deviation of the data at which a search begins.
STARTS = (1.0, 0.25)
# Sparse fits, the widest first, over the best width of a model with one common precision.
GRID = (4.0, 2.0, 1.0, 0.5)
_NAMED = ("rbf", "laplacian", "poly", "sigmoid")


class Walk(NamedTuple):
    """Thetas one after the other.

    Shapes: thetas (g, p).

    bounds (p, 2): Within which an ascent from one of them stays.
    starts: To begin the first fit with.
    """

    thetas: Array
    bounds: Array
    starts: Fits | None = None


@dataclass(frozen=True)
class Limits:
    """How much work a choice of widths may be; see `best_gamma`."""

    max_rows: int = MOST_ROWS
    max_rounds: int = 10
    tolerance: float = 0.1
    time_limit: float | None = None


@dataclass(frozen=True, eq=False)
class Setting:
    """The problems on the chosen rows, where functions sit, and the limits.

    `width_price` is what the width of an input must add to the log evidence to be kept.
    """

    problems: Problems
    points: Array
    bias: bool
    rows: Indices
    limits: Limits
    width_price: float
    seed: int

    def rng(self) -> np.random.Generator:
        """Return a generator, the same at every call."""
        return np.random.default_rng(self.seed)

    def halved(self) -> "Setting":
        """Return the same with half of the time."""
        if self.limits.time_limit is None:
            return self
        deadline = monotonic() + self.limits.time_limit / 2
        return replace(self, problems=replace(self.problems, deadline=deadline))


def prepared(
    X: Array,
    targets: Array,
    *,
    task: Task,
    bias: bool,
    centres: Any,
    row_weights: Array | None,
    options: Mapping[str, Any] | None,
    price: float | str,
    limits: Limits,
    random_state: Seed,
) -> Setting:
    """Choose rows and centres, and bring the problems into one form; see `best_gamma`."""
    rng = generator(random_state)
    rows = _chosen_rows(targets, task, row_weights, limits.max_rows, rng)
    weights = None if row_weights is None else row_weights[rows]
    basis = make_basis(
        SquaredExponential(), X[rows], centres=centres, row_weights=weights, random_state=rng
    )
    cost = _price(price, len(rows) if weights is None else float(weights.sum()))
    problems = Problems(
        task,
        X[rows],
        np.atleast_2d(np.asarray(targets, dtype=np.float64)[rows].T),
        weights,
        options or {},
        0.0 if (options or {}).get("prior", "ard") != "ard" and price == "bic" else cost,
        None if limits.time_limit is None else monotonic() + limits.time_limit,
    )
    points = X[rows] if basis.centres is None else basis.centres
    return Setting(problems, points, bias, rows, limits, cost, int(rng.integers(2**31)))


def _price(price: float | str, n_rows: float) -> float:
    if price == "bic":
        return 0.5 * float(np.log(n_rows))
    return check_positive('price is "bic" or a number; price', price, or_zero=True)


def _chosen_rows(
    targets: Array,
    task: Task,
    row_weights: Array | None,
    most: int,
    rng: np.random.Generator,
) -> Indices:
    """Return at most about so many rows, ascending; in classification a share of each class."""
    if task not in ("regression", "classification"):
        raise InvalidInputError(f'task must be "regression" or "classification", got {task!r}.')
    used = np.arange(len(targets)) if row_weights is None else np.flatnonzero(row_weights > 0)
    if not len(used):
        raise InvalidInputError("Every row has weight zero; give at least one a positive weight.")
    if len(used) <= most:
        return used
    groups = np.zeros(len(used), dtype=np.intp)
    if task == "classification":
        groups = np.unique(targets[used], axis=0, return_inverse=True)[1].reshape(-1)
    order = rng.permutation(len(used))
    chosen = []
    for group in np.unique(groups):
        own = order[groups[order] == group]
        chosen.append(own[: max(1, round(most * len(own) / len(used)))])
    rows: Indices = used[np.sort(np.concatenate(chosen))]
    return rows


def own_kernel(
    kernel: Any, X: Array, *, degree: int = 3, coef0: float = 0.0
) -> Kernel | MultiResolution:
    """Return what has widths to choose: a kernel for a name, and kernels as they are."""
    if isinstance(kernel, Kernel | MultiResolution):
        return kernel
    if isinstance(kernel, str) and kernel in ("poly", "sigmoid"):
        # Without coef0 the gamma of "poly" is only a factor; it keeps this value.
        return named_kernel(kernel, X, degree=degree, coef0=coef0)
    if isinstance(kernel, str) and kernel in (*_NAMED, "linear"):
        return as_kernel(kernel)
    what = repr(kernel) if isinstance(kernel, str) else f"a {type(kernel).__name__}"
    raise InvalidInputError(
        f"The evidence chooses widths of {', '.join(_NAMED)}, of a kernel of parsimon.kernels and "
        f"of MultiResolution; {what} has none that is known. Give gamma as a number."
    )


def one_width(kernel: Kernel | MultiResolution, setting: Setting, *, keep_given: bool) -> Ascent:
    """Choose all that is free in a kernel, from a grid of starts and from what was given."""
    X = setting.problems.X
    family: Family
    if isinstance(kernel, MultiResolution):
        family = ResolutionFamily(kernel, setting.points, setting.bias or kernel.bias)
        box = resolution_box(kernel, X)
    else:
        family, box = KernelFamily(kernel, setting.points, setting.bias), kernel_box(kernel, X)
    if box.is_fixed:
        return ascended(family, [Walk(family.theta[None], box.bounds)], setting)
    middle, _ = common_climb(
        family,
        setting.problems,
        np.clip(box.start + np.log(STARTS)[:, None] * box.widths, *box.bounds.T),
        box.bounds,
        setting.rng(),
    )
    walks: list[Walk] = [Walk(middle.theta + np.log(GRID)[:, None] * box.widths, box.bounds)]
    if keep_given:
        walks.append(Walk(family.theta[None], box.bounds))
    return ascended(family, walks, setting)


def ascended(family: Family, walks: list[Walk], setting: Setting) -> Ascent:
    """Walk, and ascend from the best place seen; see `walk` and `ascend`."""
    found: list[tuple[State, Array]] = []
    for thetas, bounds, starts in walks:
        inside = np.clip(thetas, *bounds.T)
        # Equal starts, at a bound or because nothing may move, are one.
        order = np.sort(np.unique(inside, axis=0, return_index=True)[1])
        states = walk(family, setting.problems, inside[order], starts)
        found += [(state, bounds) for state in states]
    best, bounds = max(found, key=lambda each: each[0].rank)
    is_fixed = bool((bounds[:, 0] == bounds[:, 1]).all())
    ascent = ascend(
        best,
        setting.problems,
        bounds,
        max_rounds=0 if is_fixed else setting.limits.max_rounds,
        tolerance=setting.limits.tolerance,
    )
    return replace(
        ascent, n_fits=ascent.n_fits + len(found), converged=ascent.converged or is_fixed
    )
