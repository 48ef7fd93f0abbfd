"""What the pages about columns say, as values: which are needed, and which are stable."""

from dataclasses import dataclass
from typing import ClassVar

from parsimon.report.findings import (
    ModelComparison,
    Picture,
    ReportFindings,
    RunFindings,
    TableFindings,
)
from parsimon.report.findings.shared_findings import FeatureFront


@dataclass(frozen=True, kw_only=True)
class WideTableFindings:
    """The table as it was used.

    classes: Their names and numbers of rows; none for a number.
    fixed: Columns that belong to every model.
    left_out: Columns that hold no numbers, or one number only.
    n_filled: Empty cells that got the median of their column.
    n_without_target: Rows that were left out.
    shared_unit: Whether the columns were taken for one kind of measurement.
    """

    name: str
    target: str
    n_rows: int
    n_columns: int
    classes: tuple[tuple[str, int], ...]
    fixed: tuple[str, ...]
    left_out: tuple[str, ...]
    n_filled: int
    n_without_target: int
    shared_unit: bool


@dataclass(frozen=True, kw_only=True)
class StableColumn:
    """One of the columns that were selected most often.

    total, coincident: Fits that select it, and splits in which both halves do.
    chance: Share of runs, with permuted targets and this one, in which any column has such a total.
    permuted: Share of columns that reach such a total with a permuted target.
    adjusted_p: Of a regression on this column alone, with the fixed ones: the least false
        discovery rate (Benjamini and Hochberg); NaN for more than two classes.
    alike: Columns that can stand for it.
    """

    name: str
    total: int
    coincident: int
    frequency: float
    chance: float
    permuted: float
    adjusted_p: float
    kept: bool
    alike: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SizeFinding:
    """Models of so many columns: AUC on other rows, and the stability of the columns."""

    n_columns: int
    area: float
    stability: float


@dataclass(frozen=True, kw_only=True)
class SuspectRow:
    """A row, counted from 1, on the wrong side when it is held out, by so many deviations."""

    row: int
    label: str
    suspicion: float


@dataclass(frozen=True, kw_only=True)
class WideFindings(ReportFindings):
    """Everything that the page about a table with more columns than rows says.

    area, area_sd: On the half that a fit did not see; mean and deviation over the fits.
    null_sd: Of a random classifier around 0.5; NaN unless there are two classes.
    stability: The index with both ends of its interval.
    expected_false: Bounds by name, and the mean with permuted targets.
    observed_coincidences, expected_coincidences, permuted_coincidences: Columns common to both
        halves, as counted, at random, and with permuted targets.
    screened: Columns that are not kept though a regression on each alone names them, at a false
        discovery rate of 5 percent; the strongest first.
    hit_rate, n_flipped: Of rows flipped on purpose, the share that is found; NaN if not tried.
    """

    outline: ClassVar[str] = "wide"
    format: ClassVar[str] = "parsimon-wide-findings"
    format_version: ClassVar[int] = 1

    table: WideTableFindings
    n_splits: int
    threshold: float
    columns: tuple[StableColumn, ...]
    n_kept: int
    screened: tuple[str, ...]
    sizes: tuple[SizeFinding, ...]
    area: float
    area_sd: float
    null_sd: float
    stability: tuple[float, float, float]
    expected_false: tuple[tuple[str, float], ...]
    observed_coincidences: float
    expected_coincidences: float
    permuted_coincidences: float
    suspects: tuple[SuspectRow, ...]
    hit_rate: float
    n_flipped: int
    run: RunFindings
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SelectionFindings(ReportFindings):
    """Everything that the page about a selection of columns, or about formulas of them, says.

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
