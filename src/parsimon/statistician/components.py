"""The additive parts of the best structure, in the order in which they help most."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from parsimon._typing import Array
from parsimon.gp import Candidate
from parsimon.kernels import Constant, Kernel, Linear, Periodic, Product, Sum, canonical
from parsimon.kernels.form import sum_of_products
from parsimon.report.findings import ComponentFinding, Shape
from parsimon.statistician.direction import direction_of, repeats
from parsimon.statistician.models import model_of, posterior_of
from parsimon.statistician.subject import Subject

_MOST_ORDERED = 6
# More rows than this say nothing new about a standard deviation, and each costs a kernel row.
_MOST_ROWS = 5000


def component_findings(subject: Subject) -> tuple[ComponentFinding, ...]:
    """Return the additive parts of the best structure, those that help most first.

    The order is that of He (2016), algorithm 5.1: the part comes next whose sum with the parts
    before it has the least cross-validated error, each sum being fitted again. With more than
    six parts only the first six are found that way; the others follow by strength. A constant
    is no part of its own: it goes with the lines, whose height it is. All parts together are the
    best structure itself, with its numbers.
    """
    search = subject.search
    if not search.structure_found_:
        return ()
    best = search.best_candidate_
    parts, constants = split(best.kernel)
    strengths, directions = _in_full_model(subject, parts)

    def judged(places: Sequence[int]) -> Candidate:
        if len(places) == len(parts):
            return best
        return search.judge(joined([parts[place] for place in places], constants))

    found = []
    before = search.baseline_.error
    for places, candidate in growing_sums(judged, strengths):
        place = places[-1]
        found.append(
            ComponentFinding(
                alone=model_of(judged([place]), subject.names),
                cumulative=model_of(candidate, subject.names),
                gain=before - candidate.error,
                strength=strengths[place],
                direction=directions[place],
            )
        )
        before = candidate.error
    return tuple(found)


def growing_sums(
    judged: Callable[[Sequence[int]], Candidate], strengths: Sequence[float]
) -> Iterator[tuple[list[int], Candidate]]:
    """Yield the parts of ever longer sums, each with what was measured of the sum.

    Algorithm 5.1 of He (2016): greedy by error, rounded to 0.01 % as in the search, ties by
    evidence. From the seventh part on the strongest of the rest comes next.
    """
    places: list[int] = []
    rest = list(range(len(strengths)))
    while rest:
        if len(places) < _MOST_ORDERED:
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


def _in_full_model(subject: Subject, parts: Sequence[Kernel]) -> tuple[list[float], list[Shape]]:
    """Return each part's strength, in units of the target, and its direction."""
    search = subject.search
    posterior = posterior_of(search, search.best_candidate_)
    rows = _some_rows(subject)
    unit = float(np.std(subject.y)) if subject.task == "regression" else 1.0
    total = posterior.latent(rows).mean
    strengths: list[float] = []
    directions: list[Shape] = []
    for part in parts:
        mean = posterior.component(part, rows).mean
        strengths.append(unit * float(mean.std()))
        if part.columns is None or len(part.columns) != 1:
            directions.append("unclear")
            continue
        column = part.columns[0]
        values = subject.X.iloc[:, column].to_numpy(dtype=np.float64)
        if isinstance(part, Periodic) and repeats(part.period, values):
            directions.append("periodic")
            continue
        level = float(np.mean(total - mean))
        directions.append(
            direction_of(posterior, part, column, values, seed=subject.seed, level=level).shape
        )
    return strengths, directions


def _some_rows(subject: Subject) -> Array:
    rows: Array = subject.X.to_numpy(dtype=np.float64)
    return rows[:: math.ceil(len(rows) / _MOST_ROWS)]
