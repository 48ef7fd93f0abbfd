"""From the archive of a search to a front whose rows are fitted classifiers.

`front_of` fits all models of a search to all rows, measures their solutions there, adds the
classifiers that need no data, and keeps what is not dominated.

A search in folds judges a cutoff by scores of several fits. Where inputs repeat, a row has a
slightly different score in each fold, and a cutoff between them separates equal rows: it looks
good in the folds and means nothing to the model that is fitted to all rows. Each cutoff is
therefore moved to the middle of the gap between the scores of that model in which it lies, and
the held-out rates are measured again there.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from parsimon._typing import AnyArray, Array, Indices
from parsimon.inference.irls import logistic_modes
from parsimon.inference.sparse_bayes.multinomial import softmax_mode
from parsimon.pareto import Directions, Front
from parsimon.pareto.choose import Figures
from parsimon.pareto.front import restore
from parsimon.rvm._automatic import deal_out, gains_surely
from parsimon.rvm._calibration import (
    Calibration,
    constant_calibration,
    fit_calibration,
    held_out_losses,
)
from parsimon.rvm._dictionary import BasisFunctions
from parsimon.rvm._evaluators import LARGEST_SCORE
from parsimon.rvm._genome import LOWEST_LEVEL, OBJECTIVES
from parsimon.rvm._machine import posterior_given
from parsimon.rvm._search import ArchiveResult, ChosenColumns
from parsimon.rvm._sweep import class_rates, rate_gains
from parsimon.rvm.classifier import RVC, classifier_given

# Rates and accuracies that are sums in another order are equal.
_DIGITS = 12


class TrainingTable(NamedTuple):
    """What every solution of a front is fitted to.

    Shapes: X (n, d), classes (n_classes,), feature_names (d,).

    design (n, M): The whole dictionary.
    codes (n,): Class of each row.
    weights (n,): How many times each row counts.
    held (n_folds, n): How much of it is held out in each fold, if the search had folds.
    """

    X: Array
    design: Array
    codes: Indices
    classes: AnyArray
    weights: Array
    held: Array | None = None
    feature_names: Any = None

    @property
    def class_shares(self) -> Array:
        """Which share of the rows each class has, shape (n_classes,)."""
        totals = np.bincount(self.codes, self.weights, len(self.classes))
        return totals / totals.sum()


@dataclass(frozen=True, eq=False)
class FrontSolutions:
    """The solutions of a front, in its order; a call with a row returns a fitted classifier.

    options: Parameters of the classifiers.
    basis: The whole dictionary.
    table: The rows that they are fitted to.
    models: Each occurs once.
    which (k,): The model behind each solution.
    cutoffs (k,): As in `RVC`.
    """

    options: RVC
    basis: BasisFunctions
    table: TrainingTable
    models: tuple[ChosenColumns, ...]
    which: Indices
    cutoffs: Array

    def __call__(self, row: int) -> RVC:
        """Return a row as a fitted classifier.

        One without columns has a constant, whether or not the dictionary has one, so that its
        probabilities are the class frequencies.
        """
        model, cutoff = self.models[self.which[row]], self.cutoffs[row]
        basis, alpha = self.basis.columns(model.active), model.alpha
        if not len(model.active):
            basis, alpha = replace(basis, has_bias=True), np.array([10.0**LOWEST_LEVEL])
        table = self.table
        return classifier_given(
            self.options,
            basis,
            table.X,
            table.codes,
            table.classes,
            alpha,
            cutoff=float(cutoff) if cutoff.ndim == 0 else cutoff,
            sample_weight=table.weights,
            feature_names=table.feature_names,
        )

    def calibration(self, row: int) -> Calibration:
        """Return how the scores of a row become probabilities, by fits without some of the rows.

        Scores that say no more of these than the class frequencies do are not used.
        """
        model, table = self.models[self.which[row]], self.table
        codes, weights, n_classes = table.codes, table.weights, len(table.classes)
        parts = deal_out(codes, weights)
        constant = constant_calibration(codes, weights, n_classes)
        if not len(model.active) or not parts.n_folds:
            return constant
        columns = self.basis.columns(model.active).design(table.X)
        scores = np.empty((len(parts.rows), n_classes if n_classes > 2 else 1))
        for fold, left in enumerate(parts.left(weights)):
            own = parts.folds == fold
            scores[own] = _scores(columns, codes, n_classes, model, left)[parts.rows[own]]
        latent, codes = np.hstack([scores, np.zeros_like(scores)]), codes[parts.rows]
        gains = constant.losses(latent, codes) - held_out_losses(latent, codes, parts, (0.0,))
        if not gains_surely(gains, parts.weights):
            return constant
        return fit_calibration(latent, codes, parts.weights, (0.0,))

    @property
    def n_columns(self) -> Indices:
        """Columns in each solution, without the bias, shape (k,)."""
        first = int(self.basis.has_bias)
        sizes = [np.count_nonzero(model.active >= first) for model in self.models]
        return np.array(sizes, dtype=np.intp)[self.which]


def _scores(
    columns: Array, codes: Indices, n_classes: int, model: ChosenColumns, weights: Array
) -> Array:
    """Return the scores of all rows by a fit to rows with these weights.

    Shapes: columns (n, M), codes, weights (n,) -> (n, 1), or (n, n_classes) for more than two.
    """
    if n_classes > 2:
        return softmax_mode(columns, codes, n_classes, model.alpha, row_weights=weights).scores
    labels = codes.astype(np.float64)
    mean = posterior_given(columns, labels, model.alpha, row_weights=weights).mean
    return (columns @ mean)[:, None]


class FrontParts(NamedTuple):
    """A front, what is known of its solutions, and the place of the most frequent class alone."""

    front: Front
    figures: Figures
    majority: int
    solutions: FrontSolutions


def front_of(
    result: ArchiveResult, table: TrainingTable, options: RVC, basis: BasisFunctions
) -> FrontParts:
    """Return the non-dominated solutions of a search, as classifiers with these options.

    The classifiers that give every row to one class are among them: they need no column, and
    every other solution must beat them in something.
    """
    n_classes = len(table.classes)
    rates, training_rates, cutoffs = refit(result, table)
    # Baselines come first, so that of equal solutions they are the ones that stay.
    corners, no_columns = np.eye(n_classes), np.zeros(n_classes)
    complexity = np.append(no_columns, result.values[:, -1])
    values = np.column_stack([objective_values(np.concatenate([corners, rates])), complexity])
    directions = objectives_of(table.classes)
    kept = Front(values, directions.names, maximise=directions.maximised, ties="first").rows
    models = (*result.models, ChosenColumns(np.empty(0, dtype=np.intp), np.empty(0)))
    which = np.append(np.full(n_classes, len(models) - 1), result.which)[kept]
    used, renumbered = np.unique(which, return_inverse=True)
    solutions = FrontSolutions(
        options=options,
        basis=basis,
        table=table,
        models=tuple(models[number] for number in used),
        which=renumbered,
        cutoffs=np.concatenate([_corner_cutoffs(n_classes), cutoffs])[kept],
    )
    front = restore(directions, values[kept], np.arange(len(kept)), solutions)
    figures = figures_of(
        front,
        np.concatenate([corners, training_rates])[kept],
        solutions.n_columns,
        solutions.cutoffs,
        table,
    )
    majority = np.flatnonzero(kept == table.class_shares.argmax())
    return FrontParts(front, figures, int(majority[0]), solutions)


def figures_of(
    front: Front, training_rates: Array, n_columns: Indices, cutoffs: Array, table: TrainingTable
) -> Figures:
    """Return what rules may look at, and tables show, besides the objectives.

    Shapes: training_rates (k, n_classes), n_columns (k,), cutoffs (k, n_classes) or (k,).
    """
    rates, shares = class_values(front.values, len(table.classes)), table.class_shares
    accuracy, training_accuracy = rates @ shares, training_rates @ shares
    training = objective_values(training_rates)
    cutoffs = cutoffs.reshape(len(front), -1)
    labels = [f"cutoff_{label}" for label in table.classes.tolist()]
    labels = labels if len(labels) == cutoffs.shape[1] else ["cutoff"]
    # Who does worse on the rows that it was fitted to was lucky on those held out.
    cautious = np.minimum(accuracy, training_accuracy)
    return Figures(
        columns={
            "columns": n_columns,
            "accuracy": accuracy,
            "training_accuracy": training_accuracy,
            **{
                f"training_{name}": rate
                for name, rate in zip(front.names, training.T, strict=False)
            },
            **dict(zip(labels, cutoffs.T, strict=True)),
        },
        maximise=(
            "accuracy",
            "training_accuracy",
            *(f"training_{name}" for name in front.directions.maximised),
        ),
        judged={"accuracy": cautious, "error": 1.0 - cautious},
        error="error",
        size=("complexity", "columns"),
        knee=("error", "complexity"),
        n_rows=max(1, round(float(table.weights.sum()))),
        # The rates of a constant classifier, or of a coin, add up to one.
        beats_constant=rates.sum(axis=1).round(_DIGITS) > 1.0,
        constant="one class for every row",
    )


def objectives_of(classes: AnyArray) -> Directions:
    """Return tpr, fpr and complexity, or the rate of each of more classes and complexity."""
    if len(classes) == 2:
        return Directions.of(OBJECTIVES, OBJECTIVES[:1])
    rates = [f"rate_{label}" for label in classes.tolist()]
    return Directions.of([*rates, "complexity"], rates)


def rule_names(classes: AnyArray) -> tuple[str, ...]:
    """Return the columns that rules may refer to in a front for these classes."""
    rates = objectives_of(classes).names
    cutoffs = [f"cutoff_{label}" for label in classes.tolist()] if len(classes) > 2 else ["cutoff"]
    training = [f"training_{name}" for name in rates if name != "complexity"]
    return (*rates, "columns", "accuracy", "training_accuracy", *training, *cutoffs, "error")


def objective_values(rates: Array) -> Array:
    """Return class rates, shape (k, n_classes), as objectives: tpr and fpr for two classes."""
    if rates.shape[1] > 2:
        return rates
    # One minus a rate such as 0.9 has digits that nobody measured.
    return np.column_stack([rates[:, 1], (1.0 - rates[:, 0]).round(12)])


def class_values(values: Array, n_classes: int) -> Array:
    """Return the class rates behind objectives, shape (k, n_classes)."""
    if n_classes > 2:
        return values[:, :-1]
    return np.column_stack([1.0 - values[:, 1], values[:, 0]])


def _corner_cutoffs(n_classes: int) -> Array:
    """Return the cutoffs that give every row to the first class, to the second, and so on."""
    if n_classes == 2:
        return np.array([np.inf, -np.inf])
    return np.where(np.eye(n_classes, dtype=np.bool_), 0.0, np.inf)


def refit(result: ArchiveResult, table: TrainingTable) -> tuple[Array, Array, Array]:
    """Fit all models of a search to all rows and measure their solutions.

    Returns the share of each class that is predicted right, (k, n_classes), as the mean over
    held-out folds if there are any; the same on the training rows, by the model that is fitted to
    all of them; and the cutoffs, (k,).
    """
    codes, weights, n_classes = table.codes, table.weights, len(table.classes)
    cutoffs, rates = np.array(result.cutoffs), class_values(result.values, n_classes)
    gains = rate_gains(codes, weights, None, n_classes)
    training, held = np.empty((len(cutoffs), n_classes)), np.array(rates)
    for number, model in enumerate(result.models):
        own = np.flatnonzero(result.which == number)
        columns = table.design[:, model.active]
        scores = _scores(columns, codes, n_classes, model, weights)
        if n_classes == 2:
            cutoffs[own] = settle_cutoffs(cutoffs[own], scores[:, 0])
            predicted = (scores[:, 0] > cutoffs[own, None]).astype(np.intp)
            if table.held is not None:
                labels, rest = codes.astype(np.float64), weights - table.held
                modes = logistic_modes(
                    columns, labels, model.alpha, rest, largest_score=LARGEST_SCORE
                )
                held[own] = held_out_rates(modes.scores, codes, table.held, cutoffs[own])
        else:
            predicted = (scores[None] - cutoffs[own, None]).argmax(axis=2)
        training[own] = class_rates(predicted == codes, codes, gains, n_classes)
    return training if table.held is None else held, training, cutoffs


def settle_cutoffs(cutoffs: Array, scores: Array) -> Array:
    """Return each cutoff in the middle of the gap between scores in which it lies.

    The rows above it stay the same. Beyond the greatest and the least score it is infinite.

    Shapes: cutoffs (c,), scores (n,) -> (c,).
    """
    ordered = np.unique(scores)
    middles = 0.5 * ordered[:-1] + 0.5 * ordered[1:]
    places = np.searchsorted(ordered, cutoffs, side="right")
    return np.concatenate([[-np.inf], middles, [np.inf]])[places]


def held_out_rates(scores: Array, codes: Indices, held: Array, cutoffs: Array) -> Array:
    """Return the rates of both classes, means over the folds in which a class occurs.

    Shapes: scores, held (n_folds, n), codes (n,), cutoffs (c,) -> (c, 2).
    """
    positive = scores[None] > cutoffs[:, None, None]
    rates = np.empty((len(cutoffs), 2))
    for code in (0, 1):
        counts = held * (codes == code)
        sizes = counts.sum(axis=1)
        present = sizes > 0
        gains = counts[present] / sizes[present, None] / np.count_nonzero(present)
        right = positive[:, present] == bool(code)
        rates[:, code] = (right * gains).sum(axis=(1, 2))
    return rates.round(_DIGITS)
