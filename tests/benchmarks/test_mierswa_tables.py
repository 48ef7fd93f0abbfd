"""The printed tables: read as they stand, and with the coincidences that the errata speak of."""

import math

import pytest
from benchmarks.reproduce import _mierswa_tables as tables


@pytest.mark.parametrize("table", [tables.OBJECTIVE, tables.ERROR, tables.INDEFINITE])
def test_every_set_has_a_cell_of_each_method(table):
    assert tuple(table) == tables.DATA_SETS
    for cells in table.values():
        assert tuple(cells) == ("EvoSVM", "mySVM", "LibSVM")
        assert all(cell.deviation >= 0 and cell.seconds >= 1 for cell in cells.values())


def test_errors_by_cost_have_a_cell_of_each_set_and_method():
    methods = (*tables.STRATEGIES.values(), "mySVM", "LibSVM")
    assert tuple(tables.ERROR_BY_COST) == tables.COSTS_3_4
    for table in tables.ERROR_BY_COST.values():
        assert tuple(table) == tables.DATA_SETS_3_4
        assert all(tuple(cells) == methods for cells in table.values())


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (tables.OBJECTIVE["Lawsuit"]["mySVM"], (-8790.429, 308.996, 1)),
        (tables.ERROR["Lupus"]["EvoSVM"], (23.89, 14.22, 1)),
        (tables.INDEFINITE["Diabetes"]["LibSVM"], (34.89, 0.34, 6)),
        (tables.ERROR_BY_COST[1.0]["Ionosphere"]["EvoSVM-H"], (6.83, 3.87, 22)),
        (tables.ERROR_BY_COST[0.1]["Crabs"]["LibSVM"], (21.00, 12.41, 1)),
        (tables.ERROR_BY_COST[0.01]["Sonar"]["PsoSVM"], (27.90, 6.28, 3)),
    ],
)
def test_cells_are_the_printed_ones(cell, expected):
    assert (cell.mean, cell.deviation, cell.seconds) == expected


def test_errors_are_percentages():
    cells = [cell for row in tables.ERROR.values() for cell in row.values()]
    cells += [cell for row in tables.INDEFINITE.values() for cell in row.values()]
    for table in tables.ERROR_BY_COST.values():
        cells += [cell for row in table.values() for cell in row.values()]
    assert len(cells) == 2 * 8 * 3 + 3 * 6 * 6
    assert all(0 <= cell.mean <= 51 for cell in cells)


def test_rows_of_crabs_and_diabetes_are_copies_where_the_errata_say_so():
    for method in ("mySVM", "LibSVM"):
        crabs, diabetes = (tables.OBJECTIVE[name][method] for name in ("Crabs", "Diabetes"))
        assert (crabs.mean, crabs.deviation) == (diabetes.mean, diabetes.deviation)
    assert tables.OBJECTIVE["Crabs"]["EvoSVM"] != tables.OBJECTIVE["Diabetes"]["EvoSVM"]


def test_only_evolution_has_positive_values_although_zero_is_feasible():
    for cells in tables.OBJECTIVE.values():
        assert cells["EvoSVM"].mean > 0 > max(cells["mySVM"].mean, cells["LibSVM"].mean)


def test_tables_of_ten_and_of_twenty_folds_share_their_default_rows():
    for name in ("Liver", "Sonar", "Lupus"):
        twenty = tables.INDEFINITE[name]["LibSVM"]
        ten = tables.ERROR_BY_COST[0.01][name]["mySVM"]
        assert (twenty.mean, twenty.deviation) == (ten.mean, ten.deviation)


def test_seconds_may_be_unknown():
    assert math.isnan(tables.Published(1.0, 2.0).seconds)
