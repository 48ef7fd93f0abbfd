"""`ParetoRVC`: every useful trade-off between true positives, false alarms and model size.

`fit` makes the dictionary, splits the rows, searches (`_search`) and turns what was found into a
front (`_solutions`); choosing, tables and prediction are those of every `FrontEstimator`.
`plot_roc_levels` draws what more complexity buys in the ROC plane: one staircase for each level,
nested.
"""

import time
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import (
    check_choice,
    check_count,
    check_positive,
    check_seconds,
    finite_vector,
    is_precomputed,
    warn_of_units,
)
from parsimon._data import Rows, check_classes, row_weights, validate_data
from parsimon._interrupts import stoppable
from parsimon._random import Seed, seed_sequence
from parsimon._style import GREY, VERMILION, figure_style, new_axes, sequential_colours
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Checkpoint, Front
from parsimon.pareto.choose import Rule, check_rule
from parsimon.pareto.estimator import FrontEstimator
from parsimon.pareto.front import write_number
from parsimon.roc import front_area
from parsimon.rvm._calibration import agreeing_probability
from parsimon.rvm._classes import class_targets
from parsimon.rvm._evaluators import check_complexity
from parsimon.rvm._problem import (
    TWO_ARCHIVES,
    RelevanceProblem,
    RowSplit,
    given_split,
    homogeneous_split,
    single_rows,
)
from parsimon.rvm._search import ArchiveResult, search
from parsimon.rvm._setup import (
    Dictionary,
    check_machine_options,
    make_dictionary,
    prepare_rows,
    sparse_options,
)
from parsimon.rvm._solutions import TrainingTable, front_of, rule_names
from parsimon.rvm.classifier import RVC

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Complexity = Literal["active", "degrees_of_freedom"]
# Levels of complexity in the picture of rates.
MOST_LEVELS = 5


