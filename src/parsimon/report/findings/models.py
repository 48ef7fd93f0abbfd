"""A kernel that was judged, with its curve, and estimates with intervals."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate with an interval around it."""

    estimate: float
    low: float
    high: float
    confidence: float = 0.95


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
class Model:
    """A kernel that was judged.

    expression: With the names of variables: "SE(glucose) + SE(pedigree) × SE(age)".
    symbols: With their numbers: "SE_1 + SE_3 × SE_4".
    words: "glucose alone, plus an interaction of pedigree and age".
    kind: One word: smooth, periodic, linear, constant, additive, interaction, ...
    error, standard_error: Mean over the search's own folds: a share of rows, or of the variance
        for a number. It guided the search, so it is optimistic. NaN if it was not
        cross-validated.
    log_loss: Mean over the same folds, for each row.
    negative_log_evidence: On all rows that were searched.
    fold_negative_log_evidence: Mean over the folds' training parts; not comparable with the
        former.
    roc: From leave-one-out probabilities of this kernel.
    """

    expression: str
    symbols: str
    words: str
    kind: str
    variables: tuple[str, ...]
    n_kernels: int
    error: float
    standard_error: float
    log_loss: float
    negative_log_evidence: float
    fold_negative_log_evidence: float
    roc: Roc | None = None
