"""Trees to search among: all short ones over a grid of intervals, and changes of given ones.

`candidate_trees` lists what is tried on every data set. `mutate_tree` and `cross_trees` are the
operators of the genetic programming (Mierswa, 2009, section 7.3.2): insert, delete or replace a
method by one of its class, change an option, and swap parts of the same type.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from parsimon.exceptions import InvalidInputError
from parsimon.features.series.tree_methods import METHODS, bounds_of
from parsimon.features.series.trees import MethodTree, TreeStep, step

_SHORT = ("mean", "deviation", "maximum", "minimum", "gradient", "median")
_LONG = (
    "place_of_maximum",
    "place_of_minimum",
    "quartile_range",
    "crossings",
    "above",
    "crest",
    "path",
)
_PARTS = (1, 2, 4, 8, 16)
_LAGS = (1 / 32, 1 / 16, 1 / 8)
# So many values at least for what is only of use on many.
_FEWEST, _MANY = 3, 6
# What is bred must still be read aloud.
_MOST_STEPS, _DEEPEST = 4, 2
_BASES: tuple[tuple[str, ...], ...] = (
    (),
    ("difference",),
    ("bend",),
    ("cumulative",),
    ("spectrum",),
    ("spectrum", "logarithm"),
    ("correlation",),
)
_INSIDE = (
    ("mean",),
    ("deviation",),
    ("gradient",),
    ("maximum",),
    ("range",),
    ("spectrum", "place_of_maximum"),
)
_OUTSIDE = ("mean", "deviation", "maximum", "minimum", "place_of_maximum")
_INSERTED = (
    "difference",
    "bend",
    "cumulative",
    "spectrum",
    "correlation",
    "logarithm",
    "absolute",
    "standardise",
    "moving_average",
    "exponential_smoothing",
    "trim",
    "haar",
    "angles",
    "distances",
    "interval",
)
_ENDS = (*_SHORT, *_LONG, "range", "skewness", "kurtosis", "flatness", "volume", "first", "last")


def candidate_trees(length: int, n_channels: int = 1) -> list[MethodTree]:
    """Return the trees that are tried on every data set, without any chance in it.

    The series, its steps and bends over several lags, its running sum, spectrum and correlation;
    of each the whole, halves, quarters, eighths and sixteenths that overlap by half; of each of
    these, up to thirteen functions; besides, functions of windows and of rises and falls.

    Parameters
    ----------
    length : int
        Of the longest series; intervals of fewer than three values are left out.
    n_channels : int

    Returns
    -------
    list of MethodTree

    Examples
    --------
    >>> trees = candidate_trees(100)
    >>> len(trees) > 5000
    True
    """
    if length < 1 or n_channels < 1:
        raise InvalidInputError(
            f"length and n_channels must be positive, got {length}, {n_channels}."
        )
    chains = [*_interval_chains(length), *_window_chains(length)]
    heads: list[list[TreeStep]] = [[step("channel", at)] for at in range(n_channels)]
    if n_channels == 1:
        heads = [[]]
    return list(dict.fromkeys(MethodTree([*head, *chain]) for head in heads for chain in chains))


def _interval_chains(length: int) -> list[list[TreeStep]]:
    lags = [lag for lag in _LAGS if round(lag * length) >= 2]
    bases = [[step(name) for name in names] for names in _BASES]
    bases += [[step(name, lag)] for name, lag in product(("difference", "bend"), lags)]
    chains = []
    for base in bases:
        made = length // 2 if base and base[0].name in ("spectrum", "correlation") else length
        for (begin, end), width in _intervals(made).items():
            names = (*_SHORT, *_LONG) if width >= _MANY else _SHORT
            chains += [[*base, step("interval", begin, end), step(name)] for name in names]
    return chains


def _intervals(length: int) -> dict[tuple[float, float], int]:
    """Return intervals that differ for a series of a length, and how many values they hold."""
    found: dict[tuple[int, int], tuple[float, float]] = {}
    for part in _PARTS:
        if part > 1 and length / part < _FEWEST:
            continue
        for at in range(2 * part - 1):
            shares = at / (2 * part), (at + 2) / (2 * part)
            found.setdefault(bounds_of(*shares, length), shares)
    return {shares: last - first for (first, last), shares in found.items()}


def _window_chains(length: int) -> list[list[TreeStep]]:
    cuts: list[tuple[str, tuple[Any, ...]]] = [
        ("windows", (share, 2.0)) for share in (0.1, 0.25) if share * length >= _FEWEST
    ]
    chains = []
    for (name, options), inside, outside in product(cuts, _INSIDE, _OUTSIDE):
        inner = [step(one) for one in inside]
        chains.append([step(name, *options, inside=inner), step(outside)])
    if length >= _MANY:
        for inside_name, outside in product(("length", "range", "gradient"), _OUTSIDE[:4]):
            chains.append([step("segments", inside=[step(inside_name)]), step(outside)])
        chains.append([step("segments", inside=[step("length")]), step("length")])
    return chains


def mutate_tree(tree: MethodTree, rng: np.random.Generator) -> MethodTree:
    """Return a tree with one change: a method inserted, deleted or replaced, or an option moved.

    Parameters
    ----------
    tree : MethodTree
    rng : numpy Generator

    Examples
    --------
    >>> from parsimon.features.series import parse_tree
    >>> tree = parse_tree("difference > mean")
    >>> mutate_tree(tree, np.random.default_rng(0)) == tree
    False
    """
    for _ in range(20):
        steps = _changed_chain(list(tree.steps), rng)
        found = MethodTree(steps)
        if found != tree and _is_small(found):
            return found
    return MethodTree(
        [*tree.steps[:-1], step("mean" if tree.steps[-1].name != "mean" else "median")]
    )


def _changed_chain(steps: list[TreeStep], rng: np.random.Generator) -> list[TreeStep]:
    """Return a chain with one change, perhaps inside of a windowing."""
    place = int(rng.integers(len(steps)))
    chosen = steps[place]
    first = int(steps[0].name == "channel")
    kind = rng.choice(["insert", "delete", "replace", "move"], p=[0.2, 0.2, 0.25, 0.35])
    if chosen.inside and rng.random() < 0.5:
        inside = tuple(_changed_chain(list(chosen.inside), rng))
        return [*steps[:place], TreeStep(chosen.name, chosen.options, inside), *steps[place + 1 :]]
    if kind == "insert":
        at = int(rng.integers(first, len(steps)))
        return [*steps[:at], _random_transformation(rng), *steps[at:]]
    is_end, is_head = place == len(steps) - 1, chosen.name == "channel"
    if kind == "delete" and not is_end and not is_head:
        return [*steps[:place], *steps[place + 1 :]]
    if kind == "replace" and is_end:
        return [*steps[:-1], step(str(rng.choice(_ENDS)))]
    if kind == "replace" and not is_head:
        return [*steps[:place], _random_transformation(rng), *steps[place + 1 :]]
    return [*steps[:place], _move_numbers(chosen, rng), *steps[place + 1 :]]


def _random_transformation(rng: np.random.Generator) -> TreeStep:
    name = str(rng.choice(_INSERTED))
    if name == "interval":
        width = float(rng.choice([0.5, 0.25, 0.125]))
        begin = round(float(rng.uniform(0, 1 - width)), 3)
        return step(name, begin, round(begin + width, 3))
    if "lag" in METHODS[name].options:
        return step(name, float(rng.choice([0.0, *_LAGS])))
    return step(name)


def _move_numbers(chosen: TreeStep, rng: np.random.Generator) -> TreeStep:
    """Return a step with its numbers moved a little."""
    if chosen.name == "interval":
        begin, end = chosen.options
        spread = max(0.25 * (end - begin), 0.01)
        ends = np.sort(np.clip(np.array([begin, end]) + spread * rng.normal(size=2), 0.0, 1.0))
        return step("interval", *(round(float(value), 3) for value in ends))
    values = list(chosen.options)
    for at, key in enumerate(chosen.method.options):
        if key in ("lag", "share", "factor"):
            moved = float(values[at] or 0.01) * float(np.exp(0.4 * rng.normal()))
            values[at] = round(min(max(moved, 0.005), 0.5), 3)
        elif key == "overlap":
            values[at] = float(rng.choice([1.0, 2.0])) if _ends(chosen.inside) else values[at]
    return TreeStep(chosen.name, tuple(values), chosen.inside)


def _ends(steps: Sequence[TreeStep]) -> bool:
    return bool(steps) and steps[-1].method.kind == "function"


def cross_trees(one: MethodTree, other: MethodTree, rng: np.random.Generator) -> MethodTree:
    """Return the beginning of one tree with the end of another, cut before a step of a like type.

    Parameters
    ----------
    one, other : MethodTree
    rng : numpy Generator

    Examples
    --------
    >>> from parsimon.features.series import parse_tree
    >>> one, other = parse_tree("difference > mean"), parse_tree("spectrum > maximum")
    >>> cross_trees(one, other, np.random.default_rng(0)).steps[-1].name
    'maximum'
    """
    head = one.steps[: int(rng.integers(len(one.steps)))]
    plain = [each for each in other.steps if each.name != "channel"]
    tail = plain[int(rng.integers(len(plain))) :]
    found = MethodTree([*head, *tail])
    return found if _is_small(found) else MethodTree([*one.steps[:-1], other.steps[-1]])


def _is_small(tree: MethodTree) -> bool:
    is_channel = tree.steps[0].name == "channel"
    return tree.size <= _MOST_STEPS + is_channel and tree.depth <= _DEEPEST
