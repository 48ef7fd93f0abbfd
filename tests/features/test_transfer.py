"""Features between tasks: cases on disk, axioms, retrieval, transfer and the search that asks."""

import copy
import json
import multiprocessing
import pickle
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from parsimon.exceptions import InvalidInputError
from parsimon.features import (
    Case,
    CaseBase,
    CaseRecall,
    FeatureTransfer,
    OwnFunction,
    ParetoConstructor,
    describe_task,
    distance_violations,
    feature_set_distance,
    match_columns,
    task_weights,
    taxonomy_tasks,
    weighting_violations,
)
from parsimon.features._filters import FILTERS
from parsimon.features.case_recall import forward_order

NAMES = ("x0", "x1", "x2")


def case_of(weights, formulas=(), names=NAMES, centre=0.0, spread=1.0, title=""):
    named = dict(zip(names, map(float, weights), strict=True))
    return Case(named, dict.fromkeys(names, centre), dict.fromkeys(names, spread), formulas, title)


def table(n=200, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X.flags.writeable = False
    return X


# Axioms


def relevant_task(n=3000):
    X = np.random.default_rng(1).normal(size=(n, 3))
    return X, 2 * X[:, 0] + np.sin(X[:, 1]) + 0.5 * X[:, 2]


def test_weights_of_the_machine_fulfil_the_axioms_for_numbers_and_for_classes():
    X, y = relevant_task()
    noisy = y + 0.5 * np.random.default_rng(2).normal(size=len(y))
    for target in (y, np.where(noisy > 0, "high", "low"), np.digitize(noisy, [-1.0, 1.0]) + 0.0):
        task = "classification" if len(np.unique(target)) < 4 else "regression"
        found = weighting_violations(lambda X, y, t=task: task_weights(X, y, task=t), X, target)
        assert set(found) == {"W1", "W2", "W3", "W4"}
        assert max(found.values()) < 0.05, (task, found)


@pytest.mark.parametrize("kind", ["Relief", "information gain", "selection"])
def test_weights_of_single_columns_and_selection_break_the_axioms(kind):
    X, y = relevant_task(500)

    def weigh(X, y):
        if kind == "selection":
            return (np.abs(task_weights(X, y)) > 0.1).astype(float)
        return FILTERS[kind](X, y, "regression")

    found = weighting_violations(weigh, X, y)
    # Twice what the machine's weights are allowed.
    assert max(found.values()) > 0.1


def test_copies_shrink_the_penalty_so_that_the_second_axiom_needs_a_large_C():
    X, y = relevant_task(300)
    broken = [
        weighting_violations(lambda X, y, C=C: task_weights(X, y, C=C), X, y)["W2"]
        for C in (1e-4, 1e-3, 1e-2, 10.0)
    ]
    assert broken == sorted(broken, reverse=True)
    assert broken[0] > 0.2 > 1e-3 > broken[-1]


def test_weights_are_a_ridge_for_numbers_and_point_where_libsvm_does_for_classes():
    X, y = relevant_task(150)
    labels = y + np.random.default_rng(0).normal(size=len(y)) > 0
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    ours, libsvm = task_weights(X, labels), SVC(kernel="linear", C=10).fit(scaled, labels).coef_[0]
    # The loss here is squared, which changes the length more than the direction.
    cosine = ours @ libsvm / np.linalg.norm(ours) / np.linalg.norm(libsvm)
    assert cosine > 0.98
    number = (y - y.mean()) / y.std()
    for C in (0.01, 10.0):
        peer = Ridge(alpha=1 / (2 * C)).fit(scaled, number).coef_
        np.testing.assert_allclose(task_weights(X, y, C=C), peer, atol=1e-4)


def test_manhattan_fulfils_the_axioms_of_distances_and_euclid_does_not():
    manhattan = distance_violations(lambda u, v: float(np.abs(u - v).sum()))
    assert max(manhattan.values()) < 1e-12
    euclid = distance_violations(lambda u, v: float(np.linalg.norm(u - v)))
    assert euclid["D5"] > 0.01
    assert max(euclid[axiom] for axiom in ("D1", "D2", "D3", "D4")) < 1e-12
    squared = distance_violations(lambda u, v: float(((u - v) ** 2).sum()), n_tasks=200)
    assert squared["D3"] > 0
    assert distance_violations(lambda *_: 0.0)["D1"] == np.inf


def test_the_counter_example_of_theorem_10_1():
    first, second = np.array([1.0, 0.2]), np.array([0.4, 0.5])
    copied = [np.array([w[0] / 2, w[0] / 2, w[1]]) for w in (first, second)]
    assert np.linalg.norm(first - second) ** 2 == pytest.approx(0.6**2 + 0.3**2)
    assert np.linalg.norm(copied[0] - copied[1]) ** 2 == pytest.approx(0.6**2 / 2 + 0.3**2)
    assert np.abs(copied[0] - copied[1]).sum() == pytest.approx(np.abs(first - second).sum())


def test_copies_and_noise_do_not_move_tasks_in_the_case_base():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    targets = [X[:, 0] + 0.1 * X[:, 1], X[:, 1] - X[:, 2]]
    plain = [describe_task(X, y, names=list(NAMES)) for y in targets]
    wide = np.column_stack([X, 3 * X[:, 0] - 1, rng.normal(size=2000)])
    names = [*NAMES, "copy", "noise"]
    more = [describe_task(wide, y, names=names) for y in targets]

    def distance(pair):
        base = CaseBase()
        base.add(pair[1])
        return base.retrieve(pair[0], 1)[0].distance

    assert distance(more) == pytest.approx(distance(plain), rel=0.05)


# Cases and their folder


def test_a_folder_holds_weights_spreads_and_formulas_and_nothing_of_the_rows(tmp_path):
    X = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c d"])
    case = describe_task(frame, X[:, 0], formulas=["exp(a)*`c d`"], title="first")
    CaseBase(tmp_path / "new" / "cases").add(case)
    (file,) = (tmp_path / "new" / "cases").iterdir()
    content = json.loads(file.read_text())
    assert set(content["cases"][0]) == {"title", "weights", "centres", "spreads", "formulas"}
    assert content["cases"][0]["formulas"] == ["exp(a)*`c d`"]
    assert len(file.read_text()) < 700
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


def test_what_is_no_case_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "other.json").write_text('{"a": 1}')
    with pytest.raises(InvalidInputError, match=r"other\.json does not hold cases"):
        len(CaseBase(tmp_path))
    (tmp_path / "other.json").write_text("{")
    with pytest.raises(InvalidInputError, match="does not hold cases"):
        len(CaseBase(tmp_path))
    with pytest.raises(InvalidInputError, match="is a file; name a folder"):
        CaseBase(tmp_path / "other.json")
    with pytest.raises(InvalidInputError, match="a weight, a centre and a spread"):
        Case({"x": 1.0}, {}, {"x": 1.0})
    with pytest.raises(InvalidInputError, match="weights of a case must be finite"):
        Case({"x": np.nan}, {"x": 0.0}, {"x": 1.0})
    with pytest.raises(InvalidInputError, match="case_base must be"):
        FeatureTransfer(3).fit(table(), table()[:, 0] ** 2)
    with pytest.raises(InvalidInputError, match="case_base must be"):
        ParetoConstructor(case_base=3).fit(table(), table()[:, 0] ** 2)
    with pytest.raises(InvalidInputError, match="method must be"):
        CaseBase().retrieve(case_of([1, 0, 0]), method="nearest")


