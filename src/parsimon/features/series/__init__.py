"""Few readable features of series, found by a search over method trees.

Read `SeriesExtractor` first: it finds a handful of features that can be read aloud, as a front of
error, number of features and cost. A feature is a `MethodTree`: `parse_tree` and `read_tree` read
one, `tree_json` and `tree_xml` write it, `tree_words` says it, `tree_values` computes many at once
for the series of a `SeriesTable`, `plot_tree` draws one on a series, and `tree_cost` tells what
that costs.
"""

from parsimon.features.series.candidates import candidate_trees, cross_trees, mutate_tree
from parsimon.features.series.collections import fixed_features, rank_series, standard_set
from parsimon.features.series.cost import (
    dynamic_windowing_cost,
    measured_seconds,
    search_space_size,
    tree_cost,
    windowing_cost,
)
from parsimon.features.series.evaluate import SeriesTable, looked_at, tree_values
from parsimon.features.series.extractor import SeriesExtractor
from parsimon.features.series.series_model import (
    SeriesClassModel,
    SeriesForecastModel,
    SeriesMachineModel,
    SeriesModel,
    SeriesNumberModel,
)
from parsimon.features.series.tree_plot import plot_tree, tree_stages
from parsimon.features.series.tree_words import tree_words
from parsimon.features.series.trees import (
    MethodTree,
    TreeStep,
    parse_tree,
    read_tree,
    step,
    tree_json,
    tree_xml,
)

__all__ = [
    "MethodTree",
    "SeriesClassModel",
    "SeriesExtractor",
    "SeriesForecastModel",
    "SeriesMachineModel",
    "SeriesModel",
    "SeriesNumberModel",
    "SeriesTable",
    "TreeStep",
    "candidate_trees",
    "cross_trees",
    "dynamic_windowing_cost",
    "fixed_features",
    "looked_at",
    "measured_seconds",
    "mutate_tree",
    "parse_tree",
    "plot_tree",
    "rank_series",
    "read_tree",
    "search_space_size",
    "standard_set",
    "step",
    "tree_cost",
    "tree_json",
    "tree_stages",
    "tree_values",
    "tree_words",
    "tree_xml",
    "windowing_cost",
]
