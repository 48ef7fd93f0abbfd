"""Pareto toolbox against pymoo: NSGA-II, and the archive."""

from benchmarks.peers._archive import archive_rows
from benchmarks.peers._nsga2 import nsga2_rows
from benchmarks.rows import Row


def rows(*, quick: bool) -> list[Row]:
    """Return all rows of the comparison."""
    return [*nsga2_rows(quick=quick), *archive_rows(quick=quick)]
