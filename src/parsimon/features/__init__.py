"""Which columns are needed, and which formulas of them: always as a front.

Read `ParetoSelector` first: the front of any learner's error against the number of columns, exact
where all subsets can be tried.

For few rows and many columns read `StableSelector`: it selects in many random halves of the rows
and compares the counts with chance (`false_selection_bound`, `stability_index`).
`FewColumnsClassifier` is what ranks the columns inside, as a classifier of its own.
`regression_screen` is the baseline of the field, and `label_noise` asks what wrong labels would do.

`ParetoConstructor` finds formulas that predict, as a front of error against size, and
`quick_formulas` some of them without a search. They are made of `Expression` values: `parse` reads
them, `latex`, `python_source` and `in_words` write them, `bounds` tells how large they can become,
and `ColumnCache` computes each once.

Without a target, `ClusteringSelector` keeps the columns that form clear groups of rows, as a front
of clearness against the number of columns, and `FeatureAggregator` joins columns as well.

`FeatureTransfer` takes features from earlier tasks, which a `CaseBase` keeps as weights of columns
and formulas, never rows; `describe_task` makes such a `Case`.
"""

from parsimon.features._subset_search import CommonalityCrossover
from parsimon.features.case_base import CaseBase, Neighbour
from parsimon.features.case_recall import CaseRecall
from parsimon.features.chance import ChanceLevels, Stability, false_selection_bound, stability_index
from parsimon.features.clustering_selector import ClusteringSelector
from parsimon.features.column_values import ColumnCache, ValueRange, bounds
from parsimon.features.constructor import ParetoConstructor
from parsimon.features.expressions import Expression, apply
from parsimon.features.feature_aggregator import ColumnMaxima, FeatureAggregator
from parsimon.features.formula_model import ClassificationFormula, LearnerFormula, RegressionFormula
from parsimon.features.formulas import in_words, latex, parse, python_source
from parsimon.features.labels import LabelNoise, label_noise
from parsimon.features.learning_tasks import (
    Case,
    ColumnMatch,
    describe_task,
    feature_set_distance,
    match_columns,
    product_weights,
    task_weights,
)
from parsimon.features.operations import OwnFunction
from parsimon.features.pareto_selector import ColumnSubset, ParetoSelector
from parsimon.features.quick_formulas import quick_formulas
from parsimon.features.screen import FewColumnsClassifier, RegressionScreen, regression_screen
from parsimon.features.stable import ColumnGroup, StableSelector
from parsimon.features.transfer import FeatureTransfer

__all__ = [
    "Case",
    "CaseBase",
    "CaseRecall",
    "ChanceLevels",
    "ClassificationFormula",
    "ClusteringSelector",
    "ColumnCache",
    "ColumnGroup",
    "ColumnMatch",
    "ColumnMaxima",
    "ColumnSubset",
    "CommonalityCrossover",
    "Expression",
    "FeatureAggregator",
    "FeatureTransfer",
    "FewColumnsClassifier",
    "LabelNoise",
    "LearnerFormula",
    "Neighbour",
    "OwnFunction",
    "ParetoConstructor",
    "ParetoSelector",
    "RegressionFormula",
    "RegressionScreen",
    "Stability",
    "StableSelector",
    "ValueRange",
    "apply",
    "bounds",
    "describe_task",
    "false_selection_bound",
    "feature_set_distance",
    "in_words",
    "label_noise",
    "latex",
    "match_columns",
    "parse",
    "product_weights",
    "python_source",
    "quick_formulas",
    "regression_screen",
    "stability_index",
    "task_weights",
]
