"""Ctrl-C is answered by what a user called, with the best so far; what is inside lets it pass."""

import signal

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon._compiled import compiled
from parsimon._interrupts import undisturbed
from parsimon._typing import Array
from parsimon.ensembles import ABCClassifier, ChainOptions
from parsimon.ensembles.rules import HardTree
from parsimon.exceptions import InterruptWarning
from parsimon.features import (
    ClusteringSelector,
    ParetoConstructor,
    ParetoSelector,
    StableSelector,
    _halves,
)
from parsimon.features._halves import fit_halves
from parsimon.features.series import SeriesExtractor
from parsimon.features.series.tree_search import TreeSearch
from parsimon.gp import KernelSearch
from parsimon.pareto import Box, nsga2, run
from parsimon.rvm import ParetoRVC
from parsimon.svm import EvolutionarySVC, EvolutionarySVR, ParetoSVC, ParetoTransductiveSVC

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] + X[:, 1] ** 2 + 0.3 * RNG.normal(size=40) > 0.5).astype(int)
THREE = np.digitize(X[:, 0], (-0.5, 0.5))
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning"),
    pytest.mark.filterwarnings("ignore::parsimon.exceptions.InvertedPredictionWarning"),
]
# The default ends with the first climb if the kernel is definite; a swarm does not.
SWARM = {"strategy": "swarm", "max_iter": 9, "random_state": 0}


def says_best_so_far():
    return pytest.warns(InterruptWarning, match="Stopped by Ctrl-C: this is the best so far")


@pytest.fixture
def cut(monkeypatch):
    """Let someone press Ctrl-C once, in the n-th step of whatever runs in the loop."""

    def at(n, owner=run._Run, name="advanced"):
        real, calls = getattr(owner, name), []

        def interrupted(self, *given):
            calls.append(name)
            if len(calls) == n:
                raise KeyboardInterrupt
            return real(self, *given)

        monkeypatch.setattr(owner, name, interrupted)
        return calls

    return at


