"""The search as a whole: options, limits, interruption, resumption, what comes out."""

import os
import signal

import numpy as np
import pytest

from parsimon import _compiled
from parsimon._interrupts import stoppable
from parsimon.exceptions import CheckpointError, InterruptWarning, InvalidInputError
from parsimon.pareto import Checkpoint
from parsimon.rvm._genome import Elite, Moves
from parsimon.rvm._problem import RelevanceProblem
from parsimon.rvm._search import ArchiveSearch, ChosenColumns, search
from tests.rvm.search_problems import banana, best_of, bumps, small_problem

FAST = {"max_iter": 150, "stall": None, "random_state": 0}
VARIANTS = [
    {},
    {"scheme": "swap"},
    {"scheme": "shuffle"},
    {"scheme": "stratified"},
    {"scheme": "homogeneous"},
    {"scheme": 3},
    {"complexity": "degrees_of_freedom", "thresholds": 0.01},
]


@pytest.fixture(scope="module")
def problem():
    return bumps(*banana(40), 1.0, 0.5)


def same(one, other):
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.cutoffs, other.cutoffs)
    np.testing.assert_array_equal(one.which, other.which)
    for a, b in zip(one.models, other.models, strict=True):
        np.testing.assert_array_equal(a.active, b.active)
        np.testing.assert_array_equal(a.alpha, b.alpha)
    assert (one.n_iter, one.n_evaluations) == (other.n_iter, other.n_evaluations)


@pytest.mark.parametrize("options", VARIANTS)
def test_same_seed_same_result_and_another_seed_another(problem, options):
    options = {**FAST, **options}
    first = search(problem, **options)
    same(first, search(problem, **options))
    other = search(problem, **{**options, "random_state": 1})
    assert [m.active.tolist() for m in first.models] != [m.active.tolist() for m in other.models]


@pytest.mark.parametrize("options", VARIANTS)
def test_a_resumed_search_ends_with_the_same_bits(problem, options, tmp_path):
    options = {**FAST, **options}
    whole = search(problem, **options)
    file = Checkpoint(tmp_path / "search.npz", every=1, seconds=None)
    for share in (0.3, 0.7, 1.0):
        part = search(
            problem, **{**options, "max_iter": int(share * options["max_iter"])}, checkpoint=file
        )
    same(whole, part)
    np.testing.assert_array_equal(whole.history.n_points, part.history.n_points)


def test_an_unseeded_search_resumes_with_the_seed_of_its_file(problem, tmp_path):
    path = tmp_path / "search.npz"
    options = {"scheme": 3, "stall": None, "checkpoint": path}
    first = search(problem, max_iter=20, **options)
    second = search(problem, max_iter=60, **options)
    assert (first.n_iter, second.n_iter) == (20, 60)
    same(second, search(problem, max_iter=60, **options))


def test_a_file_of_another_search_is_refused(problem, tmp_path):
    path = tmp_path / "search.npz"
    first = search(problem, **FAST, checkpoint=path).models[0]
    with pytest.raises(CheckpointError, match="written with scheme = None but this search has 2"):
        search(problem, **FAST, scheme=2, checkpoint=path)
    with pytest.raises(CheckpointError, match="written with problem"):
        search(bumps(*banana(40, seed=1), 1.0, 0.5), **FAST, checkpoint=path)
    with pytest.raises(CheckpointError, match="another random_state"):
        search(problem, **{**FAST, "random_state": 9}, checkpoint=path)
    with pytest.raises(CheckpointError, match=r"folder .* does not exist"):
        search(problem, **FAST, checkpoint=tmp_path / "nowhere" / "search.npz")
    with pytest.raises(CheckpointError, match="written with start = random"):
        search(problem, **FAST, start=first, checkpoint=path)
    anew = Checkpoint(path, resume=False)
    same(
        search(problem, **{**FAST, "scheme": 2}, checkpoint=anew), search(problem, **FAST, scheme=2)
    )


