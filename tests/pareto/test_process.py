"""The loop with a process that changes itself, as the archive searches are."""

import numpy as np
import pytest

from parsimon._interrupts import stoppable
from parsimon.exceptions import InterruptWarning
from parsimon.pareto.run import OutOfTime, SearchOptions, Standing, child_generator, run


class Walk:
    """A random walk that counts its steps; it interrupts itself where told to."""

    title, keeps_states = "walking", False

    def __init__(self, *, end=None, fails_at=None, error=KeyboardInterrupt):
        self.end, self.fails_at, self.error = end, fails_at, error
        self.place, self.n_steps = 0.0, 0

    def settings(self):
        return {"search": "walk"}

    def prepare(self, seed):
        return child_generator(seed, 3)

    def begin(self, rng):
        return self

    def step(self, state, rng, deadline):
        self.place += rng.normal()
        if self.n_steps == self.fails_at:
            raise self.error
        self.n_steps += 1
        return self

    def standing(self, state):
        return Standing(self.n_steps, self.n_steps % 7)

    def row(self, state):
        return (self.place,)

    def note(self, state):
        return f"at {self.place:.2f}"

    def finished(self, state):
        return "arrived" if self.end is not None and self.n_steps >= self.end else None

    def to_arrays(self, state):
        return {"place": np.array(self.place), "n_steps": np.array(self.n_steps)}

    def restore(self, arrays):
        self.place, self.n_steps = float(arrays["place"]), int(arrays["n_steps"])
        return self

    def result(self, state, ending):
        return self.place, ending


@pytest.mark.parametrize(
    ("process", "options", "n_iter", "stopped_by"),
    [
        (Walk(), {"max_iter": 5}, 5, "max_iter"),
        (Walk(end=3), {"max_iter": 5}, 3, "arrived"),
        (Walk(end=3), {"max_iter": None}, 3, "arrived"),
        (Walk(), {"max_iter": 50, "stall": 6}, 6, "stall"),
        (Walk(), {"max_iter": 50, "max_evaluations": 4}, 4, "max_evaluations"),
        (Walk(), {"max_iter": 50, "time_limit": 1e-9}, 0, "time_limit"),
        (Walk(fails_at=2, error=OutOfTime), {"max_iter": 5}, 2, "time_limit"),
    ],
)
def test_every_reason_to_stop(process, options, n_iter, stopped_by):
    _, ending = run(process, SearchOptions(**options, random_state=0))
    assert (ending.n_iter, ending.stopped_by) == (n_iter, stopped_by)
    assert ending.n_evaluations == n_iter


def test_ctrl_c_ends_a_run_that_a_user_asked_for():
    with pytest.warns(InterruptWarning, match="the best so far"):
        _, ending = stoppable(run)(Walk(fails_at=2), SearchOptions(5, random_state=0))
    assert (ending.n_iter, ending.stopped_by) == (2, "interrupt")


def test_ctrl_c_passes_a_run_that_is_part_of_something_else():
    with pytest.raises(KeyboardInterrupt):
        run(Walk(fails_at=2), SearchOptions(5, random_state=0))


def test_history_and_callback_come_as_often_as_asked():
    seen = []
    options = SearchOptions(10, report_every=4, callback=seen.append, random_state=0)
    place, ending = run(Walk(), options)
    assert [one.n_iter for _, one in seen] == [0, 4, 8]
    assert ending.trail.shape == (3, 1)
    assert ending.trail[0, 0] == 0.0
    assert ending.trail[-1, 0] != place


@pytest.mark.parametrize("cut", [0, 3, 7])
def test_a_resumed_walk_ends_at_the_same_place(cut, tmp_path):
    whole, expected = run(Walk(), SearchOptions(10, report_every=2, random_state=4))
    file = tmp_path / "walk.npz"
    run(Walk(), SearchOptions(cut, report_every=2, checkpoint=file, random_state=4))
    place, ending = run(Walk(), SearchOptions(10, report_every=2, checkpoint=file))
    assert place == whole
    np.testing.assert_array_equal(ending.trail, expected.trail)


def test_an_interrupted_step_that_left_traces_is_not_saved(tmp_path):
    file = tmp_path / "walk.npz"
    whole, _ = run(Walk(), SearchOptions(10, random_state=4))
    run(Walk(), SearchOptions(3, checkpoint=file, random_state=4))
    with pytest.raises(KeyboardInterrupt):
        run(Walk(fails_at=5), SearchOptions(10, checkpoint=file, random_state=4))
    assert run(Walk(), SearchOptions(10, checkpoint=file, random_state=4))[0] == whole


def test_an_interruption_before_anything_was_found_is_passed_on():
    class Impatient(Walk):
        def begin(self, rng):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Impatient(), SearchOptions(3))
