"""`ParetoTransductiveSVC`: margin, training loss and test loss, from classification to clusters.

From classification to clustering: what the sides of a three-sided front stand for.

A transductive front trades margin, training loss and test loss. Leaving objectives out of account
leads to its edges and corners, each of which is a problem with a name of its own (Mierswa 2009,
section 5.4):

=====================  ========================================================================
objectives             what remains
=====================  ========================================================================
margin                 a hyperplane beside the data: no row has a say
train                  a fit to the labelled rows at any price: overfitting
test                   some labelling of the unlabelled rows, any that the class ratio allows
margin, train          the path of the ordinary support vector machine along C
margin, test           maximum-margin clustering: labels do not matter
train, test            a fit to labels and clusters at any price: overfitting
margin, train, test    the whole transductive front
=====================  ========================================================================

If no row is unlabelled, test loss is zero everywhere and the front is that of margin and training
loss. If no row has a label, training loss is zero and the front is that of clustering.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from parsimon._checks import check_choice, check_count, check_seconds, is_precomputed, shorten
from parsimon._parallel import one_thread
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Checkpoint, Front, SearchResult
from parsimon.pareto.choose import Rule
from parsimon.svm._transductive_front import (
    DUAL_NAMES,
    PRIMAL_NAMES,
    FrontSearch,
    choose,
    search_dual,
    search_primal,
)
from parsimon.svm._transductive_problem import (
    Labels,
    check_labelled,
    costs,
    present_classes,
    problem_of,
    read_labels,
    read_rows,
)
from parsimon.svm.transductive import TransductiveSVC, settle


class ParetoTransductiveSVC(ClassifierMixin, BaseEstimator):
    r"""Transductive machines of which none is better in margin, training and test loss at once.

    The three terms of a transductive support vector machine [1]_,
    :math:`\frac12\|w\|^2`, :math:`\sum_i \max(0, 1 - y_i f(x_i))` over labelled rows and
    :math:`\sum_k \max(0, 1 - |f(x^*_k)|)` over unlabelled ones, are three objectives, so that no
    price has to be guessed. Its edges reach from classification to clustering:
    `parsimon.svm.edge` cuts them out. Without any label it clusters the rows in two.

    Two classes; for more, use `TransductiveSVC` or `sklearn.multiclass.OneVsRestClassifier`.

    Parameters
    ----------
    objectives : {"primal", "dual"}
        "primal": the three terms above. NSGA-II begins with exact machines of several labellings
        and prices, and blends and stretches them. "dual": as printed in [1]_, corollary 5.2, the
        dual function and the sums of multipliers of labelled and of unlabelled rows, all
        maximised. The first prefers labels of *small* margin (see ``method="joint"`` of
        `TransductiveSVC`) and the sums are no losses: for comparison with the source only.
    C, C_unlabelled
        Prices of both losses at which `choose` picks the default machine and around which exact
        machines are solved; bounds of the multipliers for "dual".
    kernel, gamma, degree, coef0
        As in `TransductiveSVC`.
    positive_ratio : "labelled", float, (float, float) or None
        As in `TransductiveSVC`, a constraint on every machine of the front; without labels a
        quarter to three quarters. With None a constant wins margin and test loss. Not for "dual".
    population_size : int
        Of NSGA-II.
    max_iter : int, optional
        Generations; if left out, 30 for "primal" and 200 for "dual".
    choose : str, int or callable
        The rule by which the default machine is chosen, as in `select`.
    class_weight : dict, "balanced" or None
        Multiplies the loss of labelled rows.
    time_limit : float, optional
        Seconds; the best so far is kept. So it is on Ctrl-C.
    callback : callable, optional
        Called with a `parsimon.pareto.SearchResult` after each generation; the search ends if it
        returns a true value.
    checkpoint : str, Path or Checkpoint, optional
        A file for the state of the search, from which it goes on to the same result.
    verbose : bool
        Show progress.
    random_state : int, Generator, SeedSequence, RandomState or None

    Attributes
    ----------
    front_ : Front
        Objectives ``margin_term`` (half the squared norm; the margin is 1 over the norm),
        ``train_loss`` and ``test_loss``, all to be small; ``dual_objective``, ``train_sum`` and
        ``test_sum``, all to be large, for "dual". Its solutions are fitted classifiers.
    best_estimator_ : TransductiveSVC
        The machine that `choose` picks, which `predict` uses.
    best_index_ : int
        Its place on the front.
    transduction_ : ndarray of shape (n,)
        Labels of all training rows: those given, and the side of that machine for the others.
    classes_ : ndarray of shape (2,)
        0 and 1 if no row has a label; which cluster is which means nothing then.
    n_iter_, n_evaluations_ : int
        Generations, and machines evaluated.
    stopped_by_ : str
        "max_iter", "time_limit", "callback" or "interrupt".
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    References
    ----------
    .. [1] Mierswa (2009), dissertation, TU Dortmund, section 5.4.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, truth = make_blobs(60, centers=[[-2, 0], [2, 0]], random_state=0)
    >>> y = np.where(np.arange(60) < 4, truth, -1)
    >>> search = ParetoTransductiveSVC(population_size=40, max_iter=10, random_state=0).fit(X, y)
    >>> search.front_
    Front: ... solutions, margin_term down, train_loss down, test_loss down
    >>> bool((search.transduction_ == truth).mean() > 0.9)
    True
    """

    def __init__(
        self,
        objectives: Literal["primal", "dual"] = "primal",
        *,
        C: float | Literal["heuristic"] = 1.0,
        C_unlabelled: float | None = None,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        positive_ratio: Any = "labelled",
        population_size: int = 100,
        max_iter: int | None = None,
        choose: Rule = "penalised",
        class_weight: Any = None,
        time_limit: float | None = None,
        callback: Callable[[SearchResult], Any] | None = None,
        checkpoint: Checkpoint | str | Path | None = None,
        verbose: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.objectives = objectives
        self.C = C
        self.C_unlabelled = C_unlabelled
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.positive_ratio = positive_ratio
        self.population_size = population_size
        self.max_iter = max_iter
        self.choose = choose
        self.class_weight = class_weight
        self.time_limit = time_limit
        self.callback = callback
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.pairwise = is_precomputed(self)
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Search for the front, and choose the default machine.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Square, of similarities, for ``kernel="precomputed"``.
        y : array-like of shape (n,), optional
            Labels, -1 where there is none, as in `TransductiveSVC`. None or -1 everywhere: two
            clusters are found.
        sample_weight : array-like of shape (n,), optional
            How much the loss of each row counts.

        Returns
        -------
        ParetoTransductiveSVC
            Itself.
        """
        how, limit = self._searching()
        deadline = None if limit is None else time.monotonic() + limit
        X, labels = self._read(X, y)
        given = present_classes(read_rows(self, X, labels, sample_weight))
        self.classes_ = _two_classes(given.labels)
        problem = problem_of(given, 1, self.positive_ratio)
        seed = seed_sequence(self.random_state)
        C, C_unlabelled = costs(self, given.kernel)
        with one_thread():
            if self.objectives == "dual":
                found = search_dual(problem, how, seed)
            else:
                prices = np.where(problem.known == 0, C_unlabelled, C)
                weights = problem.upper / prices
                found = search_primal(problem, weights, how, seed, deadline=deadline)
        result = found.result
        self._given, self._found, self._X = given, found, X
        self._prices = (C, C_unlabelled)
        self.n_iter_, self.n_evaluations_ = max(result.n_iter, 1), result.n_evaluations
        self.stopped_by_ = result.stopped_by
        self.best_index_ = self._index(self.choose)
        self.best_estimator_ = self._machine(int(self.front_.rows[self.best_index_]))
        self.transduction_ = self.best_estimator_.transduction_
        return self

    @property
    def front_(self) -> Front:
        """The non-dominated machines."""
        check_is_fitted(self)
        # The front of the result says so clearly if no machine keeps the class ratio.
        directions = self._found.result.front.directions
        return Front(
            self._found.values,
            directions.names,
            maximise=directions.maximised,
            solutions=self._machine,
            ties="first",
        )

    def select(self, rule: Rule | None = None) -> TransductiveSVC:
        """Return the fitted classifier that a rule chooses from the front.

        Parameters
        ----------
        rule : str, int or callable, optional
            "penalised": the least total at the prices C and C_unlabelled, or at others:
            "penalised:C=10,C_unlabelled=0.1". "knee", "best:test_loss" and every other rule of
            `parsimon.pareto.choose`, an index, or a function of the front. `choose` if left out.

        Returns
        -------
        TransductiveSVC
            With coefficients from the front; its own `fit` would solve its problem anew.
        """
        check_is_fitted(self)
        front = self.front_
        return self._machine(int(front.rows[self._index(self.choose if rule is None else rule)]))

    def decision_function(self, X: Any) -> Array:
        """Return scores of the default machine, positive for ``classes_[1]``, shape (m,)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scores: Array = self.best_estimator_._scores(X)
        return scores

    def predict(self, X: Any) -> AnyArray:
        """Return the labels that the default machine gives to new rows, shape (m,)."""
        positive = self.decision_function(X) > 0
        labels: AnyArray = self.classes_[positive.astype(np.intp)]
        return labels

    def _searching(self) -> tuple[FrontSearch, float | None]:
        check_choice("objectives", self.objectives, ("primal", "dual"))
        limit = check_seconds("time_limit", self.time_limit)
        default = 30 if self.objectives == "primal" else 200
        how = FrontSearch(
            population_size=check_count("population_size", self.population_size, least=4),
            max_iter=default if self.max_iter is None else check_count("max_iter", self.max_iter),
            time_limit=limit,
            callback=self.callback,
            checkpoint=self.checkpoint,
            verbose=self.verbose,
        )
        return how, limit

    def _read(self, X: Any, y: Any) -> tuple[Array, Labels]:
        if y is None:
            X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
            return X, read_labels(np.full(len(X), -1))
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_consistent_length(X, y)
        return X, read_labels(y)

    def _index(self, rule: Rule) -> int:
        C, C_unlabelled = self._prices
        return choose(self.front_, rule, C=C, C_unlabelled=C_unlabelled)

    def _machine(self, row: int) -> TransductiveSVC:
        model = TransductiveSVC(
            self.C,
            C_unlabelled=self.C_unlabelled,
            kernel=self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            positive_ratio=self.positive_ratio,
            class_weight=self.class_weight,
            random_state=self.random_state,
        )
        machine = self._found.machines[row]
        model.classes_, model.n_features_in_ = self.classes_, self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        return settle(model, self._given, machine[None, :-1], machine[-1:], self._X)


def _two_classes(labels: Labels) -> AnyArray:
    if not labels.known.any():
        return np.array([0, 1])
    check_labelled(labels)
    if len(labels.classes) > 2:
        raise InvalidInputError(
            f"Only binary classification is supported: ParetoTransductiveSVC takes two classes, "
            f"got {len(labels.classes)} classes. Use TransductiveSVC or OneVsRestClassifier."
        )
    return labels.classes


_WORDS = ("margin", "train", "test")
_READINGS = {
    ("margin",): "a hyperplane beside the data",
    ("train",): "a fit to the labelled rows at any price",
    ("test",): "some labelling of the unlabelled rows",
    ("margin", "train"): "the path of the ordinary support vector machine",
    ("margin", "test"): "maximum-margin clustering",
    ("train", "test"): "a fit to labels and clusters at any price",
    ("margin", "train", "test"): "the transductive front",
}


def edge(front: Front, pair: Sequence[str]) -> Front:
    """Return the part of a transductive front that remains if only some objectives count.

    Parameters
    ----------
    front : Front
        Of `ParetoTransductiveSVC`.
    pair : sequence of str
        Of "margin", "train" and "test"; usually two, one is a corner. The table above says what
        each stands for, and `edge_reading` returns that as text.

    Returns
    -------
    Front
        In these objectives, with the same solutions; ``rows`` lead back to them.

    References
    ----------
    Mierswa (2009), dissertation, TU Dortmund, section 5.4.

    Examples
    --------
    >>> values = [[1.0, 0.0, 0.5], [0.5, 1.0, 0.2], [0.4, 2.0, 0.2], [0.6, 2.0, 0.1]]
    >>> front = Front(values, ["margin_term", "train_loss", "test_loss"])
    >>> edge(front, ["margin", "test"])
    Front: 2 solutions, margin_term down, test_loss down
    """
    names = PRIMAL_NAMES if PRIMAL_NAMES[0] in front.names else DUAL_NAMES
    if not set(names) <= set(front.names):
        raise InvalidInputError(
            "An edge is part of a front of ParetoTransductiveSVC, with margin, training loss and "
            f"test loss; this one has {', '.join(front.names)}."
        )
    return front.project([names[_WORDS.index(word)] for word in _words(pair)])


def edge_reading(pair: Sequence[str]) -> str:
    """Return what an edge of a transductive front stands for."""
    return _READINGS[_words(pair)]


def _words(pair: Sequence[str]) -> tuple[str, ...]:
    given = [pair] if isinstance(pair, str) else list(pair)
    unknown = [word for word in given if word not in _WORDS]
    if unknown or not given or len(set(given)) < len(given):
        raise InvalidInputError(
            "An edge is named by one to three of margin, train and test, each once; "
            f"got {shorten(given) or 'none'}."
        )
    return tuple(word for word in _WORDS if word in given)
