"""`ParetoSVC`: every trade-off between a wide margin and few violations of it, in one run.

`fit` holds some rows out, searches (`_front`), and measures what was found (`_front_machine`); what
comes after, from choosing to pictures, is that of every `FrontEstimator`.
"""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import (
    check_choice,
    check_count,
    check_positive,
    check_seconds,
    is_precomputed,
    shorten,
)
from parsimon._data import Rows, merged_rows, validate_data
from parsimon._deadline import end_after
from parsimon._interrupts import stoppable
from parsimon._parallel import one_thread
from parsimon._random import Seed, seed_sequence
from parsimon._typing import Array, Indices
from parsimon.exceptions import EmptyFrontError, InvalidInputError, ScalingWarning
from parsimon.pareto import Checkpoint, SearchResult, choose
from parsimon.pareto.choose import Rule, check_rule
from parsimon.pareto.estimator import FrontEstimator
from parsimon.svm._front import MarginProblem, evolve_front, evolve_printed, exact_path
from parsimon.svm._front_machine import (
    FrontSVC,
    Holdout,
    TrainedRows,
    describe_search,
    held_weights,
    list_rules,
    loss_weights,
    machine_front,
    margin_problem,
    measure_front,
    two_classes,
)
from parsimon.svm._gram import BinaryKernelMachine, copy_columns, fit_gram
from parsimon.svm.indefinite import training_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Objectives = Literal["primal", "dual", "exact"]
# Generations if the user says nothing; why "primal" needs few is told in `ParetoSVC`.
_GENERATIONS = {"primal": 10, "dual": 1000}


