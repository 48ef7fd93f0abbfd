"""Expressions in other writing: read from text, printed as LaTeX and as Python source.

`parse` reads what printing an expression writes, and what a person would write besides.
"""

import keyword
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from parsimon._checks import did_you_mean
from parsimon.exceptions import InvalidInputError
from parsimon.features.expressions import (
    MINUS_ONE,
    Expression,
    add,
    apply,
    exponent_of,
    fraction_of,
    is_negative,
    multiply,
    number_of,
    power,
    written_number,
    written_terms,
)
from parsimon.features.operations import FUNCTIONS, OwnFunction

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
        |(?P<name>[A-Za-z_]\w*)
        |`(?P<quoted>(?:[^`]|``)+)`
        |(?P<sign>\*\*|[-+*/^(),]))""",
    re.VERBOSE,
)


# Brackets inside each other; each level is five calls inside each other while it is read.
_DEEPEST = 60
_SHOWN = 60


class _Token(NamedTuple):
    """A piece of a formula: "number", "name", "quoted", "sign" or "end", and its text."""

    kind: str
    text: str


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
    reader = _Reader(text, {function.name: function for function in functions})
    found = reader.sum()
    if reader.next.kind != "end":
        reader.refuse("an operator")
    return found


def _quoted(text: str) -> str:
    """Return a text as messages show it: of a long one the beginning."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


class _Reader:
    """Reads a formula from left to right, one method for each level of binding."""

    def __init__(self, text: str, functions: Mapping[str, OwnFunction]) -> None:
        self.text, self.functions, self.position, self.depth = text, functions, 0, 0
        self.next = _Token("end", "")
        self.advance()

    def advance(self) -> _Token:
        """Return the token that was next, and look at the following."""
        before = self.next
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            rest = self.text[self.position :].strip()
            if rest:
                raise InvalidInputError(
                    f"The formula {_quoted(self.text)} cannot be read from {_quoted(rest)} on."
                )
            self.next = _Token("end", "")
            return before
        self.position = match.end()
        kind = str(match.lastgroup)
        self.next = _Token(kind, match[kind].replace("``", "`"))
        return before

    def refuse(self, wanted: str) -> None:
        seen = _quoted(self.next.text) if self.next.text else "its end"
        raise InvalidInputError(
            f"The formula {_quoted(self.text)} has {seen} where {wanted} should be."
        )

    def takes(self, *signs: str) -> str:
        """Return the next sign and pass it if it is one of these, else an empty text."""
        found = self.next.kind == "sign" and self.next.text in signs
        return self.advance().text if found else ""

    def expect(self, sign: str) -> None:
        if not self.takes(sign):
            self.refuse(repr(sign))

    def sum(self) -> Expression:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise InvalidInputError(
                f"The formula {_quoted(self.text)} has brackets inside each other more than "
                f"{_DEEPEST} levels deep; write it in parts."
            )
        terms = [self.product(negative=bool(self.takes("-")))]
        while sign := self.takes("+", "-"):
            terms.append(self.product(negative=sign == "-"))
        self.depth -= 1
        return add(*terms)

    def product(self, *, negative: bool) -> Expression:
        # All factors at once: a number times a sum alone may take another form than in a product.
        factors = [*([MINUS_ONE] if negative else []), self.signed()]
        while sign := self.takes("*", "/"):
            factor = self.signed()
            factors.append(power(factor, -1) if sign == "/" else factor)
        return multiply(*factors)

    def signed(self) -> Expression:
        negative = False
        while sign := self.takes("-", "+"):
            negative ^= sign == "-"
        found = self.raised()
        return -found if negative else found

    def raised(self) -> Expression:
        base = self.atom()
        if not self.takes("^", "**"):
            return base
        negative, in_brackets = False, bool(self.takes("("))
        negative = bool(self.takes("-"))
        if self.next.kind != "number":
            self.refuse("a whole power")
        exponent = float(self.advance().text) * (-1 if negative else 1)
        if in_brackets:
            self.expect(")")
        if abs(exponent) == 0.5:
            return power(apply("sqrt", base), 1 if exponent > 0 else -1)
        if not exponent.is_integer():
            raise InvalidInputError(
                f"The formula {_quoted(self.text)} has the power {exponent:g}; powers are whole or "
                "0.5."
            )
        return power(base, int(exponent))

    def atom(self) -> Expression:
        if self.takes("("):
            inside = self.sum()
            self.expect(")")
            return inside
        kind, text = self.next
        if kind == "number":
            return Expression.number(float(self.advance().text))
        if kind not in ("name", "quoted"):
            self.refuse("a number, a column or a function")
        self.advance()
        if kind == "quoted" or not self.takes("("):
            return Expression.column(text)
        arguments = [self.sum()]
        while self.takes(","):
            arguments.append(self.sum())
        self.expect(")")
        return self.called(text, arguments)

    def called(self, name: str, arguments: Sequence[Expression]) -> Expression:
        if name in self.functions:
            return apply(self.functions[name], *arguments)
        if name not in FUNCTIONS:
            known = (*FUNCTIONS, *self.functions)
            raise InvalidInputError(
                f"The formula {_quoted(self.text)} has the function {name[:_SHOWN]}, which is "
                f"unknown.{did_you_mean(name, known)}"
            )
        return apply(name, *arguments)


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
    kind = expression.operation
    if kind == "column":
        return _latex_name(str(expression.value))
    if kind == "number":
        return _latex_number(number_of(expression), digits)
    inside = [latex(argument, digits) for argument in expression.arguments]
    if kind == "sum":
        return _latex_sum(expression, digits)
    if kind in ("product", "power"):
        return _latex_product(expression, digits)
    if kind == "abs":
        return rf"\left|{inside[0]}\right|"
    if kind == "sqrt":
        return rf"\sqrt{{{inside[0]}}}"
    if kind == "exp":
        return f"e^{{{inside[0]}}}"
    own = expression.value.name if isinstance(expression.value, OwnFunction) else kind
    names = {"atan": r"\arctan", "sign": r"\operatorname{sign}"}
    plain = own.replace("_", r"\_")
    named = rf"\operatorname{{{plain}}}" if kind == "own" else names.get(kind, "\\" + kind)
    return rf"{named}\left({', '.join(inside)}\right)"


