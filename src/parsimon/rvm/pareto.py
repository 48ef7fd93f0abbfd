"""`ParetoRVC`: every useful trade-off between true positives, false alarms and model size.

What a search found: the table behind a front, and the way from a row to a classifier.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from parsimon._checks import check_choice, is_precomputed
from parsimon._data import check_classes, row_weights
from parsimon._random import Seed
from parsimon._typing import AnyArray, Array, Indices
from parsimon.pareto import Checkpoint, Directions, Front
from parsimon.pareto.choose import Rule
from parsimon.pareto.front import restore
from parsimon.rvm._classes import class_targets
from parsimon.rvm._dictionary import Basis
from parsimon.rvm._evaluate import OBJECTIVES, Model, Outcome
from parsimon.rvm._fit import make_dictionary, prepared_rows, sparse_options
from parsimon.rvm._genome import LOWEST_LEVEL
from parsimon.rvm._pareto_search import (
    check_search_options,
    search_for,
    search_seeds,
    shared_options,
    split_for,
)
from parsimon.rvm._selection import Figures, Labelled, classifier_with, refitted
from parsimon.rvm._selection import choose as choose_solution
from parsimon.rvm.classifier import RVC
from parsimon.rvm.plot import plot_roc_levels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Setting:
    """What every solution of a search is fitted to.

    Shapes: classes (n_classes,), feature_names (d,).

    options: Parameters of the classifiers that rows become.
    basis: The whole dictionary.
    X (n, d): Training rows.
    codes (n,): Index of each row's class.
    weights (n,): How many times each row counts.
    """

    options: RVC
    basis: Basis
    X: Array
    codes: Indices
    classes: AnyArray
    weights: Array
    feature_names: Any = None

    @property
    def directions(self) -> Directions:
        """The objectives: tpr, fpr and complexity, or the rate of each class and complexity."""
        if len(self.classes) == 2:
            return Directions.of(OBJECTIVES, OBJECTIVES[:1])
        rates = [f"rate_{label}" for label in self.classes.tolist()]
        return Directions.of([*rates, "complexity"], rates)

    @property
    def class_shares(self) -> Array:
        """Which share of the rows each class has, shape (n_classes,)."""
        totals = np.bincount(self.codes, self.weights, len(self.classes))
        shares: Array = totals / totals.sum()
        return shares

    def classifier(self, model: Model, cutoff: Any) -> RVC:
        """Return a fitted classifier with the precisions of a model.

        One without columns has a constant, whether or not the dictionary has one, so that its
        probabilities are the class frequencies.
        """
        basis, alpha = self.basis.columns(model.active), model.alpha
        if not len(model.active):
            basis, alpha = replace(basis, has_bias=True), np.array([10.0**LOWEST_LEVEL])
        return classifier_with(
            self.options,
            basis,
            self.X,
            self.codes,
            self.classes,
            alpha,
            cutoff=cutoff,
            sample_weight=self.weights,
            feature_names=self.feature_names,
        )


@dataclass(frozen=True, eq=False)
class Found:
    """The solutions of a front, in its order.

    values (k, m): Objectives, as they guided the search.
    cutoffs (k,): As in `RVC`.
    which (k,): The model behind each solution.
    training_rates (k, n_classes): Share of each class that is predicted right among the
        training rows, all of which the weights are fitted to.
    """

    setting: Setting
    values: Array
    cutoffs: Array
    which: Indices
    models: tuple[Model, ...]
    training_rates: Array

    def __len__(self) -> int:
        return len(self.values)

    def __call__(self, row: int) -> RVC:
        """Return a row as a fitted classifier."""
        cutoff = self.cutoffs[row]
        return self.setting.classifier(
            self.models[self.which[row]], float(cutoff) if cutoff.ndim == 0 else cutoff
        )

    def front(self) -> Front:
        """Return the front; its solutions are classifiers, fitted when they are asked for."""
        return restore(self.setting.directions, self.values, np.arange(len(self)), self)

    @property
    def n_columns(self) -> Indices:
        """Columns in each solution, without the bias, shape (k,)."""
        first = int(self.setting.basis.has_bias)
        sizes = [np.count_nonzero(model.active >= first) for model in self.models]
        return np.array(sizes, dtype=np.intp)[self.which]

    @property
    def rates(self) -> Array:
        """Rates of all classes as they guided the search, shape (k, n_classes)."""
        return class_values(self.values, len(self.setting.classes))

    def figures(self) -> Figures:
        """Return what rules may look at."""
        shares = self.setting.class_shares
        training = self.training_rates @ shares
        return Figures(
            # Who does worse on the rows that it was fitted to was lucky on those held out.
            accuracy=np.minimum(self.rates @ shares, training),
            training_accuracy=training,
            complexity=self.values[:, -1],
            n_columns=self.n_columns.astype(np.float64),
            n_rows=max(1, round(float(self.setting.weights.sum()))),
        )

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return objectives and other figures, one row for each solution."""
        check_choice("backend", backend, ("pandas", "polars"))
        names, figures = self.setting.directions.names, self.figures()
        training = objective_values(self.training_rates)
        columns: dict[str, Any] = {
            **dict(zip(names, self.values.T, strict=True)),
            "columns": self.n_columns,
            "accuracy": self.rates @ self.setting.class_shares,
            "training_accuracy": figures.training_accuracy,
            **{f"training_{name}": rate for name, rate in zip(names, training.T, strict=False)},
        }
        cutoffs = self.cutoffs if self.cutoffs.ndim == 2 else self.cutoffs[:, None]
        labels = [f"cutoff_{label}" for label in self.setting.classes.tolist()]
        labels = labels if len(labels) == cutoffs.shape[1] else ["cutoff"]
        columns |= dict(zip(labels, cutoffs.T, strict=True))
        if backend == "polars":
            import polars

            return polars.DataFrame({"row": np.arange(len(self)), **columns})
        import pandas as pd

        return pd.DataFrame(columns, index=pd.RangeIndex(len(self), name="row"))


