"""`AucFrontSelector`: every useful trade-off between AUC and complexity of a few columns.

Clark (2011), algorithm 5: an archive of sparse logistic models over the columns themselves, each
given by the prior precisions of its columns; one is drawn, changed in one to three places, fitted
and kept if no other is better in both objectives.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import ClassifierTags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice, check_count
from parsimon._data import check_classes, validate_data
from parsimon._random import Seed, generator
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.features._subsets import column_places
from parsimon.pareto import Figures, Front
from parsimon.pareto.choose import Rule, check_rule
from parsimon.pareto.estimator import FrontEstimator
from parsimon.roc import auc

# log10 of the precisions: the least, beyond the greatest a column is off; and of new ones.
_LEAST, _GREATEST = -12.0, 12.0
_IDLE = 100


class AreaModel(NamedTuple):
    """A model of the archive: log10 precisions and weights by column, -1 for the constant."""

    genes: Mapping[int, float]
    area: float
    size: float
    weights: Mapping[int, float]


class WeightedColumns(LogisticRegression):
    """A logistic regression whose sums do not depend on how a table lies in memory."""

    def decision_function(self, X: Any) -> Array:
        """Return the weighted sum of each row, shape (m,)."""
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        sums: Array = rows @ self.coef_[0] + self.intercept_[0]
        return sums


class AucFrontSelector(ClassifierMixin, SelectorMixin, FrontEstimator):
    """Search for the front of AUC against complexity over the columns themselves.

    It selects columns, those of any model of the front, and predicts with the model that `choose`
    picks; `select` gives others, as fitted `sklearn.linear_model.LogisticRegression`.

    Parameters
    ----------
    ties : {"mid", "strict"}
        What pairs with equal scores count, as in `parsimon.roc.auc`.
    fixed : sequence of int or str, optional
        Places or names of columns that every model has, such as age, without a prior and at no
        cost.
    bias : {"searched", "always", "never"}
        Whether the constant is one of the genes, counted in the shrunken complexity and not as a
        column; in every model without a prior and at no cost; or in none. It moves all scores of a
        model alike, so that it changes the AUC only through the prior on the other weights.
    complexity : {"shrunken", "columns"}
        The sum of 1 / (1 + precision) over the columns [1]_, which large precisions make as small
        as one likes without any loss of AUC, or the number of columns, which nothing can game.
    choose : str, int or callable
        The rule by which the model that predicts is chosen, as in `select`: "AUC", the largest, or
        "AUC where n_columns<=5". AUC is that of the rows searched with and too high for others;
        `StableSelector` measures it on other halves.
    max_iter : int
        Most models to try. The search ends after 100 in a row that added nothing.
    random_state : int, Generator, RandomState or None
        For the search.

    Attributes
    ----------
    front_ : Front
        AUC on the training rows against complexity; a solution is a list of columns. `to_frame`
        adds their number, ``n_columns``.
    best_estimator_ : LogisticRegression
        With a weight for each column of X, most of them 0.
    best_index_ : int
    classes_ : ndarray of shape (2,)
    n_iter_ : int
        Models tried.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Where X has names.

    References
    ----------
    .. [1] Clark (2011), section 4.3, algorithm 5.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 50))
    >>> X[:, 3] += 4 * y
    >>> search = AucFrontSelector(complexity="columns", random_state=0).fit(X, y)
    >>> search.front_.names
    ('AUC', 'complexity')
    >>> search.select("AUC where n_columns<=1").score(X, y) > 0.9
    True
    """

    classes_: AnyArray

    def __init__(
        self,
        ties: Literal["mid", "strict"] = "mid",
        *,
        fixed: Sequence[int | str] | None = None,
        bias: Literal["searched", "always", "never"] = "searched",
        complexity: Literal["shrunken", "columns"] = "shrunken",
        choose: Rule = "AUC",
        max_iter: int = 5000,
        random_state: Seed = None,
    ) -> None:
        self.ties = ties
        self.fixed = fixed
        self.bias = bias
        self.complexity = complexity
        self.choose = choose
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Search for the front.

        Shapes: X (n, d), y (n,) of two classes.
        """
        check_choice("ties", self.ties, ("mid", "strict"))
        check_choice("bias", self.bias, ("searched", "always", "never"))
        check_choice("complexity", self.complexity, ("shrunken", "columns"))
        check_count("max_iter", self.max_iter)
        check_rule(self.choose, ["AUC", "complexity", "n_columns"])
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        check_classes(self.classes_, codes, np.ones(len(y)))
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported; got {len(self.classes_)} classes."
            )
        spread = X.std(axis=0)
        self._centre, self._spread = X.mean(axis=0), np.where(spread > 0, spread, 1.0)
        table = (X - self._centre) / self._spread
        self._search(table, codes.astype(float), generator(self.random_state))
        return self

    def _search(self, X: Array, t: Array, rng: np.random.Generator) -> None:
        fixed = self._free_of_cost(X.shape[1])
        least = -1 if self.bias == "searched" else 0
        places = np.setdiff1d(np.arange(least, X.shape[1]), fixed)
        start = {int(rng.choice(places[places >= 0])): _LEAST}
        archive = [self._judged(X, t, start, fixed)]
        idle = self.n_iter_ = 0
        while self.n_iter_ < self.max_iter and idle <= _IDLE:
            self.n_iter_ += 1
            genes = changed(archive[rng.integers(len(archive))].genes, places, rng)
            new = self._judged(X, t, genes, fixed)
            if any(one.area >= new.area and one.size <= new.size for one in archive):
                idle += 1
                continue
            archive = [
                one for one in archive if not (new.area >= one.area and new.size <= one.size)
            ]
            archive.append(new)
            idle = 0
        front = Front(
            [[one.area, one.size] for one in archive],
            ["AUC", "complexity"],
            maximise=["AUC"],
            solutions=[sorted(k for k in one.weights if k >= 0) for one in archive],
        )
        kept = [archive[row] for row in front.rows]
        self._weights = [dict(one.weights) for one in kept]
        n_columns = np.array([len(front.solution(at)) for at in range(len(front))])
        self._keep_front(
            front,
            Figures(
                {"n_columns": n_columns},
                size=("complexity", "n_columns"),
                beats_constant=np.array([one.area > 0.5 for one in kept]),
            ),
            kept="with a model of no use",
        )

    def _solution(self, index: int) -> LogisticRegression:
        """Return the model at a place of the front, for columns in their own units."""
        model = WeightedColumns()
        coef = np.zeros((1, self.n_features_in_))
        intercept = 0.0
        for column, weight in self._weights[index].items():
            if column < 0:
                intercept += weight
                continue
            coef[0, column] = weight / self._spread[column]
            intercept -= coef[0, column] * self._centre[column]
        model.classes_, model.coef_, model.intercept_ = self.classes_, coef, np.array([intercept])
        model.n_features_in_, model.n_iter_ = self.n_features_in_, np.array([1], dtype=np.int32)
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        return model

    def _free_of_cost(self, d: int) -> list[int]:
        """Return what every model has: the fixed columns, and -1 for a constant."""
        names = getattr(self, "feature_names_in_", None)
        fixed = sorted(set(column_places(self.fixed, "fixed", names, d)))
        if len(fixed) >= d:
            raise InvalidInputError("fixed leaves no column to search; name fewer.")
        return fixed + [-1] * (self.bias == "always")

    def _judged(
        self, X: Array, t: Array, genes: Mapping[int, float], fixed: list[int]
    ) -> "AreaModel":
        columns = [*genes, *fixed]
        design = np.column_stack([np.ones(len(t)) if k < 0 else X[:, k] for k in columns])
        alpha = 10.0 ** np.array([*genes.values(), *(_LEAST for _ in fixed)])
        weights = logistic_weights(design, t, alpha)
        area = auc(t, design @ weights, ties=self.ties)
        if self.complexity == "columns":
            size = float(sum(k >= 0 for k in genes))
        else:
            size = float(np.sum(1 / (1 + alpha[: len(genes)])))
        return AreaModel(genes, area, size, dict(zip(columns, weights.tolist(), strict=True)))

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=np.bool_)
        for index in range(len(self.front_)):
            mask[self.front_.solution(index)] = True
        return mask


