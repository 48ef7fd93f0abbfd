"""`ParetoConstructor`: formulas that predict, none both simpler and better than another.

`fit` takes first sets of features from least squares (`formula_candidates`), lets them evolve
(`FeatureEvolution`, which is YAGGA2), and measures what was found. A search tries thousands of
formulas, so that its own errors are too good: rows held out tell what each is worth, and targets in
another order whether the best could be luck. Choosing, tables and pictures are those of every
`FrontEstimator`.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from scipy.stats import rankdata
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice, check_count
from parsimon._data import read_target, validate_data
from parsimon._deadline import end_after
from parsimon._interrupts import stoppable
from parsimon._parallel import one_thread
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.features.case_recall import GivenCases, RecalledSets
from parsimon.features.column_values import ColumnCache, bounds
from parsimon.features.feature_sets import (
    ROUNDING,
    FeatureEvolution,
    FeatureGeneration,
    FeatureProblem,
    FeatureSet,
    complexity,
    fit_inner,
)
from parsimon.features.formula_candidates import (
    formula_candidates,
    indicators,
    is_simple,
    plain_library,
)
from parsimon.features.formula_model import (
    FormulaEstimator,
    InnerLearner,
    LearnerFormula,
    RegressionFormula,
    linear_formula,
)
from parsimon.features.formula_paths import further_sets
from parsimon.features.formulas import in_words
from parsimon.features.learning_tasks import name_columns
from parsimon.features.operations import OPERATIONS, OwnFunction, check_operations
from parsimon.linalg import standardise_columns
from parsimon.pareto import Checkpoint, Figures, Front
from parsimon.pareto.choose import Rule, check_rule
from parsimon.pareto.estimator import FrontEstimator
from parsimon.pareto.run import SearchOptions, run
from parsimon.structures.shuffled_targets import shuffled_p_value

_OBJECTIVES = ("search_error", "n_features", "complexity")
_CONSTANT: FeatureSet = ()
# On which a learner of a user's own is judged.
_FOLDS = 5
_FIGURES = ("holdout_error", "relative_error", "standard_error", "unbounded", "strays")
# With fewer rows none are held out.
_FEW_ROWS = 40
# An error that nothing else has.
_NEVER = 1e9
# Relative errors below this are the same to the choice: the simplest of such formulas is taken.
_EXACT = 1e-7
# How probable luck may be: of formulas on rows held out, and of columns on all rows.
_DOUBT = 0.025
# Rows by which the latter is told; where there are more, those held out tell enough.
_MOST_SHUFFLED = 1000
# Standard deviations beyond which values count as if they were there.
_FARTHEST = 3.0


class ParetoConstructor(FormulaEstimator, FrontEstimator):
    """Construct features that a person can read, and find every trade-off of size and error.

    A solution is a set of formulas of columns, and a linear or logistic regression on them.
    Objectives are the error on rows left out, in closed form, the number of features, and the
    number of nodes of their formulas: columns, numbers, operators and functions, with three for
    each feature after the first, which a plus, a number and a product join to the others. The
    search is YAGGA2 [1]_: NSGA-II over sets of expressions that loses no time with features that
    are equal in form, or on artificial rows. It begins with sets that least squares finds in a
    library of products of powers and functions, also for simple functions of the target, so that
    laws of powers, the lens equation or a distance are found before any chance is involved.

    Parameters
    ----------
    task : {"auto", "regression", "classification"}
        "auto" goes by y, as in `ParetoSelector`: text, truth values, two distinct values and up to
        ten whole numbers, with three rows for each, are classes.
    random_state : int, Generator, SeedSequence, RandomState or None
    operations : sequence of str or OwnFunction
        Of which formulas are made: "+", "-", "*", "/", sqrt, exp, log, sin, cos, tan, atan, abs,
        min, max, sign, and functions of your own.
    max_size : int
        Most nodes of one feature.
    population_size, max_iter : int
        Sets in a generation, and generations after the first.
    start : {"library", "columns"}
        Whether to begin with what least squares finds in the library, or with the columns alone.
    guard : {"flag", "refuse"}
        What to do with a feature that interval arithmetic cannot keep from becoming infinite or
        undefined within the range of the rows or a tenth of it beyond: count it in the column
        "unbounded" of `to_frame`, or leave it out.
    estimator : estimator, optional
        Any of scikit-learn's form, to learn from the features instead of a linear or logistic
        regression in closed form; judged on five folds.
    n_jobs : int or None
        Workers that cross-validate `estimator`, as in joblib; the result is the same with any.
    choose : str, int or callable
        As in `select`. "one_se": the fewest nodes within one standard error of the least error
        on rows held out, a quarter of them; formulas that are exact but for rounding count as
        equally good. Its numbers are then fitted to all rows. A constant is predicted, with a
        warning, where neither a formula proves better on rows held out nor the columns say more
        of the target than of the same target shuffled. To the
        error is added the column "strays" of `to_frame`: how far, beyond three standard
        deviations of the target, predictions reach for rows whose columns come from different
        rows. Below 40 rows none are held out; the error of rows left out one by one, which the
        search has made small, then grows by n / (n - nodes), and formulas with a pole in the
        range of the rows are not chosen unless they are exact.
    case_base : CaseBase, CaseRecall, str or Path, optional
        Earlier tasks, or their folder. It is asked in generation 5 and every tenth from there,
        which is YAGGA3; `CaseRecall` changes that.
    time_limit : float, optional
        Seconds; the best so far is kept.
    checkpoint : str, Path or Checkpoint, optional
        A file for the state of the search, from which it goes on to the same result.

    Attributes
    ----------
    front_ : Front
        Columns ``search_error``, ``n_features`` and ``complexity``, all to be small. The first is
        that of rows left out one by one, below 1e-9 of that of a constant given as that; the
        search has made it small by choosing among thousands, so that it is no promise for new
        rows: ``holdout_error`` of `to_frame` is. The simplest solution is a constant.
    best_estimator_ : RegressionFormula, ClassificationFormula or LearnerFormula
        What `choose` picks, which `predict` and `transform` use.
    best_index_ : int
    formula_ : str
        The formula of it, with its numbers; of an `estimator` its features.
    task_ : {"regression", "classification"}
    classes_ : ndarray of shape (n_classes,)
        Only for classes.
    n_iter_, n_evaluations_ : int
    n_rows_, n_holdout_ : int
        Rows that it was fitted to, and those of them that were held out to choose by.
    stopped_by_ : str
        "max_iter", "time_limit" or "interrupt".
    ranges_ : dict
        Of each column the least and greatest value, widened by a tenth, for which features are
        looked through.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where X has names; otherwise columns are called x0, x1, ...

    References
    ----------
    .. [1] Mierswa (2009), dissertation, TU Dortmund, section 6.4. Its probabilities of mutation
       are printed upside down; these are those of its program.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(1, 5, size=(200, 3))
    >>> y = X[:, 0] * X[:, 1] / X[:, 2] ** 2
    >>> search = ParetoConstructor(max_iter=2, random_state=0).fit(X, y)
    >>> search.get_feature_names_out()
    array(['x0*x1/x2^2'], dtype=object)
    >>> search.score(X, y) > 0.999999
    True
    """

    _model_attribute = "best_estimator_"
    # How the search goes, and the share of rows that are held out to choose by.
    _evolution_type = FeatureEvolution
    _held_share = 0.25

    def __init__(
        self,
        task: Literal["auto", "regression", "classification"] = "auto",
        random_state: Seed = None,
        *,
        operations: Sequence[str | OwnFunction] = OPERATIONS,
        max_size: int = 30,
        population_size: int = 40,
        max_iter: int = 30,
        start: Literal["library", "columns"] = "library",
        guard: Literal["flag", "refuse"] = "flag",
        estimator: Any = None,
        n_jobs: int | None = 1,
        choose: Rule = "one_se",
        case_base: GivenCases = None,
        time_limit: float | None = None,
        checkpoint: Checkpoint | str | Path | None = None,
    ) -> None:
        self.task = task
        self.random_state = random_state
        self.operations = operations
        self.max_size = max_size
        self.population_size = population_size
        self.max_iter = max_iter
        self.start = start
        self.guard = guard
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.choose = choose
        self.case_base = case_base
        self.time_limit = time_limit
        self.checkpoint = checkpoint

    @stoppable
    def fit(self, X: Any, y: Any) -> Self:
        """Search for the front, and choose the default formula.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Numbers, or labels of classes.

        Returns
        -------
        ParetoConstructor
            Itself.
        """
        options = self._search_options()
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=4)
        read = read_target(y, self.task, self.estimator)
        target, n_classes, self.task_ = read.values, read.n_classes, read.task
        if read.classes is not None:
            self.classes_ = read.classes
        names = name_columns(X, X.shape[1], getattr(self, "feature_names_in_", None))
        chance = np.random.default_rng(self._seeds()[1])
        trained, held = hold_out_rows(target, n_classes, self._held_share, chance)
        self.n_rows_, self.n_holdout_ = len(X), len(held)
        with one_thread():
            problem = FeatureProblem(
                names,
                X[trained],
                target[trained],
                n_classes,
                max_size=self.max_size,
                guard=self.guard,
                learner=self._learner(target[trained]),
                rng=chance,
            )
            if not problem.originals:
                raise InvalidInputError("No column of X varies; give at least one that does.")
            found, ending = run(self._evolution(problem), options)
            self.n_iter_, self.n_evaluations_ = ending.n_iter, ending.n_evaluations
            self.stopped_by_, self.ranges_ = ending.stopped_by, problem.ranges
            return self._measure(problem, found, (X, target), held)

    def describe(self) -> str:
        """Say each feature of the default formula in words, a line each.

        With what it does to a predicted number, and where it lies within the range of the rows or
        a tenth of that beyond.
        """
        check_is_fitted(self)
        model = self.best_estimator_
        weights = model.coef[:, 0] if isinstance(model, RegressionFormula) else ()
        lines = []
        for place, feature in enumerate(model.features):
            line = f"{feature}: {in_words(feature)}"
            if len(weights):
                turn = "rises" if weights[place] > 0 else "falls"
                line += f"; the prediction {turn} by {abs(weights[place]):.4g} with each unit"
            limits = bounds(feature, self.ranges_)
            inside = f"it stays between {limits.lower:.4g} and {limits.upper:.4g}"
            unknown = "it may become infinite or undefined near these rows"
            lines.append(f"{line}; {inside if limits.is_finite else unknown}.")
        return "\n".join(lines)

    def plot_features(self, axes: Any = None) -> AnyArray:
        """Draw each feature of the default formula over the range of its columns.

        One column gives a curve, two give a map, more give a curve for each, with the others in
        the middle of their ranges.

        Parameters
        ----------
        axes : sequence of Axes, optional
            One for each feature; made if left out.

        Returns
        -------
        ndarray of Axes
        """
        from parsimon.features.plot import plot_features

        check_is_fitted(self)
        return plot_features(self.best_estimator_.features, self.ranges_, axes)

    def _search_options(self) -> SearchOptions:
        """Refuse options that cannot be used, and return how long to search."""
        check_choice("task", self.task, ("auto", "regression", "classification"))
        check_choice("guard", self.guard, ("flag", "refuse"))
        check_choice("start", self.start, ("library", "columns"))
        if self.estimator is not None and not hasattr(self.estimator, "predict"):
            raise InvalidInputError(
                f"estimator must have fit and predict, got {self.estimator!r}; leave it out for a "
                "linear or logistic regression."
            )
        check_count("population_size", self.population_size, least=2)
        check_count("max_size", self.max_size)
        check_rule(self.choose, (*_OBJECTIVES, *_FIGURES))
        check_operations(self.operations)
        return SearchOptions(
            max_iter=self.max_iter,
            time_limit=self.time_limit,
            checkpoint=self.checkpoint,
            random_state=self._seeds()[0],
        )

    def _learner(self, target: AnyArray) -> InnerLearner | None:
        """Return the estimator with its folds; None for the closed forms."""
        if self.estimator is None:
            return None
        n_folds = min(_FOLDS, len(target))
        rare = self.task_ == "classification" and np.bincount(target).min() < n_folds
        kind = KFold if self.task_ == "regression" or rare else StratifiedKFold
        folds = kind(n_folds, shuffle=True, random_state=0).split(target, target)
        return InnerLearner(self.estimator, list(folds), self.n_jobs)

    def _evolution(self, problem: FeatureProblem) -> FeatureEvolution:
        deadline = end_after(self.time_limit)

        def first() -> list[FeatureSet]:
            if self.start == "columns":
                return []
            found = formula_candidates(problem, self.operations, deadline)
            return found + further_sets(problem, self.operations, found, deadline)

        recalled = RecalledSets(self.case_base, problem, self.operations)
        return self._evolution_type(
            problem, tuple(self.operations), self.population_size, first, recalled
        )

    def _seeds(self) -> tuple[Seed, np.random.SeedSequence]:
        """Return the seed of the search and that of the rows held out."""
        if self.random_state is None and self.checkpoint is not None:
            # The file has the seed of the search; the rows must be the same when it resumes.
            return None, np.random.SeedSequence(0)
        search, split = seed_sequence(self.random_state).spawn(2)
        return search, split

    def _measure(
        self,
        problem: FeatureProblem,
        found: FeatureGeneration,
        table: tuple[Array, AnyArray],
        held: Indices,
    ) -> Self:
        """Keep the front with the errors on rows held out, and formulas fitted to all rows.

        The simplest of all is a constant, which is predicted where nothing is surely better.
        """
        sets = (*found.archive, _CONSTANT)
        values = np.concatenate([found.archive_values, [(1.0, 0.0, 0.0)]])
        values[:, 0] *= problem.constant_error
        front = Front(values, _OBJECTIVES, ties="first")
        chosen = [sets[row] for row in front.rows]
        X, target = table
        everything = ColumnCache(dict(zip(problem.names, X.T, strict=True)))
        models = [self._formula_of(problem, features, everything, target) for features in chosen]
        losses = holdout_losses(problem, chosen, X[held], target[held])
        figures = holdout_figures(problem, chosen, *losses, held=len(held) > 0)
        proved = len(held) > 1 and is_proved(*losses)
        if not (proved or has_signal(problem, everything, target, self.operations)):
            figures = replace(figures, beats_constant=np.zeros(len(chosen), dtype=np.bool_))
        kept = Front(front.values, _OBJECTIVES, solutions=models)
        return self._keep_front(kept, figures, fallback=chosen.index(_CONSTANT))

    def _formula_of(
        self,
        problem: FeatureProblem,
        features: FeatureSet,
        everything: ColumnCache,
        target: AnyArray,
    ) -> Any:
        """Return the model of a set with numbers fitted to all rows."""
        columns = everything.matrix(features)
        classes = self.classes_ if problem.n_classes else None
        if problem.learner is not None and features:
            learner = clone(problem.learner.estimator).fit(columns, target)
            return LearnerFormula(features, problem.names, learner, classes)
        fit = fit_inner(columns, target, problem.n_classes) or problem.known_fit(features)
        return linear_formula(features, problem.names, fit, columns, classes)


def hold_out_rows(
    target: AnyArray, n_classes: int, fraction: float, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Return rows to search with and rows to choose by, of each class alike."""
    n = len(target)
    order = rng.permutation(n)
    if n < _FEW_ROWS or fraction == 0:
        return np.arange(n), np.arange(0)
    held = []
    for code in range(max(n_classes, 1)):
        rows = order[target[order] == code] if n_classes else order
        held.append(rows[: min(int(fraction * len(rows)), len(rows) - 2)] if len(rows) > 2 else [])
    chosen = np.sort(np.concatenate(held).astype(np.intp))
    return np.setdiff1d(np.arange(n), chosen), chosen


