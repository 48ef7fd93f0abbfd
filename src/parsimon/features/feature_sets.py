"""Sets of constructed features, what they cost, and which of them say the same twice.

A set is a sorted tuple of expressions. `FeatureProblem` evaluates sets and leaves out introns:
features that are constant, that can be infinite where that is refused, and that equal another of
the set on artificial rows (Mierswa 2009, section 6.4).
"""

import json
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.features.column_cache import ColumnCache
from parsimon.features.domains import bounds, widened_ranges
from parsimon.features.expressions import Expression
from parsimon.features.formula_model import InnerFit, linear_fit, logistic_fit, row_losses
from parsimon.features.formulas import parse
from parsimon.features.operations import OwnFunction
from parsimon.pareto.dominance import nondominated_rows

FeatureSet = tuple[Expression, ...]

# Artificial rows on which features are compared.
_N_SAMPLES = 50
# Columns kept in the cache; beyond, it begins anew.
_MOST_COLUMNS = 6000
# Squares of values beyond this are no numbers to compute with.
_LARGEST = 1e100
# An error so much smaller than the spread of the target is rounding.
ROUNDING = 1e-9


class FeatureProblem:
    """A table and its target, for which sets of features are evaluated.

    Parameters: names of the columns, X (n, d), target (n,) of numbers or class codes, the number
    of classes or 0, the correlation from which two features are one, the size from which an
    expression is refused, whether features that can be infinite are.
    """

    def __init__(
        self,
        names: Sequence[str],
        X: Array,
        target: AnyArray,
        n_classes: int,
        *,
        equivalence: float = 0.999,
        max_size: int = 30,
        guard: Literal["flag", "refuse"] = "flag",
        rng: np.random.Generator,
    ) -> None:
        self.names, self.target, self.n_classes = tuple(names), target, n_classes
        self.X = X
        self.equivalence, self.max_size, self.guard = equivalence, max_size, guard
        self.ranges = widened_ranges(names, X)
        self.columns = ColumnCache(dict(zip(names, X.T, strict=True)))
        lower, upper = X.min(axis=0), X.max(axis=0)
        drawn = lower + (upper - lower) * rng.random((_N_SAMPLES, X.shape[1]))
        self.samples = ColumnCache(dict(zip(names, drawn.T, strict=True)))
        self.constant_error = self.error_of_constant()
        self._usable: dict[Expression, bool] = {}
        self._errors: dict[FeatureSet, float] = {}
        self.originals = tuple(
            column for column in map(Expression.column, names) if self.is_usable(column)
        )

    def error_of_constant(self) -> float:
        """Return the error of a prediction that needs no column."""
        if self.n_classes == 0:
            return float(np.std(self.target)) or 1.0
        shares = np.bincount(self.target, minlength=self.n_classes) / len(self.target)
        shares = shares[shares > 0]
        return float(-(shares * np.log(shares)).sum()) or 1.0

    def constant_output(self) -> Array:
        """Return the output that needs no column, shape (q,)."""
        if self.n_classes == 0:
            return np.array([self.target.mean()])
        shares = np.bincount(self.target, minlength=self.n_classes) / len(self.target)
        shares = np.clip(shares, 1e-6, 1 - 1e-6)
        odds: Array = np.log(shares / (1 - shares))
        return odds[1:] if self.n_classes == 2 else odds

    def is_usable(self, feature: Expression) -> bool:
        """Tell whether a feature varies, is a number to compute with and small enough."""
        found = self._usable.get(feature)
        if found is None:
            found = self._usable[feature] = self._found_usable(feature)
        return found

    def _found_usable(self, feature: Expression) -> bool:
        if feature.size > self.max_size or not feature.columns:
            return False
        if self.guard == "refuse" and not bounds(feature, self.ranges).is_finite:
            return False
        column = self.columns.values(feature)
        top = float(np.abs(column).max())
        return top < _LARGEST and float(np.ptp(column)) > 1e-12 * top

    def reduced(self, features: Iterable[Expression]) -> FeatureSet:
        """Return a set without features that cannot be used or that repeat a simpler one."""
        ordered = sorted(set(features), key=lambda each: (each.size, each.key))
        kept: list[Expression] = []
        directions: list[Array] = []
        for feature in ordered:
            if not self.is_usable(feature):
                continue
            direction = self._direction(feature)
            if any(abs(float(direction @ other)) >= self.equivalence for other in directions):
                continue
            kept.append(feature)
            directions.append(direction)
        return tuple(sorted(kept, key=lambda each: each.key))

    def _direction(self, feature: Expression) -> Array:
        """Return the feature on the artificial rows, centred and of length 1."""
        column = self.samples.values(feature)
        centred = column - column.mean()
        length = float(np.linalg.norm(centred))
        direction: Array = centred / length if 0 < length < np.inf else np.zeros_like(centred)
        return direction

    def fit(self, features: FeatureSet) -> InnerFit | None:
        """Fit the inner learner to a set; None if its features depend on each other."""
        if len(self.columns) > _MOST_COLUMNS:
            self.columns.forget(())
        return fit_inner(self.columns.matrix(features), self.target, self.n_classes)

    def known_fit(self, features: FeatureSet) -> InnerFit:
        """Return the fit of a set that has a finite error, so that there is one."""
        fit = self.fit(features)
        if fit is None:
            raise InvalidInputError(f"The features {', '.join(map(str, features))} are dependent.")
        return fit

    def error(self, features: FeatureSet) -> float:
        """Return the error on rows left out: root mean square, or mean log loss."""
        found = self._errors.get(features)
        if found is None:
            fit = self.fit(features) if features else None
            found = np.inf if fit is None else self.mean_error(fit.left_out)
            self._errors[features] = found
        return found

    def mean_error(self, outputs: Array) -> float:
        """Return the error of outputs for the rows, shape (n, q)."""
        risk = float(row_losses(outputs, self.target, self.n_classes).mean())
        return risk**0.5 if self.n_classes == 0 else risk

    def objectives(self, features: FeatureSet) -> tuple[float, float, float]:
        """Return the error relative to a constant, not below rounding, features and nodes."""
        relative = max(self.error(features) / self.constant_error, ROUNDING)
        return relative, float(len(features)), float(complexity(features))


