"""Blocks of HTML with which values show themselves in a notebook, on light pages and dark ones.

Every text is escaped here. A block brings its own style, whose colours are those of JupyterLab or
VS Code where these say so.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files


@cache
def _style() -> str:
    text = (files("parsimon") / "_notebook.css").read_text(encoding="utf-8")
    return re.sub(r"\s+", " ", text)


def block(title: str, parts: Iterable[str]) -> str:
    """Return a block of parts that are HTML already, below a title."""
    head = f'<p class="title">{escape(title)}</p>' if title else ""
    return f'<div class="parsimon-block"><style>{_style()}</style>{head}{"".join(parts)}</div>'


def sentence(text: str, *, soft: bool = False) -> str:
    """Return a paragraph."""
    return f"<p{_class('soft' if soft else '')}>{escape(text)}</p>"


def table(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str | float]],
    *,
    marked: int | None = None,
) -> str:
    """Return a table; numbers stand right, with four digits, and one row may be marked."""
    figures = [any(_is_figure(row[k]) for row in rows) for k in range(len(header))]
    classes = [_class("figure" if is_figure else "") for is_figure in figures]
    head = "".join(
        f"<th{kind}>{escape(name)}</th>" for name, kind in zip(header, classes, strict=True)
    )
    body = "".join(
        f"<tr{_class('marked' if place == marked else '')}>"
        + "".join(
            f"<td{kind}>{escape(_cell(cell))}</td>" for cell, kind in zip(row, classes, strict=True)
        )
        + "</tr>"
        for place, row in enumerate(rows)
    )
    return (
        f'<div class="scroll"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def drawing(svg: str) -> str:
    """Return a drawing of ours whose names cannot meet those of another one on the page."""
    own = f"p{hashlib.sha256(svg.encode()).hexdigest()[:10]}-"
    svg = re.sub(r'\bid="', f'id="{own}', svg[max(svg.find("<svg"), 0) :])
    svg = re.sub(r'((?:xlink:)?href="|url\()#', rf"\1#{own}", svg)
    labels = r'(aria-(?:labelledby|describedby)=")([^"]+)'
    return re.sub(labels, lambda m: m[1] + " ".join(own + label for label in m[2].split()), svg)


def _is_figure(cell: str | float) -> bool:
    return cell.endswith("%") if isinstance(cell, str) else True


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) or float(value).is_integer():
        return f"{value:,.0f}"
    return "" if value != value else f"{value:.4g}"


def scatter(
    x: Sequence[float], y: Sequence[float], names: tuple[str, str], *, marked: int | None = None
) -> str:
    """Return points as a small drawing in the colours of the block; one may be marked.

    Shapes: x, y (n,).
    """
    wide, high, edge = 420.0, 240.0, 46.0
    across = _scaled(x, edge, wide - 12.0)
    up = _scaled(y, high - edge, 12.0)
    dots = "".join(
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{5 if place == marked else 3}" '
        f'fill="var({"--accent" if place == marked else "--soft"})"/>'
        for place, (a, b) in enumerate(zip(across, up, strict=True))
    )
    ends = [
        (edge, high - edge + 16, "start", _cell(float(min(x)))),
        (wide - 12, high - edge + 16, "end", _cell(float(max(x)))),
        (edge - 6, high - edge, "end", _cell(float(min(y)))),
        (edge - 6, 20, "end", _cell(float(max(y)))),
        ((edge + wide) / 2, high - 8, "middle", names[0]),
    ]
    words = "".join(
        f'<text x="{a:.0f}" y="{b:.0f}" text-anchor="{anchor}">{escape(text)}</text>'
        for a, b, anchor, text in ends
    )
    turned = f'<text transform="translate(12 {(high - edge) / 2:.0f}) rotate(-90)"'
    return (
        f'<svg viewBox="0 0 {wide:.0f} {high:.0f}" width="{wide:.0f}" role="img" '
        f'font-size="11" fill="currentColor"><title>{escape(f"{names[1]} against {names[0]}")}'
        f'</title><path d="M{edge} 8V{high - edge + 4}H{wide - 8}" fill="none" '
        f'stroke="var(--rule)"/>{dots}{words}{turned} text-anchor="middle">{escape(names[1])}'
        "</text></svg>"
    )


def _scaled(values: Sequence[float], low: float, high: float) -> list[float]:
    """Return values between two ends, with a little room; the middle if all are equal."""
    least, most = float(min(values)), float(max(values))
    span = (most - least) or 1.0
    room = 0.04 * (high - low)
    middle = most == least
    return [
        (low + high) / 2
        if middle
        else low + room + (high - low - 2 * room) * (float(value) - least) / span
        for value in values
    ]
