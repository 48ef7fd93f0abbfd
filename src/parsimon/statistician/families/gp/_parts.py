"""The parts of the best kernel: what each adds, and whether a product is needed.

`component_findings` orders the summands by what they help; `interaction_findings` sets the kernel
beside itself with a sum in place of each product.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from parsimon._typing import Array
from parsimon.gp import Candidate
from parsimon.kernels import Constant, Kernel, Linear, Periodic, Product, Sum, canonical, structure
from parsimon.kernels.form import sum_of_products
from parsimon.report.findings import ComponentFinding, InteractionFinding, Shape
from parsimon.statistician.families.gp._kernel_result import KernelResult, model_of, posterior_of
from parsimon.statistician.families.gp._variables import direction_of, repeats, supports_period
from parsimon.statistician.time_budget import TimedSteps

# Of more parts no sums are fitted: their number grows with the square, and each takes folds.
_MOST_PARTS = 4
# More rows than this say nothing new about a standard deviation, and each costs a kernel row.
_MOST_ROWS = 5000


def component_findings(
    result: KernelResult, *, fitted: bool = True, steps: TimedSteps | None = None
) -> tuple[ComponentFinding, ...]:
    """Return the additive parts of the best structure, those that help most first.

    The order is that of He (2016), algorithm 5.1: the part comes next whose sum with the parts
    before it has the least cross-validated error, each sum being fitted again. More than four
    parts, and those of which nothing shall be `fitted`, come by their strength, and of their sums
    no error is known. A constant is no part of its own: it goes with the lines, whose height it is.
    All parts together are the best structure itself, with its numbers. `steps` raise an error where
    a sum would be fitted too late.
    """
    search, steps = result.search, steps or TimedSteps(None)
    if not search.structure_found_:
        return ()
    best = search.best_candidate_
    parts, constants = split(best.kernel)
    strengths, directions = _in_full_model(result, parts)
    fitted = fitted and len(parts) <= _MOST_PARTS

    def judged(places: Sequence[int]) -> Candidate:
        if len(places) == len(parts):
            return best
        kernel = joined([parts[place] for place in places], constants)
        return steps(search.judge, kernel) if fitted else _unjudged(kernel)

    found = []
    before = search.baseline_.error
    for places, candidate in growing_sums(judged, strengths, greedy=fitted):
        place = places[-1]
        found.append(
            ComponentFinding(
                alone=model_of(judged([place]), result.question.names),
                cumulative=model_of(candidate, result.question.names),
                gain=before - candidate.error,
                strength=strengths[place],
                direction=directions[place],
            )
        )
        before = candidate.error
    return tuple(found)


def _unjudged(kernel: Kernel) -> Candidate:
    """Return a kernel of which nothing is measured."""
    columns = tuple(sorted(kernel.columns or ()))
    return Candidate(kernel=kernel, depth=0, parent=None, columns=columns)


def growing_sums(
    judged: Callable[[Sequence[int]], Candidate],
    strengths: Sequence[float],
    *,
    greedy: bool = True,
) -> Iterator[tuple[list[int], Candidate]]:
    """Yield the parts of ever longer sums, each with what was measured of the sum.

    Algorithm 5.1 of He (2016): greedy by error, rounded to 0.01 % as in the search, ties by
    evidence. Otherwise the strongest of the rest comes next.
    """
    places: list[int] = []
    rest = list(range(len(strengths)))
    while rest:
        if greedy:
            sums = {place: judged([*places, place]) for place in rest}
            new = min(sums, key=lambda place: (_rank(sums[place]), place))
        else:
            new = max(rest, key=lambda place: strengths[place])
        rest.remove(new)
        places = [*places, new]
        yield places, judged(places)


def split(kernel: Kernel) -> tuple[list[Kernel], list[Kernel]]:
    """Return the summands that see variables, and those that are constants."""
    summands = sum_of_products(kernel)
    constants: list[Kernel] = [part for part in summands if isinstance(part, Constant)]
    return [part for part in summands if not isinstance(part, Constant)], constants


def joined(parts: Sequence[Kernel], constants: Sequence[Kernel]) -> Kernel:
    """Return the sum of some parts, with the constants if a line among them needs its height."""
    terms = [*constants, *parts] if any(map(_has_line, parts)) else list(parts)
    return terms[0] if len(terms) == 1 else canonical(Sum(tuple(terms)))


def _rank(candidate: Candidate) -> tuple[float, float]:
    if math.isnan(candidate.error):
        return math.inf, math.inf
    return round(candidate.error, 4), -candidate.log_evidence


def _has_line(part: Kernel) -> bool:
    factors = part.terms if isinstance(part, Product) else (part,)
    return any(isinstance(factor, Linear) for factor in factors)


def _in_full_model(
    result: KernelResult, parts: Sequence[Kernel]
) -> tuple[list[float], list[Shape]]:
    """Return each part's strength, in units of the target, and its direction."""
    search = result.search
    posterior = posterior_of(search, search.best_candidate_)
    rows = _some_rows(result)
    unit = float(np.std(result.question.y)) if result.question.task == "regression" else 1.0
    total = posterior.component_mean(posterior.kernel, rows)
    strengths: list[float] = []
    directions: list[Shape] = []
    for part in parts:
        mean = posterior.component_mean(part, rows)
        strengths.append(unit * float(mean.std()))
        if part.columns is None or len(part.columns) != 1:
            directions.append("unclear")
            continue
        column = part.columns[0]
        values = result.question.X.iloc[:, column].to_numpy(dtype=np.float64)
        periodic = isinstance(part, Periodic) and repeats(part.period, values)
        if periodic and supports_period(result, column):
            directions.append("periodic")
            continue
        level = float(np.mean(total - mean))
        directions.append(
            direction_of(
                posterior, part, column, values, seed=result.question.seed, level=level
            ).shape
        )
    return strengths, directions


