"""`ParetoTransductiveSVC`: margin, training loss and test loss, from classification to clusters.

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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from parsimon._checks import check_choice, check_count, check_seconds, shorten
from parsimon._data import validate_data
from parsimon._deadline import end_after
from parsimon._interrupts import stoppable
from parsimon._parallel import one_thread
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray, Array, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Checkpoint, Front, choose
from parsimon.pareto.choose import Figures, Rule, check_rule
from parsimon.pareto.estimator import FrontEstimator
from parsimon.svm._gram import BinaryKernelMachine, copy_columns
from parsimon.svm._transductive_front import (
    DUAL_NAMES,
    PRIMAL_NAMES,
    search_dual,
    search_primal,
)
from parsimon.svm._transductive_problem import (
    PartialLabels,
    TransductiveRows,
    check_labelled,
    costs,
    present_classes,
    problem_of,
    read_labels,
    read_rows,
)
from parsimon.svm.transductive import TransductiveSVC, settle_labels

# Weights that are sums in another order are equal.
_ROUNDING = 1.0 + 1e-12


class ParetoTransductiveSVC(BinaryKernelMachine, FrontEstimator):
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
        maximised. The first prefers labels of *small* margin (as problem 5.2 there
        does) and the sums are no losses: for comparison with the source only.
    C, C_unlabelled
        Prices of both losses at which `choose` picks the default machine and around which exact
        machines are solved; bounds of the multipliers for "dual".
    kernel, gamma
        As in `TransductiveSVC`.
    positive_ratio : "labelled", float, (float, float) or None
        As in `TransductiveSVC`, a constraint on every machine of the front; without labels a
        quarter to three quarters. With None a constant wins margin and test loss. Not for "dual".
    population_size : int
        Of NSGA-II.
    max_iter : int, optional
        Generations; if left out, 30 for "primal" and 200 for "dual".
    choose : str, int or callable
        The rule by which the default machine is chosen, as in `select`. "penalised": the least
        total at the prices C and C_unlabelled (for "dual" the greatest dual objective), or at
        others: "penalised:C=10,C_unlabelled=0.1". "knee", "best:test_loss" and every other rule
        of `parsimon.pareto.choose`, each with "where n_support<=20" if wished. A text chooses
        among machines that get more labelled rows right than one class for all rows would.
    class_weight : dict, "balanced" or None
        Multiplies the loss of labelled rows.
    time_limit : float, optional
        Seconds; the best so far is kept. So it is on Ctrl-C.
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
        "max_iter", "time_limit" or "interrupt".
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

    best_estimator_: TransductiveSVC

    def __init__(
        self,
        objectives: Literal["primal", "dual"] = "primal",
        *,
        C: float | Literal["heuristic"] = 1.0,
        C_unlabelled: float | None = None,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        positive_ratio: Any = "labelled",
        population_size: int = 100,
        max_iter: int | None = None,
        choose: Rule = "penalised",
        class_weight: Any = None,
        time_limit: float | None = None,
        checkpoint: Checkpoint | str | Path | None = None,
        verbose: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.objectives = objectives
        self.C = C
        self.C_unlabelled = C_unlabelled
        self.kernel = kernel
        self.gamma = gamma
        self.positive_ratio = positive_ratio
        self.population_size = population_size
        self.max_iter = max_iter
        self.choose = choose
        self.class_weight = class_weight
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    @stoppable
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
        options = self._search_options()
        options["deadline"] = end_after(check_seconds("time_limit", self.time_limit))
        X, labels = self._read(X, y)
        given = present_classes(read_rows(self, X, labels, sample_weight))
        self.classes_ = _two_classes(given.labels)
        problem = problem_of(given, 1, self.positive_ratio)
        seed: np.random.SeedSequence | None = seed_sequence(self.random_state)
        if self.random_state is None and self.checkpoint is not None:
            seed = None  # the file has it
        C, C_unlabelled = self._prices = costs(self, given.kernel)
        with one_thread():
            if self.objectives == "dual":
                result = search_dual(problem, seed, **options)
            else:
                weights = problem.upper / np.where(problem.known == 0, C_unlabelled, C)
                result = search_primal(problem, weights, seed, **options)
        self.n_iter_, self.n_evaluations_ = max(result.n_iter, 1), result.n_evaluations
        self.stopped_by_ = result.stopped_by
        # The front of the result says so clearly if no machine keeps the class ratio.
        directions = result.front.directions
        template = copy_columns(self, self._template())
        machines = TransductiveMachines(template, given, X, self.classes_, result.solutions)
        front = Front(
            result.values,
            directions.names,
            maximise=directions.maximised,
            solutions=machines,
            ties="first",
        )
        figures = self._figures_of(front, machines, problem.known)
        if self.objectives == "dual":
            cheapest = front.best(DUAL_NAMES[0])
        else:
            cheapest = int(np.argmin(figures.columns["penalised"]))
        # A constant keeps no class ratio, so that none need be on the front.
        kept = "with the machine of the best total"
        self._keep_front(front, figures, fallback=cheapest, kept=kept)
        self.transduction_ = self.best_estimator_.transduction_
        return self

    def decision_function(self, X: Any) -> Array:
        """Return scores of the default machine, positive for ``classes_[1]``, shape (m,)."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def _search_options(self) -> dict[str, Any]:
        """Return the checked options of a search, but for its deadline."""
        check_choice("objectives", self.objectives, ("primal", "dual"))
        names = PRIMAL_NAMES if self.objectives == "primal" else DUAL_NAMES
        check_rule(self.choose, (*names, "n_support", "penalised"), ("penalised",))
        default = 30 if self.objectives == "primal" else 200
        return {
            "population_size": check_count("population_size", self.population_size, least=4),
            "max_iter": default
            if self.max_iter is None
            else check_count("max_iter", self.max_iter),
            "checkpoint": self.checkpoint,
            "verbose": self.verbose,
        }

    def _read(self, X: Any, y: Any) -> tuple[Array, PartialLabels]:
        if y is None:
            X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
            return X, read_labels(np.full(len(X), -1))
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_consistent_length(X, y)
        return X, read_labels(y)

    def _figures_of(self, front: Front, machines: "TransductiveMachines", known: Array) -> Figures:
        """Return what rules may refer to beside the objectives.

        Worth having is a machine that gets more labelled rows right than one class for all would;
        if there are no labels, one with rows on both sides.

        Shapes: known (n,), the labels -1.0 and 1.0, and 0.0 where there is none.
        """
        own = machines.rows[front.rows]
        n_support = np.count_nonzero(own[:, :-1], axis=1).astype(np.float64)
        if self.objectives == "dual":
            # For comparison with the source, which takes what the objective says.
            return Figures({"n_support": n_support})
        positive = own[:, :-1] @ machines.given.kernel + own[:, -1:] > 0
        return Figures(
            {"penalised": penalised(front, "", *self._prices), "n_support": n_support},
            beats_constant=_beats_constant(positive, known, machines.given.upper),
            constant="one class for every row",
        )

    def _index(self, rule: Rule) -> int:
        text, where, conditions = str(rule).partition(" where ")
        name, _, prices = text.strip().partition(":")
        if callable(rule) or name != "penalised":
            return super()._index(rule)
        if self.objectives == "dual":
            return super()._index(f"best:{DUAL_NAMES[0]}{where}{conditions}")
        totals = penalised(self._front, prices, *self._prices)
        columns = {**self._figures.columns, "penalised": totals}
        figures = replace(self._figures, columns=columns)
        return choose(self._front, f"penalised{where}{conditions}", figures)

    def _template(self) -> TransductiveSVC:
        """Return an unfitted classifier with the options that both have."""
        return TransductiveSVC(
            self.C,
            C_unlabelled=self.C_unlabelled,
            kernel=self.kernel,
            gamma=self.gamma,
            positive_ratio=self.positive_ratio,
            class_weight=self.class_weight,
            random_state=self.random_state,
        )


