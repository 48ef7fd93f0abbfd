"""Reports: findings are values, sections write them as one document, and a document becomes files.

Read `findings` first, then `sections` (what is said), `figures` (what is drawn), `document` (the
tree of blocks) and its setters `html`, `typst` and `markdown`; `data` writes findings as JSON.
"""

import os
from functools import cached_property
from pathlib import Path

from parsimon._checks import shorten
from parsimon._writing import write_file
from parsimon.exceptions import InvalidInputError
from parsimon.report.document import Document
from parsimon.report.findings import Picture, ReportFindings
from parsimon.report.notebook import analysis_block, findings_tables

__all__ = ["Readable", "check_pdf", "findings_tables"]


class Readable:
    """What an analysis of any kind shares: its report, written as files."""

    findings: ReportFindings

    @cached_property
    def document(self) -> Document:
        """The report as a tree of sections, sentences, tables and figures."""
        from parsimon.report.sections import write

        return write(self.findings)

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of all figures, for `figure`."""
        return tuple(one.name for one in self.findings.pictures)

    def figure(self, name: str) -> Picture:
        """Return a figure, which a notebook shows with its caption; `svg` is the drawing.

        Parameters
        ----------
        name : str
            One of `figures`.
        """
        found = self.findings.picture(name)
        if found is None:
            known = shorten(list(self.figures), 12)
            raise InvalidInputError(f"No figure is called {name!r}; there are {known}.")
        return found

    def _repr_html_(self) -> str:
        return analysis_block(self.findings, self.document.title)

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as one page that needs nothing else, and return its path."""
        from parsimon.report.html import to_html

        return write_file(path, to_html(self.document, self.findings))

    def to_pdf(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as PDF (extra ``pdf``), and return its path."""
        from parsimon.report.typst import to_pdf

        to_pdf(self.document, path, date=self.findings.run.date)
        return Path(path)

    def to_json(self, path: str | os.PathLike[str]) -> Path:
        """Write the findings as data, and return the path."""
        from parsimon.report.data import to_json

        return write_file(path, to_json(self.findings))

    def to_markdown(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as Markdown without pictures, and return its path."""
        from parsimon.report.markdown import to_markdown

        return write_file(path, to_markdown(self.document))


def check_pdf() -> None:
    """Say in one sentence if PDFs cannot be made here, before anything long begins."""
    from parsimon.report.typst import check_typst

    check_typst()
