"""Step sizes that learn from success: Rechenberg's 1/5 rule.

The rule is a value and the step it steers is a value too, kept in the state of a search; a
mutation never changes.
"""

from dataclasses import dataclass
from typing import NamedTuple

from parsimon._options import check_count, check_positive
from parsimon.exceptions import InvalidInputError

# Beyond these a step can neither be told from none nor come back in a run of sensible length.
SMALLEST_FACTOR, LARGEST_FACTOR = 1e-15, 1e15


class StepSize(NamedTuple):
    """What a mutation's scale is multiplied by, and the successes counted since it changed."""

    factor: float = 1.0
    n_successes: int = 0
    n_trials: int = 0


@dataclass(frozen=True)
class OneFifthRule:
    """Make steps longer when more than a fifth of the mutations succeed, else shorter.

    Every `interval` generations the step is multiplied by `change` if the share of successful
    mutations since the last time exceeds `target`, and divided by it if the share is below.
    A mutant succeeds if it is better than its parent (`evolution_strategy`) or survives into the
    next population (`nsga2`, after [2]_). The defaults are those of Mierswa (2009); with them the
    rule acts only in runs of more than 100 generations.

    References
    ----------
    Rechenberg (1973), Evolutionsstrategie, Frommann-Holzboog.

    .. [2] Voss, Hansen and Igel (2010), GECCO, 487-494.

    Examples
    --------
    >>> rule = OneFifthRule(interval=1)
    >>> rule.update(StepSize(), n_successes=3, n_trials=10, n_iter=1).factor
    2.0
    >>> rule.update(StepSize(), n_successes=1, n_trials=10, n_iter=1).factor
    0.5
    """

    interval: int = 100
    change: float = 2.0
    target: float = 0.2

    def __post_init__(self) -> None:
        check_count("interval", self.interval)
        check_positive("target", self.target)
        if not 1 < self.change < float("inf"):
            raise InvalidInputError(f"change must be above 1, got {self.change!r}.")

    def update(self, step: StepSize, *, n_successes: int, n_trials: int, n_iter: int) -> StepSize:
        """Return the step after generation `n_iter` with these counts."""
        successes, trials = step.n_successes + n_successes, step.n_trials + n_trials
        if n_iter % self.interval != 0 or trials == 0:
            return StepSize(step.factor, successes, trials)
        share = successes / trials
        factor = step.factor
        if share > self.target:
            factor = min(factor * self.change, LARGEST_FACTOR)
        elif share < self.target:
            factor = max(factor / self.change, SMALLEST_FACTOR)
        return StepSize(factor)
