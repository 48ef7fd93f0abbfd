"""A trait and its tree: what was found, as values, sentences, pictures, a page and data."""

from parsimon.report.phylogeny.data import to_json
from parsimon.report.phylogeny.findings import (
    Ancestor,
    CladeError,
    Coefficient,
    Feature,
    Judged,
    LambdaCurve,
    LeftOut,
    ModelName,
    PglsFinding,
    PhyRvmFinding,
    RootFinding,
    SignalFinding,
    SpeciesFinding,
    TraitFindings,
    TraitTable,
    Weight,
)
from parsimon.report.phylogeny.page import to_html
from parsimon.report.phylogeny.writing import summary_lines, write

__all__ = [
    "Ancestor",
    "CladeError",
    "Coefficient",
    "Feature",
    "Judged",
    "LambdaCurve",
    "LeftOut",
    "ModelName",
    "PglsFinding",
    "PhyRvmFinding",
    "RootFinding",
    "SignalFinding",
    "SpeciesFinding",
    "TraitFindings",
    "TraitTable",
    "Weight",
    "summary_lines",
    "to_html",
    "to_json",
    "write",
]
