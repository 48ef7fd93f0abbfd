r"""The kernel of a Gaussian process when the user names none: a few are fitted, one is chosen.

All see columns less their means, divided by their standard deviations, so that units do not
matter; the chosen one is then written in the user's units. They are, each with a constant: nothing
else; straight lines; lines and smooth functions of all columns together; lines and rough ones;
smooth functions with a width for each column, if the columns are few.

The greatest evidence less a price is chosen. A fitted hyperparameter raises the log evidence
by a half on average without being true, and costs another half on new rows (Akaike's argument): one
nat each. What a width for each column has beyond lines and a part of all columns costs half the
logarithm of the number of rows (Schwarz's price), since there are many to choose from: left without
a price, 20 columns of pure noise gain 13 nats. The prices were chosen on the tables of ``python -m
benchmarks.peers calibration``; evidence chose as well as stacking by leave-one-out probabilities,
and leaves one process that can be taken apart.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from parsimon._deadline import Deadline, end_after, is_late, time_left
from parsimon._parallel import one_thread
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.gp._process_fit import FittedProcess, stratified_rows
from parsimon.inference import LatentPosterior
from parsimon.inference.gaussian import RegressionPosterior
from parsimon.kernels import Constant, Kernel, Laplacian, Linear, SquaredExponential
from parsimon.kernels.combination import Sum

# Columns up to which each may have a width of its own.
MOST_WIDTHS = 12
# Kernels are compared on at most so many rows, and the chosen one is fitted to all.
MOST_COMPARED = 600
# Rows and steps on which starts of a fit are tried.
_TRIED_ROWS, _TRIED_STEPS = 100, 5
# Up to so many rows linear algebra runs on one thread.
_ROWS_OF_ONE_THREAD = 1500
# Hyperparameters of a constant, lines and one part of all columns.
_FEW = 4


class StandardColumns(NamedTuple):
    """A table in units of its own deviations.

    Shapes: X (n, k), centre, unit (k,).

    columns: The k columns of the user's table that vary.
    """

    X: Array
    columns: tuple[int, ...]
    centre: Array
    unit: Array

    @classmethod
    def of(cls, X: Array, weights: Array | None) -> "StandardColumns":
        """Return the columns that vary less their means, over their deviations."""
        columns = varying(X)
        own = X[:, columns]
        centre = np.average(own, axis=0, weights=weights)
        unit = np.sqrt(np.average((own - centre) ** 2, axis=0, weights=weights))
        return cls((own - centre) / unit, columns, centre, unit)

    def standard(self, X: Array) -> Array:
        """Return rows of the user's table in these units, shape (m, k)."""
        return (X[:, self.columns] - self.centre) / self.unit

    def restated(self, kernel: Kernel) -> Kernel:
        """Return a kernel of the standard columns as the same kernel of the user's."""
        parts = kernel.terms if isinstance(kernel, Sum) else (kernel,)
        terms = [term for part in parts for term in self._in_units(part)]
        return terms[0] if len(terms) == 1 else Sum(tuple(terms))

    def _in_units(self, part: Kernel) -> Iterator[Kernel]:
        if isinstance(part, Linear):
            # A line has one variance for all its columns, whose units differ.
            for column, centre, unit in zip(self.columns, self.centre, self.unit, strict=True):
                yield Linear(column, float(part.variance / unit**2), float(centre))
        elif isinstance(part, SquaredExponential | Laplacian):
            widths = np.broadcast_to(part.numbers("lengthscale"), self.unit.shape) * self.unit
            yield part.replaced(columns=self.columns, lengthscale=tuple(widths.tolist()))
        else:
            yield part


def varying_columns(X: Array) -> tuple[int, ...]:
    """Return the columns that are not constant, but for rounding."""
    rounding = 8 * np.finfo(np.float64).eps * np.abs(X).max(axis=0)
    return tuple(np.flatnonzero(np.ptp(X, axis=0) > rounding).tolist())


def varying(X: Array) -> tuple[int, ...]:
    """Return the columns that are not constant, at least one."""
    columns = varying_columns(X)
    if not columns:
        raise InvalidInputError(
            f"Each of the {X.shape[1]} columns of X is constant, so there is nothing to learn "
            "from. Add a column that varies."
        )
    return columns


def candidates(X: Array) -> Iterator[Kernel]:
    """Yield the kernels to choose from, the quickest to fit first, with a start from the data.

    Shapes: X (n, k), of standard columns.
    """
    k = X.shape[1]
    yield Constant()
    lines = Constant() + Linear(variance=1.0 / k)
    yield lines.start(X)
    yield (lines + SquaredExponential()).start(X)
    yield (lines + Laplacian()).start(X)
    if 1 < k <= MOST_WIDTHS:
        # Two rows are then similar on average, whatever the number of columns.
        yield Constant() + SquaredExponential(range(k), (np.sqrt(k),) * k)


