"""`TransductiveSVC`: a support vector machine that also looks at the rows without labels."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice, check_count, check_seconds
from parsimon._data import validate_data
from parsimon._deadline import end_after
from parsimon._parallel import one_thread
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray, Array, Indices
from parsimon.svm._gram import KernelMachine
from parsimon.svm._labelling_search import (
    METHODS,
    LabelledMachines,
    LabellingOptions,
    choose_price,
    find_machines,
    inductive_machines,
    weigh,
)
from parsimon.svm._transductive_problem import (
    TransductiveProblem,
    TransductiveRows,
    check_labelled,
    costs,
    is_chosen,
    present_classes,
    problem_of,
    read_labels,
    read_rows,
)

Method = Literal["evolution", "greedy", "exhaustive"]
# Where classes are groups with gaps between them, slack is dear; less so that of guessed labels.
_TRANSDUCTIVE_PRICE, _UNLABELLED_SHARE = 10.0, 0.3


class TransductiveSVC(ClassifierMixin, KernelMachine):
    r"""A support vector machine whose boundary avoids the rows without labels, too.

    It looks for labels of the unlabelled rows and for a machine such that the margin to *all* rows
    is wide [1]_ [2]_:

    .. math::

       \min_{y^*, w, b} \tfrac12 \|w\|^2 + C \sum_{i} \xi_i + C^* \sum_{k} \xi^*_k

    that is, for the labelling whose dual optimum is least. Where classes are groups with gaps
    between them, a handful of labels is enough. Where they overlap, the widest gap need not be the
    boundary between classes. So by default the labelled rows are asked first, each left out in
    turn, and if they do not support the change the machine is that of the labelled rows alone, as
    `sklearn.svm.SVC` has it: `fell_back_` says which it was and `reason_` why.

    With more than two classes, one machine is fitted for each class against the others, all to one
    labelling, and the highest score wins.

    Parameters
    ----------
    C : float, "heuristic" or "choose"
        Cost of slack of labelled rows. "choose": for the machine of the labelled rows 1, or 10 or
        100 if the hinge loss of labelled rows left out is then less (paired t test, one per cent);
        ten times as much for the transductive machine. "heuristic" is n over the trace of the
        kernel matrix.
    C_unlabelled : float, None or "choose"
        Cost of slack of unlabelled rows; None is C. "choose": C if that is given and 0.3 C if it
        is chosen; with "evolution" nothing at all unless, first, labels that spread along the graph
        of the ten nearest neighbours get no more of the labelled rows wrong, when these are left
        out, than the machine of the other labelled rows, and second, the boundaries by spreading
        and by the machine cross less than a tenth of the links of that graph.
    kernel, gamma
        As in `sklearn.svm.SVC`, or a kernel of `parsimon.kernels`. Labels only travel as far as
        the kernel sees: with "rbf" a width like that of the gaps between groups works best. On an
        indefinite kernel the inner optimum is a stationary point.
    positive_ratio : "labelled", float, (float, float) or None
        Share of ``classes_[1]`` among the unlabelled rows (of each class, if there are more than
        two). "labelled": within Wilson's 95 % interval of its share among the labelled rows. A
        number: exactly that share. A pair: between these. None: any, and then it is often best
        to give all rows to one class. Labelled rows count by their `sample_weight`; the weights of
        classes are prices and do not count.
    method : {"evolution", "greedy", "exhaustive"}
        "evolution": a population of labellings, each at the end of a local search with the exact
        optimum of its machine as fitness. The first are those that the machine of the labelled
        rows ranks highest, and labels spread along graphs of nearest neighbours, which are
        guesses for the objective to judge. Exact if at most 12 rows are unlabelled. With more
        than two classes: local searches from the same guesses for one labelling of all classes.
        "exhaustive": branch and bound, for at most 24 unlabelled rows.
        "greedy": Joachims' solver [2]_, swaps of pairs while C* grows; keeps the labelled ratio.
        It treats each of several classes on its own.
    population_size, max_iter, stall : int
        Of "evolution": labellings kept; most generations; generations in a row
        without improvement after which the search ends.
    time_limit : float, optional
        Seconds; the best so far is kept.
    class_weight : dict, "balanced" or None
        Multiplies C of labelled rows.
    random_state : int, Generator, SeedSequence, RandomState or None
    n_jobs : int or None
        Searches at a time, if there are more than two classes. The result is the same for every
        number.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        Labels of all training rows: those given, and those found.
    fell_back_ : bool
        Whether unlabelled rows were left out of account, because `C_unlabelled` was to be chosen.
    reason_ : str
        In words why.
    C_, C_unlabelled_ : float
        The prices used; the second is 0 after falling back.
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
    .. [3] Mierswa (2009), dissertation, TU Dortmund, chapter 5. Its problem 5.2 maximises over
       labels where it has to minimise.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, truth = make_moons(200, noise=0.05, random_state=0)
    >>> y = np.full(200, -1)
    >>> y[:7] = truth[:7]
    >>> model = TransductiveSVC(random_state=0).fit(X, y)
    >>> int((model.transduction_ != truth).sum()), model.fell_back_
    (0, False)
    >>> model.predict([[-1.0, 0.0], [2.0, 0.5]])
    array([0, 1])
    """

    def __init__(
        self,
        C: float | Literal["heuristic", "choose"] = "choose",
        *,
        C_unlabelled: float | Literal["choose"] | None = "choose",
        kernel: Any = "rbf",
        gamma: float | str = "scale",
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
        self.positive_ratio = positive_ratio
        self.method = method
        self.population_size = population_size
        self.max_iter = max_iter
        self.stall = stall
        self.time_limit = time_limit
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find labels for the rows without one, and the machine of all rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Square, of similarities, for ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Labels; -1 where there is none, as in `sklearn.semi_supervised`. For classes that are
            texts give an array of objects with -1 or None. If all rows have labels the result is
            the plain support vector machine, with C = 1 if that is to be chosen.
        sample_weight : array-like of shape (n,), optional
            Multiplies the cost of each row; a labelled row of weight two is a row that is there
            twice.

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
        with one_thread():
            problems, found = self._find(given, how)
        self._report(found)
        biases = np.array([fit.solution.bias for fit in found.fits])
        return settle_labels(
            self, given, found.coefficients(problems), biases, X, codes=found.codes
        )

    def decision_function(self, X: Any) -> Array:
        """Return scores: shape (n,), positive for ``classes_[1]``; (n, n_classes) if more."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._scores(X)

    def predict(self, X: Any) -> AnyArray:
        """Return the labels of new rows."""
        return self._labels(self.decision_function(X))

    def _searching(self) -> LabellingOptions:
        check_choice("method", self.method, METHODS)
        return LabellingOptions(
            method=self.method,
            population_size=check_count("population_size", self.population_size, least=2),
            max_iter=check_count("max_iter", self.max_iter),
            stall=check_count("stall", self.stall),
            deadline=end_after(check_seconds("time_limit", self.time_limit)),
        )

    def _find(
        self, given: TransductiveRows, how: LabellingOptions
    ) -> tuple[list[TransductiveProblem], LabelledMachines]:
        """Choose prices and search; keep to the labelled rows where these do not support it."""
        inductive, C, C_unlabelled = self._prices(given)
        self.fell_back_, self.C_, self.C_unlabelled_ = False, C, C_unlabelled
        problems = self._problems(given.priced(C, C_unlabelled))
        seed = seed_sequence(self.random_state)
        is_weighed = how.method == "evolution" and is_chosen(self.C_unlabelled)
        if given.labels.known.all() or not is_weighed:
            self.reason_ = "All rows were used without asking the labelled ones whether to do so."
            return problems, find_machines(problems, how, seed, self.n_jobs)
        evidence, codes = weigh(given, inductive), None
        if evidence.favours:
            found = find_machines(problems, how, seed, self.n_jobs)
            codes = found.every_code(given)
        self.reason_ = evidence.sentence(codes)
        if codes is not None and evidence.supports(codes):
            return problems, found
        self.fell_back_, self.C_, self.C_unlabelled_ = True, inductive, 0.0
        problems = self._problems(given.priced(inductive, 0.0))
        is_free = self.positive_ratio is None or isinstance(self.positive_ratio, str)
        return problems, inductive_machines(problems, keep_ratio=not is_free)

    def _prices(self, given: TransductiveRows) -> tuple[float, float, float]:
        """Return C of the machine of the labelled rows; C and C* of the transductive one."""
        C, C_unlabelled = costs(self, given.kernel)
        if not is_chosen(self.C) or given.labels.known.all():
            return C, C, C_unlabelled
        inductive = choose_price(given)
        C = _TRANSDUCTIVE_PRICE * inductive
        if is_chosen(self.C_unlabelled):
            return inductive, C, _UNLABELLED_SHARE * C
        return inductive, C, C if self.C_unlabelled is None else C_unlabelled

    def _problems(self, given: TransductiveRows) -> list[TransductiveProblem]:
        positives = [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))
        return [problem_of(given, code, self.positive_ratio) for code in positives]

    def _report(self, found: LabelledMachines) -> None:
        objectives = np.array([fit.objective for fit in found.fits])
        self.objective_ = float(objectives[0]) if len(objectives) == 1 else objectives
        self.gap_ = max(fit.solution.gap for fit in found.fits)
        self.n_iter_, self.stopped_by_ = found.n_iter, found.stopped_by

    def _scores(self, X: Array) -> Array:
        scores: Array = self.gram_.between(X) @ self.dual_coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _labels(self, scores: Array) -> AnyArray:
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]


def settle_labels(
    model: TransductiveSVC,
    given: TransductiveRows,
    coefficients: Array,
    biases: Array,
    X: Array,
    *,
    codes: Indices | None = None,
) -> TransductiveSVC:
    """Give a model, whose classes are known, its machines; return it.

    Shapes: coefficients (1 or n_classes, n), biases (1 or n_classes,), X (n_given, d), codes
        (n_unlabelled,).
    """
    support = np.flatnonzero(coefficients.any(axis=0))
    model.gram_ = given.gram.subset(support)
    model.support_ = given.rows[support]
    model.support_vectors_ = model.gram_.rows
    model.dual_coef_, model.intercept_ = coefficients[:, support], biases
    every = given.every_code.copy()
    if codes is not None:
        every[given.rows[~given.labels.known]] = codes
    left = np.flatnonzero(every < 0)
    if len(left):
        every[left] = np.searchsorted(model.classes_, model._labels(model._scores(X[left])))
    model.transduction_ = model.classes_[every]
    model.n_support_ = np.bincount(every[model.support_], minlength=len(model.classes_))
    return model
