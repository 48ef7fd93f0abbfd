"""One question with its data and the search that answered it: what all findings are made from."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.gp import KernelSearch
from parsimon.report.findings import Task

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, kw_only=True)
class Subject:
    """A question with its data and the search that answered it.

    X (n, d): Finite floats; its columns are the names of the variables.
    y (n,): 1 for the positive class and 0 for the others; or numbers.
    positive, negative: Names of the classes 1 and 0; empty for a number. `target` is the
        column's name.
    search: Fitted to `X` and `y`.
    model: The best structure fitted to all rows of the question: `search.best_estimator_`, or a
        sparse model where there are too many rows for that.
    table (n, ...): The same rows as the table has them, to quote from.
    rows (n,): Their numbers in the table, from 1.
    key: Distinguishes the pictures of several studies: letters, digits and dashes.
    """

    X: "pd.DataFrame"
    y: Array
    task: Task
    target: str
    positive: str
    negative: str
    search: KernelSearch
    model: Any
    table: "pd.DataFrame"
    rows: Indices
    key: str
    seed: np.random.SeedSequence

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(str(name) for name in self.X.columns)
