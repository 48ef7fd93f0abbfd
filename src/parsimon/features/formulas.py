"""Expressions in other writing: read from text, printed as LaTeX, as words and as Python source.

`parse` reads what printing an expression writes, and what a person would write besides.
"""

import ast
import keyword
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NoReturn

from parsimon._checks import did_you_mean
from parsimon.exceptions import InvalidInputError
from parsimon.features.expressions import (
    MINUS_ONE,
    Expression,
    Notation,
    add,
    apply,
    exponent_of,
    function_name,
    is_negative,
    multiply,
    power,
    written_terms,
)
from parsimon.features.operations import FUNCTIONS, OwnFunction

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
        |(?P<name>[A-Za-z_]\w*)
        |`(?P<quoted>(?:[^`]|``)+)`
        |(?P<signs>[-+](?:\s*[-+])*)
        |(?P<other>\*\*|[*/^(),]))""",
    re.VERBOSE,
)
# Brackets inside each other, and numbers, names and signs: Python reads both by recursion.
_DEEPEST, _LONGEST = 60, 2000
_SHOWN = 60


def parse(text: str, functions: Sequence[OwnFunction] = ()) -> Expression:
    """Return the expression that a text means.

    Parameters
    ----------
    text : str
        Such as ``"x^2/(1 + abs(y))"``. Powers, ``^`` or ``**``, are whole numbers or 0.5. A name
        that is no identifier stands in backquotes, one inside is doubled.
    functions : sequence of OwnFunction
        Functions of your own that may occur.

    Returns
    -------
    Expression
        ``parse(str(expression)) == expression`` for every expression.

    Examples
    --------
    >>> print(parse("(b - a)^2 + 1/(2*`petal width`) - 0 * c"))
    0.5/`petal width` + (a - b)^2
    """
    return _Reader(text, functions).read()


class _Reader:
    """Reads a formula: Python's parser says what binds what, and few of its nodes are known here.

    Names and numbers are replaced by the names that Python cannot mistake, t0, t1 and so on.
    """

    def __init__(self, text: str, functions: Sequence[OwnFunction]) -> None:
        self.text = text
        self.functions: dict[str, str | OwnFunction] = {name: name for name in FUNCTIONS}
        self.functions |= {function.name: function for function in functions}
        self.tokens = list(self._split())

    def refuse(self, problem: str) -> NoReturn:
        raise InvalidInputError(f"The formula {_shorten(self.text)} {problem}")

    def _split(self) -> Iterator[tuple[str, str, int]]:
        """Yield kind, text and place of each piece; signs that follow each other are one."""
        position = 0
        while match := _TOKEN.match(self.text, position):
            kind = str(match.lastgroup)
            found = match[kind]
            if kind == "signs":
                found = "-" if found.count("-") % 2 else "+"
            yield kind, found.replace("``", "`"), match.start(kind)
            position = match.end()
        if self.text[position:].strip():
            self.refuse(f"cannot be read from {_shorten(self.text[position:].strip())} on.")

    def read(self) -> Expression:
        signs = (found if kind == "other" else "" for kind, found, _ in self.tokens)
        depths = list(accumulate((sign == "(") - (sign == ")") for sign in signs))
        if max(depths, default=0) > _DEEPEST:
            self.refuse(
                f"has brackets inside each other more than {_DEEPEST} levels deep; write it in "
                "parts."
            )
        if len(self.tokens) > _LONGEST:
            self.refuse(f"has more than {_LONGEST} numbers, names and signs; write it in parts.")
        if depths and depths[-1] > 0:
            self.refuse("has a bracket that is not closed.")
        pieces = [
            f"t{place} " if kind in ("number", "name", "quoted") else found.replace("^", "**")
            for place, (kind, found, _) in enumerate(self.tokens)
        ]
        try:
            return self.value(ast.parse("".join(pieces), mode="eval").body)
        except SyntaxError as error:
            ends = accumulate(map(len, pieces))
            place = sum(end < (error.offset or 0) for end in ends)
            if not error.offset:
                self.refuse("ends too early.")
            rest = self.text[self.tokens[place][2] :]
            self.refuse(f"cannot be read from {_shorten(rest)} on.")

    def value(self, node: ast.expr) -> Expression:
        """Return the expression of a node."""
        if isinstance(node, ast.BinOp | ast.UnaryOp):
            if isinstance(node.op, ast.Add | ast.Sub):
                return add(*self.terms(node))
            if isinstance(node.op, ast.Pow):
                return self.raise_power(node)
            return multiply(*self.factors(node))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return apply(self.function(node.func), *map(self.value, node.args))
        if not isinstance(node, ast.Name):
            self.refuse("has brackets or commas that mean nothing.")
        kind, text = self.token(node)
        return Expression.number(float(text)) if kind == "number" else Expression.column(text)

    def terms(self, node: ast.expr) -> list[Expression]:
        """Return the terms of a sum, which is as deep on its left side as it has terms."""
        found = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            # All factors at once: a number times a sum alone may take another form than in a
            # product.
            factors = self.factors(node.right)
            sign = [MINUS_ONE] if isinstance(node.op, ast.Sub) else []
            found.append(multiply(*sign, *factors))
            node = node.left
        return [multiply(*self.factors(node)), *reversed(found)]

    def factors(self, node: ast.expr) -> list[Expression]:
        """Return the factors of a product, a sign in front among them."""
        found: list[Expression] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            factor = multiply(*self.factors(node.right))
            found.append(power(factor, -1) if isinstance(node.op, ast.Div) else factor)
            node = node.left
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            sign = [MINUS_ONE] if isinstance(node.op, ast.USub) else []
            return [*sign, self.value(node.operand), *reversed(found)]
        return [self.value(node), *reversed(found)]

    def raise_power(self, node: ast.BinOp) -> Expression:
        negative = isinstance(node.right, ast.UnaryOp) and isinstance(node.right.op, ast.USub)
        number = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
        kind, text = self.token(number) if isinstance(number, ast.Name) else ("", "")
        if kind != "number":
            self.refuse("has a power that is no number where a whole power should be.")
        exponent = -float(text) if negative else float(text)
        base = self.value(node.left)
        if abs(exponent) == 0.5:
            return power(apply("sqrt", base), 1 if exponent > 0 else -1)
        if not exponent.is_integer():
            self.refuse(f"has the power {exponent:g}; powers are whole or 0.5.")
        return power(base, int(exponent))

    def token(self, node: ast.Name) -> tuple[str, str]:
        """Return the kind and text of what a name stands for."""
        return self.tokens[int(node.id[1:])][:2]

    def function(self, node: ast.Name) -> str | OwnFunction:
        kind, name = self.token(node)
        if kind != "name":
            self.refuse(f"has {_shorten(name)} where a function should be.")
        if name not in self.functions:
            hint = did_you_mean(name, self.functions)
            self.refuse(f"has the function {name[:_SHOWN]}, which is unknown.{hint}")
        return self.functions[name]


