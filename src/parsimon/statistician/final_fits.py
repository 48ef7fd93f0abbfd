"""The model that is kept: fitted to all rows, and refused where it contradicts its own folds.

A fit can fail without a word: an optimiser ends where noise explains everything, and the model is
a constant. Yet on the rows that it was fitted to, a sound model does no worse than its like did on
rows that they had never seen. `FinalFits.sound` asks that of every family, and fits once more, from
other starts, what does not pass; `settle` then recommends another model, and says why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from parsimon._typing import Array
from parsimon.evaluation.row_intervals import difference_bounds
from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import ComparedModel, ModelComparison, Picture
from parsimon.statistician.asked_table import ReadTable
from parsimon.statistician.comparison import (
    Compared,
    comparison_picture,
    recommended_of,
    row_surprise,
)
from parsimon.statistician.families.family import Family, Fitted, Question
from parsimon.statistician.families.plain import GUESSING
from parsimon.statistician.folds import FoldAnswers
from parsimon.statistician.seen_tables import PreparedTable
from parsimon.statistician.table_model import TableModel, as_table_model

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

    classes: In the order of probabilities; empty for a number.
    whole: What was fitted to the table beside the folds, by name.
    """

    questions: tuple[Question, ...]
    families: tuple[Family, ...]
    classes: tuple[str, ...]
    target: str
    seed: int
    whole: Mapping[str, Fitted]

    @classmethod
    def of(
        cls,
        asked: ReadTable,
        families: Sequence[Family],
        seed: int,
        whole: Mapping[str, Fitted],
    ) -> "FinalFits":
        """Take the table from what was asked of it."""
        return cls(
            questions=asked.questions,
            families=tuple(families),
            classes=asked.class_names,
            target=asked.target,
            seed=int(seed),
            whole=whole,
        )

    @property
    def first(self) -> str:
        """Who is used where nothing was compared: what was searched, or the first model asked."""
        names = [
            *self.whole,
            *(family.name for family in self.families if family.kind != GUESSING.kind),
        ]
        return next(iter(names), GUESSING.name)

    def searched_models(self) -> dict[str, TableModel]:
        """Return what was fitted to the table beside the folds, by name."""
        return {
            name: as_table_model(fitted, classes=self.classes)
            for name, fitted in self.whole.items()
        }

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

    def _fit(self, name: str, row: ComparedModel | None, attempt: int) -> TableModel:
        seed, fitted = final_seed(self.seed, attempt), self.whole.get(name)
        if fitted is not None and attempt:
            fitted = fitted.refit(seed)
        if fitted is None:
            family = next(family for family in self.families if family.name == name)
            fitted = family.fit(PreparedTable.of(self.questions), seed)
        return as_table_model(fitted, classes=self.classes, row=row)


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
    answers: Sequence[FoldAnswers]
    model: TableModel | None = None


def settle_on_model(found: Compared, fits: FinalFits, *, certain: bool) -> Settled:
    """Fit the recommended model to all rows; while that fails, leave it out and recommend anew.

    `certain` is as in `compared`.
    """
    comparison, pictures, answers, _ = found
    while comparison is not None and comparison.recommended.family != GUESSING.kind:
        row = comparison.recommended
        model = fits.sound(row.name, row)
        if model is not None:
            return Settled(comparison, pictures, answers, model)
        answers = [fold.without(row.name, _REFUSED) for fold in answers]
        comparison = recommended_of(
            answers, fits.families, fits.questions[0], least=1, certain=certain
        )
        if comparison is not None:
            pictures = (comparison_picture(comparison),)
            comparison = replace(comparison, picture=pictures[0].name)
    return Settled(comparison, pictures, answers)
