r"""First sets of features, by least squares over a library instead of chance.

A formula of science is often a sum of few products of powers, or a simple function of one: the
lens equation is linear in 1/y, a distance in its square, a law of powers in the logarithm. So the
library holds products of powers and functions of columns, and for each `TargetLink` g the few
members are looked for whose linear combination is g(y).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from parsimon._deadline import Deadline, is_late
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.features.expressions import (
    Expression,
    add,
    apply,
    coefficient_of,
    exponent_of,
    factors_of,
    multiply,
    number_of,
    power,
    terms_of,
    weighted_sum,
)
from parsimon.features.feature_sets import FeatureProblem, FeatureSet, sets_in_stages
from parsimon.features.formula_model import nice
from parsimon.features.operations import LARGEST, OwnFunction
from parsimon.linalg import standardise_columns

# Members of the library, and columns that products are made of.
_LIBRARY, _COLUMNS = 2500, 6
# Rows by which members are compared; more do not change their order.
_ROWS = 600
# Sets kept of each size, and the greatest size.
_WIDTH, _DEPTH = 12, 5
# A number this near to a half or whole one may be that.
_NEAR = 0.1
# A set that explains all but this share of the variance is a formula.
_EXACT = 1e-12


class TargetLink(NamedTuple):
    """A function of the target that may be linear in the library.

    forward: Of the target, shape (n,).
    weight: One over the slope of that, by which noise of the target becomes even again.
    back: The expression of the target for one of its function.
    needs: Operations that the way back takes.
    scales: Whether a factor of the argument is only a factor of the target.
    """

    forward: Callable[[Array], Array]
    weight: Callable[[Array], Array]
    back: Callable[[Expression], Expression]
    needs: tuple[str, ...]
    scales: bool = True


_LINKS = (
    TargetLink(np.square, np.reciprocal, lambda e: apply("sqrt", e), ("sqrt",)),
    TargetLink(np.reciprocal, np.square, lambda e: power(e, -1), ("/",)),
    TargetLink(
        lambda y: 1.0 / y**2, lambda y: y**3, lambda e: power(apply("sqrt", e), -1), ("/", "sqrt")
    ),
    TargetLink(np.sqrt, np.sqrt, lambda e: power(e, 2), ("*",)),
    TargetLink(np.log, np.abs, lambda e: apply("exp", e), ("exp",), scales=False),
)


def formula_candidates(
    problem: FeatureProblem,
    operations: Sequence[str | OwnFunction],
    deadline: Deadline = None,
) -> list[FeatureSet]:
    """Return sets of features that least squares finds promising, without repetition.

    After the deadline no further link is tried.
    """
    start = Library.of(problem, operations)
    members = start.members
    rows = even_rows(len(problem.target))
    wanted = indicators(problem.target, problem.n_classes)
    sets: list[FeatureSet] = []
    for kept in (slice(None), *textbook_members(members)):
        some = members if isinstance(kept, slice) else [members[i] for i in kept]
        found = forward(start.table[:, kept][rows], wanted[rows]) if some else []
        sets += [tuple(some[i] for i in chosen) for chosen in found]
    if problem.n_classes == 0:
        sets += regression_sets(problem, start, sets, deadline)
    reduced = [problem.reduce(plain_feature(problem, feature) for feature in each) for each in sets]
    exact = [each for each in reduced if len(each) > 1 and is_exact(problem, each)]
    reduced += [prune_exact(problem, each) for each in exact if problem.n_classes == 0]
    return [each for each in dict.fromkeys(reduced) if each]


def prune_exact(problem: FeatureProblem, features: FeatureSet) -> FeatureSet:
    """Return an exact set without the features that add no more than rounding."""
    spread = problem.columns.matrix(features).std(axis=0)
    share = np.abs(problem.known_fit(features).coef[:, 0]) * spread / problem.constant_error
    return tuple(each for each, part in zip(features, share, strict=True) if part > 1e-7)


def textbook_members(members: Sequence[Expression]) -> tuple[Indices, Indices]:
    """Return the places of members without differences, and of those of a single column.

    Differences explain each other's squares; without them the terms are those of a textbook.
    """
    plain_terms = [all(part.operation != "sum" for part in each.parts()) for each in members]
    single = [len(each.columns) == 1 for each in members]
    return np.flatnonzero(plain_terms), np.flatnonzero(single)


@dataclass(frozen=True, eq=False)
class Library:
    """Features of one to four columns to combine, the simplest first.

    table (n, p): Their columns, standardised.
    """

    members: Sequence[Expression]
    table: Array
    operations: tuple[str | OwnFunction, ...]

    @classmethod
    def of(cls, problem: FeatureProblem, operations: Sequence[str | OwnFunction]) -> "Library":
        """Return the features that a problem has by these operations."""
        members = _usable_members(problem, operations, promising_columns(problem))
        table = standardise_columns(problem.columns.matrix(members))
        return cls(members, table, tuple(operations))

    def allows(self, *wanted: str) -> bool:
        """Tell whether all these operations may be used."""
        return set(wanted) <= {each for each in self.operations if isinstance(each, str)}


def regression_sets(
    problem: FeatureProblem, start: Library, sets: Sequence[FeatureSet], deadline: Deadline
) -> list[FeatureSet]:
    """Return further sets for a number, until one exact formula is among them."""
    y = np.asarray(problem.target, dtype=np.float64)
    stages: list[Callable[[], Iterable[FeatureSet]]] = [
        lambda: power_laws(problem, start, y),
        lambda: separated_sets(problem, start, y, deadline),
        lambda: linked_formulas(problem, start, y, deadline),
        lambda: merged_formulas(problem, sets),
    ]

    def is_enough(features: FeatureSet) -> bool:
        return len(features) == 1 and is_exact(problem, features)

    plain = partial(plain_feature, problem)
    return sets_in_stages(stages, lambda each: tuple(map(plain, each)), is_enough, deadline)


def is_exact(problem: FeatureProblem, features: FeatureSet) -> bool:
    """Tell whether a set errs by no more than rounding and noise of a millionth."""
    return problem.error(problem.reduce(features)) < 1e-6 * problem.constant_error


def indicators(target: AnyArray, n_classes: int) -> Array:
    """Return the target, or one column for each class, standardised, shape (n, q)."""
    if n_classes == 0:
        return standardise_columns(np.asarray(target, dtype=np.float64)[:, None])
    codes = range(n_classes - (n_classes == 2))
    return standardise_columns(np.column_stack([target == code for code in codes]).astype(float))


def weigh_columns(columns: Array, weights: Array) -> Array:
    """Return columns centred by weights and multiplied by them, with mean square 1 or 0."""
    squares = weights**2 / (weights**2).sum()
    turned = (columns - squares @ columns) * weights[:, None]
    spread = np.sqrt((turned**2).mean(axis=0))
    return turned / np.where(spread > 0, spread, 1.0)


def even_rows(n: int) -> Indices:
    """Return at most `_ROWS` rows, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, _ROWS)).astype(np.intp))


