"""Method trees: how a number is computed from a series, as values that print, parse and compare.

Read `MethodTree` first. A tree is a chain of steps; a windowing step holds a chain of its own that
is applied to every window (Mierswa, 2009, Def. 7.14 and 7.15). `parse_tree` reads what printing
writes; `tree_json` and `tree_xml` write two other forms, and `read_tree` reads any of the three.
"""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from parsimon._checks import did_you_mean
from parsimon._received import DEEPEST, read_json
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
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>[>(){},=\[\]]))"
)


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
        text = self.name + (f"({', '.join(map(_written, given))})" if given else "")
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
        _checked(name, key, values.get(key, default)) for key, default in method.options.items()
    )
    if bool(inside) != (method.kind == "windowing"):
        raise InvalidInputError(
            f"{name} {'needs' if method.kind == 'windowing' else 'takes no'} steps in braces."
        )
    return TreeStep(name, found, tuple(inside))


def _checked(name: str, key: str, value: Any) -> Any:
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
    return _in_range(name, key, float(value))


_RANGES = {
    "begin": (0.0, 1.0),
    "end": (0.0, 1.0),
    "share": (0.0, 1.0),
    "lag": (0.0, 1.0),
    "factor": (0.0, 1.0),
    "low": (0.0, 0.5),
    "high": (0.0, 0.5),
    "overlap": (1.0, float("inf")),
}


def _in_range(name: str, key: str, value: float) -> float:
    low, high = _RANGES.get(key, (0.0, float("inf")))
    if not low <= value <= high:
        raise InvalidInputError(
            f"{key} of {name} must be between {low:g} and {high:g}, got {value:g}."
        )
    return value


