"""Sets of constructed features: what they cost, which say the same twice, and how they evolve.

A set is a sorted tuple of expressions. `FeatureProblem` evaluates sets and leaves out introns:
features that are constant, that can be infinite where that is refused, and that equal another of
the set on artificial rows (Mierswa 2009, section 6.4). `FeatureEvolution` is the search over sets.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import add, mul, sub, truediv
from typing import Literal

import numpy as np

from parsimon._deadline import Deadline, is_late
from parsimon._received import read_json
from parsimon._typing import AnyArray, Array, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.features.column_values import ColumnCache, bounds, widened_ranges
from parsimon.features.expressions import Expression, apply
from parsimon.features.formula_model import (
    InnerFit,
    InnerLearner,
    linear_fit,
    logistic_fit,
    row_losses,
)
from parsimon.features.formulas import parse
from parsimon.features.operations import OwnFunction
from parsimon.pareto.dominance import nondominated_rows, select_survivors
from parsimon.pareto.run import Ending, OutOfTime, Standing

FeatureSet = tuple[Expression, ...]

# Artificial rows on which features are compared, and the correlation from which two are one.
_N_SAMPLES, _EQUAL = 50, 0.999
# How often two sets are mixed; a column is added with a quarter of this probability, a feature is
# constructed with a quarter, and half of a feature is taken away, all on average.
_CROSSOVER, _MUTATION = 0.5, 1.0
# Columns kept in the cache; beyond, it begins anew.
_MOST_COLUMNS = 6000
# Squares of values beyond this are no numbers to compute with.
_LARGEST = 1e100
# An error so much smaller than the spread of the target is rounding.
ROUNDING = 1e-9
# Sets of which those that least squares prefers are shown to a slower learner.
_SHOWN = 60
# How often rows are mixed, and how many are looked at.
_MIXES, _MOST_MIXED = 5, 5000
_COMBINE = {"+": add, "-": sub, "*": mul, "/": truediv}


class FeatureProblem:
    """A table and its target, for which sets of features are evaluated.

    Parameters: names of the columns, X (n, d), target (n,) of numbers or class codes, the number
    of classes or 0, the size from which an expression is refused, whether features that can be
    infinite are, and a learner whose error counts instead of that of least squares or logistic
    regression.
    """

    def __init__(
        self,
        names: Sequence[str],
        X: Array,
        target: AnyArray,
        n_classes: int,
        *,
        max_size: int = 30,
        guard: Literal["flag", "refuse"] = "flag",
        learner: InnerLearner | None = None,
        rng: np.random.Generator,
    ) -> None:
        self.names, self.target, self.n_classes = tuple(names), target, n_classes
        self.X, self.learner = X, learner
        self.max_size, self.guard = max_size, guard
        self.ranges = widened_ranges(names, X)
        self.columns = ColumnCache(dict(zip(names, X.T, strict=True)))
        lower, upper = X.min(axis=0), X.max(axis=0)
        drawn = lower + (upper - lower) * rng.random((_N_SAMPLES, X.shape[1]))
        self.samples = ColumnCache(dict(zip(names, drawn.T, strict=True)))
        self.constant_error = self.error_of_constant()
        self._usable: dict[Expression, bool] = {}
        self._errors: dict[FeatureSet, float] = {}
        self._learned: dict[FeatureSet, Array] = {}
        self._mixed: ColumnCache | None = None
        self.originals = tuple(
            column for column in map(Expression.column, names) if self.is_usable(column)
        )

    def error_of_constant(self) -> float:
        """Return the error of a prediction that needs no column."""
        if self.n_classes == 0:
            return float(np.std(self.target)) or 1.0
        if self.learner is not None:
            return float(self.constant_losses(self.target).mean()) or 1.0
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
            found = self._usable[feature] = self._is_number_to_use(feature)
        return found

    def _is_number_to_use(self, feature: Expression) -> bool:
        if feature.size > self.max_size or not feature.columns:
            return False
        if self.guard == "refuse" and not bounds(feature, self.ranges).is_finite:
            return False
        column = self.columns.values(feature)
        top = float(np.abs(column).max())
        return top < _LARGEST and float(np.ptp(column)) > 1e-12 * top

    def reduce(self, features: Iterable[Expression]) -> FeatureSet:
        """Return a set without features that cannot be used or that repeat a simpler one."""
        ordered = sorted(set(features), key=lambda each: (each.size, each.key))
        kept: list[Expression] = []
        directions: list[Array] = []
        for feature in ordered:
            if not self.is_usable(feature):
                continue
            direction = self._direction(feature)
            if any(abs(float(direction @ other)) >= _EQUAL for other in directions):
                continue
            kept.append(feature)
            directions.append(direction)
        return tuple(sorted(kept, key=lambda each: each.key))

    def _direction(self, feature: Expression) -> Array:
        """Return the feature on the artificial rows, centred and of length 1."""
        column = np.clip(self.samples.values(feature), -_LARGEST, _LARGEST)
        centred = column - column.mean()
        length = float(np.linalg.norm(centred))
        return centred / length if 0 < length < np.inf else np.zeros_like(centred)

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
            found = np.inf
            if fit is not None:
                found = self._mean_error(row_losses(fit.left_out, self.target, self.n_classes))
            self._errors[features] = found
        return found

    def _mean_error(self, losses: Array) -> float:
        """Return the error of losses of rows: the root of their mean for a number, or the mean."""
        risk = float(losses.mean())
        return risk**0.5 if self.n_classes == 0 else risk

    def evaluate(self, sets: Sequence[FeatureSet]) -> Array:
        """Return the error relative to a constant, features and nodes of sets, shape (m, 3)."""
        if self.learner is not None:
            new = [each for each in dict.fromkeys(sets) if each and each not in self._learned]
            tables = [self.columns.matrix(each) for each in new]
            found = self.learner.losses(tables, self.target, self.n_classes)
            self._learned |= dict(zip(new, found, strict=True))
        return np.array([self.objectives(each) for each in sets]).reshape(-1, 3)

    def objectives(self, features: FeatureSet) -> tuple[float, float, float]:
        """Return the error relative to a constant, not below rounding, features and nodes."""
        error = self.error(features)
        if self.learner is not None and features:
            error = self._mean_error(self.losses(features))
        relative = max(error / self.constant_error, ROUNDING)
        return relative, float(len(features)), float(complexity(features))

    def losses(self, features: FeatureSet) -> Array:
        """Return the loss of each row when it is left out, shape (n,)."""
        if self.learner is None:
            return row_losses(self.known_fit(features).left_out, self.target, self.n_classes)
        if features not in self._learned:
            table = [self.columns.matrix(features)]
            self._learned[features] = self.learner.losses(table, self.target, self.n_classes)[0]
        return self._learned[features]

    def losses_elsewhere(self, features: FeatureSet, columns: Array, target: AnyArray) -> Array:
        """Return the losses for the features of other rows, shapes (m, k) and (m,)."""
        if self.learner is not None:
            known = self.columns.matrix(features), self.target
            return self.learner.losses_elsewhere(known, (columns, target), self.n_classes)
        fit = self.known_fit(features)
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = np.nan_to_num(columns @ fit.coef + fit.intercept, nan=_LARGEST)
        return row_losses(np.clip(outputs, -_LARGEST, _LARGEST), target, self.n_classes)

    def constant_losses(self, target: AnyArray) -> Array:
        """Return the losses of a prediction that needs no column, shape (m,)."""
        learner = None if self.learner is None else self.learner.estimator
        if learner is not None and self.n_classes and not hasattr(learner, "predict_proba"):
            most = np.bincount(self.target, minlength=self.n_classes).argmax()
            return np.not_equal(target, most).astype(np.float64)
        constant = np.tile(self.constant_output(), (len(target), 1))
        return row_losses(constant, target, self.n_classes)

    def strays(self, features: FeatureSet) -> float:
        """Return how much further predictions for mixed rows reach than targets do.

        Each column of a mixed row is that of another row, so that no column leaves its range. In
        standard deviations of the target, beyond three; 0 of classes, whose chances are bounded.
        """
        if self.n_classes or self.learner is not None:
            return 0.0
        if self._mixed is None:
            rng = np.random.default_rng(0)
            rows = np.tile(self.X, (_MIXES, 1))[:_MOST_MIXED]
            self._mixed = ColumnCache(
                dict(zip(self.names, rng.permuted(rows, axis=0).T, strict=True))
            )
        fit = self.known_fit(features)
        with np.errstate(over="ignore", invalid="ignore"):
            predicted = self._mixed.matrix(features) @ fit.coef[:, 0] + fit.intercept[0]
            reach = np.sqrt(np.mean((predicted - self.target.mean()) ** 2)) / self.constant_error
        return max(float(np.nan_to_num(reach, nan=_LARGEST, posinf=_LARGEST)) - 3.0, 0.0)

    def prefer(self, sets: Sequence[FeatureSet]) -> list[FeatureSet]:
        """Return the sets to begin with; for a slow learner those that a quick one prefers."""
        if self.learner is None or len(sets) <= _SHOWN:
            return list(sets)
        quick = [(self.error(each), len(each), complexity(each)) for each in sets]
        rows = np.flatnonzero(np.isfinite(quick).all(axis=1))
        ranked = np.array(quick)[rows]
        n_keep = min(_SHOWN, len(rows))
        kept = select_survivors(ranked, np.zeros(len(rows)), n_keep, crowding="maximin")[0]
        return [sets[rows[i]] for i in kept]


def complexity(features: Sequence[Expression]) -> int:
    """Return the nodes of features, with plus, number and product for each after the first."""
    return sum(feature.size for feature in features) + 3 * max(len(features) - 1, 0)


def sets_in_stages(
    stages: Iterable[Callable[[], Iterable[FeatureSet]]],
    simplify: Callable[[FeatureSet], FeatureSet],
    is_enough: Callable[[FeatureSet], bool],
    deadline: Deadline,
) -> list[FeatureSet]:
    """Return the sets of one stage after the other, until one is enough or the time is over."""
    found: list[FeatureSet] = []
    for stage in stages:
        if is_late(deadline):
            break
        new = [simple for simple in map(simplify, stage()) if simple]
        found += new
        if any(map(is_enough, new)):
            break
    return found


def fit_inner(columns: Array, target: AnyArray, n_classes: int) -> InnerFit | None:
    """Fit the inner learner of a target, shapes (n, k) and (n,)."""
    if n_classes == 0:
        return linear_fit(columns, target)
    return logistic_fit(columns, target, n_classes)


def cross_sets(first: FeatureSet, second: FeatureSet, rng: np.random.Generator) -> list[Expression]:
    """Return what both sets have and about half of the rest; no feature occurs twice."""
    either = list(dict.fromkeys((*first, *second)))
    both = set(first) & set(second)
    taken = rng.random(len(either)) < 0.5
    child = [each for each, take in zip(either, taken, strict=True) if take or each in both]
    return child or either[:1]


def written_sets(sets: Sequence[FeatureSet]) -> AnyArray:
    """Return sets of features as bytes."""
    text = json.dumps([[str(feature) for feature in features] for features in sets])
    return np.frombuffer(text.encode(), dtype=np.uint8)


def read_sets(written: AnyArray, own: Sequence[OwnFunction]) -> tuple[FeatureSet, ...]:
    """Return the sets that `written_sets` wrote."""
    texts = read_json(written.tobytes())
    return tuple(tuple(parse(text, own) for text in features) for features in texts)


@dataclass(frozen=True, eq=False)
class FeatureGeneration:
    """Sets of a generation, and the best of all so far.

    values (n, 3), archive_values (m, 3): Error relative to a constant, features, nodes.
    """

    population: tuple[FeatureSet, ...]
    values: Array
    archive: tuple[FeatureSet, ...]
    archive_values: Array
    n_iter: int
    n_evaluations: int
    n_idle: int = 0


class FeatureEvolution:
    """NSGA-II over sets of features, as a `Process` of the common loop.

    first: Returns the sets to begin with besides single columns.
    recalled: Returns sets of earlier tasks for a generation, given its number and the best so far.
    """

    title = "Constructing features"
    keeps_states = True

    def __init__(
        self,
        problem: FeatureProblem,
        operations: tuple[str | OwnFunction, ...],
        population_size: int,
        first: Callable[[], Iterable[FeatureSet]],
        recalled: Callable[[int, Sequence[FeatureSet]], Iterable[FeatureSet]] = lambda *_: (),
    ) -> None:
        self.problem, self.operations, self.size = problem, operations, population_size
        self.first, self.recalled = first, recalled
        self.own = tuple(each for each in operations if isinstance(each, OwnFunction))

    def settings(self) -> dict[str, str]:
        problem = self.problem
        digest = hashlib.sha256(np.ascontiguousarray(problem.X).tobytes())
        digest.update(np.ascontiguousarray(problem.target).tobytes())
        names = [each if isinstance(each, str) else each.name for each in self.operations]
        return {
            "search": "features",
            "data": digest.hexdigest(),
            "learner": "" if problem.learner is None else repr(problem.learner.estimator),
            "operations": ",".join(names),
            "population_size": str(self.size),
            "max_size": str(problem.max_size),
            "guard": problem.guard,
        }

    def prepare(self, seed: np.random.SeedSequence) -> np.random.Generator:
        return np.random.default_rng(seed)

    def begin(self, rng: np.random.Generator) -> FeatureGeneration:
        problem = self.problem
        sets: list[FeatureSet] = [(column,) for column in problem.originals]
        sets += problem.prefer(list(self.first()))
        everything = problem.reduce(problem.originals)
        sets += [everything, *(self.mutate(everything, rng) for _ in range(10))]
        empty = FeatureGeneration((), np.empty((0, 3)), (), np.empty((0, 3)), 0, 0)
        return self.survive(empty, sets)

    def step(
        self, state: FeatureGeneration, rng: np.random.Generator, deadline: Deadline
    ) -> FeatureGeneration:
        """Return the next generation, with as many children as parents: crossed, mutated."""
        children = []
        for _ in range(self.size):
            if is_late(deadline):
                raise OutOfTime
            first, second = (
                state.population[i] for i in rng.integers(len(state.population), size=2)
            )
            if rng.random() < _CROSSOVER:
                first = self.cross(first, second, rng)
            children.append(self.mutate(first, rng))
        return self.survive(state, children)

    def cross(self, first: FeatureSet, second: FeatureSet, rng: np.random.Generator) -> FeatureSet:
        """Return a mixture of two sets."""
        return tuple(cross_sets(first, second, rng))

    def mutate(self, features: FeatureSet, rng: np.random.Generator) -> FeatureSet:
        """Return a set with a column added, a feature constructed, or some taken away."""
        child = list(features)
        if rng.random() < _MUTATION / 4:
            child.append(self.problem.originals[rng.integers(len(self.problem.originals))])
        if rng.random() < _MUTATION / 4:
            child.append(self.construct(child, rng))
        leaves = rng.random(len(child)) < 2 * (_MUTATION / 4) / len(child)
        kept = [feature for feature, leave in zip(child, leaves, strict=True) if not leave]
        reduced = self.problem.reduce(kept or child[:1])
        return reduced or (self.problem.originals[0],)

    def construct(self, features: Sequence[Expression], rng: np.random.Generator) -> Expression:
        """Return a random operation on random features of a set, or columns of the table."""
        operation = self.operations[int(rng.integers(len(self.operations)))]
        choices = (*features, *self.problem.originals)
        n_arguments = operation.n_arguments if isinstance(operation, OwnFunction) else 2
        drawn = [choices[i] for i in rng.integers(len(choices), size=n_arguments)]
        if isinstance(operation, OwnFunction):
            return apply(operation, *drawn)
        if operation in _COMBINE:
            return _COMBINE[operation](*drawn)
        if operation in ("min", "max"):
            return apply(operation, *drawn)
        inside = drawn[0]
        if operation in ("sqrt", "log") and self.problem.columns.values(inside).min() < 0:
            # So that the printed formula is what is computed.
            inside = abs(inside)
        return apply(operation, inside)

    def survive(
        self, state: FeatureGeneration, children: Sequence[FeatureSet]
    ) -> FeatureGeneration:
        """Return the next generation, of parents, children and what earlier tasks had."""
        n_iter = state.n_iter + bool(state.population)
        children = [*children, *self.recalled(n_iter, state.archive)]
        known = set(state.population)
        new = [child for child in dict.fromkeys(children) if child not in known]
        values = self.problem.evaluate(new)
        finite: Mask = np.isfinite(values.sum(axis=1))
        new = [child for child, good in zip(new, finite, strict=True) if good]
        population = (*state.population, *new)
        merged = np.concatenate([state.values, values[finite]])
        together = (*state.archive, *new)
        objectives = np.concatenate([state.archive_values, values[finite]])
        unbeaten = np.flatnonzero(nondominated_rows(objectives, keep_ties=False))
        gained = bool((unbeaten >= len(state.archive)).any())
        ranked = np.column_stack([np.log10(merged[:, 0]), merged[:, 1:]])
        n_keep = min(self.size, len(population))
        rows = select_survivors(ranked, np.zeros(len(ranked)), n_keep, crowding="maximin")[0]
        return FeatureGeneration(
            tuple(population[row] for row in rows),
            merged[rows],
            tuple(together[row] for row in unbeaten),
            objectives[unbeaten],
            n_iter,
            state.n_evaluations + len(children),
            0 if gained else state.n_idle + 1,
        )

    def standing(self, state: FeatureGeneration) -> Standing:
        return Standing(state.n_evaluations, state.n_idle)

    def row(self, state: FeatureGeneration) -> tuple[float, ...]:
        return float(len(state.archive)), float(state.archive_values[:, 0].min())

    def note(self, state: FeatureGeneration) -> str:
        return f"{len(state.archive)} formulas, error {state.archive_values[:, 0].min():.3g}"

    def finished(self, state: FeatureGeneration) -> str | None:  # noqa: ARG002
        return None

    def result(self, state: FeatureGeneration, ending: Ending) -> tuple[FeatureGeneration, Ending]:
        return state, ending

    def to_arrays(self, state: FeatureGeneration) -> dict[str, AnyArray]:
        return {
            "population": written_sets(state.population),
            "values": state.values,
            "archive": written_sets(state.archive),
            "archive_values": state.archive_values,
            "counts": np.array([state.n_iter, state.n_evaluations, state.n_idle]),
        }

    def restore(self, arrays: dict[str, AnyArray]) -> FeatureGeneration:
        return FeatureGeneration(
            read_sets(arrays["population"], self.own),
            arrays["values"],
            read_sets(arrays["archive"], self.own),
            arrays["archive_values"],
            *map(int, arrays["counts"]),
        )
