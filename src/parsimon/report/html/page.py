"""From a document to one page of HTML."""

import math
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import quote

from parsimon.exceptions import InvalidInputError
from parsimon.report.document import Cell, Document
from parsimon.report.findings import Findings
from parsimon.report.html.explorer import embedded, explorer_data
from parsimon.report.html.pictures import checked_svg

if TYPE_CHECKING:
    from jinja2 import Environment

_SCRIPTS = ("numbers.js", "charts.js", "explorer.js", "tables.js", "page.js")
# No browser shows these, and some of them cannot be written as UTF-8 or end a text early.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def to_html(document: Document, findings: Findings) -> str:
    """Return a document as one HTML page that needs no other file and no network.

    Everything that came from a table is escaped. The page runs a single script, its own, and a
    content security policy forbids any other; without script the page shows the same findings.
    """
    numbers = document.numbers()

    def called(anchor: str) -> str:
        if anchor not in numbers:
            raise InvalidInputError(
                f"The text mentions {anchor!r}, but no section, figure or table has that anchor."
            )
        return numbers[anchor]

    script = _script()
    text = (
        _environment()
        .get_template("page.html.jinja")
        .render(
            document=document,
            findings=findings,
            called=called,
            style=_read("style.css"),
            dark=_read("dark.css"),
            script=script,
            fingerprint=b64encode(sha256(script.encode()).digest()).decode(),
            data=embedded([explorer_data(study) for study in findings.studies]),
        )
    )
    return _UNPRINTABLE.sub("\ufffd", text)


@cache
def _environment() -> "Environment":
    """Return templates that escape by default and refuse names that do not exist."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_read),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["kind"] = lambda block: type(block).__name__
    environment.filters["order"] = _order
    environment.filters["checked_svg"] = checked_svg
    environment.filters["checked_address"] = _checked_address
    environment.filters["fragment"] = lambda anchor: "#" + quote(anchor)
    return environment


@cache
def _read(name: str) -> str:
    return files("parsimon.report.html").joinpath(name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    """Return the scripts as one function, so that they share names with nobody else."""
    body = "\n".join(_read(name) for name in _SCRIPTS)
    return f'(function () {{\n"use strict";\n\n{body}}})();'


def _order(cell: Cell) -> str:
    """Return the attribute by which the script sorts; what is no number is sorted as text."""
    if cell.order is None or math.isnan(cell.order):
        return ""
    words = {math.inf: "Infinity", -math.inf: "-Infinity"}
    return f' data-order="{words.get(cell.order, cell.order)}"'


def _checked_address(address: str) -> str:
    """Let only web addresses be links: a link may carry a script."""
    if not re.match(r"https?://[^\s]+$", address):
        raise InvalidInputError(f"The link {address!r} is not an http or https address.")
    return address
