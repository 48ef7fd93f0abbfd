"""How far to trust it: errors outside the search, calibration, rows worth a look."""

from dataclasses import dataclass
from typing import Literal

from parsimon.report.findings.models import Interval, Roc


@dataclass(frozen=True, kw_only=True)
class OuterFold:
    """What the whole search found on one outer training part, and its error outside it."""

    n_train: int
    n_test: int
    error: float
    baseline_error: float
    guide_error: float
    words: str
    variables: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Honest:
    """The performance of the whole search on rows that it never saw.

    error, baseline_error: Shares of rows (or of the variance), on the same outer folds.
    gain: Baseline's error minus ours, paired over folds.
    guide_error: What the searches inside the folds believed, on average.
    log_loss, baseline_log_loss, brier: NaN for a number.
    root_mean_square: Of the residuals, in units of the target; NaN for classes.
    """

    error: Interval
    baseline_error: Interval
    gain: Interval
    guide_error: float
    auc: Interval | None
    log_loss: float
    baseline_log_loss: float
    brier: float
    root_mean_square: float
    folds: tuple[OuterFold, ...]
    n_planned: int
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CalibrationBin:
    """Rows with alike predictions: their mean prediction and how often the class occurred."""

    predicted: float
    observed: Interval
    n_rows: int


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


@dataclass(frozen=True, kw_only=True)
class Checks:
    """How far the model may be trusted.

    `source` says which predictions these are: of rows outside ("outer folds"), with one row left
    out of a fit whose kernel has seen it ("leave-one-out"), or of rows that the model was fitted
    to, where a sparse model allows no better ("training rows").
    """

    source: Literal["outer folds", "leave-one-out", "training rows"]
    calibration: tuple[CalibrationBin, ...] = ()
    calibration_slope: float | None = None
    calibration_intercept: float | None = None
    brier: float | None = None
    roc: Roc | None = None
    hull: tuple[tuple[float, float], ...] = ()
    coverage: float | None = None
    surprising: tuple[RowFinding, ...] = ()
    influential: tuple[RowFinding, ...] = ()
    calibration_picture: str = ""
    roc_picture: str = ""


@dataclass(frozen=True, kw_only=True)
class Joint:
    """All classes together: the most probable class of each row, outside the search.

    `confusion[i][j]` counts rows of class i that were called j, in the order of `classes`.
    """

    classes: tuple[str, ...]
    error: Interval
    baseline_error: Interval
    confusion: tuple[tuple[int, ...], ...]
    source: Literal["outer folds", "leave-one-out"]