def complexity(features: Sequence[Expression]) -> int:
    """Return the nodes of features, with plus, number and product for each after the first."""
    return sum(feature.size for feature in features) + 3 * (len(features) - 1)


def fit_inner(columns: Array, target: AnyArray, n_classes: int) -> InnerFit | None:
    """Fit the inner learner of a target, shapes (n, k) and (n,)."""
    if n_classes == 0:
        return linear_fit(columns, target)
    return logistic_fit(columns, target, n_classes)


def crossed(first: FeatureSet, second: FeatureSet, rng: np.random.Generator) -> list[Expression]:
    """Return what both sets have and about half of the rest; no feature occurs twice."""
    either = list(dict.fromkeys((*first, *second)))
    both = set(first) & set(second)
    taken = rng.random(len(either)) < 0.5
    child = [each for each, take in zip(either, taken, strict=True) if take or each in both]
    return child or either[:1]


def archived(
    sets: Sequence[FeatureSet], values: Array, new: Sequence[FeatureSet], new_values: Array
) -> tuple[tuple[FeatureSet, ...], Array, bool]:
    """Return the sets that none beats, their values (m, 3), and whether any is new."""
    together = (*sets, *new)
    merged = np.concatenate([values, new_values])
    kept = np.flatnonzero(nondominated_rows(merged, keep_ties=False))
    return tuple(together[i] for i in kept), merged[kept], bool((kept >= len(sets)).any())


def written_sets(sets: Sequence[FeatureSet]) -> AnyArray:
    """Return sets of features as bytes."""
    text = json.dumps([[str(feature) for feature in features] for features in sets])
    return np.frombuffer(text.encode(), dtype=np.uint8)


def read_sets(written: AnyArray, own: Sequence[OwnFunction]) -> tuple[FeatureSet, ...]:
    """Return the sets that `written_sets` wrote."""
    texts = json.loads(written.tobytes().decode())
    return tuple(tuple(parse(text, own) for text in features) for features in texts)