def _some_rows(result: KernelResult) -> Array:
    rows: Array = result.question.X.to_numpy(dtype=np.float64)
    return rows[:: math.ceil(len(rows) / _MOST_ROWS)]


def interaction_findings(
    result: KernelResult, *, steps: TimedSteps | None = None
) -> tuple[InteractionFinding, ...]:
    """Return what each product of the best structure gains over the sum of its factors.

    Both are fitted to the same rows and folds. Factors of one variable stay together, so that
    only what joins variables is taken apart; a factor that the structure has as a part of its
    own is not added again. Of more than four products the strongest four are told, and no sum is
    fitted: what interacts is claimed with a probability all the same. `steps` raise an error where
    a sum would be fitted too late.
    """
    search, steps = result.search, steps or TimedSteps(None)
    if not search.structure_found_:
        return ()
    best = search.best_candidate_
    parts, constants = split(best.kernel)
    products = [
        (place, part)
        for place, part in enumerate(parts)
        if isinstance(part, Product) and len(part.columns or ()) > 1
    ]
    few = len(products) <= _MOST_PARTS
    if not few:
        strengths, _ = _in_full_model(result, [part for _, part in products])
        order = np.argsort(-np.array(strengths), kind="stable")[:_MOST_PARTS]
        products = [products[k] for k in sorted(order)]
    found = []
    for place, part in products:
        others = [*parts[:place], *parts[place + 1 :]]
        added = _missing(separated(part, search.problem_.X), others)
        kernel = joined([*others, *added], constants)
        additive = steps(search.judge, kernel) if few else _unjudged(kernel)
        if additive.judged_by == "failed" and few:
            continue
        found.append(
            InteractionFinding(
                variables=tuple(result.question.names[column] for column in part.columns or ()),
                additive=model_of(additive, result.question.names),
                gain=additive.error - best.error,
                log_bayes_factor=best.log_evidence - additive.log_evidence,
            )
        )
    return tuple(found)


def separated(product: Product, X: Array) -> list[Kernel]:
    """Return the factors of a product as terms of a sum that has its variance.

    The prior variance of the product, averaged over the rows, is shared out equally; it is
    where a fit begins.

    Shapes: X (n, d).
    """
    groups: dict[Any, list[Any]] = {}
    for factor in product.terms:
        groups.setdefault(factor.columns, []).append(factor)
    share = float(product.diagonal(X).mean()) / len(groups)
    return [_with_variance(leaves, share, X) for leaves in groups.values()]


def _with_variance(leaves: Sequence[Any], variance: float, X: Array) -> Kernel:
    """Return the product of some leaves with a mean prior variance over the rows."""
    first, *others = (_freed(leaf, leaf.variance) for leaf in leaves)
    typical = float(reduce(mul, others, first).diagonal(X).mean())
    rescaled: Kernel = reduce(mul, others, _freed(first, first.variance * variance / typical))
    return rescaled


def _freed(leaf: Any, variance: float) -> Any:
    fixed = tuple(name for name in leaf.fixed if name != "variance")
    return replace(leaf, variance=variance, fixed=fixed)


def _missing(terms: Sequence[Kernel], present: Sequence[Kernel]) -> list[Kernel]:
    """Return the terms of a structure that is not there yet."""
    known = {structure(one) for one in present}
    return [term for term in terms if structure(term) not in known]