def plain_library(
    problem: FeatureProblem, operations: Sequence[str | OwnFunction]
) -> list[Expression]:
    """Return features as of a `Library` that do not depend on the target.

    Where there are many columns, products are those of two columns as they are.
    """
    names = [str(column.value) for column in problem.originals]
    if len(names) <= _COLUMNS:
        return _usable_members(problem, operations, names)
    pairs = combinations(problem.originals, 2) if "*" in operations else ()
    return _usable_members(problem, operations, (), [multiply(a, b) for a, b in pairs])


def is_simple(feature: Expression) -> bool:
    """Tell whether a feature is a column, its square, or a product of two columns."""
    bases = [exponent_of(each) for each in factors_of(feature)]
    plain_columns = all(base.operation == "column" for base, _ in bases)
    return plain_columns and min(k for _, k in bases) > 0 and sum(k for _, k in bases) <= 2


def _usable_members(
    problem: FeatureProblem,
    operations: Sequence[str | OwnFunction],
    columns: Sequence[str],
    further: Sequence[Expression] = (),
) -> list[Expression]:
    """Return functions of each column, products of some columns, and further features."""
    allowed = {each for each in operations if isinstance(each, str)}
    single = {name: list(column_factors(problem, name, allowed)) for name in problem.names}
    found = [factor for factors in single.values() for factor in factors]
    if "*" in allowed or "/" in allowed:
        found += pair_products(problem, columns, single, allowed)
        found += [m for k in (3, 4) for m in monomials(columns, k, with_ratios="/" in allowed)]
    ordered = sorted(dict.fromkeys([*found, *further]), key=lambda each: (each.size, each.key))
    usable = (each for each in ordered if problem.is_usable(each))
    return [each for each, _ in zip(usable, range(_LIBRARY), strict=False)]


