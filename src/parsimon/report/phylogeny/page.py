"""A document about a trait as one page of HTML."""

from parsimon.report import html
from parsimon.report.document import Document
from parsimon.report.findings import Findings, TableFindings
from parsimon.report.phylogeny.findings import TraitFindings


def to_html(document: Document, findings: TraitFindings) -> str:
    """Return the page, as `parsimon.report.html.to_html` makes it; it has no explorers."""
    table = findings.table
    without_studies = Findings(
        table=TableFindings(
            name=table.name,
            n_rows=table.n_rows,
            n_rows_used=table.n_fitted,
            n_columns=table.n_columns,
            n_missing=0,
            target=table.target,
            task="regression",
        ),
        studies=(),
        run=findings.run,
    )
    return html.to_html(document, without_studies)
