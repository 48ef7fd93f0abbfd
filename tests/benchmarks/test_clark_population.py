"""NSGA-II over genomes, which a benchmark compares with: survivors, mates, children of two."""

from itertools import pairwise

import numpy as np
import pytest
from benchmarks.reproduce._clark_population import (
    PopulationState,
    cross,
    mate,
    search_population,
)
from hypothesis import given
from hypothesis import strategies as st
from tests.rvm.search_problems import banana, best_of, bumps, digits

from parsimon.rvm._evaluators import TwoClassEvaluator

genes = st.dictionaries(st.integers(0, 9), st.floats(-12, 12), min_size=1)


@pytest.mark.parametrize("crossover", [False, True])
def test_a_population_with_room_for_all_keeps_the_front_of_everything(monkeypatch, crossover):
    seen, evaluate = [], TwoClassEvaluator.evaluate

    def logged(self, genes, parent):
        swept = evaluate(self, genes, parent)
        seen.append(swept.values)
        return swept

    monkeypatch.setattr(TwoClassEvaluator, "evaluate", logged)
    options = {"complexity": "active", "thresholds": "exact", "size": 80}
    found = search_population(
        bumps(*banana(24), 1.0), max_evaluations=400, crossover=crossover, **options
    )
    assert len(seen) == found.n_evaluations == 25 + 5 * 80
    assert sorted(digits(found.values)) == best_of(np.concatenate(seen))
    assert len(found.values) < 80


def test_mates_are_the_better_of_two():
    genomes, owners = {7: "worse", 9: "better"}, np.array([7, 9])
    rng = np.random.default_rng(0)
    for levels, room in (([1, 0], [5.0, 1.0]), ([0, 0], [1.0, 2.0])):
        state = PopulationState(
            np.zeros((2, 3)), np.zeros(2), owners, np.array(levels), np.array(room), genomes, 2
        )
        share = np.mean([mate(state, rng) == "better" for _ in range(2000)])
        assert share == pytest.approx(0.75, abs=0.05)


@given(genes, genes, st.integers(0, 2**32 - 1))
def test_crossover_takes_every_column_from_one_parent_or_the_other(first, second, seed):
    child = cross(first, second, 10, np.random.default_rng(seed))
    assert child
    sides = [(child.get(c) == first.get(c), child.get(c) == second.get(c)) for c in range(10)]
    assert all(a or b for a, b in sides)
    # Five cuts make at most six pieces, taken in turn.
    clear = [a for a, b in sides if a != b]
    assert sum(a != b for a, b in pairwise(clear)) <= 5
