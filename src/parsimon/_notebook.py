"""Blocks of HTML with which values show themselves in a notebook, on light pages and dark ones.

Every text is escaped here. A block brings its own style, whose colours are those of JupyterLab or
VS Code where these say so.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from html import escape

_STYLE = """
.parsimon-block {
  --page: var(--jp-layout-color0, var(--vscode-editor-background, #fdfcfa));
  --ink: var(--jp-content-font-color1, var(--vscode-editor-foreground, #1f2328));
  --soft: var(--jp-content-font-color2, var(--vscode-descriptionForeground, #5a616a));
  --rule: var(--jp-border-color2, var(--vscode-panel-border, #dfdbd2));
  --accent: #00629b;
  max-width: 54rem; padding: 0.75rem 1rem; background: var(--page); color: var(--ink);
  font: 0.875rem/1.5 -apple-system, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif;
}
@media (prefers-color-scheme: dark) {
  .parsimon-block {
    --page: var(--jp-layout-color0, var(--vscode-editor-background, #16181c));
    --ink: var(--jp-content-font-color1, var(--vscode-editor-foreground, #e6e4df));
    --soft: var(--jp-content-font-color2, var(--vscode-descriptionForeground, #a5abb3));
    --rule: var(--jp-border-color2, var(--vscode-panel-border, #3a3e45));
    --accent: #6cb8e6;
  }
}
[data-jp-theme-light="false"] .parsimon-block { --accent: #6cb8e6; }
[data-jp-theme-light="true"] .parsimon-block { --accent: #00629b; }
.parsimon-block p { margin: 0 0 0.6rem; max-width: 42rem; color: var(--ink); }
.parsimon-block p.title { font-weight: 600; font-size: 1rem; }
.parsimon-block .scroll { overflow-x: auto; margin: 0 0 0.8rem; }
.parsimon-block table {
  border-collapse: collapse; margin: 0; color: var(--ink); background: transparent;
  font-size: inherit; font-variant-numeric: tabular-nums;
}
.parsimon-block caption { text-align: left; color: var(--soft); padding: 0.2rem 0; }
.parsimon-block th, .parsimon-block td {
  text-align: left; padding: 0.2rem 0.9rem 0.2rem 0; border: 0; vertical-align: top;
  border-bottom: 1px solid var(--rule); background: transparent; max-width: 24rem;
  overflow-wrap: anywhere; white-space: normal;
}
.parsimon-block th { color: var(--soft); font-weight: 600; }
.parsimon-block .figure { text-align: right; white-space: nowrap; }
.parsimon-block .marked td { font-weight: 600; color: var(--accent); }
.parsimon-block svg { display: block; max-width: 100%; height: auto; color: var(--ink); }
.parsimon-block .soft { color: var(--soft); }
.parsimon-block svg text[style*="#7f7f7f" i], .parsimon-block svg [style*="#7f7f7f" i] text,
.parsimon-block svg text[fill="#7F7F7F" i] { fill: var(--soft) !important; }
.parsimon-block svg text[style*="#0072b2" i] { fill: var(--accent) !important; }
"""


def block(title: str, parts: Iterable[str]) -> str:
    """Return a block of parts that are HTML already, below a title."""
    style = re.sub(r"\s+", " ", _STYLE)
    head = f'<p class="title">{escape(title)}</p>' if title else ""
    return f'<div class="parsimon-block"><style>{style}</style>{head}{"".join(parts)}</div>'


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