class ParetoRVC(ClassifierMixin, FrontEstimator):
    """Relevance vector machines of which none is better in everything.

    An evolutionary search over which basis functions are in a model and how strongly each is held
    back [1]_. It keeps every solution that no other beats in true positive rate, false positive
    rate and complexity at once; all thresholds of a model are swept at once. With three classes
    or more, the rate of each class is an objective.

    `predict` uses the solution that `choose` picks; `select` returns any other as an ordinary
    fitted `RVC`.

    Parameters
    ----------
    kernel, gamma, centres, bias
        As in `RVC`: the dictionary to choose from. A `MultiResolution` offers several widths.
    cv : None, int, splitter, iterable, "swap", "shuffle", "stratified" or "homogeneous"
        On which rows solutions are judged. A number K: mean rates over K nearly homogeneous
        held-out folds, the best guard against overfitting; so with folds of your own, as in
        scikit-learn, if they hold every row out once. None: the rows that they are fitted to. A
        word: what is good on one half of the rows must also be good on the other; whenever
        something is, "swap" exchanges the halves, "shuffle" splits anew at random, "stratified"
        within each class, "homogeneous" so that the halves look alike (two classes only).
    complexity : {"active", "degrees_of_freedom"}
        Number of functions in the model without the bias, or sum of 1 / (1 + alpha) as printed in
        [1]_. Only the first cannot be gamed: huge precisions make the other vanish whatever the
        number of functions, while the order of the scores stays useful.
    thresholds : "exact" or float
        Every distinct score, or steps between probabilities, such as 0.01, as in [1]_. With three
        classes or more, the offsets of the scores lie on a lattice: the finest with at most 300
        points, or with this step.
    choose : str, int or callable
        The rule by which the default solution is chosen, as in `select`: "training_accuracy" or
        "accuracy", on the training rows or by the figures of the front; "one_se", the least
        complex within one standard error of the most accurate; "knee", that of the least error at
        each complexity, or "one_se" if the error there is larger than that allows; or any other
        of `parsimon.pareto.choose`. None of them ends at the same class for every row: where only
        that is left, `fit` keeps the most frequent class with a warning. The default is the
        source's. On seven of its tables, ten splits each, it was not to be told from "accuracy"
        on rows held out; "one_se" lost one point in a hundred and needed half as many functions.
        The rules were compared on these very rows, so expect no better of the default elsewhere.
    max_iter : int, optional
        Iterations; if left out, 20,000 (5,000 with three classes or more).
    stall : int, optional
        End when nothing has entered the archive for more than so many iterations.
    time_limit : float, optional
        Seconds for the whole fit; the best so far is kept. So it is on Ctrl-C.
    checkpoint : str, Path or Checkpoint, optional
        A file for the state of the search, from which it goes on to the same result. An archive
        that Ctrl-C stopped is there as it was last saved.
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
    calibration_ : Calibration
        The `slope` and `shift` that its scores go through to become log odds.
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
    n_evaluations_ : int
        Models fitted, folds not counted.
    stopped_by_ : str
        Why the search ended: "max_iter", "stall", "time_limit" or "interrupt".
    history_ : ArchiveHistory
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
    >>> search = ParetoRVC(gamma=4.0, max_iter=100, random_state=0).fit(X, y)
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
        centres: Any = None,
        bias: bool = True,
        cv: Any = 5,
        complexity: Complexity = "active",
        thresholds: float | Literal["exact"] = "exact",
        choose: Rule = "training_accuracy",
        max_iter: int | None = None,
        stall: int | None = 100,
        time_limit: float | None = None,
        checkpoint: Checkpoint | str | Path | None = None,
        verbose: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.centres = centres
        self.bias = bias
        self.cv = cv
        self.complexity = complexity
        self.thresholds = thresholds
        self.choose = choose
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

    @stoppable
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
        _check_options(self)
        deadline = None if self.time_limit is None else time.monotonic() + self.time_limit
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        labels, codes = np.unique(y, return_inverse=True)
        weights = row_weights(sample_weight, len(X))
        check_classes(labels, codes, weights)
        if isinstance(self.kernel, str) and not is_precomputed(self):
            warn_of_units(X, stacklevel=4)
        options = _single_machine(self)
        rows = prepare_rows(options, X, codes.astype(np.float64), weights)
        present, own = np.unique(rows.y.astype(np.intp), return_inverse=True)
        self.classes_ = labels[present]
        check_rule(self.choose, rule_names(self.classes_))
        options.multi_class = "one_vs_rest" if len(present) == 2 else "multinomial"
        made = make_dictionary(
            options,
            rows,
            class_targets(own, len(present)),
            task="classification",
            deadline=deadline,
            options=sparse_options(options),
        )
        seed, fold_seed = _seeds(self.random_state)
        split = _split(self, rows, made.design, (X, codes, weights), fold_seed)
        found = _run_search(self, made, rows, own, split, seed, deadline)
        self.n_iter_, self.n_evaluations_ = found.n_iter, found.n_evaluations
        self.stopped_by_, self.history_ = found.stopped_by, found.history
        held, names = split.held(len(own)), getattr(self, "feature_names_in_", None)
        table = TrainingTable(rows.X, made.design, own, self.classes_, rows.weights, held, names)
        parts = front_of(found, table, options, made.basis)
        self._keep_front(parts.front, parts.figures, parts.majority)
        self.calibration_ = parts.solutions.calibration(self.best_index_)
        return self

    def plot(
        self,
        *,
        kind: Literal["pair", "3d", "parallel", "roc"] | None = None,
        chosen: Rule | None = None,
        ax: "Axes | None" = None,
        **options: Any,
    ) -> Any:
        """Draw the front and mark a solution, that which `predict` uses by default.

        Parameters
        ----------
        kind : {"pair", "3d", "parallel", "roc"}, optional
            As in `Front.plot`; "roc" draws what solutions up to several complexities attain in
            the plane of both rates, for two classes.
        chosen : str, int or callable, optional
            The solution to mark, as in `select`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        **options
            As in `Front.plot`.
        """
        if kind != "roc":
            return super().plot(chosen=chosen, ax=ax, kind=kind, **options)
        front = self.front_
        index = self.best_index_ if chosen is None else self._index(chosen)
        return plot_roc_levels(front, chosen=index, ax=ax, **options)

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities in the order of `classes_`, shape (m, n_classes).

        Calibrated on rows held out from fits with the precisions of the default solution, and the
        class frequencies for all where these rows show no more. Otherwise the class that the cutoff
        predicts is never the less probable one: it has even odds at least, so that a cutoff which
        is no bargain at even odds spoils the probabilities of rows beside it. Those of a solution
        from `select` are its model's own, not calibrated.
        """
        check_is_fitted(self)
        scores = self.best_estimator_.decision_function(X)
        return agreeing_probability(self.calibration_, scores, self.decision_function(X))

    def decision_function(self, X: Any) -> Array:
        """Return the log odds of the default solution, counted from its cutoff.

        For two classes, shape (m,), positive where ``classes_[1]`` is predicted; for more, shape
        (m, n_classes), greatest for the class that is predicted.
        """
        check_is_fitted(self)
        model = self.best_estimator_
        # A cutoff is infinite where all rows are given to one class.
        return np.clip(model.decision_function(X) - model.cutoff, -1e300, 1e300)


