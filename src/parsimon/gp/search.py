"""`KernelSearch`: which variables matter, alone or together, found by growing a kernel.

Read `KernelSearch.fit` first: it tells what kind of target there is, draws the folds on which
every kernel is evaluated, and calls `beam_search`; `CandidateModel` turns a kernel that was found
into a fitted estimator.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self, cast

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import (
    binary_labels,
    check_choice,
    check_positive,
    check_seconds,
    shorten,
)
from parsimon._data import Task, tag_task, target_task, validate_data
from parsimon._deadline import end_after, time_left
from parsimon._interrupts import as_one_piece, stoppable
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.gp._beam import BeamOptions, KernelEvaluator, beam_search
from parsimon.gp._candidates import CHOICES, Candidate, CandidateModel, Choice, SearchHistory
from parsimon.gp._default_kernel import varying_columns
from parsimon.gp._grammar import (
    GROWTHS,
    Growth,
    base_kernels,
    grammar_of,
    supported_kernels,
    with_claimed_waves,
    with_likely_periods,
)
from parsimon.gp._kernel_evaluation import (
    Guide,
    KernelProblem,
    shared_folds,
    standard_target,
)
from parsimon.gp._memory import stored_seed
from parsimon.kernels import Kernel, plain, spoken, structure
from parsimon.pareto.choose import Figures, Rule
from parsimon.pareto.choose import choose as choose_from_front
from parsimon.pareto.estimator import FrontEstimator, with_columns
from parsimon.pareto.front import Front
from parsimon.structures import StructurePosterior, find_structures

_GROWING = 0.6


def _is_classifier(search: "KernelSearch") -> bool:
    return getattr(search, "task_", search.task) != "regression"


class KernelSearch(FrontEstimator):
    """Search for the kernel of a Gaussian process: which variables matter, alone or together.

    A beam search over sums and products of base kernels [1]_. Every kernel that grows from the
    beam is fitted to all rows, starting at its parent's hyperparameters and sites; leave-one-out,
    which costs nothing, picks a shortlist; the shortlist is cross-validated on folds that all
    kernels share. The search ends when the best guide does not fall any more. A kernel counts
    only if its evidence beats that of a constant by more than the number of kernels tried
    explains, so that pure noise yields "no structure found".

    What is claimed does not come from that race but from a posterior over structures [2]_: every
    variable, shape and interaction has the probability of all structures that hold it, and the
    kernel of those that are more probable than not is chosen by default.

    Parameters
    ----------
    base : str, Kernel, or sequence of them
        Base kernels for each column: "se" (smooth), "per" (periodic, begun at the period that the
        target shows), "lin" (a line with its height), "matern", "rq", or any positive
        semi-definite kernel. One without columns is given to every column, one with columns is
        used as it is.
    depth : int, optional
        Most base kernels; by default 4, or the number of columns if that is less.
    beam : int
        Kernels of a level that are grown further.
    guide : {"cv_error", "cv_logloss", "loo_logloss", "nlml", "bic"}
        What is minimised: cross-validated error or log loss, leave-one-out log loss, minus the
        log evidence, or minus twice the log evidence plus the number of hyperparameters times
        log n.
    cv : int, splitter or iterable of (train, test)
        A number means shuffled parts, not stratified.
    refit : bool
        Fit the hyperparameters anew in each fold; otherwise folds have those of all rows, which is
        quicker and a little kinder to kernels with many.
    choose : {"supported", "one_se", "least_error"}
        The kernel of all variables and interactions that are more probable than not (see
        `claims_`), the simplest kernel within one standard error of the least guide, or the kernel
        with the least guide.
    grow : {"all", "likely", "supported", "new_columns"}
        Which columns the search is about. "likely": every column alone, and larger kernels of
        variables that matter with a probability of a tenth or more. "supported": what `choose`
        takes, and nothing else, which is the same kernel and much quicker; where the folds choose
        nothing, they have the hyperparameters of all rows. "new_columns" is the source's program:
        each level must bring a new column, and the search ends at the first without an
        improvement, so that it misses pure interactions: of two variables that say nothing alone,
        neither improves anything before the other is there.
    task : {"auto", "classification", "regression"}
        What the target is. "auto": text, truth values and two distinct values are classes.
    n_jobs : int or None
        Processes, as in joblib; the result does not depend on it.
    time_limit : float, optional
        Seconds, for the kernel that the rows support among them. The best so far is kept.
    checkpoint : str or Path, optional
        A JSON file of what was measured. If it exists, the search goes on from it, to the same
        result; a deeper or wider search of the same data may use it too.
    random_state : int, Generator, SeedSequence, RandomState or None
        Shuffles the folds.
    verbose : bool
        Show progress.

    Attributes
    ----------
    best_kernel_ : Kernel
        With its hyperparameters on all rows; a `Constant` if no structure was found.
    best_estimator_ : GPClassifier or GPRegressor
        With that kernel, fitted to all rows.
    best_candidate_ : Candidate
        All that was measured of it.
    history_ : SearchHistory
        Every kernel of every level.
    stopped_by_ : {"depth", "no_improvement", "exhausted", "time_limit", "interrupt"}
        Why the search ended.
    first_layer_ : tuple of Candidate
        The one-kernel models, the best first.
    baseline_ : Candidate
        The constant kernel.
    front_ : Front
        Cross-validated error against the number of base kernels: what the next term buys. Its
        solutions are fitted estimators. These errors may have guided the search, so they are
        optimistic; `parsimon.evaluation` has honest ones.
    front_variables_ : Front
        The same against the number of variables.
    best_index_ : int or None
        The place of the best kernel on the front; None where it is not there, since another guide
        than the error chose it.
    structure_found_ : bool
        Whether anything but a constant was chosen.
    claims_ : tuple of Claim
        Which variables matter, which interact, and what shapes they have, each with its
        probability; those that are `certain` are beyond doubt, the others are suggestions.
    structures_ : StructurePosterior
        What the claims come from.
    problem_ : KernelProblem
        Rows, target (labels -1 and 1, or standardised numbers) and folds that every kernel was
        judged on.
    constant_columns_ : tuple of int
        Columns that were left out.
    task_ : str
    classes_ : ndarray of shape (2,)
        For labels.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    References
    ----------
    .. [1] He, "The Automatic Statistician for Classification" (2016), chapter 3; Duvenaud et al.
       (2013), "Structure discovery in nonparametric regression through compositional kernel
       search".
    .. [2] Barbieri and Berger (2004), "Optimal predictive model selection", Annals of Statistics
       32:870-897; `parsimon.structures.find_structures`.

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> iris = load("iris")
    >>> two = iris.target != "setosa"
    >>> search = KernelSearch(depth=2, random_state=0).fit(iris.data[two], iris.target[two])
    >>> print(search.first_layer_[0].kernel)
    SE_3
    >>> search.front_
    Front: ... solutions, error down, kernels down
    """

    # The kernel with the best guide need not be on the front of errors.
    best_index_: int | None  # type: ignore[assignment]
    choose: Choice

    def __init__(
        self,
        base: Any = ("se",),
        *,
        depth: int | None = None,
        beam: int = 2,
        guide: Guide = "cv_logloss",
        cv: Any = 5,
        refit: bool = True,
        choose: Choice = "supported",
        grow: Growth = "all",
        task: Literal["auto", "classification", "regression"] = "auto",
        n_jobs: int | None = 1,
        time_limit: float | None = None,
        checkpoint: str | Path | None = None,
        random_state: Seed = None,
        verbose: bool = False,
    ) -> None:
        self.base = base
        self.depth = depth
        self.beam = beam
        self.guide = guide
        self.cv = cv
        self.refit = refit
        self.choose = choose
        self.grow = grow
        self.task = task
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    @stoppable
    def fit(self, X: Any, y: Any, structures: StructurePosterior | None = None) -> Self:
        """Search for a kernel and fit a model with it.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Constant columns are left out.
        y : array-like of shape (n,)
            Two classes of any kind, or numbers.
        structures : StructurePosterior, optional
            What `parsimon.structures.find_structures` found of the same rows, for instance with
            columns that belong together; by default it is found here.

        Returns
        -------
        KernelSearch
            Itself.
        """
        deadline = end_after(self.time_limit)
        self._check_options()
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        self.task_: Task = target_task(y, self.task)
        target = self._labels(y) if self.task_ == "classification" else standard_target(y)
        seed = self._seed()
        base = self._base(X, target)
        self.structures_ = structures or self._structures(X, target)
        base = with_claimed_waves(base, self.structures_, X, target)
        self.problem_ = KernelProblem(
            X,
            target,
            self.task_,
            shared_folds(self.cv, X, y, seed),
            refits=self.refit and self._folds_choose(base),
        )
        self.claims_ = self.structures_.claims()
        grammar = grammar_of(base, self.structures_, self.grow)
        # Growing takes a share of the time that is left, so that some is for what is supported.
        options = self._search_options(X, grammar.base, seed, time_left(deadline, _GROWING))
        history = beam_search(self.problem_, grammar, options)
        self._evaluate = KernelEvaluator(self.problem_, history, grammar.base, seed)
        self._evaluate.end_by(deadline)
        with as_one_piece() as interrupt:
            try:
                history = self._with_supported(history, grammar.base)
            except KeyboardInterrupt as error:
                interrupt.answer(error)
                history = replace(history, stopped_by="interrupt")
        self._evaluate.end_by(None)
        self._store(history, X, y)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, or R squared for a numeric target."""
        from sklearn.metrics import accuracy_score, r2_score

        measure = accuracy_score if _is_classifier(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def select(
        self, rule: Rule | None = None, price: Literal["kernels", "variables"] = "kernels"
    ) -> Any:
        """Return the fitted model that a rule chooses from a front.

        Parameters
        ----------
        rule : str, int or callable, optional
            As in `parsimon.pareto.choose`: "knee", "best:error", "error where kernels<=2", an
            index, ... The columns of `to_frame` are its names; those of `choose` mean what they
            mean there, and its model is returned if the rule is left out. Where a structure was
            found, no text ends at the constant kernel: the rule then chooses among the others, or
            says that none is left.
        price : {"kernels", "variables"}
            Which front.

        Returns
        -------
        GPClassifier or GPRegressor
        """
        check_is_fitted(self)
        check_choice("price", price, ("kernels", "variables"))
        if rule is None:
            return self.best_estimator_
        if rule in CHOICES:
            return self._model(self.history_.chosen(cast("Choice", rule)))
        if price == "kernels":
            return super().select(rule)
        front = self.front_variables_
        return front.solution(choose_from_front(front, rule, self._figures_of(front)))

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return a data frame, one row for each kernel of the front, with all that is known of it.

        After the objectives come what was measured, the kernel as a formula and in words.
        """
        frame = super().to_frame(backend)
        names = getattr(self, "feature_names_in_", None)
        kernels = [candidate.kernel for candidate in self.history_.on(self.front_)]
        texts = {
            "kernel": [plain(kernel) for kernel in kernels],
            "words": [spoken(kernel, names) for kernel in kernels],
        }
        return with_columns(frame, texts)

    def judge(self, kernel: Kernel, *, time_limit: float | None = None) -> Candidate:
        """Judge a further kernel on the very rows and folds of the search.

        It is fitted to all rows, from its own hyperparameters, and cross-validated, with a refit
        in each fold unless only what is supported was looked for. A structure that was
        cross-validated before is not fitted again.

        Parameters
        ----------
        kernel : Kernel
            Any positive semi-definite one on the columns of the search.
        time_limit : float, optional
            Seconds after which a fit ends with the best so far; that is not remembered.

        Returns
        -------
        Candidate
            `judged_by` says "failed" where a fit broke down.

        Examples
        --------
        >>> from parsimon.datasets import load
        >>> from parsimon.kernels import SquaredExponential as SE
        >>> iris = load("iris")
        >>> two = iris.target != "setosa"
        >>> search = KernelSearch(depth=1, random_state=0).fit(iris.data[two], iris.target[two])
        >>> search.judge(SE(2) * SE(3)).judged_by
        'cross-validation'
        """
        check_is_fitted(self)
        return self._evaluate(kernel, check_seconds("time_limit", time_limit))

    def begin_again(self, starts: Iterable[Candidate]) -> bool:
        """Fit the best kernel from what was found on other rows, such as those of outer folds.

        Returns
        -------
        bool
            Whether greater evidence was found; the search then has that fit.
        """
        check_is_fitted(self)
        best = self.best_candidate_
        found = self._evaluate.improved(best, starts)
        if found is not best:
            self._store(self.history_.replaced(best, found), self._model.X, self._model.y)
        return found is not best

    def describe(self) -> str:
        """Return a few sentences: what was found, what it gains, and why the search ended."""
        check_is_fitted(self)
        names: Sequence[str] | None = getattr(self, "feature_names_in_", None)
        text = self.history_.describe(names, rule=self.choose)
        if not self.constant_columns_:
            return text
        left_out = [
            f"variable {column + 1}" if names is None else str(names[column])
            for column in self.constant_columns_
        ]
        return f"{text} Constant and left out: {', '.join(left_out)}."

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tag_task(tags, "classification" if _is_classifier(self) else "regression")
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_class = False
        return tags

    def _check_options(self) -> None:
        check_choice("task", self.task, ("auto", "classification", "regression"))
        check_choice("choose", self.choose, CHOICES)
        check_choice("grow", self.grow, GROWTHS)
        check_choice("refit", self.refit, (True, False))
        if self.grow == "supported" and self.choose != "supported":
            raise InvalidInputError(
                f'grow="supported" finds only what choose="supported" takes, got {self.choose!r}.'
            )
        if self.time_limit is not None:
            check_positive("time_limit", self.time_limit, or_zero=True)
        if not isinstance(self.checkpoint, str | os.PathLike | None):
            raise InvalidInputError(
                f"checkpoint must be the path of a file, got {type(self.checkpoint).__name__}."
            )
        if self.choose == "one_se" and self.guide in ("nlml", "bic"):
            raise InvalidInputError(
                f'choose="one_se" needs a guide with a standard error, and {self.guide} has none; '
                "take cv_error, cv_logloss or loo_logloss."
            )

    def _search_options(
        self, X: Array, base: Sequence[Kernel], seed: np.random.SeedSequence, limit: float | None
    ) -> BeamOptions:
        n_varying = X.shape[1] - len(self.constant_columns_)
        depth = min(4, n_varying) if self.depth is None else self.depth
        return BeamOptions(
            depth=1 if self.grow == "supported" else depth,
            beam=self.beam,
            guide=self.guide,
            patience=0 if self.grow == "new_columns" else 1,
            judge_first=self._folds_choose(base),
            n_jobs=self.n_jobs,
            time_limit=limit,
            checkpoint=self.checkpoint,
            verbose=self.verbose,
            seed=seed,
        )

    def _folds_choose(self, base: Sequence[Kernel]) -> bool:
        """Say whether folds choose anything: kernels, or base kernels of a column."""
        several = len({kernel.columns for kernel in base}) < len(base)
        return self.grow != "supported" or several

    def _seed(self) -> np.random.SeedSequence:
        """Return the seed; an unseeded search that resumes takes the one in its file."""
        stored = None if self.random_state is not None else stored_seed(self.checkpoint)
        return seed_sequence(self.random_state if stored is None else stored)

    def _base(self, X: Array, target: Array) -> tuple[Any, ...]:
        varying = varying_columns(X)
        self.constant_columns_ = tuple(k for k in range(X.shape[1]) if k not in varying)
        if len(self.constant_columns_) == X.shape[1]:
            raise InvalidInputError(
                f"All {X.shape[1]} columns of X are constant, so there is nothing to search."
            )
        base = base_kernels(self.base, X, intercept=self.task_ == "classification")
        return with_likely_periods(base, X, target, given=self.base)

    def _structures(self, X: Array, target: Array) -> StructurePosterior:
        names = getattr(self, "feature_names_in_", None)
        y = np.maximum(target, 0.0) if self.task_ == "classification" else target
        return find_structures(X, y, self.task_, names=names)

    def _with_supported(self, history: SearchHistory, base: Sequence[Kernel]) -> SearchHistory:
        """Return the history with the kernel that the rows support, and the sum of its parts."""
        leaves = {
            kernel.columns[0]: kernel for kernel in reversed(base) if kernel.columns is not None
        }
        begun = {structure(kernel): kernel for kernel in base}
        fitted = {column: candidate.kernel for column, candidate in history.best_by_column.items()}
        factors = {
            column: begun.get(structure(kernel), kernel) for column, kernel in fitted.items()
        }
        kernels = supported_kernels(self.structures_, leaves | fitted, leaves | factors)
        judged = map(self._evaluate.from_several_starts, kernels)
        sound = (candidate for candidate in judged if candidate.judged_by != "failed")
        first = next(sound, None)
        if first is None:
            return history
        return history.with_supported(first, () if self.grow == "supported" else sound)

    def _labels(self, y: AnyArray) -> Array:
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) > 2:
            raise InvalidInputError(
                f"Only binary classification is supported. The target has {len(self.classes_)} "
                f"classes: {shorten(self.classes_.tolist())}. Search for one against the rest, as "
                f"in y == {self.classes_[-1].item()!r}, one search for each class, or set "
                "task='regression' if they are numbers."
            )
        codes, _ = binary_labels(y)
        return np.where(codes == 1, 1.0, -1.0)

    def _store(self, history: SearchHistory, X: Array, y: AnyArray) -> None:
        names = getattr(self, "feature_names_in_", None)
        self._model = CandidateModel(self.task_, X, y, names)
        self.history_, self.stopped_by_ = history, history.stopped_by
        self.first_layer_ = history.first_layer
        self.baseline_ = history.baseline
        self.best_candidate_ = history.chosen(self.choose)
        self.structure_found_ = self.best_candidate_ is not history.baseline
        self.best_kernel_ = self.best_candidate_.kernel
        self.front_variables_ = history.front("variables", self._model)
        self._front = history.front("kernels", self._model)
        self._figures = self._figures_of(self._front)
        self.best_index_ = self._place(self.best_candidate_)
        self.best_estimator_ = self._model(self.best_candidate_)

    def _place(self, candidate: Candidate) -> int | None:
        """Return where on the front of errors a candidate is, if it is there."""
        on_front = self.history_.on(self._front)
        return next((place for place, other in enumerate(on_front) if other is candidate), None)

    def _index(self, rule: Rule) -> int:
        if rule not in CHOICES:
            return super()._index(rule)
        place = self._place(self.history_.chosen(cast("Choice", rule)))
        if place is None:
            raise InvalidInputError(
                f"The kernel that {rule!r} takes is not on the front of errors; take another rule."
            )
        return place

    def _figures_of(self, front: Front) -> Figures:
        """Return what was measured of the kernels of a front."""
        candidates = self.history_.on(front)
        rows = {
            "kernels": [candidate.n_base for candidate in candidates],
            "variables": [len(candidate.columns) for candidate in candidates],
            "standard_error": [candidate.standard_error for candidate in candidates],
            "log_loss": [candidate.log_loss for candidate in candidates],
            "loo_error": [candidate.loo_error for candidate in candidates],
            "loo_log_loss": [candidate.loo_loss for candidate in candidates],
            "nlml": [-candidate.log_evidence for candidate in candidates],
            "bic": [candidate.bic for candidate in candidates],
            "n_hyperparameters": [
                candidate.kernel.n_theta + (candidate.noise_variance is not None)
                for candidate in candidates
            ],
        }
        own = {name: np.array(row) for name, row in rows.items() if name not in front.names}
        sizes = sorted(("kernels", "variables"), key=lambda name: name not in front.names)
        structured = np.array([candidate is not self.baseline_ for candidate in candidates])
        return Figures(
            own,
            error="error",
            size=tuple(sizes),
            standard_error="standard_error",
            beats_constant=structured if self.structure_found_ else None,
            constant="the constant kernel",
        )
