"""The tables of Mierswa's chapters 8 and 9 have the printed shapes, and rows can fail."""

import numpy as np
import pytest
from benchmarks.peers._features_unsupervised import unsupervised_rows
from benchmarks.reproduce import mierswa_8, mierswa_9
from benchmarks.reproduce._mierswa_unsupervised import TABLES, FrontJob, find_front, halves

SHAPES = {
    "GRID": (3125, 5),
    "RANDOM": (500, 10),
    "GM": (1000, 15),
    "IRIS": (150, 4),
    "IRIS-NN": (150, 5),
    "IRIS-GN": (150, 14),
    "SPIRAL": (500, 7),
    "IRIS-M": (150, 8),
}


@pytest.mark.parametrize("name", SHAPES)
def test_tables_have_the_printed_shapes(name):
    assert TABLES[name][0]().shape == SHAPES[name]


def test_the_greatest_of_two_halves_is_the_column():
    table = np.random.default_rng(0).random((20, 2))
    made = halves(table)
    assert np.array_equal(np.maximum(made[:, ::2], made[:, 1::2]), table)
    assert (made[:, ::2] != made[:, 1::2]).all()


def test_a_front_is_found_as_plain_values():
    found = find_front(FrontJob("IRIS-NN", "morita"))
    assert found["values"] == [[0.0, 1.0]]
    assert found["solutions"] == [[4]]


def test_peers_rows():
    rows = unsupervised_rows(quick=True)
    assert all(row.ok for row in rows)
    assert rows[-1].ours == 4


@pytest.mark.parametrize(("evaluated", "barred"), [(30, True), (100, False)])
def test_a_search_that_tries_every_subset_promises_nothing(evaluated, barred):
    exact = {"values": [[0.1, 1.0], [0.2, 2.0], [0.3, 3.0]], "n_evaluations": 100}
    searched = {**exact, "n_evaluations": evaluated, "n_iter": 9, "stall": 5}
    row = mierswa_8._searched("case", exact, searched)
    assert (row.bar is not None, row.ok) == (barred, True)
    assert row.rivals["guess: as many subsets"] == pytest.approx(3 * evaluated / 100)
    missed = {**searched, "values": searched["values"][:2]}
    assert mierswa_8._searched("case", exact, missed).ok is not barred


def test_better_optima_are_found_and_not_typed_in(monkeypatch):
    monkeypatch.setitem(mierswa_9.ENUMERATED, "case", (0.4, 0.5, 0.6))
    found = {"values": [[0.4, 1.0], [0.45, 2.0], [0.6, 3.0]], "n_evaluations": 9, "n_iter": 3}
    found["solutions"] = [[[0, 1]], [[0], [1]], [[0], [1], [2]]]
    row = mierswa_9._halves("case", found, found)[-1]
    assert (row.ours, row.ok) == (3, True)
    assert "better optima at [2] columns" in row.note
    found["values"][1][0] = 0.52
    assert not mierswa_9._halves("case", found, found)[-1].ok