class ParetoSVC(BinaryKernelMachine, FrontEstimator):
    r"""Support vector machines of which none has both a wider margin and less loss.

    A support vector machine minimises :math:`\frac12 \|w\|^2 + C \sum_i \xi_i`, and C has to be
    guessed. Here the two terms are two objectives, and the whole front between them comes out of
    one run [1]_. Some rows are held out: the errors on training and held-out rows along the front
    show where overfitting begins (`plot_overfitting`), and the machine with the fewest errors on
    the rows held out is the one that `predict` uses. `select` returns any other as an ordinary
    fitted classifier. Probabilities are fitted to decisions about rows that a machine has not
    seen: by five-fold cross-fitting at its C if it is solved anew, else on the rows held out;
    without either there are none. The greater is always that of the class that `predict` returns.

    Two classes; for more, wrap it in `sklearn.multiclass.OneVsOneClassifier`.

    Parameters
    ----------
    objectives : {"primal", "dual", "exact"}
        "primal": a few exact machines, and between them evolution of the dual variables with
        margin term and hinge loss as objectives. Most of the front comes from blending the exact
        machines; the generations that follow added one per cent to the volume that it dominates
        on two small tables, and less than a thousandth on larger, noisier ones.
        "exact": `n_points` machines solved one after another along C, each from those before it;
        for a few hundred rows, and with the extra `fast`, quicker still.
        "dual": the search as the source prints it, NSGA-II from zero with distances that are not
        normalised: :math:`-\alpha^T Q \alpha`, :math:`\sum \alpha_i` and
        :math:`-|\sum \alpha_i y_i|` are maximised. They do not trade margin against error. Their
        exact Pareto set is one ray, multiples of one hard-margin machine; with a bound on the
        variables it is the path of the nu-SVM, whose end at large sums is a Parzen classifier.
        What looks like a trade-off is how far the search has come. For comparison with the source
        only.
    kernel, gamma
        As in `sklearn.svm.SVC`; also a kernel of `parsimon.kernels`. Negative eigenvalues of the
        kernel matrix are made positive.
    C_range : tuple of float
        Least and greatest price of the loss; not for "dual".
    n_points : int
        Size of the population, or number of exact machines.
    validation_fraction : float
        Share of the rows of each class that is held out; 0 for none, and none either if a class
        has a single row. Rows given to `fit` as `X_val` take their place.
    choose : str, int or callable
        The rule by which the default machine is chosen, as in `select`.
    refit : bool
        Whether a selected machine is solved anew, with its C, on all rows, those that were held
        out included; never for "dual", which has no C. If the new one breaks the conditions that
        the old one was chosen under, such as ``n_support<=20``, the old one stands.
    class_weight : dict, "balanced" or None
        Multiplies the loss of the rows of a class, and how much an error there counts.
    max_iter : int, optional
        Generations; if left out, 10 for "primal", 1000 for "dual". "exact" has none.
    time_limit : float, optional
        Seconds for the search; the best so far is kept. So it is on Ctrl-C.
    checkpoint : str, Path or Checkpoint, optional
        A file for the state of the search, from which it goes on to the same result.
    verbose : bool
        Show progress.
    random_state : int, Generator, SeedSequence, RandomState or None

    Attributes
    ----------
    front_ : Front
        Columns ``margin_term`` (half the squared norm; the margin is 1 over the norm),
        ``hinge_loss``, ``training_error`` and ``n_support``, all to be small; for "dual" its own
        objectives take the place of the first. The objectives of the search alone decide who is
        on it. The constant classifier is always there.
    best_estimator_ : FrontSVC
        The machine that `choose` picks, which `predict` uses.
    best_index_ : int
        Its place on the front.
    classes_ : ndarray of shape (2,)
    n_holdout_ : float
        Weight of the rows held out.
    n_iter_, n_evaluations_ : int
        Generations and solutions evaluated; for "exact" both are the number of machines.
    stopped_by_ : str
        Why the search ended: "max_iter", "time_limit" or "interrupt".
    smallest_eigenvalue_ : float
        Of the kernel matrix of the training rows before any repair, computed when asked for.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    References
    ----------
    .. [1] Mierswa (2009), dissertation, TU Dortmund, section 3.2. Its dual objectives are
       ``objectives="dual"``; why they are not the default is told there.

    Examples
    --------
    >>> from parsimon.datasets import make_banana
    >>> X, y = make_banana(300, random_state=0)
    >>> search = ParetoSVC(random_state=0).fit(X[:200], y[:200])
    >>> search.front_
    Front: ... solutions, margin_term down, hinge_loss down, training_error down, n_support down
    >>> small = search.select("training_error where n_support<=60")
    >>> len(small.support_) <= 60, search.score(X[200:], y[200:]) > 0.85
    (True, True)
    """

    best_estimator_: FrontSVC

    def __init__(
        self,
        objectives: Objectives = "primal",
        *,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        C_range: tuple[float, float] = (1e-2, 1e3),
        n_points: int = 100,
        validation_fraction: float = 0.2,
        choose: Rule = "auto",
        refit: bool = True,
        class_weight: Any = None,
        max_iter: int | None = None,
        time_limit: float | None = None,
        checkpoint: Checkpoint | str | Path | None = None,
        verbose: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.objectives = objectives
        self.kernel = kernel
        self.gamma = gamma
        self.C_range = C_range
        self.n_points = n_points
        self.validation_fraction = validation_fraction
        self.choose = choose
        self.refit = refit
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    @stoppable
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, X_val: Any = None, y_val: Any = None
    ) -> Self:
        """Search for the front, and choose the default machine.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Square, of similarities, for ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Labels, of two classes.
        sample_weight : array-like of shape (n,), optional
            How many times each row counts, in the loss and in errors.
        X_val, y_val : array-like of shape (m, d) and (m,), optional
            Rows to choose by, instead of some of X.

        Returns
        -------
        ParetoSVC
            Itself.
        """
        check_front_options(self)
        deadline = end_after(self.time_limit)
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes, weights = two_classes(y, sample_weight)
        rows = merged_rows(X, codes, weights, merge=not is_precomputed(self))
        gram = fit_gram(self, X, rows.places, rows.weights)
        seed, chosen, trained, held = split_rows(self, rows, X_val)
        with one_thread():
            made = training_matrix(gram.subset(chosen), "flip")
            problem = margin_problem(self, made, trained, self.classes_)
            basis = TrainedRows(made.definiteness, made.map, trained, self.classes_, X)
            # Before the search, so that rows that cannot be used are refused at once.
            holdout = holdout_of(self, basis, held, X_val, y_val)
            if isinstance(self.choose, str):
                plain_rule(self.choose, has_holdout=holdout is not None)
            result = search_machines(self, problem, seed, deadline)
            template = FrontSVC(
                kernel=self.kernel, gamma=self.gamma, class_weight=self.class_weight
            )
            self._machines, figures, constant = describe_search(
                result, problem, basis, holdout, copy_columns(self, template)
            )
        self._given = (X, y, sample_weight) if len(held) else None
        self.n_holdout_ = figures.n_rows
        self.n_iter_, self.n_evaluations_ = result.n_iter, result.n_evaluations
        self.stopped_by_ = result.stopped_by
        return self._keep_front(self._machines.front, figures, fallback=constant)

    @property
    def smallest_eigenvalue_(self) -> float:
        """The smallest eigenvalue of the training rows' kernel matrix, before any repair."""
        check_is_fitted(self)
        return self._machines.basis.definiteness.measured.smallest

    def select(self, rule: Rule | None = None) -> FrontSVC:
        """Return the fitted classifier that a rule chooses from the front.

        Parameters
        ----------
        rule : str, int or callable, optional
            "holdout_error": the fewest errors on the rows held out, of equal ones the widest
            margin. "one_se": the widest margin within one standard error of that.
            "training_error"; "dual": the greatest undivided dual objective; "knee",
            "knee:tradeoff": of the objectives of the search, "one_se" if that errs more on the
            rows held out. "auto": "holdout_error", or "knee"
            if no rows were held out. "best:n_support" and every other rule of
            `parsimon.pareto.choose`. Any of them among machines that meet conditions: "one_se
            where n_support<=20". An index, or a function of the front. `choose` if left out.

        Returns
        -------
        FrontSVC
            Solved anew on all rows if `refit`, unless that would break the conditions; otherwise
            as it is on the front.

        Notes
        -----
        A rule in words chooses among machines that err less than one class for every row does, on
        the rows held out if there are any, and is an error if there are none.
        """
        check_is_fitted(self)
        rule = self.choose if rule is None else rule
        return self._machine(self._index(rule), rule)

    def walk(self, k: int = 5) -> list[FrontSVC]:
        """Return `k` machines along the front, from the widest margin to the narrowest.

        They are evenly spaced along the curve of hinge loss against the logarithm of the margin,
        and not refitted. The first is the constant classifier (Mierswa 2009, figure 3.4).
        """
        check_is_fitted(self)
        places = walk_places(self._machines.columns, check_count("k", k))
        return [self._machines(int(place)) for place in places]

    def plot(  # type: ignore[override]  # its pictures have no further options
        self,
        kind: Literal["front", "overfitting"] = "front",
        *,
        chosen: Rule | None = None,
        ax: "Axes | None" = None,
    ) -> "Axes":
        """Draw the front and mark a machine, that which `predict` uses by default.

        Parameters
        ----------
        kind : {"front", "overfitting"}
            The objectives of the search, or `plot_overfitting`.
        chosen : str, int or callable, optional
            The machine to mark, as in `select`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        """
        from parsimon.svm.plot import plot_overfitting, plot_trade

        check_is_fitted(self)
        check_choice("kind", kind, ("front", "overfitting"))
        draw = plot_trade if kind == "front" else plot_overfitting
        index = self.best_index_ if chosen is None else self._index(chosen)
        return draw(self._machines, chosen=index, ax=ax)

    def plot_overfitting(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw training and hold-out error along the front, under the front itself.

        Where both part, overfitting begins (Mierswa 2009, section 3.2.5). With `ax` the errors
        alone are drawn there. Returns the axes of the errors.
        """
        return self.plot("overfitting", ax=ax)

    def plot_walk(self, k: int = 5) -> "Figure":
        """Draw what `k` machines along the front predict, for a table of two columns."""
        from parsimon.svm.plot import plot_walk

        check_is_fitted(self)
        return plot_walk(self._machines, walk_places(self._machines.columns, check_count("k", k)))

    def decision_function(self, X: Any) -> Array:
        """Return the default machine's values, positive for ``classes_[1]``, shape (m,)."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def _index(self, rule: Rule) -> int:
        return super()._index(
            plain_rule(rule, has_holdout=self.n_holdout_ > 0) if isinstance(rule, str) else rule
        )

    def _solution(self, index: int) -> FrontSVC:
        return self._machine(index, self.choose)

    def _machine(self, index: int, rule: Rule) -> FrontSVC:
        """Return the machine at a place, solved anew if that keeps what the rule asked for."""
        has_price = self._machines.columns["C"][index] > 0 and self.objectives != "dual"
        if not self.refit or self._given is None or not has_price:
            return self._machines(index)
        X, y, sample_weight = self._given
        with warnings.catch_warnings():
            # The search has warned of the same rows.
            warnings.simplefilter("ignore", ScalingWarning)
            again = self._machines.unfitted(index).fit(X, y, sample_weight)
        copy_columns(self, again)
        return again if self._still_meets(again, index, rule) else self._machines(index)

    def _still_meets(self, again: FrontSVC, index: int, rule: Rule) -> bool:
        """Tell whether a machine solved anew is one that the rule might have chosen."""
        if not isinstance(rule, str) or rule.strip().lstrip("-").isdigit():
            return True
        columns = {name: column[[index]] for name, column in self._machines.columns.items()}
        columns |= again.columns_
        figures = measure_front(
            columns, again.beats_constant_, is_dual=False, n_holdout=self.n_holdout_
        )
        conditions = rule.partition(" where ")[2]
        try:
            choose(
                machine_front(columns, is_dual=False),
                f"C where {conditions}" if conditions else "C",
                figures,
            )
        except EmptyFrontError:
            return False
        return True


def plain_rule(text: str, *, has_holdout: bool) -> str:
    """Return a rule that every front knows instead of one of our own."""
    rule, where, conditions = text.partition(" where ")
    if rule.strip() == "auto":
        rule = "holdout_error" if has_holdout else "knee"
    if rule.strip() == "dual":
        rule = "best:dual_objective"
    if not has_holdout and (rule.startswith("one_se") or "holdout_error" in text):
        raise InvalidInputError(
            "No rows were held out; give validation_fraction, or X_val and y_val to fit, or "
            "choose by another rule such as knee."
        )
    return rule + where + conditions


def check_front_options(options: ParetoSVC) -> None:
    """Refuse options that cannot be used."""
    check_choice("objectives", options.objectives, ("primal", "dual", "exact"))
    check_choice("refit", options.refit, (True, False))
    check_rule(options.choose, list_rules(options.objectives == "dual"), ("auto", "dual"))
    check_count("n_points", options.n_points, least=2)
    check_seconds("time_limit", options.time_limit)
    fraction = options.validation_fraction
    if not isinstance(fraction, Real) or not 0 <= float(fraction) < 1:
        raise InvalidInputError(
            f"validation_fraction must be a share from 0 up to but not 1, got {fraction!r}."
        )
    if options.max_iter is not None:
        check_count("max_iter", options.max_iter, least=0)
    C_bounds(options.C_range)


def C_bounds(C_range: Any) -> tuple[float, float]:
    """Return least and greatest price as floats."""
    try:
        least, most = C_range
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"C_range must be two numbers, got {C_range!r}.") from error
    least, most = check_positive("C_range", least), check_positive("C_range", most)
    if not least < most:
        raise InvalidInputError(f"C_range must increase, got {C_range!r}.")
    return least, most


