"""Maximum evidence over widths: sparse fits and gradient steps, in turn.

`climb` moves the widths of the columns in the model; a sparse fit then decides anew which columns
those are. `ascend` does the two in turn and accepts only what raises the score, the evidence less
a price for each column. The number of columns in the model makes a gradient step cheap, the
number of columns to choose from makes a fit dear.

Which rows, which centres and which kernel a choice of widths works with, and where it begins.

Gradient steps on widths, with the columns in the model held fixed.

`climb` moves the widths of a sparse model. `common_climb` moves those of a model without sparsity,
in which all functions share one precision: with so few numbers to choose, its evidence can hardly
be overfitted, and it shows where a sparse model should begin.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from parsimon._checks import check_positive
from parsimon._random import Seed, generator
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.kernels import Kernel, MultiResolution, SquaredExponential, as_kernel
from parsimon.optimise import minimise
from parsimon.rvm._dictionary import make_basis, named_kernel
from parsimon.rvm._width_families import (
    Family,
    Fits,
    KernelFamily,
    Problems,
    ResolutionFamily,
    Task,
    kernel_box,
    resolution_box,
)

# How far the logarithm of a prior precision or of the noise variance moves in one climb.
_REACH = 10.0
_STEPS = 40
# Functions in the model in which all share one precision; each step costs their square.
MOST_COMMON = 150
# Prior variance of a latent function of log odds; share of the targets' variance that is noise.
_LATENT_VARIANCE = 4.0
_NOISE_SHARE = 0.1


class Part(NamedTuple):
    """The columns and hyperparameters of one problem.

    Shapes: active (m,), log_alpha (g,), log_noise (1,).

    group (m,): Which entry of `log_alpha` is a column's precision.
    """

    active: Indices
    group: Indices
    log_alpha: Array
    log_noise: Array

    @property
    def noise_variance(self) -> float | None:
        """The noise variance, None in classification."""
        return float(np.exp(self.log_noise[0])) if len(self.log_noise) else None

    def moved(self, values: Array) -> "Part":
        """Return the part at other values of its hyperparameters, all in one vector."""
        log_alpha, log_noise = np.split(values, [len(self.log_alpha)])
        return self._replace(log_alpha=log_alpha, log_noise=log_noise)


def climb(fits: Fits, family: Family, problems: Problems, bounds: Array) -> tuple[Family, Fits]:
    """Move the widths of a sparse model up its evidence, the columns in it as they are.

    Prior precisions and the noise variance move along, since the best widths depend on them.

    Shapes: bounds (p, 2).
    """
    parts = [
        Part(
            fit.active,
            np.arange(len(fit.active)),
            np.log(fit.alpha),
            np.log([] if fit.noise_variance is None else [fit.noise_variance]),
        )
        for fit in fits
    ]
    moved, found = _maximised(family, problems, parts, family.theta, bounds)
    starts = [
        replace(fit, alpha=np.exp(part.log_alpha), noise_variance=part.noise_variance)
        for fit, part in zip(fits, found, strict=True)
    ]
    return moved, tuple(starts)


def common_climb(
    family: Family,
    problems: Problems,
    starts: Array,
    bounds: Array,
    rng: np.random.Generator,
) -> tuple[Family, list[Part]]:
    """Move the widths of a model in which all functions share one precision up its evidence.

    Shapes: starts (s, p), bounds (p, 2).
    """
    first = int(family.bias)
    n_functions = family.n_columns - first
    chosen = rng.choice(n_functions, min(n_functions, MOST_COMMON), replace=False)
    active = np.concatenate([np.arange(first), first + np.sort(chosen)])
    group = np.minimum(np.arange(len(active)), first)
    squares = np.mean(family.moved(starts[0]).design(problems.X, active[first:]) ** 2)
    parts = []
    for target in problems.targets:
        size, noise = _LATENT_VARIANCE, np.empty(0)
        if problems.task == "regression":
            size = float(np.var(target)) or 1.0
            given = problems.options.get("noise_variance")
            noise = np.log([_NOISE_SHARE * size if given is None else given])
        functions = np.log(max(len(chosen) * float(squares), 1e-12) / size)
        bias = -np.log(size + np.mean(target) ** 2)
        parts.append(Part(active, group, np.array([bias] * first + [functions]), noise))
    free = replace(problems, options={**problems.options, "prior": "ard"})
    return _maximised(family, free, parts, starts, bounds)


def _maximised(
    family: Family, problems: Problems, parts: list[Part], starts: Array, bounds: Array
) -> tuple[Family, list[Part]]:
    """Move theta, precisions and noise variances to a maximum of the evidence."""
    values = np.concatenate([np.concatenate([part.log_alpha, part.log_noise]) for part in parts])
    reach = np.concatenate([_reach(part, problems) for part in parts])
    thetas = np.atleast_2d(starts)
    n_theta = thetas.shape[1]
    ends = np.cumsum([len(part.log_alpha) + len(part.log_noise) for part in parts])[:-1]

    def unpacked(x: Array) -> tuple[Family, list[Part]]:
        pieces = np.split(x[n_theta:], ends)
        own = [part.moved(piece) for part, piece in zip(parts, pieces, strict=True)]
        return family.moved(x[:n_theta]), own

    def objective(x: Array) -> tuple[float, Array]:
        value, slope = evidence_slope(*unpacked(x), problems)
        return -value, -slope

    begin = np.hstack([thetas, np.tile(values, (len(thetas), 1))])
    try:
        lowest = minimise(
            objective,
            begin,
            np.vstack([bounds, np.stack([values - reach, values + reach], axis=1)]),
            max_iterations=_STEPS,
            value_tolerance=1e-7,
            gradient_tolerance=1e-4,
            time_limit=problems.time_left,
        )
    except np.linalg.LinAlgError:
        # Not one evaluation succeeded: stay.
        return unpacked(begin[0])
    return unpacked(lowest.x)


def evidence_slope(family: Family, parts: list[Part], problems: Problems) -> tuple[float, Array]:
    r"""Return the log evidence of all problems and its slope.

    Multiplying column m by c is the same as dividing :math:`\alpha_m` by :math:`c^2`, hence
    :math:`dL/d\log\alpha_m = -\frac12 \sum_i \Phi_{im} dL/d\Phi_{im}`.
    """
    total, theta_slope = 0.0, np.zeros(len(family.theta))
    slopes: list[Any] = [theta_slope]
    for which, part in enumerate(parts):
        design = family.design(problems.X, part.active)
        alpha = np.exp(part.log_alpha)[part.group]
        value, slope, noise_slope = problems.evidence(design, which, alpha, part.noise_variance)
        total += value
        theta_slope += family.slope(problems.X, part.active, slope)
        own = -0.5 * np.einsum("nm,nm->m", design, slope)
        slopes.append(np.bincount(part.group, own, minlength=len(part.log_alpha)))
        slopes.append([noise_slope] * len(part.log_noise))
    return total, np.concatenate(slopes)


def _reach(part: Part, problems: Problems) -> Array:
    """Return how far each hyperparameter of a part may move."""
    alpha = np.full(len(part.log_alpha), _REACH if problems.moves_precisions else 0.0)
    noise = np.full(len(part.log_noise), _REACH if problems.moves_noise else 0.0)
    return np.concatenate([alpha, noise])


# Fits in a row that are worse than the best before a walk over widths ends.
_WORSE = 2


@dataclass(frozen=True, eq=False)
class State:
    """A family, the sparse fits to it and what they reach together.

    price: Of a column.
    """

    family: Family
    fits: Fits
    price: float

    @property
    def score(self) -> float:
        """The sum over problems of what sparse Bayesian learning maximises, less the price."""
        return sum(fit.objective - self.price * len(fit.active) for fit in self.fits)

    @property
    def is_flat(self) -> bool:
        """Whether no function is in any model, so that widths say nothing."""
        first = int(self.family.bias)
        return all((fit.active < first).all() for fit in self.fits)

    @property
    def rank(self) -> tuple[bool, float]:
        """What is compared: flat models last, since their width is any width; then the score."""
        return not self.is_flat, self.score


@dataclass(frozen=True, eq=False)
class Ascent:
    """Where an ascent ended.

    history (n_accepted + 1,): The score, ascending.
    converged: False if the rounds or the time ran out.
    """

    state: State
    history: Array
    n_fits: int
    converged: bool


def ascend(
    state: State,
    problems: Problems,
    bounds: Array,
    *,
    max_rounds: int,
    tolerance: float,
) -> Ascent:
    """Climb and fit in turn, and fit afresh in the end.

    Shapes: bounds (p, 2).
    """
    history, n_fits = [state.score], 0
    converged = state.is_flat and problems.time_left != 0.0
    for _ in range(0 if state.is_flat else max_rounds):
        if problems.time_left == 0.0:
            break
        family, starts = climb(state.fits, state.family, problems, bounds)
        found = State(family, problems.fit(family, starts, roughly=True), problems.price)
        n_fits += 1
        gain = found.score - state.score
        if gain > 0 and not found.is_flat:
            state = found
            history.append(state.score)
        if gain < tolerance:
            converged = True
            break
    if history[1:] and problems.time_left != 0.0:
        # Columns that came along from other widths may be in the way of better ones.
        fresh = State(state.family, problems.fit(state.family, roughly=True), problems.price)
        n_fits += 1
        if fresh.score > state.score and not fresh.is_flat:
            state = fresh
            history.append(state.score)
    return Ascent(state, np.array(history), n_fits, converged)


def walk(
    family: Family, problems: Problems, thetas: Array, starts: Fits | None = None
) -> list[State]:
    """Fit at each theta, in order, each fit beginning with the one before.

    The walk ends when two fits in a row are worse than the best so far.

    Shapes: thetas (g, p).
    """
    states: list[State] = []
    best, n_worse = -np.inf, 0
    for theta in thetas:
        if states and (n_worse == _WORSE or problems.time_left == 0.0):
            break
        moved = family.moved(theta)
        starts = problems.fit(moved, starts, roughly=True)
        states.append(State(moved, starts, problems.price))
        n_worse = n_worse + 1 if states[-1].score < best else 0
        best = max(best, states[-1].score)
    return states


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