@pytest.mark.parametrize("options", VARIANTS)
def test_points_belong_to_models_within_the_rules(problem, options):
    found = search(problem, **{**FAST, **options})
    assert set(found.which) == set(range(len(found.models)))
    for model in found.models:
        assert len(model.active) == len(model.alpha) > 0
        assert (np.diff(model.active) > 0).all()
        assert ((model.alpha >= 1e-12 * 0.999) & (model.alpha <= 1e12 * 1.001)).all()
    assert ((found.values[:, :2] >= 0) & (found.values[:, :2] <= 1)).all()
    if not isinstance(options.get("scheme"), str):
        assert len(best_of(found.values)) == len(found.values)


def test_a_stalled_search_stops_and_says_so(problem):
    found = search(problem, random_state=0, stall=30)
    assert found.stopped_by == "stall"
    more = search(problem, random_state=0, stall=60)
    assert more.n_iter > found.n_iter
    entered = search(problem, random_state=0, stall=None, max_iter=found.n_iter - 31)
    np.testing.assert_array_equal(found.values, entered.values)


def test_limits_stop_a_search(problem, clock):
    assert search(problem, **FAST).stopped_by == "max_iter"
    found = search(problem, max_evaluations=40, stall=None, random_state=0)
    assert (found.stopped_by, found.n_evaluations) == ("max_evaluations", 40)
    clock.tick = 1.0
    found = search(problem, time_limit=30, stall=None, max_iter=10**9, random_state=0)
    assert found.stopped_by == "time_limit"
    assert 0 < found.n_iter <= 30
    assert search(problem, max_iter=0, random_state=0).n_evaluations == 1


def test_callbacks_see_the_search_and_may_end_it(problem):
    seen = []
    found = search(problem, **{**FAST, "max_iter": 1000}, callback=seen.append)
    assert [state.n_iter for state in seen] == list(range(0, 1001, 100))
    assert {state.stopped_by for state in seen} == {"running"}
    np.testing.assert_array_equal(seen[-1].values, found.values)
    ended = search(problem, **{**FAST, "max_iter": 1000}, callback=lambda s: s.n_iter >= 300)
    assert (ended.stopped_by, ended.n_iter) == ("callback", 300)
    np.testing.assert_array_equal(found.history.n_iter, np.arange(0, 1001, 100))
    assert found.history.n_evaluations[-1] == found.n_evaluations
    assert found.history.n_models[-1] == len(found.models)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("scheme", [None, "swap"])
def test_an_interrupted_search_keeps_the_best_so_far(problem, scheme, tmp_path):
    path = tmp_path / "search.npz"

    def interrupt(state):
        if state.n_iter == 300:
            os.kill(os.getpid(), signal.SIGINT)

    options = {**FAST, "scheme": scheme, "max_iter": 400}
    file = Checkpoint(path, every=50, seconds=None)
    with pytest.warns(InterruptWarning, match="the best so far"):
        found = stoppable(search)(problem, **options, callback=interrupt, checkpoint=file)
    assert found.stopped_by == "interrupt"
    assert 300 <= found.n_iter < 310
    assert len(found.values) > 5
    same(search(problem, **options, checkpoint=file), search(problem, **options))


def test_an_interruption_between_two_steps_of_an_insertion_leaves_a_result(problem, monkeypatch):
    count = Elite._count
    calls = []

    def interrupted(self, number, genome, more):
        calls.append(number)
        if len(calls) == 10:
            raise KeyboardInterrupt
        count(self, number, genome, more)

    monkeypatch.setattr(Elite, "_count", interrupted)
    with pytest.warns(InterruptWarning, match="the best so far"):
        found = stoppable(search)(problem, **FAST)
    assert found.stopped_by == "interrupt"
    assert set(found.which) == set(range(len(found.models)))


