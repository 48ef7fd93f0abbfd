"""`SeriesExtractor`: the few features of series that tell what they belong to, in words.

`fit` lists short trees, ranks and breeds them (`tree_search`), searches for subsets of the best by
errors of rows left out (`series_model`), and keeps the front of error, number of features and cost.
"""

import time
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import TimeSeriesSplit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice, check_count, check_seconds
from parsimon._data import read_target, tag_task, target_task, validate_data
from parsimon._deadline import Deadline, end_after, is_late, time_left
from parsimon._interrupts import stoppable
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.features.series.evaluate import SeriesTable, is_long
from parsimon.features.series.series_model import (
    FULL_TRUST,
    Folds,
    SeriesClassModel,
    SeriesForecastModel,
    SeriesModel,
    SeriesNumberModel,
    SubsetLosses,
    last_values,
    measure_trust,
    outputs_outside,
)
from parsimon.features.series.tree_search import (
    BredTrees,
    Targets,
    TreeSearch,
    candidate_trees,
    digest_series,
    many_values,
    rank_features,
    standardise_features,
)
from parsimon.features.series.trees import MethodTree, step
from parsimon.pareto import Bits, Figures, Front, nsga2
from parsimon.pareto.choose import Rule, check_rule
from parsimon.pareto.estimator import FrontEstimator
from parsimon.pareto.run import SearchOptions, run

# Rows that a fold must have to learn from.
_FEWEST_ROWS = 10
_ROWS_A_GENERATION, _MOST_GENERATIONS = 40, 10
_TASKS = ("auto", "classification", "regression", "forecast", "unsupervised")
# Of a time limit: for the first trees, and until no more are bred.
_SHARES_OF_TIME = 0.4, 0.8
# Columns among which subsets are searched for, and rows that tell them apart.
_POOL, _MOST_ROWS = 40, 200
# Rows that the final model rests on.
_MOST_FINAL = 2000


def _tells_classes(search: "SeriesExtractor") -> bool:
    """Tell whether a search is one for classes."""
    return getattr(search, "task_", search.task) == "classification"


