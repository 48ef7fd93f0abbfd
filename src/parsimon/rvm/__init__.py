"""Relevance vector machines, and fronts of true positives, false alarms and model size.

`RVC` and `RVR` are single machines of maximum evidence; `ParetoRVC` keeps every machine that no
other beats in true positives, false positives and complexity.
"""

from parsimon.rvm.classifier import RVC
from parsimon.rvm.pareto import ParetoRVC
from parsimon.rvm.regressor import RVR

__all__ = ["RVC", "RVR", "ParetoRVC"]
