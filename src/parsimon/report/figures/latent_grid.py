"""Where a latent function is looked at, and what it says there."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from parsimon._checks import finite_vector
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference.likelihoods import Link, positive_probability
from parsimon.inference.posterior import Latent
from parsimon.report.figures.points import ClassRows, number

Posterior: TypeAlias = Callable[[Array], tuple[Array, Array]]

# Rows given to a posterior at once: a grid of a hundred thousand would fill the memory.
_BLOCK = 4096


class Response(NamedTuple):
    """Probability of the positive class at m places.

    probability (m,): At the latent mean, or averaged over the latent function.
    low, high (m,): At two standard deviations of the latent function below and above its mean.
    mean, deviation (m,): Of the latent function.
    """

    probability: Array
    low: Array
    high: Array
    mean: Array
    deviation: Array


def respond(
    posterior: Posterior, X_star: Array, *, link: Link = "probit", averaged: bool = False
) -> Response:
    """Return the probability of the positive class and its band at X_star, shape (m, d)."""
    mean, variance = latent(posterior, X_star)
    deviation = np.sqrt(variance)
    low, central, high = (
        positive_probability(Latent(mean + k * deviation, 0 * mean), link=link, plug_in=True)
        for k in (-2, 0, 2)
    )
    if averaged:
        central = positive_probability(Latent(mean, variance), link=link)
    return Response(central, low, high, mean, deviation)


def latent(posterior: Posterior, X_star: Array) -> tuple[Array, Array]:
    """Return the latent mean and variance at X_star, asked for block by block."""
    answers = [posterior(X_star[i : i + _BLOCK]) for i in range(0, len(X_star), _BLOCK)]
    mean = finite_vector(np.concatenate([np.asarray(a[0]) for a in answers]), "Latent means")
    spread = finite_vector(np.concatenate([np.asarray(a[1]) for a in answers]), "Latent variances")
    if len(mean) != len(X_star) or len(spread) != len(X_star):
        raise InvalidInputError(
            f"The posterior was asked at {len(X_star)} rows and gave {len(mean)} means and "
            f"{len(spread)} variances."
        )
    return mean, np.maximum(spread, 0.0)


def frame(values: Array, margin: float, n_grid: int) -> Array:
    """Return a grid over the range of values and `margin` of it on each side."""
    if margin < 0 or n_grid < 3:
        raise InvalidInputError(
            f"margin must be 0 or more and n_grid 3 or more, got {margin} and {n_grid}."
        )
    low, high = float(values.min()), float(values.max())
    # A constant column has no range; any width shows it.
    reach = (high - low) or max(abs(low), 1.0)
    pad = margin * reach if high > low else 0.5 * reach
    return np.linspace(low - pad, high + pad, n_grid)


def held_row(points: ClassRows, hold: Any = "mean") -> Array:
    """Return the values of the inputs that a figure does not show, shape (d,)."""
    if isinstance(hold, str):
        if hold not in {"mean", "median"}:
            raise InvalidInputError(
                f'hold must be "mean", "median" or one number for each column, got {hold!r}.'
            )
        row: Array = np.mean(points.X, axis=0) if hold == "mean" else np.median(points.X, axis=0)
        return row
    row = finite_vector(hold, "hold")
    if len(row) != points.n_columns:
        raise InvalidInputError(
            f"hold must have one number for each of {points.n_columns} columns, got {len(row)}."
        )
    return row


def two_values(values: Array) -> tuple[float, float] | None:
    """Return the two values of a column that has no others, else None."""
    # A look at a few rows spares most columns the sorting.
    if len(np.unique(values[:50])) > 2:
        return None
    found = np.unique(values)
    return (float(found[0]), float(found[1])) if len(found) == 2 else None


def rows_on(grid: Sequence[Array], columns: Sequence[int], held: Array) -> Array:
    """Return rows that run over `grid` in `columns` and stay at `held` elsewhere."""
    rows = np.tile(held, (len(grid[0]), 1))
    rows[:, list(columns)] = np.column_stack(grid)
    return rows


def line_words(averaged: bool, link: Link) -> str:
    """Return what the line shows."""
    if averaged:
        return "probability averaged over the latent function f"
    return "Φ(E f)" if link == "probit" else "logistic(E f)"


def band_words(link: Link) -> str:
    """Return what the band shows, and what it does not."""
    name = "Φ" if link == "probit" else "logistic"
    return (
        f"{name}(E f ± 2 sd): two standard deviations of the latent function f, about 95 % of "
        "its posterior, not of the probability itself"
    )


def held_words(points: ClassRows, columns: Sequence[int], held: Array, most: int = 6) -> str:
    """Return a sentence on the inputs that are held constant, or nothing."""
    others = [column for column in range(points.n_columns) if column not in set(columns)]
    if not others:
        return ""
    values = [f"{points.title(c)} = {number(held[c])}" for c in others[:most]]
    more = f" and {len(others) - most} more" if len(others) > most else ""
    return f" Held constant: {', '.join(values)}{more}."
