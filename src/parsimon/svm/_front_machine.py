r"""`FrontSVC`: one machine of a front, an ordinary support vector classifier.

What a search found: machines, their figures on training and held-out rows, and the front.

Which machine of the front? The rules of selection, as texts.

=========================================  =======================================================
``holdout_error``                          fewest errors on the rows held out; ties: the simplest
``one_se``, ``one_se:2``                   simplest within one (two) standard errors of that
``training_error``                         fewest errors on the training rows; ties: the simplest
``dual``                                   greatest undivided dual objective
``knee``, ``knee:gain``, ``knee:tradeoff`` knee of the two objectives of the search, by method
``auto``                                   ``holdout_error`` if rows were held out, else ``knee``
``best:n_support``, ``nearest:...``, ``7`` the other rules of `parsimon.pareto.choose`
``... where n_support<=20``                any of them, among the machines that meet conditions
=========================================  =======================================================

The simplest machine is the one with the widest margin. The undivided dual objective
(:math:`\sum \alpha_i - \frac12 \alpha^T Q \alpha` without a box) asks for the hard margin; it is
the first rule of the source (Mierswa 2009, section 3.2.5).

Some of the merged rows are held out: a row that is there twice is never on both sides of a split.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from parsimon._checks import check_positive, is_precomputed, shorten
from parsimon._data import Rows, check_classes, class_weights, merged_rows, row_weights
from parsimon._parallel import one_thread
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import EmptyFrontError, InvalidInputError
from parsimon.pareto import Front, SearchResult
from parsimon.pareto import choose as choose_from_front
from parsimon.pareto._criteria import condition_mask, written_conditions
from parsimon.pareto._directions import Directions
from parsimon.pareto.choose import Rule
from parsimon.pareto.dominance import nondominated_rows
from parsimon.svm._dual import Dual, solve
from parsimon.svm._gram import Gram
from parsimon.svm._losses import (
    Training,
    best_bias,
    dual_objectives,
    hinge_losses,
    margin_terms,
    prices,
)
from parsimon.svm.indefinite import Repair, repaired


def loss_weights(rows: Rows, class_weight: Any, classes: AnyArray) -> Array:
    """Return what one unit of slack of each row costs: its count times the weight of its class."""
    share = class_weights(class_weight, classes, rows.y, rows.weights)
    return np.multiply(rows.weights, share)


def stratified_holdout(
    codes: Indices, fraction: float, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Return the rows to train on and those to hold out, both increasing.

    Of each class the same share is held out, at least one row and never all. If a class has only
    one row, nothing is held out.

    Shapes: codes (n,).
    """
    every = np.arange(len(codes))
    sizes = np.bincount(codes)
    if fraction == 0 or sizes[sizes > 0].min() < 2:
        return every, every[:0]
    held = []
    for code in np.flatnonzero(sizes):
        rows = np.flatnonzero(codes == code)
        n_held = min(max(round(fraction * len(rows)), 1), len(rows) - 1)
        held.append(rng.permutation(rows)[:n_held])
    chosen = np.sort(np.concatenate(held))
    return np.setdiff1d(every, chosen), chosen


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
        rows = merged_rows(X, codes, weights, merge=not is_precomputed(self))
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
    rows: Rows
    classes: AnyArray
    X: Array

    def coefficients(self, alpha: Array) -> Array:
        """Return what similarities of new rows are multiplied with, of the shape of `alpha`."""
        signed = alpha * np.where(self.rows.y == 1, 1.0, -1.0)
        if self.repair is None or self.repair.map is None:
            return signed
        mapped: Array = signed @ self.repair.map.T
        return mapped


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


def fitted_gram(options: Any, X: Array, rows: Rows) -> Gram:
    """Return the kernel on the merged rows."""
    shared = options.gamma, options.degree, options.coef0
    if is_precomputed(options):
        whole = Gram.of("precomputed", *shared, X)
        return whole if len(rows.places) == len(X) else whole.subset(rows.places)
    return Gram.of(options.kernel, *shared, X[rows.places], weights=rows.weights)


def training_of(
    options: Any, gram: Gram, rows: Rows, classes: AnyArray
) -> tuple[Training, Repair | None]:
    """Return what a population is judged on, and the repair of the kernel if one was asked for."""
    matrix = gram.train
    repair = None
    if options.indefinite != "native" and not gram.is_psd:
        repair = repaired(matrix, options.indefinite)
        matrix = repair.train
    signs = np.where(rows.y == 1, 1.0, -1.0)
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
    signs = np.where(basis.rows.y == 1, 1.0, -1.0)
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
    model.n_support_ = np.bincount(basis.rows.y[support], minlength=2)
    model._machine = Machine(basis.gram.subset(used), mapped[used], member.bias)
    return model


# Errors that are sums in another order are equal.
_DIGITS = 12


