"""Kernels as plain JSON data and back, bit for bit and without running code."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from parsimon import kernels
from parsimon.exceptions import CheckpointError
from parsimon.kernels import Kernel, Product, Sum
from parsimon.kernels.combination import Combination
from parsimon.kernels.leaf import Leaf, as_leaf

_OPERATORS: dict[str, type[Combination]] = {"sum": Sum, "product": Product}


def kernel_to_data(kernel: Kernel) -> dict[str, Any]:
    """Return a kernel as nested dictionaries of numbers and texts."""
    for name, operator in _OPERATORS.items():
        if isinstance(kernel, operator):
            return {name: [kernel_to_data(term) for term in kernel.terms]}
    leaf: Any = as_leaf(kernel)
    values = {field.name: getattr(leaf, field.name) for field in fields(leaf) if field.init}
    plain = {name: list(own) if isinstance(own, tuple) else own for name, own in values.items()}
    return {"leaf": type(leaf).__name__, **plain}


def kernel_from_data(data: Mapping[str, Any], types: Mapping[str, type[Kernel]]) -> Kernel:
    """Return the kernel that `kernel_to_data` wrote; only leaves of these types are made."""
    for name, operator in _OPERATORS.items():
        if name in data:
            return operator(tuple(kernel_from_data(term, types) for term in data[name]))
    values = {
        name: tuple(own) if isinstance(own, list) else own
        for name, own in data.items()
        if name != "leaf"
    }
    if data.get("leaf") not in types:
        raise CheckpointError(
            f"There is no kernel {data.get('leaf')!r} in this search; name another file."
        )
    return types[data["leaf"]](**values)


def leaf_types(more: Iterable[Kernel] = ()) -> dict[str, type[Kernel]]:
    """Return the leaves of this package by name, and those that occur in `more`."""
    own = (getattr(kernels, name) for name in kernels.__all__)
    types: dict[str, type[Kernel]] = {
        kind.__name__: kind for kind in own if isinstance(kind, type) and issubclass(kind, Leaf)
    }
    for kernel in more:
        if isinstance(kernel, Combination):
            types |= leaf_types(kernel.terms)
        else:
            types[type(kernel).__name__] = type(kernel)
    return types
