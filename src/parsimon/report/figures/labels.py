"""Text that came from a table, made fit to be drawn: never interpreted, never too long."""

import numpy as np

LONGEST = 28


def label(text: object, most: int = LONGEST) -> str:
    r"""Return text that matplotlib draws as it stands.

    Line breaks become spaces, characters that cannot be printed go, a long text loses its middle
    (names of columns often differ at their ends only), and ``$`` is escaped, since a pair of them
    would be read as mathematics.
    """
    printable = "".join(c for c in " ".join(str(text).split()) if c.isprintable())
    if len(printable) > most:
        tail = 2 * most // 5
        printable = f"{printable[: most - tail]}…{printable[-tail:]}"
    return printable.replace("$", r"\$")


def number(value: float) -> str:
    """Return a number as an axis shows it: four significant digits, a true minus sign."""
    if np.abs(value) >= 1e4 and np.abs(value) < 1e8:
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


def percent(share: float) -> str:
    """Return a share in percent, with no false certainty at the ends."""
    if 0.999 < share < 1:
        return "> 99.9 %"
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.1f} %" if 0 < share < 1 else f"{100 * share:.0f} %"