@dataclass(frozen=True, eq=False)
class Figures:
    """What is known of each machine of a front, in its order.

    columns (k,): All columns of the table: ``margin_term``, ``training_error``,
        ``dual_objective``, ``holdout_error`` if rows were held out, and others.
    n_holdout: Weight of the rows held out.
    """

    columns: Mapping[str, Array]
    n_holdout: float = 0.0

    def where(self, mask: Mask) -> "Figures":
        """Return the figures of some machines."""
        kept = {name: column[mask] for name, column in self.columns.items()}
        return Figures(kept, self.n_holdout)


def choose(front: Front, figures: Figures, rule: Rule) -> int:
    """Return the index that a rule chooses."""
    if not isinstance(rule, str):
        return choose_from_front(front, rule)
    text, _, conditions = rule.partition(" where ")
    kept = _met(figures, conditions) if conditions else np.ones(len(front), dtype=np.bool_)
    if not kept.any():
        raise EmptyFrontError("No machine is left to choose from; loosen the conditions.")
    index = _chosen(front[kept], figures.where(kept), text.strip())
    return int(np.flatnonzero(kept)[index])


def _chosen(front: Front, figures: Figures, text: str) -> int:
    name, _, rest = text.partition(":")
    if text == "auto":
        text = name = "holdout_error" if "holdout_error" in figures.columns else "knee"
    if text in ("holdout_error", "training_error"):
        return _fewest(_column(figures, text), figures)
    if name == "one_se":
        return _within_standard_error(figures, _number(rest) if rest else 1.0)
    if text == "dual":
        return int(np.argmax(_column(figures, "dual_objective")))
    if name == "knee":
        return _knee(front, text)
    try:
        return choose_from_front(front, text)
    except InvalidInputError as error:
        if not str(error).startswith("There is no rule"):
            raise
        raise InvalidInputError(
            f"There is no rule {name!r}; the rules are holdout_error, one_se, training_error, "
            "dual, knee, auto, best, nearest, desirable, or an index."
        ) from error


def _fewest(errors: Array, figures: Figures) -> int:
    return int(np.lexsort((figures.columns["margin_term"], errors.round(_DIGITS)))[0])


def _within_standard_error(figures: Figures, n_errors: float) -> int:
    """Return the simplest machine whose hold-out error is near the least.

    The standard error is binomial, with one error and one success added, so that a faultless
    machine has one too (Breiman et al. 1984, section 3.4.3).
    """
    check_positive("n_errors", n_errors, or_zero=True)
    errors, n = _column(figures, "holdout_error"), figures.n_holdout
    share = (n * float(errors.min()) + 1.0) / (n + 2.0)
    most = float(errors.min()) + n_errors * np.sqrt(share * (1.0 - share) / n)
    eligible = np.flatnonzero(errors.round(_DIGITS) <= round(most, _DIGITS))
    return int(eligible[np.argmin(figures.columns["margin_term"][eligible])])


def _knee(front: Front, text: str) -> int:
    """Return the knee of the objectives of the search, which are the first two."""
    pair = Front(
        front.values[:, :2],
        front.names[:2],
        maximise=[name for name in front.directions.maximised if name in front.names[:2]],
    )
    return int(pair.rows[choose_from_front(pair, text)])


def _met(figures: Figures, text: str) -> Mask:
    mask = np.ones(len(figures.columns["margin_term"]), dtype=np.bool_)
    for condition, bound in written_conditions(text, "n_support<=20").items():
        name = condition.rpartition("__")[0]
        column = _column(figures, name)[:, None]
        mask &= condition_mask(column, Directions.of([name]), {condition: bound})
    return mask


