"""Cases of earlier tasks: on disk, under several writers, and how they are found."""

import copy
import json
import multiprocessing
import pickle
import time
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError, SkippedCaseWarning
from parsimon.features import (
    Case,
    CaseBase,
    FeatureTransfer,
    ParetoConstructor,
    describe_task,
    feature_set_distance,
    match_columns,
)
from tests.features.cases import case_of, table

# Cases and their folder


def test_a_folder_holds_weights_spreads_and_formulas_and_nothing_of_the_rows(tmp_path):
    X = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c d"])
    case = describe_task(frame, X[:, 0], formulas=["exp(a)*`c d`"], title="first")
    CaseBase(tmp_path / "new" / "cases").add(case)
    (file,) = (tmp_path / "new" / "cases").iterdir()
    content = json.loads(file.read_text())
    kept = {"title", "weights", "centres", "spreads", "formulas", "products"}
    assert set(content["cases"][0]) == kept
    assert content["cases"][0]["formulas"] == ["exp(a)*`c d`"]
    assert len(file.read_text()) < 1000
    (again,) = CaseBase(tmp_path / "new" / "cases")
    assert again == case
    assert again.expressions()[0].columns == {"a", "c d"}


def test_what_others_add_is_seen_and_the_same_case_is_one(tmp_path):
    one, other = CaseBase(tmp_path), CaseBase(str(tmp_path))
    one.add(case_of([1, 0, 0]))
    assert len(other) == 1
    other.extend([case_of([0, 1, 0]), case_of([0, 1, 0]), case_of([1, 0, 0])])
    assert len(one) == len(other) == len(CaseBase(tmp_path)) == 2
    other.add(case_of([0, 1, 0]))
    assert len(list(tmp_path.iterdir())) == 2


def write_some(folder, first, n):
    base = CaseBase(folder)
    for number in range(first, first + n):
        base.add(case_of([number, 0, 0], [f"{number + 2}*x0^2"]))
        if number % 5 == 0:
            base.compact()


def test_several_processes_may_write_read_and_compact_at_the_same_time(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_some, args=(tmp_path, 100 * k, 12)) for k in range(2)]
    for writer in writers:
        writer.start()
    reader, own, seen = CaseBase(tmp_path), CaseBase(tmp_path), 0
    for number in range(1000, 100_000):
        if not any(writer.is_alive() for writer in writers):
            break
        own.add(case_of([number, 0, 0]))
        assert len(reader) >= seen
        seen = len(reader)
        time.sleep(0.05)
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    wanted = {float(100 * k + n) for k in range(2) for n in range(12)}
    wanted |= set(map(float, range(1000, number)))
    assert {case.weights["x0"] for case in CaseBase(tmp_path)} == wanted
    assert {case.weights["x0"] for case in reader} == wanted
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".json"]