def _single_machine(estimator: ParetoRVC) -> RVC:
    """Return the unfitted classifier with the options that both have."""
    return RVC(
        estimator.kernel,
        gamma=estimator.gamma,
        centres=estimator.centres,
        bias=estimator.bias,
        random_state=estimator.random_state,
    )


def _check_options(estimator: ParetoRVC) -> None:
    """Refuse options that cannot be used."""
    check_machine_options(_single_machine(estimator))
    check_complexity(estimator.complexity)
    check_seconds("time_limit", estimator.time_limit)
    if isinstance(estimator.cv, str):
        check_choice("cv", estimator.cv, TWO_ARCHIVES)
    elif isinstance(estimator.cv, Real):
        check_count("cv", estimator.cv, least=2)
    if isinstance(estimator.thresholds, str):
        check_choice("thresholds", estimator.thresholds, ("exact",))
    else:
        check_positive("thresholds", estimator.thresholds)


def _seeds(random_state: Seed) -> tuple[Seed, Seed]:
    """Return independent seeds of the search and of the folds.

    Without a seed only the search is left to chance: folds must be the same when it resumes.
    """
    if random_state is None:
        return None, 0
    root = seed_sequence(random_state)
    search, folds = (
        np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, number))
        for number in (0, 2)
    )
    return search, folds


def _split(
    estimator: ParetoRVC,
    rows: Rows,
    design: Array,
    given: tuple[Array, Indices, Array],
    seed: Seed,
) -> RowSplit:
    """Return the rows of the search and their folds, if `cv` asks for any.

    Shapes: design (n, M).
    """
    if estimator.cv is None or isinstance(estimator.cv, str):
        return single_rows(rows.weights)
    if isinstance(estimator.cv, Integral):
        inputs = design if is_precomputed(estimator) else rows.X
        return homogeneous_split(inputs, rows.weights, int(estimator.cv), seed)
    X, codes, weights = given
    return given_split(estimator.cv, X, codes, weights, rows.which)


def _run_search(
    estimator: ParetoRVC,
    made: Dictionary,
    rows: Rows,
    codes: Indices,
    split: RowSplit,
    seed: Seed,
    deadline: float | None,
) -> ArchiveResult:
    """Run the search that the options ask for.

    Shapes: codes (n,).
    """
    each, weights, folds = split
    n_classes = len(estimator.classes_)
    if n_classes > 2 and isinstance(estimator.cv, str):
        raise InvalidInputError(
            f"cv={estimator.cv!r} is for two classes, got {n_classes}; give cv a number or None."
        )
    limit = None
    if deadline is not None:
        # At least a little time, so that there is a front whatever the dictionary took.
        limit = max(deadline - time.monotonic(), 0.01)
    design = made.design
    if not np.array_equal(each, np.arange(len(design))):
        design = design[each]
    inputs = design if is_precomputed(estimator) else rows.X[each]
    problem = RelevanceProblem(
        design, codes[each] * 1.0, n_classes, made.basis.has_bias, weights, inputs
    )
    return search(
        problem,
        scheme=estimator.cv if folds is None else folds,
        complexity=estimator.complexity,
        thresholds=estimator.thresholds,
        max_iter=estimator.max_iter,
        stall=estimator.stall,
        time_limit=limit,
        checkpoint=estimator.checkpoint,
        verbose=estimator.verbose,
        random_state=seed,
    )