def _column(figures: Figures, name: str) -> Array:
    if name in figures.columns:
        return figures.columns[name]
    if name == "holdout_error":
        raise InvalidInputError(
            "No rows were held out; give validation_fraction, or X_val and y_val to fit, or choose "
            "by another rule such as knee."
        )
    raise InvalidInputError(
        f"There is no column {name!r}; the columns are {', '.join(figures.columns)}."
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInputError(f"A rule needs a number here, got {text!r}.") from error


PRIMAL_COLUMNS = ("margin_term", "hinge_loss", "training_error", "n_support")


@dataclass(frozen=True, eq=False)
class Holdout:
    """Rows that no machine saw: the raw similarities with the training rows, and their classes.

    Shapes: between (m, n), signs (m,).

    weights (m,): What an error on each row costs.
    n_rows: How many rows they are, weights of classes not counted.
    """

    between: Array
    signs: Array
    weights: Array
    n_rows: float


@dataclass(frozen=True, eq=False)
class Found:
    """The machines of a front, in its order; called with a place it returns the classifier there.

    Shapes: alpha (k, n), bias (k,).

    template: Not fitted, with the options of the search.
    header: Number of columns of the user's table, and their names or None.
    values (k, m): Columns of the front.
    names, maximised: Of these columns.
    """

    basis: Basis
    template: FrontSVC
    header: tuple[int, AnyArray | None]
    values: Array
    names: tuple[str, ...]
    maximised: tuple[str, ...]
    alpha: Array
    bias: Array
    figures: Figures

    def __len__(self) -> int:
        return len(self.bias)

    def front(self) -> Front:
        """Return the front; its solutions are fitted classifiers."""
        return Front(self.values, self.names, maximise=self.maximised, solutions=self)

    def __call__(self, index: int) -> FrontSVC:
        """Return the classifier at a place of the front, with its own price as C."""
        price = float(self.figures.columns["C"][index])
        model = clone(self.template)
        if price > 0:
            model.set_params(C=price)
        model.n_features_in_, names = self.header
        if names is not None:
            model.feature_names_in_ = names
        return settle(model, Member(self.alpha[index], float(self.bias[index])), self.basis)


def found_in(
    result: SearchResult,
    training: Training,
    basis: Basis,
    holdout: Holdout | None,
    *,
    template: FrontSVC,
    header: tuple[int, AnyArray | None],
    is_dual: bool,
) -> Found:
    """Return the machines that a search found, with the constant classifier among them."""
    alpha = np.concatenate([np.zeros((1, result.solutions.shape[1])), result.solutions])
    bias, columns = _described(training, basis, alpha, is_dual=is_dual)
    searched, maximised = result.directions.names, result.directions.maximised
    shown: tuple[str, ...] = PRIMAL_COLUMNS
    if is_dual:
        table = dual_objectives(training, alpha, balance=len(searched) == 3)
        columns = {**dict(zip(searched, table.T, strict=True)), **columns}
        shown = (*searched, *PRIMAL_COLUMNS[1:])
    if holdout is not None:
        columns["holdout_error"] = _holdout_errors(holdout, basis, alpha, bias)
    # Only the objectives of the search decide; the other columns come with their rows.
    pair = np.column_stack([columns[name] for name in searched]) * result.directions.sign
    places = np.flatnonzero(is_dual | training.has_margin(alpha, columns["margin_term"]))
    kept = places[nondominated_rows(pair[places], keep_ties=False)]
    values = np.column_stack([columns[name] for name in shown])
    order = kept[Front(values[kept], shown, maximise=maximised).rows]
    figures = Figures(
        {name: column[order] for name, column in columns.items()},
        0.0 if holdout is None else holdout.n_rows,
    )
    table = values[order]
    return Found(
        basis, template, header, table, shown, maximised, alpha[order], bias[order], figures
    )


def _described(
    training: Training, basis: Basis, alpha: Array, *, is_dual: bool
) -> tuple[Array, dict[str, Array]]:
    """Return bias and figures of machines, the first of which is constant."""
    scores = training.scores(alpha)
    bias = best_bias(scores, training.signs, training.weights)
    if is_dual:
        bias[1:] = _reference_bias(training, alpha[1:], scores[1:])
    columns = measured(training, alpha, scores, bias)
    if basis.repair is not None and basis.repair.how == "shift":
        # A raised diagonal helps the training rows alone; errors are those of `predict`.
        seen = basis.coefficients(alpha) @ basis.gram.train + bias[:, None]
        columns["training_error"] = error_rates(seen, training.signs, training.weights)
    return bias, columns


def measured(training: Training, alpha: Array, scores: Array, bias: Array) -> dict[str, Array]:
    """Return the figures of machines on their training rows, by name, each of shape (k,)."""
    terms = margin_terms(alpha * training.signs, scores)
    with np.errstate(divide="ignore", invalid="ignore"):
        margin = np.where(terms > 0, 1.0 / np.sqrt(2.0 * np.maximum(terms, 0.0)), np.inf)
    decisions = scores + bias[:, None]
    largest = alpha.max(axis=1, keepdims=True)
    return {
        "margin_term": terms,
        "hinge_loss": hinge_losses(decisions, training.signs, training.weights),
        "training_error": error_rates(decisions, training.signs, training.weights),
        "n_support": np.count_nonzero(alpha > SUPPORT * largest, axis=1).astype(np.float64),
        "margin": margin,
        "C": prices(alpha, training.weights),
        "dual_objective": alpha.sum(axis=1) - terms,
    }


def error_rates(decisions: Array, signs: Array, weights: Array) -> Array:
    """Return the share of rows, by weight, whose sign is predicted wrongly, shape (k,).

    A decision of zero predicts the negative class, as `predict` does.
    """
    wrong: Mask = (decisions > 0) != (signs > 0)
    shares: Array = wrong @ weights / weights.sum()
    return shares


def _reference_bias(training: Training, alpha: Array, scores: Array) -> Array:
    dual = Dual(training.kernel, training.signs, training.weights, equality=False)
    return np.array(
        [dual.bias_at(*pair) for pair in zip(alpha, training.signs - scores, strict=True)]
    )


def _holdout_errors(holdout: Holdout, basis: Basis, alpha: Array, bias: Array) -> Array:
    decisions = basis.coefficients(alpha) @ holdout.between.T + bias[:, None]
    return error_rates(decisions, holdout.signs, holdout.weights)