SEARCHES = {
    "ParetoRVC": (ParetoRVC(cv=2, max_iter=30, random_state=0), Y),
    "ParetoSVC": (ParetoSVC(max_iter=9, random_state=0), Y),
    "ParetoTransductiveSVC": (
        ParetoTransductiveSVC(max_iter=9, random_state=0),
        np.where(np.arange(40) < 20, Y, -1),
    ),
    "EvolutionarySVC": (EvolutionarySVC(**SWARM), Y),
    "EvolutionarySVR": (EvolutionarySVR(**SWARM), X[:, 0]),
    "KernelSearch": (KernelSearch(depth=2, cv=2, random_state=0), Y),
    "ABCClassifier": (
        ABCClassifier(
            HardTree(1),
            chains=ChainOptions(n_samples=200, n_chains=2),
            calibration=None,
            random_state=0,
        ),
        Y,
    ),
    "ParetoConstructor": (ParetoConstructor(max_iter=9, population_size=8, random_state=0), Y),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_fit_returns_the_best_so_far_and_says_so(name, cut):
    search, y = SEARCHES[name]
    cut(3)
    with says_best_so_far():
        search.fit(X, y)
    assert search.stopped_by_ == "interrupt"
    assert len(search.predict(X)) == len(X)


@pytest.mark.parametrize("name", SEARCHES)
def test_ctrl_c_ends_a_whole_cross_validation(name, cut):
    search, y = SEARCHES[name]
    calls = cut(3)
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(search, X, y, cv=2)
    assert len(calls) == 3


def test_a_fit_of_features_of_series_returns_the_best_so_far(cut):
    t = np.linspace(0, 1, 24)
    series = np.sin(2 * np.pi * np.outer(1 + THREE, t)) + 0.1 * RNG.normal(size=(40, 24))
    cut(2, TreeSearch, "_children")
    search = SeriesExtractor(max_iter=5, population_size=8, random_state=0)
    with says_best_so_far():
        search.fit(series, THREE)
    assert (search.stopped_by_, search.n_iter_) == ("interrupt", 1)
    assert len(search.predict(series)) == 40


def test_a_cut_search_for_series_goes_on_to_the_same_bits(cut, tmp_path, monkeypatch):
    t = np.linspace(0, 1, 24)
    series = np.sin(2 * np.pi * np.outer(1 + THREE, t)) + 0.1 * RNG.normal(size=(40, 24))
    options = {"max_iter": 4, "population_size": 8, "random_state": 0}
    whole = SeriesExtractor(**options).fit(series, THREE)
    cut(3, TreeSearch, "_children")
    with says_best_so_far():
        SeriesExtractor(**options, checkpoint=tmp_path / "run.json").fit(series, THREE)
    monkeypatch.undo()
    again = SeriesExtractor(**options, checkpoint=tmp_path / "run.json").fit(series, THREE)
    assert again.trees_ == whole.trees_
    np.testing.assert_array_equal(again.front_.values, whole.front_.values)


@pytest.mark.parametrize("max_subsets", [31, 5])
def test_a_selection_returns_the_best_so_far(max_subsets, cut, monkeypatch):
    from parsimon.features._subsets import SubsetErrors

    monkeypatch.setattr("parsimon.features._subsets._BETWEEN_SAVES", 1)
    monkeypatch.setattr("parsimon.features._subsets._SOLVED_BETWEEN", 4)
    cut(3, SubsetErrors, "_evaluate")
    wide = RNG.normal(size=(40, 5))
    monkeypatch.setattr("parsimon.features._subset_search._MOST_SUBSETS", max_subsets)
    # With a limit of time subsets come a few at a time.
    search = ParetoSelector(max_iter=2, time_limit=1e6, random_state=0)
    with says_best_so_far():
        search.fit(wide, wide[:, 0] > 0)
    assert (search.stopped_by_, search.exact_) == ("interrupt", False)


@pytest.fixture
def cut_halves(monkeypatch):
    """Let someone press Ctrl-C in the n-th split of a selection; return the selection."""
    wide = RNG.normal(size=(40, 60))

    def at(n, **options):
        calls = []

        def interrupted(*given):
            calls.append(given)
            if len(calls) == n:
                raise KeyboardInterrupt
            return fit_halves(*given)

        monkeypatch.setattr(_halves, "fit_halves", interrupted)
        options = {"n_splits": 15, "n_permutations": 3, "random_state": 0, **options}
        return StableSelector(**options).fit(wide, Y)

    return at


# 15 splits with a permuted target each come first, then 15 with the true one, then 3 times 15.
@pytest.mark.parametrize(("n", "n_splits", "n_permutations"), [(28, 12, 0), (50, 15, 1)])
def test_a_stable_selection_returns_what_it_has_counted(cut_halves, n, n_splits, n_permutations):
    with says_best_so_far():
        found = cut_halves(n)
    assert found.stopped_by_ == "interrupt"
    assert (found.n_splits_, found.n_permutations_) == (n_splits, n_permutations)
    whole = cut_halves(0, n_splits=n_splits)
    assert whole.stopped_by_ == "splits"
    if n_splits == 15:
        np.testing.assert_array_equal(found.totals_, whole.totals_)


@pytest.mark.parametrize("n", [3, 20])
def test_a_stable_selection_of_a_few_splits_is_none(cut_halves, n):
    with pytest.raises(KeyboardInterrupt):
        cut_halves(n)


def test_ctrl_c_ends_a_cross_validation_of_a_stable_selection(cut_halves, monkeypatch):
    monkeypatch.setattr("parsimon._interrupts._is_users", lambda _: False)
    with pytest.raises(KeyboardInterrupt):
        cut_halves(28)


def test_a_stable_selection_says_that_its_time_was_up():
    wide = RNG.normal(size=(40, 60))
    found = StableSelector(n_splits=500, time_limit=0.01, random_state=0).fit(wide, Y)
    assert found.stopped_by_ == "time_limit"


def test_selectors_say_why_they_ended():
    assert ClusteringSelector(random_state=0).fit(X).stopped_by_ == "exhausted"
    assert ParetoSelector(random_state=0).fit(X, Y).stopped_by_ == "exhausted"
    assert KernelSearch(depth=1, cv=2, random_state=0).fit(X, Y).stopped_by_ == "depth"


def test_searches_that_follow_a_cut_one_stop_after_their_first_step(cut):
    search = EvolutionarySVC(**SWARM)
    search.fit(X, THREE)
    assert max(map(len, search.history_)) > 5
    cut(3)
    with says_best_so_far():
        search.fit(X, THREE)
    assert list(map(len, search.history_)) == [2, 1, 1]
    assert search.stopped_by_ == "interrupt"


def test_ctrl_c_ends_a_whole_grid_search(cut):
    cut(3)
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(ParetoSVC(), {"max_iter": [8, 9]}, cv=2).fit(X, Y)


def test_ctrl_c_is_answered_in_a_pipeline(cut):
    cut(3)
    with says_best_so_far():
        model = make_pipeline(StandardScaler(), ParetoSVC(max_iter=9)).fit(X, Y)
    assert model[-1].stopped_by_ == "interrupt"


def test_a_search_inside_a_search_is_not_taken_for_finished():
    """The inner search is cut in the outer one's third generation, which is dropped whole."""
    calls = []

    def inner(rows):
        calls.append(len(rows))
        if len(calls) == 14:
            raise KeyboardInterrupt
        return np.column_stack((rows[:, 0] ** 2, (rows[:, 0] - 1) ** 2))

    def outer(rows):
        found = nsga2(inner, Box(0, 1, n_variables=1), population_size=4, max_iter=3)
        return np.column_stack((rows[:, 0] ** 2, (rows[:, 0] - found.values.min()) ** 2))

    with says_best_so_far():
        result = nsga2(
            outer, Box(0, 1, n_variables=1), population_size=4, max_iter=9, random_state=0
        )
    assert result.stopped_by == "interrupt"
    assert len(calls) == 14


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_waits_until_what_must_not_be_cut_is_done():
    done = []

    def move():
        with undisturbed():
            with undisturbed():
                signal.raise_signal(signal.SIGINT)
                done.append("all of it")
            done.append("what is around it")

    with pytest.raises(KeyboardInterrupt):
        move()
    assert done == ["all of it", "what is around it"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@compiled
def one_more(values: Array) -> float:
    """Only for the test below, so that its machine code is made there."""
    total = 0.0
    for value in values:
        total += value
    return total + 1


@pytest.mark.usefixtures("interruptible")
def test_loops_that_were_compiled_when_ctrl_c_came_can_be_called_again(monkeypatch):
    caching = pytest.importorskip("numba.core.caching")
    typing = pytest.importorskip("numba.core.typed_passes").NopythonTypeInference
    usual, calls = typing.run_pass, []

    def interrupted(self, state):
        calls.append(state)
        if len(calls) == 1:
            signal.raise_signal(signal.SIGINT)
        return usual(self, state)

    monkeypatch.setattr(typing, "run_pass", interrupted)
    monkeypatch.setattr(one_more.machine_code, "_cache", caching.NullCache())
    with pytest.raises(KeyboardInterrupt):
        one_more(np.ones(3))
    assert one_more(np.ones(3)) == 4
    assert len(calls) == 1