def test_an_interrupted_write_leaves_the_folder_as_it_was(tmp_path, monkeypatch):
    base = CaseBase(tmp_path)
    base.add(case_of([1, 0, 0]))

    def broken(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr("os.replace", broken)
        with pytest.raises(OSError, match="disk full"):
            base.add(case_of([2, 0, 0]))
    assert len(CaseBase(tmp_path)) == len(base) == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_a_pickled_case_base_is_its_folder_or_its_cases(tmp_path):
    kept, held = CaseBase(tmp_path / "later"), CaseBase()
    assert len(kept) == 0
    assert not (tmp_path / "later").exists()
    for base in (kept, held):
        base.add(case_of([1, 2, 3], ["x0^2"]))
        again = pickle.loads(pickle.dumps(base))
        assert again.cases == base.cases
        assert again.retrieve(case_of([1, 2, 3])) == base.retrieve(case_of([1, 2, 3]))
    assert copy.deepcopy(held) is held


def test_compacting_keeps_every_case_in_one_file(tmp_path):
    base = CaseBase(tmp_path)
    for number in range(5):
        base.add(case_of([number, 0, 0]))
    base.compact()
    assert len(list(tmp_path.iterdir())) == 1
    assert len(base) == len(CaseBase(tmp_path)) == 5
    base.compact()
    assert len(CaseBase(tmp_path)) == 5
    CaseBase().compact()


DEEP = "(" * 500 + "x" + ")" * 500


@pytest.mark.parametrize("text", ['{"a": 1}', "{", "[" * 100_000, '{"cases": 3, "format": 1}'])
def test_a_file_without_cases_is_skipped_and_named(text, tmp_path):
    CaseBase(tmp_path).add(case_of([1, 0, 0]))
    (tmp_path / "other.json").write_text(text)
    base = CaseBase(tmp_path)
    with pytest.warns(SkippedCaseWarning, match=r"other\.json: it does not hold cases"):
        assert len(base) == 1
    base.compact()
    assert (tmp_path / "other.json").read_text() == text, "what others wrote is not removed"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"formulas": [DEEP]}, "more than 60 levels deep"),
        ({"formulas": ["theirs(x0)"]}, "the function theirs, which is unknown"),
        ({"formulas": ["x0 +"]}, "ends too early"),
        ({"weights": {"x0": "many", "x1": 1.0, "x2": 1.0}}, "could not convert"),
        ({"weights": 3}, "not iterable|no len|object of type"),
        ({"more": 1}, "unexpected keyword"),
    ],
)
def test_a_bad_case_is_skipped_and_named_and_the_others_help(fields, said, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = X[:, 2] + np.exp(X[:, 0] + X[:, 1])
    CaseBase(tmp_path).add(describe_task(X, y, formulas=["exp(x0 + x1)"]))
    (file,) = tmp_path.iterdir()
    content = json.loads(file.read_text())
    content["cases"].append({**content["cases"][0], "title": "from afar", **fields})
    file.write_text(json.dumps(content))
    search = FeatureTransfer(CaseBase(tmp_path), constructor=False, store=False)
    with pytest.warns(SkippedCaseWarning, match=rf"case 1 \(from afar\) is skipped: .*({said})"):
        assert search.fit(X, y).source_ == "cases"


def test_what_is_no_case_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "other.json").write_text("{")
    with pytest.raises(InvalidInputError, match="is a file; name a folder"):
        CaseBase(tmp_path / "other.json")
    with pytest.raises(InvalidInputError, match="a weight, a centre and a spread"):
        Case({"x": 1.0}, {}, {"x": 1.0})
    with pytest.raises(InvalidInputError, match="weights of a case must be finite"):
        Case({"x": np.nan}, {"x": 0.0}, {"x": 1.0})
    with pytest.raises(InvalidInputError, match="two of its columns and a finite weight"):
        Case({"x": 1.0}, {"x": 0.0}, {"x": 1.0}, products=[("x", "y", 1.0)])
    with pytest.raises(InvalidInputError, match="case_base must be"):
        FeatureTransfer(3).fit(table(), table()[:, 0] ** 2)
    with pytest.raises(InvalidInputError, match="two of its columns and a finite weight"):
        Case({"x": 1.0}, {"x": 0.0}, {"x": 1.0}, products=[("x", "y", 1.0)])
    with pytest.raises(InvalidInputError, match="case_base must be"):
        ParetoConstructor(case_base=3).fit(table(), table()[:, 0] ** 2)
    with pytest.raises(InvalidInputError, match="method must be"):
        CaseBase().retrieve(case_of([1, 0, 0]), method="nearest")