def _latex_name(name: str) -> str:
    numbered = re.fullmatch(r"([A-Za-z])_?(\d+)", name)
    if numbered:
        return f"{numbered[1]}_{{{numbered[2]}}}"
    if len(name) == 1 and name.isalpha():
        return name
    escaped = re.sub(r"([\\{}_^#&$%~])", lambda found: _LATEX.get(found[1], "\\" + found[1]), name)
    return rf"\mathrm{{{escaped.replace(' ', '~')}}}"


_LATEX = {"\\": r"\backslash ", "^": r"\hat{}", "~": r"\sim "}


def _latex_number(value: float, digits: int | None) -> str:
    text = written_number(value) if digits is None else f"{value:.{digits}g}"
    mantissa, exponential, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponential else text


def _latex_sum(expression: Expression, digits: int | None) -> str:
    first, *others = written_terms(expression)
    signed = (
        f" - {latex(-term, digits)}" if is_negative(term) else f" + {latex(term, digits)}"
        for term in others
    )
    return latex(first, digits) + "".join(signed)


def _latex_product(product: Expression, digits: int | None) -> str:
    coefficient, above, below = fraction_of(product)
    sign, size = "-" if coefficient < 0 else "", abs(coefficient)
    number = [_latex_number(size, digits)] if size != 1.0 or not above else []
    # A sum alone above or below a line needs no brackets.
    bare = bool(below) and not number and len(above) == 1
    top = [_latex_factor(factor, digits, bare=bare) for factor in above]
    if not below:
        return sign + r" \, ".join([*number, *top])
    bottom = [_latex_factor(factor, digits, bare=len(below) == 1) for factor in below]
    upper, lower = r" \, ".join([*number, *top]), r" \, ".join(bottom)
    return rf"{sign}\frac{{{upper}}}{{{lower}}}"


def _latex_factor(factor: Expression, digits: int | None, *, bare: bool) -> str:
    base, exponent = exponent_of(factor)
    text = latex(base, digits)
    if base.operation == "sum" and not (bare and exponent == 1):
        text = rf"\left({text}\right)"
    return text if exponent == 1 else f"{text}^{{{exponent}}}"


