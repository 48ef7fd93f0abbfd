"""What a search says of variables alone, of the parts of the best kernel, and of its way there.

`variable_findings` has the best kernel of each variable; `component_findings` orders the summands
by what they help; `interaction_findings` sets the kernel beside itself with a sum in place of each
product; `draw_kernels` draws the tree of what was tried.
"""

import math
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._typing import Array
from parsimon.gp import Candidate, SearchHistory
from parsimon.kernels import (
    Constant,
    Kernel,
    Linear,
    Product,
    Sum,
    canonical,
    plain,
    structure,
)
from parsimon.kernels.form import sum_of_products
from parsimon.report.figures import label, search_tree
from parsimon.report.figures.search_figures import SearchNode
from parsimon.report.findings import (
    Band,
    ComponentFinding,
    InteractionFinding,
    Study,
    Variable,
    VariableFinding,
)
from parsimon.statistician.families.gp._kernel_result import KernelResult, model_of, posterior_of
from parsimon.statistician.gallery import Gallery
from parsimon.statistician.time_budget import OutOfTimeError, TimedSteps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    strengths = _strengths(result, parts)
    fitted = fitted and len(parts) <= _MOST_PARTS

    def judged(places: Sequence[int]) -> Candidate:
        if len(places) == len(parts):
            return best
        kernel = join_parts([parts[place] for place in places], constants)
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


def join_parts(parts: Sequence[Kernel], constants: Sequence[Kernel]) -> Kernel:
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


def _strengths(result: KernelResult, parts: Sequence[Kernel]) -> list[float]:
    """Return each part's strength in the full model, in units of the target."""
    posterior = posterior_of(result.search, result.search.best_candidate_)
    rows = result.question.X.to_numpy(dtype=np.float64)
    rows = rows[:: math.ceil(len(rows) / _MOST_ROWS)]
    unit = float(np.std(result.question.y)) if result.question.task == "regression" else 1.0
    return [unit * float(posterior.component_mean(part, rows).std()) for part in parts]


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
        strengths = _strengths(result, [part for _, part in products])
        order = np.argsort(-np.array(strengths), kind="stable")[:_MOST_PARTS]
        products = [products[k] for k in sorted(order)]
    found = []
    for place, part in products:
        others = [*parts[:place], *parts[place + 1 :]]
        known = {structure(other) for other in others}
        factors = separate(part, search.problem_.X)
        added = [factor for factor in factors if structure(factor) not in known]
        kernel = join_parts([*others, *added], constants)
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


def separate(product: Product, X: Array) -> list[Kernel]:
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
    first, *others = (_free(leaf, leaf.variance) for leaf in leaves)
    typical = float(reduce(mul, others, first).diagonal(X).mean())
    return reduce(mul, others, _free(first, first.variance * variance / typical))


def _free(leaf: Any, variance: float) -> Any:
    fixed = tuple(name for name in leaf.fixed if name != "variance")
    return replace(leaf, variance=variance, fixed=fixed)


def variable_findings(
    result: KernelResult, variables: Sequence[Variable], steps: TimedSteps | None = None
) -> tuple[VariableFinding, ...]:
    """Return a finding for each variable, those with the least error first.

    A variable's model is the best of its one-kernel models by the guide of the search. Constant
    columns, and those whose fits all failed or were not reached in time, have none.
    """
    known = {variable.name: variable for variable in variables}
    search, names, steps = result.search, result.question.names, steps or TimedSteps(None)
    found = []
    for column, best in search.history_.best_by_column.items():
        if best.judged_by == "leave-one-out":
            try:
                best = steps(search.judge, best.kernel)
            except OutOfTimeError:
                continue
        if best.judged_by == "cross-validation":
            found.append(_finding(result, column, best, known[names[column]]))
    return tuple(
        sorted(
            found,
            key=lambda finding: (finding.model.error, finding.model.negative_log_evidence),
        )
    )


def band_of(ratio: float) -> Band:
    """Return how much evidence a ratio of errors is, lower edges included.

    He (2016), table 5.2, with half-open bands.
    """
    # A quotient such as 0.08 / 0.1 falls short of the edge by rounding alone.
    edge = round(ratio, 9)
    if edge < 0.25:
        return "strong"
    if edge < 0.8:
        return "some"
    return "little" if edge < 1 else "none"


def _finding(
    result: KernelResult, column: int, best: Candidate, variable: Variable
) -> VariableFinding:
    search = result.search
    baseline = search.baseline_
    ratio = best.error / baseline.error if baseline.error > 0 else math.inf
    return VariableFinding(
        variable=variable,
        model=model_of(best, result.question.names),
        ratio=ratio,
        band=band_of(ratio),
        log_bayes_factor=best.log_evidence - baseline.log_evidence,
        in_model=search.structure_found_ and column in search.best_candidate_.columns,
    )


