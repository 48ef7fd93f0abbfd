"""`ParetoRVC`: every useful trade-off between true positives, false alarms and model size."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from parsimon._random import Seed
from parsimon._typing import Array
from parsimon._weights import check_classes, row_weights
from parsimon.pareto import Checkpoint, Front
from parsimon.pareto.rules import Rule
from parsimon.rvm.classification import class_targets
from parsimon.rvm.classifier import RVC
from parsimon.rvm.fit import is_precomputed, make_dictionary, prepared_rows, sparse_options
from parsimon.rvm.found import Setting, found_in
from parsimon.rvm.plot import plot_roc_levels
from parsimon.rvm.searching import (
    check_search_options,
    search_for,
    search_seeds,
    shared_options,
    split_for,
)
from parsimon.rvm.selection import choose as choose_solution
from parsimon.rvm.settling import Labelled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Complexity = Literal["active", "degrees_of_freedom", "trace", "gammas"]
Algorithm = Literal["archive", "nsga2", "nsga2_crossover"]


class ParetoRVC(ClassifierMixin, BaseEstimator):
    """Relevance vector machines of which none is better in everything.

    An evolutionary search over which basis functions are in a model and how strongly each is held
    back [1]_. It keeps every solution that no other beats in true positive rate, false positive
    rate and complexity at once; all thresholds of a model are swept at once. With three classes
    or more, the rate of each class is an objective.

    `predict` uses the solution that `choose` picks; `select` returns any other as an ordinary
    fitted `RVC`.

    Parameters
    ----------
    kernel, gamma, degree, coef0, centres, bias
        As in `RVC`: the dictionary to choose from. A `MultiResolution` offers several widths.
    cv : None, int, splitter, iterable, "swap", "shuffle", "stratified" or "homogeneous"
        On which rows solutions are judged. A number K: mean rates over K nearly homogeneous
        held-out folds, the best guard against overfitting; so with folds of your own, as in
        scikit-learn, if they hold every row out once. None: the rows that they are fitted to. A
        word: what is good on one half of the rows must also be good on the other; whenever
        something is, "swap" exchanges the halves, "shuffle" splits anew at random, "stratified"
        within each class, "homogeneous" so that the halves look alike (two classes only).
    complexity : {"active", "degrees_of_freedom", "trace", "gammas"}
        Number of functions in the model without the bias; sum of 1 / (1 + alpha) as printed in
        [1]_; degrees of freedom by the trace of the smoothing matrix, or by how far the data
        determine each weight. Only the first cannot be gamed: huge precisions make the others
        vanish whatever the number of functions, while the order of the scores stays useful.
    mutations : int
        Up to so many functions change at once.
    start : {"random", "rvm"}
        Begin with one random function, or with the machine of maximum evidence.
    algorithm : {"archive", "nsga2", "nsga2_crossover"}
        One child at a time from an unbounded archive, or NSGA-II by mutation alone or with
        five-point crossover, whose population is bounded (two classes, not with a word as `cv`).
    population_size : int
        Of NSGA-II.
    thresholds : "exact" or float
        Every distinct score, or steps between probabilities, such as 0.01. With three classes or
        more, the offsets of the scores lie on a lattice: the finest with at most 300 points, or
        with this step.
    entry : float, optional
        A solution must also stay undominated in this share of 200 resamples of the rows to enter
        the archive, so that fewer get in by luck; 0.9, say. Not for NSGA-II or two halves.
    choose : str, int or callable
        The rule by which the default solution is chosen, as in `select`. The default is the
        source's: the most accurate on all training rows. On seven of its tables, ten splits each,
        it was not to be told from "accuracy" on rows held out; "one_se" lost one point in a
        hundred and needed half as many functions. The rules were compared on these very rows, so
        expect no better of the default elsewhere.
    fixed_bias : bool
        Keep the bias in every model.
    max_iter : int, optional
        Iterations; if left out, 20,000 (5,000 with three classes or more), or 2,000 generations of
        NSGA-II.
    stall : int, optional
        End when nothing has entered the archive for more than so many iterations.
    time_limit : float, optional
        Seconds for the whole fit; the best so far is kept. So it is on Ctrl-C.
    checkpoint : str, Path or Checkpoint, optional
        A file for the state of the search, from which it goes on to the same result.
    verbose : bool
        Show progress.
    random_state : int, Generator, SeedSequence, RandomState or None

    Attributes
    ----------
    front_ : Front
        Objectives ``tpr``, ``fpr``, ``complexity`` (``rate_LABEL`` for each of more classes);
        ``classes_[1]`` is positive. Rates are means over held-out folds if `cv` is a number,
        otherwise rates on the training rows. They guided the search, so they are optimistic:
        `parsimon.evaluation.honest_score` has honest ones. Its solutions are classifiers with
        weights refitted to all rows, and cutoffs halfway between the scores of these. The
        classifiers that give all rows to one class, with complexity 0, are always among them.
    best_estimator_ : RVC
        The solution that `choose` picks, which `predict` uses.
    best_index_ : int
        Its place on the front.
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
    n_evaluations_ : int
        Models fitted, folds not counted.
    stopped_by_ : str
        Why the search ended: "max_iter", "stall", "time_limit" or "interrupt".
    history_ : History
        How many solutions there were in the course of the search.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    References
    ----------
    .. [1] Clark (2011), Multi-Objective ROC learning for classification, University of Exeter,
       chapter 3.

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> data = load("ripley")
    >>> X, y = data.data[:250], data.target[:250]
    >>> search = ParetoRVC(gamma=4.0, max_iter=300, random_state=0).fit(X, y)
    >>> search.front_
    Front: ... solutions, tpr up, fpr down, complexity down
    >>> small = search.select("accuracy where complexity<=4")
    >>> len(small.relevance_) <= 4, small.score(data.data[250:], data.target[250:]) > 0.85
    (True, True)
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        centres: Any = None,
        bias: bool = True,
        cv: Any = 5,
        complexity: Complexity = "active",
        mutations: int = 3,
        start: Literal["random", "rvm"] = "random",
        algorithm: Algorithm = "archive",
        population_size: int = 300,
        thresholds: float | Literal["exact"] = "exact",
        entry: float | None = None,
        choose: Rule = "training_accuracy",
        fixed_bias: bool = False,
        max_iter: int | None = None,
        stall: int | None = 100,
        time_limit: float | None = None,
        checkpoint: Checkpoint | str | Path | None = None,
        verbose: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.centres = centres
        self.bias = bias
        self.cv = cv
        self.complexity = complexity
        self.mutations = mutations
        self.start = start
        self.algorithm = algorithm
        self.population_size = population_size
        self.thresholds = thresholds
        self.entry = entry
        self.choose = choose
        self.fixed_bias = fixed_bias
        self.max_iter = max_iter
        self.stall = stall
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self)
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Search, and fit the default solution.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Square, of similarities, for ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Labels of any kind.
        sample_weight : array-like of shape (n,), optional
            How many times each row counts, in the weights and in the rates.

        Returns
        -------
        ParetoRVC
            Itself.
        """
        check_search_options(self)
        deadline = None if self.time_limit is None else time.monotonic() + self.time_limit
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        labels, codes = np.unique(y, return_inverse=True)
        weights = row_weights(sample_weight, len(X))
        check_classes(labels, codes, weights)
        options = shared_options(self)
        rows = prepared_rows(options, X, codes.astype(np.float64), weights)
        present, own = np.unique(rows.y.astype(np.intp), return_inverse=True)
        self.classes_ = labels[present]
        options.multi_class = "one_vs_rest" if len(present) == 2 else "multinomial"
        made = make_dictionary(
            options,
            rows,
            class_targets(own, len(present)),
            task="classification",
            deadline=deadline,
            options=sparse_options(options),
        )
        seeds = search_seeds(self.random_state)
        split = split_for(self, rows, made.design, (X, codes, weights), seeds)
        outcome = search_for(self, options, made, rows, own, split, seeds, deadline)
        names = getattr(self, "feature_names_in_", None)
        self._found = found_in(
            outcome,
            Setting(options, made.basis, rows.X, own, self.classes_, rows.weights, names),
            Labelled(made.design, own, len(present), rows.weights, split.held(len(own))),
        )
        self.n_iter_, self.n_evaluations_ = outcome.n_iter, outcome.n_evaluations
        self.stopped_by_, self.history_ = outcome.stopped_by, outcome.history
        self.best_index_ = self._index(self.choose)
        self.best_estimator_ = self._found(self.best_index_)
        return self

    @property
    def front_(self) -> Front:
        """The non-dominated solutions."""
        check_is_fitted(self)
        return self._found.front()

    def select(self, rule: Rule | None = None) -> RVC:
        """Return the fitted classifier that a rule chooses from the front.

        Parameters
        ----------
        rule : str, int or callable, optional
            "one_se": the least complex within one standard error of the most accurate.
            "accuracy", "training_accuracy": the most accurate by the figures of the front, or on
            the training rows. "knee", "knee:gain", "knee:tradeoff": the knee of the least error
            at each complexity. "best:tpr", "cheapest:cost_fp=1,cost_fn=5" and every other rule of
            `parsimon.pareto.choose`. Any of them among solutions that meet conditions: "best:tpr
            where fpr<=0.05 and complexity<10". An index, or a function of the front. `choose` if
            left out.

        Returns
        -------
        RVC
        """
        check_is_fitted(self)
        return self._found(self._index(self.choose if rule is None else rule))

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return a data frame, one row for each solution of the front, in its order.

        Besides the objectives it has the number of columns in the model (the bias not counted),
        the accuracy that follows from the rates, rates and accuracy on the training rows after
        the fit to all of them, and the cutoff of the scores.
        """
        check_is_fitted(self)
        return self._found.to_frame(backend)

    def plot(
        self,
        *,
        kind: Literal["pair", "3d", "parallel", "roc"] | None = None,
        ax: "Axes | None" = None,
    ) -> "Axes":
        """Draw the front and mark the default solution.

        Parameters
        ----------
        kind : {"pair", "3d", "parallel", "roc"}, optional
            As in `Front.plot`; "roc" draws what solutions up to several complexities attain in
            the plane of both rates, for two classes.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        """
        if kind == "roc":
            return plot_roc_levels(self.front_, chosen=self.best_index_, ax=ax)
        return self.front_.plot(chosen=self.best_index_, kind=kind, ax=ax)

    def predict(self, X: Any) -> Any:
        """Return the class of each row by the default solution, shape (m,)."""
        return self._default().predict(X)

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities in the order of `classes_`, shape (m, n_classes).

        The scores of a model say which rows are more probable; where even odds are is said by
        the cutoff, from which log odds are counted here. The probabilities of a solution from
        `select` are those of its model alone.
        """
        decision = self.decision_function(X)
        if decision.ndim == 1:
            return np.column_stack([expit(-decision), expit(decision)])
        probability: Array = softmax(decision, axis=1)
        return probability

    def decision_function(self, X: Any) -> Array:
        """Return the log odds of the default solution, counted from its cutoff.

        For two classes, shape (m,), positive where ``classes_[1]`` is predicted; for more, shape
        (m, n_classes), greatest for the class that is predicted.
        """
        model = self._default()
        # A cutoff is infinite where all rows are given to one class.
        decision: Array = np.clip(model.decision_function(X) - model.cutoff, -1e300, 1e300)
        return decision

    def _default(self) -> RVC:
        check_is_fitted(self)
        return self.best_estimator_

    def _index(self, rule: Rule) -> int:
        return choose_solution(self._found.front(), self._found.figures(), rule)
