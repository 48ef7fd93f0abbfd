"""Which kernels a search may try: base kernels for each column, and how one grows from another.

Periodic kernels begin at the `likely_period` of their column.
"""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, mul
from typing import Any, Literal, TypeAlias

import numpy as np

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.gp._default_kernel import varying_columns
from parsimon.kernels import (
    Constant,
    Kernel,
    Linear,
    Matern,
    Periodic,
    RationalQuadratic,
    SquaredExponential,
    expand,
    structure,
)
from parsimon.kernels.combination import Combination, Sum
from parsimon.structures.blocks import likely_period
from parsimon.structures.posterior import StructurePosterior

Growth: TypeAlias = Literal["all", "likely", "supported", "new_columns"]
GROWTHS = ("all", "likely", "supported", "new_columns")
# Variables that matter with less probability than the first do not join larger kernels if only
# likely ones are asked for, and of the others the most probable do, so many of them.
_LIKELY = 0.1
_MOST_LIKELY = 8

_NAMED: dict[str, Kernel] = {
    "se": SquaredExponential(),
    "per": Periodic(),
    "lin": Linear(),
    "matern": Matern(),
    "rq": RationalQuadratic(),
}


@dataclass(frozen=True)
class Grammar:
    """Base kernels, and the rules by which one more of them joins a kernel.

    base: From `base_kernels`.
    joining: Those of them that join another kernel; None for all.
    new_columns: Keep at depth d only the kernels that act on d columns or more (the source's
        program does so, its text does not say it).
    """

    base: tuple[Kernel, ...]
    new_columns: bool = False
    joining: tuple[Kernel, ...] | None = None

    def children(self, kernel: Kernel | None, depth: int) -> tuple[Kernel, ...]:
        """Return the kernels one step from `kernel`; None stands for the empty kernel."""
        base = self.base if kernel is None or self.joining is None else self.joining
        if not base:
            return ()
        grown = expand(kernel, base)
        if not self.new_columns:
            return grown
        return tuple(child for child in grown if len(active_columns(child, self.base)) >= depth)


def grammar_of(base: tuple[Kernel, ...], structures: StructurePosterior, grow: Growth) -> Grammar:
    """Return the grammar in which kernels are made of all columns, of likely or supported ones."""
    if grow in ("all", "new_columns"):
        return Grammar(base, new_columns=grow == "new_columns")
    if grow == "supported":
        return Grammar(_about(base, structures.supported_columns))
    chances = structures.variables
    order = np.argsort(-chances, kind="stable")[:_MOST_LIKELY]
    order = order[chances[order] >= _LIKELY]
    likely = {column for variable in order for column in structures.groups[variable]}
    return Grammar(base, joining=_about(base, likely))


def _about(base: tuple[Kernel, ...], columns: Collection[int]) -> tuple[Kernel, ...]:
    """Return the base kernels that see nothing but some columns."""
    return tuple(
        kernel for kernel in base if kernel.columns and set(kernel.columns) <= set(columns)
    )


def active_columns(kernel: Kernel, base: Sequence[Kernel] = ()) -> tuple[int, ...]:
    """Return the columns that a kernel sees; one that sees all has those of the base kernels."""
    if kernel.columns is not None:
        return tuple(kernel.columns)
    return tuple(sorted({column for other in base for column in other.columns or ()}))


def base_kernels(base: Any, X: Array, *, intercept: bool = True) -> tuple[Kernel, ...]:
    """Return one base kernel for each kind and column, started at values from the data.

    Shapes: X (n, d).
    """
    columns = varying_columns(X)
    found: list[Kernel] = []
    for pattern in _patterns(base):
        if pattern.columns is not None:
            found.append(pattern)
            continue
        own = (_on_column(pattern, column, X, intercept=intercept) for column in columns)
        found += [kernel.start(X) for kernel in own]
    return tuple(found)


def _patterns(base: Any) -> list[Kernel]:
    given = [base] if isinstance(base, (str, Kernel)) else list(base)
    if not given:
        raise InvalidInputError("base must name one base kernel or more, got none.")
    patterns: list[Kernel] = []
    for item in given:
        kernel = _NAMED.get(item.lower()) if isinstance(item, str) else item
        if not isinstance(kernel, Kernel):
            raise InvalidInputError(
                f"A base kernel is one of {', '.join(_NAMED)} or a kernel, got {item!r}."
            )
        if not kernel.is_psd:
            raise InvalidInputError(
                f"The base kernel {kernel} is not positive semi-definite, so that no Gaussian "
                "process has it as its covariance. Leave it out."
            )
        patterns.append(kernel)
    return patterns


