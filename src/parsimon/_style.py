"""One look for every figure: colour-blind safe, readable in print and on a dark page.

Colours are Okabe and Ito's palette (2008). Figures have a transparent background and mid-grey
axes, so that the same SVG sits on a white and on a dark page.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"
SKY = "#56B4E9"
GREY = "#7F7F7F"
CYCLE = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, GREY)

_RC: dict[str, Any] = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "savefig.bbox": "tight",
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 11,
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "axes.titlecolor": GREY,
    "text.color": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GREY,
    "grid.alpha": 0.22,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "svg.fonttype": "none",
    "svg.hashsalt": "parsimon",
}


def sequential_colours() -> "Colormap":
    """Return viridis without its ends, which vanish on a dark and on a white page."""
    import numpy as np
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["viridis"](np.linspace(0.2, 0.9, 256)), name="parsimon")


@contextmanager
def figure_style() -> Iterator[None]:
    """Apply the house style to the figures drawn inside the block."""
    import matplotlib as mpl
    from cycler import cycler

    settings: Any = {**_RC, "axes.prop_cycle": cycler(color=list(CYCLE))}
    with mpl.rc_context(settings):
        yield


def new_axes(ax: "Axes | None" = None, **figure_options: Any) -> "Axes":
    """Return `ax`, or the axes of a new figure in the house style."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.figure(layout="constrained", **figure_options).add_subplot()
