"""What `analyse_traits` returns: findings, the fitted model, and files to read."""

import os
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from parsimon.phylo import AncestralStates, Tree
from parsimon.report.document import Document
from parsimon.report.phylogeny import TraitFindings
from parsimon.statistician.analysis import written


@dataclass(frozen=True, eq=False, kw_only=True)
class TraitAnalysis:
    """Everything that was found about a trait and its tree.

    Attributes
    ----------
    findings : TraitFindings
        Numbers and names, no sentences.
    model : Pipeline
        The model that leads the page, fitted: a StandardScaler, then `PhyRVM` or `PGLS`. Without
        features it is the tree alone, and takes a table with one column of zeros.
    tree : Tree
        Of the species that were used alone.
    ancestors : AncestralStates
        The target at every node of it.
    """

    findings: TraitFindings
    model: Any
    tree: Tree
    ancestors: AncestralStates

    @cached_property
    def document(self) -> Document:
        """The report as a tree of sections, sentences, tables and figures."""
        from parsimon.report.phylogeny import write

        return write(self.findings)

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as one page that needs nothing else, and return its path."""
        from parsimon.report.phylogeny import to_html

        return written(path, to_html(self.document, self.findings).encode())

    def to_pdf(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as PDF (extra ``pdf``), and return its path."""
        from parsimon.report.typst import to_pdf

        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "report.pdf"
            to_pdf(self.document, made, date=self.findings.run.date)
            return written(path, made.read_bytes())

    def to_json(self, path: str | os.PathLike[str]) -> Path:
        """Write the findings as data, and return the path."""
        from parsimon.report.phylogeny import to_json

        return written(path, to_json(self.findings).encode())

    def to_markdown(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as Markdown without pictures, and return its path."""
        from parsimon.report.markdown import to_markdown

        return written(path, to_markdown(self.document).encode())

    def __repr__(self) -> str:
        table = self.findings.table
        return f"TraitAnalysis of {table.name}: {table.target} of {table.n_measured} species"
