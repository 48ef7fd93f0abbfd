"""Learning a variational classifier by mini-batches.

Each mini-batch gives q(v) one natural-gradient step and the hyperparameters one step of Adam.
"""

from dataclasses import dataclass, replace
from time import monotonic
from typing import NamedTuple, Self

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.inference.variational import (
    InducingPrior,
    LabelledRows,
    VariationalPosterior,
    WhitenedGaussian,
    bound_gradient,
    bound_statistics,
)
from parsimon.inference.variational_fit import (
    BoundFit,
    Climb,
    Reason,
    Report,
    climb,
    is_past,
    standard_gaussians,
)

# Passes that together gain less than the tolerance end the search.
PATIENCE = 2
# The polish of q(v) on all rows: relative gain that ends it, and passes at most.
POLISHED = 1e-5
MOST_POLISH = 20


def stochastic_bound(
    prior: InducingPrior,
    rows: LabelledRows,
    bounds: Array,
    *,
    rng: np.random.Generator,
    batch_size: int = 1000,
    learning_rate: float = 0.03,
    natural_step: float = 0.1,
    max_iter: int = 50,
    tol: float = 1e-3,
    time_limit: float | None = None,
    report: Report | None = None,
) -> BoundFit:
    """Learn q(v) and hyperparameters by mini-batches, and polish q(v) on all rows at the end.

    Each pass goes through all rows once in random order, so that the bound averaged over a pass
    does not depend on which rows were drawn. The polish holds the hyperparameters fixed.

    Shapes: bounds (p, 2).
    """
    deadline = None if time_limit is None else monotonic() + time_limit
    state = _State(prior, standard_gaussians(prior, rows), Adam.begin(prior.kernel.theta))
    steps = _Steps(bounds, natural_step, learning_rate)
    history: list[float] = []
    reason: Reason = "max_iter"
    try:
        while reason == "max_iter" and len(history) < max_iter:
            values = []
            for which in _batches(len(rows.X), batch_size, rng):
                batch = rows.taken(which, len(rows.X) / len(which))
                state, value = state.stepped(batch, steps)
                values.append(value)
                if is_past(deadline):
                    reason = "time_limit"
                    break
            history.append(float(np.mean(values)))
            if report is not None:
                report(len(history), history[-1])
            if reason == "max_iter" and _has_settled(history, tol):
                reason = "converged"
        top = climb(
            state.prior,
            state.gaussians,
            rows,
            tolerance=POLISHED,
            max_passes=MOST_POLISH,
            deadline=deadline,
        )
    except KeyboardInterrupt:
        reason = "interrupted"
        top = Climb(state.gaussians, history[-1] if history else -np.inf, False, 0)
    posterior = VariationalPosterior(state.prior, top.gaussians)
    return BoundFit(posterior, top.bound, np.array(history), max(1, len(history)), reason)


class _Steps(NamedTuple):
    """How far each mini-batch moves, and where to."""

    bounds: Array
    natural_step: float
    learning_rate: float


@dataclass(frozen=True, eq=False)
class _State:
    """Everything that a mini-batch changes."""

    prior: InducingPrior
    gaussians: tuple[WhitenedGaussian, ...]
    adam: "Adam"

    def stepped(self, batch: LabelledRows, steps: _Steps) -> tuple[Self, float]:
        """Return the next state, and the bound that the batch estimated for this one."""
        statistics = bound_statistics(self.prior, self.gaussians, batch)
        gaussians = tuple(
            q.moved(target, steps.natural_step)
            for q, target in zip(self.gaussians, statistics.targets, strict=True)
        )
        if not len(steps.bounds):
            return replace(self, gaussians=gaussians), statistics.bound
        gradient = bound_gradient(self.prior, gaussians, batch)
        adam = self.adam.stepped(gradient, steps.bounds, steps.learning_rate)
        prior = replace(self.prior, kernel=self.prior.kernel.with_theta(adam.point))
        return type(self)(prior, gaussians, adam), statistics.bound


@dataclass(frozen=True, eq=False)
class Adam:
    """Adam's moving averages, climbing (Kingma and Ba 2015, ICLR, algorithm 1).

    point, first, second (p,): Where it is; averages of the gradient and of its square.
    """

    point: Array
    first: Array
    second: Array
    n_steps: int

    @classmethod
    def begin(cls, point: Array) -> Self:
        """Return the state before any step."""
        return cls(point, np.zeros_like(point), np.zeros_like(point), 0)

    def stepped(self, gradient: Array, bounds: Array, learning_rate: float) -> Self:
        """Return the state after one step up the gradient, moved inside the bounds, (p, 2)."""
        n_steps = self.n_steps + 1
        first = 0.9 * self.first + 0.1 * gradient
        second = 0.999 * self.second + 0.001 * gradient**2
        size = np.sqrt(second / (1 - 0.999**n_steps)) + 1e-8
        point = self.point + learning_rate * first / (1 - 0.9**n_steps) / size
        return type(self)(np.clip(point, *bounds.T), first, second, n_steps)


def _batches(n_rows: int, batch_size: int, rng: np.random.Generator) -> list[Indices]:
    """Return all rows in random order, in batches of nearly equal size."""
    return np.array_split(rng.permutation(n_rows), -(-n_rows // batch_size))


def _has_settled(history: list[float], tol: float) -> bool:
    """Tell whether the best of the last passes is hardly better than the best before them."""
    if len(history) <= PATIENCE:
        return False
    before, recent = max(history[:-PATIENCE]), max(history[-PATIENCE:])
    return recent - before < tol * abs(before)
