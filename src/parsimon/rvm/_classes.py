"""Classes from sparse functions: one against the rest, or softmax.

`fit_classes` makes the sparse fits of two or more classes on one dictionary, `class_model` the
model of them: `OneVsRestMachines` keeps one machine for each class (a single one for two classes),
`SoftmaxClasses` one posterior of the weights of all classes. Both answer the same questions, so
that the classifier does not ask which it has.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from scipy.special import expit, ndtr, softmax

from parsimon._parallel import Workers
from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.inference.likelihoods import hermite_rule
from parsimon.inference.posterior import Latent
from parsimon.inference.sparse_bayes import SparseBayes, softmax_sparse, sparse_classification
from parsimon.inference.sparse_bayes.softmax import (
    SparseSoftmax,
    softmax_average,
    softmax_latent,
    softmax_scores,
)
from parsimon.inference.sparse_bayes.thinned import em_classification, variational_classification
from parsimon.rvm._machine import (
    Column,
    FarSummary,
    FarVariance,
    RelevanceMachine,
    Shared,
    fit_far,
    make_machine,
)
from parsimon.rvm._setup import Dictionary

_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class OneVsRestMachines:
    """One function for each class, or a single one for two classes.

    In all methods `design` is the basis of the model at the rows of X.
    """

    machines: tuple[RelevanceMachine, ...]

    def mean(self, design: Array) -> Array:
        """Return the posterior means of the k functions, shape (n, k)."""
        return np.column_stack([machine.mean(design) for machine in self.machines])

    def variance(self, X: Array, design: Array) -> Array:
        """Return their variances, shape (n, k)."""
        return np.column_stack([machine.variance(X, design) for machine in self.machines])

    def decision(self, X: Array, design: Array, *, plug_in: bool) -> Array:
        """Return what is greatest for the most probable class, shape (n, k)."""
        mean = self.mean(design)
        if plug_in:
            return mean
        return averaged_log_odds(mean, self.variance(X, design))

    def probability(self, X: Array, design: Array, *, plug_in: bool) -> Array:
        """Return class probabilities, shape (n, n_classes)."""
        if len(self.machines) == 1 and not plug_in:
            mean = self.machines[0].mean(design)
            less = less_probable(mean, self.machines[0].variance(X, design))
            return _both_sides(less, mean > 0.0)
        decision = self.decision(X, design, plug_in=plug_in)
        if len(self.machines) == 1:
            return np.column_stack([expit(-decision), expit(decision)])
        positive = np.maximum(expit(decision), _TINY)
        return positive / positive.sum(axis=1, keepdims=True)

    def weights(self, n_columns: int) -> Array:
        """Return the weights of the shared columns, shape (k, n_columns), zero if not used."""
        return self._table([machine.posterior.mean for machine in self.machines], n_columns, 0.0)

    def precisions(self, n_columns: int) -> Array:
        """Return their prior precisions, shape (k, n_columns), infinite if not used."""
        values = [machine.posterior.alpha for machine in self.machines]
        return self._table(values, n_columns, np.inf)

    def _table(self, values: list[Array], n_columns: int, otherwise: float) -> Array:
        table = np.full((len(values), n_columns), otherwise)
        for row, machine, own in zip(table, self.machines, values, strict=True):
            row[machine.columns] = own
        return table


def _both_sides(less: Array, is_positive: Mask) -> Array:
    """Return the probabilities of both classes from that of the less probable one, shape (n, 2)."""
    both = np.empty((len(less), 2))
    both[:, 0] = np.where(is_positive, less, 1.0 - less)
    both[:, 1] = 1.0 - both[:, 0]
    both[~is_positive, 1] = less[~is_positive]
    return both


@dataclass(frozen=True, eq=False)
class SoftmaxClasses:
    """One posterior of all classes.

    result: Its pairs count the columns of the shared basis.
    far: One for each class, or none.
    """

    result: SparseSoftmax
    n_classes: int
    far: tuple[FarVariance | FarSummary, ...] = ()

    @classmethod
    def fit(
        cls,
        result: SparseSoftmax,
        shared: Shared,
        n_classes: int,
        *,
        column: Column | None,
        X: Array,
        design: Array,
        row_weights: Array,
        keep_rows: bool = False,
    ) -> Self:
        """Return the model of a result whose pairs count the columns of the whole dictionary.

        Far from the data each class's score becomes uncertain on its own; the precision of a
        row's score is the diagonal p (1 - p) of the curvature of its log likelihood.
        """
        pairs = np.column_stack([result.pairs[:, 0], shared.positions(result.pairs[:, 1])])
        moved = SparseSoftmax(**vars(result) | {"pairs": pairs})
        if column is None:
            return cls(moved, n_classes)
        columns = design[:, shared.order]
        probability = softmax(softmax_scores(moved, columns, n_classes), axis=1)
        far: list[FarVariance | FarSummary] = []
        for k in range(n_classes):
            own = np.flatnonzero(pairs[:, 0] == k)
            # The bias must lead for the far variance to know it.
            own = own[np.argsort(pairs[own, 1], kind="stable")]
            used = pairs[own, 1]
            part = fit_far(
                column,
                X,
                columns[:, used],
                keep_rows=keep_rows,
                alpha=result.alpha[own],
                mean=result.mean[own],
                precision=probability[:, k] * (1.0 - probability[:, k]),
                row_weights=row_weights,
                has_bias=shared.basis.has_bias and bool((used == 0).any()),
            )
            far.append(part)
        return cls(moved, n_classes, tuple(far))

    def mean(self, design: Array) -> Array:
        return softmax_scores(self.result, design, self.n_classes)

    def variance(self, X: Array, design: Array) -> Array:
        return np.diagonal(self._latent(X, design).variance, axis1=1, axis2=2)

    def decision(self, X: Array, design: Array, *, plug_in: bool) -> Array:
        probability = self.probability(X, design, plug_in=plug_in)
        return np.log(np.maximum(probability, _TINY))

    def probability(self, X: Array, design: Array, *, plug_in: bool) -> Array:
        if plug_in:
            return softmax(self.mean(design), axis=1)
        return softmax_average(self._latent(X, design))

    def weights(self, n_columns: int) -> Array:
        return self._table(self.result.mean, n_columns, 0.0)

    def precisions(self, n_columns: int) -> Array:
        return self._table(self.result.alpha, n_columns, np.inf)

    def _table(self, values: Array, n_columns: int, otherwise: float) -> Array:
        table = np.full((self.n_classes, n_columns), otherwise)
        table[tuple(self.result.pairs.T)] = values
        return table

    def _latent(self, X: Array, design: Array) -> Latent:
        mean, covariance = softmax_latent(self.result, design, self.n_classes)
        for k, far in enumerate(self.far):
            covariance[:, k, k] += far.added(X, design[:, self._columns_of(k)])
        return Latent(mean, covariance)

    def _columns_of(self, k: int) -> Indices:
        classes, columns = self.result.pairs.T
        return np.sort(columns[classes == k])


ClassModel: TypeAlias = OneVsRestMachines | SoftmaxClasses


def class_model(
    fits: Sequence[SparseBayes | SparseSoftmax],
    shared: Shared,
    n_classes: int,
    *,
    column: Column | None,
    X: Array,
    design: Array,
    row_weights: Array,
    keep_rows: bool = False,
) -> ClassModel:
    """Return the model of some fits: one of all classes, or one for each."""
    rows: dict[str, Any] = {
        "column": column,
        "X": X,
        "design": design,
        "row_weights": row_weights,
        "keep_rows": keep_rows,
    }
    if isinstance(fits[0], SparseSoftmax):
        return SoftmaxClasses.fit(fits[0], shared, n_classes, **rows)
    return OneVsRestMachines(
        tuple(make_machine(shared, fit, **rows) for fit in fits if isinstance(fit, SparseBayes))
    )


def checked_cutoff(cutoff: Any, n_classes: int) -> Array:
    """Return a cutoff as a number for two classes and as one for each class otherwise.

    Shapes: cutoff (n_classes,) -> ().
    """
    shape = () if n_classes == 2 else (n_classes,)
    try:
        values = np.asarray(cutoff, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.full((), np.nan)
    if n_classes > 2 and values.ndim == 0:
        values = np.full(shape, values)
    if values.shape != shape or np.isnan(values).any():
        wanted = "one number" if n_classes == 2 else f"one number for each of {n_classes} classes"
        raise InvalidInputError(f"cutoff must be {wanted}, got {cutoff!r}.")
    return values


def flat(values: Array) -> Array:
    """Return a single column as a vector, and more columns as they are."""
    return values[:, 0] if values.shape[1] == 1 else values


_ALGORITHMS: dict[str, Callable[..., SparseBayes]] = {
    "fast": sparse_classification,
    "em": em_classification,
    "variational": variational_classification,
}
# Seconds that are left for the fits whatever the choice of a width took.
_LEAST_TIME = 0.01


def class_targets(codes: Indices, n_classes: int) -> Array:
    """Return 1 for rows of a class and 0 for the rest, a column for each class.

    Two classes are one problem, whose positive class is the second.

    Shapes: codes (n,) -> (n, k).
    """
    positives = np.arange(n_classes) if n_classes > 2 else np.array([1])
    return np.asfortranarray(codes[:, None] == positives, dtype=np.float64)


def fit_classes(
    made: Dictionary,
    codes: Indices,
    n_classes: int,
    *,
    algorithm: str,
    joint: bool,
    options: dict[str, Any],
    row_weights: Array,
    deadline: float | None,
) -> list[SparseBayes | SparseSoftmax]:
    """Return one sparse fit of all classes together, or one for each class against the rest.

    Shapes: codes (n,), row_weights (n,).
    """
    left = None if deadline is None else max(deadline - time.monotonic(), _LEAST_TIME)
    if n_classes > 2 and joint:
        return [
            softmax_sparse(
                made.design,
                codes,
                n_classes,
                row_weights=row_weights,
                time_limit=left,
                **options,
            )
        ]
    targets = class_targets(codes, n_classes).T
    starts = made.starts or (None,) * len(targets)
    shared = options | {
        "row_weights": row_weights,
        "time_limit": None if left is None else left / len(targets),
    }
    calls = [
        (algorithm, made.design, target, shared | {"start": start})
        for target, start in zip(targets, starts, strict=True)
    ]
    if len(calls) == 1:
        return [_fit_class(*calls[0])]
    # One by one, unless a `joblib.parallel_config` has more workers.
    with Workers(None, threads=True) as workers:
        return list(workers.map(_fit_class, calls))


def _fit_class(
    algorithm: str, design: Array, target: Array, options: dict[str, Any]
) -> SparseBayes:
    return _ALGORITHMS[algorithm](design, target, **options)


# The largest number below one half whose difference from one is not one half.
_BELOW_HALF = 0.5 - np.finfo(np.float64).epsneg
# Weights and slopes of eight normal distribution functions whose sum is the logistic function, to
# 2e-9 [1]; below `_RARE` the error would no longer be small beside the probability.
# [1] Monahan and Stefanski (1992), "Normal scale mixture approximations to F*(z) and computation
# of the logistic-normal integral", table 1.
_PROBIT_WEIGHTS, _PROBIT_SLOPES = np.array(
    [
        [0.003246343272134, 1.365340806296348],
        [0.051517477033972, 1.059523971016916],
        [0.195077912673858, 0.830791313765644],
        [0.315569823632818, 0.650732166639391],
        [0.274149576158423, 0.508135425366489],
        [0.131076880695470, 0.396313345166341],
        [0.027912418727972, 0.308904252267995],
        [0.001449567805354, 0.238212616409306],
    ]
).T.copy()
_RARE = 1e-5
# Nodes of the trapezoidal rule, and rows at a time.
_STEP = 0.25
_POINTS = np.arange(-40.0, 40.0 + _STEP, _STEP)
_BLOCK = 4000


def less_probable(mean: Array, variance: Array) -> Array:
    r"""Return the averaged probability of the less probable class, fast.

    :math:`\int (1 + e^{f})^{-1} N(f | |m|, v) df` to 2e-9 and, relatively, to 2e-4: greater than
    zero, and below one half unless the mean is zero, so that it never contradicts a prediction from
    the mean. MacKay's :math:`(1 + e^{|m| / \sqrt{1 + \pi v / 8}})^{-1}` [1] is wrong by up to 0.02.

    Shapes: mean, variance (...,).

    [1] MacKay (1992), "The evidence framework applied to classification networks", Neural
    Computation 4:720-736.
    """
    below = -np.abs(mean)
    slopes = _PROBIT_SLOPES[:, None]
    scaled = slopes * below.ravel() / np.sqrt(1.0 + slopes**2 * variance.ravel())
    less: Array = (_PROBIT_WEIGHTS @ ndtr(scaled)).reshape(mean.shape)
    rare = less < _RARE
    if rare.any():
        less[rare] = _rare_probability(below[rare], variance[rare])
    less = np.clip(less, np.finfo(np.float64).tiny, _BELOW_HALF)
    less[mean == 0.0] = 0.5
    return less


def _rare_probability(mean: Array, variance: Array) -> Array:
    """Return the probability of the positive class where it is small, all rows at once.

    The rules are those of `positive_probability`, which takes a step for each of their nodes: Gauss
    and Hermite's for a narrow Gaussian, the trapezoidal rule after an integration by parts else.

    Shapes: mean, variance (n,).
    """
    narrow, sd = variance < 1.0, np.sqrt(variance)
    probability = np.empty(len(mean))
    nodes, weights = hermite_rule(60)
    for rows in np.array_split(np.flatnonzero(narrow), 1 + len(mean) // _BLOCK):
        probability[rows] = expit(mean[rows, None] + sd[rows, None] * nodes) @ weights
    density = _STEP * expit(_POINTS) * expit(-_POINTS)
    for rows in np.array_split(np.flatnonzero(~narrow), 1 + len(mean) // _BLOCK):
        probability[rows] = ndtr((mean[rows, None] - _POINTS) / sd[rows, None]) @ density
    return probability


def averaged_log_odds(mean: Array, variance: Array) -> Array:
    """Return the log odds of the averaged probability, to about 2e-4.

    Shapes: mean, variance (...,).
    """
    # From the less probable side, which keeps its digits: 1 - p does not.
    less = less_probable(mean, variance)
    return np.copysign(np.log1p(-less) - np.log(less), mean)