def plot_roc_levels(
    front: Front,
    *,
    levels: Sequence[float] | None = None,
    chosen: int | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the rates that solutions up to a complexity attain, for rising complexities."""
    tpr, fpr, complexity = _rates(front)
    if levels is None:
        chosen_levels = complexity_levels(complexity)
    else:
        chosen_levels = np.unique(finite_vector(levels, "levels"))
    with figure_style():
        axes = new_axes(ax, figsize=(5.6, 5.4))
        shades = sequential_colours()(np.linspace(0.0, 1.0, len(chosen_levels)))
        inner = np.array([0.0, 1.0]), np.array([0.0, 0.0])
        for level, shade in zip(chosen_levels, shades, strict=True):
            within = complexity <= level
            edge = draw_staircase(fpr[within], tpr[within])
            area = front_area(fpr[within], tpr[within]) if within.any() else 0.0
            axes.plot(
                *edge, color=shade, zorder=2, label=f"up to {write_number(level)}: area {area:.2f}"
            )
            if level > chosen_levels[0]:
                # The band that this level adds: along its edge and back along the one before.
                band = [
                    np.concatenate([on, back[::-1]]) for on, back in zip(edge, inner, strict=True)
                ]
                axes.fill(*band, color=shade, alpha=0.35, linewidth=0, zorder=1)
            inner = edge
        axes.plot([0, 1], [0, 1], color=GREY, linestyle=":", linewidth=1.2, label="chance")
        if chosen is not None:
            _mark(axes, front, chosen)
        axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        axes.set_xlabel("false positive rate (lower is better)")
        axes.set_ylabel("true positive rate (higher is better)")
        axes.set_title("What complexity buys")
        axes.legend(title="complexity", loc="lower right", alignment="left", reverse=True)
    return axes


def complexity_levels(complexity: Array) -> Array:
    """Return at most five complexities that occur, spread evenly over log rank."""
    occurring = np.unique(complexity[complexity > 0])
    if not len(occurring):
        return np.zeros(1)
    ranks = np.unique(np.geomspace(1, len(occurring), MOST_LEVELS).round().astype(np.intp))
    return occurring[ranks - 1]


def draw_staircase(fpr: Array, tpr: Array) -> tuple[Array, Array]:
    """Return the edge of what points strictly dominate, from (0, 0) to (1, 1)."""
    order = np.lexsort((tpr, fpr))
    across = np.concatenate([[0.0], fpr[order], [1.0]])
    up = np.maximum.accumulate(np.concatenate([[0.0], tpr[order], [1.0]]))
    return np.repeat(across, 2)[1:], np.repeat(up, 2)[:-1]


def _rates(front: Front) -> tuple[Array, Array, Array]:
    if not {"tpr", "fpr", "complexity"} <= set(front.names):
        raise InvalidInputError(
            "ROC levels need the objectives tpr, fpr and complexity, which a search with two "
            f"classes has; this front has {', '.join(front.names)}."
        )
    tpr, fpr, complexity = (
        front.values[:, front.directions.position(name)] for name in ("tpr", "fpr", "complexity")
    )
    return tpr, fpr, complexity


def _mark(axes: "Axes", front: Front, chosen: int) -> None:
    point = front[int(chosen)].objectives
    axes.scatter(
        point["fpr"],
        point["tpr"],
        s=110,
        facecolor="none",
        edgecolor=VERMILION,
        linewidth=2.4,
        zorder=5,
        label=f"chosen, complexity {write_number(point['complexity'])}",
    )
