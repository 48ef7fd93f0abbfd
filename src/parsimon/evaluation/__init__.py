"""Numbers to trust: folds that are alike, estimates that no search has seen, tests that own up.

Read `honest_score` first: it runs a whole search inside each outer training part and scores it on
rows that the search never saw. `HomogeneousKFold`, `StratifiedHalves` and, for rows in time,
`BackTest` are scikit-learn splitters; `corrected_t`, `wilcoxon_signed_rank`, `mann_whitney` and
`anova` say whether methods differ, and what that rests on; `permutation_gain` says what each column
is worth in company.
"""

from parsimon.evaluation._honest_result import HonestScore, corrected_t_interval
from parsimon.evaluation.compare import (
    Comparison,
    anova,
    corrected_t,
    holm,
    mann_whitney,
    pairwise,
    wilcoxon_signed_rank,
)
from parsimon.evaluation.folds import BackTest, HomogeneousKFold, StratifiedHalves
from parsimon.evaluation.honest import honest_score
from parsimon.evaluation.importance import ColumnGain, permutation_gain

__all__ = [
    "BackTest",
    "ColumnGain",
    "Comparison",
    "HomogeneousKFold",
    "HonestScore",
    "StratifiedHalves",
    "anova",
    "corrected_t",
    "corrected_t_interval",
    "holm",
    "honest_score",
    "mann_whitney",
    "pairwise",
    "permutation_gain",
    "wilcoxon_signed_rank",
]
