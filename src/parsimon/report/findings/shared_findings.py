"""Values that findings hold: intervals, curves, rows taken apart, effects, fronts of features."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

# Below this share of the rows a class is called rare.
RARE = 0.2


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate with an interval around it."""

    estimate: float
    low: float
    high: float
    confidence: float = 0.95


@dataclass(frozen=True, kw_only=True)
class CalibrationBin:
    """Rows with alike predictions: their mean prediction and how often the class occurred."""

    predicted: float
    observed: Interval
    n_rows: int


@dataclass(frozen=True, kw_only=True)
class Roc:
    """Points of a curve, from the strictest threshold to the most lenient.

    `thresholds[k]` is the least probability that is called positive at point k.
    """

    fpr: tuple[float, ...]
    tpr: tuple[float, ...]
    thresholds: tuple[float, ...]
    n_positive: int
    n_negative: int
    auc: Interval


@dataclass(frozen=True, kw_only=True)
class RowFinding:
    """A row worth a look.

    row: From 1, below the header.
    label: What the table says.
    probability: Of the positive class, predicted without the row; for a number, the prediction.
    score: Surprise: minus the log2 probability of the label in bits, or standard deviations
        off. Influence: root mean square change of the latent function at all rows if it is
        taken out.
    values: The variables of the model, as the table has them.
    """

    row: int
    label: str
    probability: float
    score: float
    values: tuple[tuple[str, str], ...] = ()


RowRole: TypeAlias = Literal["typical", "borderline", "highest", "surprising"]


@dataclass(frozen=True, kw_only=True)
class RowPart:
    """What some columns contribute to a row, and their cells."""

    values: tuple[tuple[str, str], ...]
    contribution: float


@dataclass(frozen=True, kw_only=True)
class RowExplanation:
    """A row, and what speaks for and against in it.

    row, label: As in `RowFinding`.
    role: Why this row: "highest" is the one whose number is predicted highest.
    probability: Of the positive class, or the number, as the model fitted to all rows has it.
    called: The class that several are told apart by: the most probable one, whose probability and
        score they are.
    level: What the model says of the row that this one is compared with: a score (below zero: the
        positive class is the less probable), or the number.
    parts: What the columns of this row add to it, the most first.
    compared_with: The average of all rows, or a typical row.
    """

    row: int
    role: RowRole
    label: str
    probability: float
    level: float
    parts: tuple[RowPart, ...]
    compared_with: Literal["average", "typical"] = "average"
    called: str = ""
    picture: str = ""


@dataclass(frozen=True, kw_only=True)
class LevelFinding:
    """A level of a category: its rows, and the share of the positive class or the mean there."""

    level: str
    n_rows: int
    value: Interval


Way: TypeAlias = Literal["rising", "falling", "linear", "periodic", "turning", "joined", "unclear"]


@dataclass(frozen=True, kw_only=True)
class EffectFinding:
    """How the target goes with a column, or with columns that interact.

    It comes from the structures that the claims come from, averaged by their probability; all other
    columns have the effect that they have on average over the rows.

    columns: Of the table: one, or those of an interaction, of which only the picture is known.
    rising, falling: Posterior probabilities that the average slope is positive, or negative, if the
        column has an effect by itself; the average is over the rows, along their ranks. Of two
        values, that the second has more, or less. Zero for a category of more levels.
    turning: Posterior probability that the curve rises somewhere among the rows and falls
        elsewhere, both by a fifth of its range or more.
    way: "linear" or "periodic", where that shape is claimed; else "turning", "rising" or "falling",
        which have a probability of at least 0.95; "joined" of a column that interacts, and has no
        direction on average over the others; "unclear".
    slope: Of a line, the change of a number for each unit.
    period: Of waves.
    judged_between: The part of the range in which a turn was looked for: from the quantile of
        5 % of the rows to that of 95 %.
    levels: Of a category, what was observed at those of its levels that are drawn.
    """

    columns: tuple[str, ...]
    rising: float = 0.0
    falling: float = 0.0
    turning: float = 0.0
    way: Way = "unclear"
    slope: float | None = None
    period: float | None = None
    judged_between: tuple[float, float] | None = None
    levels: tuple[LevelFinding, ...] = ()
    picture: str = ""


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
        return next(size for size in self.sizes if size.chosen)
