"""Findings about a trait as data: JSON for other programs."""

from parsimon.report.data import as_text
from parsimon.report.phylogeny.findings import TraitFindings

FORMAT, FORMAT_VERSION = "parsimon-trait-findings", 1


def to_json(findings: TraitFindings, *, pictures: bool = False) -> str:
    """Return findings as JSON text.

    The text is one object with the fields of `TraitFindings`, in their order, after ``format`` and
    ``format_version``; all else is as in `parsimon.report.data.to_json`.
    """
    return as_text(FORMAT, FORMAT_VERSION, findings, pictures=pictures)
