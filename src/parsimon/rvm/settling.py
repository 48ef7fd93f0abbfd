"""Solutions of a search fitted anew to all rows: their rates there, and cutoffs that suit them.

A search in folds judges a cutoff by scores of several fits. Where inputs repeat, a row has a
slightly different score in each fold, and a cutoff between them separates equal rows: it looks
good in the folds and means nothing to the model that is fitted to all rows. Each cutoff is
therefore moved to the middle of the gap between the scores of that model in which it lies, and
the held-out rates are measured again there.
"""

from typing import NamedTuple

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.inference.irls import logistic_modes
from parsimon.inference.sparse_bayes.softmax_mode import softmax_mode
from parsimon.rvm.machine import posterior_given
from parsimon.rvm.search.class_sweep import class_rates, rate_gains
from parsimon.rvm.search.fitting import LARGEST_SCORE
from parsimon.rvm.search.outcome import Model, Outcome

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
