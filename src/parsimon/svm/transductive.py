"""`TransductiveSVC`: a support vector machine that also looks at the rows without labels."""

import time
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from parsimon._checks import check_choice, check_count, check_seconds, is_precomputed
from parsimon._parallel import Workers
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray, Array
from parsimon.svm._labelling_search import METHODS, Searching, find_labels, settled
from parsimon.svm._labellings import Found
from parsimon.svm._transductive_problem import (
    Given,
    Problem,
    check_labelled,
    present_classes,
    problem_of,
    read_labels,
    read_rows,
)

Method = Literal["evolution", "greedy", "joint", "exhaustive"]


class TransductiveSVC(ClassifierMixin, BaseEstimator):
    r"""A support vector machine whose boundary avoids the rows without labels, too.

    It looks for labels of the unlabelled rows and for a machine such that the margin to *all* rows
    is wide [1]_ [2]_:

    .. math::

       \min_{y^*, w, b} \tfrac12 \|w\|^2 + C \sum_{i} \xi_i + C^* \sum_{k} \xi^*_k

    that is, for the labelling whose dual optimum is least. Where classes are apart, a handful of
    labels is enough. Where they overlap, the widest gap need not be the boundary between classes:
    compare with a plain machine on rows held out.

    With more than two classes, one machine is fitted for each class against the others, and the
    highest score wins.

    Parameters
    ----------
    C : float or "heuristic"
        Cost of slack of labelled rows; "heuristic" is n over the trace of the kernel matrix.
    C_unlabelled : float, optional
        Cost of slack of unlabelled rows; C if left out.
    kernel, gamma, degree, coef0
        As in `sklearn.svm.SVC`, or a kernel of `parsimon.kernels`. Labels only travel as far as
        the kernel sees: with "rbf" a width like that of the gaps between groups works best. On an
        indefinite kernel the inner optimum is a stationary point.
    positive_ratio : "labelled", float, (float, float) or None
        Share of ``classes_[1]`` among the unlabelled rows (of each class, if there are more than
        two). "labelled": within Wilson's 95 % interval of its share among the labelled rows. A
        number: exactly that share. A pair: between these. None: any, and then it is often best
        to give all rows to one class.
    method : {"evolution", "greedy", "joint", "exhaustive"}
        "evolution": a population of labellings, each at the end of a local search with the exact
        optimum of its machine as fitness. The first are those that the machine of the labelled
        rows ranks highest, and labels spread along graphs of nearest neighbours, which are
        guesses for the objective to judge. Exact if at most 12 rows are unlabelled.
        "exhaustive": branch and bound, for at most 24 unlabelled rows.
        "greedy": Joachims' solver [2]_, swaps of pairs while C* grows; keeps the labelled ratio.
        "joint": the printed problem 5.2 of [3]_, a maximum over labels as well as multipliers. It
        finds the labelling of *smallest* margin: on four clusters, two labelled, a linear kernel
        and C = 1 the dual optimum is 0.031 for the split that the source shows and 2.0 for the
        other one, which is what this returns. For study only.
    population_size, max_iter, stall : int
        Of "evolution" and "joint": labellings kept; most generations; generations in a row
        without improvement after which the search ends.
    time_limit : float, optional
        Seconds; the best so far is kept.
    class_weight : dict, "balanced" or None
        Multiplies C of labelled rows.
    random_state : int, Generator, SeedSequence, RandomState or None
    n_jobs : int or None
        Classes at a time, if there are more than two. The result is the same for every number.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        Labels of all training rows: those given, and those found.
    classes_ : ndarray of shape (n_classes,)
    objective_ : float or ndarray of shape (n_classes,)
        The optimum of the machine (of each class).
    support_, support_vectors_, n_support_
        Rows with a multiplier, those rows, and how many of them are in each class by
        `transduction_`.
    dual_coef_ : ndarray of shape (1 or n_classes, n_support)
    intercept_ : ndarray of shape (1 or n_classes,)
    gap_ : float
        Largest violation of the optimality conditions.
    n_iter_ : int
        Generations; machines fitted if the method has no generations.
    stopped_by_ : str
        "stall", "max_iter", "time_limit", "exact" or "converged".
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    ParetoTransductiveSVC : all trade-offs between margin and both losses; clusters without labels.

    References
    ----------
    .. [1] Vapnik (1998), Statistical learning theory, Wiley, chapter 8.
    .. [2] Joachims (1999), Transductive inference for text classification using support vector
       machines, ICML, 200-209.
    .. [3] Mierswa (2009), dissertation, TU Dortmund, chapter 5. Its problem 5.2 maximises where
       it has to minimise.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, truth = make_moons(200, noise=0.05, random_state=0)
    >>> y = np.full(200, -1)
    >>> y[:7] = truth[:7]
    >>> model = TransductiveSVC(gamma=5.0, random_state=0).fit(X, y)
    >>> int((model.transduction_ != truth).sum())
    0
    >>> model.predict([[-1.0, 0.0], [2.0, 0.5]])
    array([0, 1])
    """

    def __init__(
        self,
        C: float | Literal["heuristic"] = 1.0,
        *,
        C_unlabelled: float | None = None,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        positive_ratio: Any = "labelled",
        method: Method = "evolution",
        population_size: int = 10,
        max_iter: int = 100,
        stall: int = 10,
        time_limit: float | None = None,
        class_weight: Any = None,
        random_state: Seed = None,
        n_jobs: int | None = 1,
    ) -> None:
        self.C = C
        self.C_unlabelled = C_unlabelled
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.positive_ratio = positive_ratio
        self.method = method
        self.population_size = population_size
        self.max_iter = max_iter
        self.stall = stall
        self.time_limit = time_limit
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self)
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find labels for the rows without one, and the machine of all rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Square, of similarities, for ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Labels; -1 where there is none, as in `sklearn.semi_supervised`. For classes that are
            texts give an array of objects with -1 or None. If all rows have labels the result is
            the plain support vector machine.
        sample_weight : array-like of shape (n,), optional
            Multiplies the cost of each row.

        Returns
        -------
        TransductiveSVC
            Itself.
        """
        how = self._searching()
        X, y = validate_data(self, X, y, dtype=np.float64)
        given = present_classes(read_rows(self, X, read_labels(y), sample_weight))
        check_labelled(given.labels)
        self.classes_ = given.labels.classes
        positives = [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))
        problems = [problem_of(given, code, self.positive_ratio) for code in positives]
        seeds = seed_sequence(self.random_state).spawn(len(problems))
        calls = [(problem, how, seed) for problem, seed in zip(problems, seeds, strict=True)]
        with Workers(self.n_jobs if len(problems) > 1 else 1) as workers:
            found = list(workers.map(_found, calls))
        self._report(found)
        labels = found[0].fit.labels if len(found) == 1 else None
        signed = [
            one.fit.solution.alpha * problem.signs(one.fit.labels)
            for problem, one in zip(problems, found, strict=True)
        ]
        biases = np.array([one.fit.solution.bias for one in found])
        return settle(self, given, np.array(signed), biases, X, labels=labels)

    def decision_function(self, X: Any) -> Array:
        """Return scores: shape (n,), positive for ``classes_[1]``; (n, n_classes) if more."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._scores(X)

    def predict(self, X: Any) -> AnyArray:
        """Return the labels of new rows."""
        return self._labels(self.decision_function(X))

    def _searching(self) -> Searching:
        check_choice("method", self.method, METHODS)
        limit = check_seconds("time_limit", self.time_limit)
        return Searching(
            method=self.method,
            population_size=check_count("population_size", self.population_size, least=2),
            max_iter=check_count("max_iter", self.max_iter),
            stall=check_count("stall", self.stall),
            deadline=None if limit is None else time.monotonic() + limit,
        )

    def _report(self, found: list[Found]) -> None:
        objectives = np.array([one.fit.objective for one in found])
        self.objective_ = float(objectives[0]) if len(found) == 1 else objectives
        self.gap_ = max(one.fit.solution.gap for one in found)
        self.n_iter_ = max(one.n_iter for one in found)
        self.stopped_by_ = max((one.n_iter, one.stopped_by) for one in found)[1]

    def _scores(self, X: Array) -> Array:
        scores: Array = self._gram.between(X) @ self.dual_coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _labels(self, scores: Array) -> AnyArray:
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: AnyArray = self.classes_[codes]
        return labels


