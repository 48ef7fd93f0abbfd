"""Is a product needed? The best structure beside itself with a sum in the product's place."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import mul
from typing import Any

from parsimon._typing import Array
from parsimon.kernels import Kernel, Product, structure
from parsimon.report.findings import InteractionFinding
from parsimon.statistician.components import joined, split
from parsimon.statistician.models import model_of
from parsimon.statistician.subject import Subject


def interaction_findings(subject: Subject) -> tuple[InteractionFinding, ...]:
    """Return what each product of the best structure gains over the sum of its factors.

    Both are fitted to the same rows and folds. Factors of one variable stay together, so that
    only what joins variables is taken apart; a factor that the structure has as a part of its
    own is not added again.
    """
    search = subject.search
    if not search.structure_found_:
        return ()
    best = search.best_candidate_
    parts, constants = split(best.kernel)
    found = []
    for place, part in enumerate(parts):
        if not isinstance(part, Product) or len(part.columns or ()) < 2:
            continue
        others = [*parts[:place], *parts[place + 1 :]]
        added = _missing(separated(part, search.problem_.X), others)
        additive = search.judge(joined([*others, *added], constants))
        if additive.judged_by == "failed":
            continue
        found.append(
            InteractionFinding(
                variables=tuple(subject.names[column] for column in part.columns or ()),
                additive=model_of(additive, subject.names),
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
