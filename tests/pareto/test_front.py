import json
import pickle

import numpy as np
import pytest
import skops.io
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import EmptyFrontError, InvalidInputError
from parsimon.pareto import Front, hypervolume
from parsimon.pareto.desirability import HarringtonOneSided
from tests.pareto.strategies import brute_force, tables


@pytest.fixture
def front():
    """Return a front of five operating points; row 2 is dominated."""
    return Front(
        [[0.50, 0.02, 3], [0.70, 0.10, 3], [0.65, 0.12, 4], [0.85, 0.20, 6], [0.95, 0.50, 9]],
        ["tpr", "fpr", "size"],
        maximise=["tpr"],
        solutions=["a", "b", "dominated", "c", "d"],
    )


def directed(values, data):
    names = [f"f{i + 1}" for i in range(values.shape[1])]
    return names, data.draw(st.lists(st.sampled_from(names), unique=True))


@pytest.mark.parametrize("ties", ["keep", "first"])
@given(values=tables(), data=st.data())
def test_a_front_keeps_what_nothing_dominates(values, data, ties):
    names, up = directed(values, data)
    front = Front(values, names, maximise=up, ties=ties)
    sign = np.where(np.isin(names, up), -1, 1)
    expected = np.flatnonzero(brute_force(values * sign, ties))
    assert sorted(front.rows.tolist()) == expected.tolist()
    np.testing.assert_array_equal(front.values, values[front.rows])
    keys = [
        (*row, number) for row, number in zip(front.minimised.tolist(), front.rows, strict=True)
    ]
    assert keys == sorted(keys)


@given(tables(min_rows=1), tables(min_rows=1), st.data())
def test_the_union_of_fronts_is_the_front_of_the_union(first, second, data):
    columns = min(first.shape[1], second.shape[1])
    first, second = first[:, :columns], second[:, :columns]
    names, up = directed(first, data)
    joined = Front(first, names, maximise=up).union(Front(second, names, maximise=up))
    assert joined == Front(np.vstack([first, second]), names, maximise=up)


@given(tables(), st.data())
def test_json_round_trip(values, data):
    names, up = directed(values, data)
    values = values / 3
    front = Front(values, names, maximise=up, solutions=[{"row": i} for i in range(len(values))])
    back = Front.from_json(front.to_json())
    assert back == front
    np.testing.assert_array_equal(back.rows, front.rows)
    for i in range(len(front)):
        assert back.solution(i) == front.solution(i)
    assert back.to_json() == front.to_json()


@given(tables(min_rows=1, min_columns=2), st.data())
def test_projection_is_the_front_of_the_projected_table(values, data):
    front = Front(values, values.shape[1])
    names = data.draw(st.lists(st.sampled_from(front.names), min_size=1, unique=True))
    columns = [front.names.index(name) for name in names]
    flat = front.project(names)
    expected = Front(values[:, columns], names)
    np.testing.assert_array_equal(
        np.unique(flat.values, axis=0), np.unique(expected.values, axis=0)
    )
    np.testing.assert_array_equal(values[flat.rows][:, columns], flat.values)


def test_reading_a_front(front):
    assert len(front) == 4
    assert repr(front) == "Front: 4 solutions, tpr up, fpr down, size down"
    member = front[0]
    assert (member.index, member.row) == (0, 4)
    assert member.objectives == {"tpr": 0.95, "fpr": 0.5, "size": 9}
    assert str(front[-1]) == "tpr 0.5, fpr 0.02, size 3"
    assert [m.row for m in front] == [4, 3, 1, 0]
    assert [front.solution(i) for i in range(4)] == ["d", "c", "b", "a"]
    with pytest.raises(IndexError):
        front[4]


def test_slices_masks_and_lists_are_fronts_that_keep_their_solutions(front):
    assert front[1:3].rows.tolist() == [3, 1]
    assert front[1:3].solution(1) == "b"
    assert front[[0, 3]].solution(1) == "a"
    assert front[front.values[:, 0] > 0.6].rows.tolist() == [4, 3, 1]
    assert len(front[[]]) == 0
    assert front[:] == front
    assert hash(front[:]) == hash(front)


def test_a_callable_makes_solutions_from_original_rows():
    front = Front([[3, 3], [1, 2], [2, 1]], 2, solutions=lambda row: f"model {row}")
    assert front[1:].solution(0) == "model 2"
    assert "solutions" in json.loads(front.to_json())


def test_a_front_never_changes(front):
    with pytest.raises(AttributeError, match="never changes"):
        front.values = np.zeros((1, 3))
    with pytest.raises(ValueError, match="read-only"):
        front.values[0, 0] = 1.0
    given_values = np.array([[1.0, 2.0]])
    made = Front(given_values, 2)
    given_values[0, 0] = 99
    assert made.values.tolist() == [[1, 2]]


