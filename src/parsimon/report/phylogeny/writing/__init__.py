"""From findings about a trait to a document: every sentence of the page."""

from collections.abc import Iterator

from parsimon.report.document import Document, Section
from parsimon.report.phylogeny.findings import TraitFindings
from parsimon.report.phylogeny.writing.ancestors import ancestors_section
from parsimon.report.phylogeny.writing.error import error_section
from parsimon.report.phylogeny.writing.front_page import facts, lead, subtitle, title
from parsimon.report.phylogeny.writing.methods import in_python, methods, references
from parsimon.report.phylogeny.writing.models import features_section
from parsimon.report.phylogeny.writing.predictions import predictions_section
from parsimon.report.phylogeny.writing.signal import signal_section
from parsimon.report.phylogeny.writing.summary import summary
from parsimon.report.phylogeny.writing.terminal import summary_lines

__all__ = ["summary_lines", "write"]


def write(findings: TraitFindings) -> Document:
    """Write the report."""
    return Document(
        title=title(findings),
        subtitle=subtitle(findings),
        facts=facts(findings),
        lead=lead(findings),
        sections=tuple(_sections(findings)),
        references=references(findings),
    )


def _sections(findings: TraitFindings) -> Iterator[Section]:
    yield summary(findings)
    yield signal_section(findings)
    if findings.phyrvm is not None:
        yield features_section(findings)
    yield error_section(findings)
    yield ancestors_section(findings)
    if findings.predictions:
        yield predictions_section(findings)
    yield in_python(findings)
    yield methods(findings)
