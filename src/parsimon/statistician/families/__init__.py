"""Families of models behind one seam; a new family is a module here and its own package.

Read `ModelFamily` first: `GaussianProcesses` in `gp` and `Phylogeny` in `phylo` are the examples.
Each adapter is imported where it is used, so that a report loads no family that it does not ask.
"""

from parsimon.statistician.families._family import (
    Description,
    FamilyResult,
    ModelCandidate,
    ModelFamily,
    OwnPredictions,
    Prediction,
    Question,
    predicted,
)
from parsimon.statistician.families._size import (
    ModelSize,
    columns_of,
    model_size,
    size_of_numbers,
    together,
)

__all__ = [
    "Description",
    "FamilyResult",
    "ModelCandidate",
    "ModelFamily",
    "ModelSize",
    "OwnPredictions",
    "Prediction",
    "Question",
    "columns_of",
    "model_size",
    "predicted",
    "size_of_numbers",
    "together",
]