def test_a_front_survives_pickling_and_joblib(front):
    back = pickle.loads(pickle.dumps(front))
    assert back == front
    assert back.solution(0) == "d"
    assert not back.values.flags.writeable


@pytest.mark.parametrize(
    ("conditions", "rows"),
    [
        ({"fpr__le": 0.2}, [3, 1, 0]),
        ({"fpr__lt": 0.2}, [1, 0]),
        ({"tpr__ge": 0.7, "size__le": 6}, [3, 1]),
        ({"tpr__gt": 0.7}, [4, 3]),
        ({"tpr__gt": 0.99}, []),
    ],
)
def test_where_keeps_what_meets_the_conditions(front, conditions, rows):
    assert front.where(**conditions).rows.tolist() == rows


def test_conditions_may_name_objectives_with_spaces():
    front = Front([[1, 2], [2, 1]], ["false alarms", "misses__twice"])
    assert len(front.where(**{"false alarms__le": 1})) == 1
    assert len(front.where(misses__twice__ge=2)) == 1


def test_best_breaks_ties_by_the_other_objectives(front):
    assert front.best("tpr") == 0
    assert front.best("size") == 2  # size 3 twice: the better tpr comes first
    assert front.where(fpr__le=0.2).best("tpr") == 0


def test_nearest_takes_points_by_name_or_in_order(front):
    assert front.nearest([0.85, 0.20, 6]) == 1
    assert front.nearest({"fpr": 0.0}) == 3
    assert front.nearest({"tpr": 1.0, "fpr": 0.0}, weights={"tpr": 100.0}) == 0
    assert front.nearest({"tpr": 1.0, "fpr": 0.0}, weights={"fpr": 100.0}) == 3


def test_desirable_weighs_wishes(front):
    assert front.desirable({"tpr": (0.4, 0.8), "fpr": (0.3, 0.0)}) in {1, 2}
    assert front.desirable({"size": (2, 5.9, 7)}) == 1
    assert front.desirable({"tpr": HarringtonOneSided(low=0.6, high=0.9)}) == 0
    both = {"tpr": (0.4, 1.0), "fpr": (0.6, 0.0)}
    assert front.desirable(both, weights={"tpr": 50}) == 0
    assert front.desirable(both, weights={"fpr": 50}) == 3
    with pytest.raises(EmptyFrontError, match="ask for less"):
        front.desirable({"tpr": (0.99, 1.0)})


def test_the_cheapest_point_moves_with_costs_and_prevalence(front):
    def cost(cost_fp, cost_fn, prevalence):
        tpr, fpr, _ = front.values.T
        return prevalence * (1 - tpr) * cost_fn + (1 - prevalence) * fpr * cost_fp

    for costs in [(1, 1, 0.5), (1, 20, 0.5), (1, 5, 0.02), (30, 1, 0.5)]:
        index = front.cheapest(cost_fp=costs[0], cost_fn=costs[1], prevalence=costs[2])
        assert index == cost(*costs).argmin()
    assert front.cheapest(cost_fp=1, cost_fn=100) == 0
    assert front.cheapest(cost_fp=100, cost_fn=1) == 3


def test_hypervolume_respects_directions(front):
    expected = hypervolume(front.values * [-1, 1, 1], [0, 1, 10])
    assert front.hypervolume([0, 1, 10]) == pytest.approx(expected)
    assert front.hypervolume({"size": 10, "fpr": 1, "tpr": 0}) == pytest.approx(expected)


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_frames_have_one_row_per_solution(front, backend):
    frame = front.to_frame(backend)
    assert frame.shape[0] == 4
    assert list(frame["tpr"]) == [0.95, 0.85, 0.7, 0.5]
    rows = frame.index if backend == "pandas" else frame["row"]
    assert list(rows) == [4, 3, 1, 0]


def test_models_are_left_out_of_json_unless_asked_for():
    front = Front([[1, 2], [2, 1]], 2, solutions=[object(), object()])
    back = Front.from_json(front.to_json())
    assert not back.has_solutions
    with pytest.raises(InvalidInputError, match="not plain data"):
        front.to_json(solutions=True)
    plain = Front([[1, 2]], 2, solutions=[np.array([1.5, 2.5])])
    assert Front.from_json(plain.to_json(solutions=True)).solution(0) == [1.5, 2.5]
    assert "solutions" not in json.loads(plain.to_json(solutions=False))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"parsimon": "front", "version": 99}', "{bad"])
def test_other_json_is_refused(text):
    with pytest.raises(InvalidInputError, match="not a front written by"):
        Front.from_json(text)


