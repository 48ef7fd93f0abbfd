"""Parts of a table as families see them: prepared as numbers, or as they are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from parsimon._typing import AnyArray
from parsimon.report.findings import Treatment, Variable
from parsimon.statistician.families.family import Question

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.statistician.prepare import Preparer, Screener

# Columns that a family may see; those that say most about the target, each alone.
MOST_COLUMNS = 200


@dataclass(frozen=True, eq=False)
class UnchangedTable:
    """A table whose cells families take as they are, such as series."""

    questions: Sequence[Question]
    X: "pd.DataFrame"
    values: AnyArray

    @classmethod
    def of(cls, questions: Sequence[Question]) -> Self:
        """Take the rows of questions."""
        first = questions[0]
        return cls(questions, first.table, np.asarray(first.values, dtype=np.float64))

    def numbers(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """Return other rows as they are."""
        return table

    @property
    def columns(self) -> list[str]:
        """The columns of the table."""
        return [str(name) for name in self.X.columns]


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """A part of a table prepared as numbers, `every` variable and those that families see."""

    questions: Sequence[Question]
    preparer: "Preparer"
    screener: "Screener"
    every: "pd.DataFrame"
    X: "pd.DataFrame"
    values: AnyArray

    @classmethod
    def of(cls, questions: Sequence[Question]) -> Self:
        """Prepare the rows of questions; nothing else is looked at."""
        from parsimon.statistician.prepare import Preparer, Screener

        table, values = questions[0].table, np.asarray(questions[0].values, dtype=np.float64)
        preparer = Preparer().fit(table)
        every = preparer.transform(table)
        screener = Screener(most=MOST_COLUMNS, task=questions[0].task).fit(every, values)
        return cls(questions, preparer, screener, every, screener.transform(every), values)

    def narrowed(self, most: int, always: Sequence[int]) -> Self:
        """Return the table of so many variables, some of them in any case."""
        from parsimon.statistician.prepare import Screener

        screener = Screener(most=most, task=self.questions[0].task)
        screener.fit(self.every, self.values, always=always)
        return replace(self, screener=screener, X=screener.transform(self.every))

    def numbers(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """Return other rows as the models see them."""
        return self.screener.transform(self.preparer.transform(table))

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that families see, as a page describes them."""
        from parsimon.statistician.prepare.recipes import describe_variables

        known = {source.name: source for source in self.preparer.variables_}
        return describe_variables(self.X, [known[str(name)] for name in self.X.columns])

    @property
    def treatments(self) -> tuple[Treatment, ...]:
        """What was done to the columns."""
        return (*self.preparer.treatments_, *self.screener.treatments_)

    @property
    def columns(self) -> list[str]:
        """The column of the table that each variable comes from."""
        known = [one.column for one in self.preparer.variables_]
        return [known[place] for place in self.screener.kept_]
