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
    """The name of a numeric variable, the column that it comes from, and what it is.

    Examples
    --------
    >>> VariableSource(name="colour = red", column="colour", kind="indicator").column
    'colour'
    """

    name: str
    column: str
    kind: Kind = "number"


def describe_variables(
    X: "pd.DataFrame", sources: Sequence[VariableSource]
) -> tuple[Variable, ...]:
    """Return each variable with its range, mean and standard deviation (of the population).

    Parameters
    ----------
    X : DataFrame of shape (n, d)
        Prepared; its columns are among the names of `sources`.
    sources : sequence of VariableSource
        `variables_` of the preparer, or those of them that are used.

    Examples
    --------
    >>> import pandas as pd
    >>> age = VariableSource(name="age", column="age")
    >>> describe_variables(pd.DataFrame({"age": [30.0, 50.0]}), (age,))[0].deviation
    10.0
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
