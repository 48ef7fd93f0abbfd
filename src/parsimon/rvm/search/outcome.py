"""What a search returns: operating points, the models behind them, and how the run went."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parsimon._typing import Array, Indices

# The first is maximised, the others are minimised.
OBJECTIVES = ("tpr", "fpr", "complexity")


@dataclass(frozen=True, eq=False)
class Model:
    """A choice of columns with their precisions.

    active (m,): Columns of the design that are on, ascending.
    alpha (m,): Their prior precisions.
    """

    active: Indices
    alpha: Array

    def full_alpha(self, n_columns: int) -> Array:
        """Return the precision of every column, infinite where it is off."""
        alpha = np.full(n_columns, np.inf)
        alpha[self.active] = self.alpha
        return alpha


@dataclass(frozen=True, eq=False)
class History:
    """The course of a search, one entry every so many iterations.

    n_iter, n_evaluations (n_entries,): Iterations and models fitted so far.
    n_points, n_models (n_entries,): Operating points in the archive that parents come from, and
        the models behind them.
    """

    n_iter: Indices
    n_evaluations: Indices
    n_points: Indices
    n_models: Indices


@dataclass(frozen=True, eq=False)
class Outcome:
    """The archive after a search, or at present when given to a callback.

    values (k, 3): tpr, fpr and complexity of every operating point, as they guided the search:
        on the rows that judged it, which are the training rows without a scheme and held-out
        rows with one. They are no estimate of performance on new rows.
    cutoffs (k,): A row is positive where its score is above.
    which (k,): The model behind each point.
    models: Each occurs once, however many of its thresholds are in the archive.
    n_evaluations: Models fitted, folds not counted.
    stopped_by: "running"} Why the search ended; "running" in what a callback gets.
    """

    values: Array
    cutoffs: Array
    which: Indices
    models: tuple[Model, ...]
    n_iter: int
    n_evaluations: int
    stopped_by: str
    history: History

    @cached_property
    def n_active(self) -> Indices:
        """How many columns the model behind each point has on, the bias included, shape (k,)."""
        sizes = np.array([len(model.active) for model in self.models], dtype=np.intp)
        return sizes[self.which]

    def __repr__(self) -> str:
        return (
            f"Outcome: {len(self.values)} operating points of {len(self.models)} models after "
            f"{self.n_iter} iterations ({self.n_evaluations} evaluations), "
            f"stopped by {self.stopped_by}"
        )
