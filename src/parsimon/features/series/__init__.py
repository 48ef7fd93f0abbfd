"""Few readable features of series, found by a search over method trees."""

from parsimon.features.series.cost import (
    dynamic_windowing_cost,
    measured_seconds,
    search_space_size,
    tree_cost,
    windowing_cost,
)
from parsimon.features.series.evaluate import SeriesTable, looked_at, tree_values
from parsimon.features.series.trees import (
    MethodTree,
    TreeStep,
    parse_tree,
    read_tree,
    step,
    tree_json,
    tree_xml,
)
from parsimon.features.series.words import tree_words

__all__ = [
    "MethodTree",
    "SeriesTable",
    "TreeStep",
    "dynamic_windowing_cost",
    "looked_at",
    "measured_seconds",
    "parse_tree",
    "read_tree",
    "search_space_size",
    "step",
    "tree_cost",
    "tree_json",
    "tree_values",
    "tree_words",
    "tree_xml",
    "windowing_cost",
]
