"""`EvolutionarySVC`: support vector classification, its dual solved by evolution.

It merges equal rows, takes the kernel matrix from `_gram` (repaired if it is indefinite), one
machine for each pair of classes from `_pairs`, and stores them as scikit-learn's SVC does.
"""

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from parsimon._checks import check_choice, is_precomputed
from parsimon._data import check_classes, class_weights, merged_rows, row_weights, validate_data
from parsimon._interrupts import stoppable
from parsimon._parallel import one_thread
from parsimon._random import Seed, seed_sequence
from parsimon._typing import Array
from parsimon.svm._gram import EvolutionaryMachine, FittedDual, box_size, fit_gram
from parsimon.svm._pairs import (
    agree,
    couple,
    fit_pairs,
    pair_classes,
    shown_coefficients,
    votes_and_margins,
)
from parsimon.svm.indefinite import TrainingMatrix, training_matrix


def _has_probabilities(estimator: Any) -> bool:
    if estimator.probability:
        return True
    raise AttributeError("predict_proba needs probability=True when the estimator is made.")


class EvolutionarySVC(ClassifierMixin, EvolutionaryMachine):
    """Support vector machine for classification, its dual solved by evolution.

    The default strategy combines evolution with exact local steps: on a positive semi-definite
    kernel it finds the maximum of the dual as fast as libsvm. An indefinite kernel matrix is
    repaired; or it is taken as it is, and where libsvm stops at the first stationary point of the
    dual, the evolution searches for the highest. The evolutionary algorithms of Mierswa (2009)
    [1]_ are there under their names.

    Parameters
    ----------
    C : float or "heuristic"
        Greatest value of a dual variable; "heuristic" is one over the mean of k(x, x).
    kernel : str, Kernel or callable
        "rbf", "linear", "poly", "sigmoid" and "laplacian" mean what they mean in SVC, with its
        degree of 3 and coef0 of 0; `parsimon.kernels.as_kernel` makes others. "precomputed" takes a
        square matrix of similarities in `fit` and similarities with the training rows in `predict`.
        A callable ``k(X, Z)`` returns similarities. None of them need be positive semi-definite.
    gamma
        Of the named kernels, as in SVC.
    strategy : {"memetic", "gaussian", "switching", "hybrid", "swarm"}
        "memetic": stationary points of the dual, reached by exact steps in two variables (SMO), are
        mutated, crossed and climbed from again; where the kernel is positive semi-definite the
        first one is the maximum. The others are the source's and have no local steps: "gaussian"
        (EvoSVM-G) adds normal numbers, "switching" (EvoSVM-S) sends variables from zero to C and
        back, "hybrid" (EvoSVM-H) switches them off or on to any value, "swarm" (PsoSVM). They have
        the source's parameters: 10 individuals, crossover 0.9, tournaments of a quarter, steps of
        C/10 under the 1/5 rule looked at every 100 generations, a swarm with inertia 0.1. The
        equality constraint of the dual is dropped, as there, and the bias is found afterwards;
        they stop far from the optimum, at 12 to 76 % of it in the source's own table.
    indefinite : {"flip", "clip", "shift", "native"}
        What to do with negative eigenvalues of the kernel matrix: make them positive, set them to
        zero, raise the diagonal, or keep them. New rows are mapped alike. Of 24 matrices with real
        negative mass, "flip" made the fewest errors on 17, "clip" on 6 and "native" on 1
        (``python -m benchmarks.reproduce mierswa-4``). "native" is the source's: the highest
        stationary point of the dual, which may be worse than guessing.
    max_iter, stall : int, optional
        Generations at most, and generations without progress at which to stop; 200 and 10 for
        "memetic", 1000 and 5 for the others.
    tol : float
        Violation of the optimality conditions at which exact steps end, as SVC's ``tol``.
    time_limit : float, optional
        Seconds for each pair of classes; the best so far is kept.
    probability : bool
        Fit probabilities, by five-fold cross-fitting, so that `predict_proba` is there. Its
        greatest entry is always the class that `predict` returns.
    class_weight : dict, "balanced" or None
        Factors of C by class.
    decision_function_shape : {"ovr", "ovo"}
        A column for each class or for each pair of classes, as in SVC.
    random_state : int, Generator, SeedSequence, RandomState or None
        Seed of the evolution and of the folds. On a positive semi-definite kernel "memetic" draws
        nothing.
    n_jobs : int, optional
        Processes for the pairs of classes; the result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    support_ : ndarray of shape (n_support,)
        Training rows with a dual variable above zero, class by class. Of equal rows it is the
        first.
    support_vectors_ : ndarray of shape (n_support, d)
        Those rows; none for "precomputed".
    dual_coef_ : ndarray of shape (n_classes - 1, n_support)
        Signed dual variables, in SVC's layout.
    intercept_ : ndarray of shape (n_pairs,)
    n_support_ : ndarray of shape (n_classes,)
    objective_ : float, or ndarray of shape (n_pairs,)
        The dual's value.
    gap_ : float
        Largest violation of the optimality conditions, over all pairs.
    smallest_eigenvalue_ : float
        Of the kernel matrix of the training rows, before any repair; computed when first asked for
        where the kernel is known to be positive semi-definite.
    repair_ : {"none", "flip", "clip", "shift", "native"}
        What was done; "none" if there was no negative eigenvalue.
    inverted_ : bool
        Whether "native" came out worse than guessing on the training rows of some pair of classes,
        of which a warning tells; converged or not.
    history_ : tuple of ndarray
        For each pair the best objective after each generation.
    n_iter_ : int
        Generations, the first population counted, the most over all pairs.
    stopped_by_ : {"concave", "stall", "max_iter", "time_limit", "interrupt"}
        Why the evolution ended; "concave" if one climb was the maximum.
    converged_ : bool
        Whether it ended by itself, for "memetic" within the tolerance.
    C_ : float
        The bound that was used.
    kernel_ : Kernel, callable or "precomputed"
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Notes
    -----
    Equal rows are merged, so that a weight of two is a row that is there twice, to the last bit;
    ``gamma="scale"`` counts weights as well.

    References
    ----------
    .. [1] Mierswa (2009), "Non-convex and multi-objective optimization in data mining", sections
       3.1 and 4.

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> data = load("ripley")
    >>> model = EvolutionarySVC(gamma=4.0).fit(data.data[:250], data.target[:250])
    >>> model.stopped_by_, model.repair_, model.score(data.data[250:], data.target[250:]) > 0.89
    ('concave', 'none', True)
    """

    def __init__(
        self,
        C: float | Literal["heuristic"] = 1.0,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        strategy: str = "memetic",
        indefinite: Literal["flip", "clip", "shift", "native"] = "flip",
        max_iter: int | None = None,
        stall: int | None = None,
        tol: float = 1e-3,
        time_limit: float | None = None,
        probability: bool = False,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.strategy = strategy
        self.indefinite = indefinite
        self.max_iter = max_iter
        self.stall = stall
        self.tol = tol
        self.time_limit = time_limit
        self.probability = probability
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.random_state = random_state
        self.n_jobs = n_jobs

    @stoppable
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve the dual of every pair of classes.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Square, of similarities, for ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Labels of any kind.
        sample_weight : array-like of shape (n,), optional
            Factors of C by row: integers equal repeated rows, zero leaves one out.

        Returns
        -------
        EvolutionarySVC
            Itself.
        """
        settings, how = self._options()
        check_choice("probability", self.probability, (True, False))
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        labels, codes = np.unique(y, return_inverse=True)
        weights = row_weights(sample_weight, len(X))
        factors = class_weights(self.class_weight, labels, codes, weights)
        check_classes(labels, codes, weights * factors)
        rows = merged_rows(X, codes, weights * factors, merge=not is_precomputed(self))
        present, own_codes = np.unique(rows.y, return_inverse=True)
        self.classes_ = labels[present]
        # The matrices are small: more threads would take longer, and change the last digits.
        with one_thread():
            counts = rows.weights / factors[rows.places]
            made = training_matrix(fit_gram(self, X, rows.places, counts), how)
            self.C_ = box_size(self.C, made.matrix, counts)
            fits = fit_pairs(
                made.matrix,
                own_codes,
                self.C_ * rows.weights,
                settings,
                made.concave,
                seed_sequence(self.random_state),
                counts=counts if self.probability else None,
                n_jobs=self.n_jobs,
            )
            self._store(X, made, fits, own_codes, rows.places)
        self._warn(fits)
        return self

    def predict(self, X: Any) -> Any:
        """Return the class of each row, shape (m,): the one with the most votes of the pairs.

        Of classes with as many votes it is the one with the greatest margins.
        """
        winners = self._winners(self._decide(X))
        return self.classes_[winners]

    def decision_function(self, X: Any) -> Array:
        """Return how clearly each row belongs to a class.

        For two classes, shape (m,), above zero for ``classes_[1]``. For more, shape (m, n_classes):
        votes, and margins among equals; or under "ovo" the decision of each pair, above zero for
        its first class, shape (m, n_pairs).
        """
        decisions = self._decide(X)
        if len(self.classes_) == 2:
            return decisions[:, 0]
        if self.decision_function_shape == "ovo":
            return decisions
        return votes_and_margins(decisions, len(self.classes_))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities in the order of `classes_`, shape (m, n_classes).

        The greatest in a row is always that of the class that `predict` returns.
        """
        decisions = self._decide(X)
        pairwise = np.column_stack(
            [
                slopes.probability(decision)
                for slopes, decision in zip(self._slopes, decisions.T, strict=True)
            ]
        )
        if len(self.classes_) == 2:
            return np.column_stack((1.0 - pairwise[:, 0], pairwise[:, 0]))
        return agree(couple(pairwise, len(self.classes_)), self._winners(decisions))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Return logarithms of class probabilities, shape (m, n_classes)."""
        with np.errstate(divide="ignore"):
            logarithms: Array = np.log(self.predict_proba(X))
        return logarithms

    def _winners(self, decisions: Array) -> Any:
        if len(self.classes_) == 2:
            return (decisions[:, 0] > 0).astype(np.intp)
        return votes_and_margins(decisions, len(self.classes_)).argmax(axis=1)

    def _store(
        self, X: Array, made: TrainingMatrix, fits: list[FittedDual], codes: Any, places: Any
    ) -> None:
        n_classes = len(self.classes_)
        coefficients = np.zeros((len(codes), len(fits)))
        for column, (pair, fit) in enumerate(zip(pair_classes(n_classes), fits, strict=True)):
            own = pair.rows(codes)
            coefficients[own, column] = fit.solution.alpha * pair.signs(codes[own])
        chosen, self.dual_coef_, self.n_support_ = shown_coefficients(
            coefficients, codes, places, n_classes
        )
        self.support_ = places[chosen]
        self.support_vectors_ = X[self.support_][: 0 if is_precomputed(self) else None]
        self.intercept_ = np.array([fit.solution.bias for fit in fits])
        objectives = np.array([fit.solution.objective for fit in fits])
        self.objective_ = float(objectives[0]) if n_classes == 2 else objectives
        self._store_fits(made, fits)
        self._expansion, self._coefficients, _ = made.expansion(coefficients)
        self._slopes = tuple(fit.slopes for fit in fits if fit.slopes is not None)
