"""Which picture shows a claim: of two columns together, of a category's levels, of a curve."""

from parsimon.report.document import Figure
from parsimon.report.findings import VariableFinding
from parsimon.report.sections._scope import Scope
from parsimon.report.sections.table.claims import certain, columns_of, suggested
from parsimon.structures import Claim


def strongest_picture(scopes: tuple[Scope, ...]) -> tuple[Figure, ...]:
    """Return the picture of the strongest claim; of the plain data if nothing is claimed."""
    for wanted in (certain, suggested):
        for scope in scopes:
            found = _claimed_picture(scope, wanted(scope.study.claims))
            if found:
                return found
    first = scopes[0]
    drawn = [one.picture for one in first.study.variables if one.picture]
    return first.figures(first.findings.table.picture or next(iter(drawn), ""))


def _claimed_picture(scope: Scope, claims: tuple[Claim, ...]) -> tuple[Figure, ...]:
    for one in claims:
        if one.kind == "interaction":
            for product in scope.study.interactions:
                if set(map(scope.column, product.variables)) == set(one.variables):
                    return scope.figures(product.picture)
    for column in sorted(columns_of(claims), key=lambda name: _error_alone(scope, name)):
        found = column_figures(scope, column)
        if found:
            return found
    return ()


def column_figures(scope: Scope, column: str) -> tuple[Figure, ...]:
    """Return the picture of a column: its levels, or the curve along it."""
    levels = [one.picture for one in scope.study.categories if one.column == column]
    curves = [one.picture for one in _of(scope, column) if one.picture]
    return scope.figures(*(levels or curves[:1]))


def _of(scope: Scope, column: str) -> list[VariableFinding]:
    return [one for one in scope.study.variables if scope.column(one.variable.name) == column]


def _error_alone(scope: Scope, column: str) -> float:
    return min((one.model.error for one in _of(scope, column)), default=float("inf"))
