import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.pareto.variation import OneFifthRule, StepSize


def after(rule, outcomes):
    step = StepSize()
    for n_iter, (n_successes, n_trials) in enumerate(outcomes, start=1):
        step = rule.update(step, n_successes=n_successes, n_trials=n_trials, n_iter=n_iter)
    return step


@pytest.mark.parametrize(("n_successes", "factor"), [(21, 2.0), (20, 1.0), (19, 0.5)])
def test_the_defaults_double_or_halve_every_hundred_generations(n_successes, factor):
    outcomes = [(1, 1)] * n_successes + [(0, 1)] * (100 - n_successes)
    assert after(OneFifthRule(), outcomes[:-1]) == StepSize(1.0, n_successes, 99)
    assert after(OneFifthRule(), outcomes) == StepSize(factor, 0, 0)


def test_counts_start_anew_after_each_interval():
    rule = OneFifthRule(interval=2, change=3.0)
    assert after(rule, [(4, 4), (4, 4), (0, 4), (0, 4)]).factor == pytest.approx(1.0)
    assert after(rule, [(4, 4)] * 4).factor == pytest.approx(9.0)


def test_another_target_moves_the_border():
    assert after(OneFifthRule(interval=1, target=0.5), [(3, 10)]).factor == 0.5
    assert after(OneFifthRule(interval=1, target=0.1), [(3, 10)]).factor == 2.0


def test_without_trials_nothing_changes():
    assert after(OneFifthRule(interval=1), [(0, 0)]) == StepSize()


@given(st.booleans(), st.floats(1.01, 100))
def test_the_step_neither_vanishes_nor_bursts(success, change):
    step = after(OneFifthRule(interval=1, change=change), [(int(success), 1)] * 4000)
    assert 1e-15 <= step.factor <= 1e15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": 0}, "interval must be an integer of at least 1"),
        ({"change": 1.0}, "change must be above 1"),
        ({"target": 0.0}, "target must be a positive number"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        OneFifthRule(**options)
