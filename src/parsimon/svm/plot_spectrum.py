"""The spectrum of a kernel matrix in one picture."""

from typing import TYPE_CHECKING

import numpy as np

from parsimon._options import check_count
from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes
from parsimon.svm.indefinite import Spectrum

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_spectrum(
    spectrum: Spectrum, *, ax: "Axes | None" = None, n_shown: int | None = 20
) -> "Axes":
    """Draw eigenvalues in descending order, the negative ones in another colour."""
    from matplotlib.ticker import MaxNLocator

    values = spectrum.eigenvalues
    n_shown = len(values) if n_shown is None else min(check_count("n_shown", n_shown), len(values))
    largest = np.sort(np.argsort(-np.abs(values), kind="stable")[:n_shown])
    shown = values[largest]
    negative = largest >= len(values) - spectrum.n_negative
    places = np.arange(1, n_shown + 1)
    with figure_style():
        ax = new_axes(ax)
        width = 0.8 if n_shown <= 60 else 1.0
        for mask, colour, label in (
            (~negative, BLUE, "positive or zero"),
            (negative, VERMILION, "negative"),
        ):
            if mask.any():
                ax.bar(places[mask], shown[mask], width=width, color=colour, label=label)
        ax.axhline(0.0, color=GREY, linewidth=0.8)
        every = "Eigenvalues" if n_shown == len(values) else f"The {n_shown} largest in size"
        ax.set_xlabel(f"{every}, in descending order")
        ax.set_ylabel("Eigenvalue")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(visible=False, axis="x")
        ax.margins(y=0.1)
        ax.set_xlim(0.4, n_shown + 0.6)
        ax.set_title(_title(spectrum), loc="left")
        if negative.any():
            ax.legend(loc="upper right")
            _mark_smallest(ax, n_shown, spectrum.smallest)
    return ax


def _mark_smallest(ax: "Axes", place: int, smallest: float) -> None:
    ax.annotate(
        f"{smallest:.2g}".replace("-", "\N{MINUS SIGN}"),
        (place, smallest),
        xytext=(0, -4),
        textcoords="offset points",
        ha="center",
        va="top",
        color=VERMILION,
    )


def _title(spectrum: Spectrum) -> str:
    n = len(spectrum.eigenvalues)
    if spectrum.is_psd:
        return f"Positive semi-definite: {n} eigenvalues, none negative"
    return (
        f"{spectrum.n_negative} of {n} eigenvalues negative, "
        f"{100 * spectrum.negative_mass:.2g} % of the mass"
    )