# Retrieval


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["manhattan", "euclidean"]), st.integers(1, 12))
def test_the_tree_finds_what_a_scan_finds(seed, method, n_cases):
    rng = np.random.default_rng(seed)
    weights = rng.integers(-3, 4, size=(1500, 3)).astype(float)
    base = CaseBase()
    base.extend(case_of(row, title=str(number)) for number, row in enumerate(weights))
    # These come after the tree.
    base.retrieve(case_of([0, 0, 0]), 1, method=method)
    late = rng.integers(-3, 4, size=(5, 3)).astype(float)
    base.extend(case_of(row, title=f"late {number}") for number, row in enumerate(late))
    asked = rng.normal(size=3)
    apart = np.vstack([weights, late]) - asked
    scan = np.abs(apart).sum(1) if method == "manhattan" else np.sqrt((apart**2).sum(1))
    found = base.retrieve(case_of(asked), n_cases, method=method)
    np.testing.assert_allclose([each.distance for each in found], np.sort(scan)[:n_cases])
    again = CaseBase()
    again.extend(reversed(base.cases))
    assert again.retrieve(case_of(asked), n_cases, method=method) == found


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


def test_the_sampled_distance_is_as_printed_or_symmetric():
    first, second = case_of([1, 0, 0], ["x0^2"]), case_of([1, 0, 0], ["x0^2", "sin(x1*x2)"])
    assert feature_set_distance(first, second) == 0
    assert feature_set_distance(second, first) > 0.8
    both = [
        feature_set_distance(a, b, symmetric=True) for a, b in ((first, second), (second, first))
    ]
    assert both[0] == both[1] > 0.2
    assert feature_set_distance(first, first, measure="deviation") == 0
    shifted = replace(first, formulas=["x0^2 + 3"])
    assert feature_set_distance(first, shifted, measure="deviation") == pytest.approx(3)
    assert feature_set_distance(first, shifted) < 1e-12
    assert feature_set_distance(first, case_of([1, 0, 0])) == 1
    assert feature_set_distance(case_of([1, 0, 0]), first) == 0
    many = feature_set_distance(second, first, n_samples=5000)
    assert many == pytest.approx(1, abs=0.05)
    with pytest.raises(InvalidInputError, match="measure must be"):
        feature_set_distance(first, second, measure="tree")


