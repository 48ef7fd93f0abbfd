"""Numbers to trust: folds that are alike, estimates that no search has seen, tests that own up.

Read `honest_score` first: it runs a whole search inside each outer training part and scores it on
rows that the search never saw. `HomogeneousKFold` and `StratifiedHalves` are scikit-learn
splitters; `corrected_t`, `wilcoxon_signed_rank`, `mann_whitney` and `anova` say whether methods
differ, and what that rests on.
"""

from parsimon.evaluation.comparison import Comparison
from parsimon.evaluation.halves import StratifiedHalves
from parsimon.evaluation.homogeneous import HomogeneousKFold
from parsimon.evaluation.honest import honest_score
from parsimon.evaluation.intervals import bootstrap_interval, corrected_t_interval
from parsimon.evaluation.mean_tests import anova, corrected_t
from parsimon.evaluation.multiple import holm, pairwise
from parsimon.evaluation.rank_tests import mann_whitney, wilcoxon_signed_rank
from parsimon.evaluation.result import Fold, HonestScore
from parsimon.partition import homogeneous_partition, nearest_neighbour_walk

__all__ = [
    "Comparison",
    "Fold",
    "HomogeneousKFold",
    "HonestScore",
    "StratifiedHalves",
    "anova",
    "bootstrap_interval",
    "corrected_t",
    "corrected_t_interval",
    "holm",
    "homogeneous_partition",
    "honest_score",
    "mann_whitney",
    "nearest_neighbour_walk",
    "pairwise",
    "wilcoxon_signed_rank",
]
