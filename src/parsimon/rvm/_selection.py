"""Which solution of a front of classifiers? How complex it may be is chosen here.

The source takes the most accurate solution on the training rows and names the automatic choice of
complexity as future work (Clark 2011, sections 3.6 and 3.9). Besides its rule there are the
one-standard-error rule and the knee of error against complexity. (The knee of all objectives at
once is no use: it tends to a classifier that gives all rows to one class.) As texts:

=========================================  =====================================================
``accuracy``                               most accurate by the figures that guided the search
``training_accuracy``                      most accurate on all training rows, refitted (Clark)
``one_se``, ``one_se:2``                   least complex within one (two) standard errors of that
``knee``, ``knee:gain``                    knee of the least error at each complexity, by method
``best:tpr``, ``cheapest:...``, ``7``      the other rules of `parsimon.pareto.choose`
``... where fpr<=0.05 and complexity<9``   any of them, among the solutions that meet conditions
=========================================  =====================================================

Solutions of a search fitted anew to all rows: their rates there, and cutoffs that suit them.

A search in folds judges a cutoff by scores of several fits. Where inputs repeat, a row has a
slightly different score in each fold, and a cutoff between them separates equal rows: it looks
good in the folds and means nothing to the model that is fitted to all rows. Each cutoff is
therefore moved to the middle of the gap between the scores of that model in which it lies, and
the held-out rates are measured again there.

An ordinary classifier from precisions that a search chose, instead of from maximum evidence.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from parsimon._checks import check_choice, check_positive
from parsimon._data import row_weights
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import EmptyFrontError, InvalidInputError
from parsimon.inference.irls import logistic_modes
from parsimon.inference.sparse_bayes import SparseBayes
from parsimon.inference.sparse_bayes._softmax_mode import softmax_mode
from parsimon.inference.sparse_bayes.softmax import SparseSoftmax, softmax_given
from parsimon.pareto import Front
from parsimon.pareto import choose as choose_from_front
from parsimon.pareto._criteria import KNEES, condition_mask, written_conditions
from parsimon.pareto.choose import Rule
from parsimon.pareto.dominance import nondominated_rows
from parsimon.rvm._classes import checked_cutoff
from parsimon.rvm._dictionary import Basis
from parsimon.rvm._evaluate import Model, Outcome
from parsimon.rvm._genome import LARGEST_SCORE
from parsimon.rvm._machine import posterior_given
from parsimon.rvm._sweep import class_rates, rate_gains
from parsimon.rvm.classifier import RVC

# Accuracies that are sums in another order are equal.
_DIGITS = 12


@dataclass(frozen=True, eq=False)
class Figures:
    """What is known of each solution of a front besides its objectives, in its order.

    Shapes: complexity (n_solutions,).

    accuracy (n_solutions,): That follows from the rates that guided the search, or that on the
        training rows if it is lower.
    training_accuracy (n_solutions,): On all training rows, with weights refitted to all of
        them.
    n_columns (n_solutions,): Columns in the model, without the bias.
    n_rows: How many rows `accuracy` was measured on.
    """

    accuracy: Array
    training_accuracy: Array
    complexity: Array
    n_columns: Array
    n_rows: int

    def __len__(self) -> int:
        return len(self.accuracy)

    def where(self, mask: Mask) -> "Figures":
        """Return the figures of some of the solutions."""
        return Figures(
            self.accuracy[mask],
            self.training_accuracy[mask],
            self.complexity[mask],
            self.n_columns[mask],
            self.n_rows,
        )


def choose(front: Front, figures: Figures, rule: Rule) -> int:
    """Return the index that a rule chooses."""
    if not isinstance(rule, str):
        return choose_from_front(front, rule)
    text, _, conditions = rule.partition(" where ")
    wanted = written_conditions(conditions) if conditions else {}
    kept = condition_mask(front.values, front.directions, wanted)
    if not kept.any():
        raise EmptyFrontError("No solution is left to choose from; loosen the conditions.")
    index = _chosen(front[kept], figures.where(kept), text.strip())
    return int(np.flatnonzero(kept)[index])


def _chosen(front: Front, figures: Figures, text: str) -> int:
    name, _, rest = text.partition(":")
    size, columns = figures.complexity, figures.n_columns
    if text == "accuracy":
        return most_accurate(figures.accuracy, size, columns)
    if text == "training_accuracy":
        return most_accurate(figures.training_accuracy, size, columns)
    if name == "one_se":
        n_errors = _number(rest) if rest else 1.0
        return within_standard_error(
            figures.accuracy, size, columns, n_rows=figures.n_rows, n_errors=n_errors
        )
    if name == "knee":
        return error_knee(1.0 - figures.accuracy, size, method=rest or "chord")
    try:
        return choose_from_front(front, text)
    except InvalidInputError as error:
        if not str(error).startswith("There is no rule"):
            raise
        own = "accuracy, training_accuracy, one_se, knee"
        raise InvalidInputError(
            f"There is no rule {name!r}; the rules are {own}, best, nearest, cheapest, "
            "desirable, or an index."
        ) from error


def most_accurate(accuracy: Array, complexity: Array, n_columns: Array) -> int:
    """Return the most accurate; ties go to the least complex, then to the fewest columns.

    Shapes: accuracy, complexity, n_columns (n_solutions,).

    Clark (2011), section 3.6.
    """
    return int(np.lexsort((n_columns, complexity, -accuracy.round(_DIGITS)))[0])


def within_standard_error(
    accuracy: Array,
    complexity: Array,
    n_columns: Array,
    *,
    n_rows: int,
    n_errors: float = 1.0,
) -> int:
    r"""Return the least complex solution nearly as accurate as the best.

    The standard error is that of the best accuracy, binomial: :math:`\sqrt{p (1 - p) / n}` with
    :math:`p = (n a + 1) / (n + 2)`, so that a faultless solution has one too [1]. Ties go to the
    more accurate, then to the fewest columns.

    Shapes: accuracy, complexity, n_columns (n_solutions,).

    [1] Breiman, Friedman, Olshen and Stone (1984), Classification and regression trees,
    section 3.4.3.
    """
    check_positive("n_errors", n_errors, or_zero=True)
    best = float(accuracy.max())
    share = (n_rows * best + 1.0) / (n_rows + 2.0)
    least = best - n_errors * np.sqrt(share * (1.0 - share) / n_rows)
    eligible = np.flatnonzero(accuracy.round(_DIGITS) >= round(least, _DIGITS))
    order = np.lexsort(
        (n_columns[eligible], -accuracy[eligible].round(_DIGITS), complexity[eligible])
    )
    return int(eligible[order[0]])


def error_knee(error: Array, complexity: Array, *, method: str = "chord") -> int:
    """Return the knee of error against complexity.

    Of each complexity only the least error counts; of these points those that are not dominated
    form a front of two objectives, whose knee is taken.

    Shapes: error, complexity (n_solutions,).
    """
    check_choice("method", method, tuple(KNEES))
    points = np.column_stack([error.round(_DIGITS), complexity])
    front = np.flatnonzero(nondominated_rows(points, keep_ties=False))
    return int(front[KNEES[method](points[front])])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInputError(f"A rule needs a number here, got {text!r}.") from error


_DECIMALS = 12


class Labelled(NamedTuple):
    """Training rows for a refit.

    design (n, M): The whole dictionary.
    codes (n,): Class of each row.
    weights (n,): How many times each row counts.
    held (n_folds, n): How much of it is held out in each fold, if the search had folds.
    """

    design: Array
    codes: Indices
    n_classes: int
    weights: Array
    held: Array | None = None


class Refitted(NamedTuple):
    """Solutions in the order of the outcome.

    Shapes: cutoffs (k,).

    rates (k, n_classes): Share of each class that is predicted right: means over held-out folds
        if there are any, else on the training rows.
    training_rates (k, n_classes): On the training rows, by the model that is fitted to all of
        them.
    """

    rates: Array
    training_rates: Array
    cutoffs: Array


def refitted(outcome: Outcome, rows: Labelled, held_rates: Array) -> Refitted:
    """Fit all models of a search to all rows and measure their solutions.

    Shapes: held_rates (k, n_classes).
    """
    cutoffs = np.array(outcome.cutoffs)
    gains = rate_gains(rows.codes, rows.weights, None, rows.n_classes)
    training, held = np.empty((len(cutoffs), rows.n_classes)), np.array(held_rates)
    for number, model in enumerate(outcome.models):
        own = np.flatnonzero(outcome.which == number)
        scores = fitted_scores(model, rows)
        if rows.n_classes == 2:
            cutoffs[own] = settled_cutoffs(cutoffs[own], scores)
            predicted = (scores > cutoffs[own, None]).astype(np.intp)
            if rows.held is not None:
                held[own] = held_out_rates(model, rows, rows.held, cutoffs[own])
        else:
            predicted = (scores[None] - cutoffs[own, None]).argmax(axis=2)
        training[own] = class_rates(predicted == rows.codes, rows.codes, gains, rows.n_classes)
    return Refitted(training if rows.held is None else held, training, cutoffs)


def fitted_scores(model: Model, rows: Labelled) -> Array:
    """Return the scores of a model fitted to all rows, shape (n,) or (n, n_classes)."""
    own = rows.design[:, model.active]
    if rows.n_classes > 2:
        return softmax_mode(
            own, rows.codes, rows.n_classes, model.alpha, row_weights=rows.weights
        ).scores
    labels = rows.codes.astype(np.float64)
    posterior = posterior_given(own, labels, model.alpha, row_weights=rows.weights)
    scores: Array = own @ posterior.mean
    return scores


def settled_cutoffs(cutoffs: Array, scores: Array) -> Array:
    """Return each cutoff in the middle of the gap between scores in which it lies.

    The rows above it stay the same. Beyond the greatest and the least score it is infinite.

    Shapes: cutoffs (c,), scores (n,) -> (c,).
    """
    ordered = np.unique(scores)
    middles = 0.5 * ordered[:-1] + 0.5 * ordered[1:]
    places = np.searchsorted(ordered, cutoffs, side="right")
    settled: Array = np.concatenate([[-np.inf], middles, [np.inf]])[places]
    return settled


def held_out_rates(model: Model, rows: Labelled, held: Array, cutoffs: Array) -> Array:
    """Return the rates of both classes, means over the folds in which a class occurs.

    Shapes: held (n_folds, n), cutoffs (c,) -> (c, 2).
    """
    scores = logistic_modes(
        rows.design[:, model.active],
        rows.codes.astype(np.float64),
        model.alpha,
        rows.weights - held,
        largest_score=LARGEST_SCORE,
    ).scores
    positive = scores[None] > cutoffs[:, None, None]
    rates = np.empty((len(cutoffs), 2))
    for code in (0, 1):
        counts = held * (rows.codes == code)
        sizes = counts.sum(axis=1)
        present = sizes > 0
        gains = counts[present] / sizes[present, None] / np.count_nonzero(present)
        right = positive[:, present] == bool(code)
        rates[:, code] = (right * gains).sum(axis=(1, 2))
    return rates.round(_DECIMALS)


def classifier_with(
    options: RVC,
    basis: Basis,
    X: Array,
    codes: Indices,
    classes: AnyArray,
    alpha: Array,
    *,
    cutoff: Any = 0.0,
    sample_weight: Any = None,
    design: Array | None = None,
    feature_names: Any = None,
    largest_score: float = 30.0,
) -> RVC:
    """Return a fitted classifier whose precisions are given.

    For two classes the weights are the mode by iteratively reweighted least squares, and their
    covariance is Laplace's; for more, those of the softmax likelihood with precisions that all
    classes share. The result is an ordinary `RVC`: it predicts, can be saved, and `clone` makes
    an unfitted one with the options, which `fit` would fit by evidence.

    Shapes: X (n, d), codes (n,), classes (n_classes,), alpha (M,), cutoff (n_classes,),
        sample_weight (n,), design (n, M), feature_names (d,).
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    if alpha.shape != (basis.n_columns,) or np.isnan(alpha).any() or (alpha < 0).any():
        raise InvalidInputError(
            f"alpha must be one precision, not negative, for each of {basis.n_columns} columns; "
            f"got shape {alpha.shape}."
        )
    X, codes, classes = np.asarray(X, dtype=np.float64), np.asarray(codes), np.asarray(classes)
    checked_cutoff(cutoff, len(classes))
    weights = row_weights(sample_weight, len(X))
    design = basis.design(X) if design is None else design
    model: RVC = clone(options).set_params(cutoff=cutoff, response="plug_in")
    model.classes_, model.n_features_in_ = classes, X.shape[1]
    if feature_names is not None:
        model.feature_names_in_ = np.asarray(feature_names, dtype=object)
    posterior: SparseBayes | SparseSoftmax
    if len(classes) == 2:
        posterior = posterior_given(
            design,
            codes.astype(np.float64),
            alpha,
            row_weights=weights,
            largest_score=largest_score,
        )
    else:
        posterior = _softmax_given(design, codes, len(classes), alpha, weights)
    model._store(basis, [posterior], (X, design, weights))
    return model


def _softmax_given(
    design: Array, codes: Indices, n_classes: int, alpha: Array, weights: Array
) -> SparseSoftmax:
    """Return the posterior of the columns in the model, counted in the whole dictionary."""
    active = np.flatnonzero(np.isfinite(alpha))
    result = softmax_given(
        design[:, active], codes.astype(np.intp), n_classes, alpha[active], row_weights=weights
    )
    pairs = np.column_stack([result.pairs[:, 0], active[result.pairs[:, 1]]])
    return SparseSoftmax(**vars(result) | {"pairs": pairs})
