"""Chapter 5 of Fearn (2021): tables 5.1 to 5.3, and whether a tree helps to predict.

Tables 5.1 and 5.2 simulate traits on ten trees: lambda by both printed formulas with both signs,
by the exact evidence, and by least squares on the tree as it is and on one already scaled. The
trees are random and not the author's, so means are compared with their standard errors, and the
printed formulas by their pattern: what they end at depends on starts and stopping rules that the
source does not give. A negative lambda is no covariance here, and is put on zero.

Table 5.3 and what follows are archaeal growth temperatures from 20 amino-acid fractions: 306
species, and the 205 nearest to the source's 209. Which model wins has no bar: the rows say who
does, over five random partitions into ten folds and over folds that leave clades out. Differences
are paired, second less first, so that above zero the first is better; their intervals are those of
the corrected resampled t (Nadeau and Bengio 2003), Wilcoxon's p that of the first ten folds. The
last rows are the root of the tree.
"""

from benchmarks.reproduce import (
    _fearn_ancestors,
    _fearn_archaea,
    _fearn_archaea_rows,
    _fearn_simulation,
)
from benchmarks.reproduce._fearn_stationary import factor_rows
from benchmarks.reproduce._resume import run_all
from benchmarks.rows import Row
from parsimon.exceptions import DatasetNotFoundError


def rows(*, quick: bool) -> list[Row]:
    """Return all rows; `quick` runs two trees, three true lambdas and two folds a way."""
    simulations = _fearn_simulation.jobs(quick=quick)
    found = run_all(
        simulations,
        _fearn_simulation.work,
        title="simulations",
        file_name=None if quick else "fearn-5-simulations.jsonl",
    )
    made = _fearn_simulation.rows(found)
    made += factor_rows(_fearn_simulation.QUICK_TREES if quick else _fearn_simulation.N_TREES)
    try:
        _fearn_archaea.archaea(_fearn_archaea.TEMPURA)
    except DatasetNotFoundError as error:
        print(f"The archaea are left out: {error}")
        return made
    folds = _fearn_archaea.jobs(quick=quick)
    measured = run_all(
        folds,
        _fearn_archaea.work,
        title="archaea",
        file_name=None if quick else "fearn-5-archaea.jsonl",
    )
    return made + _fearn_archaea_rows.rows(measured) + _fearn_ancestors.rows()
