"""What `analyse` returns: findings, fronts, models, and files to read."""

import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from parsimon._checks import shorten
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Front, choose
from parsimon.pareto.choose import Rule
from parsimon.report import Readable, findings_tables
from parsimon.report.findings import Findings, ModelComparison
from parsimon.statistician.families.kernel_search import KERNEL_SEARCH
from parsimon.statistician.final_fits import FinalFits
from parsimon.statistician.measure import size_front
from parsimon.statistician.table_model import TableModel, as_table_model
from parsimon.structures.claims import Claim

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.statistician.families.gp._kernel_fit import KernelAnswer, KernelFit


@dataclass(frozen=True, eq=False, kw_only=True)
class Analysis(Readable):
    """Everything that was found in a table.

    Attributes
    ----------
    findings : Findings
        Numbers and names, no sentences.
    fits : FinalFits
        What was searched in the table, and how any model is fitted to all rows.
    fitted_model : TableModel or None
        The recommended model, if it was fitted already.
    """

    findings: Findings
    fits: FinalFits
    fitted_model: TableModel | None = None

    @property
    def search(self) -> "KernelFit":
        """What the search over kernels found, for each question."""
        found = self.fits.whole.get(KERNEL_SEARCH.name)
        if found is None:
            raise InvalidInputError(
                'No kernels were searched; ask for them with families="gp" or "all".'
            )
        return cast("KernelFit", found)

    @property
    def classes(self) -> tuple[str, ...]:
        """In the order of the model's probabilities; empty for a number."""
        return self.fits.classes

    @property
    def target(self) -> str:
        """The column that is predicted."""
        return self.fits.target

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What the rows support, with a probability: variables, interactions and shapes.

        Those that are beyond doubt are `certain`, the others are suggestions.
        """
        return self.findings.claims

    @property
    def tables(self) -> dict[str, "pd.DataFrame"]:
        """What was found as data frames: "claims", "variables", "front", and "models" if compared.

        With several classes, `positive` says which one a row of variables or of the front is about.
        """
        return findings_tables(self.findings)

    @property
    def front(self) -> Front:
        """Error against size of the kernels searched for the first question; see `fronts`."""
        return self.fronts[0]

    @property
    def fronts(self) -> tuple[Front, ...]:
        """One front for each question; its solutions are models fitted to all rows.

        The errors are those of the folds that may have guided the search, so they are optimistic.
        """
        return tuple(
            size_front(answer.result.candidates, _Fitter(answer)) for answer in self.search.answers
        )

    @property
    def comparison(self) -> ModelComparison | None:
        """All models on the same outer folds, the best first; None without outer folds."""
        return self.findings.comparison

    @property
    def front_of_models(self) -> Front:
        """Honest error against bits, of all models that answered; solutions are fitted models."""
        if self.comparison is None:
            raise InvalidInputError("No models were compared, since there were no outer folds.")
        models = self.comparison.models
        values = [[one.error.estimate, one.size] for one in models]
        return Front(values, ["error", "bits"], solutions=_ModelOf(self), ties="first")

    @cached_property
    def recommended(self) -> TableModel:
        """The simplest model that is probably not much worse than the best, fitted to all rows.

        Without a comparison it is what the search over kernels found, or the first model asked.
        """
        if self.fitted_model is not None:
            return self.fitted_model
        if self.comparison is None:
            return self.fits.demanded(self.fits.first, None)
        return self.fitted(self.comparison.recommended.name)

    def fitted(self, name: str) -> TableModel:
        """Return one of the models that were compared, fitted to all rows.

        Parameters
        ----------
        name : str
            As `comparison` has it: "linear model", "random forest", ...; or its key: "forest".
        """
        models = () if self.comparison is None else self.comparison.models
        found = next((one for one in models if name in (one.name, one.key)), None)
        if found is None:
            known = shorten([one.name for one in models], 12)
            raise InvalidInputError(f"No model is called {name!r}; there are {known}.")
        return self.fits.demanded(found.name, found)

    @property
    def targets(self) -> tuple[Array, ...]:
        """What each question predicts: 1 and 0, or numbers."""
        return tuple(one.y for one in self.fits.questions)

    def model(self, rule: Rule = "recommended") -> TableModel:
        """Return a fitted model that takes tables as they are.

        Parameters
        ----------
        rule : str, int or callable
            "recommended" for the model to use, "best" for what the search over kernels chose, or a
            rule that chooses from the front of that search, as in `parsimon.pareto.choose`: "knee",
            "best:error", an index, ...

        Returns
        -------
        TableModel
        """
        if rule == "recommended":
            return self.recommended
        search = self.search
        if rule != "best":
            models = tuple(front.solution(choose(front, rule)) for front in self.fronts)
            search = replace(search, models=models)
        return as_table_model(search, classes=self.classes)

    def save(self, path: str | os.PathLike[str], rule: Rule = "recommended") -> Path:
        """Save a model for `parsimon predict` and `load_model`, and return its path."""
        from parsimon.statistician.saving import save_model

        save_model(self.model(rule), Path(path))
        return Path(path)

    def __repr__(self) -> str:
        table = self.findings.table
        found = "; ".join(one.model.words for one in self.findings.studies if one.search)
        return f"Analysis of {table.name}: {self.target} from {found or 'models without a search'}"


@dataclass(frozen=True, eq=False)
class _ModelOf:
    """Fits the model of a row of the comparison; a value, so that fronts can be pickled."""

    analysis: Analysis

    def __call__(self, row: int) -> Any:
        comparison = self.analysis.comparison
        assert comparison is not None
        return self.analysis.fitted(comparison.models[row].name)


@dataclass(frozen=True, eq=False)
class _Fitter:
    """Fits the candidate of a front's row to all rows; a value, so that fronts can be pickled."""

    answer: "KernelAnswer"

    def __call__(self, row: int) -> Any:
        return self.answer.fit(self.answer.result.candidates[row], np.random.SeedSequence(0))