# Retrieval


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["manhattan", "euclidean"]),
    st.integers(1, 12),
    st.booleans(),
)
def test_the_tree_finds_what_a_scan_finds(seed, method, n_cases, signed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(-3, 4, size=(1500, 3)).astype(float)
    base = CaseBase()
    base.extend(case_of(row, title=str(number)) for number, row in enumerate(weights))
    # These come after the tree.
    base.retrieve(case_of([0, 0, 0]), 1, method=method)
    late = rng.integers(-3, 4, size=(5, 3)).astype(float)
    base.extend(case_of(row, title=f"late {number}") for number, row in enumerate(late))
    asked = rng.normal(size=3)
    power = 1 if method == "manhattan" else 2
    ways = [asked] if signed else [asked, -asked]
    scan = np.min(
        [np.linalg.norm(np.vstack([weights, late]) - one, power, axis=1) for one in ways], axis=0
    )
    found = base.retrieve(case_of(asked), n_cases, method=method, signed=signed)
    np.testing.assert_allclose([each.distance for each in found], np.sort(scan)[:n_cases])
    again = CaseBase()
    again.extend(reversed(base.cases))
    assert again.retrieve(case_of(asked), n_cases, method=method, signed=signed) == found


@pytest.mark.parametrize("mapping", ["names", "assignment"])
def test_a_task_is_as_near_as_that_of_minus_its_target(mapping):
    X = table()
    y = np.exp(X[:, 0]) + X[:, 1]
    base = CaseBase()
    base.add(describe_task(X, y, formulas=["exp(x0)"]))
    for task in (describe_task(X, -y), describe_task(X, y > 1), describe_task(X, y <= 1)):
        (near,) = base.retrieve(task, mapping=mapping)
        (far,) = base.retrieve(task, mapping=mapping, signed=True)
        assert near.distance <= far.distance
        assert near.case.formulas == ("exp(x0)",)
    (same,) = base.retrieve(describe_task(X, -y), mapping=mapping)
    assert same.distance == pytest.approx(0, abs=1e-6)
    (apart,) = base.retrieve(describe_task(X, -y), mapping=mapping, signed=True)
    assert apart.distance > 1


def test_columns_that_one_task_lacks_count_with_their_weight():
    base = CaseBase()
    base.add(case_of([1.0, 0.5], names=("a", "b")))
    base.add(case_of([1.0, 0.2], names=("a", "c")))
    base.add(case_of([1.0], names=("z",)))
    found = base.retrieve(case_of([1.0, 0.5], names=("a", "b")), 5)
    assert [round(each.distance, 9) for each in found] == [0.0, 0.7]
    euclid = base.retrieve(case_of([1.0, 0.5], names=("a", "b")), 5, method="euclidean")
    assert euclid[1].distance == pytest.approx(np.hypot(0.5, 0.2))


def test_an_empty_case_base_has_no_neighbours():
    for method in ("manhattan", "euclidean", "sampled", "two_phase"):
        assert CaseBase().retrieve(case_of([1, 0, 0]), method=method) == []
    assert CaseBase().retrieve(case_of([1, 0, 0]), mapping="assignment") == []


def test_two_phases_prefer_the_candidate_whose_formulas_compute_the_same():
    base = CaseBase()
    base.extend(
        [
            case_of([1.0, 0, 0], ["sin(x1)"], title="nearest"),
            case_of([1.3, 0, 0], ["x0*x2 + 0.001*x1", "exp(x1)"], title="alike"),
            case_of([9.0, 0, 0], ["x0*x2"], title="far"),
        ]
    )
    task = case_of([1.0, 0, 0], ["x0*x2"])
    assert base.retrieve(task, 1)[0].case.title == "nearest"
    assert base.retrieve(task, 1, method="two_phase", n_candidates=2)[0].case.title == "alike"
    assert base.retrieve(task, 1, method="sampled")[0].case.title == "far"
    light = base.retrieve(task, 1, method="two_phase", n_candidates=2, sampling_weight=0.1)
    assert light[0].case.title == "nearest"
    # Without formulas of its own the second phase has nothing to compare.
    bare = replace(task, formulas=())
    assert base.retrieve(bare, 2, method="two_phase") == base.retrieve(bare, 2)


def test_the_sampled_distance_looks_where_the_rows_are():
    narrow, wide = (case_of([1, 0, 0], ["sin(x0)"], spread=spread) for spread in (0.1, 5.0))
    line = case_of([1, 0, 0], ["x0 + 0*x1", "x0"], spread=5.0)
    line = replace(line, formulas=["2*x0"])
    assert feature_set_distance(narrow, line) < 1e-4
    assert feature_set_distance(wide, line) > 0.5
    away = case_of([1, 0, 0], ["x0^2"], centre=0.0)
    assert feature_set_distance(away, replace(away, formulas=["2*x0"])) > 0.5
    there = case_of([1, 0, 0], ["x0^2"], centre=50.0)
    assert feature_set_distance(there, replace(there, formulas=["2*x0"])) < 1e-3


def test_the_sampled_distance_is_as_printed():
    first, second = case_of([1, 0, 0], ["x0^2"]), case_of([1, 0, 0], ["x0^2", "sin(x1*x2)"])
    assert feature_set_distance(first, second) == 0
    assert feature_set_distance(second, first) > 0.8
    shifted = replace(first, formulas=["x0^2 + 3"])
    assert feature_set_distance(first, shifted) < 1e-12
    assert feature_set_distance(first, case_of([1, 0, 0])) == 1
    assert feature_set_distance(case_of([1, 0, 0]), first) == 0
    many = feature_set_distance(second, first, n_samples=5000)
    assert many == pytest.approx(1, abs=0.05)


def test_columns_with_other_names_are_matched():
    case = case_of([0.9, -0.5, 0.0], ["exp(u)*v", "sin(w)"], names=("u", "v", "w"))
    task = case_of([0.02, 0.95, -0.45], names=("a", "b", "c"))
    case = replace(case, products=[("v", "u", 0.3), ("u", "w", 0.1)])
    assert match_columns(case, task).renamed == {"u": "b", "v": "c", "w": "a"}
    base = CaseBase()
    base.add(case)
    assert base.retrieve(task) == []
    (found,) = base.retrieve(task, mapping="assignment")
    assert found.case.formulas == ("c*exp(b)", "sin(a)")
    assert found.distance == pytest.approx(0.05 + 0.05 + 0.02)
    fewer = case_of([0.95, -0.45], names=("b", "c"))
    (part,) = base.retrieve(fewer, mapping="assignment")
    assert part.case.formulas == ("c*exp(b)",)
    assert found.case.products == (("b", "c", 0.3), ("a", "b", 0.1))
    assert part.case.products == (("b", "c", 0.3),)
    with pytest.raises(InvalidInputError, match="Manhattan distances only"):
        base.retrieve(task, method="euclidean", mapping="assignment")


def test_equal_weights_are_matched_by_centre_and_spread():
    case = Case({"u": 0.5, "v": 0.5}, {"u": 10.0, "v": 0.0}, {"u": 1.0, "v": 3.0}, ["u^2"])
    task = Case({"a": 0.5, "b": 0.5}, {"a": 0.0, "b": 10.0}, {"a": 3.0, "b": 1.0})
    assert match_columns(case, task).renamed == {"u": "b", "v": "a"}


def drawn_pair(seed, n_theirs, n_ours):
    """Return a case and a task with weights drawn at random, centres and spreads equal."""
    rng = np.random.default_rng(seed)
    case = case_of(rng.normal(size=n_theirs), names=[f"u{j}" for j in range(n_theirs)])
    task = case_of(rng.normal(size=n_ours), names=[f"a{j}" for j in range(n_ours)])
    return case, task


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4))
def test_a_match_costs_least_of_all(seed, n_theirs, n_ours):
    case, task = drawn_pair(seed, n_theirs, n_ours)

    def cost(pairs):
        # Centres and spreads are equal here.
        left, right = dict(case.weights), dict(task.weights)
        paired = [abs(left.pop(one) - right.pop(other)) for one, other in pairs]
        return sum(paired) + sum(map(abs, [*left.values(), *right.values()]))

    size = min(n_theirs, n_ours)
    every = [
        list(zip(some, others, strict=True))
        for some in combinations(case.names, size)
        for others in permutations(task.names, size)
    ]
    found = match_columns(case, task)
    assert found.cost == pytest.approx(min(map(cost, every)))
    assert found.cost == pytest.approx(cost(list(found.renamed.items())))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5))
def test_sorted_weights_bound_the_cost_of_every_match(seed, n_theirs, n_ours):
    case, task = drawn_pair(seed, n_theirs, n_ours)
    width = n_theirs + n_ours
    ranked = [
        np.sort(np.pad(list(each.weights.values()), (0, width - len(each.names))))
        for each in (case, task)
    ]
    cost = match_columns(case, task).cost
    assert np.abs(ranked[0] - ranked[1]).sum() <= cost + 1e-9


def test_a_query_among_a_hundred_thousand_cases_reads_a_small_part_of_them():
    from parsimon.features.case_base import _Points

    points = _Points()
    points.extend(np.random.default_rng(0).normal(size=(100_000, 5)), range(100_000))
    points.nearest(np.zeros(5), 10, "manhattan")
    ((_, tree),) = points._trees.values()
    tree.reset_n_calls()
    points.nearest(np.zeros(5), 10, "manhattan")
    assert tree.get_n_calls() < 30_000
