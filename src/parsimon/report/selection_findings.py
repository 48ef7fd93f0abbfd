"""What the page about a selection of columns, or about formulas of them, says."""

from dataclasses import dataclass
from typing import ClassVar

from parsimon.report.feature_findings import FeatureFront
from parsimon.report.findings import (
    ModelComparison,
    Picture,
    ReportFindings,
    RunFindings,
    TableFindings,
)


@dataclass(frozen=True, kw_only=True)
class SelectionFindings(ReportFindings):
    """Everything that the page says.

    comparison: The whole search on outer folds, beside a linear model and boosting; None if the
        rows are too few.
    unit: What guessing misses numbers by, in the unit of the target; NaN for classes.
    max_features: The most features that were asked for; 0 for no limit.
    fixed: Columns that every model has.
    stopped: Whether time ended the search.
    """

    outline: ClassVar[str] = "selection"
    format: ClassVar[str] = "parsimon-selection-findings"
    format_version: ClassVar[int] = 1

    table: TableFindings
    front: FeatureFront
    comparison: ModelComparison | None
    n_outer: int
    unit: float
    max_features: int
    fixed: tuple[str, ...]
    stopped: bool
    run: RunFindings
    pictures: tuple[Picture, ...] = ()
