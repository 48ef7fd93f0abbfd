"""What weights of columns and distances between tasks must fulfil, as checks that give numbers.

Mierswa (2009, section 10.3) asks of weights that columns which say nothing, or repeat another, do
not change what a task looks like, and of distances that they do not see such columns.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from parsimon._checks import check_count, finite_matrix
from parsimon._random import Seed, generator
from parsimon._typing import Array


def weighting_violations(
    weigh: Callable[[Array, Any], Array],
    X: Any,
    y: Any,
    *,
    n_copies: int = 2,
    random_state: Seed = 0,
) -> dict[str, float]:
    r"""Return by how much weights of columns break each axiom, as shares of the largest weight.

    Columns are added to a table, and the weights are computed again. The second axiom is read as
    meant: the total of a group of copies is the same whichever of them are there. As printed, that
    every subset of one table has the same total, it would allow no weight but 0.

    Parameters
    ----------
    weigh : callable
        Gets X and y and returns a weight for each column.
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    n_copies : int
        Affine copies that are added of each column in turn.
    random_state : int, Generator, SeedSequence, RandomState or None
        Of a column that says nothing, and of the copies.

    Returns
    -------
    dict of str to float
        "W1": weight of a column that says nothing. "W2": change of the total weight of a column
        and its copies. "W3": difference among them. "W4": change of the weights of the others.

    References
    ----------
    Mierswa (2009), dissertation, TU Dortmund, section 10.3.

    Examples
    --------
    >>> from parsimon.features import task_weights
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = X[:, 0] + np.sin(X[:, 1])
    >>> max(weighting_violations(task_weights, X, y).values()) < 0.05
    True
    >>> def correlation(X, y):
    ...     return np.abs([np.corrcoef(x, y)[0, 1] for x in X.T])
    >>> round(weighting_violations(correlation, X, y)["W2"])
    2
    """
    check_count("n_copies", n_copies)
    table = finite_matrix(X, "X")
    rng = generator(random_state)
    before = np.asarray(weigh(table, y), dtype=np.float64)
    scale = float(np.abs(before).max()) or 1.0
    after = np.asarray(weigh(np.column_stack([table, rng.normal(size=len(table))]), y))
    found = {"W1": [abs(after[-1])], "W2": [], "W3": [], "W4": [np.abs(after[:-1] - before).max()]}
    for place in range(table.shape[1]):
        slopes, shifts = rng.uniform(0.5, 2.0, n_copies), rng.normal(size=n_copies)
        copies = table[:, [place]] * slopes + shifts
        after = np.asarray(weigh(np.column_stack([table, copies]), y), dtype=np.float64)
        group = after[[place, *range(len(before), len(after))]]
        others = np.delete(after[: len(before)] - before, place)
        found["W2"].append(abs(group.sum() - before[place]))
        found["W3"].append(np.ptp(group))
        found["W4"].append(np.abs(others).max(initial=0.0))
    return {axiom: float(max(values)) / scale for axiom, values in found.items()}


def distance_violations(
    distance: Callable[[Array, Array], float],
    *,
    n_columns: int = 5,
    n_tasks: int = 20,
    random_state: Seed = 0,
) -> dict[str, float]:
    """Return by how much a distance of weights breaks each axiom, on random tasks.

    Parameters
    ----------
    distance : callable
        Gets the weights of two tasks, shape (d,) each.
    n_columns, n_tasks : int
    random_state : int, Generator, SeedSequence, RandomState or None

    Returns
    -------
    dict of str to float
        "D1" to "D3": of a metric; "D1" is the distance of a task to itself, or infinite if two
        different tasks have none. "D4": change by a column that says nothing in either task, whose
        weight is 0. "D5": change by copies of a column, which share its weight.

    References
    ----------
    Mierswa (2009), dissertation, TU Dortmund, section 10.3.

    Examples
    --------
    >>> manhattan = distance_violations(lambda u, v: float(np.abs(u - v).sum()))
    >>> max(manhattan.values()) < 1e-12
    True
    >>> euclidean = distance_violations(lambda u, v: float(np.linalg.norm(u - v)))
    >>> [axiom for axiom, violation in euclidean.items() if violation > 1e-12]
    ['D5']
    """
    check_count("n_columns", n_columns)
    check_count("n_tasks", n_tasks, least=3)
    rng = generator(random_state)
    found = dict.fromkeys(("D1", "D2", "D3", "D4", "D5"), 0.0)
    for _ in range(n_tasks):
        first, second, third = rng.normal(size=(3, n_columns))
        apart = distance(first, second)
        itself = distance(first, first) if apart > 0 else np.inf
        detour = apart + distance(second, third)
        padded = distance(np.append(first, 0.0), np.append(second, 0.0))
        shared = distance(_with_copies(first, 0), _with_copies(second, 0))
        violations = (
            abs(itself),
            abs(apart - distance(second, first)),
            max(distance(first, third) - detour, 0.0),
            abs(padded - apart),
            abs(shared - apart),
        )
        found = {
            axiom: max(value, float(violation))
            for (axiom, value), violation in zip(found.items(), violations, strict=True)
        }
    return found


def _with_copies(weights: Array, place: int, n_copies: int = 2) -> Array:
    """Return the weights with copies of a column, among which its weight is shared out."""
    share = weights[place] / (n_copies + 1)
    shared: Array = np.concatenate([weights, np.full(n_copies, share)])
    shared[place] = share
    return shared
