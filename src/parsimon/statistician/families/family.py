"""The one seam: what a family of models gets, and what it must offer.

A `Family` says what it needs, and fits a whole question (a number, or all classes together) to a
part of a table as `SeenTable` has it; `Fitted` predicts, and says in bits how large it is and which
columns it uses. A rival is a name and a way to make an estimator; a family with more to say gives a
subclass of `Fitted`.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, Self, TypeAlias

import numpy as np

from parsimon._typing import AnyArray, Array, Indices
from parsimon.report.findings import Task
from parsimon.statistician.families._size import ModelSize, model_size, total_size
from parsimon.structures import StructurePosterior

if TYPE_CHECKING:
    import pandas as pd

INNER_FOLDS = 5
Source: TypeAlias = Literal["leave-one-out", "training rows"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """One thing that is asked of a table: predict `y` from the columns.

    table (n, ...): The cells as they were read, to quote from.
    X (n, d): What a model sees: numbers; the table itself until it has been prepared.
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

    @property
    def n_classes(self) -> int:
        """The number of classes of the table; 0 for a number."""
        return 0 if self.is_number else int(np.max(self.values)) + 1

    def at(self, places: Indices) -> "Question":
        """Return the same question of some rows."""
        return replace(
            self,
            table=self.table.iloc[places],
            X=self.X.iloc[places],
            y=_take(self.y, places),
            values=_take(self.values, places),
            rows=self.rows[places],
        )


def _take(values: Any, places: Indices) -> Any:
    return values.iloc[places] if hasattr(values, "iloc") else values[places]


