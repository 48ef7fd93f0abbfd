"""The transductive problem as printed: the greatest maximum over labels instead of the least."""

import numpy as np
import pytest
from benchmarks.reproduce._mierswa_joint import maximise_jointly, problem_of_rows
from hypothesis import given, settings
from tests.svm.test_transduction_search import problems
from tests.svm.transduction_problems import (
    all_labellings,
    four_clusters,
    inner_maximum,
    random_problem,
)

from parsimon.svm import TransductiveSVC
from parsimon.svm._labellings import evolve_labellings
from parsimon.svm._transductive_problem import TransductiveProblem


@settings(max_examples=10)
@given(problems(most=4))
def test_the_printed_problem_takes_the_greatest_instead_of_the_least(problem):
    found = maximise_jointly(problem, rng=np.random.default_rng(0))
    greatest = max(inner_maximum(problem, labels) for labels in all_labellings(problem))
    assert found.fit.objective == pytest.approx(greatest, rel=1e-3, abs=1e-6)


def test_the_printed_problem_by_evolution_grows_beyond_its_start():
    problem = random_problem(2, n_unlabelled=30)
    problem = TransductiveProblem(problem.kernel, problem.known, problem.upper, 10, 20)
    rng = np.random.default_rng(0)
    start = max(problem.fit(problem.random_labels(rng)).objective for _ in range(10))
    found = maximise_jointly(problem, max_iter=40, stall=40, rng=np.random.default_rng(0))
    assert found.n_iter == 40
    assert found.fit.objective > start
    assert 10 <= (found.fit.labels > 0).sum() <= 20
    best = evolve_labellings(problem, rng=np.random.default_rng(0)).fit.objective
    assert best < 0.8 * found.fit.objective


def test_four_clusters_are_split_vertically():
    X, y, _ = four_clusters()
    model = TransductiveSVC(1.0, kernel="linear", C_unlabelled=None)
    found = maximise_jointly(problem_of_rows(model, X, y), rng=np.random.default_rng(0)).fit
    assert found.objective == pytest.approx(2.0)
    assert (found.labels > 0).tolist() == [True, False]
