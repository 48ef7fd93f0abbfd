"""Findings about single rows and about groups of them."""

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
