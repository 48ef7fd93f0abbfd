"""The promises of the shared loop, kept by every search."""

import signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsimon.exceptions import CheckpointError, InterruptWarning, InvalidInputError
from parsimon.pareto._checkpoint import Checkpoint
from parsimon.pareto.desirability import ReferencePoints
from parsimon.pareto.nsga2 import nsga2
from parsimon.pareto.single import evolution_strategy, particle_swarm
from parsimon.pareto.space import Bits, Box
from parsimon.pareto.variation import GaussianMutation, OneFifthRule
from tests.pareto.problems import (
    assert_same_search,
    leading_and_trailing,
    nsga2_with,
    sphere,
    zdt1,
)

BOX = Box(0, 1, n_variables=6)
ADAPTIVE = GaussianMutation(adapt=OneFifthRule(interval=3))


def search_zdt1(evaluate=zdt1, **options):
    return nsga2(evaluate, BOX, **({"population_size": 12, "random_state": 7} | options))


def search_bits(evaluate=leading_and_trailing, **options):
    shared = {"population_size": 12, "maximise": True, "random_state": 7}
    return nsga2(evaluate, Bits(8), **(shared | options))


def search_adaptive(evaluate=zdt1, **options):
    shared = {"population_size": 12, "random_state": 7, "mutation": ADAPTIVE, "variant": "mierswa"}
    return nsga2(evaluate, BOX, **(shared | options))


def search_tournament(evaluate=sphere, **options):
    return evolution_strategy(
        evaluate, BOX, **({"mutation": ADAPTIVE, "random_state": 7} | options)
    )


def search_plus(evaluate=sphere, **options):
    shared = {"selection": "plus", "n_children": 5, "mutation": ADAPTIVE, "random_state": 7}
    return evolution_strategy(evaluate, BOX, **(shared | options))


def search_swarm(evaluate=sphere, **options):
    shared = {"population_size": 8, "inertia_iterations": 10, "random_state": 7}
    return particle_swarm(evaluate, BOX, **(shared | options))


SEARCHES = [
    search_zdt1,
    search_bits,
    search_adaptive,
    search_tournament,
    search_plus,
    search_swarm,
]
every_search = pytest.mark.parametrize("search", SEARCHES)


def after_calls(evaluate, n, error):
    """Return `evaluate`, made to raise an error at its n-th call."""
    calls = []

    def counted(x):
        calls.append(len(x))
        if len(calls) == n:
            raise error
        return evaluate(x)

    counted.__module__, counted.__qualname__ = evaluate.__module__, evaluate.__qualname__
    return counted


def problem_of(search):
    return search.__defaults__[0]


@settings(max_examples=25)
@given(
    search=st.sampled_from(SEARCHES),
    cuts=st.lists(st.integers(0, 19), min_size=1, max_size=3),
    stall=st.sampled_from([None, 6]),
)
def test_a_run_resumed_at_any_generations_equals_one_without_interruption(
    tmp_path_factory, search, cuts, stall
):
    path = tmp_path_factory.mktemp("run") / "state.npz"
    whole = search(max_iter=20, stall=stall)
    for max_iter in [*sorted(cuts), 20]:
        resumed = search(max_iter=max_iter, stall=stall, checkpoint=path)
    assert_same_search(resumed, whole)
    assert resumed.stopped_by == whole.stopped_by


@settings(max_examples=25)
@given(search=st.sampled_from(SEARCHES), n=st.integers(2, 20))
def test_a_run_resumed_after_ctrl_c_equals_one_without_interruption(tmp_path_factory, search, n):
    path = tmp_path_factory.mktemp("run") / "state.npz"
    whole = search(max_iter=20)
    cut = after_calls(problem_of(search), n, KeyboardInterrupt())
    with pytest.warns(InterruptWarning, match="the best so far"):
        interrupted = search(cut, max_iter=20, checkpoint=path)
    assert interrupted.stopped_by == "interrupt"
    assert interrupted.n_iter == n - 2
    np.testing.assert_array_equal(interrupted.history.best, whole.history.best[: n - 1])
    assert_same_search(search(max_iter=20, checkpoint=path), whole)


