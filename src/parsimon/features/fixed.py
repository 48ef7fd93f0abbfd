"""Models of columns that were named beforehand, judged on other rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._checks import check_count, finite_matrix
from parsimon._partition import class_rows, complete_vector
from parsimon._random import Seed, seed_sequence
from parsimon._style import CYCLE, figure_style, new_axes
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.features._halves import random_halves
from parsimon.features.plot import draw_null_circle
from parsimon.roc import AucNull, auc

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class FixedModels:
    """AUC of models on halves.

    names (k,): Of the models.
    train, test (k, 2B): AUC on own and other half.
    null_sd: Standard deviation of the AUC of a random classifier.
    """

    names: tuple[str, ...]
    train: Array
    test: Array
    null_sd: float

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the mean AUC of each model on own and other rows, with one standard deviation."""
        with figure_style():
            axes = new_axes(ax, figsize=(5.0, 4.4))
            for place, name in enumerate(self.names):
                train, test = self.train[place], self.test[place]
                axes.errorbar(
                    train.mean(),
                    test.mean(),
                    xerr=train.std(),
                    yerr=test.std(),
                    fmt="o",
                    color=CYCLE[place % len(CYCLE)],
                    label=name[:30],
                )
            draw_null_circle(self.null_sd, axes)
            axes.set_xlabel("AUC on own half")
            axes.set_ylabel("AUC on the other half")
            axes.legend(loc="lower right", fontsize=8)
        return axes


def fixed_models(
    X: Any,
    y: Any,
    models: Mapping[str, Sequence[int]],
    *,
    n_splits: int = 50,
    random_state: Seed = None,
) -> FixedModels:
    """Fit logistic models of given columns to halves, and judge them on the other halves.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The table.
    y : array-like of shape (n,)
        Two classes.
    models : mapping of str to sequence of int
        Names of the models and places of their columns.
    n_splits : int
        Splits into halves, the same for all models.
    random_state : int, Generator, RandomState or None
        For the splits.

    Returns
    -------
    FixedModels
        No prior holds the weights back, but for a trace that keeps them finite where the classes
        part.

    References
    ----------
    Clark (2011), section 4.8, figure 4.19.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 30)
    >>> X = rng.normal(size=(60, 3))
    >>> X[:, 0] += y
    >>> found = fixed_models(X, y, {"first": [0], "second": [1]}, n_splits=5, random_state=0)
    >>> bool(found.test[0].mean() > found.test[1].mean())
    True
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    values = finite_matrix(X, "X")
    check_count("n_splits", n_splits)
    labels = complete_vector(y, len(values))
    rows = class_rows(labels, n_rows=len(values), at_least=2)
    if len(rows) != 2 or not models:
        raise InvalidInputError("Two classes and one model or more are needed.")
    positive = np.zeros(len(values), dtype=np.intp)
    positive[rows[1]] = 1
    found: list[list[tuple[float, float]]] = [[] for _ in models]
    for seed in seed_sequence(random_state).spawn(n_splits):
        one, other = random_halves(positive, np.array([0, 1]), seed)
        for own, held in ((one, other), (other, one)):
            for areas, columns in zip(found, models.values(), strict=True):
                table = values[:, list(columns)]
                model = make_pipeline(StandardScaler(), LogisticRegression(C=1e4, max_iter=500))
                said = model.fit(table[own], positive[own]).decision_function(table)
                areas.append((auc(positive[own], said[own]), auc(positive[held], said[held])))
    areas_by_model = np.array(found)
    return FixedModels(
        names=tuple(models),
        train=areas_by_model[:, :, 0],
        test=areas_by_model[:, :, 1],
        null_sd=AucNull(len(rows[1]) // 2, len(rows[0]) // 2).sd,
    )
