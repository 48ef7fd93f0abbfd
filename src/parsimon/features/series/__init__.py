"""Few readable features of series, found by a search over method trees.

Read `SeriesExtractor` first: it finds a handful of features that can be read aloud, as a front of
error, number of features and cost. A feature is a `MethodTree`: `parse_tree` reads one,
`tree_words` says it, `tree_values` computes many at once for the series of a `SeriesTable`,
`plot_tree` draws one on a series, and `tree_cost` tells what that costs.
"""

from parsimon.features.series.evaluate import SeriesTable, looked_at, tree_cost, tree_values
from parsimon.features.series.extractor import SeriesExtractor
from parsimon.features.series.series_model import (
    SeriesClassModel,
    SeriesForecastModel,
    SeriesModel,
    SeriesNumberModel,
    fixed_features,
    standard_set,
)
from parsimon.features.series.tree_display import plot_tree, tree_stages, tree_words
from parsimon.features.series.tree_search import candidate_trees, cross_trees, mutate_tree
from parsimon.features.series.trees import MethodTree, TreeStep, parse_tree, step

__all__ = [
    "MethodTree",
    "SeriesClassModel",
    "SeriesExtractor",
    "SeriesForecastModel",
    "SeriesModel",
    "SeriesNumberModel",
    "SeriesTable",
    "TreeStep",
    "candidate_trees",
    "cross_trees",
    "fixed_features",
    "looked_at",
    "mutate_tree",
    "parse_tree",
    "plot_tree",
    "standard_set",
    "step",
    "tree_cost",
    "tree_stages",
    "tree_values",
    "tree_words",
]
