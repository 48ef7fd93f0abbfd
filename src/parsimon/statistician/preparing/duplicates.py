"""Variables that are equal in every row, and variables that never vary."""

from hashlib import blake2b

from parsimon._typing import Array
from parsimon.report.findings import Treatment
from parsimon.statistician.preparing.columns import VariableSource


class Duplicates:
    """Remembers variables by their values, so that an equal one is found whichever came first."""

    def __init__(self) -> None:
        self._seen: dict[bytes, VariableSource] = {}

    def kept(
        self, variables: tuple[VariableSource, ...], values: Array
    ) -> tuple[tuple[int, ...], tuple[Treatment, ...]]:
        """Return the places of variables that are new and vary, and what is said of the others.

        Shapes: values (n, k).
        """
        kept: list[int] = []
        equal: list[tuple[VariableSource, VariableSource]] = []
        for place, variable in enumerate(variables):
            column = values[:, place]
            if column.min() == column.max():
                continue
            first = self._seen.setdefault(_digest(column), variable)
            if first is variable:
                kept.append(place)
            else:
                equal.append((variable, first))
        return tuple(kept), _said(equal, whole=not kept)


def _digest(values: Array) -> bytes:
    # Adding zero makes -0.0 equal to 0.0 in its bytes too.
    return blake2b((values + 0.0).tobytes(), digest_size=16).digest()


def _said(
    equal: list[tuple[VariableSource, VariableSource]], *, whole: bool
) -> tuple[Treatment, ...]:
    """Name the columns if one repeats another altogether, else the variables."""
    columns = {first.column for _, first in equal}
    if whole and len(columns) == 1:
        pairs = [(equal[0][0].column, columns.pop())]
    else:
        pairs = [(variable.name, first.name) for variable, first in equal]
    return tuple(
        Treatment(kind="column_duplicate", column=name, value=other) for name, other in pairs
    )
