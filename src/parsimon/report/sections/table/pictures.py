"""Which picture shows a claim: of columns together, of a category's levels, of a curve."""

from collections.abc import Iterable

from parsimon.report.document import Figure
from parsimon.report.findings.shared_findings import EffectFinding
from parsimon.report.sections.table.claims import certain, columns_of, suggested
from parsimon.report.sections.table.scope import Scope
from parsimon.structures import Claim


def effect_of(scope: Scope, columns: Iterable[str]) -> EffectFinding | None:
    """Return how the target goes with columns, if it was looked at."""
    wanted = set(columns)
    return next((one for one in scope.study.effects if set(one.columns) == wanted), None)


def effect_figures(scope: Scope, columns: Iterable[str]) -> tuple[Figure, ...]:
    """Return the picture of columns together: a curve, levels, a surface."""
    found = effect_of(scope, columns)
    return () if found is None else scope.figures(found.picture)


def strongest_picture(scopes: tuple[Scope, ...]) -> tuple[Figure, ...]:
    """Return the picture of the strongest claim; of the plain data if nothing is claimed."""
    for wanted in (certain, suggested):
        for scope in scopes:
            found = _claimed_picture(scope, wanted(scope.study.claims))
            if found:
                return found
    first = scopes[0]
    drawn = [one.picture for one in first.study.effects if one.picture]
    return first.figures(first.findings.table.picture or next(iter(drawn), ""))


def _claimed_picture(scope: Scope, claims: tuple[Claim, ...]) -> tuple[Figure, ...]:
    joins = [one.variables for one in claims if one.kind == "interaction"]
    alone = sorted(columns_of(claims), key=lambda name: _rank(scope, name))
    for columns in (*joins, *((name,) for name in alone)):
        found = effect_figures(scope, columns)
        if found:
            return found
    return ()


def _rank(scope: Scope, column: str) -> tuple[bool, float]:
    """Return what sorts columns: claimed alone before in a set only, then by the error alone."""
    claimed = any(
        claim.kind == "variable" and claim.variables == (column,) for claim in scope.study.claims
    )
    errors = (
        judged.model.error
        for judged in scope.study.variables
        if scope.column(judged.variable.name) == column
    )
    return not claimed, min(errors, default=float("inf"))
