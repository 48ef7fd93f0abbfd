"""`FrontSVC`: one machine of a front, an ordinary support vector classifier."""

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from parsimon._options import check_positive
from parsimon._typing import AnyArray, Array, Indices
from parsimon._validation import shorten
from parsimon._weights import check_classes, row_weights
from parsimon._workers import one_thread
from parsimon.exceptions import InvalidInputError
from parsimon.svm.dual import Dual
from parsimon.svm.exact import solve
from parsimon.svm.front.losses import Training, best_bias
from parsimon.svm.front.rows import FrontRows, front_rows, loss_weights
from parsimon.svm.gram import Gram
from parsimon.svm.indefinite import Repair, repaired

# Share of the largest dual variable below which one is rounding.
SUPPORT = 1e-8


class FrontSVC(ClassifierMixin, BaseEstimator):
    """A support vector classifier for two classes at a given price C of the hinge loss.

    `ParetoSVC.select` returns one with the dual variables of a row of its front. Its own `fit`
    solves the exact problem for its C; the bias is the middle of those with the least loss.

    Shapes: classes_ (2,), intercept_ (1,), feature_names_in_ (n_features,).

    C: Price of one unit of slack.
    kernel, gamma, degree, coef0: As in `sklearn.svm.SVC`; also a kernel of `parsimon.kernels`.
    indefinite: What to do with negative eigenvalues, as in `parsimon.svm.indefinite.repaired`.
    class_weight: Multiplies C for the rows of a class.
    tol: Gap in the conditions of optimality at which the solution is accepted.

    support_ (n_vectors,): Rows given to `fit` whose dual variables are not zero; of equal rows
        the first.
    support_vectors_ (n_vectors, d): Empty for ``kernel="precomputed"``.
    dual_coef_ (1, n_vectors): Dual variables times signs.
    n_support_ (2,): Support vectors of each class.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        indefinite: Literal["native", "clip", "flip", "shift"] = "native",
        class_weight: Any = None,
        tol: float = 1e-3,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.indefinite = indefinite
        self.class_weight = class_weight
        self.tol = tol

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.pairwise = is_precomputed(self)
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve the exact problem.

        Shapes: X (n, d), y (n,), sample_weight (n,).
        """
        check_positive("C", self.C)
        X, y = validate_data(self, X, y, dtype=np.float64)
        classes, codes, weights = two_classes(y, sample_weight)
        rows = front_rows(X, codes, weights, merge=not is_precomputed(self))
        gram = fitted_gram(self, X, rows)
        with one_thread():
            training, repair = training_of(self, gram, rows, classes)
            dual = Dual(training.kernel, training.signs, float(self.C) * training.weights)
            alpha = solve(dual, tolerance=self.tol).alpha
            bias = best_bias(training.scores(alpha[None]), training.signs, training.weights)
        return settle(self, Member(alpha, float(bias[0])), Basis(gram, repair, rows, classes, X))

    def predict(self, X: Any) -> AnyArray:
        """Return the class of each row, shape (m,)."""
        positive = self.decision_function(X) > 0
        labels: AnyArray = self.classes_[positive.astype(np.intp)]
        return labels

    def decision_function(self, X: Any) -> Array:
        """Return the functions' values, positive where ``classes_[1]`` is predicted, shape (m,)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        values: Array = self._machine(X)
        return values


@dataclass(frozen=True, eq=False)
class Machine:
    """A function of new rows: kernels at some training rows, with coefficients, and a bias."""

    gram: Gram
    coefficients: Array
    bias: float

    def __call__(self, X: Array) -> Array:
        if not len(self.coefficients):
            return np.full(len(X), self.bias)
        values: Array = self.gram.between(X) @ self.coefficients + self.bias
        return values


@dataclass(frozen=True, eq=False)
class Member:
    """Dual variables, shape (n,), and bias of one machine."""

    alpha: Array
    bias: float


@dataclass(frozen=True, eq=False)
class Basis:
    """The training rows that dual variables belong to, and how new rows meet them."""

    gram: Gram
    repair: Repair | None
    rows: FrontRows
    classes: AnyArray
    X: Array

    def coefficients(self, alpha: Array) -> Array:
        """Return what similarities of new rows are multiplied with, of the shape of `alpha`."""
        signed = alpha * np.where(self.rows.codes == 1, 1.0, -1.0)
        if self.repair is None or self.repair.map is None:
            return signed
        mapped: Array = signed @ self.repair.map.T
        return mapped


def is_precomputed(options: Any) -> bool:
    """Tell whether rows are similarities."""
    return isinstance(options.kernel, str) and options.kernel == "precomputed"


def two_classes(y: Any, sample_weight: Any) -> tuple[AnyArray, Indices, Array]:
    """Return the labels, the code of each row and its weight, refusing other than two classes."""
    check_classification_targets(y)
    labels, codes = np.unique(y, return_inverse=True)
    weights = row_weights(sample_weight, len(y))
    check_classes(labels, codes, weights)
    present = np.unique(codes[weights > 0])
    if len(present) > 2:
        raise InvalidInputError(
            "Only binary classification is supported. The type of the target is multiclass, with "
            f"{len(present)} classes ({shorten(labels[present].tolist())}). A front belongs to one "
            "pair of classes; sklearn.multiclass.OneVsOneClassifier makes one for each."
        )
    return labels[present], np.searchsorted(present, codes), weights


def fitted_gram(options: Any, X: Array, rows: FrontRows) -> Gram:
    """Return the kernel on the merged rows."""
    shared = options.gamma, options.degree, options.coef0
    if is_precomputed(options):
        whole = Gram.of("precomputed", *shared, X)
        return whole if len(rows.places) == len(X) else whole.subset(rows.places)
    return Gram.of(options.kernel, *shared, X[rows.places], weights=rows.counts)


def training_of(
    options: Any, gram: Gram, rows: FrontRows, classes: AnyArray
) -> tuple[Training, Repair | None]:
    """Return what a population is judged on, and the repair of the kernel if one was asked for."""
    matrix = gram.train
    repair = None
    if options.indefinite != "native" and not gram.is_psd:
        repair = repaired(matrix, options.indefinite)
        matrix = repair.train
    signs = np.where(rows.codes == 1, 1.0, -1.0)
    weights = loss_weights(rows, options.class_weight, classes)
    if not (weights > 0).all():
        raise InvalidInputError(
            "A class has weight zero in class_weight, so that nothing is learnt of it; give it a "
            "positive weight."
        )
    return Training(matrix, signs, weights), repair


def settle(model: FrontSVC, member: Member, basis: Basis) -> FrontSVC:
    """Give a classifier the fitted attributes of one machine, and return it."""
    alpha, places = member.alpha, basis.rows.places
    largest = float(alpha.max(initial=0.0))
    support = np.flatnonzero(alpha > SUPPORT * largest) if largest > 0 else np.empty(0, np.intp)
    signs = np.where(basis.rows.codes == 1, 1.0, -1.0)
    mapped = basis.coefficients(np.where(alpha > SUPPORT * largest, alpha, 0.0))
    used = np.flatnonzero(mapped)
    order = np.argsort(places[support], kind="stable")
    support = support[order]
    model.classes_ = basis.classes
    model.support_ = places[support]
    model.support_vectors_ = (
        np.empty((0, 0)) if is_precomputed(model) else np.ascontiguousarray(basis.X[model.support_])
    )
    model.dual_coef_ = (alpha * signs)[support][None]
    model.intercept_ = np.array([member.bias])
    model.n_support_ = np.bincount(basis.rows.codes[support], minlength=2)
    model._machine = Machine(basis.gram.subset(used), mapped[used], member.bias)
    return model
