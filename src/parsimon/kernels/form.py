"""Forms of a kernel: canonical, simplified, sum of products, and structure without numbers.

Every function returns a new kernel with the same Gram matrix, but for `expand`, which lists what
one more base kernel can make of a kernel.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import Any

from parsimon.exceptions import InvalidInputError
from parsimon.kernels.base import Kernel
from parsimon.kernels.combination import Combination, Product, Sum, parts
from parsimon.kernels.inner import Constant
from parsimon.kernels.leaf import Leaf, as_leaf
from parsimon.kernels.radial import SquaredExponential


def canonical(kernel: Kernel, *, tie_variances: bool = True) -> Kernel:
    """Return the kernel flat and sorted, so that equal expressions have equal forms.

    Nested sums of sums and products of products are joined; operands are sorted by columns,
    size, structure and values.

    Parameters
    ----------
    kernel : Kernel
        Any expression.
    tie_variances : bool, default True
        Keep one free variance in each product, in its first factor (see `Product`); False
        leaves one in each factor, which data cannot tell apart.

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential as SE
    >>> print(canonical(SE(3) * SE(2) + SE(0)))
    SE_1 + SE_3 × SE_4
    """
    if not isinstance(kernel, Combination):
        return kernel
    terms = [canonical(term, tie_variances=tie_variances) for term in kernel.terms]
    return _combine(type(kernel), terms, tie_variances=tie_variances)


def simplify(kernel: Kernel, *, tie_variances: bool = True) -> Kernel:
    r"""Return the canonical form with fewer leaves, if there is one.

    Squared exponentials on the same columns are multiplied (their :math:`1/\ell^2` add),
    constants are added, and a constant factor goes into the variance of what it multiplies.
    Squared exponentials are not added: two lengthscales are not one.

    A merged hyperparameter is fixed only if all its parts were.

    Examples
    --------
    >>> from parsimon.kernels import Constant, SquaredExponential as SE
    >>> print(simplify(SE(0) * SE(0) + Constant(1.0) + Constant(2.0)))
    C + SE_1
    >>> print(simplify(SE(0) + SE(0)))
    SE_1 + SE_1
    """
    if not isinstance(kernel, Combination):
        return kernel
    terms = [simplify(term, tie_variances=tie_variances) for term in kernel.terms]
    flat = [part for term in terms for part in _flat(type(kernel), term)]
    merged = _merge_sum(flat) if isinstance(kernel, Sum) else _merge_product(flat)
    if len(merged) > 1:
        return _combine(type(kernel), merged, tie_variances=tie_variances)
    # A sum that absorbed a constant may hold products that are not sorted any more.
    return canonical(merged[0], tie_variances=tie_variances)


def sum_of_products(kernel: Kernel) -> tuple[Kernel, ...]:
    """Return the summands after multiplying out: leaves, or products of leaves.

    Each is simplified; the sum of their Gram matrices is that of the kernel. Equal structures
    stay apart.
    """
    summands = (_multiply(factors) for factors in _distribute(kernel))
    return tuple(sorted((simplify(summand) for summand in summands), key=sort_key))


def structure(kernel: Kernel) -> Hashable:
    """Return what is left of the canonical form without its numbers, to compare and to hash.

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential as SE
    >>> structure(SE(0, lengthscale=2.0) + SE(1)) == structure(SE(1) + SE(0))
    True
    """
    if isinstance(kernel, Combination):
        operator = type(kernel)
        inner = sorted((structure(part) for part in _flat(operator, kernel)), key=repr)
        return (operator.__name__, *inner)
    leaf = as_leaf(kernel)
    settings = tuple(getattr(leaf, name) for name in leaf.settings)
    shared = tuple(not isinstance(getattr(leaf, name), tuple) for name in leaf.several)
    return (type(leaf).__name__, leaf.columns, settings, shared)


def n_base(kernel: Kernel) -> int:
    """Return the number of leaves."""
    if isinstance(kernel, Combination):
        return sum(n_base(term) for term in kernel.terms)
    return 1


def sort_key(kernel: Kernel) -> tuple[Any, ...]:
    """Return the key that canonical forms are sorted by.

    Columns come first, so that a sum reads in the order of the table; numbers come last.
    """
    # repr, since structures nest texts and tuples, which do not compare.
    return (_columns_key(kernel), n_base(kernel), repr(structure(kernel)), _values(kernel))


def _columns_key(kernel: Kernel) -> tuple[int, ...]:
    return (-1,) if kernel.columns is None else tuple(kernel.columns)


def _factor_key(kernel: Kernel) -> tuple[Any, ...]:
    # The scale of a factor moves to the first one, and must not decide which is first.
    freed = kernel.with_scale(free=True) if kernel.can_carry_scale else kernel
    return sort_key(freed.rescaled(1.0, freed.own_scale))


def _flat(operator: type[Combination], kernel: Kernel) -> Iterator[Kernel]:
    """Yield the operands, looking through operands of the same operator."""
    for part in parts(operator, kernel):
        if isinstance(part, operator):
            yield from _flat(operator, part)
        else:
            yield part


def _values(kernel: Kernel) -> tuple[Any, ...]:
    if isinstance(kernel, Combination):
        return tuple(map(_values, kernel.terms))
    leaf = as_leaf(kernel)
    names = (*leaf.hyperparameters, *(name for name in ("centre", "offset") if hasattr(leaf, name)))
    return (*(leaf.numbers(name) for name in names), leaf.fixed)


def _combine(
    operator: type[Combination], terms: Iterable[Kernel], *, tie_variances: bool
) -> Kernel:
    """Join, sort and tie terms that are canonical themselves."""
    flat = [part for term in terms for part in parts(operator, term)]
    if operator is Sum:
        return Sum(tuple(sorted(flat, key=sort_key)))
    joined = Product(tuple(sorted(flat, key=_factor_key)))
    return joined.tied() if tie_variances else joined


def _merge_sum(terms: list[Kernel]) -> list[Kernel]:
    constants = [term for term in terms if isinstance(term, Constant)]
    if len(constants) < 2:
        return terms
    total = sum(constant.variance for constant in constants)
    merged = Constant(total, fixed=_fixed_by_all(constants, "variance"))
    return [merged, *(term for term in terms if not isinstance(term, Constant))]


def _merge_product(factors: list[Kernel]) -> list[Kernel]:
    alike: dict[Hashable, list[SquaredExponential]] = defaultdict(list)
    others: list[Kernel] = []
    constants: list[Constant] = []
    for factor in factors:
        if isinstance(factor, Constant):
            constants.append(factor)
        elif isinstance(factor, SquaredExponential):
            alike[factor.columns].append(factor)
        else:
            others.append(factor)
    merged: list[Kernel] = [_merge_exponentials(group) for group in alike.values()]
    merged += others
    if constants:
        total = Constant(
            math.prod(constant.variance for constant in constants),
            fixed=_fixed_by_all(constants, "variance"),
        )
        merged = _absorb(total, merged)
    return merged


def _absorb(constant: Constant, factors: list[Kernel]) -> list[Kernel]:
    """Multiply one of the factors by a constant, if that says the same."""
    able = [place for place, factor in enumerate(factors) if factor.can_carry_scale]
    if not able:
        return [constant, *factors]
    changed = factors[able[0]].rescaled(constant.variance)
    if constant.scale_is_free:
        changed = changed.with_scale(free=True)
    return [*factors[: able[0]], changed, *factors[able[0] + 1 :]]


def _merge_exponentials(group: list[SquaredExponential]) -> SquaredExponential:
    first = group[0]
    if len(group) == 1:
        return first
    n_lengths = max(len(factor.numbers("lengthscale")) for factor in group)
    lengths = []
    for place in range(n_lengths):
        numbers = [factor.numbers("lengthscale") for factor in group]
        chosen = [own[place] if len(own) > 1 else own[0] for own in numbers]
        lengths.append(sum(length**-2 for length in chosen) ** -0.5)
    several = any(isinstance(factor.lengthscale, tuple) for factor in group)
    variance = math.prod(factor.variance for factor in group)
    return SquaredExponential(
        first.columns,
        lengthscale=tuple(lengths) if several else lengths[0],
        variance=variance,
        fixed=_fixed_by_all(group, "lengthscale") + _fixed_by_all(group, "variance"),
    )


def _fixed_by_all(leaves: Iterable[Leaf], name: str) -> tuple[str, ...]:
    return (name,) if all(name in leaf.fixed for leaf in leaves) else ()


def _distribute(kernel: Kernel) -> list[tuple[Kernel, ...]]:
    """Return the summands, each as its factors."""
    if isinstance(kernel, Sum):
        return [factors for term in kernel.terms for factors in _distribute(term)]
    if isinstance(kernel, Product):
        choices = product(*(_distribute(term) for term in kernel.terms))
        return [sum(choice, ()) for choice in choices]
    return [(kernel,)]


def _multiply(factors: tuple[Kernel, ...]) -> Kernel:
    return factors[0] if len(factors) == 1 else Product(factors)


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
