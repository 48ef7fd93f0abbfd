r"""The machines of a front: their rows, their figures, and each as an ordinary classifier.

`FrontSVC` is one machine; its own `fit` solves the exact problem at its C. `describe_search` turns
what a search returned into a `Front` whose solutions are such classifiers, with all that is known
of each on training rows and on rows held out. A row that is there twice is never on both sides of
that split.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_positive, is_precomputed, shorten
from parsimon._data import (
    Rows,
    check_classes,
    class_weights,
    merged_rows,
    row_weights,
    validate_data,
)
from parsimon._parallel import one_thread
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Front, SearchResult
from parsimon.pareto.choose import Figures
from parsimon.pareto.dominance import nondominated_rows
from parsimon.svm._dual import Dual, solve
from parsimon.svm._front import (
    DUAL_NAMES,
    MarginProblem,
    best_bias,
    dual_objectives,
    hinge_losses,
    margin_terms,
    prices,
)
from parsimon.svm._gram import BinaryKernelMachine, Gram, copy_columns, fit_gram
from parsimon.svm._pairs import Slopes, cross_fit_slopes, fit_slopes
from parsimon.svm.indefinite import Definiteness, TrainingMatrix, training_matrix


def loss_weights(rows: Rows, class_weight: Any, classes: AnyArray) -> Array:
    """Return what one unit of slack of each row costs: its count times the weight of its class."""
    share = class_weights(class_weight, classes, rows.y, rows.weights)
    return np.multiply(rows.weights, share)


def held_weights(rows: Rows, fraction: float, rng: np.random.Generator) -> Array:
    """Return how much of the weight of each row is held out, shape (n,).

    Of each class the same share is held out, at least one row and never all. If a class has only
    one row, nothing is held out. Equal rows stay together, since they may be copies, unless most
    weight lies on inputs that both classes have: then rows are equal because columns have few
    values, and some of those that were merged are drawn.
    """
    held = np.zeros(len(rows))
    drawn = _have_few_inputs(rows)
    counts = np.floor(rows.weights).astype(np.int64) if drawn else np.ones(len(rows), np.int64)
    classes = [np.flatnonzero(rows.y == code) for code in np.unique(rows.y)]
    if fraction == 0 or min(counts[members].sum() for members in classes) < 2:
        return held
    for members in classes:
        n = int(counts[members].sum())
        n_held = min(max(round(fraction * n), 1), n - 1)
        if drawn:
            held[members] = rng.multivariate_hypergeometric(counts[members], n_held)
        else:
            chosen = rng.permutation(members)[:n_held]
            held[chosen] = rows.weights[chosen]
    return held


def _have_few_inputs(rows: Rows) -> bool:
    """Return whether most weight lies on inputs that occur with several classes."""
    run = np.cumsum(rows.is_new) - 1
    mixed = np.bincount(run)[run] > 1
    return bool(rows.weights[mixed].sum() > rows.weights.sum() / 2)


# Share of the largest dual variable below which one is rounding.
SUPPORT = 1e-8


def _has_slopes(model: "FrontSVC") -> bool:
    if getattr(model, "slopes_", None) is not None:
        return True
    raise AttributeError(
        "predict_proba needs rows that the machine has not seen: hold some out, or refit it."
    )


class FrontSVC(BinaryKernelMachine):
    """A support vector classifier for two classes at a given price C of the hinge loss.

    `ParetoSVC.select` returns one with the dual variables of a row of its front. Its own `fit`
    solves the exact problem for its C; the bias is the middle of those with the least loss.

    Shapes: classes_ (2,), intercept_ (1,), feature_names_in_ (n_features,).

    C: Price of one unit of slack.
    kernel, gamma: As in `sklearn.svm.SVC`; also a kernel of `parsimon.kernels`.
    class_weight: Multiplies C for the rows of a class.
    tol: Gap in the conditions of optimality at which the solution is accepted.

    support_ (n_vectors,): Rows given to `fit` whose dual variables are not zero; of equal rows
        the first.
    support_vectors_ (n_vectors, d): Empty for ``kernel="precomputed"``.
    dual_coef_ (1, n_vectors): Dual variables times signs.
    n_support_ (2,): Support vectors of each class.
    slopes_: Of its probabilities, fitted to decisions about rows not seen: by five-fold
        cross-fitting in `fit`, on the rows held out for a machine of a front, or else None.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        class_weight: Any = None,
        tol: float = 1e-3,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.class_weight = class_weight
        self.tol = tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve the exact problem.

        Shapes: X (n, d), y (n,), sample_weight (n,).
        """
        check_positive("C", self.C)
        X, y = validate_data(self, X, y, dtype=np.float64)
        classes, codes, weights = two_classes(y, sample_weight)
        rows = merged_rows(X, codes, weights, merge=not is_precomputed(self))
        gram = fit_gram(self, X, rows.places, rows.weights)
        with one_thread():
            made = training_matrix(gram, "flip")
            problem = margin_problem(self, made, rows, classes)
            dual = Dual(problem.kernel, problem.signs, float(self.C) * problem.weights)
            alpha = solve(dual, tol=self.tol).alpha[None]
            basis = TrainedRows(made.definiteness, made.map, rows, classes, X)
            bias, self.columns_ = describe_machines(problem, alpha)
            errors = self.columns_["training_error"]
            self.beats_constant_ = errs_less(errors, problem.constant_error)
            seen = problem.scores(alpha)[0] + bias[0]

            def machine(part: Dual, seed: np.random.SeedSequence) -> tuple[Array, float]:  # noqa: ARG001
                found = solve(part, tol=self.tol).alpha
                scores = part.scores(found)[None]
                return found, float(best_bias(scores, part.signs, part.upper)[0])

            seed = np.random.SeedSequence(0)
            slopes = cross_fit_slopes(dual, rows.weights, machine, seed, seen=seen)
        return settle_machine(self, alpha[0], float(bias[0]), basis, slopes)

    def predict(self, X: Any) -> AnyArray:
        """Return the class of each row, shape (m,)."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.intp)]

    def decision_function(self, X: Any) -> Array:
        """Return the functions' values, positive where ``classes_[1]`` is predicted, shape (m,)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.expansion_(X)

    @available_if(_has_slopes)
    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities, the greater of which `predict` returns, shape (m, 2)."""
        positive = self.slopes_.probability(self.decision_function(X))
        return np.column_stack((1.0 - positive, positive))


