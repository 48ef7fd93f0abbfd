"""What a search found: machines, their figures on training and held-out rows, and the front."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from parsimon._typing import AnyArray, Array, Mask
from parsimon.pareto import Front, SearchResult
from parsimon.pareto.dominance import nondominated_rows
from parsimon.svm.dual import Dual
from parsimon.svm.front.choice import Figures
from parsimon.svm.front.losses import Training, best_bias, hinge_losses, margin_terms
from parsimon.svm.front.machine import SUPPORT, Basis, FrontSVC, Member, settle
from parsimon.svm.front.printed import dual_objectives
from parsimon.svm.front.variation import prices

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