@every_search
def test_an_error_ends_the_run_but_the_checkpoint_keeps_what_was_done(search, tmp_path):
    failing = after_calls(problem_of(search), 6, ZeroDivisionError("no"))
    with pytest.raises(ZeroDivisionError, match="no") as caught:
        search(failing, max_iter=20, checkpoint=tmp_path / "a.npz")
    assert any("of generation 5" in note for note in caught.value.__notes__)
    assert_same_search(search(max_iter=20, checkpoint=tmp_path / "a.npz"), search(max_iter=20))


@every_search
def test_two_workers_give_the_bits_of_one(search):
    weights = np.random.default_rng(0).normal(size=(8, 64))
    n_objectives = 2 if search in SEARCHES[:3] else 1

    def evaluate(x):
        # Products whose rounding depends on the shape, were the pieces not always the same.
        z = np.tanh(np.column_stack((x, x))[:, :8].astype(float) @ weights) @ weights.T
        return z[:, :n_objectives] - len(x) * 1e-9

    options = {"max_iter": 3, "chunk_size": 5}
    assert_same_search(search(evaluate, n_jobs=1, **options), search(evaluate, n_jobs=2, **options))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_stochastic_evaluations_have_seeds_that_depend_on_the_row_alone(n_jobs):
    def evaluate(x, seeds):
        noise = np.array([np.random.default_rng(seed).normal(size=2) for seed in seeds])
        return np.column_stack((x[:, 0], 1 - x[:, 0])) + 0.1 * noise

    shared = {"stochastic": True, "max_iter": 4}
    expected = search_zdt1(evaluate, chunk_size=12, **shared)
    found = search_zdt1(evaluate, chunk_size=12, n_jobs=n_jobs, **shared)
    assert_same_search(found, expected)
    assert_same_search(search_zdt1(evaluate, chunk_size=3, n_jobs=n_jobs, **shared), expected)
    other = search_zdt1(evaluate, random_state=8, **shared)
    assert not np.array_equal(other.values, expected.values)


def test_a_finished_run_returns_at_once_from_its_checkpoint(tmp_path):
    path = tmp_path / "a.npz"
    first = search_zdt1(max_iter=5, checkpoint=path)
    again = search_zdt1(
        after_calls(zdt1, 1, AssertionError("evaluated")), max_iter=5, checkpoint=path
    )
    assert_same_search(again, first)
    assert again.stopped_by == "max_iter"


def test_without_a_seed_the_checkpoint_remembers_it(tmp_path):
    path = tmp_path / "a.npz"
    search_zdt1(max_iter=5, checkpoint=path, random_state=7)
    resumed = search_zdt1(max_iter=12, checkpoint=path, random_state=None)
    assert_same_search(resumed, search_zdt1(max_iter=12))


@pytest.mark.parametrize("seed", [np.random.SeedSequence([1, 2], spawn_key=(3,)), 2**90])
def test_any_seed_can_be_resumed(seed, tmp_path):
    path = tmp_path / "a.npz"
    search_zdt1(max_iter=3, checkpoint=path, random_state=seed)
    resumed = search_zdt1(max_iter=6, checkpoint=path, random_state=seed)
    assert_same_search(resumed, search_zdt1(max_iter=6, random_state=seed))


@pytest.mark.parametrize(
    ("search", "changed", "message"),
    [
        (search_zdt1, {"population_size": 14}, "population_size = 12 but this search has 14"),
        (search_zdt1, {"random_state": 8}, "another random_state"),
        (search_zdt1, {"crossover": None}, "crossover = Simulated"),
        (search_zdt1, {"mutation": GaussianMutation()}, "mutation = Polynomial"),
        (search_zdt1, {"variant": "mierswa"}, "mating = tournament"),
        (search_zdt1, {"guide": ReferencePoints([[0, 0]])}, "guide = None"),
        (search_zdt1, {"chunk_size": 5}, "chunk_size = 50"),
        (search_zdt1, {"stochastic": True}, "stochastic = False"),
        (search_zdt1, {"names": ["a", "b"]}, "names = None"),
        (search_zdt1, {"maximise": True}, r"maximise = \(\)"),
        (search_zdt1, {"start": np.zeros((1, 6))}, "start = None"),
        (search_zdt1, {"evaluate": leading_and_trailing}, "evaluate = .*zdt1"),
        (search_tournament, {"tournament": 0.5}, "tournament = 0.25"),
        (search_plus, {"n_children": 6}, "n_children = 5"),
        (search_swarm, {"inertia": 0.5}, "inertia = "),
        (search_swarm, {"weights": "normal"}, "weights = uniform"),
    ],
)
def test_a_checkpoint_of_another_search_is_refused(search, changed, message, tmp_path):
    path = tmp_path / "a.npz"
    search(max_iter=1, checkpoint=path)
    with pytest.raises(CheckpointError, match=message):
        search(max_iter=2, checkpoint=path, **changed)


