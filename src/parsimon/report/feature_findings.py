"""What a page says of a front of features, as values: columns, formulas of them, or series."""

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class FeatureSize:
    """One solution of a front.

    size: Columns, signs of the formula, or features of series.
    features: Names of columns, formulas, or method trees.
    formula: The whole formula with its numbers; empty for others.
    words: The features as they are read aloud.
    error, standard_error: On the rows of the search; NaN if it is not known.
    outside: The error on rows set apart from the search; NaN if there are none.
    unbounded: Features that may become infinite within the range of the rows or just outside.
    cost: Operations for one series; NaN for others.
    """

    size: int
    features: tuple[str, ...]
    formula: str
    words: str
    error: float
    standard_error: float
    outside: float
    unbounded: int = 0
    chosen: bool = False
    cost: float = math.nan


@dataclass(frozen=True, kw_only=True)
class FeatureFront:
    """A front of error against size, the smallest first.

    measure: "error" (the share of wrong rows), "log loss" or "typical miss" (root mean square).
    guessing: The error of a prediction that ignores all columns.
    exact: Whether all subsets were tried.
    n_tried, n_rows, n_columns: What was tried, on which rows and of how many columns.
    gives: What a formula gives: "the log odds of yes", or the target's name; empty for others.
    breaks: Sizes before and after each step that drops columns again.
    picture: Of the front. `drawings` has one for each feature of the chosen solution.
    """

    kind: Literal["columns", "formulas", "series"]
    measure: str
    sizes: tuple[FeatureSize, ...]
    guessing: float
    exact: bool
    n_tried: int
    n_rows: int
    n_columns: int
    gives: str = ""
    breaks: tuple[tuple[int, int], ...] = ()
    picture: str = ""
    drawings: tuple[str, ...] = ()

    @property
    def chosen(self) -> FeatureSize:
        """The solution that is used."""
        return next(one for one in self.sizes if one.chosen)
