"""The evidence of sparse models as a function of widths, and its slopes.

`KernelFamily` is a kernel at fixed centres, its widths the free hyperparameters `theta`;
`ResolutionFamily` is a `MultiResolution` dictionary, whose widths move together. Both are values:
moving is `at`, which returns another one. A `WidthBox` says where theta may go, and
`EvidenceProblems` hold the rows and targets.

Gradient steps hold the columns in the model fixed. `climb_widths` moves the widths of a sparse
model. `common_climb` moves those of a model without sparsity, in which all functions share one
precision: with so few numbers to choose, its evidence can hardly be overfitted, and it shows where
a sparse model should begin.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.inference.irls import newton_step
from parsimon.inference.sparse_bayes import SparseBayes, sparse_classification, sparse_regression
from parsimon.inference.sparse_bayes.gradients import (
    laplace_design_gradient,
    regression_design_gradient,
)
from parsimon.kernels import Kernel, Laplacian, MultiResolution, SquaredExponential
from parsimon.kernels.leaf import Leaf, as_leaf
from parsimon.kernels.radial import squared_distances
from parsimon.optimise import minimise

# A width is no smaller than this share of the largest distance of two rows.
SMALLEST_WIDTH = 0.02
# Numbers whose squares, and sums of them, are numbers.
_SQUARES = (1e-150, 1e150)
# Derivatives held at once, 32 MB.
_MOST_ENTRIES = 4_000_000


@dataclass(frozen=True, eq=False)
class KernelFamily:
    """One function for each centre: a kernel's similarity with it.

    Shapes: centres (c, d).

    bias: Begin with a column of ones.
    """

    kernel: Kernel
    centres: Array
    bias: bool

    @property
    def n_columns(self) -> int:
        """Number of columns, the bias included."""
        return len(self.centres) + self.bias

    @property
    def theta(self) -> Array:
        """Logarithms of what may move, shape (p,)."""
        return self.kernel.theta

    def at(self, theta: Array) -> Self:
        """Return the family at another theta."""
        return replace(self, kernel=self.kernel.with_theta(theta))

    def design(self, X: Array, chosen: Indices | None = None) -> Array:
        """Return all columns at X, or the chosen ones, shape (n, m)."""
        own, has_bias = _without_bias(chosen, len(self.centres), self.bias)
        return _with_ones(self.kernel.gram(X, self.centres[own]), has_bias)

    def slope(self, X: Array, chosen: Indices, outer: Array) -> Array:
        """Return the sum of `outer` times the derivatives of the chosen columns, shape (p,)."""
        own, has_bias = _without_bias(chosen, len(self.centres), self.bias)
        outer = outer[:, int(has_bias) :]
        total = np.zeros(self.kernel.n_theta)
        size = max(1, _MOST_ENTRIES // max(1, len(X) * len(total)))
        for begin in range(0, len(own), size):
            piece = slice(begin, begin + size)
            _, derivatives = self.kernel.gradients(X, self.centres[own[piece]])
            total += np.einsum("pnm,nm->p", derivatives, outer[:, piece])
        return total


@dataclass(frozen=True, eq=False)
class ResolutionFamily:
    """The functions of a `MultiResolution` dictionary, one width for all levels to follow.

    Shapes: centres (c, d).

    bias: Begin with a column of ones.
    """

    kernel: MultiResolution
    centres: Array
    bias: bool

    @property
    def n_columns(self) -> int:
        return len(self.centres) * self.kernel.n_levels + self.bias

    @property
    def theta(self) -> Array:
        return np.log([self.kernel.width])

    def at(self, theta: Array) -> Self:
        return replace(self, kernel=replace(self.kernel, width=float(np.exp(theta[0]))))

    def design(self, X: Array, chosen: Indices | None = None) -> Array:
        bumps, has_bias = self._exponents(X, chosen)
        return _with_ones(np.exp(bumps), has_bias)

    def slope(self, X: Array, chosen: Indices, outer: Array) -> Array:
        bumps, has_bias = self._exponents(X, chosen)
        # d exp(-d^2 / r^2) / d log r = 2 (d^2 / r^2) exp(-d^2 / r^2).
        derivative = -2.0 * bumps * np.exp(bumps)
        return np.array([np.sum(derivative * outer[:, int(has_bias) :])])

    def _exponents(self, X: Array, chosen: Indices | None) -> tuple[Array, bool]:
        n_centres, widths = len(self.centres), np.array(self.kernel.widths)
        own, has_bias = _without_bias(chosen, n_centres * len(widths), self.bias)
        level, centre = own // n_centres, own % n_centres
        seen = slice(None) if self.kernel.columns is None else list(self.kernel.columns)
        distances = squared_distances(X[:, seen] / widths[0], self.centres[:, seen] / widths[0])
        return distances[:, centre] * -(4.0**level), has_bias


# Columns of a design that depend smoothly on a vector `theta` of logarithms.
WidthFamily: TypeAlias = KernelFamily | ResolutionFamily


def _without_bias(chosen: Indices | None, n_functions: int, bias: bool) -> tuple[Indices, bool]:
    """Return the chosen functions, counted without the bias, and whether the bias is chosen."""
    if chosen is None:
        return np.arange(n_functions), bias
    if not bias:
        return chosen, False
    return chosen[chosen > 0] - 1, bool((chosen == 0).any())


def _with_ones(columns: Array, has_bias: bool) -> Array:
    # Fortran order, since sparse Bayesian learning goes through the design column by column.
    design = np.empty((len(columns), columns.shape[1] + has_bias), order="F")
    design[:, : int(has_bias)] = 1.0
    design[:, int(has_bias) :] = columns
    return design


@dataclass(frozen=True, eq=False)
class WidthBox:
    """Where theta may go, and a first guess inside.

    Shapes: start (p,).

    bounds (p, 2): Equal bounds hold what cannot be learnt.
    widths (p,): Whether an entry is a width, which a grid of starts should vary.
    """

    start: Array
    bounds: Array
    widths: Mask

    @property
    def is_fixed(self) -> bool:
        """Whether nothing may move."""
        return bool((self.bounds[:, 0] == self.bounds[:, 1]).all())


def kernel_box(kernel: Kernel, X: Array) -> WidthBox:
    """Return where a kernel's theta may go on these rows.

    The bounds are those of `Kernel.bounds`, between the grain and the extent of the data. What
    only multiplies the whole kernel is held: the prior precisions of the weights do the same.

    Shapes: X (n, d).
    """
    held = np.stack([kernel.theta, kernel.theta], axis=1)
    varied = _varied(X, kernel.columns)
    if varied is None or not kernel.n_theta:
        return WidthBox(kernel.theta, held, np.zeros(len(held), dtype=np.bool_))
    if not (_SQUARES[0] < np.ptp(varied, axis=0).min() and np.abs(varied).max() < _SQUARES[1]):
        raise InvalidInputError(
            "The columns are too large or too small to choose a width by evidence. Scale them, "
            "for instance with StandardScaler."
        )
    bounds = kernel.bounds(varied, gap_floor=SMALLEST_WIDTH)
    start = kernel.start(varied, gap_floor=SMALLEST_WIDTH).theta
    is_scale = _multiplies_all(kernel, X)
    bounds[is_scale] = held[is_scale]
    start[is_scale] = kernel.theta[is_scale]
    names = [name.split(" of ")[0] for name in kernel.theta_names]
    widths = np.array([name in ("lengthscale", "scale", "width") for name in names])
    return WidthBox(start, bounds, widths & ~is_scale)


def resolution_box(dictionary: MultiResolution, X: Array) -> WidthBox:
    """Return where the largest width of a dictionary may go on these rows."""
    shape = SquaredExponential(dictionary.columns, lengthscale=dictionary.width / np.sqrt(2))
    box = kernel_box(shape, X)
    shift = 0.5 * np.log(2.0)
    return WidthBox(box.start[:1] + shift, box.bounds[:1] + shift, box.widths[:1])


def _varied(X: Array, columns: Any) -> Array | None:
    """Return X with a copy of another column in the place of each constant one.

    A constant column adds nothing to any distance and says nothing of a width, but `Kernel.bounds`
    refuses it. None if all columns that count are constant.
    """
    chosen = np.arange(X.shape[1]) if columns is None else np.asarray(columns, dtype=np.intp)
    largest = np.abs(X).max(axis=0, initial=0.0)
    constant = np.ptp(X, axis=0) <= 8 * np.finfo(np.float64).eps * largest
    varying = chosen[~constant[chosen]]
    if not len(varying):
        return None
    filled = X.copy()
    filled[:, constant] = X[:, varying[:1]]
    return filled


def _multiplies_all(kernel: Kernel, X: Array) -> Mask:
    """Return which entries of theta only multiply the whole kernel, shape (p,)."""
    rows = X[np.linspace(0, len(X) - 1, min(len(X), 20)).astype(np.intp)]
    gram, derivatives = kernel.gradients(rows, rows)
    # Not only a variance: with no offset the scale of a polynomial is a factor too.
    largest = np.unravel_index(np.argmax(np.abs(gram)), gram.shape)
    ratios = derivatives[:, largest[0], largest[1]] / (gram[largest] or 1.0)
    off = np.abs(derivatives - ratios[:, None, None] * gram).max(axis=(1, 2))
    return (off <= 1e-12 * np.abs(ratios * gram[largest])) & (ratios != 0.0)


Task: TypeAlias = Literal["regression", "classification"]
Fits: TypeAlias = tuple[SparseBayes, ...]

# Tolerance of fits that only compare widths, as a share of a column's price: what gains less
# changes no choice, and takes most of the time.
_ROUGH = 0.1
_ROUGH_STEPS = 200


@dataclass(frozen=True, eq=False)
class EvidenceProblems:
    """One regression, or one or more two-class problems, on the same rows and columns.

    Shapes: X (n, d), row_weights (n,).

    targets (k, n): Of each problem; 0 and 1 in classification.
    options: Keyword arguments of `sparse_regression` or `sparse_classification`.
    price: What each column in a model takes off its log evidence.
    deadline: Of `time.monotonic`.
    """

    task: Task
    X: Array
    targets: Array
    row_weights: Array | None
    options: Mapping[str, Any]
    price: float = 0.0
    deadline: float | None = None

    @property
    def time_left(self) -> float | None:
        """Seconds until the deadline, None without one."""
        return None if self.deadline is None else max(self.deadline - monotonic(), 0.0)

    @property
    def moves_precisions(self) -> bool:
        """Whether a climb may move the prior precisions: only where they have no prior."""
        return bool(self.options.get("prior", "ard") == "ard")

    @property
    def moves_noise(self) -> bool:
        """Whether a climb may move the noise variance."""
        estimated = self.options.get("noise_variance") is None
        return self.task == "regression" and estimated and self.moves_precisions

    def fit(
        self, family: WidthFamily, starts: Fits | None = None, *, roughly: bool = False
    ) -> Fits:
        """Fit each problem to all columns of the family; roughly, to compare widths."""
        design = family.design(self.X)
        known: tuple[SparseBayes | None, ...] = starts or (None,) * len(self.targets)
        fit = sparse_regression if self.task == "regression" else sparse_classification
        options = dict(self.options)
        if roughly:
            options["tol"] = max(_ROUGH * self.price, options.get("tol", 1e-3))
            options["max_iter"] = min(_ROUGH_STEPS, options.get("max_iter", _ROUGH_STEPS))
        if self.deadline is not None:
            options["time_limit"] = max(self.time_left or 0.0, 1e-3)
        return tuple(
            fit(design, target, row_weights=self.row_weights, start=start, **options)
            for target, start in zip(self.targets, known, strict=True)
        )

    def evidence(
        self, design: Array, which: int, alpha: Array, noise_variance: float | None
    ) -> tuple[float, Array, float]:
        """Return the log evidence of one problem and its slopes.

        Shapes: design (n, m), alpha (m,) -> (n, m).
        """
        target = self.targets[which]
        if not design.shape[1]:
            return 0.0, design, 0.0
        if noise_variance is None:
            return *laplace_design_gradient(design, target, alpha, self.row_weights), 0.0
        value, slope = regression_design_gradient(
            design, target, alpha, noise_variance, self.row_weights
        )
        return value, slope, self._noise_slope(design, target, alpha, noise_variance, slope)

    def _noise_slope(
        self, design: Array, target: Array, alpha: Array, noise_variance: float, slope: Array
    ) -> float:
        r"""Return the derivative for the logarithm of the noise variance.

        Multiplying C by a constant multiplies the noise and the squared design alike, so that
        :math:`2 dL/d\log\sigma^2 = t^T C^{-1} t - n - tr(\Phi^T dL/d\Phi)`.
        """
        weights = np.ones(len(target)) if self.row_weights is None else self.row_weights
        scaled = design * (weights / noise_variance)[:, None]
        mean = newton_step(scaled.T @ design + np.diag(alpha), scaled.T @ target)
        misfit = weights @ (target - design @ mean) ** 2 / noise_variance
        quadratic = misfit + alpha @ mean**2
        return 0.5 * float(quadratic - weights.sum() - np.sum(design * slope))


# The widest and the narrowest width of one input, over its standard deviation.
_WIDEST, _NARROWEST = 1e3, 0.05


def shared_width(kernel: Kernel | MultiResolution) -> Leaf:
    """Return the kernel with one lengthscale for all inputs, refusing what has none for each."""
    if (
        not isinstance(kernel, Leaf)
        or "lengthscale" not in kernel.several
        or "lengthscale" in kernel.fixed
    ):
        raise InvalidInputError(
            'gamma="inputs" needs the kernel "rbf" or "laplacian", or a single '
            "SquaredExponential, Matern, RationalQuadratic or Laplacian whose lengthscale is free; "
            f"got {kernel}."
        )
    lengthscales = kernel.numbers("lengthscale")
    return kernel.replaced(lengthscale=float(np.exp(np.mean(np.log(lengthscales)))))


def input_box(shared: Leaf, apart: Leaf, deviations: Array, X: Array) -> WidthBox:
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
    return WidthBox(start, bounds, is_width)


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
        deviations = input_deviations(X, leaf.columns)
        share = deviations / np.array(leaf.numbers("lengthscale"))
        seen = slice(None) if leaf.columns is None else list(leaf.columns)
        relevance[seen] = share if isinstance(leaf, Laplacian) else 0.5 * share**2
    return relevance


def input_deviations(X: Array, columns: Any) -> Array:
    """Return the standard deviations of the columns that count, exactly zero if constant."""
    seen = X if columns is None else X[:, list(columns)]
    largest = np.abs(seen).max(axis=0, initial=0.0)
    constant = np.ptp(seen, axis=0) <= 8 * np.finfo(np.float64).eps * largest
    return np.where(constant, 0.0, seen.std(axis=0))


# How far the logarithm of a prior precision or of the noise variance moves in one climb.
_REACH = 10.0
_STEPS = 40
# Functions in the model in which all share one precision; each step costs their square.
MOST_COMMON = 150
# Prior variance of a latent function of log odds; share of the targets' variance that is noise.
_LATENT_VARIANCE = 4.0
_NOISE_SHARE = 0.1


class ActiveColumns(NamedTuple):
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

    def at(self, values: Array) -> "ActiveColumns":
        """Return the part at other values of its hyperparameters, all in one vector."""
        log_alpha, log_noise = np.split(values, [len(self.log_alpha)])
        return self._replace(log_alpha=log_alpha, log_noise=log_noise)


def climb_widths(
    fits: Fits, family: WidthFamily, problems: EvidenceProblems, bounds: Array
) -> tuple[WidthFamily, Fits]:
    """Move the widths of a sparse model up its evidence, the columns in it as they are.

    Prior precisions and the noise variance move along, since the best widths depend on them.

    Shapes: bounds (p, 2).
    """
    parts = [
        ActiveColumns(
            fit.active,
            np.arange(len(fit.active)),
            np.log(fit.alpha),
            np.log([] if fit.noise_variance is None else [fit.noise_variance]),
        )
        for fit in fits
    ]
    moved, found = _maximise(family, problems, parts, family.theta, bounds)
    starts = [
        replace(fit, alpha=np.exp(part.log_alpha), noise_variance=part.noise_variance)
        for fit, part in zip(fits, found, strict=True)
    ]
    return moved, tuple(starts)


def common_climb(
    family: WidthFamily,
    problems: EvidenceProblems,
    starts: Array,
    bounds: Array,
    rng: np.random.Generator,
) -> tuple[WidthFamily, list[ActiveColumns]]:
    """Move the widths of a model in which all functions share one precision up its evidence.

    Shapes: starts (s, p), bounds (p, 2).
    """
    first = int(family.bias)
    n_functions = family.n_columns - first
    chosen = rng.choice(n_functions, min(n_functions, MOST_COMMON), replace=False)
    active = np.concatenate([np.arange(first), first + np.sort(chosen)])
    group = np.minimum(np.arange(len(active)), first)
    squares = np.mean(family.at(starts[0]).design(problems.X, active[first:]) ** 2)
    parts = []
    for target in problems.targets:
        size, noise = _LATENT_VARIANCE, np.empty(0)
        if problems.task == "regression":
            size = float(np.var(target)) or 1.0
            given = problems.options.get("noise_variance")
            noise = np.log([_NOISE_SHARE * size if given is None else given])
        functions = np.log(max(len(chosen) * float(squares), 1e-12) / size)
        bias = -np.log(size + np.mean(target) ** 2)
        parts.append(ActiveColumns(active, group, np.array([bias] * first + [functions]), noise))
    free = replace(problems, options={**problems.options, "prior": "ard"})
    return _maximise(family, free, parts, starts, bounds)


def _maximise(
    family: WidthFamily,
    problems: EvidenceProblems,
    parts: list[ActiveColumns],
    starts: Array,
    bounds: Array,
) -> tuple[WidthFamily, list[ActiveColumns]]:
    """Move theta, precisions and noise variances to a maximum of the evidence."""
    values = np.concatenate([np.concatenate([part.log_alpha, part.log_noise]) for part in parts])
    reach = np.concatenate([_reach(part, problems) for part in parts])
    thetas = np.atleast_2d(starts)
    n_theta = thetas.shape[1]
    ends = np.cumsum([len(part.log_alpha) + len(part.log_noise) for part in parts])[:-1]

    def unpacked(x: Array) -> tuple[WidthFamily, list[ActiveColumns]]:
        pieces = np.split(x[n_theta:], ends)
        own = [part.at(piece) for part, piece in zip(parts, pieces, strict=True)]
        return family.at(x[:n_theta]), own

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


def evidence_slope(
    family: WidthFamily, parts: list[ActiveColumns], problems: EvidenceProblems
) -> tuple[float, Array]:
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


def _reach(part: ActiveColumns, problems: EvidenceProblems) -> Array:
    """Return how far each hyperparameter of a part may move."""
    alpha = np.full(len(part.log_alpha), _REACH if problems.moves_precisions else 0.0)
    noise = np.full(len(part.log_noise), _REACH if problems.moves_noise else 0.0)
    return np.concatenate([alpha, noise])
