"""Method trees: how a number is computed from a series, as values that print, parse and compare.

Read `MethodTree` first. A tree is a chain of steps; a windowing step holds a chain of its own that
is applied to every window (Mierswa, 2009, Def. 7.14 and 7.15). `parse_tree` reads what printing
writes.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from parsimon._checks import did_you_mean
from parsimon._received import DEEPEST
from parsimon.exceptions import InvalidInputError
from parsimon.features.series.tree_methods import METHODS, Method

_CHOICES = {
    ("weights", "shape"): (
        *("bartlett", "hanning", "hamming", "blackman", "blackman_harris"),
        *("linear", "exponential"),
    ),
    ("bands", "scale"): ("mel", "bark", "erb"),
    ("peak", "what"): ("height", "place", "width"),
    ("segments", "by"): ("direction", "level"),
}
# With brackets for braces, the text of a tree is an expression of Python.
_NO_TEXT_OF_A_TREE = re.compile(r"[^\w\s.>(){},=\[\]+-]")
_AS_PYTHON = str.maketrans("{}\n\r\t", "[]   ")


@dataclass(frozen=True)
class TreeStep:
    """One step of a method tree.

    Parameters
    ----------
    name : str
        A method of the catalogue.
    options : tuple
        Their values, in the catalogue's order, all of them.
    inside : tuple of TreeStep
        For windowing: the chain that is applied to each window.
    """

    name: str
    options: tuple[Any, ...] = ()
    inside: tuple["TreeStep", ...] = ()

    @property
    def method(self) -> Method:
        """The method of the catalogue."""
        return METHODS[self.name]

    def __str__(self) -> str:
        given = list(self.options)
        defaults = list(self.method.options.values())
        while given and given[-1] == defaults[len(given) - 1]:
            given.pop()
        text = self.name + (f"({', '.join(map(_write_value, given))})" if given else "")
        return text + (f"{{{_chain_text(self.inside)}}}" if self.inside else "")


def step(name: str, *options: Any, inside: Sequence[TreeStep] = (), **named: Any) -> TreeStep:
    """Return a step of a method tree, its options checked and completed.

    Parameters
    ----------
    name : str
        A method, such as "difference".
    *options, **named
        By place or by name; what is left out has its default.
    inside : sequence of TreeStep
        For windowing: the chain for each window.

    Examples
    --------
    >>> print(step("windows", 0.1, inside=[step("spectrum"), step("place_of_maximum")]))
    windows{spectrum > place_of_maximum}
    """
    if name not in METHODS:
        raise InvalidInputError(f"There is no method {name!r}.{did_you_mean(name, METHODS)}")
    method = METHODS[name]
    if len(options) > len(method.options):
        raise InvalidInputError(
            f"{name} has {len(method.options)} options, got {len(options)}; give no more."
        )
    values = dict(zip(method.options, options, strict=False))
    for key, value in named.items():
        if key not in method.options or key in values:
            raise InvalidInputError(
                f"{name} has the options {list(method.options)}, each once; got {key!r}."
            )
        values[key] = value
    found = tuple(
        _check_option(name, key, values.get(key, default))
        for key, default in method.options.items()
    )
    if bool(inside) != (method.kind == "windowing"):
        raise InvalidInputError(
            f"{name} {'needs' if method.kind == 'windowing' else 'takes no'} steps in braces."
        )
    return TreeStep(name, found, tuple(inside))


def _check_option(name: str, key: str, value: Any) -> Any:
    """Return an option of the type and in the range of the catalogue."""
    default = METHODS[name].options[key]
    if isinstance(default, str):
        allowed = _CHOICES[name, key]
        if value not in allowed:
            raise InvalidInputError(
                f"{key} of {name} must be one of {list(allowed)}, got {value!r}."
            )
        return str(value)
    if isinstance(default, tuple):
        numbers = tuple(float(number) for number in value)
        if len(numbers) < 2:
            raise InvalidInputError(
                f"{key} of {name} must have two numbers or more, got {value!r}."
            )
        return numbers
    if isinstance(value, bool | str) or not float("-inf") < float(value) < float("inf"):
        raise InvalidInputError(f"{key} of {name} must be a number, got {value!r}.")
    if isinstance(default, int):
        least = 1 if default else 0
        if int(value) != value or value < least:
            raise InvalidInputError(
                f"{key} of {name} must be a whole number of at least {least}, got {value!r}."
            )
        return int(value)
    low, high = _RANGES.get(key, (0.0, float("inf")))
    if not low <= value <= high:
        raise InvalidInputError(
            f"{key} of {name} must be between {low:g} and {high:g}, got {value:g}."
        )
    return float(value)


_RANGES = {
    **dict.fromkeys(("begin", "end", "share", "lag", "factor"), (0.0, 1.0)),
    **dict.fromkeys(("low", "high"), (0.0, 0.5)),
    "overlap": (1.0, float("inf")),
}


class MethodTree:
    """A way to compute a number from a series: transformations, windows and a function.

    Made by `parse_tree` or from steps. It never changes; trees that are written alike
    are equal. Shares (of intervals, windows and lags) refer to the length of what a step is given,
    so that a tree means the same for series of any length.

    Parameters
    ----------
    steps : sequence of TreeStep
        Transformations and windowings, then a function.

    Attributes
    ----------
    steps : tuple of TreeStep
    size : int
        Steps, those inside windows included.
    depth : int
        How deep windowings are nested.

    Examples
    --------
    >>> tree = parse_tree("windows(0.1){spectrum > place_of_maximum} > mean")
    >>> tree.size, tree.depth
    (4, 1)
    >>> print(tree.words())
    the mean of the strongest frequency in windows of a tenth of the series
    >>> tree == parse_tree(str(tree))
    True
    """

    __slots__ = ("_text", "steps")
    steps: tuple[TreeStep, ...]
    _text: str

    def __init__(self, steps: Sequence[TreeStep]) -> None:
        kept = tuple(
            each for each in steps if (each.name, each.options) != ("interval", (0.0, 1.0))
        )
        _check_chain(kept, is_whole=True)
        object.__setattr__(self, "steps", kept)
        object.__setattr__(self, "_text", _chain_text(kept))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"A tree never changes; build another instead of setting {name}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return MethodTree, (self.steps,)

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, MethodTree) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"parse_tree({self._text!r})"

    @property
    def size(self) -> int:
        """Steps, those inside windows included."""
        return sum(1 for _ in every_step(self.steps))

    @property
    def depth(self) -> int:
        """How deep windowings are nested."""
        return _depth(self.steps)

    def words(self) -> str:
        """Return the tree in words."""
        from parsimon.features.series.tree_display import tree_words

        return tree_words(self)


def every_step(steps: Sequence[TreeStep]) -> Iterator[TreeStep]:
    """Yield the steps of a chain, and those inside windows after each."""
    for each in steps:
        yield each
        yield from every_step(each.inside)


def _depth(steps: Sequence[TreeStep]) -> int:
    return max((1 + _depth(each.inside) for each in steps if each.inside), default=0)


def _check_chain(steps: Sequence[TreeStep], *, is_whole: bool, overlap: float = 2.0) -> None:
    """Refuse a chain that is not transformations, then a function."""
    kinds = [each.method.kind for each in steps]
    pieces = not is_whole and overlap == 1.0 and kinds and "function" not in kinds
    if (not pieces and kinds.count("function") != 1) or (not pieces and kinds[-1] != "function"):
        raise InvalidInputError(
            f"A chain is transformations and then one function, got {_chain_text(steps)!r}; end it "
            "with a function such as mean."
        )
    for place, each in enumerate(steps):
        if each.name == "channel" and (place or not is_whole):
            raise InvalidInputError("channel can only be the first step of a tree; move it there.")
        if each.inside:
            own = float(each.options[1]) if each.name == "windows" else 2.0
            _check_chain(each.inside, is_whole=False, overlap=own)


def _write_value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_write_value, value))}]"
    if isinstance(value, float):
        return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    return str(value)


def _chain_text(steps: Sequence[TreeStep]) -> str:
    return " > ".join(map(str, steps))


def parse_tree(text: str) -> MethodTree:
    """Return the tree that a text means.

    Parameters
    ----------
    text : str
        Steps with ``>`` between them; options in parentheses, by place or by name; what windows
        hold in braces: ``"windows(0.1, overlap=2){spectrum > place_of_maximum} > mean"``.

    Returns
    -------
    MethodTree
        ``parse_tree(str(tree)) == tree`` for every tree.

    Examples
    --------
    >>> parse_tree("difference > interval(0.25, 0.5) > mean").words()
    'the mean of the steps from 25 % to 50 % of the series'
    """
    strange = _NO_TEXT_OF_A_TREE.search(text)
    if strange is not None:
        raise InvalidInputError(f"{text[strange.start() :][:20]!r} cannot be read in {text!r}.")
    opened = ((sign in "{[(") - (sign in "}])") for sign in text)
    depth = max(accumulate(opened), default=0)
    if depth > DEEPEST:
        raise InvalidInputError(
            f"This tree is nested {depth} levels deep, and {DEEPEST} are read; write less into it."
        )
    try:
        read = ast.parse(text.translate(_AS_PYTHON).strip(), mode="eval")
    except (SyntaxError, RecursionError, MemoryError) as error:
        rest = text.strip()[(getattr(error, "offset", None) or 1) - 1 :]
        raise InvalidInputError(f"{rest[:20]!r} cannot be read in {text[:60]!r}.") from error
    return MethodTree(_read_chain(read.body))


def _read_chain(node: ast.expr) -> list[TreeStep]:
    """Return the steps of ``first > second > last``."""
    if not isinstance(node, ast.Compare):
        return [_read_step(node)]
    if not all(isinstance(sign, ast.Gt) for sign in node.ops):
        raise _unreadable(node)
    return [_read_step(each) for each in (node.left, *node.comparators)]


def _read_step(node: ast.expr) -> TreeStep:
    """Return the step of ``name``, ``name(options)`` or ``name(options)[chain]``."""
    inside: list[TreeStep] = []
    if isinstance(node, ast.Subscript):
        inside, node = _read_chain(node.slice), node.value
    options, named = (), dict[str, Any]()
    if isinstance(node, ast.Call):
        options = tuple(map(_read_value, node.args))
        named = {str(each.arg): _read_value(each.value) for each in node.keywords}
        node = node.func
    if not isinstance(node, ast.Name):
        raise _unreadable(node)
    return step(node.id, *options, inside=inside, **named)


def _read_value(node: ast.expr) -> Any:
    """Return an option: a word, a number or a list of numbers."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.List):
        return [_read_value(each) for each in node.elts]
    is_negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    number = node.operand if isinstance(node, ast.UnaryOp) else node
    if isinstance(number, ast.Constant) and isinstance(number.value, int | float):
        return -number.value if is_negative else number.value
    raise _unreadable(node)


def _unreadable(node: ast.expr) -> InvalidInputError:
    return InvalidInputError(
        f"{ast.unparse(node)!r} is no step of a tree; write it as parse_tree says."
    )
