import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.statistician._table_kind import TableKind
from parsimon.statistician.families.kernel_search import as_base
from parsimon.statistician.time_budget import TimeBudget


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"depth": 0}, "depth must be an integer of at least 1"),
        ({"beam": 0}, "beam must be"),
        ({"outer": -1}, "outer must be"),
        ({"outer": 1}, "outer must be 0 or at least 2 folds"),
        ({"seed": 1.5}, "seed must be"),
        ({"guide": "luck"}, 'guide must be "cv_error" or'),
        ({"time_limit": 0}, "time_limit must be None or positive seconds"),
    ],
)
def test_bad_options_are_refused(changes, message):
    with pytest.raises(InvalidInputError, match=message):
        TableKind(target="y", **changes)


def test_fast_means_a_shallow_search_without_outer_folds():
    assert (TableKind(target="y").n_outer, TableKind(target="y").kernels.depth_for(9)) == (None, 4)
    fast = TableKind(target="y", fast=True)
    assert (fast.n_outer, fast.kernels.depth_for(9)) == (0, 2)
    assert TableKind(target="y").kernels.depth_for(1) == 1
    assert TableKind(target="y", depth=3, fast=True).kernels.depth_for(1) == 3


@pytest.mark.parametrize("base", ["se,rbf", "", ","])
def test_unknown_base_kernels_are_refused(base):
    with pytest.raises(InvalidInputError, match="base must name kernels among se, per, lin"):
        as_base(base)


def test_a_part_of_a_time_limit_is_kept_for_the_last_steps(clock):
    budget = TimeBudget.keeping(100, 2.5, 0.08)
    assert budget.left() == pytest.approx(89.5)
    clock.now += 50
    assert budget.left(0.5) == pytest.approx(19.75)
    clock.now += 60
    assert budget.left() == 0
    assert TimeBudget.keeping(4, 2.5, 0.08).left() == pytest.approx(2)
    assert TimeBudget.keeping(None, 2.5, 0.08).left() is None