def promising_columns(problem: FeatureProblem, most: int = _COLUMNS) -> list[str]:
    """Return the names of columns to make products of, those that say most of the target."""
    names = [str(column.value) for column in problem.originals]
    if len(names) <= most:
        return names
    wanted = indicators(problem.target, problem.n_classes)
    score = []
    for name in names:
        x = problem.columns.values(Expression.column(name))
        table = standardise_columns(np.column_stack([x, x**2, np.abs(x)]))
        score.append(float(np.abs(table.T @ wanted).max()))
    order = np.argsort(-np.array(score), kind="stable")[:most]
    return [names[i] for i in sorted(order)]


def column_factors(problem: FeatureProblem, name: str, allowed: set[str]) -> Iterator[Expression]:
    """Yield powers and functions of one column that suit its values."""
    x = Expression.column(name)
    values = problem.columns.values(x)
    low, high = float(values.min()), float(values.max())
    size = apply("abs", x) if low < 0 < high else x
    yield x
    if "*" in allowed:
        yield from (x**2, x**3)
    if "/" in allowed and (values != 0).all():
        yield from (1 / x, 1 / x**2)
    if low < 0 < high and "abs" in allowed:
        yield from (size, *((1 / size,) if "/" in allowed and (values != 0).all() else ()))
    if "sqrt" in allowed:
        yield apply("sqrt", size)
        if "/" in allowed and (values != 0).all():
            yield 1 / apply("sqrt", size)
    if "log" in allowed and (values != 0).all():
        yield apply("log", size)
    if "exp" in allowed and max(-low, high) < 20:
        yield from (apply("exp", x), apply("exp", -x))
    if high - low < 40:
        yield from (apply(each, x) for each in ("sin", "cos", "tan", "atan") if each in allowed)
    if low < 0 < high and "sign" in allowed:
        yield apply("sign", x)


def pair_products(
    problem: FeatureProblem,
    columns: Sequence[str],
    single: dict[str, list[Expression]],
    allowed: set[str],
) -> list[Expression]:
    """Return products of functions of two columns, and differences of two with their powers."""
    found = [
        multiply(a, b)
        for first, second in combinations(columns, 2)
        for a, b in product(single[first], single[second])
    ]
    differences = []
    for first, second in combinations(columns, 2):
        a, b = Expression.column(first), Expression.column(second)
        if "-" in allowed:
            differences += [a - b, (a - b) ** 2]
            differences += [1 / (a - b)] if "/" in allowed else []
        if "+" in allowed and "/" in allowed:
            differences += [1 / (a + b)]
        for extreme in ("min", "max"):
            if extreme in allowed:
                differences.append(apply(extreme, a, b))
    plain_powers = [Expression.column(name) ** k for name in columns for k in (1, -1, 2, -2)]
    varied = [each for each in plain_powers if problem.is_usable(each)]
    return found + differences + [multiply(a, b) for a, b in product(differences, varied)]


def monomials(columns: Sequence[str], k: int, *, with_ratios: bool) -> Iterator[Expression]:
    """Yield products of small powers of k columns."""
    exponents = (1, 2, -1, -2) if with_ratios else (1, 2)
    for names in combinations(columns, k):
        for powers in product(exponents, repeat=k):
            yield multiply(*(Expression.column(n) ** p for n, p in zip(names, powers, strict=True)))