@dataclass(frozen=True, eq=False)
class TransductiveMachines:
    """What a search found; called with a place it returns the classifier there.

    template: Not fitted, with the options of the search and the columns of the user's table.
    rows (k, n + 1): Coefficients and bias.
    """

    template: TransductiveSVC
    given: TransductiveRows
    X: Array
    classes: AnyArray
    rows: Array

    def __call__(self, index: int) -> TransductiveSVC:
        model, machine = copy_columns(self.template, clone(self.template)), self.rows[index]
        model.classes_ = self.classes
        return settle_labels(model, self.given, machine[None, :-1], machine[-1:], self.X)


def _beats_constant(positive: Mask, known: Array, weights: Array) -> Mask:
    if not known.any():
        return np.logical_and(positive.any(axis=1), ~positive.all(axis=1))
    weights = np.where(known == 0, 0.0, weights)
    right: Array = (positive == (known > 0)) @ weights
    constant = max(weights[known > 0].sum(), weights[known < 0].sum())
    return right > constant * _ROUNDING


def penalised(front: Front, text: str, C: float, C_unlabelled: float) -> Array:
    """Return ``margin_term + C * train_loss + C_unlabelled * test_loss`` of each machine.

    The least is the transductive machine at these prices, which a text such as
    "C=10,C_unlabelled=0.1" may change.
    """
    prices = {"C": C, "C_unlabelled": C_unlabelled}
    for part in filter(str.strip, text.split(",")):
        name, _, number = (piece.strip() for piece in part.partition("="))
        try:
            prices[name] = float(number)
        except ValueError:
            prices[name] = -1.0
        if name not in {"C", "C_unlabelled"} or not 0 <= prices[name] < np.inf:
            raise InvalidInputError(
                "penalised takes prices that are not negative, as in "
                f"penalised:C=10,C_unlabelled=0.1; got {part.strip()!r}."
            )
    return front.values @ np.array([1.0, prices["C"], prices["C_unlabelled"]])


def _two_classes(labels: PartialLabels) -> AnyArray:
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


def edge(front: Front, pair: Sequence[str]) -> Front:
    """Return the part of a transductive front that remains if only some objectives count.

    Parameters
    ----------
    front : Front
        Of `ParetoTransductiveSVC`.
    pair : sequence of str
        Of "margin", "train" and "test"; usually two, one is a corner. Margin and
        train are the path of the ordinary machine along C, margin and test are maximum-margin
        clustering, train and test a fit to labels and clusters at any price.

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


def _words(pair: Sequence[str]) -> tuple[str, ...]:
    given = [pair] if isinstance(pair, str) else list(pair)
    unknown = [word for word in given if word not in _WORDS]
    if unknown or not given or len(set(given)) < len(given):
        raise InvalidInputError(
            "An edge is named by one to three of margin, train and test, each once; "
            f"got {shorten(given) or 'none'}."
        )
    return tuple(word for word in _WORDS if word in given)
