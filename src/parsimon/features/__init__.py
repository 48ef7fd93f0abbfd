"""Which columns are needed: as a front of error against number, and in tables with few rows.

Read `ParetoSelector` first: the front of any learner's error against the number of columns, exact
where all subsets can be tried; `selection_baselines` sets greedy searches and filters beside it.

For few rows and many columns read `StableSelector`: it selects in many random halves of the rows
and compares the counts with chance (`coincidence_chance`, `count_chance`, `false_selection_bound`,
`stability_index`). `FewColumnsClassifier` is what ranks the columns inside, as a classifier of its
own. `AucFrontSelector` searches for the front of AUC against complexity. `regression_screen` is the
baseline of the field, `fixed_models` judges columns that were named beforehand, and `label_noise`
asks what wrong labels would do.
"""

from parsimon.features._subsets import CommonalityCrossover
from parsimon.features.auc_front import AucFrontSelector
from parsimon.features.chance import (
    ChanceLevels,
    Stability,
    coincidence_chance,
    count_chance,
    false_selection_bound,
    stability_index,
)
from parsimon.features.few_columns import FewColumnsClassifier
from parsimon.features.fixed import FixedModels, fixed_models
from parsimon.features.labels import LabelNoise, label_noise
from parsimon.features.pareto_selector import ColumnSubset, ParetoSelector
from parsimon.features.screen import RegressionScreen, regression_screen
from parsimon.features.selection_baselines import selection_baselines
from parsimon.features.stable import ColumnGroup, StableSelector

__all__ = [
    "AucFrontSelector",
    "ChanceLevels",
    "ColumnGroup",
    "ColumnSubset",
    "CommonalityCrossover",
    "FewColumnsClassifier",
    "FixedModels",
    "LabelNoise",
    "ParetoSelector",
    "RegressionScreen",
    "Stability",
    "StableSelector",
    "coincidence_chance",
    "count_chance",
    "false_selection_bound",
    "fixed_models",
    "label_noise",
    "regression_screen",
    "selection_baselines",
    "stability_index",
]
