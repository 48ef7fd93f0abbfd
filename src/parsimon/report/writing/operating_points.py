"""What happens at a threshold: rows found, false alarms, and which threshold costs ask for."""

from dataclasses import dataclass

from parsimon.report.findings import Roc


@dataclass(frozen=True, kw_only=True)
class OperatingPoint:
    """What calling rows positive from a threshold on does.

    threshold: The least probability that is called positive.
    found, missed, false_alarms, passed: Rows: positive and called so, positive and not,
        negative and called positive, and not.
    """

    threshold: float
    found: int
    missed: int
    false_alarms: int
    passed: int


def operating_point(roc: Roc, threshold: float) -> OperatingPoint:
    """Return the point of a curve whose threshold is nearest."""
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
    """
    return 1 / (1 + miss_costs)
