"""From a table to findings: prepares, searches, measures, and collects what a report says.

`analyse` does all of it; the `Analysis` that it returns writes reports and gives models, which
`save_model` and `load_model` keep without running code. `analyse_traits` does the same for a trait
of related species and their tree.
"""

from parsimon.statistician.analyse import analyse
from parsimon.statistician.analysis import Analysis
from parsimon.statistician.phylogeny import TraitAnalysis, analyse_traits
from parsimon.statistician.saving import load_model, save_model
from parsimon.statistician.table_model import TableModel

__all__ = [
    "Analysis",
    "TableModel",
    "TraitAnalysis",
    "analyse",
    "analyse_traits",
    "load_model",
    "save_model",
]
