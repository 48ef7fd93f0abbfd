"""What was found, as values: numbers and names, no sentences.

`Findings` holds one `Study` for each question that a table raises: one for two classes or a number,
one for each class against the rest otherwise. Whoever writes (pages, data, the terminal) reads
these and nothing else. Shares and probabilities are between 0 and 1, rows are counted from 1 as a
person counts them below a table's header.
"""

from parsimon.report.findings.models import Interval, Model, Roc
from parsimon.report.findings.structure import (
    Band,
    ComponentFinding,
    InteractionFinding,
    Shape,
    VariableFinding,
)
from parsimon.report.findings.study import Findings, Picture, Run, SearchFindings, Study
from parsimon.report.findings.table import TableFindings, Task, Treatment, TreatmentKind, Variable
from parsimon.report.findings.trust import (
    CalibrationBin,
    Checks,
    Honest,
    Joint,
    OuterFold,
    RowFinding,
)

__all__ = [
    "Band",
    "CalibrationBin",
    "Checks",
    "ComponentFinding",
    "Findings",
    "Honest",
    "InteractionFinding",
    "Interval",
    "Joint",
    "Model",
    "OuterFold",
    "Picture",
    "Roc",
    "RowFinding",
    "Run",
    "SearchFindings",
    "Shape",
    "Study",
    "TableFindings",
    "Task",
    "Treatment",
    "TreatmentKind",
    "Variable",
    "VariableFinding",
]
