"""The report as one HTML file that opens offline, with a script of its own and no other files.

`to_html` fills the templates. Drawings are put into the page as they are, so that `checked_svg`
looks at each first; `explorer_data` packs what the script needs to know about a study, so that
many curves fit into a page. The page's own files lie here too: `page.html.jinja` and
`blocks.html.jinja`, `style.css` and `dark.css`, and the parts of the script, of which `explorer.js`
is the one to read first.
"""

import json
import math
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote
from xml.etree import ElementTree

from parsimon.exceptions import InvalidInputError
from parsimon.report.document import FACTS, Block, Cell, Document, Explorer, Figure
from parsimon.report.findings import ModelFinding, Picture, ReportFindings, Roc, Study

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["to_html"]

_SVG = "{http://www.w3.org/2000/svg}"
# fmt: off
_ELEMENTS = frozenset({
    "circle", "clipPath", "defs", "desc", "ellipse", "g", "image", "line", "linearGradient",
    "marker", "mask", "path", "pattern", "polygon", "polyline", "radialGradient", "rect",
    "stop", "svg", "symbol", "text", "title", "tspan", "use",
})
# fmt: on
_INLINE_IMAGE = re.compile(r"data:image/(png|jpeg);base64,[A-Za-z0-9+/=\s]*")
_OUTSIDE = re.compile(r"url\(\s*['\"]?(?!#)|expression\(|@import|javascript:", re.IGNORECASE)


def checked_svg(picture: Picture) -> str:
    """Return the picture's drawing, unchanged, if it can do nothing but be looked at.

    A browser reads SVG inside a page by other rules than an XML parser. What the two could read
    differently (comments, declarations, sections of raw text, prefixed names) is refused, and so
    is every element that is not a plain shape or text.
    """
    text = picture.svg.strip()
    if "<!" in text or "<?" in text:
        _refuse(picture, "holds a comment or a declaration")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        _refuse(picture, f"is not well-formed XML ({error})")
    if root.tag != f"{_SVG}svg" or not text.startswith("<svg"):
        _refuse(picture, "does not begin with an svg element")
    for element in root.iter():
        _check_element(picture, element)
    return text


def _check_element(picture: Picture, element: ElementTree.Element) -> None:
    name = element.tag.removeprefix(_SVG)
    if name not in _ELEMENTS:
        _refuse(picture, f"holds the element {name!r}")
    for key, value in element.attrib.items():
        attribute = key.rpartition("}")[2].lower()
        if attribute.startswith("on"):
            _refuse(picture, f"holds the attribute {attribute!r}")
        inside = value.startswith("#") or (name == "image" and _INLINE_IMAGE.fullmatch(value))
        if attribute in ("href", "src") and not inside:
            _refuse(picture, "refers to something outside the page")
        if _OUTSIDE.search(value):
            _refuse(picture, "refers to something outside the page")


def _refuse(picture: Picture, seen: str) -> NoReturn:
    raise InvalidInputError(
        f"The picture {picture.name!r} {seen}. Draw it with parsimon.report.figures.svg."
    )


# The slider has a position for each hundredth; thresholds are kept in ten-thousandths, rounded
# down, so that comparing the two is exact.
_POSITIONS = 100
_UNITS = 10_000
_MOST_POINTS = 120


def explorer_data(study: Study) -> dict[str, Any]:
    """Return the models of a study's fronts as numbers, texts and lists."""
    shown = list(dict.fromkeys((*study.front, *study.front_variables)))
    return {
        "task": study.task,
        "unit": "term" if study.search is None else study.search.unit,
        "models": [_model(model) for model in shown],
        "size": [shown.index(model) for model in study.front],
        "variables": [shown.index(model) for model in study.front_variables],
        "knee": shown.index(study.front[study.knee]) if study.front else -1,
        "chosen": shown.index(study.front[study.chosen]) if study.front else -1,
        "baseline": _number(study.baseline.error),
    }


def embedded(value: Any) -> str:
    r"""Return JSON that can stand inside a script element, whatever the texts in it hold."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _model(model: ModelFinding) -> dict[str, Any]:
    return {
        "words": model.words,
        "size": model.size,
        "variables": list(model.variables),
        "error": _number(model.error),
        "standard_error": _number(model.standard_error),
        "log_loss": _number(model.log_loss),
        "roc": None if model.roc is None else _curve(model.roc),
    }


def _curve(roc: Roc) -> dict[str, Any]:
    """Pack a curve: counts instead of rates, thresholds in whole ten-thousandths."""
    steps = [_to_units(threshold) for threshold in roc.thresholds]
    kept = _pick(steps)
    return {
        "thresholds": [steps[k] for k in kept],
        "true": [round(roc.tpr[k] * roc.n_positive) for k in kept],
        "false": [round(roc.fpr[k] * roc.n_negative) for k in kept],
        "n_positive": roc.n_positive,
        "n_negative": roc.n_negative,
        "auc": [_number(roc.auc.estimate), _number(roc.auc.low), _number(roc.auc.high)],
        "confidence": roc.auc.confidence,
    }


def _to_units(threshold: float) -> int:
    """Round down, but forgive 0.1 its being 0.09999999999999998."""
    if threshold > 1 + 1e-9:
        return _UNITS + 1
    return max(0, math.floor(threshold * _UNITS + 1e-6))


def _pick(steps: Sequence[int]) -> list[int]:
    """Return the places of the points to keep: all, or those that can be seen or chosen."""
    n_points = len(steps)
    if n_points <= _MOST_POINTS:
        return list(range(n_points))
    spread = {round(k * (n_points - 1) / (_MOST_POINTS - 1)) for k in range(_MOST_POINTS)}
    position = _UNITS // _POSITIONS
    chosen = {sum(step >= k * position for step in steps) - 1 for k in range(_POSITIONS + 1)}
    return sorted((spread | chosen) - {-1})


def _number(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None


_SCRIPTS = ("numbers.js", "charts.js", "explorer.js", "tables.js", "page.js")
# No browser shows these, and some of them cannot be written as UTF-8 or end a text early.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def to_html(document: Document, findings: ReportFindings) -> str:
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
    explored = {block.study for block in document.blocks() if isinstance(block, Explorer)}
    data = [
        explorer_data(study) if place in explored else None
        for place, study in enumerate(findings.studies)
    ]
    template = _environment().get_template("page.html.jinja")
    text = template.render(
        document=document,
        findings=findings,
        called=called,
        style=_read("style.css"),
        dark=_read("dark.css"),
        script=script,
        fingerprint=b64encode(sha256(script.encode()).digest()).decode(),
        facts_title=FACTS,
        data=embedded(data),
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
    environment.filters["runs"] = _runs
    environment.filters["order"] = _order
    environment.filters["checked_svg"] = checked_svg
    environment.filters["checked_address"] = _checked_address
    environment.filters["fragment"] = lambda anchor: "#" + quote(anchor)
    return environment


def _runs(blocks: Sequence[Block]) -> list[list[Block]]:
    """Return blocks one by one, but figures that follow each other together."""
    runs: list[list[Block]] = []
    for block in blocks:
        if isinstance(block, Figure) and runs and isinstance(runs[-1][-1], Figure):
            runs[-1].append(block)
        else:
            runs.append([block])
    return runs


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
