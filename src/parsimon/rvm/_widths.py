"""Widths of basis functions by maximum evidence: one for all inputs, or one for each.

Read `best_gamma` first. Sparse fits and gradient steps take turns: a climb moves the widths of the
columns in the model, and a sparse fit then decides anew which columns those are. `ascend_widths`
accepts only what raises the score, the evidence less a price for each column. The number of
columns in the model makes a gradient step cheap, the number of columns to choose from makes a fit
dear.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from parsimon._random import Seed, generator
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes import SparseBayes
from parsimon.kernels import (
    Kernel,
    MultiResolution,
    SquaredExponential,
)
from parsimon.kernels.adapters import as_kernel
from parsimon.kernels.leaf import Leaf
from parsimon.rvm._dictionary import make_basis, named_kernel
from parsimon.rvm._width_evidence import (
    EvidenceProblems,
    Fits,
    KernelFamily,
    ResolutionFamily,
    Task,
    WidthBox,
    WidthFamily,
    climb_widths,
    common_climb,
    evidence_slope,
    input_box,
    input_deviations,
    input_relevance,
    kernel_box,
    resolution_box,
    shared_width,
)

# Fits in a row that are worse than the best before a walk over widths ends.
_WORSE = 2
# Climbs of an ascent, and the gain in log evidence at which it ends.
MAX_ROUNDS, LEAST_GAIN = 10, 0.1


@dataclass(frozen=True, eq=False)
class WidthState:
    """A family, the sparse fits to it and what they reach together.

    price: Of a column.
    """

    family: WidthFamily
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
class WidthAscent:
    """Where an ascent ended.

    history (n_accepted + 1,): The score, ascending.
    converged: False if the rounds or the time ran out.
    """

    state: WidthState
    history: Array
    converged: bool


def ascend_widths(
    state: WidthState, problems: EvidenceProblems, bounds: Array, max_rounds: int
) -> WidthAscent:
    """Climb and fit in turn, and fit afresh in the end.

    Shapes: bounds (p, 2).
    """
    history = [state.score]
    converged = state.is_flat and problems.time_left != 0.0
    for _ in range(0 if state.is_flat else max_rounds):
        if problems.time_left == 0.0:
            break
        family, starts = climb_widths(state.fits, state.family, problems, bounds)
        found = WidthState(family, problems.fit(family, starts, roughly=True), problems.price)
        gain = found.score - state.score
        if gain > 0 and not found.is_flat:
            state = found
            history.append(state.score)
        if gain < LEAST_GAIN:
            converged = True
            break
    if history[1:] and problems.time_left != 0.0:
        # Columns that came along from other widths may be in the way of better ones.
        fresh = WidthState(state.family, problems.fit(state.family, roughly=True), problems.price)
        if fresh.score > state.score and not fresh.is_flat:
            state = fresh
            history.append(state.score)
    return WidthAscent(state, np.array(history), converged)


def walk(
    family: WidthFamily, problems: EvidenceProblems, thetas: Array, starts: Fits | None = None
) -> list[WidthState]:
    """Fit at each theta, in order, each fit beginning with the one before.

    The walk ends when two fits in a row are worse than the best so far.

    Shapes: thetas (g, p).
    """
    states: list[WidthState] = []
    best, n_worse = -np.inf, 0
    for theta in thetas:
        if states and (n_worse == _WORSE or problems.time_left == 0.0):
            break
        moved = family.at(theta)
        starts = problems.fit(moved, starts, roughly=True)
        states.append(WidthState(moved, starts, problems.price))
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


class WidthWalk(NamedTuple):
    """Thetas one after the other.

    Shapes: thetas (g, p).

    bounds (p, 2): Within which an ascent from one of them stays.
    starts: To begin the first fit with.
    """

    thetas: Array
    bounds: Array
    starts: Fits | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class WidthProblem(EvidenceProblems):
    """The problems on the chosen rows, and where functions sit.

    Shapes: points (c, d), rows (r,).

    width_price: What the width of an input must add to the log evidence to be kept.
    """

    points: Array
    bias: bool
    rows: Indices
    width_price: float
    seed: int

    def rng(self) -> np.random.Generator:
        """Return a generator, the same at every call."""
        return np.random.default_rng(self.seed)

    def halved(self) -> "WidthProblem":
        """Return the same with half of the time that is left."""
        left = self.time_left
        return self if left is None else replace(self, deadline=monotonic() + left / 2)


def prepare_problem(
    X: Array,
    targets: Array,
    *,
    task: Task,
    bias: bool = True,
    centres: Any = None,
    row_weights: Array | None = None,
    options: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    random_state: Seed = None,
) -> WidthProblem:
    """Choose rows and centres, and bring the problems into one form.

    Shapes: X (n, d), targets (n,) or (n, k), centres (c, d), row_weights (n,).

    options: Keyword arguments of the sparse fits.
    """
    deadline, rng = (
        None if time_limit is None else monotonic() + time_limit,
        generator(random_state),
    )
    rows = chosen_rows(targets, task, row_weights, MOST_ROWS, rng)
    weights = None if row_weights is None else row_weights[rows]
    basis = make_basis(
        SquaredExponential(), X[rows], centres=centres, row_weights=weights, random_state=rng
    )
    price = column_price(len(rows) if weights is None else float(weights.sum()))
    options = options or {}
    return WidthProblem(
        task=task,
        X=X[rows],
        targets=np.atleast_2d(np.asarray(targets, dtype=np.float64)[rows].T),
        row_weights=weights,
        options=options,
        # A smooth prior has a price of its own.
        price=price if options.get("prior", "ard") == "ard" else 0.0,
        deadline=deadline,
        points=X[rows] if basis.centres is None else basis.centres,
        bias=bias,
        rows=rows,
        width_price=price,
        seed=int(rng.integers(2**31)),
    )


def column_price(n_rows: float) -> float:
    """Return what a column takes off the log evidence (Schwarz 1978, Ann. Statist. 6:461-464)."""
    return 0.5 * float(np.log(n_rows))


def chosen_rows(
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
    return used[np.sort(np.concatenate(chosen))]


def own_kernel(kernel: Any, X: Array) -> Kernel | MultiResolution:
    """Return what has widths to choose: a kernel for a name, and kernels as they are."""
    if isinstance(kernel, Kernel | MultiResolution):
        return kernel
    if isinstance(kernel, str) and kernel in ("poly", "sigmoid"):
        # Without coef0 the gamma of "poly" is only a factor; it keeps this value.
        return named_kernel(kernel, X)
    if isinstance(kernel, str) and kernel in (*_NAMED, "linear"):
        return as_kernel(kernel)
    what = repr(kernel) if isinstance(kernel, str) else f"a {type(kernel).__name__}"
    raise InvalidInputError(
        f"The evidence chooses widths of {', '.join(_NAMED)}, of a kernel of parsimon.kernels and "
        f"of MultiResolution; {what} has none that is known. Give gamma as a number."
    )


def one_width(
    kernel: Kernel | MultiResolution, problem: WidthProblem, *, keep_given: bool
) -> WidthAscent:
    """Choose all that is free in a kernel, from a grid of starts and from what was given."""
    X = problem.X
    family: WidthFamily
    if isinstance(kernel, MultiResolution):
        family = ResolutionFamily(kernel, problem.points, problem.bias or kernel.bias)
        box = resolution_box(kernel, X)
    else:
        family, box = KernelFamily(kernel, problem.points, problem.bias), kernel_box(kernel, X)
    if box.is_fixed:
        return ascend_best(family, [WidthWalk(family.theta[None], box.bounds)], problem)
    middle, _ = common_climb(
        family,
        problem,
        np.clip(box.start + np.log(STARTS)[:, None] * box.widths, *box.bounds.T),
        box.bounds,
        problem.rng(),
    )
    walks: list[WidthWalk] = [
        WidthWalk(middle.theta + np.log(GRID)[:, None] * box.widths, box.bounds)
    ]
    if keep_given:
        walks.append(WidthWalk(family.theta[None], box.bounds))
    return ascend_best(family, walks, problem)


def ascend_best(family: WidthFamily, walks: list[WidthWalk], problem: WidthProblem) -> WidthAscent:
    """Walk, and ascend from the best place seen; see `walk` and `ascend_widths`."""
    found: list[tuple[WidthState, Array]] = []
    for thetas, bounds, starts in walks:
        inside = np.clip(thetas, *bounds.T)
        # Equal starts, at a bound or because nothing may move, are one.
        order = np.sort(np.unique(inside, axis=0, return_index=True)[1])
        states = walk(family, problem, inside[order], starts)
        found += [(state, bounds) for state in states]
    best, bounds = max(found, key=lambda each: each[0].rank)
    is_fixed = bool((bounds[:, 0] == bounds[:, 1]).all())
    ascent = ascend_widths(best, problem, bounds, 0 if is_fixed else MAX_ROUNDS)
    return replace(ascent, converged=ascent.converged or is_fixed)


def width_each(single: WidthAscent, problem: WidthProblem) -> WidthAscent:
    """Give each input its own width, starting from the best common one."""
    family = single.state.family
    if not isinstance(family, KernelFamily) or not isinstance(family.kernel, Leaf):
        raise TypeError("Widths of inputs belong to a single kernel.")
    X = problem.X
    deviations = input_deviations(X, family.kernel.columns)
    common = family.kernel.numbers("lengthscale")
    apart = family.kernel.replaced(lengthscale=common * len(deviations))
    box = input_box(family.kernel, apart, deviations, X)
    family = replace(family, kernel=apart)
    walks = [WidthWalk(apart.theta[None], box.bounds, single.state.fits)]
    if not box.is_fixed:
        # In proportion to the deviations, and so that all inputs together make a distance.
        scaled = np.log(np.where(deviations > 0, deviations, 1.0) * np.sqrt(len(deviations)))
        starts = np.tile(apart.theta, (len(STARTS), 1))
        starts[:, box.widths] = scaled + np.log(STARTS)[:, None]
        theta, bounds = _common_widths(family, starts, box, problem)
        walks.append(WidthWalk(theta + np.log(GRID)[:, None] * box.widths, bounds))
    return ascend_best(family, walks, problem)


def _common_widths(
    family: KernelFamily, starts: Array, box: WidthBox, problem: WidthProblem
) -> tuple[Array, Array]:
    """Return the best theta of a model with one precision for all functions, and its bounds.

    The inputs that add less to its evidence than the price of a width are left out: their widths
    are held at the widest.
    """
    bounds = box.bounds.copy()
    while True:
        moved, parts = common_climb(family, problem, starts, bounds, problem.rng())
        theta, value = moved.theta, evidence_slope(moved, parts, problem)[0]
        left = np.flatnonzero(box.widths & (bounds[:, 0] < bounds[:, 1]))
        # The least relevant first; one input stays.
        for place in left[np.argsort(bounds[left, 1] - theta[left])][:-1]:
            without = theta.copy()
            without[place] = bounds[place, 1]
            reached = evidence_slope(family.at(without), parts, problem)[0]
            if reached > value - problem.width_price:
                theta, value, bounds[place, 0] = without, reached, bounds[place, 1]
        if np.count_nonzero(bounds[left, 0] < bounds[left, 1]) == len(left):
            return theta, bounds
        if problem.time_left == 0.0:
            return theta, bounds
        starts = theta[None]


@dataclass(frozen=True, eq=False)
class WidthFit:
    """Widths chosen by evidence, and the sparse models that they were chosen with.

    kernel: With the chosen widths; give it to `parsimon.rvm._dictionary.make_basis`.
    input_relevance (d,): From `input_widths`: the factor of each input in the kernel's
        exponent, in units of the input's standard deviation, so that inputs can be compared.
    log_evidence: Of the chosen model on `rows`, summed over the problems.
    fits: One for each problem, on `rows`; where no centres were given their columns are the
        bias, if there is one, and the functions centred on these rows.
    rows (r,): Training rows that were used.
    history (n_accepted + 1,): Log evidence less the price of the columns after each accepted
        step, ascending.
    converged: False if the rounds or the time ran out.
    """

    kernel: Kernel | MultiResolution
    input_relevance: Array | None
    log_evidence: float
    fits: tuple[SparseBayes, ...]
    rows: Indices
    history: Array
    converged: bool


def best_gamma(kernel: Any, X: Array, targets: Array, **options: Any) -> WidthFit:
    r"""Choose the width of a kernel by the evidence of the sparse model.

    A model in which all functions share one precision shows where to look. Sparse fits on a grid of
    widths round there follow, each beginning with its neighbour's; from the best of them, gradient
    steps on the widths [1] and sparse fits take turns for as long as the evidence rises. The
    gradient is exact: that of the evidence for the design matrix, times that of the kernel.

    The evidence of a relevance vector machine is a likelihood maximised over as many precisions as
    there are columns in the model, and narrow functions need many of them: bare, it prefers widths
    that overfit, with more relevance vectors and greater errors on new rows. Widths are therefore
    compared at a price for each column.

    Further options are those of `prepare_problem`.

    [1] Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", appendix C,
    adapts the widths of each input with the same gradient.
    """
    problem = prepare_problem(X, targets, **options)
    own = own_kernel(kernel, problem.X)
    ascent = one_width(own, problem, keep_given=not isinstance(kernel, str))
    return _result(ascent, problem)


def input_widths(kernel: Any, X: Array, targets: Array, **options: Any) -> WidthFit:
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
    problem = prepare_problem(X, targets, **options)
    leaf = shared_width(own_kernel(kernel, problem.X))
    single = one_width(leaf, problem.halved(), keep_given=not isinstance(kernel, str))
    ascent = width_each(single, problem)
    relevance = input_relevance(ascent.state.family.kernel, problem.X)
    return replace(_result(ascent, problem), input_relevance=relevance)


def _result(ascent: WidthAscent, problem: WidthProblem) -> WidthFit:
    family = ascent.state.family
    fits = problem.fit(family, ascent.state.fits)
    return WidthFit(
        kernel=family.kernel,
        input_relevance=None,
        log_evidence=sum(fit.log_evidence for fit in fits),
        fits=fits,
        rows=problem.rows,
        history=ascent.history,
        converged=ascent.converged,
    )
