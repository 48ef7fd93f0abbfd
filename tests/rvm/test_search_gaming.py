"""A complexity that can be gamed, and the default that cannot.

All columns on at a huge precision have almost no printed complexity, while their scores still
rank the rows: Banana's 1,200 columns at alpha = 1e11 have C = 1.2e-8.
"""

import numpy as np
import pytest

from parsimon.pareto.dominance import nondominated_rows
from parsimon.rvm._evaluators import GenomeFitter, TwoClassEvaluator
from parsimon.rvm._machine import printed_complexity
from parsimon.rvm._search import search
from parsimon.rvm._sweep import ExactSweep, GridSweep
from tests.rvm.search_problems import banana, bumps

SIGN = (-1.0, 1.0, 1.0)


def raetsch_banana(folder):
    table = np.genfromtxt(folder / "raetsch_banana.csv.gz", delimiter=",", skip_header=1)
    train = np.load(folder / "raetsch_banana_splits.npz")["train"][0]
    rows = table[train]
    return bumps(rows[:, :2], rows[:, 2] > 0, 1.0, 0.5, 0.25)


@pytest.fixture(params=["synthetic", "Banana"])
def problem(request):
    if request.param == "synthetic":
        return bumps(*banana(100), 1.0, 0.5, 0.25)
    return raetsch_banana(request.getfixturevalue("data_folder"))


def trick(problem, complexity, sweep):
    """Return the operating points of all columns but the bias at alpha = 1e11."""
    everything = dict.fromkeys(range(1, problem.n_columns), 11.0)
    fitter = GenomeFitter(problem, sweep, complexity)
    return TwoClassEvaluator(fitter).evaluate(everything, None).values


def entering(members, candidates):
    """Return how many candidates a front of the members would take in."""
    both = np.concatenate((members, candidates)) * SIGN
    return np.count_nonzero(nondominated_rows(both, keep_ties=False)[len(members) :])


def test_the_trick_is_dominated_by_default_and_not_by_the_printed_complexity(problem):
    found = search(problem, max_iter=2500, stall=None, random_state=0)
    points = trick(problem, "active", ExactSweep())
    assert points[0, 2] == problem.n_columns - 1
    assert entering(found.values, points) == 0
    # The same models and the same points, only the complexity is the printed one.
    printed = np.array([printed_complexity(model.alpha) for model in found.models])[found.which]
    members = np.column_stack((found.values[:, :2], printed))
    gamed = trick(problem, "degrees_of_freedom", ExactSweep())
    np.testing.assert_array_equal(gamed[:, :2], points[:, :2])
    assert gamed[0, 2] < 1e-7
    assert entering(members, gamed) > len(gamed) / 2


def test_a_grid_of_probabilities_takes_the_trick_its_thresholds():
    problem = bumps(*banana(60), 1.0, 0.5)
    exact, printed = (
        trick(problem, "degrees_of_freedom", sweep) for sweep in (ExactSweep(), GridSweep(0.01))
    )
    assert len(exact) > 5
    # All probabilities are a half to six digits: everything, nothing, or whoever is above it.
    assert len(printed) <= 3