def _with_luck(error: Array, nodes: Array, n: int, has_poles: AnyArray) -> Array:
    """Return errors on rows that guided the search, each node counted as a number fitted to them.

    Poles within the range of so few rows are luck, unless the formula is exact.
    """
    grown = error * n / np.maximum(n - nodes, 1)
    return np.where((nodes >= n) | (has_poles & (error > _EXACT)), _NEVER + nodes, grown)


def holdout_losses(
    problem: FeatureProblem, sets: Sequence[FeatureSet], X: Array, target: AnyArray
) -> tuple[Array, Array]:
    """Return the loss of each set for each row held out, and that of a constant.

    Where no rows are held out it is for each row of the search, left out by itself. Shapes: (m, r)
    and (r,).
    """
    if not len(target):
        constant = problem.constant_losses(problem.target)
        return np.array([problem.losses(each) if each else constant for each in sets]), constant
    columns = ColumnCache(dict(zip(problem.names, X.T, strict=True)))
    constant = problem.constant_losses(target)
    elsewhere = problem.losses_elsewhere
    losses = [elsewhere(f, columns.matrix(f), target) if f else constant for f in sets]
    return np.array(losses), constant


def holdout_figures(
    problem: FeatureProblem, sets: Sequence[FeatureSet], losses: Array, constant: Array, held: bool
) -> Figures:
    """Return errors on rows held out, or left out one by one if there are none, to choose by.

    Errors relative to that of a constant are compared; below `_EXACT` they are equal. Above, it
    counts as error how far a formula strays on rows mixed of those it was found with.

    Shapes: losses (m, r), constant (r,), as of `holdout_losses`; `held` tells which they are.
    """
    base = float(constant.mean()) or 1.0
    error = losses.mean(axis=1) / base
    spread = losses.std(axis=1) / base / np.sqrt(losses.shape[1])
    if problem.n_classes == 0:
        # The standard error of a root, by its derivative.
        error = np.sqrt(error)
        spread = spread / (2 * np.maximum(error, ROUNDING))
    unbounded = np.array(
        [sum(not bounds(each, problem.ranges).is_finite for each in features) for features in sets],
        dtype=np.float64,
    )
    beats = error < 1.0
    if problem.n_classes:
        # A few rows that a classifier is too sure of do not outweigh those that it knows.
        wrong = np.mean(losses > np.log(2), axis=1)
        beats |= wrong < np.mean(constant > np.log(2))
    judged = np.maximum(error, _EXACT)
    nodes = np.array([complexity(features) for features in sets])
    if not held:
        judged = _with_luck(judged, nodes, len(problem.target), unbounded > 0)
        beats &= judged < 1.0
    strays = np.array([problem.strays(features) if features else 0.0 for features in sets])
    scale = base**0.5 if problem.n_classes == 0 else base
    return Figures(
        {
            "holdout_error": error * scale,
            "relative_error": error,
            "standard_error": spread,
            "unbounded": unbounded,
            "strays": strays,
        },
        error="relative_error",
        size=("complexity", "n_features"),
        standard_error="standard_error",
        beats_constant=beats & (nodes > 0),
        constant="a constant",
        judged={"relative_error": judged + np.where(error > _EXACT, strays, 0.0)},
    )