def _shorten(text: str) -> str:
    """Return a text as messages show it: of a long one the beginning."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


def latex(expression: Expression, digits: int | None = None) -> str:
    r"""Return an expression as LaTeX writes it, without dollars.

    Parameters
    ----------
    expression : Expression
    digits : int, optional
        Significant digits of numbers; all that they have if left out.

    Examples
    --------
    >>> print(latex(parse("x^2/sqrt(y) - 0.5")))
    \frac{x^{2}}{\sqrt{y}} - 0.5
    """
    return _Latex(digits)(expression)


class _Latex(Notation):
    times, raised = r" \, ", "^"

    def __init__(self, digits: int | None) -> None:
        self.digits = digits

    def name(self, name: str) -> str:
        numbered = re.fullmatch(r"([A-Za-z])_?(\d+)", name)
        if numbered:
            return f"{numbered[1]}_{{{numbered[2]}}}"
        if len(name) == 1 and name.isalpha():
            return name
        escaped = re.sub(
            r"[\\{}_^#&$%~]", lambda found: _LATEX.get(found[0], "\\" + found[0]), name
        )
        return rf"\mathrm{{{escaped.replace(' ', '~')}}}"

    def number(self, value: float) -> str:
        text = super().number(value) if self.digits is None else f"{value:.{self.digits}g}"
        mantissa, exponential, exponent = text.partition("e")
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponential else text

    def fraction(
        self, numbers: list[str], above: Sequence[Expression], below: Sequence[Expression]
    ) -> str:
        # A sum alone above or below a line needs no brackets.
        bare = bool(below) and not numbers and len(above) == 1
        top = self.times.join([*numbers, *(self.factor(each, bare=bare) for each in above)])
        if not below:
            return top
        bottom = self.times.join(self.factor(each, bare=len(below) == 1) for each in below)
        return rf"\frac{{{top}}}{{{bottom}}}"

    def factor(self, factor: Expression, *, bare: bool = False) -> str:
        base, exponent = exponent_of(factor)
        text = self(base)
        if base.operation == "sum" and not (bare and exponent == 1):
            text = rf"\left({text}\right)"
        return text if exponent == 1 else f"{text}^{{{exponent}}}"

    def function(self, expression: Expression) -> str:
        kind, inside = expression.operation, ", ".join(map(self, expression.arguments))
        if kind in _LATEX_FORMS:
            return _LATEX_FORMS[kind].format(inside)
        plain = function_name(expression).replace("_", r"\_")
        named = rf"\operatorname{{{plain}}}" if kind in ("own", "sign") else "\\" + plain
        return rf"{named}\left({inside}\right)"


_LATEX = {"\\": r"\backslash ", "^": r"\hat{}", "~": r"\sim "}
_LATEX_FORMS = {
    "abs": r"\left|{}\right|",
    "sqrt": r"\sqrt{{{}}}",
    "exp": "e^{{{}}}",
    "atan": r"\arctan\left({}\right)",
}


def in_words(expression: Expression) -> str:
    """Return an expression as a person says it, numbers with four digits.

    Examples
    --------
    >>> in_words(parse("x^2/sqrt(y) - 0.5"))
    'the square of x divided by the square root of y minus 0.5'
    >>> in_words(parse("m*(u^2 + v^2)"))
    'm times the sum of the square of u and the square of v'
    """
    return _WORDS(expression)


class _Words(Notation):
    plus, minus, times, negative = " plus ", " minus ", " times ", "minus "

    def name(self, name: str) -> str:
        return name

    def number(self, value: float) -> str:
        return f"{value:.4g}"

    def fraction(
        self, numbers: list[str], above: Sequence[Expression], below: Sequence[Expression]
    ) -> str:
        text = self.times.join([*numbers, *map(self.factor, above)])
        return text + "".join(f" divided by {self.factor(factor)}" for factor in below)

    def factor(self, factor: Expression) -> str:
        base, exponent = exponent_of(factor)
        part = self.part(base)
        if exponent in (2, 3):
            return f"the {'square' if exponent == 2 else 'cube'} of {part}"
        return part if exponent == 1 else f"{part} to the power of {exponent}"

    def function(self, expression: Expression) -> str:
        kind, parts = expression.operation, [self.part(each) for each in expression.arguments]
        if kind in ("min", "max"):
            ending = "er" if len(parts) == 2 else "est"
            return f"the {'small' if kind == 'min' else 'great'}{ending} of {_enumerate(parts)}"
        return f"{_SAID.get(kind, function_name(expression))} of {_enumerate(parts)}"

    def part(self, expression: Expression) -> str:
        """Return an expression as part of another: a sum of two or more as one thing."""
        if expression.operation != "sum":
            return self(expression)
        terms = written_terms(expression)
        if not any(map(is_negative, terms)):
            return f"the sum of {_enumerate([self(term) for term in terms])}"
        if len(terms) == 2 and not is_negative(terms[0]):
            return f"the difference of {self(terms[0])} and {self(-terms[1])}"
        return f"({self(expression)})"


_WORDS = _Words()
_SAID = {
    "sqrt": "the square root",
    "exp": "e to the power",
    "log": "the logarithm",
    "sin": "the sine",
    "cos": "the cosine",
    "tan": "the tangent",
    "atan": "the arctangent",
    "abs": "the absolute value",
    "sign": "the sign",
}


def _enumerate(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def python_source(expression: Expression) -> str:
    """Return an expression as Python source that computes with NumPy.

    Columns whose names are identifiers are variables of that name, others are entries of a
    mapping `columns`. It is plain mathematics: outside the domain of a function it gives what
    NumPy gives, not the protected values of `Expression`. A function of your own is called by its
    name.

    Examples
    --------
    >>> python_source(parse("x^2/`petal width` - sqrt(y)"))
    "x**2/columns['petal width'] - np.sqrt(y)"
    """
    return _PYTHON(expression)


class _Python(Notation):
    raised = "**"

    def name(self, name: str) -> str:
        taken = keyword.iskeyword(name) or name in ("np", "columns")
        return name if name.isidentifier() and not taken else f"columns[{name!r}]"

    def function(self, expression: Expression) -> str:
        kind, inside = expression.operation, list(map(self, expression.arguments))
        if kind in ("min", "max"):
            text = inside[0]
            for other in inside[1:]:
                text = f"np.{kind}imum({text}, {other})"
            return text
        if kind == "own":
            return super().function(expression)
        return f"np.{'arctan' if kind == 'atan' else kind}({inside[0]})"


_PYTHON = _Python()