def test_diversity_is_forced_after_twenty_idle_iterations(problem, monkeypatch):
    trace, step = [], ArchiveSearch.step

    def logged(self, state, rng, deadline):
        trace.append([self.n_idle, None])
        return step(self, state, rng, deadline)

    def marked(name):
        move = getattr(Moves, name)

        def moved(self, genes, rng):
            trace[-1][1] = name
            return move(self, genes, rng)

        return moved

    monkeypatch.setattr(ArchiveSearch, "step", logged)
    for name in ("perturb", "diversify"):
        monkeypatch.setattr(Moves, name, marked(name))
    search(problem, **{**FAST, "max_iter": 1500})
    assert {idle >= 20 for idle, _ in trace} == {True, False}
    assert all((move == "diversify") == (idle >= 20) for idle, move in trace)


def test_a_start_may_be_an_rvm(problem):
    active, alpha = np.array([0, 3, 17]), np.array([1e-20, 1.0, 5.0])
    options = {"max_iter": 0, "random_state": 0}
    found = search(problem, start=ChosenColumns(active, alpha), **options)
    (model,) = found.models
    np.testing.assert_array_equal(model.active, active)
    np.testing.assert_allclose(model.alpha, [1e-12, 1.0, 5.0])
    (model,) = search(problem, **options).models
    assert len(model.active) == 1
    assert model.alpha[0] == pytest.approx(1e-12)
    nothing = ChosenColumns(np.array([], dtype=int), np.array([]))
    same(search(problem, start=nothing, **options), search(problem, **options))


def test_a_start_that_is_no_part_of_the_design_is_refused(problem):
    with pytest.raises(InvalidInputError, match="must name columns below 81"):
        search(problem, start=ChosenColumns(np.array([81]), np.ones(1)))


def test_options_are_checked(problem):
    with pytest.raises(InvalidInputError, match='scheme must be "swap"'):
        search(problem, scheme="leave one out")
    with pytest.raises(InvalidInputError, match="max_evaluations must be an integer"):
        search(problem, max_evaluations=0)


def test_problems_are_checked():
    labels = np.array([0.0, 1, 0])
    with pytest.raises(InvalidInputError, match="one row of the design for each label"):
        RelevanceProblem(np.eye(4), labels)
    with pytest.raises(InvalidInputError, match="NaN or infinite"):
        RelevanceProblem(np.full((3, 2), np.nan), labels)
    with pytest.raises(InvalidInputError, match="must be 0 to 1; encode the 2 classes"):
        RelevanceProblem(np.eye(3), np.array([-1.0, 1, 1]))
    with pytest.raises(InvalidInputError, match="Only 1 of 2 classes"):
        RelevanceProblem(np.eye(3), labels, row_weights=np.array([1.0, 0, 1]))
    with pytest.raises(InvalidInputError, match="the bias alone"):
        RelevanceProblem(np.ones((3, 1)), labels, has_bias=True)


def test_without_the_compiled_loops_the_archive_is_a_front_too(problem, monkeypatch):
    monkeypatch.setattr(_compiled, "numba_is_installed", lambda: False)
    same(search(problem, **FAST), search(problem, **FAST))


def test_small_problems_do_not_break():
    for labels in ([0.0, 1.0], [1.0, 0.0]):
        pair = RelevanceProblem(np.eye(2), np.array(labels))
        found = search(pair, max_iter=50, random_state=0)
        assert found.values[:, 0].max() == 1
    single = RelevanceProblem(np.array([[1.0], [2.0], [0.5]]), np.array([1.0, 0, 1]))
    assert len(search(single, max_iter=20, random_state=0).models[0].active) == 1
    constant = RelevanceProblem(np.ones((4, 3)), np.array([1.0, 0, 1, 0]), has_bias=True)
    found = search(constant, max_iter=50, random_state=0)
    assert best_of(found.values) == [(0.0, 0.0, 0.0), (1.0, 1.0, 0.0)]


def test_an_outcome_says_what_it_is():
    found = search(small_problem(), max_iter=5, random_state=0)
    assert repr(found).startswith(f"ArchiveResult: {len(found.values)} operating points of ")
    assert "5 iterations (6 evaluations), stopped by max_iter" in repr(found)