def test_a_checkpoint_of_another_kind_or_space_or_label_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    search_zdt1(max_iter=1, checkpoint=path)
    with pytest.raises(CheckpointError, match="was written with"):
        search_tournament(max_iter=2, checkpoint=path)
    with pytest.raises(CheckpointError, match="space = "):
        nsga2(zdt1, Box(0, 2, n_variables=6), population_size=12, random_state=7, checkpoint=path)
    with pytest.raises(CheckpointError, match="label = "):
        search_zdt1(max_iter=2, checkpoint=Checkpoint(path, label="other data"))


def test_a_checkpoint_may_be_overwritten_and_needs_its_folder(tmp_path):
    path = tmp_path / "a.npz"
    search_zdt1(max_iter=2, checkpoint=path, population_size=14)
    fresh = search_zdt1(max_iter=4, checkpoint=Checkpoint(path, resume=False))
    assert_same_search(fresh, search_zdt1(max_iter=4))
    assert_same_search(search_zdt1(max_iter=4, checkpoint=path), fresh)
    with pytest.raises(CheckpointError, match="does not exist"):
        search_zdt1(checkpoint=tmp_path / "no" / "a.npz")


@pytest.mark.parametrize(
    ("every", "seconds", "n_written"), [(4, None, 4), (None, None, 1), (None, 0.0, 11)]
)
def test_checkpoints_are_written_as_often_as_asked(
    every, seconds, n_written, tmp_path, monkeypatch
):
    from parsimon.pareto import run as moment

    written = []
    original = moment.write_checkpoint

    def counted(path, header, arrays):
        written.append(int(arrays["state_n_iter"]))
        original(path, header, arrays)

    monkeypatch.setattr(moment, "write_checkpoint", counted)
    search_zdt1(
        max_iter=10, checkpoint=Checkpoint(tmp_path / "a.npz", every=every, seconds=seconds)
    )
    assert len(written) == n_written
    assert written[-1] == 10


@every_search
def test_the_callback_sees_every_generation_and_may_stop_the_run(search):
    seen = []

    def callback(now):
        seen.append(now)
        return now.n_iter == 4

    result = search(max_iter=20, callback=callback)
    assert result.stopped_by == "callback"
    assert [now.n_iter for now in seen] == [0, 1, 2, 3, 4]
    assert {now.stopped_by for now in seen} == {"running"}
    assert_same_search(seen[-1], result)
    assert_same_search(result, search(max_iter=4))
    assert len(seen[2].history) == 3


def test_the_callback_gets_the_current_front():
    fronts = []
    search_zdt1(max_iter=5, callback=lambda now: fronts.append(now.front))
    assert len(fronts) == 6
    np.testing.assert_array_equal(fronts[-1].values, search_zdt1(max_iter=5).front.values)


@every_search
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_returns_the_best_so_far(search):
    problem = problem_of(search)
    calls = []

    def evaluate(x):
        calls.append(len(x))
        if len(calls) == 5:
            signal.raise_signal(signal.SIGINT)
        return problem(x)

    with pytest.warns(InterruptWarning, match="the best so far"):
        result = search(evaluate, max_iter=20)
    assert result.stopped_by == "interrupt"
    assert result.n_iter == 3
    assert_same_search(result, search(max_iter=3))


def test_ctrl_c_before_the_first_population_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt):
        search_zdt1(after_calls(zdt1, 1, KeyboardInterrupt()))


def test_ctrl_c_in_the_callback_returns_that_generation():
    def callback(now):
        if now.n_iter == 3:
            raise KeyboardInterrupt

    with pytest.warns(InterruptWarning, match="the best so far"):
        result = search_zdt1(max_iter=20, callback=callback)
    assert (result.stopped_by, result.n_iter) == ("interrupt", 3)


