"""The axioms of weights, of distances between tasks and of joining columns (Mierswa 2009)."""

import numpy as np
import pytest
from benchmarks.reproduce._mierswa_axioms import (
    aggregation_axioms,
    distance_violations,
    weighting_violations,
)
from benchmarks.reproduce._mierswa_filters import FILTERS
from tests.features.cases import relevant_task

from parsimon.features import task_weights

JOINS = {
    "maximum": np.maximum,
    "probabilistic sum": lambda x, y: x + y - x * y,
    "bounded sum": lambda x, y: np.minimum(1, x + y),
    "drastic sum": lambda x, y: np.where(x == 0, y, np.where(y == 0, x, 1.0)),
    "mean": lambda x, y: (x + y) / 2,
    "sum": np.add,
    "Einstein sum": lambda x, y: (x + y) / (1 + x * y),
    "minimum": np.minimum,
    "weighted": lambda x, y: (2 * x + y) / 3,
}


def test_weights_of_the_machine_fulfil_the_axioms_for_numbers_and_for_classes():
    X, y = relevant_task()
    noisy = y + 0.5 * np.random.default_rng(2).normal(size=len(y))
    for target in (y, np.where(noisy > 0, "high", "low"), np.digitize(noisy, [-1.0, 1.0]) + 0.0):
        task = "classification" if len(np.unique(target)) < 4 else "regression"
        found = weighting_violations(lambda X, y, t=task: task_weights(X, y, task=t), X, target)
        assert set(found) == {"W1", "W2", "W3", "W4"}
        assert max(found.values()) < 0.05, (task, found)


@pytest.mark.parametrize("kind", ["Relief", "information gain", "selection"])
def test_weights_of_single_columns_and_selection_break_the_axioms(kind):
    X, y = relevant_task(500)

    def weigh(X, y):
        if kind == "selection":
            return (np.abs(task_weights(X, y)) > 0.1).astype(float)
        return FILTERS[kind](X, y, "regression")

    found = weighting_violations(weigh, X, y)
    # Twice what the machine's weights are allowed.
    assert max(found.values()) > 0.1


def test_copies_shrink_the_penalty_so_that_the_second_axiom_needs_a_large_C():
    X, y = relevant_task(300)
    broken = [
        weighting_violations(lambda X, y, C=C: task_weights(X, y, C=C), X, y)["W2"]
        for C in (1e-4, 1e-3, 1e-2, 10.0)
    ]
    assert broken == sorted(broken, reverse=True)
    assert broken[0] > 0.2 > 1e-3 > broken[-1]


def test_manhattan_fulfils_the_axioms_of_distances_and_euclid_does_not():
    manhattan = distance_violations(lambda u, v: float(np.abs(u - v).sum()))
    assert max(manhattan.values()) < 1e-12
    euclid = distance_violations(lambda u, v: float(np.linalg.norm(u - v)))
    assert euclid["D5"] > 0.01
    assert max(euclid[axiom] for axiom in ("D1", "D2", "D3", "D4")) < 1e-12
    squared = distance_violations(lambda u, v: float(((u - v) ** 2).sum()), n_tasks=200)
    assert squared["D3"] > 0
    assert distance_violations(lambda *_: 0.0)["D1"] == np.inf


def test_only_the_maximum_keeps_all_axioms():
    assert [name for name, join in JOINS.items() if all(aggregation_axioms(join).values())] == [
        "maximum"
    ]


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("probabilistic sum", {"idempotent", "between", "preserving"}),
        ("drastic sum", {"idempotent", "between", "preserving"}),
        ("mean", {"neutral", "associative"}),
        ("minimum", {"neutral"}),
        ("weighted", {"neutral", "commutative"}),
    ],
)
def test_each_other_breaks_its_own(name, broken):
    found = aggregation_axioms(JOINS[name])
    assert broken <= {axiom for axiom, holds in found.items() if not holds}