@dataclass(frozen=True, eq=False)
class Expansion:
    """A function of new rows: kernels at some training rows, with coefficients, and a bias."""

    gram: Gram
    coefficients: Array
    bias: float

    def __call__(self, X: Array) -> Array:
        if not len(self.coefficients):
            return np.full(len(X), self.bias)
        return self.gram.between(X) @ self.coefficients + self.bias


@dataclass(frozen=True, eq=False)
class TrainedRows:
    """The training rows that dual variables belong to, and how new rows meet them.

    map (n, n): What similarities of new rows are multiplied with; None leaves them as they are.
    """

    definiteness: Definiteness
    map: Array | None
    rows: Rows
    classes: AnyArray
    X: Array

    @property
    def gram(self) -> Gram:
        """The kernel on these rows."""
        return self.definiteness.gram

    def coefficients(self, alpha: Array) -> Array:
        """Return what similarities of new rows are multiplied with, of the shape of `alpha`."""
        signed = alpha * np.where(self.rows.y == 1, 1.0, -1.0)
        if self.map is None:
            return signed
        return signed @ self.map.T


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


def margin_problem(
    options: Any, made: TrainingMatrix, rows: Rows, classes: AnyArray
) -> MarginProblem:
    """Return what machines are evaluated by."""
    weights = loss_weights(rows, options.class_weight, classes)
    if not (weights > 0).all():
        raise InvalidInputError(
            "A class has weight zero in class_weight, so that nothing is learnt of it; give it a "
            "positive weight."
        )
    return MarginProblem(made.matrix, np.where(rows.y == 1, 1.0, -1.0), weights)


