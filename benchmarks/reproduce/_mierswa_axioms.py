"""What Mierswa (2009) asks of weights, of distances between tasks and of ways to join columns.

Sections 9.2 and 10.3 state axioms; here they are checks that give numbers, or say which hold.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from parsimon._typing import AnyArray, Array

# Where the axioms are tried: 0 and 1, and what lies between.
_TRIED = np.linspace(0.0, 1.0, 21)
_TOLERANCE = 1e-9


def weighting_violations(
    weigh: Callable[[Array, AnyArray], Array],
    table: Array,
    y: AnyArray,
    *,
    n_copies: int = 2,
    seed: int = 0,
) -> dict[str, float]:
    r"""Return by how much weights of columns break each axiom, as shares of the largest weight.

    Columns are added to a table, and the weights are computed again. The second axiom is read as
    meant: the total of a group of copies is the same whichever of them are there. As printed, that
    every subset of one table has the same total, it would allow no weight but 0. "W1" is the weight
    of a column that says nothing, "W2" the change of the total weight of a column and its copies,
    "W3" the difference among them, "W4" the change of the weights of the others.
    """
    rng = np.random.default_rng(seed)
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
    seed: int = 0,
) -> dict[str, float]:
    """Return by how much a distance of weights breaks each axiom, on random tasks.

    "D1" to "D3" are of a metric; "D1" is the distance of a task to itself, or infinite if two
    different tasks have none. "D4": change by a column that says nothing in either task, whose
    weight is 0. "D5": change by copies of a column, which share its weight.
    """
    rng = np.random.default_rng(seed)
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


def aggregation_axioms(join: Callable[[Array, Array], Any]) -> dict[str, bool]:
    """Return which axioms of joining two columns a function keeps, on a lattice of [0, 1].

    A t-conorm has 0 as neutral element, is commutative, associative and monotone. It preserves
    information if no other value is nearer to both arguments, ``|f - x| + |f - y|`` being least,
    which makes it idempotent and puts it between the arguments. Only the maximum keeps all of
    them: by the neutral element and monotony a t-conorm is nowhere below it, and to preserve
    information it must be nowhere above it.
    """

    def joined(x: Array, y: Array) -> Array:
        return np.broadcast_to(np.asarray(join(x, y), dtype=np.float64), np.shape(x))

    x, y, z = (part.ravel() for part in np.meshgrid(_TRIED, _TRIED, _TRIED))
    found = joined(x, y)
    least, most = np.minimum(x, y), np.maximum(x, y)
    higher = joined(x, np.maximum(y, z))
    cost = np.abs(found - x) + np.abs(found - y)
    return {
        "neutral": _equal(joined(x, np.zeros_like(x)), x),
        "commutative": _equal(found, joined(y, x)),
        "associative": _equal(joined(found, z), joined(x, joined(y, z))),
        "monotone": bool((higher >= found - _TOLERANCE).all()),
        "idempotent": _equal(joined(x, x), x),
        "between": bool(((found >= least - _TOLERANCE) & (found <= most + _TOLERANCE)).all()),
        "preserving": bool((cost <= most - least + _TOLERANCE).all()),
    }


def _equal(a: Array, b: Array) -> bool:
    return bool((np.abs(a - b) <= _TOLERANCE).all())
