"""Which solution of a front of classifiers? How complex it may be is chosen here.

The source takes the most accurate solution on the training rows and names the automatic choice of
complexity as future work (Clark 2011, sections 3.6 and 3.9). Besides its rule there are the
one-standard-error rule and the knee of error against complexity. (The knee of all objectives at
once is no use: it tends to a classifier that gives all rows to one class.) As texts:

=========================================  =====================================================
``accuracy``                               most accurate by the figures that guided the search
``training_accuracy``                      most accurate on all training rows, refitted (Clark)
``one_se``, ``one_se:2``                   least complex within one (two) standard errors of that
``knee``, ``knee:gain``                    knee of the least error at each complexity, by method
``best:tpr``, ``cheapest:...``, ``7``      the other rules of `parsimon.pareto.choose`
``... where fpr<=0.05 and complexity<9``   any of them, among the solutions that meet conditions
=========================================  =====================================================
"""

from dataclasses import dataclass

import numpy as np

from parsimon._options import check_choice, check_positive
from parsimon._typing import Array, Mask
from parsimon.exceptions import EmptyFrontError, InvalidInputError
from parsimon.pareto import Front
from parsimon.pareto import choose as choose_from_front
from parsimon.pareto.choice import KNEES
from parsimon.pareto.conditions import condition_mask, written_conditions
from parsimon.pareto.dominance import nondominated_rows
from parsimon.pareto.rules import Rule

# Accuracies that are sums in another order are equal.
_DIGITS = 12


@dataclass(frozen=True, eq=False)
class Figures:
    """What is known of each solution of a front besides its objectives, in its order.

    Shapes: complexity (n_solutions,).

    accuracy (n_solutions,): That follows from the rates that guided the search, or that on the
        training rows if it is lower.
    training_accuracy (n_solutions,): On all training rows, with weights refitted to all of
        them.
    n_columns (n_solutions,): Columns in the model, without the bias.
    n_rows: How many rows `accuracy` was measured on.
    """

    accuracy: Array
    training_accuracy: Array
    complexity: Array
    n_columns: Array
    n_rows: int

    def __len__(self) -> int:
        return len(self.accuracy)

    def where(self, mask: Mask) -> "Figures":
        """Return the figures of some of the solutions."""
        return Figures(
            self.accuracy[mask],
            self.training_accuracy[mask],
            self.complexity[mask],
            self.n_columns[mask],
            self.n_rows,
        )


def choose(front: Front, figures: Figures, rule: Rule) -> int:
    """Return the index that a rule chooses."""
    if not isinstance(rule, str):
        return choose_from_front(front, rule)
    text, _, conditions = rule.partition(" where ")
    wanted = written_conditions(conditions) if conditions else {}
    kept = condition_mask(front.values, front.directions, wanted)
    if not kept.any():
        raise EmptyFrontError("No solution is left to choose from; loosen the conditions.")
    index = _chosen(front[kept], figures.where(kept), text.strip())
    return int(np.flatnonzero(kept)[index])


def _chosen(front: Front, figures: Figures, text: str) -> int:
    name, _, rest = text.partition(":")
    size, columns = figures.complexity, figures.n_columns
    if text == "accuracy":
        return most_accurate(figures.accuracy, size, columns)
    if text == "training_accuracy":
        return most_accurate(figures.training_accuracy, size, columns)
    if name == "one_se":
        n_errors = _number(rest) if rest else 1.0
        return within_standard_error(
            figures.accuracy, size, columns, n_rows=figures.n_rows, n_errors=n_errors
        )
    if name == "knee":
        return error_knee(1.0 - figures.accuracy, size, method=rest or "chord")
    try:
        return choose_from_front(front, text)
    except InvalidInputError as error:
        if not str(error).startswith("There is no rule"):
            raise
        own = "accuracy, training_accuracy, one_se, knee"
        raise InvalidInputError(
            f"There is no rule {name!r}; the rules are {own}, best, nearest, cheapest, "
            "desirable, or an index."
        ) from error


def most_accurate(accuracy: Array, complexity: Array, n_columns: Array) -> int:
    """Return the most accurate; ties go to the least complex, then to the fewest columns.

    Shapes: accuracy, complexity, n_columns (n_solutions,).

    Clark (2011), section 3.6.
    """
    return int(np.lexsort((n_columns, complexity, -accuracy.round(_DIGITS)))[0])


def within_standard_error(
    accuracy: Array,
    complexity: Array,
    n_columns: Array,
    *,
    n_rows: int,
    n_errors: float = 1.0,
) -> int:
    r"""Return the least complex solution nearly as accurate as the best.

    The standard error is that of the best accuracy, binomial: :math:`\sqrt{p (1 - p) / n}` with
    :math:`p = (n a + 1) / (n + 2)`, so that a faultless solution has one too [1]. Ties go to the
    more accurate, then to the fewest columns.

    Shapes: accuracy, complexity, n_columns (n_solutions,).

    [1] Breiman, Friedman, Olshen and Stone (1984), Classification and regression trees,
    section 3.4.3.
    """
    check_positive("n_errors", n_errors, or_zero=True)
    best = float(accuracy.max())
    share = (n_rows * best + 1.0) / (n_rows + 2.0)
    least = best - n_errors * np.sqrt(share * (1.0 - share) / n_rows)
    eligible = np.flatnonzero(accuracy.round(_DIGITS) >= round(least, _DIGITS))
    order = np.lexsort(
        (n_columns[eligible], -accuracy[eligible].round(_DIGITS), complexity[eligible])
    )
    return int(eligible[order[0]])


def error_knee(error: Array, complexity: Array, *, method: str = "chord") -> int:
    """Return the knee of error against complexity.

    Of each complexity only the least error counts; of these points those that are not dominated
    form a front of two objectives, whose knee is taken.

    Shapes: error, complexity (n_solutions,).
    """
    check_choice("method", method, tuple(KNEES))
    points = np.column_stack([error.round(_DIGITS), complexity])
    front = np.flatnonzero(nondominated_rows(points, keep_ties=False))
    return int(front[KNEES[method](points[front])])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInputError(f"A rule needs a number here, got {text!r}.") from error