def settle_machine(
    model: FrontSVC, alpha: Array, bias: float, basis: TrainedRows, slopes: Slopes | None
) -> FrontSVC:
    """Give a classifier the fitted attributes of one machine, and return it.

    Shapes: alpha (n,).
    """
    places = basis.rows.places
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
    model.intercept_ = np.array([bias])
    model.n_support_ = np.bincount(basis.rows.y[support], minlength=2)
    model.expansion_ = Expansion(basis.gram.subset(used), mapped[used], bias)
    model.slopes_ = slopes
    return model


PRIMAL_COLUMNS = ("margin_term", "hinge_loss", "training_error", "n_support")
# Errors that are sums in another order are equal.
_DIGITS = 12
# Of these more is better.
_MAXIMISED = ("margin", "dual_objective")


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
class FrontMachines:
    """The machines of a front, in its order; called with a place it returns the classifier there.

    Shapes: alpha (k, n), bias (k,).

    template: Not fitted, with the options of the search and the columns of the user's table.
    columns (k,): All that is known of each machine, by name.
    is_dual: Whether they come from the printed objectives, so that they have no price of their own.
    holdout: The rows held out, if any were.
    """

    basis: TrainedRows
    template: FrontSVC
    alpha: Array
    bias: Array
    columns: Mapping[str, Array]
    is_dual: bool
    holdout: Holdout | None

    def __len__(self) -> int:
        return len(self.bias)

    @property
    def n_holdout(self) -> float:
        """How many rows were held out."""
        return 0.0 if self.holdout is None else self.holdout.n_rows

    @property
    def front(self) -> Front:
        """The front; its solutions are fitted classifiers."""
        return machine_front(self.columns, is_dual=self.is_dual, solutions=self)

    def unfitted(self, index: int) -> FrontSVC:
        """Return an unfitted classifier with the price of the machine at a place as its C."""
        model: FrontSVC = clone(self.template)
        price = float(self.columns["C"][index])
        if price > 0:
            model.set_params(C=price)
        return model

    def __call__(self, index: int) -> FrontSVC:
        """Return the classifier at a place of the front."""
        model = copy_columns(self.template, self.unfitted(index))
        alpha, bias = self.alpha[index], float(self.bias[index])
        return settle_machine(model, alpha, bias, self.basis, self._slopes(alpha, bias))

    def _slopes(self, alpha: Array, bias: float) -> Slopes | None:
        """Return the slopes of a machine's probabilities on the rows held out."""
        if self.holdout is None:
            return None
        held = self.holdout
        decisions = held.between @ self.basis.coefficients(alpha) + bias
        signs, weights = held.signs, held.weights * held.n_rows / held.weights.sum()
        if not alpha.any():
            # A constant says a share, which the rows of the search know as well.
            rows = self.basis.rows
            signs = np.append(signs, np.where(rows.y == 1, 1.0, -1.0))
            weights = np.append(weights, rows.weights)
            decisions = np.full(len(signs), bias)
        return fit_slopes(decisions, signs, weights)


def machine_front(columns: Mapping[str, Array], *, is_dual: bool, solutions: Any = None) -> Front:
    """Return the front that columns of figures are, those of its objectives among them."""
    names = _shown(is_dual)
    values = np.column_stack([columns[name] for name in names])
    maximised = DUAL_NAMES if is_dual else ()
    return Front(values, names, maximise=maximised, solutions=solutions)


def measure_front(
    columns: Mapping[str, Array], beats_constant: Mask, *, is_dual: bool, n_holdout: float
) -> Figures:
    """Return what rules may refer to beside the columns of the front.

    Of equal machines the one with the widest margin is the simplest.
    """
    names = _shown(is_dual)
    return Figures(
        {name: column for name, column in columns.items() if name not in names},
        maximise=_MAXIMISED,
        error="holdout_error" if n_holdout else None,
        size=("margin_term",),
        knee=names[:2],
        n_rows=n_holdout,
        beats_constant=beats_constant,
        constant="one class for every row",
    )


def _shown(is_dual: bool) -> tuple[str, ...]:
    return (*DUAL_NAMES, *PRIMAL_COLUMNS[1:]) if is_dual else PRIMAL_COLUMNS


def list_rules(is_dual: bool) -> tuple[str, ...]:
    """Return the columns that rules may refer to."""
    more = ("margin_term", "margin", "C", "dual_objective", "holdout_error")
    return tuple(dict.fromkeys((*_shown(is_dual), *more)))


