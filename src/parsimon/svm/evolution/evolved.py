"""What an evolution returns."""

from dataclasses import dataclass

from parsimon._typing import Array


@dataclass(frozen=True, eq=False)
class Evolved:
    """The best point an evolution has seen, and how the run went.

    alpha (n,): Feasible.
    history (n_generations + 1,): The best objective after each generation; it never falls.
    n_evaluations: Points whose objective was computed; for "memetic" points that were climbed
        from.
    n_steps: Exact local steps.
    stopped_by: "concave": one climb is the maximum, and there was nothing to search for.
    """

    alpha: Array
    history: Array
    n_generations: int
    n_evaluations: int
    n_steps: int
    stopped_by: str
