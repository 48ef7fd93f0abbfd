"""The model that is kept: fitted to all rows, and refused where it contradicts its own folds.

A fit can fail without a word: an optimiser ends where noise explains everything, and the model is
a constant. Yet on the rows that it was fitted to, a sound model does no worse than its like did on
rows that they had never seen. `FinalFits.sound` asks that of every family, and fits once more, from
other starts, what does not pass; `settle` then recommends another model, and says why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from parsimon._typing import Array
from parsimon.evaluation.row_intervals import difference_bounds
from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import ComparedModel, ModelComparison, Picture
from parsimon.statistician.asked_table import ReadTable
from parsimon.statistician.comparison import (
    comparison_picture,
    fitted_contender,
    recommended_of,
    row_surprise,
)
from parsimon.statistician.families import Question
from parsimon.statistician.families.contender import Contender
from parsimon.statistician.families.contenders import GUESSING, KERNEL_SEARCH
from parsimon.statistician.families.gp import GaussianProcesses, KernelResult
from parsimon.statistician.fold_answers import FoldAnswers
from parsimon.statistician.question import Answer, run_searches
from parsimon.statistician.table_model import TableModel

# Keeps the seeds of final fits apart from those of an analysis.
_FITTING = 4
# Fits before a model is refused.
_ATTEMPTS = 2
# A loss on a model's own rows that surely exceeds the honest one by this share is no chance: fits
# to samples of many rows differ by a few percent.
_WORSE = 0.1
# Rows that are asked for, of many.
_MOST_ROWS = 5000
_REFUSED = (
    "fitted to all rows it predicts these very rows worse than it predicted rows that it had "
    "never seen, so that its fit has failed"
)


def final_seed(seed: int, attempt: int = 0) -> np.random.SeedSequence:
    """Return the seed of all fits to all rows, so that each comes out the same wherever it is."""
    return np.random.SeedSequence([seed, _FITTING, *([attempt] if attempt else [])])


@dataclass(frozen=True, eq=False, kw_only=True)
class FinalFits:
    """Fits what was compared to all rows of a table, by the procedure that the folds measured.

    answers: Of the family that leads; none if no family was searched.
    classes: In the order of probabilities; empty for a number.
    kernels: The search over kernels where it is compared beside another family that leads.
    """

    questions: tuple[Question, ...]
    answers: tuple[Answer, ...]
    contenders: tuple[Contender, ...]
    classes: tuple[str, ...]
    target: str
    seed: int
    kernels: GaussianProcesses | None = None

    @classmethod
    def of(
        cls,
        asked: ReadTable,
        answers: Sequence[Answer],
        contenders: Sequence[Contender],
        seed: int,
        kernels: GaussianProcesses | None = None,
    ) -> "FinalFits":
        """Take the table from what was asked of it."""
        return cls(
            questions=asked.questions,
            answers=tuple(answers),
            contenders=tuple(contenders),
            classes=() if asked.questions[0].is_number else asked.class_names,
            target=asked.target,
            seed=int(seed),
            kernels=kernels,
        )

    def sound(self, name: str, row: ComparedModel | None) -> TableModel | None:
        """Return a model that agrees with its `row` of the comparison; None if no fit of it does.

        Without a row there is nothing that it could contradict.
        """
        for attempt in range(_ATTEMPTS):
            model = self._fit(name, row, attempt)
            if row is None or not contradicts(model, self.questions[0], row):
                return model
        return None

    def demanded(self, name: str, row: ComparedModel | None) -> TableModel:
        """Return a sound model, or say that there is none."""
        model = self.sound(name, row)
        if model is None:
            raise InvalidInputError(f"The {name} cannot be used: {_REFUSED}. Choose another model.")
        return model

    def table_model(self, answers: Sequence[Answer], models: Sequence[Any]) -> TableModel:
        """Return models of answers as one that takes tables as they are."""
        first = answers[0]
        made = TableModel(first.preparer, first.screener, models, self.classes, self.target)
        return made.having_seen(first.question.X)

    def _fit(self, name: str, row: ComparedModel | None, attempt: int) -> TableModel:
        seed = final_seed(self.seed, attempt)
        contender = next((one for one in self.contenders if one.name == name), None)
        if contender is not None:
            question = self.questions[0]
            return fitted_contender(contender, question, seed, classes=self.classes, row=row)
        answers: Sequence[Answer] = self.answers
        leads = bool(answers) and isinstance(answers[0].result, KernelResult)
        if name == KERNEL_SEARCH.name and self.kernels is not None and not leads:
            answers, _ = run_searches(self.kernels, self.questions, [], seed)
        models = [one.model if attempt == 0 else _refit(one, seed) for one in answers]
        made = self.table_model(answers, models)
        made.slope = 1.0 if row is None else row.slope
        return made


def _refit(answer: Answer, seed: np.random.SeedSequence) -> Any:
    return answer.result.chosen.refit(answer.question.X, answer.question.y, seed)


def contradicts(model: TableModel, question: Question, row: ComparedModel) -> bool:
    """Say whether a model does surely worse on the rows that it was fitted to than on unseen ones.

    row: What the outer folds measured.
    """
    values = np.asarray(question.values)
    places = np.arange(len(values))
    if len(values) > _MOST_ROWS:
        places = np.linspace(0, len(values) - 1, _MOST_ROWS).astype(np.intp)
    table, own = question.table.iloc[places], values[places]
    if question.is_number:
        losses: Array = (own - model.predict(table)) ** 2
        honest = row.error.estimate * float(np.var(values))
    else:
        shares = model.predict_proba(table)
        if np.isfinite(row.log_loss):
            losses, honest = row_surprise(shares, own.astype(np.intp)), row.log_loss
        else:
            losses = (np.argmax(shares, axis=1) != own).astype(np.float64)
            honest = row.error.estimate
    return not np.isfinite(losses).all() or (
        difference_bounds(losses - (1 + _WORSE) * honest).low > 0
    )


class Settled(NamedTuple):
    """A comparison whose recommended model holds what it promises.

    model: That model, fitted to all rows; None for guessing, and without a comparison.
    """

    comparison: ModelComparison | None
    pictures: tuple[Picture, ...]
    told: Sequence[FoldAnswers]
    model: TableModel | None = None


def settle(
    found: Settled, fits: FinalFits, contenders: Sequence[Contender], *, certain: bool
) -> Settled:
    """Fit the recommended model to all rows; while that fails, leave it out and recommend anew.

    contenders: All whose answers were compared. `certain` is as in `compared`.
    """
    comparison, pictures, told, _ = found
    while comparison is not None and comparison.recommended.family != GUESSING.family:
        row = comparison.recommended
        model = fits.sound(row.name, row)
        if model is not None:
            return Settled(comparison, pictures, told, model)
        told = [one.without(row.name, _REFUSED) for one in told]
        comparison = recommended_of(told, contenders, fits.questions[0], least=1, certain=certain)
        if comparison is not None:
            pictures = (comparison_picture(comparison),)
            comparison = replace(comparison, picture=pictures[0].name)
    return Settled(comparison, pictures, told)
