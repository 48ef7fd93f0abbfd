"""Families of models behind one seam; a new family is a value in a module here.

Read `family.Family` and `family.Fitted` first: `plain` has families of ten lines, `kernel_search`
one that searches and has a section of its own; `registered` is the table of their names.
"""

from parsimon.statistician.families._size import (
    ModelSize,
    model_size,
    size_of_numbers,
    total_size,
)
from parsimon.statistician.families.family import (
    Family,
    Fitted,
    OwnPredictions,
    Prediction,
    Question,
    Setting,
    predicted,
)

__all__ = [
    "Family",
    "Fitted",
    "ModelSize",
    "OwnPredictions",
    "Prediction",
    "Question",
    "Setting",
    "model_size",
    "predicted",
    "size_of_numbers",
    "total_size",
]
