"""`ParetoSelector`: every trade-off between a small error and few columns, in one fit.

`fit` sets rows apart, evaluates subsets of columns on folds of the others (`_subsets`), all of them
where that is affordable and by a search otherwise, and reads the front that comes out.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice, check_count, check_seconds, shorten
from parsimon._data import Task, known_task, read_target, tag_task, validate_data
from parsimon._interrupts import stoppable
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.features._linear_subsets import default_learner
from parsimon.features._subset_search import DIGITS, SubsetProblem, search_subsets
from parsimon.features._subsets import Columns, SubsetErrors
from parsimon.features.plot import plot_errors_by_size
from parsimon.pareto import Figures, Front
from parsimon.pareto.choose import Rule, check_rule
from parsimon.pareto.estimator import FrontEstimator

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The share of the rows that is set apart. They are used for nothing but their error, and for the
# final fit to the chosen columns.
_APART = 0.2


class ColumnSubset(SelectorMixin, BaseEstimator):
    """Pass on some columns of a table: the first step of a model that a front holds.

    Parameters
    ----------
    columns : sequence of int
        Their places.
    allow_nan : bool
        Whether empty cells are passed on.
    """

    def __init__(self, columns: Sequence[int], *, allow_nan: bool = False) -> None:
        self.columns = columns
        self.allow_nan = allow_nan

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.allow_nan
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Remember the columns of X, shape (n, d)."""
        validate_data(self, X, ensure_all_finite="allow-nan" if self.allow_nan else True)
        return self

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=np.bool_)
        mask[list(self.columns)] = True
        return mask

    def _transform(self, X: Any) -> Any:
        found = super()._transform(X)
        # A learner's sums would differ in their last bits with the order of a table in memory.
        return np.ascontiguousarray(found) if isinstance(found, np.ndarray) else found


