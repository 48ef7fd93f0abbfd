"""What `analyse_traits` returns: findings, the fitted model, and files to read."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parsimon.phylo import Tree
from parsimon.phylo.ancestors import AncestralStates
from parsimon.report.document import Document
from parsimon.report.phylogeny import TraitFindings
from parsimon.statistician.analysis import Readable

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, kw_only=True)
class TraitAnalysis(Readable):
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
    measured : Series of shape (n_measured,)
        The target of all species that have one, by tip name.
    X, y : DataFrame of shape (n, d), Series of shape (n,)
        Species with a target and all features, by tip name: what the model was fitted to.
    """

    findings: TraitFindings
    model: Any
    tree: Tree
    ancestors: AncestralStates
    measured: "pd.Series[float]"
    X: "pd.DataFrame"
    y: "pd.Series[float]"

    def _document(self) -> Document:
        from parsimon.report.phylogeny import write

        return write(self.findings)

    def _page(self) -> str:
        from parsimon.report.phylogeny import to_html

        return to_html(self.document, self.findings)

    def _data(self) -> str:
        from parsimon.report.phylogeny import to_json

        return to_json(self.findings)

    def __repr__(self) -> str:
        table = self.findings.table
        return f"TraitAnalysis of {table.name}: {table.target} of {table.n_measured} species"
