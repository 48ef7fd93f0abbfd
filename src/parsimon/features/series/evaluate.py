"""Series of one data set, the numbers that trees make of them, and what that costs.

`SeriesTable` reads arrays, lists of unequal lengths and long frames. `tree_values` computes trees:
steps that several trees begin with are taken once, so that ten thousand trees cost little more
than their last steps; a tree alone has the same bits as in a population. `tree_cost` counts
operations by the formulas of Mierswa (2009), section 7.3.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import log
from typing import Any, NamedTuple

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.features.series.tree_methods import bounds_of, steps_of
from parsimon.features.series.trees import MethodTree, TreeStep

Chain = tuple[TreeStep, ...]


class Block(NamedTuple):
    """Series of one length: which rows they are, values (m, L) and their positions (L,)."""

    rows: Indices
    values: Array
    positions: Array


class SeriesSignal(NamedTuple):
    """One series for each of n rows, in blocks of equal length."""

    n: int
    blocks: tuple[Block, ...]


class SeriesTable:
    """The series of a data set: n rows, one or more channels, lengths that may differ.

    Parameters
    ----------
    X : array-like
        Shape (n, length), or (n, channels, length); or a list of n series, each of shape (length,)
        or (channels, length), of unequal lengths; or a long frame with columns ``id``, ``time``,
        ``value`` and perhaps ``channel``. Missing values (NaN) at the end of a series end it;
        others are taken from the straight line between their neighbours.

    Attributes
    ----------
    n_series, n_channels : int
    length : int
        Of the longest series.
    ids : list or None
        The ids of a long frame, in the order of the rows.

    Examples
    --------
    >>> SeriesTable([[1.0, 2.0, 3.0], [4.0, 5.0]])
    SeriesTable: 2 series, 1 channel, lengths 2 to 3
    """

    def __init__(self, X: Any) -> None:
        self.ids: list[Any] | None = None
        if is_long(X):
            self.ids, X = _from_long(X)
        series = list(map(_matrix, _rows(X)))
        if not series:
            raise InvalidInputError("There are no series; give at least one.")
        self.n_channels = series[0].shape[0]
        if any(len(channels) != self.n_channels for channels in series):
            raise InvalidInputError("Every series must have the same channels; complete them.")
        self._values = ended = [_trim_end(each, row) for row, each in enumerate(series)]
        self.n_series = len(ended)
        self.lengths = lengths = np.array([each.shape[1] for each in ended])
        self.length = int(lengths.max())
        groups = [np.flatnonzero(lengths == length) for length in np.unique(lengths)]
        stacks = [np.stack([ended[row] for row in rows]) for rows in groups]
        self.signals = tuple(
            SeriesSignal(
                self.n_series,
                tuple(
                    Block(rows, np.ascontiguousarray(stack[:, at]), _shares(stack.shape[2]))
                    for rows, stack in zip(groups, stacks, strict=True)
                ),
            )
            for at in range(self.n_channels)
        )

    def of(self, rows: Indices) -> "SeriesTable":
        """Return the table of some of the series."""
        if len(rows) == self.n_series and (np.diff(rows) == 1).all():
            return self
        values = [self._values[int(row)] for row in rows]
        return SeriesTable(values)

    def __repr__(self) -> str:
        least = int(self.lengths.min())
        lengths = f"length {least}" if least == self.length else f"lengths {least} to {self.length}"
        channels = f"{self.n_channels} channel{'s' if self.n_channels > 1 else ''}"
        return f"SeriesTable: {self.n_series} series, {channels}, {lengths}"


def _shares(length: int) -> Array:
    return np.arange(length) / length


def is_long(X: Any) -> bool:
    """Tell whether X is a long frame, one value a row."""
    return {"id", "time", "value"} <= set(map(str, getattr(X, "columns", ())))


def _from_long(frame: Any) -> tuple[list[Any], list[Array]]:
    """Return ids in order of appearance, and series of shape (channels, length)."""
    value = np.asarray(frame["value"], dtype=np.float64)
    codes, ids = _encode(frame, "id", sort=False)
    moments, _ = _encode(frame, "time")
    is_named = "channel" in map(str, frame.columns)
    channels = _encode(frame, "channel")[0] if is_named else np.zeros(len(codes), dtype=np.intp)
    order = np.lexsort((moments, channels, codes))
    n_channels = int(channels.max(initial=0)) + 1
    # One cell for each series and channel; rows are sorted by cell, then by time.
    sizes = np.bincount(codes * n_channels + channels, minlength=len(ids) * n_channels)
    parts = np.split(value[order], np.cumsum(sizes)[:-1])
    longest = sizes.reshape(-1, n_channels).max(axis=1, initial=0)
    found = []
    for at, length in enumerate(longest):
        series = np.full((n_channels, length), np.nan)
        for channel, part in enumerate(parts[at * n_channels : (at + 1) * n_channels]):
            series[channel, : len(part)] = part
        found.append(series)
    return ids, found


def _encode(frame: Any, name: str, *, sort: bool = True) -> tuple[Indices, list[Any]]:
    """Return a column as numbers of its distinct values, and these, sorted or as they appear."""
    import pandas as pd

    column = np.asarray(frame[name])
    # Sorting by pandas would put all numbers before all texts.
    kinds = {isinstance(value, str) for value in column} if column.dtype == object else set()
    if sort and len(kinds) > 1 and not any(value is None for value in column):
        raise InvalidInputError(f"Column {name!r} mixes texts and numbers; make them alike.")
    codes, values = pd.factorize(column, sort=sort)
    if (codes < 0).any():
        raise InvalidInputError(
            f"Column {name!r} is empty in row {int(codes.argmin())}; fill it in or leave rows out."
        )
    return codes, values.tolist()


def _rows(X: Any) -> Any:
    """Return what can be iterated over series."""
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    if isinstance(X, np.ndarray) and X.dtype != object and X.ndim not in (2, 3):
        raise InvalidInputError(
            f"Series must have shape (n, length) or (n, channels, length), got {X.shape}; reshape."
        )
    return X


def _matrix(series: Any) -> Array:
    try:
        values = np.asarray(series, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"Series must be numbers, got {error}.") from error
    values = values[None] if values.ndim == 1 else values
    if values.ndim != 2 or not values.size:
        raise InvalidInputError(f"A series must have values, got shape {values.shape}.")
    if np.isinf(values).any():
        raise InvalidInputError("A series holds infinity; replace it, by NaN if it is missing.")
    return values


def _trim_end(series: Array, row: int) -> Array:
    """Return a series without the missing end that all channels share, gaps filled."""
    known = ~np.isnan(series)
    if not known.any(axis=1).all():
        raise InvalidInputError(f"Series {row} has a channel without any value; leave it out.")
    last = int(np.flatnonzero(known.any(axis=0))[-1]) + 1
    series, known = series[:, :last], known[:, :last]
    if known.all():
        return series
    at = np.arange(last)
    return np.stack([np.interp(at, at[k], v[k]) for v, k in zip(series, known, strict=True)])


def tree_values(trees: Sequence[MethodTree], X: Any) -> Array:
    """Return the numbers that trees make of series.

    Parameters
    ----------
    trees : sequence of MethodTree
    X : SeriesTable, or what it reads

    Returns
    -------
    ndarray of shape (n, len(trees))

    Examples
    --------
    >>> from parsimon.features.series import parse_tree
    >>> tree_values([parse_tree("difference > mean"), parse_tree("maximum")], [[1.0, 2.0, 4.0]])
    array([[1.5, 4. ]])
    """
    table = X if isinstance(X, SeriesTable) else SeriesTable(X)
    found = np.empty((table.n_series, len(trees)))
    by_channel: dict[int, list[int]] = {}
    chains: list[Chain] = []
    for place, tree in enumerate(trees):
        channel, chain = channel_and_chain(tree, table)
        by_channel.setdefault(channel, []).append(place)
        chains.append(chain)
    for channel, places in by_channel.items():
        found[:, places] = chain_values(table.signals[channel], [chains[p] for p in places])
    # A number beyond what can be squared would make every model infinite.
    return np.clip(np.nan_to_num(found, nan=0.0), -1e100, 1e100)


def channel_and_chain(tree: MethodTree, table: SeriesTable) -> tuple[int, Chain]:
    """Return the channel that a tree looks at, the first if it names none, and its other steps."""
    if tree.steps[0].name != "channel":
        return 0, tree.steps
    channel = int(tree.steps[0].options[0])
    if channel >= table.n_channels:
        raise InvalidInputError(
            f"{tree} needs channel {channel}, but there are {table.n_channels}; give them all."
        )
    return channel, tree.steps[1:]


def chain_values(signal: SeriesSignal, chains: Sequence[Chain]) -> Array:
    """Return the values of chains that end in a function; common first steps are taken once.

    Shapes: -> (n, len(chains)).
    """
    found = np.empty((signal.n, len(chains)))
    groups: dict[tuple[str, tuple[Any, ...]], list[int]] = {}
    for place, chain in enumerate(chains):
        groups.setdefault((chain[0].name, chain[0].options), []).append(place)
    for places in groups.values():
        first = chains[places[0]][0]
        if first.method.kind == "function":
            for rows, values, positions in signal.blocks:
                column = first.method.apply(values, positions, *first.options)
                found[rows[:, None], places] = column[:, None]
        elif first.method.kind == "transformation":
            rests = [chains[place][1:] for place in places]
            found[:, places] = chain_values(transform_signal(signal, first), rests)
        else:
            _fill_windows(signal, chains, places, found)
    return found


def transform_signal(signal: SeriesSignal, step: TreeStep) -> SeriesSignal:
    """Return what a transformation makes of every series."""
    apply = step.method.apply
    return SeriesSignal(
        signal.n,
        tuple(
            Block(rows, *apply(values, positions, *step.options))
            for rows, values, positions in signal.blocks
        ),
    )


def _fill_windows(
    signal: SeriesSignal, chains: Sequence[Chain], places: list[int], found: Array
) -> None:
    """Fill in the columns of chains that begin with one windowing, whatever is inside."""
    first = chains[places[0]][0]
    parts, places_of_parts = _cut_windows(signal, first)
    by_inside: dict[Chain, list[int]] = {}
    for place in places:
        by_inside.setdefault(chains[place][0].inside, []).append(place)
    pieces = [inside for inside in by_inside if inside[-1].method.kind != "function"]
    reduced = [inside for inside in by_inside if inside[-1].method.kind == "function"]
    columns = chain_values(parts, reduced)
    for at, inside in enumerate(reduced):
        own = by_inside[inside]
        made = _join_numbers(signal, places_of_parts, columns[:, at].copy())
        found[:, own] = chain_values(made, [chains[p][1:] for p in own])
    for inside in pieces:
        own = by_inside[inside]
        whole = _join_pieces(signal, parts, inside)
        found[:, own] = chain_values(whole, [chains[p][1:] for p in own])


def _cut_windows(signal: SeriesSignal, step: TreeStep) -> tuple[SeriesSignal, "PartPlaces"]:
    """Return windows as series of their own, and where they come from."""
    return (_windows if step.name == "windows" else _segments)(signal, *step.options)


def join_windows(signal: SeriesSignal, step: TreeStep) -> tuple[SeriesSignal, SeriesSignal]:
    """Return the windows of a windowing as series of their own, and the series it makes."""
    parts, places = _cut_windows(signal, step)
    if step.inside[-1].method.kind != "function":
        return parts, _join_pieces(signal, parts, step.inside)
    return parts, _join_numbers(signal, places, chain_values(parts, [step.inside])[:, 0])


def _join_pieces(signal: SeriesSignal, parts: SeriesSignal, inside: Chain) -> SeriesSignal:
    """Return series whose windows were filtered one by one (overlap 1), put together again."""
    for step in inside:
        parts = transform_signal(parts, step)
    blocks = []
    for old, new in zip(signal.blocks, parts.blocks, strict=True):
        values = new.values.reshape(len(old.rows), -1)
        blocks.append(Block(old.rows, values, _shares(values.shape[1])))
    return SeriesSignal(signal.n, tuple(blocks))


# Blocks of as many parts: the number of the first, the rows they come from, where they begin.
PartPlaces = Sequence[tuple[int, Indices, Array]]


def _join_numbers(signal: SeriesSignal, places: PartPlaces, numbers: Array) -> SeriesSignal:
    """Return the series that a number for each part makes."""
    blocks = []
    for first, rows, begins in places:
        own = numbers[first : first + len(rows) * len(begins)]
        blocks.append(Block(rows, own.reshape(len(rows), -1), begins))
    return SeriesSignal(signal.n, tuple(blocks))


def window_places(length: int, share: float, overlap: float) -> tuple[int, Indices]:
    """Return the width of windows and where they begin: j s for j = 0 .. floor((n - w) / s)."""
    width = max(1, min(round(share * length), length))
    stride = max(1, round(width / overlap))
    return width, np.arange(0, length - width + 1, stride)


def _windows(signal: SeriesSignal, share: float, overlap: float) -> tuple[SeriesSignal, PartPlaces]:
    """Return the windows as series of their own, and where they come from."""
    blocks, places, begin = [], [], 0
    for rows, values, positions in signal.blocks:
        width, starts = window_places(values.shape[1], share, overlap)
        inside = values[:, starts[:, None] + np.arange(width)].reshape(-1, width)
        blocks.append(Block(np.arange(begin, begin + len(inside)), inside, _shares(width)))
        places.append((begin, rows, positions[starts]))
        begin += len(inside)
    return SeriesSignal(begin, tuple(blocks)), places


def _segments(signal: SeriesSignal, by: str, count: int) -> tuple[SeriesSignal, PartPlaces]:
    """Return the intervals of every series as series, and where they come from."""
    pieces: list[Array] = []
    places = []
    for rows, values, positions in signal.blocks:
        for row, series in zip(rows, values, strict=True):
            cuts = direction_cuts(series) if by == "direction" else level_cuts(series, count)
            places.append((len(pieces), np.array([row]), positions[cuts[:-1]]))
            pieces += [series[first:last] for first, last in pairwise(cuts)]
    lengths = np.array([len(piece) for piece in pieces])
    groups = [np.flatnonzero(lengths == length) for length in np.unique(lengths)]
    blocks = tuple(
        Block(own, np.stack([pieces[at] for at in own]), _shares(len(pieces[own[0]])))
        for own in groups
    )
    return SeriesSignal(len(pieces), blocks), places


def direction_cuts(row: Array) -> Indices:
    """Return where a series changes between rise and fall, its begin and its end included.

    Signal to symbol (section 7.2.3): a point belongs to the interval as long as the sign of the
    step to it stays; level steps go on with what was.
    """
    sign = np.sign(np.diff(row))
    for at in np.flatnonzero(sign == 0):
        sign[at] = sign[at - 1] if at else 0.0
    changes = np.flatnonzero(sign[1:] != sign[:-1]) + 2
    return np.concatenate(([0], changes, [len(row)])).astype(np.intp)


def level_cuts(row: Array, count: int) -> Indices:
    """Return where a series passes from one interval of its values to another.

    The values are put into `count` intervals by one-dimensional k-means from equal quantiles, and
    projected onto the axis (Fig. 7.6).
    """
    centres = np.quantile(row, (np.arange(count) + 0.5) / count)
    for _ in range(20):
        edges = (centres[1:] + centres[:-1]) / 2.0
        code = np.searchsorted(edges, row)
        sums = np.bincount(code, row, count)
        sizes = np.bincount(code, minlength=count)
        moved = np.where(sizes > 0, sums / np.maximum(sizes, 1), centres)
        if np.array_equal(moved, centres):
            break
        centres = np.sort(moved)
    changes = np.flatnonzero(code[1:] != code[:-1]) + 1
    return np.concatenate(([0], changes, [len(row)])).astype(np.intp)


def tree_cost(trees: MethodTree | Sequence[MethodTree], length: int) -> float:
    """Return the operations that trees need for one series; common first steps count once.

    A step costs L, L log2 L or L^p for a series of L values, as its method grows; windowing costs
    what is inside for the length of a window, times the number of windows.

    Parameters
    ----------
    trees : MethodTree or sequence of MethodTree
    length : int
        Of the series.

    Examples
    --------
    >>> from parsimon.features.series import parse_tree
    >>> tree_cost(parse_tree("mean"), 100)
    100.0
    >>> tree_cost([parse_tree("difference > mean"), parse_tree("difference > maximum")], 100)
    298.0
    """
    chains = [trees.steps] if isinstance(trees, MethodTree) else [tree.steps for tree in trees]
    return _chains_cost(chains, length)


def _chains_cost(chains: Sequence[tuple[TreeStep, ...]], length: int) -> float:
    groups: dict[TreeStep, list[tuple[TreeStep, ...]]] = {}
    for chain in chains:
        groups.setdefault(chain[0], []).append(chain[1:])
    total = 0.0
    for first, rests in groups.items():
        own, made = _step_cost(first, length)
        total += own
        left = [rest for rest in rests if rest]
        total += _chains_cost(left, made) if left else 0.0
    return total


def _step_cost(step: TreeStep, length: int) -> tuple[float, int]:
    """Return the operations of a step for a series, and the length of what it makes."""
    method = step.method
    if step.name == "windows":
        width, starts = window_places(length, *step.options)
        inner = _chains_cost([step.inside], width)
        ends = step.inside[-1].method.kind == "function"
        return len(starts) * inner, len(starts) if ends else length
    if step.name == "segments":
        return length + _chains_cost([step.inside], length), max(1, length // 2)
    if step.name in ("channel", "interval"):
        operations = 0.0
    elif method.growth == "log":
        operations = length * log(max(length, 2), 2)
    else:
        operations = float(length) ** float(method.growth)
    made = length if method.length is None else method.length(length, *step.options)
    return operations, made


# Steps after which positions are no longer those of the series.
_OFF_AXIS = ("spectrum", "phase", "correlation", "cosine", "bands", "haar", "mismatch")


def looked_at(tree: MethodTree, length: int | None = None) -> tuple[float, float]:
    """Return the part of the series that a tree looks at before it leaves the time axis.

    Parameters
    ----------
    tree : MethodTree
    length : int, optional
        Of the series; with it the reach of steps and bends over several values is counted in.

    Returns
    -------
    begin, end : float
        Shares of the series.

    Examples
    --------
    >>> from parsimon.features.series import parse_tree
    >>> tree = parse_tree("difference(0.1) > interval(0.25, 0.5) > mean")
    >>> looked_at(tree)
    (0.25, 0.5)
    >>> looked_at(tree, 100)
    (0.23, 0.55)
    """
    begin, end = 0.0, 1.0
    first, n, reach = 0, length or 0, 0
    for each in tree.steps:
        if each.name in _OFF_AXIS or each.inside:
            break
        if each.name == "interval":
            low, high = each.options
            begin, end = begin + low * (end - begin), begin + high * (end - begin)
            inside = bounds_of(low, high, max(n, 1))
            first, n = first + inside[0], inside[1] - inside[0]
        elif "lag" in each.method.options and each.name in ("difference", "bend"):
            times = 2 if each.name == "bend" else 1
            taken = min(times * steps_of(each.options[0], max(n, 2)), max(n - 1, 0))
            n, reach = n - taken, reach + taken
    if not length:
        return begin, end
    return first / length, min(1.0, (first + n + reach) / length)
