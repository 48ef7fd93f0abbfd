"""What the page about series says, as values: the features, what each looks at, and how good."""

from dataclasses import dataclass
from typing import ClassVar

from parsimon.report.findings import ModelComparison, Picture, ReportFindings, RunFindings, Task
from parsimon.report.findings.shared_findings import FeatureFront


@dataclass(frozen=True, kw_only=True)
class SeriesTableFindings:
    """The series as they were used.

    n_series: Those that were used; `n_without_target`, `n_empty` and `n_rare` were left out, the
        last because their class has too few.
    channels: Names; none for one channel.
    shortest, longest: Values of a series.
    classes: Their names and numbers of series; none for a number.
    is_long: Whether a row of the table is one measurement.
    columns: Of a wide table, those of a series, in order.
    id, time: Columns; empty for none.
    left_out: Columns that hold no numbers.
    n_filled: Missing values inside series, taken from the line between their neighbours.
    n_uneven: Series that were put on even steps of time.
    n_without_id: Rows that belong to no series.
    """

    name: str
    target: str
    task: Task
    n_series: int
    channels: tuple[str, ...]
    shortest: int
    longest: int
    classes: tuple[tuple[str, int], ...]
    is_long: bool
    columns: tuple[str, ...]
    id: str
    time: str
    left_out: tuple[str, ...]
    n_filled: int
    n_uneven: int
    n_without_id: int
    n_without_target: int
    n_empty: int
    n_rare: int


@dataclass(frozen=True, kw_only=True)
class SeriesFeature:
    """One of the chosen features.

    words: As it is read aloud.
    tree: As `parsimon.features.series.parse_tree` reads it.
    begin, end: The part of a series that it looks at, as shares.
    medians: Of its values in each class; of a number in the series below and above its median.
    agreement: Share of pairs, one of the first and one of the last group, of which the latter has
        the larger value; for a number its rank correlation with the target.
    picture: Examples of each class, the place, and the values by class.
    """

    words: str
    tree: str
    begin: float
    end: float
    medians: tuple[tuple[str, float], ...]
    agreement: float
    picture: str = ""


@dataclass(frozen=True, kw_only=True)
class SeriesFindings(ReportFindings):
    """Everything that the page says.

    front: The best features of each number; `outside` is their error on new series.
    comparison: The whole search on outer folds, beside plain methods; None if series are too few.
    sizes: The same for each number of features.
    unit: What guessing misses numbers by, in the unit of the target; NaN for classes.
    choose: The rule that chose the features.
    stopped: Whether time ended the search.
    """

    outline: ClassVar[str] = "series_page"
    format: ClassVar[str] = "parsimon-series-findings"
    format_version: ClassVar[int] = 1

    table: SeriesTableFindings
    features: tuple[SeriesFeature, ...]
    front: FeatureFront
    comparison: ModelComparison | None
    sizes: ModelComparison | None
    n_outer: int
    unit: float
    choose: str
    stopped: bool
    run: RunFindings
    pictures: tuple[Picture, ...] = ()

    @property
    def learns(self) -> bool:
        """Whether the features tell more than a constant, in the search."""
        return self.front.chosen.error < self.front.guessing