class SeenTable(Protocol):
    """A part of a table as families see it; other rows are seen in the same way."""

    @property
    def questions(self) -> Sequence[Question]:
        """What is asked of these rows; of more than two classes each against the rest."""

    @property
    def X(self) -> "pd.DataFrame":
        """What they are fitted to, (n, d)."""

    @property
    def values(self) -> AnyArray:
        """Codes of classes, or numbers, (n,)."""

    @property
    def columns(self) -> list[str]:
        """The column of the table that each variable comes from."""

    def numbers(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """Return other rows as they are seen."""


class Setting(NamedTuple):
    """What an estimator is made for.

    rarest: Rows of the rarest class; all rows for a number.
    names: Of the columns.
    """

    task: Task
    n_rows: int
    n_columns: int
    n_classes: int
    rarest: int
    seed: int
    names: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        """Whether a number is asked for."""
        return self.task == "regression"

    @property
    def n_folds(self) -> int:
        """Folds for choosing an option; 0 if there are too few rows."""
        folds = min(INNER_FOLDS, self.rarest, self.n_rows // 2)
        return folds if folds >= 2 else 0

    @classmethod
    def of(cls, X: Any, values: AnyArray, task: Task, seed: np.random.SeedSequence) -> Self:
        """Return the setting of a table; X (n, d), values (n,)."""
        counts = [len(values)]
        if task == "classification":
            counts = np.unique(values, return_counts=True)[1].tolist()
        whole = int(seed.generate_state(1)[0])
        n_classes = len(counts) if task == "classification" else 0
        names = tuple(map(str, getattr(X, "columns", ())))
        return cls(task, len(values), X.shape[1], n_classes, min(counts), whole, names)


class Prediction(NamedTuple):
    """What a model says of rows.

    value (m, c) or (m,): Probabilities of all classes, or numbers; of one class where one is asked.
    reach (m,): Half the width of a 95 % interval of a number; NaN where the model knows none.
    """

    value: Array
    reach: Array


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


class QuestionFit(NamedTuple):
    """What a family may say of one question of a fold, beside its predictions.

    variables: Those that it uses.
    words: What was chosen.
    guide_error: What the search believed.
    start: What was chosen, for a fit to other rows to begin with.
    rises: By how much the loss of each row outside rises if a column that the model uses is
        shuffled.
    """

    variables: tuple[str, ...]
    words: str = ""
    guide_error: float = math.nan
    start: Any = None
    rises: Mapping[str, Array] = {}


@dataclass(frozen=True, eq=False, kw_only=True)
class Fitted:
    """A model of a whole question, fitted to the rows of `seen`.

    models: One that answers by itself, or one for each class against the rest; they are saved.
    others: Further models that come with it, by name: those of other sizes of a front.
    """

    seen: SeenTable
    models: tuple[Any, ...]
    others: Mapping[str, "Fitted"] = field(default_factory=dict)

    def predict(self, X: "pd.DataFrame", n_classes: int) -> Prediction:
        """Predict rows as they are seen: classes if there are any, or numbers."""
        if n_classes:
            value = class_shares(self.models, X, n_classes)
        else:
            value = np.asarray(self.models[0].predict(X), dtype=np.float64).reshape(len(X))
        return Prediction(value, np.full(len(X), np.nan))

    @property
    def only_calls(self) -> bool:
        """Whether it calls classes without a probability."""
        is_number = self.seen.questions[0].is_number
        return not is_number and not hasattr(self.models[0], "predict_proba")

    @cached_property
    def size(self) -> ModelSize:
        """Bits that it takes to write it down, and of what it is made."""
        X = self.seen.X
        return total_size(
            model_size(model, n_rows=len(self.seen.values), n_columns=X.shape[1], X=X)
            for model in self.models
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that it uses."""
        known = self.seen.columns
        used = (known[place] for place in self.size.used if place < len(known))
        return tuple(dict.fromkeys(used))

    @property
    def knows_deviation(self) -> bool:
        """Whether predictions of a number come with a standard deviation of their own."""
        return False

    def refit(self, seed: np.random.SeedSequence) -> "Fitted | None":
        """Return the same model fitted to the same rows from other starts; None for a new fit."""
        del seed
        return None

    def begun_again(self, starts: Sequence[Sequence[QuestionFit]]) -> "Fitted":
        """Return what is found from where the folds ended, if that is better."""
        del starts
        return self

    def tell(self, X: "pd.DataFrame", outside: Sequence[Question]) -> tuple[QuestionFit, ...]:
        """Return what there is to say of each question beside predictions of rows outside."""
        del X, outside
        return ()


def _suits(setting: Setting) -> str:
    del setting
    return ""


def _alone(model: Any) -> Mapping[str, Any]:
    del model
    return {}


def _make_nothing(setting: Setting) -> Any:
    raise NotImplementedError(f"A family that fits whole questions is asked for a {setting.task}.")


@dataclass(frozen=True, kw_only=True)
class Family:
    """Models of one kind, which answer the whole question of a table.

    name: As a reader has it.
    key: As options have it.
    kind: "gp", "rvm", "bpm", "svm"; "rival" for scikit-learn's, "own" for a user's; "guessing".
    words: What a model of it is.
    make: Returns an estimator for a setting; not asked where a subclass has a `fit` of its own.
    most_rows: Beyond that many rows it is fitted to a sample.
    refuses: Says why it cannot answer, in a sentence; empty if it can.
    others: Returns further models of one that is fitted, by name: those of other sizes of a front.
    """

    name: str
    key: str
    kind: str
    words: str
    make: Callable[[Setting], Any] = _make_nothing
    most_rows: int | None = None
    refuses: Callable[[Setting], str] = _suits
    others: Callable[[Any], Mapping[str, Any]] = _alone

    @property
    def searches(self) -> bool:
        """Whether it keeps a time limit of its own and is fitted to the table beside its folds."""
        return False

    def briefly(self) -> "Family":
        """Return a family that finds the same, without what only a page shows."""
        return self

    def fit(
        self, seen: SeenTable, seed: np.random.SeedSequence, *, time_limit: float | None = None
    ) -> Fitted:
        """Fit the rows of a table, within so many seconds if it searches."""
        del time_limit
        model = self.learn(seen.X, seen.values, seen.questions[0].task, seed)
        others = {
            name: Fitted(seen=seen, models=(other,)) for name, other in self.others(model).items()
        }
        return Fitted(seen=seen, models=(model,), others=others)

    def learn(
        self, X: "pd.DataFrame", values: AnyArray, task: Task, seed: np.random.SeedSequence
    ) -> Any:
        """Return an estimator fitted to numbers; class codes are whole numbers.

        Shapes: X (n, d), values (n,).
        """
        sampling, making = seed.spawn(2)
        if self.most_rows is not None and len(values) > self.most_rows:
            rows = sampled(values, task, self.most_rows, sampling)
            X, values = X.iloc[rows], values[rows]
        setting = Setting.of(X, values, task, making)
        targets = values.astype(np.intp) if task == "classification" else values
        with warnings.catch_warnings():
            # Of a fit that stopped early the errors tell.
            warnings.simplefilter("ignore")
            return self.make(setting).fit(X, targets)


def sampled(values: AnyArray, task: Task, most: int, seed: np.random.SeedSequence) -> Indices:
    """Return places of about `most` rows, in order, or of all; classes keep their shares."""
    if len(values) <= most:
        return np.arange(len(values))
    rng = np.random.default_rng(seed)
    if task == "regression":
        return np.sort(rng.choice(len(values), most, replace=False))
    chosen = []
    for label in np.unique(values):
        places = np.flatnonzero(values == label)
        share = min(len(places), max(2, round(most * len(places) / len(values))))
        chosen.append(rng.choice(places, share, replace=False))
    return np.sort(np.concatenate(chosen))


def predicted(model: Any, X: "pd.DataFrame") -> Array:
    """Return the probability of class 1, or the number."""
    return model.predict_proba(X)[:, 1] if hasattr(model, "classes_") else model.predict(X)


def class_shares(models: Sequence[Any], X: "pd.DataFrame", n_classes: int) -> Array:
    """Return the probability of each class code, shapes (m, d) -> (m, n_classes).

    One model tells all classes, several tell each from the rest. What only calls a class is sure.
    """
    if len(models) > 1:
        return normalised(np.column_stack([predicted(model, X) for model in models]))
    model, shares = models[0], np.zeros((len(X), n_classes))
    if hasattr(model, "predict_proba"):
        shares[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(X)
    else:
        shares[np.arange(len(X)), np.asarray(model.predict(X), dtype=np.intp)] = 1.0
    return shares


def normalised(positive: Array) -> Array:
    """Return probabilities of all classes from those of each against the rest.

    Shapes: positive (m, k); one column is that of the second of two classes.
    """
    if positive.shape[1] == 1:
        return np.column_stack([1 - positive[:, 0], positive[:, 0]])
    total = positive.sum(axis=1, keepdims=True)
    return positive / np.where(total > 0, total, 1.0)
