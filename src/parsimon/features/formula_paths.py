"""Further first sets of features, for a target that the simplest forms do not give exactly.

Fractions of sums, products of more columns, polynomials of many terms, and waves whose length is
fitted. All are suggestions: `FeatureEvolution` goes on from them, and the front keeps what is worth
it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, combinations, combinations_with_replacement, islice

import numpy as np
from scipy.optimize import minimize_scalar

from parsimon._deadline import Deadline
from parsimon._typing import Array
from parsimon.features.expressions import Expression, apply, coefficient_of, multiply, weighted_sum
from parsimon.features.feature_sets import FeatureProblem, FeatureSet, sets_in_stages
from parsimon.features.formula_candidates import (
    Library,
    even_rows,
    extend_set,
    factor_out,
    forward,
    indicators,
    is_exact,
    left_over,
    merged_formulas,
    plain_feature,
    promising_columns,
    squared_residual,
    textbook_members,
)
from parsimon.features.formula_model import nice
from parsimon.features.operations import OwnFunction
from parsimon.linalg import standardise_columns

# Members that fractions are made of, and that are multiplied once more; members in all.
_FRACTION, _DEEPENED, _LIBRARY = 500, 120, 2500
_WIDTH = 12
# Rows and members by which fractions with one term below the line are looked for.
_FEW = 200
# Share of the variance that is rounding.
_NOTHING = 1e-12
# Terms and columns of a polynomial, and its degree.
_TERMS, _POLYNOMIAL, _DEGREE = 25, 10, 3
# Turns of a wave over the range of what it is a wave of.
_TURNS = np.arange(0.15, 3.01, 0.15)


def further_sets(
    problem: FeatureProblem,
    operations: Sequence[str | OwnFunction],
    known: Iterable[FeatureSet],
    deadline: Deadline = None,
) -> list[FeatureSet]:
    """Return sets for a target that no known set gives exactly; after the deadline no more."""
    if any(is_exact(problem, features) for features in known if features):
        return []
    start = Library.of(problem, operations)
    stages: list[Callable[[], Iterable[FeatureSet]]] = [lambda: polynomial_sets(problem, start)]
    if problem.n_classes == 0:
        y = np.asarray(problem.target, dtype=np.float64)
        stages = [
            lambda: rational_formulas(problem, start, y),
            lambda: deepened_sets(problem, start),
            *stages,
            lambda: wave_sets(problem, start, y),
        ]
    plain, is_enough = partial(plain_feature, problem), partial(is_exact, problem)
    found = sets_in_stages(
        stages, lambda each: problem.reduce(map(plain, each)), is_enough, deadline
    )
    return list(dict.fromkeys(found))


def rational_formulas(problem: FeatureProblem, start: Library, y: Array) -> list[FeatureSet]:
    r"""Return fractions of two sums of the library, if they are exact.

    :math:`y = \sum c_j f_j / (1 - \sum d_j g_j)` is linear in c and d: y is regressed on the
    library and on the library times y.
    """
    if not start.allows("/", "+"):
        return []
    members = [each for each in start.members if is_monomial(each)][:_FRACTION]
    columns = problem.columns.matrix(members)
    both = np.hstack([columns, y[:, None] * columns])
    rows = even_rows(len(y))
    sets = forward(
        standardise_columns(both)[rows], standardise_columns(y[:, None])[rows], 3, 5 * _WIDTH
    )
    parts = [
        (
            [i for i in chosen if i < len(members)],
            [i - len(members) for i in chosen if i >= len(members)],
        )
        for chosen in sets
    ]
    parts += fractions_of_one_term(columns, y)
    found: list[FeatureSet] = []
    for above, below in parts:
        if above and below:
            found += fractions(problem, [members[i] for i in above], [members[i] for i in below])
    return [each for each in found if is_exact(problem, each)]


def fractions_of_one_term(columns: Array, y: Array) -> list[tuple[list[int], list[int]]]:
    """Return pairs above the line, for one term below, that leave nothing of the target.

    What is times y says almost all of y, so that adding one after the other would find it only.
    """
    few = columns[:: max(1, len(y) // _FEW)][:, :_FEW]
    target = y[:: max(1, len(y) // _FEW)]
    found = []
    for below in range(few.shape[1]):
        times = standardise_columns((target * few[:, below])[:, None])[:, 0] / np.sqrt(len(target))
        table = standardise_columns(few - np.outer(times, times @ (few - few.mean(axis=0))))
        wanted = target - target.mean()
        wanted = standardise_columns((wanted - times * (times @ wanted))[:, None])
        for chosen in forward(table, wanted, depth=2, width=2):
            if left_over(table, wanted, chosen) < _NOTHING:
                found.append((list(chosen), [below]))
    return found


def is_monomial(feature: Expression) -> bool:
    """Tell whether a feature is a product of whole powers of columns."""
    return all(part.operation in ("column", "power", "product") for part in feature.parts())


def fractions(
    problem: FeatureProblem, above: Sequence[Expression], below: Sequence[Expression]
) -> Iterator[FeatureSet]:
    """Yield the fraction of sums of these features, without and with a number above."""
    y = np.asarray(problem.target, dtype=np.float64)
    columns = [problem.columns.values(each) for each in above]
    times = [y * problem.columns.values(each) for each in below]
    for parts in (list(above), [*above, Expression.number(1.0)]):
        ones = [np.ones_like(y)] * (len(parts) - len(above))
        design = np.column_stack([*columns, *ones, *times])
        spread = np.sqrt((design**2).mean(axis=0))
        weights = np.linalg.lstsq(design / spread, y, rcond=None)[0] / spread
        if np.abs(y - design @ weights).max() > 1e-6 * problem.constant_error:
            continue
        numbers = [nice(float(weight)) for weight in weights]
        top = weighted_sum(numbers[: len(parts)], parts)
        yield (factor_out(top) / (1 - weighted_sum(numbers[len(parts) :], below)),)


def deepened_sets(problem: FeatureProblem, start: Library) -> list[FeatureSet]:
    """Return sets of a library that also has the best members times functions of one column."""
    if not start.allows("*"):
        return []
    wanted, rows = indicators(problem.target, problem.n_classes), even_rows(len(problem.target))
    gain = np.abs(start.table.T @ wanted).max(axis=1)
    best = [start.members[i] for i in np.argsort(-gain, kind="stable")[:_DEEPENED]]
    single = [each for each in start.members if len(each.columns) == 1 and each.size <= 4]
    new = (multiply(a, b) for a in best for b in single if not a.columns & b.columns)
    # Of many columns there are hundreds of thousands of products: no more are made than are kept.
    usable = filter(problem.is_usable, distinct(new))
    members = list(islice(distinct(chain(start.members[:_FRACTION], usable)), _LIBRARY))
    table = standardise_columns(problem.columns.matrix(members))[rows]
    sets = [tuple(members[i] for i in each) for each in forward(table, wanted[rows])]
    # One such product, and functions of single columns for the rest.
    places = textbook_members(members)[1]
    strongest = np.argsort(-np.abs(table.T @ wanted[rows]).max(axis=1), kind="stable")
    for first in strongest[:_WIDTH]:
        some = np.unique(np.append(places, first))
        found = forward(table[:, some], wanted[rows])
        sets += [tuple(members[some[i]] for i in chosen) for chosen in found]
    return [*sets, *merged_formulas(problem, sets)]


def distinct(features: Iterable[Expression]) -> Iterator[Expression]:
    """Yield each feature when it comes first."""
    seen: set[Expression] = set()
    for each in features:
        if each not in seen:
            seen.add(each)
            yield each


def polynomial_sets(problem: FeatureProblem, start: Library) -> list[FeatureSet]:
    """Return sets of more and more terms of a polynomial, each the best to add to the last."""
    if not start.allows("*"):
        return []
    names = promising_columns(problem, _POLYNOMIAL)
    terms = [
        multiply(*map(Expression.column, chosen))
        for degree in range(1, _DEGREE + 1)
        for chosen in combinations_with_replacement(names, degree)
    ]
    terms += [each for each in start.members if len(each.columns) == 1 and each.size <= 3]
    terms = [each for each in dict.fromkeys(terms) if problem.is_usable(each)]
    table = standardise_columns(problem.columns.matrix(terms))
    wanted = indicators(problem.target, problem.n_classes)
    chosen: tuple[int, ...] = ()
    sets = []
    for _ in range(min(_TERMS, len(terms), len(table) // 4)):
        best = extend_set(table, wanted, chosen, 1)
        if not best:
            break
        chosen = (*chosen, best[0][0])
        sets.append(tuple(terms[i] for i in chosen))
    return sets


def wave_sets(problem: FeatureProblem, start: Library, y: Array) -> list[FeatureSet]:
    """Return sets with sines and cosines of multiples of columns and of products of two."""
    waves = [each for each in ("sin", "cos") if start.allows(each, "*")]
    names = promising_columns(problem)
    inside = [Expression.column(name) for name in names]
    inside += [multiply(a, b) for a, b in combinations(inside, 2)]
    inside = [each for each in inside if problem.is_usable(each)]
    members = [each for each in start.members if is_monomial(each) and each.size <= 5][:_FEW]
    for part in inside:
        span = float(np.ptp(problem.columns.values(part)))
        members += [
            apply(wave, multiply(Expression.number(2 * np.pi * turns / span), part))
            for turns in _TURNS
            for wave in waves
        ]
    members = [each for each in dict.fromkeys(members) if problem.is_usable(each)]
    rows = even_rows(len(y))
    table = standardise_columns(problem.columns.matrix(members))[rows]
    wanted = standardise_columns(y[:, None])[rows]
    best: dict[int, FeatureSet] = {}
    for chosen in forward(table, wanted, depth=8, width=6):
        best.setdefault(len(chosen), tuple(members[i] for i in chosen))
    return [tune_waves(problem, features, y) for features in best.values()] if waves else []


def tune_waves(problem: FeatureProblem, features: FeatureSet, y: Array) -> FeatureSet:
    """Return a set whose waves have the lengths that leave least of the target."""
    found = list(features)
    for place in [*range(len(features))] * 2:
        if found[place].operation in ("sin", "cos"):
            others = [*found[:place], *found[place + 1 :]]
            design = np.column_stack([np.ones(len(y)), problem.columns.matrix(others)])
            found[place] = tune_wave(problem, found[place], design, y)
    return tuple(found)


def tune_wave(problem: FeatureProblem, wave: Expression, design: Array, y: Array) -> Expression:
    """Return a wave of the length that leaves least of the target beside a design (n, k)."""
    number, part = coefficient_of(wave.arguments[0])
    values = problem.columns.values(part)
    function = np.sin if wave.operation == "sin" else np.cos

    def left(k: float) -> float:
        return squared_residual(np.column_stack([design, function(k * values)]), y)

    step = 2 * np.pi * _TURNS[0] / float(np.ptp(values))
    ends = max(number - step, 0.1 * step), number + step
    found = minimize_scalar(left, bounds=ends, method="bounded", options={"xatol": 1e-9 * number})
    better = float(found.x) if found.fun < left(number) else number
    return apply(wave.operation, multiply(Expression.number(nice(better)), part))