class ParetoSelector(SelectorMixin, FrontEstimator):
    """Subsets of columns of which none has both a smaller error and fewer columns.

    Any learner is cross-validated on folds that all subsets share, so that they can be compared.
    With at most 32,767 subsets (15 columns) all are evaluated and the front is exact; logistic
    regression, ridge and least squares, the default among them, are solved for hundreds of subsets
    at once. With more columns the front comes from a search: greedy walks forward, backward and
    floating, filters, then NSGA-II on bit strings [1]_. A fifth of the rows is set apart before.
    The error on them shows how much better the best of many subsets looks than it is.

    It predicts with the learner, fitted to all rows and the chosen columns, and it transforms: in
    a `sklearn.pipeline.Pipeline` it passes the chosen columns on.

    Parameters
    ----------
    estimator : scikit-learn estimator, optional
        The learner. If left out, logistic regression for classes and ridge regression for numbers,
        on standardised columns.
    task : {"auto", "classification", "regression"}
        "auto" goes by the learner if there is one. Otherwise text, truth values, two distinct
        values and up to ten whole numbers, with three rows for each, are classes, and everything
        else a number.
    scoring : str or callable, optional
        A score of scikit-learn, whose shortfall is the error: 1 minus accuracy for classes and the
        root mean squared error for numbers, if left out. Of scores named ``neg_...``, and of
        functions, it is minus the score.
    cv : int, splitter or iterable of (train, test)
        A number means shuffled folds, stratified by class. Where it lists rows itself, all rows are
        searched with and none set apart.
    costs : array-like of shape (d,), optional
        What it costs to measure each column; a third objective.
    groups : sequence of sequences of int or str, optional
        Columns, by place or name, of which all are chosen or none.
    fixed : sequence of int or str, optional
        Columns that every subset has. They count as columns.
    max_features : int, optional
        The most columns of a subset.
    max_iter : int
        Generations of NSGA-II at most; none of it with 0.
    choose : str, int or callable
        The rule by which columns are chosen, as in `select`: "one_se", the fewest columns within
        one standard error of the least error; "knee"; "one_se where n_features<=5" for at most
        five columns; "error where cost<=10" for a budget.
    time_limit : float, optional
        Seconds for the search, checked between batches of subsets; what was found by then is the
        front, and `exact_` is False. Greedy walks come first then, so that every size has one.
    checkpoint : str or Path, optional
        A file for the errors found, also by a fit that is interrupted; with the same table, options
        and seed, the next fit goes on from there to the same front.
    n_jobs : int or None
        Workers for learners that are fitted one by one. The result is the same for every number.
    random_state : int, Generator, SeedSequence, RandomState or None

    Attributes
    ----------
    front_ : Front
        Columns ``error``, ``n_features`` and, with `costs`, ``cost``, all to be small; a solution
        is the list of its columns' places. `to_frame` adds ``standard_error`` (over the folds),
        ``holdout_error`` and ``optimism``, by which the latter is greater than ``error``.
    best_estimator_ : Pipeline
        The chosen columns and the learner fitted to them and all rows.
    best_index_ : int
        Its place on the front.
    exact_ : bool
        Whether all subsets were evaluated.
    n_evaluations_ : int
        Subsets evaluated.
    n_iter_ : int
        Generations of NSGA-II; 1 if all subsets were evaluated.
    stopped_by_ : str
        "exhausted" if all subsets were evaluated; else "max_iter", "stall" or "time_limit".
    constant_error_ : float
        The error of a prediction that ignores all columns.
    ranking_ : ndarray of shape (d,)
        The size of the smallest subset of the front that has the column, 1 for the first; one more
        than the largest size for columns that none has.
    nestedness_ : float
        The share of steps along the front, from a size to the next, that only add columns.
    rank_breaks_ : list of (int, int)
        The sizes before and after each step that also drops columns: there, no ranking of columns
        describes the front.
    errors_ : SubsetErrors
        The errors of further subsets on the same folds: call it with masks, shape (k, d).
    columns_ : Columns
        Units, fixed columns and costs as arrays.
    task_ : str
    classes_ : ndarray of shape (n_classes,)
        For classes.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Where X has names.

    References
    ----------
    .. [1] Mierswa (2009), dissertation, TU Dortmund, sections 6.2 and 6.3.

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> pima = load("pima")
    >>> search = ParetoSelector(random_state=0).fit(pima.data, pima.target)
    >>> search.exact_, search.n_evaluations_
    (True, 255)
    >>> search.front_
    Front: ... solutions, error down, n_features down
    >>> len(search.get_feature_names_out()) < 8
    True
    >>> print(search.describe())
    All 255 subsets of 8 columns were evaluated...
    """

    task_: Task
    classes_: AnyArray

    def __init__(
        self,
        estimator: Any = None,
        *,
        task: Literal["auto", "classification", "regression"] = "auto",
        scoring: Any = None,
        cv: Any = 5,
        costs: Any = None,
        groups: Sequence[Sequence[Any]] | None = None,
        fixed: Sequence[Any] | None = None,
        max_features: int | None = None,
        max_iter: int = 20,
        choose: Rule = "one_se",
        time_limit: float | None = None,
        checkpoint: str | Path | None = None,
        n_jobs: int | None = 1,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.task = task
        self.scoring = scoring
        self.cv = cv
        self.costs = costs
        self.groups = groups
        self.fixed = fixed
        self.max_features = max_features
        self.max_iter = max_iter
        self.choose = choose
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self._allows_nan()
        task = getattr(self, "task_", None) or known_task(self.task, self.estimator)
        return tag_task(tags, task)

    @stoppable
    def fit(self, X: Any, y: Any) -> Self:
        """Search for the front, and fit the learner to the columns that `choose` picks.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Classes or numbers.

        Returns
        -------
        ParetoSelector
            Itself.
        """
        self._check_options()
        X, y = self._check_table(X, y)
        self.columns_ = self._check_columns(X.shape[1])
        split, folding, searching = seed_sequence(self.random_state).spawn(3)
        searched, held = self._split(y, np.random.default_rng(split))
        self._given = X, y
        self._learner = default_learner(self.task_) if self.estimator is None else self.estimator
        table = X[searched], y[searched]
        self.errors_ = SubsetErrors(
            self._learner,
            *table,
            self._folds(*table, np.random.default_rng(folding)),
            self.task_,
            self.scoring,
            self.n_jobs,
            self.checkpoint,
        )
        try:
            self.exact_, self.n_iter_, self.stopped_by_ = search_subsets(
                self._problem, self.max_iter, self.time_limit, searching
            )
        finally:
            self.errors_.save()
        self.n_evaluations_ = self.errors_.n_evaluated
        return self._read((X[searched], y[searched]), (X[held], y[held]))

    def score(self, X: Any, y: Any) -> float:
        """Return the score that the learner itself gives for rows and targets."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y))

    def describe(self) -> str:
        """Return in sentences what was found and how far it can be trusted."""
        check_is_fitted(self)
        d, n, at = self.n_features_in_, self.n_evaluations_, self.best_index_
        found = f"All {n} subsets" if self.exact_ else f"{n} of the many subsets"
        names = shorten([str(name) for name in self.get_feature_names_out()], 10)
        figures = {name: column[at] for name, column in self._figures.columns.items()}
        text = (
            f"{found} of {d} columns were evaluated. Chosen: {names}; error "
            f"{self.front_.values[at, 0]:.3g} (standard error {figures['standard_error']:.2g}), "
            f"without columns {self.constant_error_:.3g}."
        )
        if "holdout_error" in figures:
            text += f" On rows set apart the error is {figures['holdout_error']:.3g}."
        breaks = ", ".join(f"{a} to {b}" for a, b in self.rank_breaks_)
        return text + (f" Columns are dropped again at the steps from {breaks}." if breaks else "")

    def plot_optimism(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw the error by number of columns, on the folds and on the rows set apart.

        Of subsets of one size the best is drawn. Where the two part, the search has found what
        only its own rows show.
        """
        check_is_fitted(self)
        columns = self._figures.columns
        return plot_errors_by_size(
            self.front_.values,
            columns["standard_error"],
            columns.get("holdout_error"),
            self.best_index_,
            ax,
        )

    def _check_options(self) -> None:
        check_choice("task", self.task, ("auto", "classification", "regression"))
        check_count("max_iter", self.max_iter, least=0)
        check_seconds("time_limit", self.time_limit)
        if self.max_features is not None:
            check_count("max_features", self.max_features)
        cost = ["cost"] if self.costs is not None else []
        further = ["standard_error", *([] if _is_pairs(self.cv) else ["holdout_error", "optimism"])]
        check_rule(self.choose, ["error", "n_features", *cost, *further])

    def _allows_nan(self) -> bool:
        return self.estimator is not None and get_tags(self.estimator).input_tags.allow_nan

    def _check_table(self, X: Any, y: Any) -> tuple[Array, AnyArray]:
        finite = "allow-nan" if self._allows_nan() else True
        X, y = validate_data(
            self, X, y, dtype=np.float64, ensure_min_samples=2, ensure_all_finite=finite
        )
        target = read_target(y, self.task, self.estimator)
        self.task_ = target.task
        if target.classes is None:
            return X, target.values
        check_classification_targets(y)
        self.classes_ = target.classes
        return X, y

    def _check_columns(self, d: int) -> Columns:
        """Return units, fixed columns and costs as arrays."""
        names = getattr(self, "feature_names_in_", None)
        columns = Columns.of(d, names, groups=self.groups, fixed=self.fixed, costs=self.costs)
        sizes, n_fixed = columns.units.sum(axis=1), int(columns.fixed.sum())
        least = n_fixed or int(sizes.min())
        if self.max_features is not None and self.max_features < least:
            raise InvalidInputError(
                f"max_features must be at least {least}, the smallest subset; got "
                f"{self.max_features}."
            )
        return columns

    def _split(self, y: AnyArray, rng: np.random.Generator) -> tuple[Indices, Indices]:
        """Return the rows to search with and those to set apart, the latter of each class."""
        if _is_pairs(self.cv):
            return np.arange(len(y)), np.arange(0)
        parts = [np.arange(len(y))]
        if self.task_ == "classification":
            parts = [np.flatnonzero(y == label) for label in self.classes_]
        held = [rng.permutation(rows)[: int(_APART * len(rows))] for rows in parts]
        apart = np.sort(np.concatenate(held))
        return np.setdiff1d(np.arange(len(y)), apart), apart

    def _folds(
        self, X: Array, y: AnyArray, rng: np.random.Generator
    ) -> list[tuple[Indices, Indices]]:
        splitter = self.cv
        classes = self.task_ == "classification"
        if isinstance(self.cv, int | np.integer):
            n_splits = check_count("cv", self.cv, least=2)
            if len(y) < n_splits:
                raise InvalidInputError(
                    f"{len(y)} rows to search with (n_samples={len(self._given[1])}) are too few "
                    f"for {n_splits} folds; give a smaller cv."
                )
            seed = int(rng.integers(2**31))
            rare = classes and np.unique(y, return_counts=True)[1].min() < n_splits
            kind = StratifiedKFold if classes and not rare else KFold
            splitter = kind(n_splits, shuffle=True, random_state=seed)
        folds = list(check_cv(splitter, y, classifier=classes).split(X, y))
        if not folds:
            raise InvalidInputError("cv has no folds; give at least one pair of train and test.")
        return folds

    @property
    def _problem(self) -> SubsetProblem:
        most = self.n_features_in_ if self.max_features is None else int(self.max_features)
        return SubsetProblem(self.errors_, self.columns_, most)

    def _read(self, table: tuple[Array, AnyArray], held: tuple[Array, AnyArray]) -> Self:
        """Keep the front of all subsets that were evaluated, and what can be read off it."""
        subsets, values = self._problem.found()
        names = self._problem.names
        chosen = [np.flatnonzero(mask).tolist() for mask in subsets]
        front = Front(values, names, solutions=chosen)
        self.constant_error_ = round(self.errors_.of_constant(), DIGITS)
        self.ranking_, self.nestedness_, self.rank_breaks_ = nesting(subsets)
        folds = self.errors_.of_folds(subsets)
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = np.std(folds, axis=1) / np.sqrt(folds.shape[1] - 1)
        figures = {"standard_error": spread}
        if len(held[1]):
            outside = np.array([self._outside_error(mask, table, held) for mask in subsets])
            figures |= {"holdout_error": outside, "optimism": outside - front.values[:, 0]}
        return self._keep_front(
            front,
            Figures(
                figures,
                error="error",
                size=tuple(names[1:]),
                knee=("error", "n_features"),
                n_rows=len(table[1]),
                standard_error="standard_error",
                beats_constant=front.values[:, 0] < self.constant_error_,
            ),
            kept="with the subset of least error",
        )

    def _outside_error(
        self, mask: Mask, table: tuple[Array, AnyArray], held: tuple[Array, AnyArray]
    ) -> float:
        """Return the error on the rows set apart of the learner on some columns."""
        fitted = clone(self._learner).fit(table[0][:, mask], table[1])
        measure = self.errors_.measure
        return float(measure.best - measure.scorer(fitted, held[0][:, mask], held[1]))

    def _solution(self, index: int) -> Pipeline:
        X, y = self._given
        first = ColumnSubset(self._front.solution(index), allow_nan=self._allows_nan())
        model = Pipeline([("columns", first), ("learner", clone(self._learner))]).fit(X, y)
        if hasattr(self, "feature_names_in_"):
            first.feature_names_in_ = self.feature_names_in_
        return model

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return self.best_estimator_[0].get_support()


def nesting(subsets: Mask) -> tuple[Indices, float, list[tuple[int, int]]]:
    """Return the ranking of columns along a front, its nestedness, and where it breaks.

    Of subsets of one size the first counts. Mierswa (2009), section 6.2.

    Shapes: subsets (k, d) in order of error -> ranking (d,).
    """
    sizes = subsets.sum(axis=1)
    ordered, first = np.unique(sizes, return_index=True)
    along = subsets[first]
    has = along.any(axis=0)
    ranking = np.where(has, ordered[along.argmax(axis=0)], ordered[-1] + 1)
    breaks = [
        (int(ordered[place]), int(ordered[place + 1]))
        for place in range(len(along) - 1)
        if (along[place] & ~along[place + 1]).any()
    ]
    nestedness = 1.0 - len(breaks) / (len(along) - 1) if len(along) > 1 else 1.0
    return ranking, nestedness, breaks


def _is_pairs(cv: Any) -> bool:
    return not isinstance(cv, int | np.integer) and not hasattr(cv, "split") and cv is not None
