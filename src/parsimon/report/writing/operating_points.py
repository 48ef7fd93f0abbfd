"""What happens at a threshold: rows found, false alarms, and which threshold costs ask for."""

from dataclasses import dataclass

from parsimon.report.findings import Roc


@dataclass(frozen=True, kw_only=True)
class OperatingPoint:
    """What calling rows positive from a threshold on does.

    Attributes
    ----------
    threshold : float
        The least probability that is called positive.
    found, missed, false_alarms, passed : int
        Rows: positive and called so, positive and not, negative and called positive, and not.
    """

    threshold: float
    found: int
    missed: int
    false_alarms: int
    passed: int


def operating_point(roc: Roc, threshold: float) -> OperatingPoint:
    """Return the point of a curve whose threshold is nearest.

    Examples
    --------
    >>> from parsimon.report.findings import Interval
    >>> curve = Roc(
    ...     fpr=(0.0, 0.1, 1.0), tpr=(0.0, 0.8, 1.0), thresholds=(1.0, 0.55, 0.0),
    ...     n_positive=10, n_negative=20, auc=Interval(estimate=0.85, low=0.7, high=0.95),
    ... )
    >>> operating_point(curve, 0.5)
    OperatingPoint(threshold=0.55, found=8, missed=2, false_alarms=2, passed=18)
    """
    place = min(range(len(roc.thresholds)), key=lambda k: abs(roc.thresholds[k] - threshold))
    found = round(roc.tpr[place] * roc.n_positive)
    alarms = round(roc.fpr[place] * roc.n_negative)
    return OperatingPoint(
        threshold=roc.thresholds[place],
        found=found,
        missed=roc.n_positive - found,
        false_alarms=alarms,
        passed=roc.n_negative - alarms,
    )


def cheapest_threshold(miss_costs: float) -> float:
    """Return the threshold of least expected cost for calibrated probabilities.

    If a miss costs as much as `miss_costs` false alarms, calling a row positive is cheaper once
    p × miss_costs exceeds 1 - p.

    Examples
    --------
    >>> cheapest_threshold(1), cheapest_threshold(4)
    (0.5, 0.2)
    """
    return 1 / (1 + miss_costs)
