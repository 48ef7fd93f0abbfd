"""Where a latent function is looked at, and what it says there."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from parsimon._checks import finite_vector
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference.likelihoods import Link, positive_probability
from parsimon.inference.posterior import Latent
from parsimon.report.figures.points import ClassRows, number_label

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


def held_row(points: ClassRows, hold: Any = "typical") -> Array:
    """Return the values of the inputs that a figure does not show, shape (d,).

    A typical row has medians, of two values the more frequent one, and the commonest level of a
    category, whose levels are columns titled "category = level".
    """
    if isinstance(hold, str):
        if hold not in {"typical", "mean", "median"}:
            raise InvalidInputError(
                'hold must be "typical", "mean", "median" or one number for each column, '
                f"got {hold!r}."
            )
        if hold == "typical":
            row = np.array([_typical(values) for values in points.X.T])
            for places in _categories(points).values():
                found, counts = np.unique(points.X[:, places], axis=0, return_counts=True)
                row[places] = found[np.argmax(counts)]
            return row
        return np.mean(points.X, axis=0) if hold == "mean" else np.median(points.X, axis=0)
    row = finite_vector(hold, "hold")
    if len(row) != points.n_columns:
        raise InvalidInputError(
            f"hold must have one number for each of {points.n_columns} columns, got {len(row)}."
        )
    return row


def _categories(points: ClassRows) -> dict[str, list[int]]:
    """Return the places of the levels of each category: columns of 0 and 1 with such titles."""
    found: dict[str, list[int]] = {}
    for place in range(points.n_columns):
        column, _, level = points.title(place).partition(" = ")
        if level and two_values(points.X[:, place]) == (0.0, 1.0):
            found.setdefault(column, []).append(place)
    return found


def _typical(values: Array) -> float:
    pair = two_values(values)
    if pair is None:
        return float(np.median(values))
    return pair[int(np.mean(values == pair[1]) > 0.5)]


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


def line_words(averaged: bool) -> str:
    """Return what the line shows."""
    return "the probability, averaged over all curves" if averaged else "the probability"


BAND_WORDS = "about 95 % of the curves that fit"


def held_words(points: ClassRows, columns: Sequence[int], held: Array, most: int = 6) -> str:
    """Return a sentence on the row at which other inputs are held, or nothing without others."""
    others = [column for column in range(points.n_columns) if column not in set(columns)]
    if not others:
        return ""
    # All of them, so that several figures of a page say the same and say it once.
    values = list(_held(points, held))
    more = f" and {len(values) - most} more" if len(values) > most else ""
    which = "a typical" if np.array_equal(held, held_row(points)) else "this"
    return f" What is not drawn is as in {which} row: {', '.join(values[:most])}{more}."


def _held(points: ClassRows, held: Array) -> Iterator[str]:
    """Yield what is held, in words: a category once, and no cell that is not missing."""
    categories = _categories(points)
    levels = {place for places in categories.values() for place in places}
    for place in range(points.n_columns):
        title = points.title(place)
        if place not in levels and not title.endswith(" is missing"):
            yield f"{title} = {number_label(held[place])}"
        elif title.endswith(" is missing") and held[place]:
            yield title
        column = title.partition(" = ")[0]
        own = categories.get(column, [])
        if own[:1] == [place]:
            there = [points.title(one) for one in own if held[one]]
            one_level = f"{column} other than {title.partition(' = ')[2]}"
            yield there[0] if there else one_level if len(own) == 1 else f"another {column}"