def describe_search(
    result: SearchResult,
    problem: MarginProblem,
    basis: TrainedRows,
    holdout: Holdout | None,
    template: FrontSVC,
) -> tuple[FrontMachines, Figures, int]:
    """Return the machines that a search found, what rules may refer to, and the constant's place.

    The constant classifier is always among them.
    """
    searched = result.directions
    is_dual = searched.names == DUAL_NAMES
    alpha = np.concatenate([np.zeros((1, result.solutions.shape[1])), result.solutions])
    bias, columns = describe_machines(problem, alpha, is_dual=is_dual)
    if is_dual:
        table = dual_objectives(problem, alpha)
        columns = {**dict(zip(DUAL_NAMES, table.T, strict=True)), **columns}
    if holdout is not None:
        decisions = basis.coefficients(alpha) @ holdout.between.T + bias[:, None]
        columns["holdout_error"] = error_rates(decisions, holdout.signs, holdout.weights)
    # Only the objectives of the search decide; the other columns come with their rows.
    pair = np.column_stack([columns[name] for name in searched.names]) * searched.sign
    kept = np.flatnonzero(nondominated_rows(pair, keep_ties=False))
    order = kept[
        machine_front({name: c[kept] for name, c in columns.items()}, is_dual=is_dual).rows
    ]
    ordered = {name: column[order] for name, column in columns.items()}
    machines = FrontMachines(basis, template, alpha[order], bias[order], ordered, is_dual, holdout)
    # Worth having is what errs less than the constant machine, the first.
    errors = columns["training_error" if holdout is None else "holdout_error"]
    better = errs_less(errors, errors[0])[order]
    figures = measure_front(ordered, better, is_dual=is_dual, n_holdout=machines.n_holdout)
    return machines, figures, int(np.argmax(order == 0))


def describe_machines(
    problem: MarginProblem, alpha: Array, *, is_dual: bool = False
) -> tuple[Array, dict[str, Array]]:
    """Return bias and figures of machines; the printed rule for the bias leaves out the first."""
    scores = problem.scores(alpha)
    bias = best_bias(scores, problem.signs, problem.weights)
    if is_dual:
        bias[1:] = _reference_bias(problem, alpha[1:], scores[1:])
    return bias, measure_machines(problem, alpha, scores, bias)


def measure_machines(
    problem: MarginProblem, alpha: Array, scores: Array, bias: Array
) -> dict[str, Array]:
    """Return the figures of machines on their training rows, by name, each of shape (k,)."""
    terms = margin_terms(alpha * problem.signs, scores)
    with np.errstate(divide="ignore", invalid="ignore"):
        margin = np.where(terms > 0, 1.0 / np.sqrt(2.0 * np.maximum(terms, 0.0)), np.inf)
    decisions = scores + bias[:, None]
    largest = alpha.max(axis=1, keepdims=True)
    return {
        "margin_term": terms,
        "hinge_loss": hinge_losses(decisions, problem.signs, problem.weights),
        "training_error": error_rates(decisions, problem.signs, problem.weights),
        "n_support": np.count_nonzero(alpha > SUPPORT * largest, axis=1).astype(np.float64),
        "margin": margin,
        "C": prices(alpha, problem.weights),
        "dual_objective": alpha.sum(axis=1) - terms,
    }


def error_rates(decisions: Array, signs: Array, weights: Array) -> Array:
    """Return the share of rows, by weight, whose sign is predicted wrongly, shape (k,).

    A decision of zero predicts the negative class, as `predict` does.
    """
    wrong: Mask = (decisions > 0) != (signs > 0)
    return wrong @ weights / weights.sum()


def errs_less(errors: Array, baseline: float) -> Mask:
    """Tell which errors are below that of a prediction that needs no machine, shape (k,)."""
    return errors.round(_DIGITS) < round(float(baseline), _DIGITS)


def _reference_bias(problem: MarginProblem, alpha: Array, scores: Array) -> Array:
    dual = Dual(problem.kernel, problem.signs, problem.weights, equality=False)
    return np.array([dual.bias(*pair) for pair in zip(alpha, problem.signs - scores, strict=True)])