def test_columns_with_other_names_are_matched():
    case = case_of([0.9, -0.5, 0.0], ["exp(u)*v", "sin(w)"], names=("u", "v", "w"))
    task = case_of([0.02, 0.95, -0.45], names=("a", "b", "c"))
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
    with pytest.raises(InvalidInputError, match="Manhattan distances only"):
        base.retrieve(task, method="euclidean", mapping="assignment")


def test_equal_weights_are_matched_by_centre_and_spread():
    case = Case({"u": 0.5, "v": 0.5}, {"u": 10.0, "v": 0.0}, {"u": 1.0, "v": 3.0}, ["u^2"])
    task = Case({"a": 0.5, "b": 0.5}, {"a": 0.0, "b": 10.0}, {"a": 3.0, "b": 1.0})
    assert match_columns(case, task).renamed == {"u": "b", "v": "a"}


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5))
def test_sorted_weights_bound_the_cost_of_every_match(seed, n_theirs, n_ours):
    rng = np.random.default_rng(seed)
    case = case_of(rng.normal(size=n_theirs), names=[f"u{j}" for j in range(n_theirs)])
    task = case_of(rng.normal(size=n_ours), names=[f"a{j}" for j in range(n_ours)])
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


# Transfer


def constructor(**options):
    return ParetoConstructor(max_iter=2, random_state=0, **options)


def test_a_second_task_takes_the_features_of_the_first(tmp_path):
    X = table()
    first = FeatureTransfer(tmp_path, constructor=constructor())
    first.fit(X, X[:, 2] + np.exp(X[:, 0] + X[:, 1]))
    assert (first.source_, first.stored_, len(first.case_base_)) == ("construction", True, 1)
    assert first.case_.formulas == ("exp(x0 + x1)",)
    y = 5 * X[:, 2] - 2 * np.exp(X[:, 0] + X[:, 1])
    second = FeatureTransfer(tmp_path, constructor=False).fit(X, y)
    assert second.source_ == "cases"
    assert second.formula_ == "5*x2 - 2*exp(x0 + x1)"
    assert second.score(
        table(seed=5),
        5 * table(seed=5)[:, 2] - 2 * np.exp(table(seed=5)[:, 0] + table(seed=5)[:, 1]),
    ) == pytest.approx(1)
    assert second.gain_ > 0.99
    assert list(second.get_feature_names_out()) == ["x2", "exp(x0 + x1)"]
    np.testing.assert_allclose(second.transform(X)[:, 1], np.exp(X[:, 0] + X[:, 1]))
    assert len(CaseBase(tmp_path)) == 2


