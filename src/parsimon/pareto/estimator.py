"""`FrontEstimator`: what every estimator that searches for a front shares.

A subclass searches in `fit`, and ends with `_keep_front`: the front, whose solutions are fitted
estimators made when they are asked for, and further figures of each. Choosing, selecting, tables,
pictures and prediction are written here once.
"""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from parsimon._typing import AnyArray, Array
from parsimon.exceptions import ConstantPredictionWarning, EmptyFrontError
from parsimon.pareto.choose import Figures, Rule, choose
from parsimon.pareto.front import Front

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _predicts(method: str) -> Any:
    """Return whether the default solution has a method, for `available_if`."""

    def has(search: "FrontEstimator") -> bool:
        check_is_fitted(search)
        return hasattr(search.best_estimator_, method)

    return available_if(has)


def with_columns(frame: Any, columns: Mapping[str, Any]) -> Any:
    """Return a data frame of pandas or polars with more columns."""
    if hasattr(frame, "assign"):
        return frame.assign(**columns)
    import polars

    return frame.with_columns(**{name: polars.Series(own) for name, own in columns.items()})


class FrontEstimator(BaseEstimator):
    """An estimator whose `fit` finds a front, and which predicts with one solution of it.

    Attributes
    ----------
    front_ : Front
        The solutions of which none is better in everything.
    best_index_ : int
        The place on the front of the solution that `choose` picks.
    best_estimator_ : estimator
        That solution, which `predict` uses.
    """

    choose: Rule
    best_index_: int
    best_estimator_: Any

    def _keep_front(
        self,
        front: Front,
        figures: Figures | None = None,
        fallback: int = 0,
        kept: str | None = None,
    ) -> Self:
        """Store a front with its figures, and the solution that `choose` picks.

        Where nothing beats a constant prediction, the solution at `fallback` stands in with a
        warning. It is that prediction, unless `kept` says what else.
        """
        self._front, self._figures = front, figures or Figures()
        try:
            self.best_index_ = self._index(self.choose)
        except EmptyFrontError as error:
            self.best_index_ = fallback
            warnings.warn(
                f"{type(self).__name__} predicts {kept or self._figures.constant}: {error}",
                ConstantPredictionWarning,
                stacklevel=4,
            )
        self.best_estimator_ = self._solution(self.best_index_)
        return self

    def _index(self, rule: Rule) -> int:
        """Return the place on the front that a rule chooses."""
        return choose(self._front, rule, self._figures)

    def _solution(self, index: int) -> Any:
        """Return the fitted estimator at a place of the front."""
        return self._front.solution(index)

    @property
    def front_(self) -> Front:
        """The solutions of which none is better in everything."""
        check_is_fitted(self)
        return self._front

    def select(self, rule: Rule | None = None) -> Any:
        """Return the fitted estimator that a rule chooses from the front.

        Parameters
        ----------
        rule : str, int or callable, optional
            As in `parsimon.pareto.choose`: "knee", "one_se", "best:NAME", an index, each with
            "where NAME<=VALUE" if wished. The columns of `to_frame` are its names. `choose` if
            left out. A text never ends at a constant prediction: it chooses among solutions that
            beat one, or says that none does.
        """
        check_is_fitted(self)
        return self._solution(self._index(self.choose if rule is None else rule))

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return a data frame, one row for each solution, with all that is known of it."""
        return with_columns(self.front_.to_frame(backend), self._figures.columns)

    def plot(self, *, chosen: Rule | None = None, ax: "Axes | None" = None, **options: Any) -> Any:
        """Draw the front and mark a solution, that which `predict` uses by default.

        Parameters
        ----------
        chosen : str, int or callable, optional
            The solution to mark, as in `select`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        **options
            As in `Front.plot`.
        """
        front = self.front_
        index = self.best_index_ if chosen is None else self._index(chosen)
        return front.plot(chosen=index, ax=ax, **options)

    def predict(self, X: Any) -> AnyArray:
        """Return what the default solution predicts for each row, shape (m,)."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @_predicts("predict_proba")
    def predict_proba(self, X: Any) -> Array:
        """Return the class probabilities of the default solution, shape (m, n_classes)."""
        return self.best_estimator_.predict_proba(X)

    @_predicts("decision_function")
    def decision_function(self, X: Any) -> Array:
        """Return the decision values of the default solution."""
        return self.best_estimator_.decision_function(X)