def changed(
    genes: Mapping[int, float], places: Indices, rng: np.random.Generator
) -> dict[int, float]:
    """Return a copy with one to three changes: a precision moved, a column off, or one on.

    Shapes: places (k,), those that may be on.
    """
    found = dict(genes)
    for _ in range(int(rng.integers(1, 4))):
        move = int(rng.integers(3))
        if move == 2 or (move == 1 and len(found) == 1):
            # One that is on already is drawn seldom, and moved to a new precision then.
            found[int(rng.choice(places))] = float(rng.uniform(_LEAST, _GREATEST))
            continue
        gene = int(rng.choice(list(found)))
        if move == 1:
            del found[gene]
            continue
        moved = max(_LEAST, found[gene] + float(rng.laplace(0.0, 2.0)))
        if moved <= _GREATEST:
            found[gene] = moved
        elif len(found) > 1:
            del found[gene]
    return found


def logistic_weights(design: Array, t: Array, alpha: Array) -> Array:
    """Return the most probable weights under Gaussian priors, by damped Newton steps.

    Shapes: design (n, k), t (n,) of 0 and 1, alpha (k,) -> (k,).
    """
    weights = np.zeros(design.shape[1])
    value = -np.inf
    for _ in range(25):
        latent = np.clip(design @ weights, -30, 30)
        share = 1 / (1 + np.exp(-latent))
        gradient = design.T @ (t - share) - alpha * weights
        slope = share * (1 - share)
        hessian = (design.T * slope) @ design + np.diag(alpha + 1e-9)
        step = np.linalg.solve(hessian, gradient)
        scale = min(1.0, 10.0 / max(float(np.abs(step).max()), 1e-12))
        weights = weights + scale * step
        latent = np.clip(design @ weights, -30, 30)
        before, value = (
            value,
            float(t @ latent - np.logaddexp(0, latent).sum() - 0.5 * alpha @ weights**2),
        )
        if abs(value - before) < 1e-6:
            break
    return weights
