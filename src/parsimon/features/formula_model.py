"""Linear and logistic models of constructed features, with errors of rows left out for free.

`linear_fit` and `logistic_fit` are the inner learners of `ParetoConstructor`, `InnerLearner` is any
other; `RegressionFormula`, `ClassificationFormula` and `LearnerFormula` are what it selects.
`FormulaEstimator` predicts with one of these.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from parsimon._data import tag_task, validate_data
from parsimon._parallel import Workers
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.features.column_values import ColumnCache
from parsimon.features.expressions import ONE, Expression, weighted_sum
from parsimon.features.formulas import latex
from parsimon.inference.irls import logistic_mode

# Of a column that is a sum of the others so little is left after they are taken away.
_SINGULAR = 1e-11
# On standardised columns; keeps the weights of separable classes finite. More would favour two
# features that say the same over one.
_PENALTY = 0.01
# A constant so much smaller than what it is added to is rounding.
_NOTHING = 1e-10
# So is what is left of a number beside a small fraction.
_ROUNDED = 1e-9


class InnerFit(NamedTuple):
    """Weights of features and what they predict for rows left out.

    coef (k, q), intercept (q,): Of q outputs.
    left_out (n, q): The output for each row of a model fitted to the others.
    """

    coef: Array
    intercept: Array
    left_out: Array


def linear_fit(columns: Array, y: Array) -> InnerFit | None:
    r"""Fit least squares; None if the columns depend on each other.

    The residual of a row left out is :math:`r_i / (1 - h_i)` with the diagonal h of the hat matrix
    (Allen 1974). Shapes: columns (n, k), y (n,).
    """
    centre, spread = columns.mean(axis=0), columns.std(axis=0)
    if not (spread > 0).all() or not np.isfinite(spread).all():
        return None
    basis, upper = np.linalg.qr((columns - centre) / spread)
    if np.abs(np.diag(upper)).min(initial=np.inf) < _SINGULAR * np.sqrt(len(y)):
        return None
    mean = y.mean()
    along = basis.T @ (y - mean)
    coef = np.linalg.solve(upper, along) / spread
    residual = y - mean - basis @ along
    leverage = np.minimum(1.0 / len(y) + (basis**2).sum(axis=1), 1.0 - 1e-12)
    left_out = y - residual / (1.0 - leverage)
    return InnerFit(coef[:, None], np.array([mean - centre @ coef]), left_out[:, None])


def logistic_fit(columns: Array, codes: Indices, n_classes: int) -> InnerFit | None:
    """Fit logistic regression, one class against the others where there are more than two.

    Decisions of rows left out are those of one Newton step from the fit (Pregibon 1981). Shapes:
    columns (n, k), codes (n,).
    """
    centre, spread = columns.mean(axis=0), columns.std(axis=0)
    if not (spread > 0).all() or not np.isfinite(spread).all():
        return None
    design = np.column_stack([np.ones(len(codes)), (columns - centre) / spread])
    positive = [1] if n_classes == 2 else range(n_classes)
    fits = [_one_logistic(design, (codes == code).astype(np.float64)) for code in positive]
    weights = np.column_stack([weight for weight, _ in fits])
    coef = weights[1:] / spread[:, None]
    intercept = weights[0] - centre @ coef
    return InnerFit(coef, intercept, np.column_stack([left_out for _, left_out in fits]))


def _one_logistic(design: Array, target: Array) -> tuple[Array, Array]:
    """Return weights (1 + k,) and decisions of rows left out (n,)."""
    penalty = np.full(design.shape[1], _PENALTY)
    penalty[0] = 1e-9
    mode = logistic_mode(design, target, penalty)
    chance = expit(mode.scores)
    curvature = np.maximum(chance * (1.0 - chance), 1e-10)
    inverse = np.linalg.inv((design.T * curvature) @ design + np.diag(penalty))
    leverage = np.minimum(curvature * ((design @ inverse) * design).sum(axis=1), 1.0 - 1e-9)
    shift = leverage / (1.0 - leverage) * (target - chance) / curvature
    # A single step overshoots where the curvature is almost nothing.
    return mode.weights, mode.scores - np.clip(shift, -50.0, 50.0)


def class_chances(decisions: Array) -> Array:
    """Return class probabilities of decisions, shape (n, q) to (n, n_classes)."""
    chance = expit(decisions)
    if chance.shape[1] == 1:
        return np.column_stack([1.0 - chance[:, 0], chance[:, 0]])
    chance = np.maximum(chance, 1e-300)
    return chance / chance.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class InnerLearner:
    """An estimator of scikit-learn's form, with the folds that it is judged on.

    Losses are squares, negative log probabilities of classes, or mistakes of a classifier without
    probabilities.
    """

    estimator: Any
    folds: Sequence[tuple[Indices, Indices]]
    n_jobs: int | None = 1

    def losses(self, tables: Sequence[Array], target: AnyArray, n_classes: int) -> list[Array]:
        """Return the loss of each row outside the folds it was fitted to, for tables (n, k)."""
        calls = [(self.estimator, each, target, self.folds, n_classes) for each in tables]
        with Workers(self.n_jobs) as workers:
            return list(workers.map(_losses_on_folds, calls))

    def losses_elsewhere(
        self, known: tuple[Array, AnyArray], new: tuple[Array, AnyArray], n_classes: int
    ) -> Array:
        """Return the losses for new rows of a fit to the known ones."""
        return _losses_after(clone(self.estimator).fit(*known), *new, n_classes)


def _losses_on_folds(
    estimator: Any,
    table: Array,
    target: AnyArray,
    folds: Sequence[tuple[Indices, Indices]],
    n_classes: int,
) -> Array:
    losses = np.empty(len(target))
    for train, test in folds:
        model = clone(estimator).fit(table[train], target[train])
        losses[test] = _losses_after(model, table[test], target[test], n_classes)
    return losses


def _losses_after(model: Any, table: Array, target: AnyArray, n_classes: int) -> Array:
    if n_classes == 0:
        return (np.asarray(model.predict(table), dtype=np.float64) - target) ** 2
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(table) != target, dtype=np.float64)
    # A class that no row of the fit has gets no chance.
    chances = np.zeros((len(target), n_classes))
    chances[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(table)
    return -np.log(np.maximum(chances[np.arange(len(target)), target], 1e-15))


@dataclass(frozen=True, eq=False)
class _FormulaFeatures:
    """Features of a table.

    names: The columns of the table, in its order.
    """

    features: tuple[Expression, ...]
    names: tuple[str, ...]

    def transform(self, X: Any) -> Array:
        """Return the features, one column each, shape (m, k)."""
        table = np.asarray(X, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != len(self.names):
            raise InvalidInputError(
                f"X must have the {len(self.names)} columns of the fit, got shape {table.shape}."
            )
        return ColumnCache(dict(zip(self.names, table.T, strict=True))).matrix(self.features)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:  # noqa: ARG002
        """Return the formula of each feature."""
        return np.array([str(feature) for feature in self.features], dtype=object)


@dataclass(frozen=True, eq=False)
class _Formula(_FormulaFeatures):
    """Features with their weights.

    coef (k, q), intercept (q,).
    """

    coef: Array
    intercept: Array

    def _outputs(self, X: Any) -> Array:
        return self.transform(X) @ self.coef + self.intercept

    def _expression(self, output: int) -> Expression:
        weights = [*self.coef[:, output].tolist(), float(self.intercept[output])]
        return weighted_sum(weights, [*self.features, ONE])


class RegressionFormula(_Formula):
    """A number as a sum of constructed features.

    Attributes
    ----------
    features : tuple of Expression
    coef : ndarray of shape (k, 1)
    intercept : ndarray of shape (1,)
    """

    @property
    def expression(self) -> Expression:
        """The whole formula, with its numbers."""
        return self._expression(0)

    def __str__(self) -> str:
        return str(self.expression)

    def _repr_latex_(self) -> str:
        return f"${latex(self.expression, digits=4)}$"

    def predict(self, X: Any) -> Array:
        """Return the value for each row, shape (m,)."""
        return self._outputs(X)[:, 0]


@dataclass(frozen=True, eq=False)
class ClassificationFormula(_Formula):
    """Classes by logistic regression on constructed features.

    Attributes
    ----------
    features : tuple of Expression
    coef : ndarray of shape (k, q)
        Of one output for two classes, else of one for each class against the others.
    intercept : ndarray of shape (q,)
    classes : ndarray of shape (n_classes,)
    """

    classes: AnyArray

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The decision functions, with their numbers."""
        return tuple(self._expression(output) for output in range(len(self.intercept)))

    def __str__(self) -> str:
        return "; ".join(map(str, self.expressions))

    def decision_function(self, X: Any) -> Array:
        """Return the decisions, shape (m,) for two classes, else (m, n_classes)."""
        outputs = self._outputs(X)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict_proba(self, X: Any) -> Array:
        """Return the class probabilities, shape (m, n_classes)."""
        return class_chances(self._outputs(X))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class of each row, shape (m,)."""
        return self.classes[self.predict_proba(X).argmax(axis=1)]


@dataclass(frozen=True, eq=False)
class LearnerFormula(_FormulaFeatures):
    """Constructed features, and a learner that was fitted to them.

    Attributes
    ----------
    features : tuple of Expression
    learner : estimator
        Fitted to the features; of classes to their codes.
    classes : ndarray of shape (n_classes,) or None
        None for numbers.
    """

    learner: Any
    classes: AnyArray | None = None

    def __str__(self) -> str:
        return ", ".join(map(str, self.features))

    def predict(self, X: Any) -> AnyArray:
        """Return the value or class of each row, shape (m,)."""
        predicted: AnyArray = self.learner.predict(self.transform(X))
        return predicted if self.classes is None else self.classes[predicted]

    @available_if(lambda self: hasattr(self.learner, "predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Return the class probabilities, shape (m, n_classes)."""
        return self.learner.predict_proba(self.transform(X))

    @available_if(lambda self: hasattr(self.learner, "decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Return the decisions, shape (m,) for two classes, else (m, n_classes)."""
        return self.learner.decision_function(self.transform(X))


def _offers(method: str) -> Any:
    """Return whether classes are predicted, and by a model with a method, for `available_if`."""

    def has(estimator: "FormulaEstimator") -> bool:
        model = getattr(
            estimator, estimator._model_attribute, getattr(estimator, "estimator", None)
        )
        return estimator._predicts_classes and (model is None or hasattr(model, method))

    return available_if(has)


class FormulaEstimator(TransformerMixin, BaseEstimator):
    """What predicts with a model of constructed features, and passes these features on.

    _model_attribute: The name of that model, which `fit` makes.
    """

    _model_attribute = "model_"
    task: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tag_task(tags, "classification" if self._predicts_classes else "regression")

    @property
    def _predicts_classes(self) -> bool:
        """Whether classes are predicted, or a number."""
        return bool(getattr(self, "task_", self.task) == "classification")

    @property
    def _model(self) -> Any:
        check_is_fitted(self)
        return getattr(self, self._model_attribute)

    def _ask(self, method: str, X: Any) -> AnyArray:
        """Return what a method of the model says of a table, which is checked first."""
        model = self._model
        return getattr(model, method)(validate_data(self, X, dtype=np.float64, reset=False))

    @property
    def formula_(self) -> str:
        """The formula with its numbers."""
        return str(self._model)

    def transform(self, X: Any) -> Array:
        """Return the constructed features of each row, shape (m, k)."""
        return self._ask("transform", X)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:  # noqa: ARG002
        """Return the formula of each constructed feature, shape (k,)."""
        return self._model.get_feature_names_out()

    def predict(self, X: Any) -> AnyArray:
        """Return the prediction for each row, shape (m,)."""
        return self._ask("predict", X)

    @_offers("predict_proba")
    def predict_proba(self, X: Any) -> Array:
        """Return the class probabilities, shape (m, n_classes)."""
        return self._ask("predict_proba", X)

    @_offers("decision_function")
    def decision_function(self, X: Any) -> Array:
        """Return the decisions, (m,) for two classes, else (m, n_classes)."""
        return self._ask("decision_function", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R squared, or the accuracy for classes."""
        measure = accuracy_score if self._predicts_classes else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))


def row_losses(outputs: Array, target: AnyArray, n_classes: int) -> Array:
    """Return the squared error of each row, or its negative log probability.

    Shapes: outputs (n, q), target (n,): numbers, or codes of classes.
    """
    if n_classes == 0:
        return (outputs[:, 0] - target) ** 2
    chances = class_chances(outputs)[np.arange(len(target)), target]
    return -np.log(np.maximum(chances, 1e-15))


def nice(number: float) -> float:
    """Return a small fraction, or one of six digits, if the number is that but for rounding."""
    if not 1e-6 < abs(number) < 1e6:
        return number
    fraction = float(Fraction(number).limit_denominator(12))
    for rounded in (fraction, float(f"{number:.6g}")):
        if abs(rounded - number) <= _ROUNDED * abs(number):
            return rounded
    return number


def linear_formula(
    features: Sequence[Expression],
    names: Sequence[str],
    fit: InnerFit,
    columns: Array,
    classes: AnyArray | None = None,
) -> Any:
    """Return the model of a fit to the columns of the features, shape (n, k).

    Numbers to predict that differ from small fractions, or nothing, by rounding alone are these.
    """
    if classes is not None:
        return ClassificationFormula(tuple(features), tuple(names), *fit[:2], classes)
    coef = np.array([nice(float(weight)) for weight in fit.coef[:, 0]]).reshape(-1, 1)
    reach = float((np.abs(coef[:, 0]) * np.abs(columns).mean(axis=0)).max(initial=0.0))
    intercept = np.where(np.abs(fit.intercept) > _NOTHING * reach, fit.intercept, 0.0)
    return RegressionFormula(tuple(features), tuple(names), coef, intercept)
