"""The numeric variables that come out of a table's columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from parsimon.report.findings import Variable

if TYPE_CHECKING:
    import pandas as pd

Kind: TypeAlias = Literal["number", "indicator", "date"]


@dataclass(frozen=True, kw_only=True)
class VariableSource:
    """The name of a numeric variable, the column that it comes from, and what it is."""

    name: str
    column: str
    kind: Kind = "number"


def describe_variables(
    X: "pd.DataFrame", sources: Sequence[VariableSource]
) -> tuple[Variable, ...]:
    """Return each variable with its range, mean and standard deviation (of the population).

    Shapes: X (n, d).
    """
    known = {source.name: source for source in sources}
    values = X.to_numpy(dtype=np.float64)
    statistics = zip(
        *(values.min(axis=0), values.max(axis=0), values.mean(axis=0), values.std(axis=0)),
        strict=True,
    )
    return tuple(
        Variable(
            name=known[name].name,
            column=known[name].column,
            kind=known[name].kind,
            minimum=float(low),
            maximum=float(high),
            mean=float(mean),
            deviation=float(deviation),
        )
        for name, (low, high, mean, deviation) in zip(X.columns, statistics, strict=True)
    )
