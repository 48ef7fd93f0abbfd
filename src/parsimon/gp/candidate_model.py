"""From a kernel that a search judged to a fitted estimator."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from parsimon._typing import AnyArray, Array
from parsimon.gp.candidates import Candidate
from parsimon.gp.judging import Task


@dataclass(frozen=True, eq=False)
class CandidateModel:
    """Turns a candidate into a fitted estimator; a value, so that searches can be pickled.

    Shapes: X (n, d).

    y (n,): Labels of any kind, or numbers in their own units.
    inference: For labels.
    names: Of the columns.
    """

    task: Task
    X: Array
    y: AnyArray
    inference: Literal["ep", "laplace"]
    names: Any

    def __call__(self, candidate: Candidate) -> Any:
        X = framed(self.X, self.names)
        if self.task == "classification":
            from parsimon.gp.classifier import GPClassifier

            kept = GPClassifier(
                candidate.kernel, inference=self.inference, optimise=False, n_restarts=0
            )
            return kept.fit(X, self.y)
        from parsimon.gp.regressor import GPRegressor

        # The search standardised the target; a constant target has no unit.
        unit = float(np.var(self.y)) or 1.0
        noise = unit * (candidate.noise_variance or 1.0)
        held = GPRegressor(candidate.kernel, noise=noise, optimise=False, n_restarts=0)
        return held.fit(X, self.y)


def framed(X: Array, names: Any) -> Any:
    """Return a table with its names, if it had any, for estimators that remember them."""
    if names is None:
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=list(names))
