"""A kernel in words: plain text, speech, one word, and names of hyperparameters.

Columns are numbered from 1, as in print; give `names` to write the names of a table instead.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from parsimon.exceptions import InvalidInputError
from parsimon.kernels.base import Kernel
from parsimon.kernels.combination import Combination, Product, Sum
from parsimon.kernels.form import sum_of_products
from parsimon.kernels.leaf import Leaf, as_leaf

Names = Sequence[str] | None


def plain(kernel: Kernel, names: Names = None) -> str:
    """Return the expression as text, with parentheses only round a sum inside a product.

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential as SE
    >>> plain(SE(0) + SE(2) * SE(3))
    'SE_1 + SE_3 × SE_4'
    >>> plain(SE(0) * (SE(1) + SE(2)), names=["glucose", "BMI", "age"])
    'SE(glucose) × (SE(BMI) + SE(age))'
    """

    def write(leaf: Leaf) -> str:
        if not leaf.columns:
            return leaf.symbol
        columns = _column_names(leaf, names, "{}")
        if names is None:
            return f"{leaf.symbol}_{','.join(columns)}"
        return f"{leaf.symbol}({', '.join(columns)})"

    return _expression(kernel, write)


def spoken(kernel: Kernel, names: Names = None) -> str:
    """Say in plain English which variables act alone and which together.

    The kernel is multiplied out first, so that each phrase stands for one additive part. What
    is not smooth is named: linear, periodic, and so on.

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential as SE
    >>> spoken(SE(0) + SE(1) * SE(2), names=["glucose", "pedigree", "age"])
    'glucose alone, plus an interaction of pedigree and age'
    >>> spoken(SE(0) * (SE(1) + SE(2)))
    'an interaction of variable 1 and variable 2, plus an interaction of variable 1 and variable 3'
    """
    phrases = Counter(_phrase(term, names) for term in sum_of_products(kernel))
    return ", plus ".join(
        phrase if count == 1 else f"{phrase} ({count} terms)" for phrase, count in phrases.items()
    )


def kind(kernel: Kernel) -> str:
    """Return one word: smooth, periodic, linear, constant, ..., additive or interaction.

    Examples
    --------
    >>> from parsimon.kernels import Periodic, SquaredExponential as SE
    >>> kind(Periodic(0)), kind(SE(0) + SE(1)), kind(SE(0) * SE(1))
    ('periodic', 'additive', 'interaction')
    """
    if isinstance(kernel, Sum):
        return "additive"
    if isinstance(kernel, Product):
        return "interaction"
    return as_leaf(kernel).kind


def name_theta(kernel: Kernel, names: Names = None) -> tuple[str, ...]:
    """Return what each entry of `theta` is, no two alike."""
    seen: Counter[str] = Counter()
    unique = []
    for name in _theta_names(kernel, names, None):
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(unique)


def _expression(kernel: Kernel, write: Callable[[Leaf], str]) -> str:
    if not isinstance(kernel, Combination):
        return write(as_leaf(kernel))
    texts = [_expression(term, write) for term in kernel.terms]
    if isinstance(kernel, Sum):
        return " + ".join(texts)
    return " × ".join(
        f"({text})" if isinstance(term, Sum) else text
        for text, term in zip(texts, kernel.terms, strict=True)
    )


def _phrase(term: Kernel, names: Names) -> str:
    """Describe a leaf or a product of leaves."""
    leaves = [as_leaf(part) for part in (term.terms if isinstance(term, Product) else (term,))]
    variables: dict[str, list[str]] = {}
    for leaf in leaves:
        for name in _column_names(leaf, names, "variable {}"):
            kinds = variables.setdefault(name, [])
            if leaf.kind not in kinds:
                kinds.append(leaf.kind)
    if not variables:
        return "a constant"
    described = [
        name if kinds == ["smooth"] else f"{name} ({' and '.join(kinds)})"
        for name, kinds in variables.items()
    ]
    if len(described) > 1:
        return f"an interaction of {', '.join(described[:-1])} and {described[-1]}"
    alone = "together" if term.columns is None else "alone"
    return f"{described[0]} {alone}"


def _theta_names(kernel: Kernel, names: Names, scope: str | None) -> Iterator[str]:
    if isinstance(kernel, Sum):
        for term in kernel.terms:
            yield from _theta_names(term, names, None)
        return
    if isinstance(kernel, Product):
        whole = _expression(kernel, lambda leaf: _label(leaf, names))
        free = [term for term in kernel.terms if term.scale_is_free]
        for term in kernel.terms:
            # The variance of the one factor that has one is the variance of the product.
            yield from _theta_names(term, names, whole if free == [term] else None)
        return
    leaf = as_leaf(kernel)
    for name in leaf.free:
        numbers = leaf.numbers(name)
        if name == "variance" and scope is not None:
            yield f"variance of {scope}"
        elif len(numbers) == 1 or name not in leaf.per_column:
            yield from (f"{_word(leaf, name)} of {_label(leaf, names)}" for _ in numbers)
        else:
            labels = _labels(leaf, names, len(numbers))
            yield from (f"{_word(leaf, name)} of {label}" for label in labels)


def _word(leaf: Leaf, name: str) -> str:
    shared = name in {"lengthscale", "variance", "width", "scale", "offset", "degree"}
    plainest = leaf.kind in {"smooth", "constant"}
    return f"{leaf.kind} {name}" if shared and not plainest else name.removesuffix("s")


def _label(leaf: Leaf, names: Names) -> str:
    if leaf.columns == ():
        return "the constant"
    return ", ".join(_column_names(leaf, names, "x{}")) or "all variables"


def _labels(leaf: Leaf, names: Names, n_columns: int) -> list[str]:
    columns = range(n_columns) if leaf.columns is None else leaf.columns
    return [_column_name(column, names, "x{}") for column in columns]


def _column_names(leaf: Leaf, names: Names, unnamed: str) -> list[str]:
    if leaf.columns is None:
        return ["all variables"]
    return [_column_name(column, names, unnamed) for column in leaf.columns]


def _column_name(column: int, names: Names, unnamed: str) -> str:
    if names is None:
        return unnamed.format(column + 1)
    if column >= len(names):
        raise InvalidInputError(
            f"The kernel uses column {column} (counted from 0), but only {len(names)} names "
            "were given."
        )
    return str(names[column])