def forward(
    table: Array, wanted: Array, depth: int = _DEPTH, width: int = _WIDTH
) -> list[tuple[int, ...]]:
    """Return the best sets of one, two, ... members found by adding one to each of a few.

    Pairs are searched through completely where there is one target. Shapes: table (n, p) and
    wanted (n, q), standardised.
    """
    beam: list[tuple[int, ...]] = [()]
    found: list[tuple[int, ...]] = []
    for size in range(1, min(depth, table.shape[1]) + 1):
        scored: dict[tuple[int, ...], float] = {}
        for chosen in beam:
            for each, left in extend_set(table, wanted, chosen, width):
                scored[tuple(sorted((*chosen, each)))] = left
        if size == 2 and wanted.shape[1] == 1:
            scored |= {
                pair: left_over(table, wanted, pair) for pair in best_pairs(table, wanted, width)
            }
        # Of those that leave nothing the simplest, which come first in the library.
        beam = sorted(scored, key=lambda each: (max(scored[each], _EXACT), sum(each), each))
        beam = beam[:width]
        found += beam
        if not beam or scored[beam[0]] <= _EXACT:
            break
    return found


def extend_set(
    table: Array, wanted: Array, chosen: tuple[int, ...], width: int
) -> list[tuple[int, float]]:
    """Return members to add to a set, and the share of variance that is left with each."""
    basis = np.linalg.qr(table[:, list(chosen)])[0] if chosen else np.empty((len(table), 0))
    residual = wanted - basis @ (basis.T @ wanted)
    free = (table**2).sum(axis=0) - ((basis.T @ table) ** 2).sum(axis=0)
    # A member that the set explains has nothing of its own but rounding.
    usable = free > 1e-9 * len(table)
    gain = ((residual.T @ table) ** 2).sum(axis=0) / np.where(usable, free, 1.0)
    gain = np.where(usable, gain, -1.0)
    best = np.argsort(-gain, kind="stable")[:width]
    total = float((residual**2).sum())
    return [(int(i), max(total - float(gain[i]), 0.0) / wanted.size) for i in best if usable[i]]


def left_over(table: Array, wanted: Array, chosen: Sequence[int]) -> float:
    """Return the share of the variance that a set leaves."""
    basis = np.linalg.qr(table[:, list(chosen)])[0]
    residual = wanted - basis @ (basis.T @ wanted)
    return float((residual**2).sum() / wanted.size)


def best_pairs(table: Array, wanted: Array, width: int) -> list[tuple[int, int]]:
    """Return the pairs of members that explain most, by the correlations of all."""
    n = len(table)
    # Single precision ranks pairs well enough at half the time.
    small = table.astype(np.float32)
    own = (table.T @ wanted[:, 0] / n).astype(np.float32)
    best: list[tuple[float, int, int]] = []
    for start in range(0, table.shape[1], 256):
        block = slice(start, start + 256)
        between = small[:, block].T @ small / np.float32(n)
        explained = own[block, None] ** 2 + own**2 - 2 * own[block, None] * own * between
        room = 1 - between**2
        score = np.where(room > 1e-4, explained / np.maximum(room, 1e-4), -1.0)
        partner = score.argmax(axis=1)
        for i, j in enumerate(partner):
            best.append((-float(score[i, j]), min(start + i, int(j)), max(start + i, int(j))))
    pairs = dict.fromkeys((i, j) for _, i, j in sorted(best) if i != j)
    return list(pairs)[: 4 * width]


def power_laws(problem: FeatureProblem, start: Library, y: Array) -> list[FeatureSet]:
    """Return the product of powers that least squares finds for the logarithm of the target."""
    usable: Mask = (problem.X != 0).all(axis=0) & (np.ptp(problem.X, axis=0) > 0)
    if not start.allows("*", "/", "sqrt") or not usable.any() or not (y != 0).all():
        return []
    logs = np.log(np.abs(problem.X[:, usable]))
    design = np.column_stack([np.ones(len(y)), logs])
    exponents = np.linalg.lstsq(design, np.log(np.abs(y)), rcond=None)[0][1:]
    names = [name for name, use in zip(problem.names, usable, strict=True) if use]
    halves = np.round(2 * np.clip(exponents, -6, 6)).astype(int)
    return [(law(names, halves),)]