def test_an_empty_front_says_so(front):
    empty = front.where(tpr__ge=2)
    for choose in (
        empty.knee,
        lambda: empty.best("tpr"),
        lambda: empty.nearest([1, 0, 0]),
        lambda: empty.cheapest(1, 1),
        lambda: empty.desirable({"tpr": (0, 1)}),
        lambda: empty.segments(2),
        empty.plot,
    ):
        with pytest.raises(EmptyFrontError, match="No solution is left"):
            choose()
    assert "empty" in empty.describe()
    assert Front([], ["a", "b"]).union(Front([[1, 2]], ["a", "b"])).values.tolist() == [[1, 2]]
    assert Front.from_json(empty.to_json()) == empty


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: f.where(fpr=0.1), "name__le"),
        (lambda f: f.where(auc__le=0.1), "no objective 'auc'"),
        (lambda f: f.best("auc"), "no objective 'auc'"),
        (lambda f: f.nearest([1, 2]), "reference must have 3 values"),
        (lambda f: f.nearest({"tpr": 1}, weights={"tpr": 0}), "not all zero"),
        (lambda f: f.nearest({"tpr": 1}, weights={"tpr": -1}), "not be negative"),
        (lambda f: f.desirable({}), "at least one objective"),
        (lambda f: f.project(["tpr", "auc"]), "no objective 'auc'"),
        (lambda f: f.project(["tpr"]).cheapest(1, 1), "no objective 'fpr'"),
        (lambda f: f.hypervolume({"tpr": 0}), "value for every objective"),
        (lambda f: f.union(f.project(["tpr"])), "same objectives"),
        (lambda f: f.to_frame("arrow"), '"pandas" or "polars"'),
        (
            lambda f: f.project(["tpr", "fpr"]).solution(0) and Front([[1]], 1).solution(0),
            "without",
        ),
        (lambda _: Front([[1, 2]], ["a", "a"]), "must differ"),
        (lambda _: Front([[1, 2]], []), "At least one objective"),
        (lambda _: Front([[1, 2]], "ab"), "list of names"),
        (lambda _: Front([[1, 2]], ["a"]), "1 objectives are named"),
        (lambda _: Front([[1, 2]], 2, maximise=["z"]), "no objective 'z'"),
        (lambda _: Front([[1, 2]], 2, solutions=["a", "b"]), "one solution for each row"),
        (lambda _: Front([[1, np.nan]], 2), "must be finite"),
        (lambda _: Front([[1, 2]], 2, ties="drop"), "ties must be"),
    ],
)
def test_mistakes_get_one_clear_sentence(front, call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(front)


def test_maximise_everything_with_a_word():
    assert Front([[1, 2], [2, 3]], 2, maximise=True).rows.tolist() == [1]


def test_descriptions_read_aloud(front):
    assert front.project(["tpr", "fpr"]).describe() == (
        "4 solutions trade tpr (higher is better, 0.5 to 0.95) against fpr (lower is better, "
        "0.02 to 0.5). The knee is solution 1, with tpr 0.85 and fpr 0.2. From there, the "
        "highest tpr (0.95) costs 0.3 in fpr, and the lowest fpr (0.02) costs 0.35 in tpr."
    )
    assert front.describe().startswith(
        "4 solutions trade tpr (higher is better, 0.5 to 0.95) against fpr (lower is better, "
        "0.02 to 0.5) and size (lower is better, 3 to 9)."
    )
    assert Front([[1, 2], [2, 3]], ["error", "size"]).describe() == (
        "One solution is the best in every objective: error 1 and size 2."
    )


FIRST = Front([[1, 3], [2, 2], [3, 4]], ["a", "b"], solutions=["x", "y", "z"])
SECOND = Front([[0, 9], [4, 1]], ["a", "b"], solutions=["v", "w"])


@pytest.mark.parametrize("front", [FIRST, FIRST.union(SECOND), FIRST.union(SECOND).union(FIRST)])
def test_a_front_survives_pickle_and_skops(front):
    stored = skops.io.dumps(front)
    types = skops.io.get_untrusted_types(data=stored)
    for again in (pickle.loads(pickle.dumps(front)), skops.io.loads(stored, trusted=types)):
        assert again == front
        assert again.rows.tolist() == front.rows.tolist()
        for place in range(len(front)):
            assert again.solution(place) == front.solution(place)
        assert not again.values.flags.writeable


@pytest.mark.parametrize("text", ["[" * 10**5, '{"parsimon": ' + "[" * 500 + "]" * 500 + "}"])
def test_json_that_is_nested_too_deep_is_no_front(text):
    with pytest.raises(InvalidInputError, match=r"not a front .*nested \d+ levels deep"):
        Front.from_json(text)
