"""The neighbours of a kernel: what one more base kernel can make of it."""

from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations

from parsimon.exceptions import InvalidInputError
from parsimon.kernels.base import Kernel
from parsimon.kernels.combination import Combination, Product, Sum
from parsimon.kernels.form import simplify, structure


def expand(
    kernel: Kernel | None,
    base_kernels: Sequence[Kernel],
    *,
    root_only: bool = False,
    tie_variances: bool = True,
) -> tuple[Kernel, ...]:
    """Return every kernel that adds or multiplies one base kernel somewhere in this one.

    The place is any sub-expression: the whole, each operand, and each group of operands of a
    sum or product. Children are simplified and none comes twice; the parent itself is among
    them when a product simplifies back to it. Hyperparameters are kept, so that a child starts
    where its parent was.

    Parameters
    ----------
    kernel : Kernel or None
        The parent; None is the empty kernel, whose children are the base kernels.
    base_kernels : sequence of Kernel
        For instance one `SquaredExponential` for each column.
    root_only : bool, default False
        Combine only with the whole kernel, as the source's text has it (He 2016, section 3.4).
        Two of the five kernels that it publishes cannot be reached that way.
    tie_variances : bool, default True
        As in `canonical`.

    Returns
    -------
    tuple of Kernel
        In a fixed order: sums before products, the whole before its parts, base kernels as
        given.

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential as SE
    >>> [str(child) for child in expand(SE(0), [SE(0), SE(1)])]
    ['SE_1 + SE_1', 'SE_1 + SE_2', 'SE_1', 'SE_1 × SE_2']
    """
    if not base_kernels:
        raise InvalidInputError("expand needs one base kernel or more, got none.")
    children: dict[Hashable, Kernel] = {}
    for candidate in _candidates(kernel, base_kernels, root_only):
        child = simplify(candidate, tie_variances=tie_variances)
        children.setdefault(structure(child), child)
    return tuple(children.values())


def _candidates(
    kernel: Kernel | None, base_kernels: Sequence[Kernel], root_only: bool
) -> Iterator[Kernel]:
    if kernel is None:
        yield from base_kernels
        return
    for operator in (Sum, Product):
        if root_only:
            yield from (operator((kernel, base)) for base in base_kernels)
        else:
            yield from _attached(kernel, operator, base_kernels)


def _attached(
    kernel: Kernel, operator: type[Combination], base_kernels: Sequence[Kernel]
) -> Iterator[Kernel]:
    """Yield the kernel with ``operator`` and a base kernel at each of its sub-expressions."""
    yield from (operator((kernel, base)) for base in base_kernels)
    if not isinstance(kernel, Combination):
        return
    own = type(kernel)
    places = range(len(kernel.terms))
    for size in range(1, len(kernel.terms)):
        for group in combinations(places, size):
            inside = tuple(kernel.terms[place] for place in group)
            outside = tuple(kernel.terms[place] for place in places if place not in group)
            if size == 1:
                changed = _attached(inside[0], operator, base_kernels)
            else:
                changed = (operator((own(inside), base)) for base in base_kernels)
            yield from (own((part, *outside)) for part in changed)