@every_search
def test_the_time_limit_leaves_a_whole_generation(search, clock):
    problem = problem_of(search)

    def evaluate(x):
        clock.now += 1.0
        return problem(x)

    result = search(evaluate, max_iter=10_000, time_limit=20.0)
    assert result.stopped_by == "time_limit"
    assert 0 < result.n_iter <= 20
    assert_same_search(result, search(max_iter=result.n_iter))


def test_the_time_limit_drops_the_generation_in_progress(clock):
    calls = []

    def evaluate(x):
        calls.append(len(x))
        clock.now += 1.0
        return zdt1(x)

    result = search_zdt1(evaluate, chunk_size=1, time_limit=17.0)
    assert (result.stopped_by, result.n_iter, result.n_evaluations) == ("time_limit", 0, 12)
    assert len(calls) == 17


def test_a_first_population_is_completed_whatever_the_time_limit(clock):
    def evaluate(x):
        clock.now += 1.0
        return zdt1(x)

    result = search_zdt1(evaluate, time_limit=0.001, chunk_size=4)
    assert (result.stopped_by, result.n_iter) == ("time_limit", 0)
    assert_same_search(result, search_zdt1(max_iter=0, chunk_size=4))


def test_a_run_that_no_longer_improves_stops():
    values = iter([5.0, 4.0, 4.0, 3.0, 3.0, 3.0, 3.0, 3.0])

    def evaluate(x):
        return np.full(len(x), next(values))

    result = search_swarm(evaluate, stall=3)
    assert result.stopped_by == "stall"
    assert result.n_iter == 6


def test_an_improvement_below_the_tolerance_counts_as_none():
    def falling(x):
        falling.value *= 0.99
        return np.column_stack((np.full(len(x), falling.value),))

    def stalls(tol, stall):
        falling.value = 1.0
        settings = {"stall_tolerance": tol}
        shared = {"population_size": 4, "max_iter": 30, "random_state": 0}
        return nsga2_with(falling, BOX, settings=settings, stall=stall, **shared)

    assert stalls(0.0, 3).stopped_by == "max_iter"
    # 1 % a step against the last improvement: ten steps make the 10 % that count.
    assert stalls(0.1, 8).n_iter == 8
    assert stalls(0.1, 12).n_iter == 30


def test_nsga2_stalls_when_its_front_is_complete():
    result = search_bits(max_iter=2000, population_size=20, stall=30)
    assert result.stopped_by == "stall"
    assert len(result.solutions) == 9
    assert result.n_iter < 1000


def test_a_guided_search_stalls_by_its_distance():
    guide = ReferencePoints([[0.3, 0.3]])
    result = search_zdt1(max_iter=5000, guide=guide, stall=60)
    assert result.stopped_by == "stall"
    # The nearest point of f2 = 1 - sqrt(f1) is 0.1153 away, or 0.0815 in root mean square.
    assert 0.0815 < guide.shortfall(result.values) < 0.085


def test_progress_is_shown_when_asked_for(capsys):
    search_zdt1(max_iter=3)
    assert capsys.readouterr().err == ""
    search_zdt1(max_iter=3, verbose=True)
    shown = capsys.readouterr().err
    assert "searching" in shown
    assert "3/3" in shown
    assert "best" in shown


def test_history_has_an_entry_for_every_generation():
    result = search_zdt1(max_iter=6)
    np.testing.assert_array_equal(result.history.n_evaluations, 12 * np.arange(1, 8))
    assert result.history.best.shape == (7, 2)
    np.testing.assert_array_equal(result.history.best[-1], result.values.min(axis=0))
    assert result.history.n_solutions[-1] >= len(result.solutions)


def test_objectives_may_not_change_their_number():
    calls = []

    def evaluate(x):
        calls.append(1)
        return zdt1(x)[:, :1] if len(calls) > 2 else zdt1(x)

    with pytest.raises(InvalidInputError, match="returned 1 objectives where 2 were expected"):
        search_zdt1(evaluate)


def test_results_are_the_callers_to_change():
    result = search_zdt1(max_iter=3, callback=lambda now: now.population.fill(0))
    assert_same_search(result, search_zdt1(max_iter=3))
