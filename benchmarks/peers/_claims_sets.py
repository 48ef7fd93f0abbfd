"""What is said of columns that stand for each other: noisy copies of a cause, beside the cause.

The structures are asked directly, which takes a fraction of a second a table, so that enough sets
are judged. A set is true if it holds a column that the target was drawn from; a copy is none.
"""

from collections.abc import Sequence
from math import comb

import numpy as np

from benchmarks.peers._claims_scores import Counts, is_true
from benchmarks.peers._claims_statements import Statement
from benchmarks.peers._claims_truths import (
    COLUMNS,
    COPIED,
    ROWS,
    TARGET,
    SimulatedTable,
    TableSettings,
    simulate,
)
from benchmarks.rivals import GUESS
from benchmarks.rows import Row

REPLICATES = 20
PRECISION = 0.97


def set_rows(*, quick: bool) -> list[Row]:
    """Return how many sets are true, and how many causes are found by them beyond single names."""
    tables = [simulate(one) for one in _settings(quick=quick)]
    said = [[one for one in _state(table) if one.claimed] for table in tables]
    sets = _count_sets(tables, said)
    alone, together = (_recall(tables, said, kinds) for kinds in (("variable",), _COLUMNS))
    return [
        Row(
            "sets of exchangeable columns",
            "precision",
            sets.precision,
            PRECISION,
            higher_is_better=True,
            bar=None if quick else 1.0,
            note=f"{sets.right} of {sets.claimed} on {len(tables)} tables; the peer is what was "
            "promised",
            # Without a set there is no precision; a pair by lot holds a cause now and then.
            rivals={"constant: no set": float("nan"), GUESS: _by_lot(tables)},
        ),
        Row(
            "true columns named, or one of a set",
            "recall",
            together,
            alone,
            higher_is_better=True,
            note="the peer is what is named alone",
        ),
    ]


_COLUMNS = ("variable", "set")


def _by_lot(tables: Sequence[SimulatedTable]) -> float:
    """Return the share of pairs of columns that hold a cause, mean over tables."""
    shares = []
    for table in tables:
        d, causes = len(table.frame.columns) - 1, len(table.variables)
        shares.append(1.0 - comb(d - causes, 2) / comb(d, 2))
    return float(np.mean(shares))


def _settings(*, quick: bool) -> list[TableSettings]:
    if quick:
        return [TableSettings(kind, 100, 5, 0) for kind in COPIED]
    return [
        TableSettings(kind, n_rows, n_columns, replicate)
        for kind in COPIED
        for n_rows in ROWS
        for n_columns in COLUMNS
        for replicate in range(REPLICATES)
    ]


def _state(table: SimulatedTable) -> list[Statement]:
    from parsimon.statistician.prepare import Preparer
    from parsimon.structures import find_structures

    cells = table.frame.drop(columns=TARGET)
    preparer = Preparer().fit(cells)
    columns = [one.column for one in preparer.variables_]
    names = list(dict.fromkeys(columns))
    found = find_structures(
        preparer.transform(cells).to_numpy(dtype=float),
        np.asarray(table.coded_target, dtype=float),
        "regression" if table.is_regression else "classification",
        groups=[[k for k, column in enumerate(columns) if column == name] for name in names],
        names=names,
    )
    return [Statement.of(claim) for claim in found.claims()]


def _count_sets(tables: Sequence[SimulatedTable], said: Sequence[Sequence[Statement]]) -> Counts:
    verdicts = [
        bool(is_true(one, table))
        for table, part in zip(tables, said, strict=True)
        for one in part
        if one.kind == "set"
    ]
    return Counts(len(verdicts), sum(verdicts), len(tables))


def _recall(
    tables: Sequence[SimulatedTable],
    said: Sequence[Sequence[Statement]],
    kinds: tuple[str, ...],
) -> float:
    """Return the share of true columns that certain statements of some kinds hold."""
    found = sum(
        len(table.variables & {name for one in part if one.kind in kinds for name in one.variables})
        for table, part in zip(tables, said, strict=True)
    )
    return found / sum(len(table.variables) for table in tables)