MOST_CHILDREN = 4
_NAME_LETTERS = 16
# Longer kernels are written with x1, x2, ..., which the caption explains.
_LONGEST = 34
# Characters that stand for themselves alone: none of them can be in a name that is drawn.
_MARKED = re.compile("SE\\(\ue000(\\d+)\ue001\\)|\ue000(\\d+)\ue001")


def draw_search(history: SearchHistory, best: Candidate, names: Sequence[str]) -> "Axes":
    """Draw the way to the best kernel, and the best that was tried at each step of it."""
    nodes = search_nodes(history, best, names)
    said = ""
    if max(len(node.label) for node in nodes) > _LONGEST:
        short = [f"x{place + 1}" for place in range(len(names))]
        nodes = search_nodes(history, best, short)
        drawn = set(re.findall(r"\bx\d+\b", " ".join(node.label for node in nodes)))
        known = zip(short, names, strict=True)
        said = " " + "; ".join(f"{x}: {label(name, 40)}" for x, name in known if x in drawn) + "."
    ax = search_tree(nodes, most_children=len(nodes))
    ax.set_label(
        f"The way to the result (vermilion) among {len(history)} kernels: the {MOST_CHILDREN} best "
        f"of each step, with their cross-validated error.{said}"
    )
    return ax


def search_nodes(history: SearchHistory, best: Candidate, names: Sequence[str]) -> list[SearchNode]:
    """Return the part of a search's tree that can be read: the way and its nearest rivals."""
    way, write = _way(history, best), _ShortKernels(history, names)
    nodes = [
        SearchNode("constant", None, _known(history.baseline.error), on_path=True, best=not way)
    ]
    parent, above = 0, None
    for place in range(len(way) + 1):
        following = _key(way[place]) if place < len(way) else None
        chosen = parent
        for child in _children(history, above, following):
            on_path = _key(child) == following
            chosen = len(nodes) if on_path else chosen
            last = on_path and place + 1 == len(way)
            nodes.append(
                SearchNode(write(child.kernel), parent, _known(child.error), on_path, last)
            )
        parent, above = chosen, following
    return nodes


def _children(
    history: SearchHistory, above: Hashable | None, following: Hashable | None
) -> list[Candidate]:
    """Return the best that grew from a kernel, with the one that the way goes on to."""
    grown = [child for child in history if _parent(child) == above and child.judged_by != "failed"]
    ranked = sorted(grown, key=lambda child: (math.isnan(child.error), child.error))
    return [
        child for k, child in enumerate(ranked) if k < MOST_CHILDREN or _key(child) == following
    ]


def _known(error: float) -> float | None:
    return None if math.isnan(error) else error


def _way(history: SearchHistory, best: Candidate) -> list[Candidate]:
    """Return the candidates from the first level to the best, each the parent of the next."""
    if best is history.baseline:
        return []
    known = {structure(candidate.kernel): candidate for candidate in history}
    way: list[Candidate] = []
    step = known.get(structure(best.kernel))
    while step is not None and step not in way:
        way.append(step)
        step = None if step.parent is None else known.get(structure(step.parent))
    return way[::-1]


def _parent(candidate: Candidate) -> Hashable | None:
    return None if candidate.parent is None else structure(candidate.parent)


def _key(candidate: Candidate) -> Hashable:
    return structure(candidate.kernel)


class _ShortKernels:
    """Writes kernels short: names alone where all base kernels are smooth."""

    def __init__(self, history: SearchHistory, names: Sequence[str]) -> None:
        self.names = [label(name, _NAME_LETTERS).replace(r"\$", "$") for name in names]
        marks = [f"\ue000{place}\ue001" for place in range(len(names))]
        self.marks = marks
        written = [plain(candidate.kernel, marks) for candidate in history]
        self.smooth = not any(re.search(r"[A-Z]", _MARKED.sub("", text)) for text in written)

    def __call__(self, kernel: Kernel) -> str:
        text = plain(kernel, self.marks)

        def named(match: re.Match[str]) -> str:
            whole, bare = match.groups()
            name = self.names[int(whole or bare)]
            return name if self.smooth or whole is None else f"SE({name})"

        return _MARKED.sub(named, text)


def draw_kernels(result: KernelResult, study: Study, gallery: Gallery) -> Study:
    """Hang the way of the search, of a table's only question."""
    if result.question.n_questions > 1:
        return study
    search = result.search
    tree = draw_search(search.history_, search.best_candidate_, result.question.names)
    way = gallery.hang("search", tree, "The way of the search")
    findings = study.search or result.search_findings()
    return replace(study, search=replace(findings, picture=way))