def split_rows(options: ParetoSVC, rows: Rows, X_val: Any) -> tuple[Seed, Indices, Rows, Rows]:
    """Return the seed of the search, which rows train, those rows, and those to hold out."""
    search: Seed
    search, split = seed_sequence(options.random_state).spawn(2)
    if options.random_state is None and options.checkpoint is not None:
        # The file has the seed of the search; the rows must be the same when it resumes.
        search, split = None, np.random.SeedSequence(0)
    fraction = float(options.validation_fraction) if X_val is None else 0.0
    held = held_weights(rows, fraction, np.random.default_rng(split))
    chosen, outside = np.flatnonzero(rows.weights > held), np.flatnonzero(held)
    trained = replace(rows.of(chosen), weights=(rows.weights - held)[chosen])
    return search, chosen, trained, replace(rows.of(outside), weights=held[outside])


def holdout_of(
    options: ParetoSVC, basis: TrainedRows, held: Rows, X_val: Any, y_val: Any
) -> Holdout | None:
    """Return the rows to choose by: given ones, or those held out, or none."""
    if (X_val is None) != (y_val is None):
        raise InvalidInputError("X_val and y_val belong together; give both, or neither.")
    if X_val is None:
        if not len(held.places):
            return None
        rows, codes, counts = basis.X[held.places], held.y, held.weights
    else:
        rows, labels = validate_data(options, X_val, y_val, dtype=np.float64, reset=False)
        unknown = np.setdiff1d(labels, options.classes_)
        if len(unknown):
            raise InvalidInputError(
                f"y_val has labels that y has not: {shorten(unknown.tolist())}."
            )
        codes, counts = np.searchsorted(options.classes_, labels), np.ones(len(labels))
    # Weights of classes are those that the training rows lead to.
    trained = loss_weights(basis.rows, options.class_weight, basis.classes) / basis.rows.weights
    share = np.array([trained[basis.rows.y == code][0] for code in (0, 1)])
    return Holdout(
        basis.gram.between(rows),
        np.where(codes == 1, 1.0, -1.0),
        counts * share[codes],
        float(counts.sum()),
    )


