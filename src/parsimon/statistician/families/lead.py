"""Any contender as the family that leads a report: it answers each question, against guessing."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._typing import Array
from parsimon.report.findings import SearchFindings, Task
from parsimon.statistician.families import (
    FamilyResult,
    ModelCandidate,
    ModelFamily,
    Question,
    model_size,
    predicted,
)
from parsimon.statistician.families.contenders import GUESSING, Contender, Setting

if TYPE_CHECKING:
    import pandas as pd

_FOLDS = 3


@dataclass(frozen=True, eq=False)
class ContenderCandidate(ModelCandidate):
    """A contender, fitted to the rows of a question, with its error on folds of its own."""

    contender: Contender
    question: Question
    fitted: Any
    own_error: float

    @property
    def words(self) -> str:
        """What it is and how many variables it uses."""
        if self.contender is GUESSING:
            return "a constant"
        n = len(self.variables)
        return f"a {self.contender.name} of {n} {'variable' if n == 1 else 'variables'}"

    @cached_property
    def _size(self) -> Any:
        X = self.question.X
        return model_size(self.fitted, n_rows=len(X), n_columns=X.shape[1])

    @property
    def size(self) -> float:
        """Bits that it takes to write it down; guessing is where sizes begin."""
        return 0.0 if self.contender is GUESSING else float(round(self._size.bits))

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that it uses."""
        names = self.question.names
        return tuple(names[place] for place in self._size.used if place < len(names))

    @property
    def error(self) -> float:
        """Its error on its own folds."""
        return self.own_error

    def fit(self, X: "pd.DataFrame", y: Any, seed: np.random.SeedSequence) -> Any:
        """Return the same kind of model fitted to rows; shapes X (n, d), y (n,)."""
        return self.contender.fit(X, y, self.question.task, seed)


@dataclass(frozen=True, eq=False, kw_only=True)
class ContenderResult(FamilyResult):
    """A contender's answer, beside guessing."""

    guess: ContenderCandidate
    found: ContenderCandidate

    @property
    def candidates(self) -> Sequence[ModelCandidate]:
        """Guessing and the model."""
        return (self.guess, self.found)

    @property
    def structure_found(self) -> bool:
        """Whether the model has fewer errors than guessing."""
        return self.found.error < self.guess.error and bool(self.found.variables)

    @property
    def chosen(self) -> ModelCandidate:
        """The model; guessing if it is no better."""
        return self.found if self.structure_found else self.guess

    @property
    def model(self) -> Any:
        """What was chosen, fitted to the rows of the question."""
        return self.found.fitted if self.structure_found else self.guess.fitted

    def search_findings(self) -> SearchFindings:
        """Return that one model was asked."""
        return SearchFindings(
            family=self.found.contender.name,
            unit="bit",
            unit_help="Bits that it takes to write the model down.",
            n_candidates=2,
            n_cross_validated=2,
            guide="cv_error",
            n_folds=_FOLDS,
            stopped_by="exhausted",
            n_rows=len(self.question.y),
        )


@dataclass(frozen=True)
class ContenderFamily(ModelFamily):
    """A contender that leads."""

    contender: Contender

    @property
    def name(self) -> str:  # type: ignore[override]
        """The contender's name."""
        return self.contender.name

    def search(
        self, question: Question, *, seed: np.random.SeedSequence, time_limit: float | None = None
    ) -> ContenderResult:
        """Fit the contender and guessing, and measure both on folds."""
        del time_limit
        folding, fitting = seed.spawn(2)
        guess, found = (
            ContenderCandidate(
                one,
                question,
                one.fit(question.X, question.y, question.task, fitting),
                _own_error(one, question, folding),
            )
            for one in (GUESSING, self.contender)
        )
        return ContenderResult(question=question, guess=guess, found=found)


def _own_error(contender: Contender, question: Question, seed: np.random.SeedSequence) -> float:
    """Return the share of wrong rows, or of the variance, on a few folds."""
    from sklearn.model_selection import KFold, StratifiedKFold

    X, y = question.X, np.asarray(question.y, dtype=np.float64)
    setting = Setting.of(X, y, question.task, seed)
    n_folds = min(_FOLDS, setting.n_folds)
    if n_folds < 2:
        return float("nan")
    folding: Any = KFold if question.is_number else StratifiedKFold
    folds = folding(n_folds, shuffle=True, random_state=setting.seed)
    values = np.empty(len(y))
    for train, test in folds.split(X, y):
        model = contender.fit(X.iloc[train], y[train], question.task, seed)
        values[test] = predicted(model, X.iloc[test])
    return _error(y, values, question.task)


def _error(y: Array, values: Array, task: Task) -> float:
    if task == "classification":
        return float(np.mean((values >= 0.5) != (y == 1)))
    return float(np.mean((y - values) ** 2) / (np.var(y) or 1.0))