class SeriesExtractor(TransformerMixin, FrontEstimator):
    """A handful of features of series that can be read aloud, found by a search over method trees.

    Thousands of short method trees [1]_ are listed and computed together: functions of intervals
    of the series, of its steps, bends and running sum, of its spectrum and its correlation with
    itself, of windows, rises and falls. Genetic programming varies the best; two filters and a
    forest rank them all; NSGA-II looks for subsets. A subset's error is that of kernel ridge
    regression for rows left out. What comes out is a front of error, number of features and cost.

    It predicts with the chosen features, and it transforms: in a `sklearn.pipeline.Pipeline` it
    passes their values on.

    Parameters
    ----------
    max_features : int
        The most features of a subset.
    time_limit : float, optional
        Seconds for the search; the default ends by itself, and only then does a seed lead to the
        same trees on every machine.
    task : {"auto", "classification", "regression", "forecast", "unsupervised"}
        "auto" goes by y as `parsimon.features.ParetoSelector` does; without y it is
        "unsupervised": features that keep what all listed ones have in common, measured by how
        well they tell the first principal components of them. In a "forecast" y is the value that
        comes next and rows are in time: changes from the last value are predicted, in units of the
        series' own steps, and where features chosen anew in each back-testing fold are not better
        by more than a standard error, the last value itself.
    cv : splitter or iterable of (train, test), optional
        Whose test rows tell the error of a subset, such as `parsimon.evaluation.BackTest`. Rows
        are left out one by one if not given; in a forecast ten parts are tested in time.
    population_size : int
        Trees that are bred from in a generation.
    max_iter : int, optional
        Generations. If left out, one for every 40 series and at most ten: on few series the more
        is tried, the more of it fits by chance.
    excerpt : int
        The most series that the search looks at; the model is fitted to all, up to 2000.
    choose : str, int or callable
        The rule by which a subset is chosen, as in `select`: "ranked", the best features by rank,
        as many as `max_features`; "error", the least error of rows left out; "knee"; "one_se";
        "error where n_features<=3".
    checkpoint : str or Path, optional
        A file for the trees that are bred; with the same series, options and seed, a fit that was
        interrupted goes on from there to the same front.
    n_jobs : int or None
        Workers that compute trees. The result is the same for every number.
    random_state : int, Generator, SeedSequence, RandomState or None

    Attributes
    ----------
    front_ : Front
        Columns ``error`` (mean squared distance of rows left out from their targets),
        ``n_features`` and ``cost`` (operations for one series); a solution is a list of
        trees. `to_frame` adds ``standard_error`` and for classes ``misclassified``, the share of
        rows left out.
    best_estimator_ : SeriesClassModel, SeriesNumberModel or SeriesModel
    best_index_ : int
    trees_ : list of MethodTree
        The chosen features.
    pool_ : list of MethodTree
        The best features by rank, among which subsets were searched for.
    n_evaluations_ : int
        Trees that were computed.
    n_iter_ : int
        Generations.
    stopped_by_ : {"max_iter", "time_limit", "interrupt"}
        Why the search ended.
    seconds_ : float
        That the search took.
    constant_error_ : float
        The error of a prediction that needs no feature: the mean, or in a forecast the last value.
    trust_ : float
        How much of their distance from the mean predictions keep, from 0 to 1: what features that
        are chosen anew in five folds are worth there, and nothing where shuffled targets are told
        as well in more than 5 %. On series without anything to find it is 0, and guesses come out.
        Forecasts have 1.
    is_persistence_ : bool
        Whether a forecast is the last value, because nothing beat it.
    task_ : str
    classes_ : ndarray of shape (n_classes,)
        For classes.
    n_features_in_ : int
        Length of the series, for X of two dimensions.

    References
    ----------
    .. [1] Mierswa (2009), dissertation, TU Dortmund, chapter 7.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 32))
    >>> y = np.repeat(["flat", "bump"], 20)
    >>> X[20:, 8:16] += 1.5
    >>> search = SeriesExtractor(max_features=2, max_iter=1, random_state=0).fit(X, y)
    >>> search.score(X, y) > 0.9
    True
    >>> search.get_feature_names_out()[0]
    'the mean ... of the series'
    """

    task_: str
    classes_: AnyArray

    def __init__(
        self,
        max_features: int = 10,
        *,
        time_limit: float | None = None,
        task: Literal["auto", "classification", "regression", "forecast", "unsupervised"] = "auto",
        cv: Any = None,
        population_size: int = 60,
        max_iter: int | None = None,
        excerpt: int = 400,
        choose: Rule = "ranked",
        checkpoint: str | Path | None = None,
        n_jobs: int | None = 1,
        random_state: Seed = None,
    ) -> None:
        self.max_features = max_features
        self.time_limit = time_limit
        self.task = task
        self.cv = cv
        self.population_size = population_size
        self.max_iter = max_iter
        self.excerpt = excerpt
        self.choose = choose
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        task = getattr(self, "task_", self.task)
        tags.target_tags.required = task in ("classification", "regression", "forecast")
        return tag_task(tags, task)

    @stoppable
    def fit(self, X: Any, y: Any = None) -> Self:
        """Search for the front, and fit a model to the features that `choose` picks.

        Parameters
        ----------
        X : array-like of shape (n, length) or (n, channels, length)
            Or what else `SeriesTable` reads: lists of unequal lengths, a long frame.
        y : array-like of shape (n,), optional
            Classes or numbers; none for unsupervised features.

        Returns
        -------
        SeriesExtractor
            Itself.
        """
        self._check_options()
        begin, deadline = time.monotonic(), end_after(self.time_limit)
        listed_by, bred_by = (end_after(time_left(deadline, share)) for share in _SHARES_OF_TIME)
        table, y = self._check_series(X, y)
        targets = self._targets(table, y)
        drawing, breeding, subsets = seed_sequence(self.random_state).spawn(3)
        rows = self._excerpt(targets, np.random.default_rng(drawing))
        data = "" if self.checkpoint is None else digest_series(table, targets)
        targets_here = targets.of(rows)
        search = TreeSearch(table.of(rows), targets_here, self.population_size, self.n_jobs, data)
        first = search.list_first(self._list_trees(table), listed_by)
        if not first.trees:
            raise InvalidInputError("All series are alike, so that no feature tells them apart.")
        is_forecast = self.task_ == "forecast"
        self.is_persistence_ = is_forecast and not self._beats_last(first.Z, targets_here)
        self._trust = FULL_TRUST
        if self.task_ in ("classification", "regression"):
            self._trust = measure_trust(first.Z, targets_here, int(self.max_features))
        self.trust_ = self._trust.share
        bred = self._breed(search, breeding, bred_by)
        places = rank_features(bred.Z, targets_here, _POOL)
        if not len(places):
            raise InvalidInputError(
                "No feature of these series can be told from chance or has a finite worth; give "
                "more series, or series that differ more."
            )
        self.pool_ = [bred.trees[place] for place in places]
        self._given = table, targets
        self._read(bred.Z[:, places], targets_here, subsets, deadline)
        self.seconds_ = time.monotonic() - begin
        return self

    def _breed(
        self, search: TreeSearch, seed: np.random.SeedSequence, deadline: Deadline
    ) -> BredTrees:
        """Breed from the first trees, and tell how that ended."""
        most = min(len(search.targets.T) // _ROWS_A_GENERATION, _MOST_GENERATIONS)
        is_seeded = self.random_state is not None or self.checkpoint is None
        options = SearchOptions(
            max_iter=most if self.max_iter is None else int(self.max_iter),
            time_limit=time_left(deadline, least=1e-9),
            checkpoint=self.checkpoint,
            # Without a seed of its own, a search goes on with that of the file.
            random_state=seed if is_seeded else None,
        )
        bred, ending = run(search, options)
        self.n_iter_, self.stopped_by_ = ending.n_iter, ending.stopped_by
        self.n_evaluations_ = ending.n_evaluations
        return bred

    def _list_trees(self, table: SeriesTable) -> list[MethodTree]:
        """Return the trees to begin with; in a forecast they do not see the level of a series."""
        trees = candidate_trees(table.length, table.n_channels)
        if self.task_ != "forecast":
            return trees
        is_named = int(table.n_channels > 1)
        return [
            MethodTree([*tree.steps[:is_named], step("standardise"), *tree.steps[is_named:]])
            for tree in trees
        ]

    def _check_options(self) -> None:
        check_count("max_features", self.max_features)
        check_count("population_size", self.population_size, least=2)
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter, least=0)
        check_count("excerpt", self.excerpt, least=2)
        check_seconds("time_limit", self.time_limit)
        check_choice("task", self.task, _TASKS)
        if self.choose != "ranked":
            names = ["error", "n_features", "cost", "standard_error", "misclassified"]
            check_rule(self.choose, names, ["ranked"])

    def _check_series(self, X: Any, y: Any) -> tuple[SeriesTable, AnyArray | None]:
        """Return series and target, and set the task."""
        if y is None and self.task not in ("auto", "unsupervised"):
            raise InvalidInputError(
                f"task {self.task!r} needs a target: requires y to be passed, but the target y is "
                "None."
            )
        if _is_table(X):
            options: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
            if y is None:
                X = validate_data(self, X, **options)
            else:
                X, y = validate_data(self, X, y, **options)
        table = X if isinstance(X, SeriesTable) else SeriesTable(X)
        self.n_channels_ = table.n_channels
        if y is None or self.task == "unsupervised":
            self.task_ = "unsupervised"
            return table, None
        y = np.asarray(y)
        if y.ndim != 1 or len(y) != table.n_series:
            raise InvalidInputError(
                f"y must have one value for each of {table.n_series} series, got shape {y.shape}."
            )
        self.task_ = target_task(y) if self.task == "auto" else self.task
        return table, y

    def _targets(self, table: SeriesTable, y: AnyArray | None) -> Targets:
        if y is None:
            if table.n_series < 3:
                raise InvalidInputError(f"Three series are needed, got n_samples={table.n_series}.")
            trees = self._list_trees(table)
            Z = standardise_features(many_values(trees, table, self.n_jobs))[0]
            return Targets.of_columns(Z)
        if self.task_ == "classification":
            check_classification_targets(y)
            codes, classes = read_target(y, "classification")
            assert classes is not None  # of the task
            self.classes_ = classes
            return Targets.of_classes(codes)
        y = y.astype(np.float64)
        if not np.isfinite(y).all():
            raise InvalidInputError("y holds NaN or infinity; remove those series.")
        if len(y) < 2:
            raise InvalidInputError(f"Two series are needed, got n_samples={len(y)}.")
        if self.task_ == "forecast":
            last, unit = last_values(table)
            return Targets("regression", None, ((y - last) / unit)[:, None])
        self._unit = float(y.mean()), float(y.std()) or 1.0
        return Targets.of_numbers(y)

    def _excerpt(
        self, targets: Targets, rng: np.random.Generator, most: int | None = None
    ) -> Indices:
        """Return the rows to search with: all, or some of each class."""
        n, most = len(targets.T), self.excerpt if most is None else most
        if n <= most:
            return np.arange(n)
        order = rng.permutation(n)
        if targets.codes is None:
            return np.sort(order[:most])
        # The k-th of a class comes at the share k / size of it, so that any beginning is even.
        share = np.empty(n)
        for code in np.unique(targets.codes):
            own = order[targets.codes[order] == code]
            share[own] = (np.arange(len(own)) + 0.5) / len(own)
        return np.sort(np.argsort(share, kind="stable")[:most])

    def _read(
        self, Z: Array, targets: Targets, seed: np.random.SeedSequence, deadline: Deadline
    ) -> None:
        """Search for subsets of the pool, and keep the front."""
        drawing, evolving = seed.spawn(2)
        few = self._excerpt(targets, np.random.default_rng(drawing), _MOST_ROWS)
        folds, targets = self._folds(len(few)), targets.of(few)
        n_trees, most = len(self.pool_), min(self.max_features, len(self.pool_))
        errors = SubsetLosses(Z[few], targets.T, self.pool_, self._given[0].length, folds, most)
        # The first feature, the first two, and so on.
        ranked = np.tri(most, n_trees, dtype=bool)
        generations = _MOST_GENERATIONS if self.max_iter is None else int(self.max_iter)
        if generations > 0 and n_trees > 1 and not is_late(deadline):
            ended = nsga2(
                errors,
                Bits(n_trees, share=min(0.5, most / n_trees)),
                start=ranked,
                population_size=40,
                max_iter=generations,
                time_limit=time_left(deadline, least=1e-9),
                random_state=evolving,
            ).stopped_by
            if ended in ("time_limit", "interrupt"):
                self.stopped_by_ = ended
        errors(ranked)
        self._keep(errors, ranked, targets)

    def _beats_last(self, Z: Array, targets: Targets) -> bool:
        """Tell whether features that are chosen anew in each fold beat the last value in time."""

        def choose(learnt: Array, own: Targets) -> Indices:
            return rank_features(learnt, own, int(self.max_features))

        gains = []
        for train, test in self._folds(len(Z)) or []:
            if len(train) < _FEWEST_ROWS:
                continue
            outputs = outputs_outside(Z, targets, train, test, choose)
            truth = targets.T[test]
            if outputs is not None:
                gains.append((truth**2 - (truth - outputs) ** 2)[:, 0])
        if not gains:
            return False
        gain = np.concatenate(gains)
        return bool(gain.mean() > gain.std() / np.sqrt(max(len(gain) - 1, 1)))

    def _folds(self, n: int) -> Folds | None:
        """Return the folds whose test rows are left out; None for one row at a time."""
        cv = self.cv
        if cv is None:
            if self.task_ != "forecast":
                return None
            cv = TimeSeriesSplit(min(9, n - 1))
        folds = list(cv.split(np.zeros((n, 1))) if hasattr(cv, "split") else cv)
        if not folds or any(np.max(np.concatenate(fold)) >= n for fold in folds):
            raise InvalidInputError(f"cv must have folds of the {n} series that are searched with.")
        return [(np.asarray(train), np.asarray(test)) for train, test in folds]

    def _keep(self, errors: SubsetLosses, ranked: Mask, targets: Targets) -> None:
        """Keep the front of all subsets that were evaluated."""
        T, codes = targets.T, targets.codes
        masks = np.array([np.frombuffer(key, dtype=bool) for key in errors.known])
        values = np.array([errors.objectives(mask) for mask in masks])
        names = ["error", "n_features", "cost"]
        kept = Front(values, names, ties="first").rows
        subsets = masks[kept]
        solutions = [[self.pool_[place] for place in np.flatnonzero(mask)] for mask in subsets]
        left = [errors.known[mask.tobytes()][1] for mask in subsets]
        squares = np.array([((T - out) ** 2).mean(axis=1) for out in left])
        tested = ~np.isnan(squares[0])
        squares, n_tested = squares[:, tested], max(int(tested.sum()), 2)
        figures: dict[str, AnyArray] = {
            "standard_error": squares.std(axis=1) / np.sqrt(n_tested - 1)
        }
        if codes is not None:
            wrong = [(out.argmax(axis=1) != codes)[tested].mean() for out in left]
            figures["misclassified"] = np.array(wrong)
        front = Front(values[kept], names, solutions=solutions)
        is_forecast = self.task_ == "forecast"
        middle = 0.0 if is_forecast else T.mean(axis=0)
        self.constant_error_ = float(((T - middle) ** 2)[tested].mean())
        beats = squares.mean(axis=1) < self.constant_error_
        self._keep_front(
            front,
            Figures(
                figures,
                error="error",
                size=("n_features", "cost"),
                knee=("error", "n_features"),
                n_rows=n_tested,
                standard_error="standard_error",
                beats_constant=beats & (not self.is_persistence_),
                constant="the last value" if is_forecast else "a constant",
            ),
            kept=None if is_forecast else "with the features of least error",
        )
        if self.choose == "ranked" and not is_forecast:
            self.best_estimator_ = self._model(
                [self.pool_[place] for place in np.flatnonzero(ranked[-1])]
            )
        self.trees_ = list(self.best_estimator_.trees)

    def _index(self, rule: Rule) -> int:
        return super()._index("error" if rule == "ranked" else rule)

    def _solution(self, index: int) -> Any:
        return self._model(self._front.solution(index))

    def _model(self, trees: list[MethodTree]) -> Any:
        table, targets = self._given
        rows = self._excerpt(targets, np.random.default_rng(0), _MOST_FINAL)
        table, T = table.of(rows), targets.T[rows]
        if self.task_ == "classification":
            return SeriesClassModel.fit_trees(
                trees, table, T, classes=self.classes_, trust=self._trust
            )
        if self.task_ == "regression":
            mean, spread = self._unit
            return SeriesNumberModel.fit_trees(
                trees, table, T, mean=mean, spread=spread, trust=self._trust
            )
        if self.task_ == "forecast":
            folds = self._folds(len(T))
            return SeriesForecastModel.fit_trees(
                trees, table, T, folds, is_persistence=self.is_persistence_
            )
        return SeriesModel.fit_trees(trees, table, T)

    def _series(self, X: Any) -> SeriesTable:
        check_is_fitted(self)
        if isinstance(X, SeriesTable):
            return X
        if _is_table(X):
            X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        return SeriesTable(X)

    def predict(self, X: Any) -> AnyArray:
        """Return what the chosen features predict for each series, shape (m,)."""
        return super().predict(self._series(X))

    @available_if(_tells_classes)
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes for each series, shape (m, n_classes).

        As sure as features that were chosen anew in five folds were right there.
        """
        table = self._series(X)
        return self.best_estimator_.predict_proba(table)

    def transform(self, X: Any) -> Array:
        """Return the chosen features of series, shape (m, n_chosen)."""
        table = self._series(X)
        return self.best_estimator_.transform(table)

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy for classes, and the share of variance explained for numbers."""
        measure = accuracy_score if self.task_ == "classification" else r2_score
        return float(measure(y, self.predict(X)))

    def describe(self) -> str:
        """Return what was found, in words: how much was tried, the front, the chosen features."""
        check_is_fitted(self)
        sizes = self.front_.values[:, 1].astype(int)
        text = f"{self.n_evaluations_} features of series were computed; the front has "
        text += f"{len(sizes)} subsets, from {sizes.min()} to {sizes.max()} features."
        if self.is_persistence_:
            return f"{text} None beat the last value in back-testing, so that it is predicted."
        return f"{text} Chosen: {'; '.join(self.best_estimator_.words())}."

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:  # noqa: ARG002
        """Return the chosen features in words, shape (n_chosen,)."""
        check_is_fitted(self)
        return np.array(self.best_estimator_.words(), dtype=object)


def _is_table(X: Any) -> bool:
    """Tell whether X is one series a row, all of a length."""
    if isinstance(X, SeriesTable) or is_long(X):
        return False
    if isinstance(X, list | tuple) and X and not isinstance(X[0], Integral | float):
        shapes = {np.shape(row) for row in X}
        return len(shapes) == 1 and len(next(iter(shapes))) <= 1
    return getattr(X, "ndim", 2) < 3 and not (
        isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1 and np.ndim(X[0]) > 0
    )