def in_words(expression: Expression) -> str:
    """Return an expression as a person says it, numbers with four digits.

    Examples
    --------
    >>> in_words(parse("x^2/sqrt(y) - 0.5"))
    'the square of x divided by the square root of y minus 0.5'
    >>> in_words(parse("m*(u^2 + v^2)"))
    'm times the sum of the square of u and the square of v'
    """
    kind = expression.operation
    if kind == "column":
        return str(expression.value)
    if kind == "number":
        return f"{number_of(expression):.4g}"
    if kind == "sum":
        first, *others = written_terms(expression)
        signed = (
            f" minus {in_words(-term)}" if is_negative(term) else f" plus {in_words(term)}"
            for term in others
        )
        return in_words(first) + "".join(signed)
    if kind in ("product", "power"):
        return _product_in_words(expression)
    said = [_said_inside(argument) for argument in expression.arguments]
    if kind in ("min", "max"):
        ending = "er" if len(said) == 2 else "est"
        return f"the {'small' if kind == 'min' else 'great'}{ending} of {_listed(said)}"
    own = expression.value.name if isinstance(expression.value, OwnFunction) else ""
    return f"{_SAID.get(kind, own)} of {_listed(said)}"


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


def _listed(said: Sequence[str]) -> str:
    return " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)


def _said_inside(expression: Expression) -> str:
    """Return an expression as part of another: a sum of two or more as one thing."""
    if expression.operation != "sum":
        return in_words(expression)
    terms = written_terms(expression)
    if not any(map(is_negative, terms)):
        return f"the sum of {_listed([in_words(term) for term in terms])}"
    if len(terms) == 2 and not is_negative(terms[0]):
        return f"the difference of {in_words(terms[0])} and {in_words(-terms[1])}"
    return f"({in_words(expression)})"


def _product_in_words(product: Expression) -> str:
    coefficient, above, below = fraction_of(product)
    numbers = [f"{abs(coefficient):.4g}"] if abs(coefficient) != 1.0 or not above else []
    text = " times ".join([*numbers, *map(_factor_in_words, above)])
    text += "".join(f" divided by {_factor_in_words(factor)}" for factor in below)
    return f"minus {text}" if coefficient < 0 else text


def _factor_in_words(factor: Expression) -> str:
    base, exponent = exponent_of(factor)
    said = _said_inside(base)
    if exponent in (2, 3):
        return f"the {'square' if exponent == 2 else 'cube'} of {said}"
    return said if exponent == 1 else f"{said} to the power of {exponent}"


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
    kind = expression.operation
    if kind == "column":
        return _python_name(str(expression.value))
    if kind == "number":
        return written_number(number_of(expression))
    if kind == "sum":
        first, *others = written_terms(expression)
        signed = (
            f" - {python_source(-term)}" if is_negative(term) else f" + {python_source(term)}"
            for term in others
        )
        return python_source(first) + "".join(signed)
    if kind in ("product", "power"):
        return _python_product(expression)
    inside = [python_source(argument) for argument in expression.arguments]
    if kind in ("min", "max"):
        pair = f"np.{kind}imum"
        text = inside[0]
        for other in inside[1:]:
            text = f"{pair}({text}, {other})"
        return text
    if isinstance(expression.value, OwnFunction):
        return f"{expression.value.name}({', '.join(inside)})"
    return f"np.{ {'atan': 'arctan'}.get(kind, kind) }({inside[0]})"


def _python_name(name: str) -> str:
    taken = keyword.iskeyword(name) or name in ("np", "columns")
    return name if name.isidentifier() and not taken else f"columns[{name!r}]"


def _python_product(product: Expression) -> str:
    coefficient, above, below = fraction_of(product)
    sign, size = "-" if coefficient < 0 else "", abs(coefficient)
    numbers = [written_number(size)] if size != 1.0 or not above else []
    text = sign + "*".join([*numbers, *map(_python_factor, above)])
    if len(below) == 1:
        return f"{text}/{_python_factor(below[0])}"
    return f"{text}/({'*'.join(map(_python_factor, below))})" if below else text


def _python_factor(factor: Expression) -> str:
    base, exponent = exponent_of(factor)
    text = f"({python_source(base)})" if base.operation == "sum" else python_source(base)
    return text if exponent == 1 else f"{text}**{exponent}"
