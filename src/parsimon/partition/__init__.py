"""Ways to split a table: halves at random, and parts that look alike."""

from parsimon.partition.halves import random_halves
from parsimon.partition.homogeneous import (
    METRICS,
    MetricName,
    homogeneous_partition,
    nearest_neighbour_walk,
)
from parsimon.partition.labels import class_rows, complete_vector

__all__ = [
    "METRICS",
    "MetricName",
    "class_rows",
    "complete_vector",
    "homogeneous_partition",
    "nearest_neighbour_walk",
    "random_halves",
]
