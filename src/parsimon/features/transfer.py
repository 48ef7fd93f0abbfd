"""`FeatureTransfer`: take features from earlier tasks, and construct only if that is not enough."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from parsimon._checks import check_choice, check_count, check_positive, check_probability
from parsimon._data import read_target, validate_data
from parsimon._parallel import one_thread
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray
from parsimon.exceptions import InvalidInputError
from parsimon.features.case_base import CaseBase, Matching, Method, Neighbour, as_case_base
from parsimon.features.case_recall import CaseRecall, describe_problem, helpful_sets, split_sums
from parsimon.features.constructor import ParetoConstructor
from parsimon.features.expressions import Expression
from parsimon.features.feature_sets import FeatureProblem, FeatureSet
from parsimon.features.formula_model import FormulaEstimator, linear_formula
from parsimon.features.learning_tasks import Task, name_columns

# Errors of so small a share of the target's spread leave nothing to gain.
_EXACT = 1e-7
# A smaller set whose error is within this factor of the least is preferred.
_AS_GOOD = 1.01


class FeatureTransfer(FormulaEstimator):
    """Predict with features that helped in similar tasks, and remember what helped in this one.

    The weights of a linear support vector machine say how much each column counts; the cases of
    earlier tasks with similar weights are looked up, and a linear or logistic regression is fitted
    to those of their features that help here [1]_. If they save too little of the error that the
    columns alone have, they become the beginning of a search by `ParetoConstructor`. Whichever way
    saves enough is stored, so that the next task of this kind takes milliseconds.

    Parameters
    ----------
    case_base : CaseBase, str, Path or None
        A folder is enough; None begins each fit without any case.
    task : {"auto", "regression", "classification"}
        "auto" goes by y, as in `ParetoSelector`.
    random_state : int, Generator, SeedSequence, RandomState or None
        Of the search, if there is one, that has none of its own.
    n_cases : int
        Cases whose features are tried.
    method : {"two_phase", "manhattan", "euclidean", "sampled"}
        How cases are found, as in `CaseBase.retrieve`. What "two_phase" and "sampled" compare with
        a case are those features of the nearest cases by weights that help in this task.
    n_candidates : int
        Cases that are nearest by weights.
    sampling_weight : float
        Of the distance of formulas beside that of weights.
    mapping : {"names", "assignment"}
        Whether columns of one name are the same, or are matched by weight, centre and spread.
    min_gain : float
        Share of the error of the columns alone that has to be saved.
    constructor : ParetoConstructor, False or None
        The search that follows if cases do not help enough; None takes the default one, False does
        without.
    store : bool
        Whether a task that gained enough is added to the case base.
    C : float
        Of the support vector machine.

    Attributes
    ----------
    source_ : {"columns", "cases", "construction"}
        Where the features come from; "columns" if neither cases nor a search gained enough.
    model_ : RegressionFormula or ClassificationFormula
    formula_ : str
    neighbours_ : list of Neighbour
        The cases that were tried, the nearest first.
    task_ : {"regression", "classification"}
    case_ : Case
        This task, with the features that were chosen.
    case_base_ : CaseBase
    stored_ : bool
    error_, column_error_ : float
        Of rows left out, with the features and with the columns alone: root mean square, or mean
        log loss.
    gain_ : float
        The share of the latter that is saved.
    classes_ : ndarray of shape (n_classes,)
        Only for classes.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    References
    ----------
    .. [1] Mierswa (2009), dissertation, TU Dortmund, chapter 10.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> base = CaseBase()
    >>> first = FeatureTransfer(base, random_state=0).fit(X, X[:, 2] + np.exp(X[:, 0] + X[:, 1]))
    >>> first.source_, len(base)
    ('construction', 1)
    >>> second = FeatureTransfer(base).fit(X, 5 * X[:, 2] - 2 * np.exp(X[:, 0] + X[:, 1]))
    >>> second.source_, second.formula_
    ('cases', '5*x2 - 2*exp(x0 + x1)')
    """

    def __init__(
        self,
        case_base: CaseBase | str | Path | None = None,
        task: Task = "auto",
        random_state: Seed = None,
        *,
        n_cases: int = 10,
        method: Method = "two_phase",
        n_candidates: int = 20,
        sampling_weight: float = 50.0,
        mapping: Matching = "names",
        min_gain: float = 0.05,
        constructor: Any = None,
        store: bool = True,
        C: float = 10.0,
    ) -> None:
        self.case_base = case_base
        self.task = task
        self.random_state = random_state
        self.n_cases = n_cases
        self.method = method
        self.n_candidates = n_candidates
        self.sampling_weight = sampling_weight
        self.mapping = mapping
        self.min_gain = min_gain
        self.constructor = constructor
        self.store = store
        self.C = C

    def fit(self, X: Any, y: Any) -> Self:
        """Find features in earlier cases, or construct them, and fit a model to them.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Numbers, or labels of classes.

        Returns
        -------
        FeatureTransfer
            Itself.
        """
        self._check_options()
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=4)
        target = read_target(y, self.task)
        self.task_: Task = target.task
        if target.classes is not None:
            self.classes_ = target.classes
        names = name_columns(X, X.shape[1], getattr(self, "feature_names_in_", None))
        self.case_base_ = as_case_base(self.case_base)
        with one_thread():
            problem = FeatureProblem(
                names, X, target.values, target.n_classes, rng=np.random.default_rng(0)
            )
            if not problem.originals:
                raise InvalidInputError("No column of X varies; give at least one that does.")
            return self._learn(problem, y)

    def _learn(self, problem: FeatureProblem, y: AnyArray) -> Self:
        """Choose between columns, cases and construction, and keep what was chosen."""
        columns = best_set(problem, [problem.originals, *helpful_sets(problem, problem.originals)])
        self.column_error_ = min(problem.error(columns), problem.constant_error)
        self.case_ = describe_problem(problem, self.C)
        found = {"columns": columns}
        self.neighbours_ = []
        if self.column_error_ > _EXACT * problem.constant_error:
            self.neighbours_ = self._retrieve(problem)
            offered = self._offer_sets(problem, self.neighbours_)
            found["cases"] = best_set(problem, [problem.originals, *offered])
            too_little = self._gain(problem, found["cases"]) < self.min_gain
            if too_little and self.constructor is not False:
                found["construction"] = self._construct(problem, y)
        self.source_ = min(found, key=lambda source: problem.error(found[source]))
        if self._gain(problem, found[self.source_]) < self.min_gain:
            self.source_ = "columns"
        chosen = found[self.source_]
        self.error_ = problem.error(chosen)
        self.gain_ = self._gain(problem, chosen)
        self.model_ = linear_formula(
            chosen,
            problem.names,
            problem.known_fit(chosen),
            problem.columns.matrix(chosen),
            self.classes_ if problem.n_classes else None,
        )
        formulas = [str(feature) for feature in chosen if feature.arguments]
        self.case_ = replace(self.case_, formulas=formulas)
        self.stored_ = bool(self.store and self.source_ != "columns" and formulas)
        if self.stored_:
            self.case_base_.add(self.case_)
        return self

    def _gain(self, problem: FeatureProblem, features: FeatureSet) -> float:
        return 1.0 - problem.error(features) / (self.column_error_ or 1.0)

    def _retrieve(self, problem: FeatureProblem) -> list[Neighbour]:
        """Return the cases to take features from."""
        task = self.case_
        if self.method in ("two_phase", "sampled"):
            near = self.case_base_.retrieve(task, self.n_candidates, mapping=self.mapping)
            helped = (*self._offer_sets(problem, near), problem.originals)[0]
            task = replace(task, formulas=[str(each) for each in helped if each.arguments])
        return self.case_base_.retrieve(
            task,
            self.n_cases,
            method=self.method,
            n_candidates=self.n_candidates,
            sampling_weight=self.sampling_weight,
            mapping=self.mapping,
        )

    def _offer_sets(self, problem: FeatureProblem, near: Sequence[Neighbour]) -> list[FeatureSet]:
        """Return sets of features of cases and columns, the one with the least error first."""
        functions = self.case_base_.functions
        pool = split_sums(each for found in near for each in found.case.expressions(functions))
        known = set(problem.names)
        usable = [feature for feature in pool if feature.columns <= known]
        return helpful_sets(problem, (*problem.originals, *usable))[::-1]

    def _construct(self, problem: FeatureProblem, y: AnyArray) -> FeatureSet:
        """Return what a search finds that begins with the features of the nearest cases."""
        import pandas as pd

        exact = _EXACT * problem.constant_error
        search = ParetoConstructor(self.task_) if self.constructor is None else self.constructor
        given = clone(search)
        given.set_params(task=self.task_)
        if given.random_state is None:
            given.set_params(random_state=seed_sequence(self.random_state))
        if given.case_base is None and len(self.case_base_):
            recall = CaseRecall(
                self.case_base_,
                n_candidates=self.n_candidates,
                sampling_weight=self.sampling_weight,
                mapping=self.mapping,
                first=0,
            )
            given.set_params(case_base=recall)
        given.fit(pd.DataFrame(problem.X, columns=list(problem.names)), y)
        features: tuple[Expression, ...] = given.best_estimator_.features
        split = best_set(
            problem, helpful_sets(problem, (*split_sums(features), *problem.originals))
        )
        # Terms are worth more to other tasks than their sum.
        as_good = problem.error(split) <= max(_AS_GOOD * problem.error(features), exact)
        return split if as_good else features

    def _check_options(self) -> None:
        check_choice("task", self.task, ("auto", "regression", "classification"))
        check_choice("method", self.method, ("two_phase", "manhattan", "euclidean", "sampled"))
        check_choice("mapping", self.mapping, ("names", "assignment"))
        check_count("n_cases", self.n_cases)
        check_count("n_candidates", self.n_candidates)
        check_positive("sampling_weight", self.sampling_weight, or_zero=True)
        check_positive("C", self.C)
        check_probability("min_gain", self.min_gain)


def best_set(problem: FeatureProblem, sets: Sequence[FeatureSet]) -> FeatureSet:
    """Return the smallest set that is as good as the best but for a hundredth of its error."""
    known = [features for features in sets if np.isfinite(problem.error(features))]
    if not known:
        return (problem.originals[0],)
    least = min(map(problem.error, known))
    enough = max(_AS_GOOD * least, _EXACT * problem.constant_error)
    good = [each for each in known if problem.error(each) <= enough]
    return min(good, key=lambda each: (len(each), sum(feature.size for feature in each)))
