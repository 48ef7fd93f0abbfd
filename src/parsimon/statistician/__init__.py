"""From a table to findings: prepares, searches, measures, and collects what a report says.

`analyse` does all of it; the `Analysis` that it returns writes reports and gives models, which
`save_model` and `load_model` keep without running code.
"""

from parsimon.statistician.analyse import analyse
from parsimon.statistician.analysis import Analysis
from parsimon.statistician.saving import load_model, save_model
from parsimon.statistician.table_model import TableModel

__all__ = ["Analysis", "TableModel", "analyse", "load_model", "save_model"]
