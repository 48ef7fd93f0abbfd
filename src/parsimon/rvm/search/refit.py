"""After the search: every model fitted to all training rows, and its points measured there.

Archives of folds and halves hold rates of models that saw part of the rows. Their precisions and
cutoffs are what the search found; the weights and the rates that are returned come from all rows
(Clark 2011, section 3.6: training data and archives are recombined).
"""

from dataclasses import dataclass

import numpy as np

from parsimon._typing import Array, Mask
from parsimon.inference.irls import TOLERANCE, logistic_mode
from parsimon.pareto.dominance import nondominated_rows
from parsimon.rvm.search.complexity import check_complexity
from parsimon.rvm.search.fitting import LARGEST_SCORE, Fit, Fitter, training_on
from parsimon.rvm.search.outcome import Outcome
from parsimon.rvm.search.problem import Problem


@dataclass(frozen=True, eq=False)
class Refit:
    """The points of an outcome after fitting to all rows, in the outcome's order.

    Attributes
    ----------
    values : ndarray of shape (k, 3)
        tpr, fpr and complexity on the training rows.
    accuracy : ndarray of shape (k,)
        On the training rows.
    weights : tuple of ndarray of shape (m,)
        Of each model of the outcome.
    converged : ndarray of shape (n_models,)
        False where rows are told apart so well that weights would grow for ever.
    """

    values: Array
    accuracy: Array
    weights: tuple[Array, ...]
    converged: Mask

    @property
    def nondominated(self) -> Mask:
        """Which points are on the front of the training rows, the first of equal ones."""
        return nondominated_rows(self.values * (-1.0, 1.0, 1.0), keep_ties=False)


def refit(problem: Problem, outcome: Outcome, *, complexity: str = "active") -> Refit:
    """Fit every model of an outcome to all rows, exactly, and measure all of its points.

    Parameters
    ----------
    problem : Problem
    outcome : Outcome
    complexity : {"active", "degrees_of_freedom", "trace", "gammas"}

    Returns
    -------
    Refit

    Examples
    --------
    >>> from parsimon.rvm.search.engine import search
    >>> design = np.array([[1.0, -2], [1, -1], [1, 1], [1, 2]])
    >>> problem = Problem(design, np.array([0.0, 0, 1, 1]), has_bias=True)
    >>> final = refit(problem, search(problem, max_iter=50, random_state=0))
    >>> float(final.accuracy.max())
    1.0
    """
    everything = np.ones((1, problem.n_rows), dtype=np.bool_)
    training = training_on(problem, everything)
    counts = np.concatenate(problem.counts(everything))
    fitter = Fitter(problem.rows, check_complexity(complexity), problem.has_bias)
    values = np.empty((len(outcome.cutoffs), 3))
    modes = []
    for number, model in enumerate(outcome.models):
        active = model.active.tolist()
        mode = logistic_mode(
            problem.rows.columns[active].T,
            training.labels[0],
            model.alpha,
            row_weights=training.weights[0],
            tolerance=TOLERANCE,
            largest_score=LARGEST_SCORE,
        )
        points = outcome.which == number
        above = mode.scores > outcome.cutoffs[points, None]
        values[points, :2] = (above @ counts.T) / counts.sum(axis=1)
        fit = Fit(mode.weights[None], mode.scores[None])
        values[points, 2] = fitter.complexity_of(active, model.alpha, training, fit)
        modes.append(mode)
    negative, positive = problem.class_weights
    right = positive * values[:, 0] + negative * (1.0 - values[:, 1])
    return Refit(
        values,
        right / (positive + negative),
        tuple(mode.weights for mode in modes),
        np.array([mode.converged for mode in modes], dtype=np.bool_),
    )
