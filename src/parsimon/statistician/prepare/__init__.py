"""From the cells of a table to finite numbers: what is asked, what each column is, what to search.

`read_outcome` reads the target, `Preparer` turns the other columns into numbers and says what it
did, `Screener` keeps the variables that are worth a search. `cells`, `recognition` and `recipes`
are what they are made of.
"""

from parsimon.statistician.prepare.outcome import TargetColumn, read_outcome
from parsimon.statistician.prepare.preparation import Preparer, Screener

__all__ = ["Preparer", "Screener", "TargetColumn", "read_outcome"]
