"""The tables of Mierswa's chapters 8 and 9 have the printed shapes, and rows can fail."""

import numpy as np
import pytest
from benchmarks.peers._features_unsupervised import unsupervised_rows
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
