r"""The update of lambda as Fearn (2021) printed it, for comparison with `PhyRVM`.

Fearn (2021, eq 5.48 and 5.49) sets the derivative of the evidence with respect to lambda to zero
while holding fixed a matrix that depends on it. What comes out is not a stationary point: at
converged precisions and noise one step multiplies lambda by a number in which neither the tree nor
the residuals appear. With :math:`g` well-determined weights and :math:`R = \sqrt{1/4 + 2g/(n -
g)}` it is :math:`1/2 \pm R` (eq 5.48) or :math:`1 \pm R` (eq 5.49). Only the search over the value
it starts from makes it an estimator.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize_scalar

from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes import SparseBayes
from parsimon.phylo import PhyRVM, Tree
from parsimon.phylo._lambda_evidence import TreeRegression

Sign = Literal["minus", "plus"]
Form = Literal["5.48", "5.49"]

# Precisions above this, for columns and targets of mean square one, take a column out.
_INFINITE = 1e9
_SWEEPS = 200
_TOLERANCE = 1e-4


class LambdaSweep(NamedTuple):
    """A posterior in scaled units at one lambda, and its log evidence up to the scale of y."""

    mean: Array
    covariance: Array
    squares: float
    log_evidence: float


def analytic_lambda(
    share: float,
    *,
    beta: float,
    half_squares: float,
    penalty: float,
    excess: float,
    sign: Sign,
    form: Form,
) -> float:
    r"""Return the lambda after one update, as printed."""
    if excess == 0 or share == 0:
        return share
    shared = share * half_squares
    pull = (share / beta) ** 2 * penalty
    way = -1.0 if sign == "minus" else 1.0
    if form == "5.49":
        return share + way * beta * float(np.sqrt(shared**2 - 2.0 * excess * pull)) / excess
    root = float(np.sqrt(4.0 * (beta * shared) ** 2 - 8.0 * beta**2 * excess * pull))
    return (-2.0 * beta * shared + way * root) / (2.0 * excess)


def analytic_fit(
    problem: TreeRegression, bounds: tuple[float, float], *, sign: Sign, form: Form
) -> tuple[float, SparseBayes]:
    """Return the lambda and the regression of greatest evidence among all starts.

    A lambda below the bounds is put on the lower one; a step above them is not taken, since the
    covariance would soon not be one, and precisions and noise go on without it.
    """
    found: list[tuple[float, SparseBayes]] = []

    def height(start: float) -> float:
        try:
            found.append(sweeps(problem, float(start), bounds, sign=sign, form=form))
        except InvalidInputError:
            return -np.inf
        return found[-1][1].log_evidence

    minimize_scalar(
        lambda start: -height(start), bounds=bounds, method="bounded", options={"xatol": 1e-3}
    )
    if not found:
        sweeps(problem, bounds[0], bounds, sign=sign, form=form)  # says what is wrong
    return max(found, key=lambda item: item[1].log_evidence)


def sweeps(
    problem: TreeRegression, share: float, bounds: tuple[float, float], *, sign: Sign, form: Form
) -> tuple[float, SparseBayes]:
    """Update precisions, noise and lambda in turn until the evidence stays, from one start."""
    column = np.sqrt(np.mean(problem.design**2, axis=0))
    active = np.flatnonzero(column > 0)
    unit = float(np.std(problem.targets)) or 1.0
    alpha, beta, last, converged = np.ones(len(active)), 1.0, -np.inf, False
    count, n = 0, len(problem.targets)
    while True:
        design, targets, log_determinant = problem.whiten(share)
        design, targets = design[:, active] / column[active], targets / unit
        now = _posterior(design, targets, alpha, beta, log_determinant)
        converged = abs(now.log_evidence - last) < _TOLERANCE
        if converged or count == _SWEEPS:
            break
        count, last = count + 1, now.log_evidence
        gamma = 1.0 - alpha * np.diagonal(now.covariance)
        with np.errstate(divide="ignore"):
            alpha = gamma / now.mean**2
        kept = alpha < _INFINITE
        excess = float(gamma[kept].sum()) - n
        beta = -excess / max(now.squares, 1e-14 * n)
        penalty = float(alpha[kept] @ now.mean[kept] ** 2)
        stepped = analytic_lambda(
            share,
            beta=beta,
            half_squares=0.5 * now.squares,
            penalty=penalty,
            excess=excess,
            sign=sign,
            form=form,
        )
        share = share if stepped > bounds[1] else max(stepped, bounds[0])
        active, alpha = active[kept], alpha[kept]
    return share, _result(now, active, alpha, beta, column[active], unit, n, count, converged)


def _posterior(
    design: Array, targets: Array, alpha: Array, beta: float, log_determinant: float
) -> LambdaSweep:
    n = len(targets)
    precision = beta * design.T @ design + np.diag(alpha)
    if len(alpha):
        factor = cho_factor(precision, lower=True)
        covariance = cho_solve(factor, np.eye(len(alpha)))
        log_precision = 2.0 * float(np.sum(np.log(np.diagonal(factor[0]))))
    else:
        covariance, log_precision = np.zeros((0, 0)), 0.0
    mean = beta * covariance @ (design.T @ targets)
    squares = float(np.sum((targets - design @ mean) ** 2))
    evidence = 0.5 * (
        n * np.log(beta / (2.0 * np.pi))
        - log_determinant
        - log_precision
        + np.sum(np.log(alpha))
        - beta * squares
        - alpha @ mean**2
    )
    return LambdaSweep(mean, covariance, squares, float(evidence))


def _result(
    now: LambdaSweep,
    active: Indices,
    alpha: Array,
    beta: float,
    column: Array,
    unit: float,
    n: int,
    count: int,
    converged: bool,
) -> SparseBayes:
    """Return the last posterior in the units of the caller."""
    back = unit / column
    log_evidence = now.log_evidence - n * float(np.log(unit))
    return SparseBayes(
        active=active,
        alpha=alpha / back**2,
        mean=now.mean * back,
        covariance=now.covariance * back * back[:, None],
        noise_variance=unit**2 / beta,
        log_evidence=log_evidence,
        objective=log_evidence,
        n_iter=count,
        converged=converged,
        reason="The evidence stays." if converged else f"{_SWEEPS} sweeps were not enough.",
    )


class AnalyticPhyRVM(PhyRVM):
    """`PhyRVM` whose lambda is found by the printed formula, with the prior of the source.

    Parameters
    ----------
    sign : {"minus", "plus"}
        Which root it takes. The first makes lambda grow in every sweep, the second sends it to
        zero.
    form : {"5.48", "5.49"}
        Which of the two printed formulas it uses; they differ by a factor of one half.
    """

    def __init__(
        self,
        tree: Tree | None = None,
        *,
        sign: Sign = "minus",
        form: Form = "5.48",
        bounds: tuple[Any, Any] = (0.0, 1.0),
    ) -> None:
        super().__init__(tree, prior="ard", bounds=bounds)
        self.sign = sign
        self.form = form

    def _estimate(self, problem: TreeRegression) -> tuple[float, SparseBayes]:
        self._limits = self._check_bounds(problem)
        self.estimated_: tuple[str, ...] = ("lambda",)
        share, found = analytic_fit(problem, self._limits, sign=self.sign, form=self.form)
        self._found = {share: found}
        return share, found
