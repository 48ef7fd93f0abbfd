"""What a front says, in a sentence or two."""

from collections.abc import Sequence

import numpy as np

from parsimon._typing import Array
from parsimon.pareto.directions import Directions


def describe(values: Array, directions: Directions, knee: int | None) -> str:
    """Return a few sentences about a front; `knee` is None for an empty one."""
    if knee is None:
        return f"The front is empty: no solution is left ({directions})."
    if len(values) == 1:
        return f"One solution is the best in every objective: {_point(values[0], directions)}."
    sentences = [
        f"{len(values)} solutions trade {_ranges(values, directions)}.",
        f"The knee is solution {knee}, with {_point(values[knee], directions)}.",
    ]
    if len(directions) == 2:
        prices = [_price(values, directions, knee, column) for column in range(2)]
        prices = [price for price in prices if price]
        if prices:
            sentences.append(f"From there, {', and '.join(prices)}.")
    return " ".join(sentences)


def number(value: float) -> str:
    """Return a number as a person would write it: four significant digits."""
    if abs(value) >= 1e4 and abs(value) < 1e15 and float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.4g}"


def _ranges(values: Array, directions: Directions) -> str:
    parts = [
        f"{name} ({'higher' if up else 'lower'} is better, "
        f"{number(column.min())} to {number(column.max())})"
        for name, up, column in zip(directions.names, directions.maximise, values.T, strict=True)
    ]
    return parts[0] if len(parts) == 1 else f"{parts[0]} against {_listed(parts[1:])}"


def _point(row: Array, directions: Directions) -> str:
    return _listed(
        [f"{name} {number(value)}" for name, value in zip(directions.names, row, strict=True)]
    )


def _price(values: Array, directions: Directions, knee: int, column: int) -> str:
    """Say what the best value of one of two objectives costs in the other."""
    other = 1 - column
    minimised = values * directions.sign
    best = int(np.lexsort((minimised[:, other], minimised[:, column]))[0])
    if values[best, column] == values[knee, column]:
        return ""
    word = "highest" if directions.maximise[column] else "lowest"
    cost = abs(values[best, other] - values[knee, other])
    return (
        f"the {word} {directions.names[column]} ({number(values[best, column])}) "
        f"costs {number(cost)} in {directions.names[other]}"
    )


def _listed(parts: Sequence[str]) -> str:
    if len(parts) < 3:
        return " and ".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
