"""ROC curves: points, hull, areas, intervals, tests and what errors cost.

Read `roc_points` first: it says which rows count as positive (score > threshold) and gives the
curve that everything else measures. `auc` counts pairs, `auc_interval` says how sure that is,
`delong_test` compares two classifiers, `expected_cost` and `cheapest_threshold` put a price on
errors, and `RocDisplay` draws it all in one picture. `front_area` measures many classifiers at
once; `AucNull` and `bayes_roc` are the two ends of the scale: chance, and the best there can be.
"""

from parsimon.roc.area import area_under, auc, front_area, multiclass_auc, undominated_rates
from parsimon.roc.bayes import bayes_roc
from parsimon.roc.comparison import AucNull, delong_test, rank_sum_test
from parsimon.roc.costs import (
    cheapest_threshold,
    confusion_rates,
    expected_cost,
    iso_performance_slope,
)
from parsimon.roc.curve import roc_hull, roc_points
from parsimon.roc.display import RocDisplay
from parsimon.roc.intervals import AucInterval, auc_interval, roc_band

__all__ = [
    "AucInterval",
    "AucNull",
    "RocDisplay",
    "area_under",
    "auc",
    "auc_interval",
    "bayes_roc",
    "cheapest_threshold",
    "confusion_rates",
    "delong_test",
    "expected_cost",
    "front_area",
    "iso_performance_slope",
    "multiclass_auc",
    "rank_sum_test",
    "roc_band",
    "roc_hull",
    "roc_points",
    "undominated_rates",
]