def search_machines(
    options: ParetoSVC, problem: MarginProblem, seed: Seed, deadline: float | None
) -> SearchResult:
    """Run the search that the options ask for."""
    common: dict[str, Any] = {
        "deadline": deadline,
        "checkpoint": options.checkpoint,
        "verbose": options.verbose,
        "random_state": seed,
    }
    bounds, n_points = C_bounds(options.C_range), options.n_points
    if options.objectives == "exact":
        return exact_path(problem, np.geomspace(*bounds, n_points), **common)
    common |= {
        "n_points": n_points,
        "max_iter": _GENERATIONS[options.objectives]
        if options.max_iter is None
        else int(options.max_iter),
    }
    if options.objectives == "primal":
        return evolve_front(problem, C_range=bounds, **common)
    return evolve_printed(problem, **common)


def walk_places(columns: Mapping[str, Array], k: int) -> Indices:
    """Return the places of `k` machines along a front, from the widest margin to the narrowest.

    They are evenly spaced along the curve of hinge loss against the logarithm of the margin term,
    both scaled to [0, 1]. The constant classifier, which has no such logarithm, is one step
    before the others. A front of fewer machines gives fewer.
    """
    terms = columns["margin_term"]
    order = np.argsort(terms, kind="stable")
    positive = order[terms[order] > 0]
    if k == 1 or not len(positive):
        return order[:1]
    curve = np.column_stack([np.log(terms[positive]), columns["hinge_loss"][positive]])
    width = np.ptp(curve, axis=0)
    steps = np.diff(curve, axis=0) / np.where(width > 0, width, 1.0)
    lengths = np.append(0.0, np.hypot(*steps.T).cumsum())
    has_constant = len(positive) < len(order)
    wished = np.linspace(0.0, 1.0, k)[1 if has_constant else 0 :] * lengths[-1]
    nearest = np.unique(np.abs(lengths - wished[:, None]).argmin(axis=1))
    return np.append(order[:1], positive[nearest]) if has_constant else positive[nearest]
