"""The two choices of widths: one for all inputs, or one for each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from parsimon._random import Seed
from parsimon._typing import Array, Indices
from parsimon.inference.sparse_bayes.result import SparseBayes
from parsimon.kernels import (
    Kernel,
    Laplacian,
    MultiResolution,
    Polynomial,
    Sigmoid,
    SquaredExponential,
)
from parsimon.rvm.widths.inputs import input_relevance, shared_width, width_each
from parsimon.rvm.widths.problems import Task
from parsimon.rvm.widths.search import Ascent
from parsimon.rvm.widths.setting import MOST_ROWS, Limits, Setting, one_width, own_kernel, prepared


@dataclass(frozen=True, eq=False)
class WidthFit:
    """Widths chosen by evidence, and the sparse models that they were chosen with.

    kernel: With the chosen widths; give it to `parsimon.rvm.basis.make_basis`.
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
