"""A fitted model that takes tables as they are: text, dates and empty cells included."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from parsimon._checks import nearest_name, shorten
from parsimon._typing import AnyArray, Array
from parsimon.evaluation.recommending import temper
from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import ComparedModel, Treatment
from parsimon.statistician.contributions import (
    Contributions,
    SeenRows,
    joint_variables,
    scores,
    shapley_values,
)
from parsimon.statistician.families.family import Fitted, class_shares, predicted
from parsimon.statistician.prepare.frames import named_frame
from parsimon.statistician.prepare.recipes import LevelsColumn, VariableSource

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class OutsideRange:
    """A column with `count` cells beyond the range, in words, that a model was fitted to."""

    column: str
    count: int
    low: str
    high: str


class TableModel(BaseEstimator):
    """A fitted model that takes tables as they are.

    Made by `Analysis.model`; saved with `save_model`, it needs nothing but itself.

    Parameters
    ----------
    preparer, screener : fitted transformers
        From cells to numbers, and to the variables that were searched.
    models : sequence of fitted estimators
        One for a number, for two classes or for all of them together; or one for each class
        against the rest.
    classes : sequence of str
        In the order of the models; two for one model; empty for a number.
    target : str
        Name of the column that is predicted.
    deviation : float, optional
        Standard deviation of a predicted number, if the model itself does not tell.
    seen : SeenRows or None
        Ranges and a typical row of the rows that the models were fitted to.
    slope : float
        By which log odds are multiplied, so that probabilities are not too sure.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        For classes.

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> from parsimon.statistician import analyse
    >>> table = load("iris").frame
    >>> model = analyse(table, "species", depth=1, fast=True, n_jobs=1).model()
    >>> [str(label) for label in model.predict(table.head(2))]
    ['setosa', 'setosa']
    """

    # Earlier files have none.
    deviation: float | None = None
    seen: SeenRows | None = None
    slope: float = 1.0

    def __init__(
        self,
        preparer: Any,
        screener: Any,
        models: Any,
        classes: Any = (),
        target: str = "",
        deviation: float | None = None,
        seen: SeenRows | None = None,
        slope: float = 1.0,
    ) -> None:
        self.preparer = preparer
        self.screener = screener
        self.models = models
        self.classes = classes
        self.target = target
        self.deviation = deviation
        self.seen = seen
        self.slope = slope

    def having_seen(self, X: "pd.DataFrame") -> Self:
        """Remember what the rows that the models were fitted to, shape (n, d), were like."""
        self.seen = SeenRows.of(X, self.variables)
        return self

    @property
    def classes_(self) -> AnyArray:
        """The classes, for a model of classes."""
        if not len(self.classes):
            raise AttributeError("A model of a number has no classes.")
        return np.asarray(self.classes)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, table: "pd.DataFrame") -> AnyArray:
        """Return the most probable class of each row, or the number, shape (m,)."""
        if not len(self.classes):
            return predicted(self.models[0], self.numbers(table))
        return self.classes_[np.argmax(self.predict_proba(table), axis=1)]

    def predict_proba(self, table: "pd.DataFrame") -> Array:
        """Return the probability of each class in the order of `classes_`, shape (m, c)."""
        if not len(self.classes):
            raise InvalidInputError("A model of a number predicts no probabilities.")
        shares = class_shares(self.models, self.numbers(table), len(self.classes))
        return temper(shares, self.slope)

    def predict_deviation(self, table: "pd.DataFrame") -> Array:
        """Return the standard deviation of each predicted number, noise included, shape (m,)."""
        if len(self.classes):
            raise InvalidInputError("A model of classes predicts probabilities, no deviations.")
        X = self.numbers(table)
        if self.deviation is not None:
            return np.full(len(X), float(self.deviation))
        _, deviation = self.models[0].predict(X, return_std=True, include_noise=True)
        return deviation

    def numbers(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """Return the variables that the models see, shape (m, d).

        Columns that no model uses may be absent.
        """
        return self.screener.transform(self.preparer.transform(self._complete(table)))

    @property
    def variables(self) -> tuple[VariableSource, ...]:
        """The variables that the models see, and the columns that they come from."""
        return tuple(self.preparer.variables_[place] for place in self.screener.kept_)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table that the models use, in the table's order."""
        variables = self.variables
        used = {
            variables[place].column
            for model in self.models
            for joint in joint_variables(model, len(variables))
            for place in joint
        }
        return tuple(recipe.column for recipe in self.preparer.recipes_ if recipe.column in used)

    def treatments_of(self, table: "pd.DataFrame") -> tuple[Treatment, ...]:
        """Return what is done to cells that the models cannot take as they are."""
        used = set(self.columns)
        found = self.preparer.treatments_of(self._complete(table))
        return tuple(treatment for treatment in found if treatment.column in used)

    def outside(self, table: "pd.DataFrame") -> tuple[OutsideRange, ...]:
        """Return which numbers and dates lie beyond those that the models were fitted to."""
        used = set(self.columns)
        if self.seen is None:
            return ()
        X = self.numbers(table).to_numpy(dtype=np.float64)
        beyond = ((self.seen.low > X) | (self.seen.high < X)).sum(axis=0)
        return tuple(
            OutsideRange(
                variable.column,
                int(beyond[place]),
                self._recipe_of(variable.column).write(float(self.seen.low[place])),
                self._recipe_of(variable.column).write(float(self.seen.high[place])),
            )
            for place, variable in enumerate(self.variables)
            if beyond[place] and variable.kind != "indicator" and variable.column in used
        )

    def contributions(self, table: "pd.DataFrame") -> Contributions:
        """Return what each column adds to the prediction of each row.

        A row is compared with a typical one; the values of its columns add up to the difference
        between the two scores. For a model that is a sum of functions of one column they are these
        functions; otherwise they are Shapley's values, which share what columns do together. They
        are exact unless the model ties more than ten columns together.

        Returns
        -------
        Contributions
        """
        if self.seen is None:
            raise InvalidInputError(
                "This model does not know its typical row, since an earlier version saved it; "
                "make it again with parsimon report."
            )
        X = self.numbers(table).to_numpy(dtype=np.float64)
        used = self.columns
        groups = [self._places_of(column) for column in used]
        towards = np.zeros(len(X), dtype=np.intp)
        if len(self.classes) > 2:
            towards = np.argmax(self.predict_proba(table), axis=1)
        values, base, exact = np.zeros((len(X), len(used))), np.zeros(len(X)), True
        for place in np.unique(towards):
            rows = np.flatnonzero(towards == place)
            model, output = self._behind(int(place))
            found = shapley_values(
                partial(self._score, model, output),
                X[rows],
                self.seen.typical,
                groups,
                joint_variables(model, X.shape[1]),
            )
            values[rows], base[rows] = self.slope * found.values, self.slope * found.base
            exact = exact and found.exact
        return Contributions(
            columns=used,
            values=values,
            base=base,
            towards=self.classes_[towards + (len(self.classes) == 2)]
            if len(self.classes)
            else None,
            typical=tuple(map(self._typical_cell, used)),
            exact=exact,
        )

    def _complete(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """Return the table with empty columns for those that are absent and not used."""
        if not hasattr(table, "columns"):
            return table
        frame, used = named_frame(table), self.columns
        there = set(frame.columns)
        lacking = [column for column in used if column not in there]
        if lacking:
            near = nearest_name(lacking[0], sorted(there))
            hint = f" Did you mean {lacking[0]!r} by {near!r}?" if near else ""
            raise InvalidInputError(
                f"The table lacks {len(lacking)} of the {len(used)} columns that are used: "
                f"{shorten(list(map(repr, lacking)), 12)}.{hint} Add them; cells may be empty."
            )
        absent = [recipe.column for recipe in self.preparer.recipes_ if recipe.column not in there]
        if not absent:
            return frame
        import pandas as pd

        empty = pd.DataFrame(np.nan, index=frame.index, columns=absent)
        return pd.concat([frame, empty], axis=1)

    def _score(self, model: Any, output: int, X: Array) -> Array:
        """Return one score of a model for rows of numbers, shapes (m, d) -> (m,)."""
        import pandas as pd

        frame = pd.DataFrame(X, columns=[variable.name for variable in self.variables])
        return scores(model, frame)[:, output]

    def _behind(self, place: int) -> tuple[Any, int]:
        """Return the model whose score is that of a class, and which of its scores that is."""
        if len(self.models) == 1:
            return self.models[0], place
        return self.models[place], 0

    def _places_of(self, column: str) -> list[int]:
        return [place for place, variable in enumerate(self.variables) if variable.column == column]

    def _recipe_of(self, column: str) -> Any:
        return next(recipe for recipe in self.preparer.recipes_ if recipe.column == column)

    def _typical_cell(self, column: str) -> str:
        """Return what a column is in the typical row, in words."""
        assert self.seen is not None
        recipe, places = self._recipe_of(column), self._places_of(column)
        if not isinstance(recipe, LevelsColumn):
            plain = [place for place in places if self.variables[place].name == column]
            return recipe.write(float(self.seen.typical[plain[0]])) if plain else "there"
        ones = [place for place in places if self.seen.typical[place] == 1]
        levels = dict(
            zip((variable.name for variable in recipe.variables), recipe.levels, strict=False)
        )
        if ones:
            name = self.variables[ones[0]].name
            return levels.get(name, name.removeprefix(column).removeprefix(" = ").strip())
        return recipe.reference or "another level"


def as_table_model(
    fitted: Fitted, *, classes: Sequence[str], row: ComparedModel | None = None
) -> TableModel:
    """Return a fit to all rows of a prepared table as a model that takes tables as they are.

    Its honest error, if known from its `row` of the comparison, gives numbers their standard
    deviation, unless the model itself tells one.
    """
    seen: Any = fitted.seen
    deviation = None
    if seen.questions[0].is_number and not fitted.knows_deviation:
        share = 1.0 if row is None else row.error.estimate
        deviation = math.sqrt(share * float(np.var(seen.values)))
    models = [model.best_estimator_ if _is_search(model) else model for model in fitted.models]
    made = TableModel(
        seen.preparer,
        seen.screener,
        models,
        tuple(classes),
        seen.questions[0].target,
        deviation=deviation,
        slope=1.0 if row is None else row.slope,
    )
    return made.having_seen(seen.X)


def _is_search(model: Any) -> bool:
    """Return whether a model is a search over options, whose result is all that is kept."""
    return hasattr(model, "best_estimator_") and hasattr(model, "cv_results_")