@pytest.mark.parametrize("method", ["manhattan", "euclidean", "sampled", "two_phase"])
def test_every_way_to_look_finds_a_case_that_helps(method):
    X = table()
    base = CaseBase()
    base.extend(case_of([0.1, 0, 0], [f"sin({k}*x1)"], title=str(k)) for k in (2, 3))
    base.add(describe_task(X, X[:, 0] * X[:, 1], formulas=["x0*x1"]))
    found = FeatureTransfer(base, method=method, n_cases=1, constructor=False, store=False)
    found.fit(X, X[:, 2] + 3 * X[:, 0] * X[:, 1])
    assert len(found.neighbours_) == 1
    assert len(base) == 3
    if method != "sampled":
        everything = clone(found).set_params(n_cases=3).fit(X, X[:, 2] + 3 * X[:, 0] * X[:, 1])
        assert everything.formula_ == "x2 + 3*x0*x1"


def test_what_gains_too_little_is_neither_used_nor_stored():
    X = table()
    noise = np.random.default_rng(3).normal(size=len(X))
    base = CaseBase()
    base.add(case_of([1, 0, 0], ["x0^2"]))
    found = FeatureTransfer(base, constructor=False).fit(X, X[:, 0] + noise)
    assert (found.source_, found.stored_, len(base)) == ("columns", False, 1)
    assert found.formula_.count("x0^2") == 0
    greedy = FeatureTransfer(base, constructor=False, min_gain=0.9)
    greedy.fit(X, X[:, 0] + 0.3 * X[:, 0] ** 2 + noise)
    assert greedy.source_ == "columns"


def test_a_task_that_columns_solve_asks_nobody():
    X = table()
    found = FeatureTransfer(CaseBase()).fit(X, 2 * X[:, 0] - X[:, 1])
    assert (found.source_, found.neighbours_) == ("columns", [])
    assert found.formula_ == "2*x0 - x1"


def test_classes_take_features_over_too():
    X = table(300)
    base = CaseBase()
    base.add(describe_task(X, np.where(X[:, 0] * X[:, 1] > 0, "a", "b"), formulas=["x0*x1"]))
    y = np.where(X[:, 0] * X[:, 1] > 0.3, "in", "out")
    found = FeatureTransfer(base, constructor=False).fit(X, y)
    assert found.source_ == "cases"
    assert "x0*x1" in found.get_feature_names_out()
    assert found.score(X, y) > 0.97
    assert found.predict_proba(X).shape == (300, 2)
    assert set(found.predict(X)) == {"in", "out"}
    three = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])
    several = FeatureTransfer(base, "classification", constructor=False).fit(X, three)
    assert several.decision_function(X).shape == (300, 3)
    assert several.score(X, three) > 0.8


def test_copies_of_an_estimator_share_their_case_base():
    X = table()
    base = CaseBase()
    model = make_pipeline(StandardScaler(), FeatureTransfer(base, constructor=constructor()))
    clone(model).fit(X, np.exp(X[:, 0]))
    assert len(base) == 1


def test_names_of_other_tables_are_matched_if_asked():
    X = table()
    base = CaseBase()
    base.add(
        describe_task(X, X[:, 0] + np.exp(X[:, 1]), names=["u", "v", "w"], formulas=["exp(v)"])
    )
    y = X[:, 0] + np.exp(X[:, 1])
    moved, names = X[:, [2, 1, 0]], ["a", "b", "c"]
    frame = pd.DataFrame(moved, columns=names)
    plain = FeatureTransfer(base, constructor=False, store=False).fit(frame, y)
    assert plain.source_ == "columns"
    matched = FeatureTransfer(base, constructor=False, mapping="assignment").fit(frame, y)
    assert matched.formula_ == "c + exp(b)"


def test_functions_of_your_own_travel_with_their_case_base():
    bump = OwnFunction("bump", lambda x: np.exp(-(x**2)))
    X = table()
    base = CaseBase(functions=[bump])
    base.add(case_of([0, 0, 1.0], ["bump(x0)"]))
    found = FeatureTransfer(base, constructor=False).fit(X, X[:, 2] + 4 * np.exp(-(X[:, 0] ** 2)))
    assert found.formula_ == "x2 + 4*bump(x0)"


def test_helping_columns_are_found_in_the_order_of_rows_left_out():
    X = table(60)
    y = 3 * X[:, 1] + X[:, 2]
    columns = np.column_stack([X, X[:, 1] + 1e-12])
    order = forward_order(columns, y[:, None], 5)
    assert order[:2] in ([1, 2], [3, 2])

    def left_out(chosen):
        total = 0.0
        for row in range(60):
            rest = np.delete(np.arange(60), row)
            design = np.column_stack([np.ones(60), X[:, chosen]])
            weights = np.linalg.lstsq(design[rest], noisy[rest], rcond=None)[0]
            total += float((noisy[row] - design[row] @ weights) ** 2)
        return total

    noisy = y + np.random.default_rng(0).normal(size=60)
    assert forward_order(X, noisy[:, None], 1) == [min(range(3), key=lambda j: left_out([j]))]