class MethodTree:
    """A way to compute a number from a series: transformations, windows and a function.

    Made by `parse_tree`, `read_tree` or from steps. It never changes; trees that are written alike
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
    level : int
        1 for a function alone, 2 for a chain, 2 + `depth` with windows (section 7.3.1).

    Examples
    --------
    >>> tree = parse_tree("windows(0.1){spectrum > place_of_maximum} > mean")
    >>> tree.size, tree.depth, tree.level
    (4, 1, 3)
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

    @property
    def level(self) -> int:
        """The level at which the source grows such a tree."""
        return 2 + self.depth if self.depth else min(len(self.steps), 2)

    def words(self) -> str:
        """Return the tree in words."""
        from parsimon.features.series.tree_words import tree_words

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


# Text


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
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
    tokens = _tokens(text)
    opened = ((sign in ("{", "[")) - (sign in ("}", "]")) for _, sign in reversed(tokens))
    _check_depth(max(accumulate(opened), default=0))
    steps = _read_chain(tokens)
    if tokens:
        raise InvalidInputError(
            f"{text!r} goes on with {tokens[-1][1]!r} after its end; remove it."
        )
    return MethodTree(steps)


def _tokens(text: str) -> list[tuple[str, str]]:
    """Return the pieces of a text, the first last."""
    found, at = [], 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise InvalidInputError(f"{text[at:].strip()[:20]!r} cannot be read in {text!r}.")
        found.append((str(match.lastgroup), match[str(match.lastgroup)]))
        at = match.end()
    return found[::-1]


def _check_depth(depth: int) -> None:
    if depth > DEEPEST:
        raise InvalidInputError(
            f"This tree is nested {depth} levels deep, and {DEEPEST} are read; write less into it."
        )


def _read_chain(tokens: list[tuple[str, str]]) -> list[TreeStep]:
    steps = [_read_step(tokens)]
    while tokens and tokens[-1][1] == ">":
        tokens.pop()
        steps.append(_read_step(tokens))
    return steps


def _read_step(tokens: list[tuple[str, str]]) -> TreeStep:
    kind, name = tokens.pop() if tokens else ("end", "the end")
    if kind != "name":
        raise InvalidInputError(f"A method's name was expected, got {name!r}.")
    options: list[Any] = []
    named: dict[str, Any] = {}
    inside: list[TreeStep] = []
    if tokens and tokens[-1][1] == "(":
        _expect(tokens, "(")
        while tokens and tokens[-1][1] != ")":
            if len(tokens) > 1 and tokens[-2][1] == "=":
                key = tokens.pop()[1]
                _expect(tokens, "=")
                named[key] = _read_value(tokens)
            else:
                options.append(_read_value(tokens))
            if tokens and tokens[-1][1] == ",":
                tokens.pop()
        _expect(tokens, ")")
    if tokens and tokens[-1][1] == "{":
        _expect(tokens, "{")
        inside = _read_chain(tokens)
        _expect(tokens, "}")
    return step(name, *options, inside=inside, **named)


def _read_value(tokens: list[tuple[str, str]]) -> Any:
    kind, text = tokens.pop()
    if text == "[":
        values = []
        while tokens and tokens[-1][1] != "]":
            values.append(_read_value(tokens))
            if tokens and tokens[-1][1] == ",":
                tokens.pop()
        _expect(tokens, "]")
        return values
    if kind == "number":
        return float(text)
    if kind == "name":
        return text
    raise InvalidInputError(f"An option's value was expected, got {text!r}.")


def _expect(tokens: list[tuple[str, str]], sign: str) -> None:
    seen = tokens.pop()[1] if tokens else "the end"
    if seen != sign:
        raise InvalidInputError(f"{sign!r} was expected in a tree, got {seen!r}.")


# JSON and XML


def tree_json(tree: MethodTree) -> str:
    """Return a tree as JSON: a list of steps with their options, and what windows hold.

    Examples
    --------
    >>> tree_json(parse_tree("difference > mean"))
    '[{"method": "difference", "lag": 0.0}, {"method": "mean"}]'
    """
    return json.dumps([_as_data(each) for each in tree.steps])


def _as_data(each: TreeStep) -> dict[str, Any]:
    options = dict(zip(each.method.options, each.options, strict=True))
    inside = {"inside": [_as_data(one) for one in each.inside]} if each.inside else {}
    return {"method": each.name, **options, **inside}


def _of_data(data: Any) -> TreeStep:
    if not isinstance(data, dict) or "method" not in data:
        raise InvalidInputError(f"A step in JSON needs a 'method', got {data!r}.")
    options = {key: value for key, value in data.items() if key not in ("method", "inside")}
    return step(data["method"], inside=[_of_data(one) for one in data.get("inside", [])], **options)


_BY_XML = {method.xml: method for method in METHODS.values()}


def tree_xml(tree: MethodTree) -> str:
    """Return a tree as XML in the notation of the source (Mierswa, 2009, Fig. 7.10).

    Examples
    --------
    >>> print(tree_xml(parse_tree("difference > mean")))
    <operator name="Root" class="ValueSeriesPreprocessing">
      <operator name="Chain" class="OperatorChain">
        <operator name="difference" class="Differentiation">
          <parameter key="lag" value="0" />
        </operator>
        <operator name="mean" class="AverageFunction" />
      </operator>
    </operator>
    """
    root = ElementTree.Element("operator", {"name": "Root", "class": "ValueSeriesPreprocessing"})
    _add_chain(root, tree.steps)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def _add_chain(parent: ElementTree.Element, steps: Sequence[TreeStep]) -> None:
    chain = ElementTree.SubElement(parent, "operator", {"name": "Chain", "class": "OperatorChain"})
    for each in steps:
        own = {"name": each.name, "class": each.method.xml}
        operator = ElementTree.SubElement(chain, "operator", own)
        for key, value in zip(each.method.options, each.options, strict=True):
            text = " ".join(map(_written, value)) if isinstance(value, tuple) else _written(value)
            ElementTree.SubElement(operator, "parameter", {"key": key, "value": text})
        if each.inside:
            _add_chain(operator, each.inside)


def _of_xml(operator: ElementTree.Element) -> list[TreeStep]:
    """Return the steps of an operator: those of its children, if it is only a chain of them.

    In the source's figure the last function stands outside the chain (a slip); both are read.
    """
    children = operator.findall("operator")
    name = operator.get("class", "")
    if name in ("ValueSeriesPreprocessing", "OperatorChain"):
        return [each for child in children for each in _of_xml(child)]
    if name not in _BY_XML:
        raise InvalidInputError(f"No method has the class {name!r}.{did_you_mean(name, _BY_XML)}")
    method = _BY_XML[name]
    given: dict[str, Any] = {}
    for parameter in operator.findall("parameter"):
        key, text = parameter.get("key", ""), parameter.get("value", "")
        default = method.options.get(key)
        if isinstance(default, tuple):
            given[key] = [float(number) for number in text.split()]
        else:
            given[key] = text if isinstance(default, str) else float(text)
    return [step(method.name, inside=[s for child in children for s in _of_xml(child)], **given)]


def _xml_depth(root: ElementTree.Element) -> int:
    """Return how deep elements are nested, counted without recursion."""
    depth, level = 0, [root]
    while level:
        depth, level = depth + 1, [child for element in level for child in element]
    return depth


def read_tree(text: str) -> MethodTree:
    """Return the tree that a text in any of the three forms means: plain, JSON or XML.

    Examples
    --------
    >>> tree = parse_tree("windows(0.2, 2){maximum} > deviation")
    >>> read_tree(tree_json(tree)) == read_tree(tree_xml(tree)) == read_tree(str(tree)) == tree
    True
    """
    begin = text.lstrip()[:1]
    if begin == "[":
        try:
            return MethodTree([_of_data(one) for one in read_json(text)])
        except (ValueError, TypeError) as error:
            raise InvalidInputError(f"This JSON cannot be read: {error}.") from error
    if begin == "<":
        try:
            root = ElementTree.fromstring(text)
            _check_depth(_xml_depth(root))
            return MethodTree(_of_xml(root))
        except (ElementTree.ParseError, OverflowError) as error:
            raise InvalidInputError(f"This XML cannot be read: {error}.") from error
    return parse_tree(text)