def settle(
    model: TransductiveSVC,
    given: Given,
    coefficients: Array,
    biases: Array,
    X: Array,
    *,
    labels: Array | None = None,
) -> TransductiveSVC:
    """Give a model, whose classes are known, its machines; return it.

    Shapes: coefficients (1 or n_classes, n), biases (1 or n_classes,), X (n_given, d), labels
        (n_unlabelled,).
    """
    support = np.flatnonzero(coefficients.any(axis=0))
    model._gram = given.gram.subset(support)
    model.support_ = given.rows[support]
    model.support_vectors_ = model._gram.rows
    model.dual_coef_, model.intercept_ = coefficients[:, support], biases
    codes = np.full(len(X), -1, dtype=np.intp)
    codes[given.rows] = given.labels.codes
    if labels is not None:
        codes[given.rows[given.labels.codes < 0]] = labels > 0
    left = np.flatnonzero(codes < 0)
    if len(left):
        codes[left] = np.searchsorted(model.classes_, model._labels(model._scores(X[left])))
    model.transduction_ = model.classes_[codes]
    model.n_support_ = np.bincount(codes[model.support_], minlength=len(model.classes_))
    return model


def _found(problem: Problem, how: Searching, seed: np.random.SeedSequence) -> Found:
    found = find_labels(problem, how, seed)
    return found._replace(fit=settled(problem, found.fit))
