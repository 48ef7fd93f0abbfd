"""What a family of models must offer, and what it gets.

The statistician prepares a table, asks a family, measures on outer folds and writes; it knows only
what stands here. A family takes a `Question` and gives a `FamilyResult`: candidates, each with
words, a size, an error on folds of its own and a way to fit it, of which one is chosen. Everything
else is optional and does nothing by default: predictions with a row left out, rows of influence,
findings about variables and parts, figures.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.report.findings import (
    ComponentFinding,
    InteractionFinding,
    ModelFinding,
    Roc,
    SearchFindings,
    Study,
    Task,
    Variable,
    VariableFinding,
)
from parsimon.structures import StructurePosterior

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.statistician.gallery import Gallery

Source: TypeAlias = Literal["leave-one-out", "training rows"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """One thing that is asked of a table: predict `y` from the columns.

    table (n, ...): The cells as they were read, to quote from.
    X (n, d): What a family sees: numbers; the table itself until it has been prepared.
    y (n,): 1 for the positive class and 0 for the others; or numbers.
    values (n,): Codes of all classes, or the numbers: the same for every question of a table.
    positive, negative: Names of the classes 1 and 0; empty for a number. `target` is the
        column's name.
    rows (n,): Numbers of the rows in the table, from 1.
    key: Distinguishes the figures of several questions: letters, digits and dashes.
    n_questions: How many are asked of the table, which claims have to pay for.
    structures: Which variables and interactions these rows support; None if it was not looked at.
    """

    table: "pd.DataFrame"
    X: "pd.DataFrame"
    y: Any
    values: Any
    task: Task
    target: str
    positive: str = ""
    negative: str = ""
    rows: Indices
    key: str = "study-1"
    seed: np.random.SeedSequence
    n_questions: int = 1
    structures: StructurePosterior | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(str(name) for name in self.X.columns)

    @property
    def is_number(self) -> bool:
        """Whether a number is asked for."""
        return self.task == "regression"

    def at(self, places: Indices) -> "Question":
        """Return the same question of some rows."""
        return replace(
            self,
            table=self.table.iloc[places],
            X=self.X.iloc[places],
            y=_taken(self.y, places),
            values=_taken(self.values, places),
            rows=self.rows[places],
        )


def _taken(values: Any, places: Indices) -> Any:
    return values.iloc[places] if hasattr(values, "iloc") else values[places]


class Prediction(NamedTuple):
    """What a fitted candidate says of rows.

    value (m,): Probability of class 1, or the number.
    reach (m,): Half the width of a 95 % interval of a number; NaN where the model knows none.
    """

    value: Array
    reach: Array


class ModelCandidate(ABC):
    """A model that a family offers: words, size, error on its own folds, and how to fit it."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What it is, as a sentence has it: "glucose alone, plus an interaction of ..."."""

    @property
    @abstractmethod
    def size(self) -> float:
        """What it costs to explain, in the unit of the family."""

    @property
    @abstractmethod
    def variables(self) -> tuple[str, ...]:
        """The variables that it uses."""

    @property
    def error(self) -> float:
        """Its error on the folds of the search; NaN if it was not cross-validated."""
        return math.nan

    @property
    def key(self) -> Hashable:
        """What makes two candidates the same."""
        return self.words

    @abstractmethod
    def fit(self, X: "pd.DataFrame", y: Any, seed: np.random.SeedSequence) -> Any:
        """Return an estimator fitted to rows, with `predict_proba` for classes or `predict`.

        Shapes: X (n, d), y (n,).
        """

    def refit(self, X: "pd.DataFrame", y: Any, seed: np.random.SeedSequence) -> Any:
        """Return another fit to the same rows, from other starts, where the first one failed."""
        return self.fit(X, y, seed)

    @property
    def start(self) -> Any:
        """What a fit of the same kind to other rows may begin with; None if that is nothing."""
        return None

    def predict(self, model: Any, X: "pd.DataFrame") -> Prediction:
        """Return what a fit of it says of rows."""
        value = predicted(model, X)
        return Prediction(value, np.full(len(value), np.nan))

    def used(self, model: Any) -> tuple[str, ...]:
        """Return the variables that a fit of it uses."""
        del model
        return self.variables

    def left_out(self) -> Array | None:
        """Return the probability of class 1 for each row without it; None if that is not cheap."""
        return None

    def finding(self, roc: Roc | None = None) -> ModelFinding:
        """Return the candidate as a finding."""
        return ModelFinding(
            expression=self.words,
            symbols=self.words,
            words=self.words,
            kind="",
            variables=self.variables,
            size=self.size,
            error=self.error,
            standard_error=math.nan,
            log_loss=math.nan,
            negative_log_evidence=math.nan,
            fold_negative_log_evidence=math.nan,
            roc=roc,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class OwnPredictions:
    """Predictions of the rows of a question by the model that answers it.

    value (n,): Probability of the positive class, or the predicted number.
    deviation (n,): Standard deviation of a new observation; zero for classes, whose probability
        says it all.
    source: Whether each row was left out. A model that cannot leave rows out without a new fit has
        seen its own rows.
    ranking (n,): Probabilities that rank the rows better than `value`, whose order suffers from
        what is left out; None if there are none.
    """

    value: Array
    deviation: Array
    source: Source
    ranking: Array | None = None


class Description(NamedTuple):
    """What a family can say about variables alone, about parts of its model, and products.

    left_out: What there was no time for.
    """

    variables: tuple[VariableFinding, ...] = ()
    components: tuple[ComponentFinding, ...] = ()
    interactions: tuple[InteractionFinding, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class FamilyResult(ABC):
    """What a family found for a question; a subclass says how."""

    question: Question

    @property
    @abstractmethod
    def candidates(self) -> Sequence[ModelCandidate]:
        """Those with an error on the folds of the search, the baseline first."""

    @property
    @abstractmethod
    def chosen(self) -> ModelCandidate:
        """The best; the baseline if nothing beats it."""

    @property
    @abstractmethod
    def structure_found(self) -> bool:
        """Whether something beats the baseline."""

    @property
    @abstractmethod
    def model(self) -> Any:
        """The chosen candidate, fitted to the rows of the question."""

    @property
    def contenders(self) -> Mapping[str, ModelCandidate]:
        """Those whose honest error is wanted, by name; the chosen one comes first."""
        return {self.chosen.words: self.chosen}

    def begun_again(self, starts: Sequence[Any]) -> "FamilyResult":
        """Return what is found from the `start` of what was chosen on other rows; often the same.

        starts: Those of the outer folds.
        """
        del starts
        return self

    @abstractmethod
    def search_findings(self) -> SearchFindings:
        """Return how the search went."""

    def own_predictions(self) -> OwnPredictions:
        """Predict the rows of the question by its own model, without each where that is cheap."""
        value = predicted(self.model, self.question.X)
        spread = 0.0
        if self.question.is_number:
            spread = float(np.std(self.question.y - value))
        return OwnPredictions(
            value=value, deviation=np.full(len(value), spread), source="training rows"
        )

    def influence(self) -> Array | None:
        """Return how much each row moves the model, shape (n,); None if that is not known."""
        return None

    def describe(
        self, variables: Sequence[Variable], *, fast: bool = False, time_limit: float | None = None
    ) -> Description:
        """Return what there is to say beyond errors; `fast` leaves out what takes long."""
        del variables, fast, time_limit
        return Description()

    def draw(self, study: Study, gallery: "Gallery") -> Study:
        """Hang the figures of the family, and return the study that names them."""
        del gallery
        return study


class ModelFamily(ABC):
    """A family of models: how it searches for an answer.

    prepares: Whether cells are made numbers, screened and sampled before it gets them.
    """

    name: ClassVar[str]
    prepares: ClassVar[bool] = True

    def suits(self, question: Question) -> bool:
        """Say whether this family can answer a question, before its table is prepared."""
        del question
        return True

    def briefly(self) -> "ModelFamily":
        """Return a family that chooses the same, without looking at what only a report shows."""
        return self

    @abstractmethod
    def search(
        self, question: Question, *, seed: np.random.SeedSequence, time_limit: float | None = None
    ) -> FamilyResult:
        """Look for an answer within so many seconds; the same for the table and for each fold."""


def predicted(model: Any, X: "pd.DataFrame") -> Array:
    """Return the probability of class 1, or the number."""
    values: Array = model.predict_proba(X)[:, 1] if hasattr(model, "classes_") else model.predict(X)
    return values