def law(names: Sequence[str], halves: Iterable[int]) -> Expression:
    """Return the product of columns to powers, given as whole numbers of halves."""
    factors = []
    for name, half in zip(names, map(int, halves), strict=True):
        column = Expression.column(name)
        whole = power(column, half // 2) if half % 2 == 0 else power(apply("sqrt", column), half)
        factors.append(whole)
    return multiply(*factors)


def separated_sets(
    problem: FeatureProblem, start: Library, y: Array, deadline: Deadline
) -> list[FeatureSet]:
    """Return sets for a target divided by the columns that are factors of it, times these."""
    halves = factor_powers(problem.X, y)
    if not start.allows("*", "/", "sqrt") or not halves.any() or halves.all():
        return []
    names = [name for name, half in zip(problem.names, halves, strict=True) if half]
    outside = law(names, halves[halves != 0])
    rest = [name for name, half in zip(problem.names, halves, strict=True) if not half]
    inner = FeatureProblem(
        rest,
        problem.X[:, halves == 0],
        y / problem.columns.values(outside),
        0,
        max_size=problem.max_size,
        guard=problem.guard,
        rng=np.random.default_rng(0),
    )
    if not inner.originals:
        return []
    found: list[FeatureSet] = []
    for features in formula_candidates(inner, start.operations, deadline):
        times = tuple(multiply(outside, feature) for feature in features)
        found += [times, (*times, outside)]
    return found


def factor_powers(X: Array, y: Array) -> Indices:
    """Return the powers, in halves, of columns that are factors of the target, else 0.

    A factor enters the logarithm of the target linearly, with a power that is a half or whole,
    and its logarithm in no product with another: that it does is tested by F. Shape (d,).
    """
    n, d = X.shape
    none = np.zeros(d, dtype=np.intp)
    n_terms = 1 + d + d * (d + 1) // 2
    if d < 2 or n < 2 * n_terms or not ((X > 0).all() and (y != 0).all()):
        return none
    logs, wanted = standardise_columns(np.log(X)), np.log(np.abs(y))
    pairs = [(i, j) for i in range(d) for j in range(i, d)]
    squares = np.column_stack([logs[:, i] * logs[:, j] for i, j in pairs])
    full = np.column_stack([np.ones(n), logs, squares])
    left = squared_residual(full, wanted)
    spread = np.log(X).std(axis=0)
    for column in range(d):
        free = [k for k, pair in enumerate(pairs) if column not in pair]
        fewer = np.column_stack([np.ones(n), logs, squares[:, free]])
        weight = np.linalg.lstsq(fewer, wanted, rcond=None)[0][1 + column]
        half = round(2 * weight / spread[column]) if spread[column] > 0 else 0
        fixed = np.delete(fewer, 1 + column, axis=1)
        more = squared_residual(fixed, wanted - half / 2 * np.log(X[:, column]))
        statistic = (more - left) / (d + 1) / max(left / (n - n_terms), 1e-30)
        none[column] = half if statistic < 4.0 and abs(half) <= 8 else 0
    return none


def squared_residual(design: Array, wanted: Array) -> float:
    """Return what least squares leaves."""
    weights = np.linalg.lstsq(design, wanted, rcond=None)[0]
    return float(((wanted - design @ weights) ** 2).sum())


def linked_formulas(
    problem: FeatureProblem, start: Library, y: Array, deadline: Deadline
) -> list[FeatureSet]:
    """Return features whose function, by one of the links, is a combination of the library.

    A target of both signs has none.
    """
    found: list[FeatureSet] = []
    if not ((y > 0).all() or (y < 0).all()):
        return found
    rows = even_rows(len(y))
    for link in _LINKS:
        if is_late(deadline):
            break
        wanted = link.forward(np.abs(y))
        if not start.allows(*link.needs) or not np.isfinite(wanted).all():
            continue
        weights = link.weight(np.abs(y) / np.abs(y).mean())
        table = weigh_columns(start.table[rows], weights[rows])
        chosen_members = [
            [start.members[i] for i in chosen]
            for chosen in forward(table, weigh_columns(wanted[rows, None], weights[rows]), depth=3)
        ]
        found += [
            (plain_feature(problem, link.back(inside)),)
            for members in chosen_members
            for inside in combine(problem, members, wanted, link.scales, weights)
        ]
    return found


def combine(
    problem: FeatureProblem,
    features: Sequence[Expression],
    wanted: Array,
    scales: bool,
    weights_of_rows: Array | None = None,
) -> Iterator[Expression]:
    """Yield the linear combination of features that is nearest, without and with a constant.

    Each also with numbers rounded. Residuals are multiplied by the weights of rows, (n,). If it
    may be scaled, the number before the feature that matters most is 1.
    """
    columns = problem.columns.matrix(features)
    ones = np.ones((len(columns), 1))
    row_weights = np.ones(len(columns)) if weights_of_rows is None else weights_of_rows
    for design, parts in (
        (columns, list(features)),
        (np.hstack([columns, ones]), [*features, Expression.number(1.0)]),
    ):
        spread = np.sqrt((design**2).mean(axis=0))
        balanced = design / spread * row_weights[:, None]
        weights = np.linalg.lstsq(balanced, wanted * row_weights, rcond=None)[0]
        if not np.isfinite(weights).all() or not np.abs(weights).max() > 0:
            continue
        unit = weights[np.abs(weights).argmax()] / spread[np.abs(weights).argmax()]
        scale = spread * (unit if scales else 1.0)
        numbers = tuple(nice(float(number)) for number in weights / scale)
        # Noise hides that a number is 1 or 2, so the formula with these is tried as well.
        doubt = np.abs(standard_errors(balanced, wanted * row_weights, weights) / scale)
        near = tuple(map(round_nearby, numbers, doubt.tolist()))
        for weighing in dict.fromkeys((numbers, near)):
            yield factor_out(weighted_sum(weighing, parts))


def standard_errors(design: Array, wanted: Array, weights: Array) -> Array:
    """Return the standard errors of weights that least squares gave, 0 if there are none."""
    n, k = design.shape
    variance = ((wanted - design @ weights) ** 2).sum() / max(n - k, 1)
    errors: Array = np.sqrt(variance * np.diag(np.linalg.pinv(design.T @ design)).clip(0.0))
    return np.nan_to_num(errors)


def round_nearby(number: float, doubt: float) -> float:
    """Return the next half or whole number, if it is within a tenth or two standard errors."""
    half = round(2 * number) / 2 if abs(number) < LARGEST else number
    near = max(_NEAR * abs(half), min(2 * doubt, 0.25))
    return half if half and abs(number - half) <= near else number


def merged_formulas(problem: FeatureProblem, sets: Iterable[FeatureSet]) -> list[FeatureSet]:
    """Return one feature instead of several for sets that are exact, with small numbers only."""
    wanted = np.asarray(problem.target, dtype=np.float64)
    merged = (
        each
        for features in sets
        if len(features) > 1 and is_exact(problem, features)
        for each in combine(problem, features, wanted, scales=True)
    )
    return [
        (each,)
        for each in merged
        if all(
            (12 * number_of(part)).is_integer()
            for part in each.parts()
            if part.operation == "number"
        )
    ]


def factor_out(expression: Expression) -> Expression:
    """Return a sum with the factors that all its terms share in front."""
    terms = terms_of(expression)
    powers = [dict(map(exponent_of, factors_of(coefficient_of(t)[1]))) for t in terms]
    shared = []
    for base, exponent in powers[0].items():
        others = [each.get(base, 0) for each in powers]
        if base.columns and all(other * exponent > 0 for other in others):
            shared.append(power(base, min(others, key=abs)))
    if len(terms) < 2 or not shared:
        return expression
    outside = multiply(*shared)
    return multiply(outside, add(*(multiply(term, power(outside, -1)) for term in terms)))


def plain_feature(problem: FeatureProblem, feature: Expression) -> Expression:
    """Return a feature without absolute values of columns that are never negative."""
    positive = {
        apply("abs", column): column
        for column in problem.originals
        if problem.columns.values(column).min() >= 0
    }
    return feature.substitute(positive)