def is_proved(losses: Array, constant: Array) -> bool:
    """Tell whether a formula surely beats a constant on rows held out, as one of so many tried.

    By a t-test of the paired losses at Bonferroni's level. Shapes: losses (m, r), constant (r,).
    """
    gain = constant - losses
    error = np.maximum(gain.std(axis=1, ddof=1), 1e-300) / np.sqrt(gain.shape[1])
    p_value = student.sf(gain.mean(axis=1) / error, gain.shape[1] - 1)
    exact = losses.mean(axis=1) <= _EXACT**2 * constant.mean()
    return bool((exact | (p_value * len(losses) < _DOUBT)).any())


def has_signal(
    problem: FeatureProblem,
    table: ColumnCache,
    target: AnyArray,
    operations: Sequence[str | OwnFunction],
) -> bool:
    """Tell whether columns say more of the target than of the same target in another order.

    By values, of which far ones count as if they were near, and by ranks, so that neither a bend
    nor a pole hides it. Shapes: table of n rows, target (n,).
    """
    rows = np.linspace(0, len(target) - 1, min(len(target), _MOST_SHUFFLED)).astype(np.intp)
    members = plain_library(problem, operations)
    simple = [each for each in members if is_simple(each)]
    values, every = (np.nan_to_num(table.matrix(each)[rows]) for each in (simple, members))
    wanted = indicators(target[rows], problem.n_classes)
    looks = [
        (_clip(values), _clip(wanted)),
        (_rank(values), _rank(wanted)),
        (_rank(every), _rank(wanted)),
    ]
    linear = _clip(table.matrix(problem.originals)[rows])
    return shuffled_p_value(looks, linear) <= _DOUBT


def _clip(values: Array) -> Array:
    """Return standardised columns, shape (r, k), within a few deviations."""
    return np.clip(standardise_columns(values), -_FARTHEST, _FARTHEST)


def _rank(values: Array) -> Array:
    """Return ranks of columns, shape (r, k)."""
    return rankdata(values, axis=0)
