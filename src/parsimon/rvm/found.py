"""What a search found: the table behind a front, and the way from a row to a classifier."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from parsimon._options import check_choice
from parsimon._typing import AnyArray, Array, Indices
from parsimon.pareto import Directions, Front
from parsimon.pareto.front import restore
from parsimon.rvm.basis import Basis
from parsimon.rvm.classifier import RVC
from parsimon.rvm.given import classifier_with
from parsimon.rvm.search.genome import LOWEST_LEVEL
from parsimon.rvm.search.outcome import OBJECTIVES, Model, Outcome
from parsimon.rvm.selection import Figures
from parsimon.rvm.settling import Labelled, refitted


@dataclass(frozen=True, eq=False)
class Setting:
    """What every solution of a search is fitted to.

    Shapes: classes (n_classes,), feature_names (d,).

    options: Parameters of the classifiers that rows become.
    basis: The whole dictionary.
    X (n, d): Training rows.
    codes (n,): Index of each row's class.
    weights (n,): How many times each row counts.
    """

    options: RVC
    basis: Basis
    X: Array
    codes: Indices
    classes: AnyArray
    weights: Array
    feature_names: Any = None

    @property
    def directions(self) -> Directions:
        """The objectives: tpr, fpr and complexity, or the rate of each class and complexity."""
        if len(self.classes) == 2:
            return Directions.of(OBJECTIVES, OBJECTIVES[:1])
        rates = [f"rate_{label}" for label in self.classes.tolist()]
        return Directions.of([*rates, "complexity"], rates)

    @property
    def class_shares(self) -> Array:
        """Which share of the rows each class has, shape (n_classes,)."""
        totals = np.bincount(self.codes, self.weights, len(self.classes))
        shares: Array = totals / totals.sum()
        return shares

    def classifier(self, model: Model, cutoff: Any) -> RVC:
        """Return a fitted classifier with the precisions of a model.

        One without columns has a constant, whether or not the dictionary has one, so that its
        probabilities are the class frequencies.
        """
        basis, alpha = self.basis.columns(model.active), model.alpha
        if not len(model.active):
            basis, alpha = replace(basis, has_bias=True), np.array([10.0**LOWEST_LEVEL])
        return classifier_with(
            self.options,
            basis,
            self.X,
            self.codes,
            self.classes,
            alpha,
            cutoff=cutoff,
            sample_weight=self.weights,
            feature_names=self.feature_names,
        )


@dataclass(frozen=True, eq=False)
class Found:
    """The solutions of a front, in its order.

    values (k, m): Objectives, as they guided the search.
    cutoffs (k,): As in `RVC`.
    which (k,): The model behind each solution.
    training_rates (k, n_classes): Share of each class that is predicted right among the
        training rows, all of which the weights are fitted to.
    """

    setting: Setting
    values: Array
    cutoffs: Array
    which: Indices
    models: tuple[Model, ...]
    training_rates: Array

    def __len__(self) -> int:
        return len(self.values)

    def __call__(self, row: int) -> RVC:
        """Return a row as a fitted classifier."""
        cutoff = self.cutoffs[row]
        return self.setting.classifier(
            self.models[self.which[row]], float(cutoff) if cutoff.ndim == 0 else cutoff
        )

    def front(self) -> Front:
        """Return the front; its solutions are classifiers, fitted when they are asked for."""
        return restore(self.setting.directions, self.values, np.arange(len(self)), self)

    @property
    def n_columns(self) -> Indices:
        """Columns in each solution, without the bias, shape (k,)."""
        first = int(self.setting.basis.has_bias)
        sizes = [np.count_nonzero(model.active >= first) for model in self.models]
        return np.array(sizes, dtype=np.intp)[self.which]

    @property
    def rates(self) -> Array:
        """Rates of all classes as they guided the search, shape (k, n_classes)."""
        return class_values(self.values, len(self.setting.classes))

    def figures(self) -> Figures:
        """Return what rules may look at."""
        shares = self.setting.class_shares
        training = self.training_rates @ shares
        return Figures(
            # Who does worse on the rows that it was fitted to was lucky on those held out.
            accuracy=np.minimum(self.rates @ shares, training),
            training_accuracy=training,
            complexity=self.values[:, -1],
            n_columns=self.n_columns.astype(np.float64),
            n_rows=max(1, round(float(self.setting.weights.sum()))),
        )

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return objectives and other figures, one row for each solution."""
        check_choice("backend", backend, ("pandas", "polars"))
        names, figures = self.setting.directions.names, self.figures()
        training = objective_values(self.training_rates)
        columns: dict[str, Any] = {
            **dict(zip(names, self.values.T, strict=True)),
            "columns": self.n_columns,
            "accuracy": self.rates @ self.setting.class_shares,
            "training_accuracy": figures.training_accuracy,
            **{f"training_{name}": rate for name, rate in zip(names, training.T, strict=False)},
        }
        cutoffs = self.cutoffs if self.cutoffs.ndim == 2 else self.cutoffs[:, None]
        labels = [f"cutoff_{label}" for label in self.setting.classes.tolist()]
        labels = labels if len(labels) == cutoffs.shape[1] else ["cutoff"]
        columns |= dict(zip(labels, cutoffs.T, strict=True))
        if backend == "polars":
            import polars

            return polars.DataFrame({"row": np.arange(len(self)), **columns})
        import pandas as pd

        return pd.DataFrame(columns, index=pd.RangeIndex(len(self), name="row"))


def found_in(outcome: Outcome, setting: Setting, rows: Labelled) -> Found:
    """Return the non-dominated solutions of a search, in the order of their front.

    The classifiers that give every row to one class are among them: they need no column, and
    every other solution must beat them in something.
    """
    n_classes = len(setting.classes)
    measured = refitted(outcome, rows, class_values(outcome.values, n_classes))
    models = (*outcome.models, Model(np.empty(0, dtype=np.intp), np.empty(0)))
    # Baselines come first, so that of equal solutions they are the ones that stay.
    corners, no_columns = np.eye(n_classes), np.zeros(n_classes)
    rates = np.concatenate([corners, measured.rates])
    complexity = np.append(no_columns, outcome.values[:, -1])
    values = np.column_stack([objective_values(rates), complexity])
    directions = setting.directions
    kept = Front(values, directions.names, maximise=directions.maximised, ties="first").rows
    which = np.append(np.full(n_classes, len(models) - 1), outcome.which)[kept]
    used, renumbered = np.unique(which, return_inverse=True)
    return Found(
        setting=setting,
        values=values[kept],
        cutoffs=np.concatenate([_corner_cutoffs(n_classes), measured.cutoffs])[kept],
        which=renumbered,
        models=tuple(models[number] for number in used),
        training_rates=np.concatenate([corners, measured.training_rates])[kept],
    )


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
