"""What `analyse` returns: findings, fronts, models, and files to read."""

import os
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from parsimon._typing import Array
from parsimon.pareto import Front, choose
from parsimon.pareto.choose import Rule
from parsimon.report.document import Document
from parsimon.report.findings import Findings, ReportFindings
from parsimon.statistician.answer import Answer, on_all_rows
from parsimon.statistician.table_model import TableModel


class Readable:
    """What an analysis of any kind shares: its report, written as files."""

    findings: ReportFindings

    @cached_property
    def document(self) -> Document:
        """The report as a tree of sections, sentences, tables and figures."""
        from parsimon.report.sections import write

        return write(self.findings)

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as one page that needs nothing else, and return its path."""
        from parsimon.report.html import to_html

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
        from parsimon.report.data import to_json

        return written(path, to_json(self.findings).encode())

    def to_markdown(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as Markdown without pictures, and return its path."""
        from parsimon.report.markdown import to_markdown

        return written(path, to_markdown(self.document).encode())


@dataclass(frozen=True, eq=False, kw_only=True)
class Analysis(Readable):
    """Everything that was found in a table.

    Attributes
    ----------
    findings : Findings
        Numbers and names, no sentences.
    answers : tuple of Answer
        The search and the model of each question.
    targets : tuple of ndarray of shape (n,)
        What each question predicts: 1 and 0, or numbers.
    classes : tuple of str
        In the order of the model's probabilities; empty for a number.
    target : str
        The column that is predicted.
    """

    findings: Findings
    answers: tuple[Answer, ...]
    targets: tuple[Array, ...]
    classes: tuple[str, ...]
    target: str

    @property
    def front(self) -> Front:
        """Error against number of base kernels, of the first question; see `fronts`."""
        return self.fronts[0]

    @property
    def fronts(self) -> tuple[Front, ...]:
        """One front for each question."""
        return tuple(found.search.front_ for found in self.answers)

    def model(self, rule: Rule = "best") -> TableModel:
        """Return a fitted model that takes tables as they are.

        Parameters
        ----------
        rule : str, int or callable
            "best" for the best structure of the search, or a rule that chooses from the front, as
            in `parsimon.pareto.choose`: "knee", "best:error", an index, ...

        Returns
        -------
        TableModel
        """
        first = self.answers[0]
        models = [
            self._fitted(found, y, rule)
            for found, y in zip(self.answers, self.targets, strict=True)
        ]
        return TableModel(first.preparer, first.screener, models, self.classes, self.target)

    def save(self, path: str | os.PathLike[str], rule: Rule = "best") -> Path:
        """Save a model for `parsimon predict` and `load_model`, and return its path."""
        from parsimon.statistician.saving import save_model

        save_model(self.model(rule), Path(path))
        return Path(path)

    def __repr__(self) -> str:
        table = self.findings.table
        found = "; ".join(study.model.words for study in self.findings.studies)
        return f"Analysis of {table.name}: {self.target} from {found}"

    def _fitted(self, found: Answer, y: Array, rule: Rule) -> object:
        if rule == "best":
            return found.model
        search = found.search
        place = choose(search.front_, rule)
        candidate = search.history_.cross_validated[int(search.front_.rows[place])]
        task = self.findings.table.task
        return on_all_rows(search, candidate, found.X, y, task, np.random.SeedSequence(0))


def written(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write a file as a whole or not at all."""
    target = Path(path)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as folder:
        staged = Path(folder) / target.name
        staged.write_bytes(content)
        staged.replace(target)
    return target
