"""The benchmark of claims: tables with a known truth, what is counted, what is kept."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from benchmarks.peers import _claims_jobs as jobs
from benchmarks.peers import claims
from benchmarks.peers._claims_l1 import expand
from benchmarks.peers._claims_scores import Scores, is_true
from benchmarks.peers._claims_sets import PRECISION, set_rows
from benchmarks.peers._claims_statements import Statement
from benchmarks.peers._claims_truths import (
    COLUMNS,
    COMPARED,
    KINDS,
    NULLS,
    ROWS,
    TableSettings,
    simulate,
    table_settings,
)


def variable(name, score=0.9, claimed=True):
    return Statement("variable", frozenset({name}), score, claimed)


def shape(name, form):
    return Statement("shape", frozenset({name}), 0.9, True, form)


def test_the_tables_are_enough_and_every_part_of_them_is_balanced():
    settings = table_settings(claims.N_TABLES)
    assert len(set(settings)) == len(settings) >= 320
    assert sum(one.kind in NULLS for one in settings) >= 60
    assert {(one.kind, one.n_rows, one.n_columns) for one in settings} == {
        (kind, n, d) for kind in COMPARED for n in ROWS for d in COLUMNS
    }
    first = Counter(one.kind for one in settings[: len(COMPARED) + len(NULLS)])
    assert first == {kind: 2 if kind in NULLS else 1 for kind in COMPARED}
    assert table_settings(2 * len(settings))[: len(settings)] == settings


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_drawn_from_its_settings_and_knows_its_truth(kind):
    settings = TableSettings(kind, 100, 12, 3)
    table = simulate(settings)
    pd.testing.assert_frame_equal(table.frame, simulate(settings).frame)
    assert not table.frame.equals(simulate(TableSettings(kind, 100, 12, 4)).frame)
    assert table.frame.shape == (100, 13)
    assert table.variables <= set(table.frame) - {"y"}
    assert bool(table.variables) == (kind not in NULLS)
    assert all(pair <= table.variables for pair in table.interactions | table.open_pairs)
    assert set(table.shapes) <= table.variables
    assert table.is_regression == pd.api.types.is_numeric_dtype(table.frame["y"])


def test_the_target_follows_what_is_called_true():
    linear = simulate(TableSettings("regression, additive", 1500, 5, 0))
    (line,) = (name for name, form in linear.shapes.items() if form == "linear")
    noise = set(linear.frame) - linear.variables - {"y"}
    strengths = linear.frame[[line, "y"]].corr()["y"]
    assert abs(strengths[line]) > 0.2
    numbers = linear.frame[sorted(noise)].select_dtypes("number")
    independent = numbers.loc[:, numbers.corrwith(linear.frame[line]).abs() < 0.1]
    assert independent.corrwith(linear.frame["y"]).abs().max() < 0.1
    product = simulate(TableSettings("regression, product", 1500, 5, 0))
    first, second = product.frame[sorted(product.variables)].to_numpy().T
    y = product.frame["y"].to_numpy()
    together = (first - first.mean()) * (second - second.mean())
    assert abs(np.corrcoef(together, y)[0, 1]) > 0.3
    assert abs(np.corrcoef(first, y)[0, 1]) < 0.1


def test_names_and_identifiers_are_kept_from_the_peers():
    table = simulate(TableSettings("many-level text noise", 100, 5, 0))
    assert len(table.peer_inputs.columns) == 4
    terms, columns = expand(table.peer_inputs)
    assert columns.shape == (100, len(terms))
    np.testing.assert_allclose(columns.mean(axis=0), 0.0, atol=1e-9)


def test_what_depends_on_the_link_is_not_judged():
    table = simulate(TableSettings("three classes", 100, 5, 0))
    (pair,) = table.open_pairs
    first, second = sorted(pair)
    assert is_true(Statement("interaction", pair, 0.9, True), table) is None
    assert is_true(shape(first, "linear"), table) is None
    assert is_true(variable(second), table) is True
    noise = min(set(table.frame) - table.variables - {"y"})
    assert is_true(variable(noise), table) is False
    assert is_true(shape(noise, "linear"), table) is False
    assert is_true(Statement("interaction", frozenset({first, noise}), 0.9, True), table) is False


def test_a_set_is_true_if_it_holds_a_cause():
    table = simulate(TableSettings("noisy copies", 400, 5, 1))
    alike = table.frame.corr(numeric_only=True).abs()
    cause = max(table.variables, key=lambda name: alike[name].nlargest(2).iloc[1])
    near = alike[cause].drop(cause)
    assert near.max() > 0.93
    copy = near.idxmax()
    assert is_true(Statement("set", frozenset({cause, copy}), 0.99, True), table) is True
    assert is_true(Statement("set", frozenset({copy, "other"}), 0.99, True), table) is False
    assert is_true(Statement("any", frozenset(), 0.99, True), table) is True
    found, recall = set_rows(quick=True)
    assert found.ours >= PRECISION
    assert recall.ours >= recall.peer


def test_precision_recall_and_the_threshold_of_an_oracle():
    settings = TableSettings("additive 4", 100, 12, 0)
    table = simulate(settings)
    true = sorted(table.variables)
    noise = sorted(set(table.frame) - table.variables - {"y"})
    stated = [
        variable(true[0], 0.99),
        variable(true[1], 0.95),
        variable(noise[0], 0.9),
        variable(true[2], 0.8, claimed=False),
        variable(noise[1], 0.8, claimed=False),
    ]
    scores = Scores([table], [stated])
    counts = scores.counts("variable")
    assert (counts.claimed, counts.right, counts.truths) == (3, 2, 4)
    assert (counts.precision, counts.recall) == (pytest.approx(2 / 3), 0.5)
    assert scores.threshold("variable", 0.97) == 0.95
    assert scores.counts("variable", above=0.95).recall == 0.5
    # Two statements of one score stand or fall together.
    assert scores.threshold("variable", 0.7) == 0.95
    assert scores.threshold("variable", 0.6) == 0.8
    assert scores.threshold("interaction", 0.95) == np.inf
    wide = scores.bins(["variable"])
    assert [(one.low, one.n_claims) for one in wide] == [(0.8, 2), (0.9, 2), (0.97, 1)]
    assert wide[1].true == 0.5
    assert wide[1].stated == pytest.approx(0.925)


def test_claims_about_nothing_are_counted_by_table():
    tables = [simulate(TableSettings("null, classes", 100, 5, turn)) for turn in range(4)]
    names = [table.frame.columns[0] for table in tables]
    stated = [
        [variable(names[0]), variable(tables[0].frame.columns[1])],
        [variable(names[1], 0.6, claimed=False)],
        [],
        [],
    ]
    scores = Scores(tables, stated)
    assert scores.share_of_nulls(claimed=True) == 0.25
    assert scores.share_of_nulls(claimed=False) == 0.5


def test_a_result_is_kept_until_its_own_code_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "version", lambda _: "1")
    tables = [TableSettings("one linear", 100, 5, 0)]
    first = jobs.run_methods(tables, ["L1"], folder=tmp_path, n_processes=1)
    (file,) = tmp_path.rglob("*.json")
    kept = json.loads(file.read_text())
    kept["seconds"] = -1.0
    file.write_text(json.dumps(kept))
    again = jobs.run_methods(tables, ["L1"], folder=tmp_path, n_processes=1)
    key = tables[0], "L1"
    assert again[key].seconds == -1.0
    assert [one.variables for one in again[key].statements] == [
        one.variables for one in first[key].statements
    ]
    before = {name: jobs.code_version(method) for name, method in jobs.METHODS.items()}
    other = tmp_path / "parsimon" / "__init__.py"
    other.parent.mkdir()
    other.write_text("changed = True\n")
    monkeypatch.setattr(jobs.parsimon, "__file__", str(other))
    changed = {name: jobs.code_version(method) for name, method in jobs.METHODS.items()}
    assert {name for name in before if before[name] != changed[name]} == {"ours"}
    monkeypatch.setattr(jobs, "version", lambda _: "99")
    assert jobs.run_methods(tables, ["L1"], folder=tmp_path, n_processes=1)[key].seconds >= 0.0


def test_the_bars_follow_the_claims():
    kinds = ("one linear", "pure product", "null, classes")
    tables = [simulate(TableSettings(kind, 100, 5, 0)) for kind in kinds]
    right = [
        [
            *(variable(name, 0.99) for name in table.variables),
            *(Statement("interaction", pair, 0.98, True) for pair in table.interactions),
        ]
        for table in tables
    ]
    nothing = [[] for _ in tables]
    good = {"ours": Scores(tables, right), "L1": Scores(tables, nothing)}
    assert all(row.ok for row in claims._bars(good, judged=True))
    silent = {"ours": Scores(tables, nothing), "L1": Scores(tables, right)}
    failed = {row.metric for row in claims._bars(silent, judged=True) if not row.ok}
    assert failed == {
        "precision",
        "recall, peer at precision 0.97",
        "recall, peer at precision 0.95",
        # Whoever claims nothing claims nothing false, and has no use for it.
        "share, all if the recall is missed",
    }
    assert all(row.ok for row in claims._bars(silent, judged=False))