def _on_column(pattern: Kernel, column: int, X: Array, *, intercept: bool) -> Kernel:
    if hasattr(pattern, "terms"):
        raise InvalidInputError(
            f"The base kernel {pattern} is a combination without columns; give its parts, or "
            "columns to each of them."
        )
    leaf: Any = pattern
    if not isinstance(pattern, Linear):
        return replace(leaf, columns=(column,))
    # A line that the user centred keeps its centre.
    centre = pattern.centre if pattern.centre != 0.0 else float(X[:, column].mean())
    line: Kernel = replace(leaf, columns=(column,), centre=centre)
    return Constant() + line if intercept else line


def with_likely_periods(
    kernels: tuple[Kernel, ...], X: Array, y: Array, *, given: Any = ()
) -> tuple[Kernel, ...]:
    """Return the kernels; the periodic ones of a single column begin at its likely period.

    Shapes: X (n, d), y (n,).
    """
    own = [given] if isinstance(given, (str, Kernel)) else list(given)
    found: list[Kernel] = []
    for kernel in kernels:
        asked = any(kernel is other for other in own)
        if isinstance(kernel, Periodic) and len(kernel.columns or ()) == 1 and not asked:
            period = likely_period(X[:, kernel.columns[0]], y)
            kernel = kernel if period is None else replace(kernel, period=period)
        found.append(kernel)
    return tuple(found)


def with_claimed_waves(
    base: tuple[Kernel, ...], structures: StructurePosterior, X: Array, y: Array
) -> tuple[Kernel, ...]:
    """Return the base kernels, and a periodic one for each column of which waves are claimed.

    Without it a page would claim a pattern that no model on it can have.

    Shapes: X (n, d), y (n,).
    """
    shapes = structures.supported.shapes
    wavy = [variable for variable, shape in shapes if shape == "periodic"]
    waves = {column for variable in wavy for column in structures.groups[variable]}
    have = {kernel.columns for kernel in base if isinstance(kernel, Periodic)}
    seen = {kernel.columns for kernel in base}
    new = tuple(
        replace(Periodic(), columns=(column,)).start(X)
        for column in sorted(waves)
        if (column,) in seen and (column,) not in have
    )
    return (*base, *with_likely_periods(new, X, y))


def awaken(kernel: Kernel, base: Sequence[Kernel], X: Array, least: float) -> Kernel:
    """Return a kernel in which every term with less variance than `least` begins anew.

    A column that says nothing alone is fitted with next to no variance. The slope of the evidence
    vanishes with the variance, so that what grew from there would stay without: such a term
    begins as `base` has it.

    Shapes: X (n, d).
    """
    begun = {structure(leaf): leaf for other in base for leaf in _leaves(other)}
    terms = kernel.terms if isinstance(kernel, Sum) else (kernel,)
    found = tuple(
        _begun(term, begun) if float(np.mean(term.diagonal(X))) < least else term for term in terms
    )
    return Sum(found) if isinstance(kernel, Sum) else found[0]


def _begun(kernel: Kernel, begun: Mapping[Hashable, Kernel]) -> Kernel:
    """Return a kernel with the numbers that its leaves begin with; what is fixed stays."""
    if isinstance(kernel, Combination):
        return type(kernel)(tuple(_begun(term, begun) for term in kernel.terms))
    leaf: Any = kernel
    known = begun.get(structure(kernel))
    if known is None:
        return kernel
    return leaf.replaced(**{name: getattr(known, name) for name in leaf.free})


def _leaves(kernel: Kernel) -> Iterator[Kernel]:
    """Yield the leaves of a kernel that see a column."""
    for term in kernel.terms if isinstance(kernel, Combination) else ():
        yield from _leaves(term)
    if not isinstance(kernel, Combination | Constant):
        yield kernel


def supported_kernels(
    structures: StructurePosterior, leaves: Mapping[int, Kernel], factors: Mapping[int, Kernel]
) -> tuple[Kernel, ...]:
    """Return the kernel of what is more probable than not, then the one with sums for products.

    Variables that interact are a product, any other variable a term of its own; a variable of
    several columns is a sum over them. No kernel if nothing is supported.

    leaves: A base kernel for each column, fitted to it alone.
    factors: The same where fits begin, for products: a column that says nothing alone has next to
        no variance there, and a product that begins with none stays without.
    """
    supported = structures.supported

    def term(variable: int, known: Mapping[int, Kernel]) -> Kernel | None:
        own = [known[column] for column in structures.groups[variable] if column in known]
        return reduce(add, own) if own else None

    alone = [term(variable, leaves) for variable in sorted(supported.variables - supported.joined)]
    joins = [[term(variable, factors) for variable in join] for join in sorted(supported.joins)]
    products = [reduce(mul, filter(None, parts)) for parts in joins if all(parts)]
    found = [*(kernel for kernel in alone if kernel), *products]
    if not found:
        return ()
    if not products:
        return (reduce(add, found),)
    terms = [term(variable, leaves) for variable in sorted(supported.variables)]
    return reduce(add, found), reduce(add, [kernel for kernel in terms if kernel])