def found_in(outcome: Outcome, setting: Setting, rows: Labelled) -> Found:
    """Return the non-dominated solutions of a search, in the order of their front.

    The classifiers that give every row to one class are among them: they need no column, and
    every other solution must beat them in something.
    """
    n_classes = len(setting.classes)
    measured = refitted(outcome, rows, class_values(outcome.values, n_classes))
    models = (*outcome.models, Model(np.empty(0, dtype=np.intp), np.empty(0)))
    # Baselines come first, so that of equal solutions they are the ones that stay.
    corners, no_columns = np.eye(n_classes), np.zeros(n_classes)
    rates = np.concatenate([corners, measured.rates])
    complexity = np.append(no_columns, outcome.values[:, -1])
    values = np.column_stack([objective_values(rates), complexity])
    directions = setting.directions
    kept = Front(values, directions.names, maximise=directions.maximised, ties="first").rows
    which = np.append(np.full(n_classes, len(models) - 1), outcome.which)[kept]
    used, renumbered = np.unique(which, return_inverse=True)
    return Found(
        setting=setting,
        values=values[kept],
        cutoffs=np.concatenate([_corner_cutoffs(n_classes), measured.cutoffs])[kept],
        which=renumbered,
        models=tuple(models[number] for number in used),
        training_rates=np.concatenate([corners, measured.training_rates])[kept],
    )


def objective_values(rates: Array) -> Array:
    """Return class rates, shape (k, n_classes), as objectives: tpr and fpr for two classes."""
    if rates.shape[1] > 2:
        return rates
    # One minus a rate such as 0.9 has digits that nobody measured.
    return np.column_stack([rates[:, 1], (1.0 - rates[:, 0]).round(12)])


def class_values(values: Array, n_classes: int) -> Array:
    """Return the class rates behind objectives, shape (k, n_classes)."""
    if n_classes > 2:
        return values[:, :-1]
    return np.column_stack([1.0 - values[:, 1], values[:, 0]])


def _corner_cutoffs(n_classes: int) -> Array:
    """Return the cutoffs that give every row to the first class, to the second, and so on."""
    if n_classes == 2:
        return np.array([np.inf, -np.inf])
    return np.where(np.eye(n_classes, dtype=np.bool_), 0.0, np.inf)


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