# YAGGA3


def test_the_search_asks_in_generation_five_and_every_ten_from_there():
    recall = CaseRecall(CaseBase())
    assert [g for g in range(40) if recall.is_due(g)] == [5, 15, 25, 35]
    assert [g for g in range(10) if CaseRecall(CaseBase(), first=2, every=3).is_due(g)] == [2, 5, 8]
    with pytest.raises(InvalidInputError, match="every must be"):
        CaseRecall(CaseBase(), every=0)


def asking(case_base, **options):
    chosen = {"start": "columns", "population_size": 6, "max_iter": 5, "random_state": 0, **options}
    return ParetoConstructor(case_base=case_base, choose="best:error", **chosen)


def hard_task():
    X = table(150)
    return X, np.sin(X[:, 0] * X[:, 1] + np.exp(X[:, 2]))


def hard_cases(folder=None):
    base = CaseBase(folder)
    X, y = hard_task()
    base.add(describe_task(X, y, formulas=["sin(x0*x1 + exp(x2))"]))
    base.add(case_of([5, 5, 5], ["sin(x0)*x1"]))
    return base


def test_a_search_finds_with_a_case_base_what_it_would_not_find_alone():
    X, y = hard_task()
    assert asking(None).fit(X, y).front_.values[:, 0].min() > 0.1
    found = asking(hard_cases()).fit(X, y)
    assert found.formula_ == "sin(exp(x2) + x0*x1)"
    before = asking(hard_cases(), max_iter=4).fit(X, y)
    assert before.front_.values[:, 0].min() > 0.1
    early = asking(CaseRecall(hard_cases(), first=0), max_iter=0).fit(X, y)
    assert early.front_.values[:, 0].min() < 1e-6


def test_a_search_without_a_case_base_is_what_it_was():
    X, y = hard_task()
    alone, empty = asking(None).fit(X, y), asking(CaseBase()).fit(X, y)
    np.testing.assert_array_equal(alone.front_.values, empty.front_.values)


def test_operations_that_are_not_allowed_are_not_taken_from_cases():
    X, y = hard_task()
    found = asking(hard_cases(), operations=["+", "*", "exp"]).fit(X, y)
    models = [found.select(place) for place in range(len(found.front_))]
    assert not any("sin" in str(feature) for model in models for feature in model.features)


def test_a_search_that_asks_resumes_to_the_same_bits(tmp_path):
    X, y = hard_task()
    whole = asking(hard_cases(), max_iter=16).fit(X, y)
    file, folder = tmp_path / "search", tmp_path / "cases"
    hard_cases(folder)
    asking(str(folder), max_iter=7, checkpoint=file).fit(X, y)
    resumed = asking(folder, max_iter=16, checkpoint=file).fit(X, y)
    np.testing.assert_array_equal(resumed.front_.values, whole.front_.values)


# Taxonomies


def test_a_taxonomy_gives_a_task_for_each_node_with_two_large_branches():
    paths = (
        [("rock", "punk")] * 40
        + [("rock", "metal")] * 35
        + [("rock", "folk")] * 31
        + [("jazz", "bebop")] * 50
        + [("jazz", "swing")] * 30
    )
    tasks = taxonomy_tasks(paths, random_state=0)
    assert [task.node for task in tasks] == [(), ("rock",)]
    assert len(tasks[0].rows) == len(paths)
    labels, counts = np.unique(tasks[1].labels, return_counts=True)
    assert len(labels) == 2
    assert set(labels) < {"punk", "metal", "folk"}
    assert all(
        paths[row][1] == label for row, label in zip(tasks[1].rows, tasks[1].labels, strict=True)
    )
    drawn = {tuple(np.unique(taxonomy_tasks(paths, random_state=s)[1].labels)) for s in range(20)}
    assert len(drawn) == 3
    assert len(taxonomy_tasks(paths, min_rows=30, random_state=0)) == 3
    assert counts.min() > 30
