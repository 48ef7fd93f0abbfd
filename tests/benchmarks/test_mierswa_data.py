"""The data sets have the rows, columns and classes that the source counts, up to its slips."""

import numpy as np
import pytest
from benchmarks.reproduce import _mierswa_data as data
from benchmarks.reproduce import _mierswa_tables as tables

# Rows, columns and size of the positive class.
SHAPES = {
    "Spiral": (500, 2, 250),
    "Liver": (345, 6, 200),
    "Sonar": (208, 60, 111),
    "Diabetes": (768, 8, 268),
    "Lawsuit": (264, 4, 97),
    "Lawsuit, laid off": (264, 4, 19),
    "Lupus": (87, 3, 35),
    "Crabs": (200, 7, 100),
    "Ionosphere": (351, 34, 225),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_and_classes(name, data_folder):
    X, y = data.data_set(name)
    n, m, n_positive = SHAPES[name]
    assert X.shape == (n, m)
    assert X.dtype == np.float64
    assert np.isfinite(X).all()
    assert set(y) == {0, 1}
    assert int(y.sum()) == n_positive


def test_both_tasks_of_lawsuit_predict_the_column_that_the_other_sees(data_folder):
    X, minority = data.data_set("Lawsuit")
    Z, laid_off = data.data_set("Lawsuit, laid off")
    np.testing.assert_array_equal(X[:, 3], laid_off)
    np.testing.assert_array_equal(Z[:, 3], minority)
    np.testing.assert_array_equal(X[:, :3], Z[:, :3])


def test_every_set_of_a_table_has_its_kernel():
    assert set(data.EPANECHNIKOV) == set(tables.DATA_SETS)
    names = {name.partition(",")[0] for name in (*tables.DATA_SETS, *tables.DATA_SETS_3_4)}
    assert names == set(data.GAMMA)


def test_generated_sets_are_the_same_every_time():
    for name, n in (("Spiral", 500), ("Checkerboard", 300)):
        X, y = data.data_set(name)
        again, labels = data.data_set(name)
        assert X.shape == (n, 2)
        np.testing.assert_array_equal(X, again)
        np.testing.assert_array_equal(y, labels)


def test_folds_are_stratified_disjoint_and_stay_the_same():
    X, y = data.data_set("Spiral")
    first = [test for _, test in data.folds(X, y)]
    second = [test for _, test in data.folds(X, y)]
    assert len(first) == 10
    assert sorted(np.concatenate(first)) == list(range(500))
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    assert {int(y[test].sum()) for test in first} == {25}
    assert len(list(data.folds(X, y, 20))) == 20
