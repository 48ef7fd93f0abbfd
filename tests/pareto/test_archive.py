import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon import _compiled
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Archive, nondominated
from tests.pareto.strategies import brute_force, tables


@pytest.fixture(params=["compiled", "plain"])
def index(request, monkeypatch):
    """Run a test with the compiled index and with the one that needs no numba."""
    if request.param == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setattr(_compiled, "numba_is_installed", lambda: request.param == "compiled")
    return request.param


def in_batches(values, sizes, **options):
    made = Archive(values.shape[1], **options)
    start = 0
    for size in [*sizes, len(values)]:
        made.insert(values[start : start + size])
        start += size
    return made


def sorted_rows(values):
    return values[np.lexsort(values.T)]


@pytest.mark.parametrize("ties", ["keep", "first"])
@pytest.mark.parametrize("compiled", [True, False])
@given(values=tables(max_rows=40), sizes=st.lists(st.integers(0, 7), max_size=8))
def test_the_archive_equals_brute_force_under_ties_and_duplicates(values, sizes, ties, compiled):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_compiled, "numba_is_installed", lambda: compiled)
        made = in_batches(values, sizes, ties=ties)
    expected = np.flatnonzero(brute_force(values, ties))
    np.testing.assert_array_equal(made.numbers, expected)
    np.testing.assert_array_equal(made.values, values[expected])
    assert len(made) == len(expected)
    assert made.n_offered == len(values)


@given(values=tables(min_rows=1, max_rows=40), seed=st.integers(0, 1000))
def test_the_order_of_insertion_does_not_change_the_set(values, seed):
    shuffled = np.random.default_rng(seed).permutation(values)
    first, second = in_batches(values, [3, 5]), in_batches(shuffled, [7])
    np.testing.assert_array_equal(sorted_rows(first.values), sorted_rows(second.values))


@pytest.mark.parametrize("n_objectives", [2, 3, 5])
@pytest.mark.parametrize("ties", ["keep", "first"])
def test_large_archives_survive_growth_splits_and_removals(index, n_objectives, ties, rng):
    directions = np.abs(rng.normal(size=(3000, n_objectives)))
    sphere = 1 - directions / np.linalg.norm(directions, axis=1, keepdims=True)
    # The early points are dominated by the late ones, so that whole boxes must empty again.
    drift = np.linspace(1.2, 1.0, 3000)[:, None]
    points = np.round(sphere * drift, 3)
    made = Archive(n_objectives, ties=ties)
    alive = set()
    for start in range(0, len(points), 70):
        entered, left = made.insert(points[start : start + 70])
        alive |= set((start + np.flatnonzero(entered)).tolist())
        alive -= set(left.tolist())
        assert sorted(alive) == made.numbers.tolist()
    np.testing.assert_array_equal(made.numbers, np.flatnonzero(nondominated(points, ties=ties)))


def test_insertion_tells_who_entered_and_who_left(index):
    made = Archive(["error", "size"])
    entered, left = made.insert([[3, 3], [1, 5], [3, 3]], solutions=["a", "b", "twin of a"])
    assert entered.tolist() == [True, True, False]
    assert left.tolist() == []
    entered, left = made.insert([[2, 2], [1, 4], [1, 4.5]], solutions=["c", "d", "e"])
    assert entered.tolist() == [True, True, False]
    assert sorted(left.tolist()) == [0, 1]
    assert made.solutions == ["c", "d"]


def test_a_candidate_that_a_batch_mate_dominates_never_enters(index):
    made = Archive(2)
    entered, left = made.insert([[2, 2], [1, 1]])
    assert entered.tolist() == [False, True]
    assert left.tolist() == []


def test_directions_are_respected_and_a_front_comes_out(index):
    made = Archive(["tpr", "fpr"], maximise=["tpr"])
    made.insert([[0.5, 0.1], [0.9, 0.4], [0.8, 0.5]], solutions=["low", "high", "bad"])
    front = made.front()
    assert repr(front) == "Front: 2 solutions, tpr up, fpr down"
    assert [front.solution(i) for i in range(2)] == ["high", "low"]
    assert repr(made) == "Archive: 2 of 3 candidates, tpr up, fpr down"


def test_without_solutions_the_running_number_is_remembered(index):
    made = Archive(2)
    made.insert([[1, 2], [3, 3], [2, 1]])
    assert made.solutions == [0, 2]


def test_one_objective_keeps_the_best(index):
    made = Archive(1, ties="keep")
    made.insert([[3.0], [2], [2]])
    assert made.numbers.tolist() == [1, 2]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_batch_with_a_failed_row_is_refused_whole(index, bad):
    made = Archive(2)
    made.insert([[1, 2]])
    with pytest.raises(InvalidInputError, match="must be finite"):
        made.insert([[0, 0], [bad, 1]])
    assert made.values.tolist() == [[1, 2]]
    assert made.n_offered == 1


@pytest.mark.parametrize(
    ("values", "solutions", "message"),
    [([[1, 2, 3]], None, "2 objectives"), ([[1, 2]], ["a", "b"], "one solution for each row")],
)
def test_mismatched_batches_are_refused(values, solutions, message):
    with pytest.raises(InvalidInputError, match=message):
        Archive(2).insert(values, solutions)
