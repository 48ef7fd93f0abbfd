"""What `parsimon.statistician.analyse` claims about a table."""

from benchmarks.peers._claims_statements import Statement
from benchmarks.peers._claims_truths import TARGET, SimulatedTable


def state(table: SimulatedTable, *, quick: bool = False) -> list[Statement]:  # noqa: ARG001
    """Return our claims.

    They do not depend on how deep the search for a kernel goes, so it is as short as it can be.
    """
    from parsimon.statistician import analyse

    analysis = analyse(table.frame, TARGET, depth=1, outer=0, n_jobs=1)
    return [Statement.of(claim) for claim in analysis.claims]