def constant_and_smooth(X: Array) -> tuple[Kernel, Kernel]:
    """Return the candidates of which few points can summarise the function, shape (n, k)."""
    constant, _, smooth = islice(candidates(X), 3)
    return constant, smooth


def fit_or_choose(
    fit: Callable[..., FittedProcess[Any]],
    kernel: Kernel | None,
    X: Array,
    y: AnyArray,
    classes: AnyArray,
    options: dict[str, Any],
) -> FittedProcess[Any]:
    """Fit a kernel, or without one those of `candidates`, of which the best is kept.

    `fit` is `fit_classifier`, `fit_softmax` or `fit_regressor`, with its options, among them
    weights; `classes` are kept in proportion where some of the rows have to do.

    Shapes: X (n, d), y, classes (n,).
    """
    # Threads that wait for each other cost more than they gain on small matrices: on two busy
    # cores 235 rows took 36 s instead of 0.6 s.
    with one_thread() if len(X) <= _ROWS_OF_ONE_THREAD else nullcontext():
        if kernel is not None:
            return fit(kernel, X, y, **options)
        return _fit_best(fit, X, y, classes, options)


def _fit_best(
    fit: Callable[..., FittedProcess[Any]],
    X: Array,
    y: AnyArray,
    classes: AnyArray,
    options: dict[str, Any],
) -> FittedProcess[Any]:
    """Fit the best of `candidates`."""
    weights = options["weights"]
    table = StandardColumns.of(X, weights)
    if not options["optimise"]:
        smooth = constant_and_smooth(table.X)[1]
        return fit(table.restated(smooth), X, y, **options)
    deadline = end_after(options["time_limit"])
    options = options | {"n_restarts": 0}
    some = np.arange(len(X)) if len(X) <= MOST_COMPARED else stratified_rows(classes, MOST_COMPARED)
    own = (table.X[some], y[some], classes[some], weights[some])
    best, n_evaluations = _choose(fit, *own, deadline, options)
    if len(some) < len(X):
        best = fit(best.kernel, table.X, y, **options | {"time_limit": time_left(deadline)})
        n_evaluations += best.n_evaluations
    held = options | {"optimise": False} | _start(best)
    again = fit(table.restated(best.kernel), X, y, **held)
    return replace(
        again,
        n_evaluations=n_evaluations + 1,
        converged=best.converged and again.converged,
        message=best.message,
    )


def _choose(
    fit: Callable[..., FittedProcess[Any]],
    X: Array,
    y: AnyArray,
    classes: AnyArray,
    weights: Array,
    deadline: Deadline,
    options: dict[str, Any],
) -> tuple[FittedProcess[Any], int]:
    """Return the best fit of the candidates, and how often the evidence was computed."""
    found: list[FittedProcess[Any]] = []
    for kernel in candidates(X):
        if found and is_late(deadline):
            break
        own = options | {"weights": weights, "time_limit": time_left(deadline)}
        if kernel.n_theta > _FEW:
            kernel = _promising(fit, kernel, X, y, classes, own)
        found.append(fit(kernel, X, y, **own))
    best = max(found, key=lambda fitted: fitted.log_evidence - _price(fitted.kernel, len(X)))
    return best, sum(fitted.n_evaluations for fitted in found)


def _promising(
    fit: Callable[..., FittedProcess[Any]],
    kernel: Kernel,
    X: Array,
    y: AnyArray,
    classes: AnyArray,
    options: dict[str, Any],
) -> Kernel:
    """Return where a fit of many widths should begin: as it is, or where the data suggest.

    The evidence of many widths has several optima. A few steps on some rows say which start leads
    to the better one.
    """
    some = np.arange(len(X)) if len(X) <= _TRIED_ROWS else stratified_rows(classes, _TRIED_ROWS)
    own = options | {"weights": options["weights"][some], "max_iterations": _TRIED_STEPS}
    starts = (kernel, kernel.start(X))
    return max(starts, key=lambda start: fit(start, X[some], y[some], **own).log_evidence)


def _price(kernel: Kernel, n_rows: int) -> float:
    """Return the log evidence that a candidate is held to gain without being true."""
    few = min(kernel.n_theta, _FEW)
    return few + 0.5 * float(np.log(n_rows)) * (kernel.n_theta - few)


def _start(fitted: FittedProcess[Any]) -> dict[str, Any]:
    """Return what the same fit in other units may begin with."""
    if isinstance(fitted.posterior, RegressionPosterior):
        return {"start": fitted.posterior}
    if isinstance(fitted.posterior, LatentPosterior):
        return {"start": fitted.posterior.sites}
    return {}
