"""`ParetoSVC`: every trade-off between a wide margin and few violations of it, in one run."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from parsimon._checks import check_choice, check_count, is_precomputed
from parsimon._data import merged_rows
from parsimon._parallel import one_thread
from parsimon._random import Seed
from parsimon._typing import AnyArray, Array
from parsimon.pareto import Checkpoint, Front, SearchResult
from parsimon.pareto.choose import Rule
from parsimon.svm._front import (
    check_search_options,
    holdout_of,
    search_for,
    split_rows,
    template_of,
    walk_places,
)
from parsimon.svm._front_machine import (
    Basis,
    FrontSVC,
    fitted_gram,
    found_in,
    training_of,
    two_classes,
)
from parsimon.svm._front_machine import choose as choose_machine
from parsimon.svm.indefinite import kernel_spectrum

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Objectives = Literal["primal", "dual", "exact"]


class ParetoSVC(ClassifierMixin, BaseEstimator):
    r"""Support vector machines of which none has both a wider margin and less loss.

    A support vector machine minimises :math:`\frac12 \|w\|^2 + C \sum_i \xi_i`, and C has to be
    guessed. Here the two terms are two objectives, and the whole front between them comes out of
    one run [1]_. Some rows are held out: the errors on training and held-out rows along the front
    show where overfitting begins (`plot_overfitting`), and the machine with the fewest errors on
    the rows held out is the one that `predict` uses. `select` returns any other as an ordinary
    fitted classifier.

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
        "dual": the objectives as the source prints them, maximised by NSGA-II from zero:
        :math:`-\alpha^T Q \alpha`, :math:`\sum \alpha_i` and, with `balance`,
        :math:`-|\sum \alpha_i y_i|`. They do not trade margin against error. Their exact Pareto
        set is one ray, multiples of one hard-margin machine; with a bound on the variables it is
        the path of the nu-SVM, whose end at large sums is a Parzen classifier. What looks like a
        trade-off is how far the search has come. For comparison with the source only.
    kernel, gamma, degree, coef0
        As in `sklearn.svm.SVC`; also a kernel of `parsimon.kernels`.
    C_range : tuple of float
        Least and greatest price of the loss; not for "dual".
    n_points : int
        Size of the population, or number of exact machines.
    n_seeds : int
        Exact machines that "primal" begins with.
    path : {"C", "nu"}
        "exact" goes along even steps of log C, or nearly even steps of nu, the bound on the share
        of violated rows.
    balance : bool
        Whether "dual" has its third objective.
    preset : "printed" or None
        "dual" as in the source: population 100, 1000 generations, three objectives, distances
        that are not normalised.
    indefinite : {"native", "clip", "flip", "shift"}
        What to do with negative eigenvalues of the kernel matrix. "native" leaves them: then the
        margin term may be negative, and the machines are stationary points.
    validation_fraction : float
        Share of the rows of each class that is held out; 0 for none, and none either if a class
        has a single row. Rows given to `fit` as `X_val` take their place.
    choose : str, int or callable
        The rule by which the default machine is chosen, as in `select`.
    refit : bool
        Whether a selected machine is solved anew, with its C, on all rows, those that were held
        out included; never for "dual", which has no C.
    class_weight : dict, "balanced" or None
        Multiplies the loss of the rows of a class, and how much an error there counts.
    tol : float
        Gap in the conditions of optimality at which an exact machine is accepted.
    max_iter : int, optional
        Generations; if left out, 10 for "primal", 300 for "dual". "exact" has none.
    stall : int, optional
        End when the front has not improved for so many generations.
    time_limit : float, optional
        Seconds for the search; the best so far is kept. So it is on Ctrl-C.
    callback : callable, optional
        Called with a `parsimon.pareto.SearchResult` after each generation, or each exact machine;
        the search ends if it returns a true value.
    checkpoint : str, Path or Checkpoint, optional
        A file for the state of the evolution, from which it goes on to the same result.
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
        Why the search ended: "max_iter", "stall", "time_limit", "callback" or "interrupt".
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

    def __init__(
        self,
        objectives: Objectives = "primal",
        *,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        C_range: tuple[float, float] = (1e-2, 1e3),
        n_points: int = 100,
        n_seeds: int = 12,
        path: Literal["C", "nu"] = "C",
        balance: bool = False,
        preset: Literal["printed"] | None = None,
        indefinite: Literal["native", "clip", "flip", "shift"] = "native",
        validation_fraction: float = 0.2,
        choose: Rule = "auto",
        refit: bool = True,
        class_weight: Any = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        stall: int | None = None,
        time_limit: float | None = None,
        callback: Callable[[SearchResult], Any] | None = None,
        checkpoint: Checkpoint | str | Path | None = None,
        verbose: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.objectives = objectives
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.C_range = C_range
        self.n_points = n_points
        self.n_seeds = n_seeds
        self.path = path
        self.balance = balance
        self.preset = preset
        self.indefinite = indefinite
        self.validation_fraction = validation_fraction
        self.choose = choose
        self.refit = refit
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.stall = stall
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
        check_search_options(self)
        deadline = None if self.time_limit is None else time.monotonic() + self.time_limit
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes, weights = two_classes(y, sample_weight)
        rows = merged_rows(X, codes, weights, merge=not is_precomputed(self))
        gram = fitted_gram(self, X, rows)
        seed, chosen, held = split_rows(self, rows, X_val)
        with one_thread():
            trained, gram_trained = rows.of(chosen), gram.subset(chosen)
            training, repair = training_of(self, gram_trained, trained, self.classes_)
            result = search_for(self, training, seed, deadline)
            basis = Basis(gram_trained, repair, trained, self.classes_, X)
            self._found = found_in(
                result,
                training,
                basis,
                holdout_of(self, basis, rows.of(held), X_val, y_val),
                template=template_of(self),
                header=(self.n_features_in_, getattr(self, "feature_names_in_", None)),
                is_dual=self.objectives == "dual",
            )
        self._given = (X, y, sample_weight) if len(held) else None
        self.n_holdout_ = self._found.figures.n_holdout
        self.n_iter_, self.n_evaluations_ = result.n_iter, result.n_evaluations
        self.stopped_by_ = result.stopped_by
        self.best_index_ = self._index(self.choose)
        self.best_estimator_ = self._machine(self.best_index_)
        return self

    @property
    def front_(self) -> Front:
        """The non-dominated machines, from the widest margin to the narrowest."""
        check_is_fitted(self)
        return self._found.front()

    @property
    def smallest_eigenvalue_(self) -> float:
        """The smallest eigenvalue of the training rows' kernel matrix, before any repair."""
        check_is_fitted(self)
        repair = self._found.basis.repair
        if repair is not None:
            return repair.spectrum.smallest
        return kernel_spectrum(self._found.basis.gram.train).smallest

    def select(self, rule: Rule | None = None) -> FrontSVC:
        """Return the fitted classifier that a rule chooses from the front.

        Parameters
        ----------
        rule : str, int or callable, optional
            "holdout_error": the fewest errors on the rows held out, of equal ones the widest
            margin. "one_se": the widest margin within one standard error of that.
            "training_error"; "dual": the greatest undivided dual objective; "knee",
            "knee:tradeoff": of the objectives of the search. "auto": "holdout_error", or "knee"
            if no rows were held out. "best:n_support" and every other rule of
            `parsimon.pareto.choose`. Any of them among machines that meet conditions: "one_se
            where n_support<=20". An index, or a function of the front. `choose` if left out.

        Returns
        -------
        FrontSVC
            Solved anew on all rows if `refit`, otherwise as it is on the front.
        """
        check_is_fitted(self)
        return self._machine(self._index(self.choose if rule is None else rule))

    def walk(self, k: int = 5) -> list[FrontSVC]:
        """Return `k` machines along the front, from the widest margin to the narrowest.

        They are evenly spaced along the curve of hinge loss against the logarithm of the margin,
        and not refitted. The first is the constant classifier (Mierswa 2009, figure 3.4).
        """
        check_is_fitted(self)
        places = walk_places(self._found.figures, check_count("k", k))
        return [self._found(int(place)) for place in places]

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return a data frame, one row for each machine of the front, in its order.

        Besides the columns of the front it has the margin, C, the undivided dual objective and,
        if rows were held out, the error on these.
        """
        check_is_fitted(self)
        front, columns = self.front_, self._found.figures.columns
        frame = front.to_frame(backend)
        added = {name: column for name, column in columns.items() if name not in front.names}
        if backend == "polars":
            import polars

            return frame.with_columns(**{name: polars.Series(a) for name, a in added.items()})
        return frame.assign(**added)

    def plot(
        self, kind: Literal["front", "overfitting"] = "front", *, ax: "Axes | None" = None
    ) -> "Axes":
        """Draw the front and mark the default machine.

        Parameters
        ----------
        kind : {"front", "overfitting"}
            The objectives of the search, or `plot_overfitting`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        """
        from parsimon.svm.plot import plot_overfitting, plot_trade

        check_is_fitted(self)
        check_choice("kind", kind, ("front", "overfitting"))
        draw = plot_trade if kind == "front" else plot_overfitting
        return draw(self._found, chosen=self.best_index_, ax=ax)

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
        return plot_walk(self._found, walk_places(self._found.figures, check_count("k", k)))

    def predict(self, X: Any) -> AnyArray:
        """Return the class of each row by the default machine, shape (m,)."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def decision_function(self, X: Any) -> Array:
        """Return the default machine's values, positive for ``classes_[1]``, shape (m,)."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def _index(self, rule: Rule) -> int:
        return choose_machine(self._found.front(), self._found.figures, rule)

    def _machine(self, index: int) -> FrontSVC:
        model = self._found(index)
        has_price = self._found.figures.columns["C"][index] > 0 and self.objectives != "dual"
        if not self.refit or self._given is None or not has_price:
            return model
        X, y, sample_weight = self._given
        names = getattr(model, "feature_names_in_", None)
        model.fit(X, y, sample_weight)
        if names is not None:
            model.feature_names_in_ = names
        return model
