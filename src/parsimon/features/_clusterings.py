"""Clusterings of many small tables at once, and what they are worth.

A batch is an array (B, s, n): B tables of s columns and n rows, columns first. Each table is
clustered by itself, whatever else is in the batch, to the same bits. `cluster_tables` is the door:
k-means, Gaussian mixtures or single link, each with the index of Davies and Bouldin, the sum of
squares within groups and, for single link, the longest link.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from parsimon._typing import AnyArray, Array, Indices, Mask

Clusterer = Literal["k-means", "gaussian mixture", "single link"]

# Numbers that a step works on at once: about what a processor keeps near.
_AT_ONCE = 500_000
# Steps for all starts, before most of them are given up.
_FIRST_STEPS = 3
_MOST_STEPS = 300
_MOST_MOVES = 200
_MOST_EXPECTATIONS = 200
# A move of a row must lower the sum of squares by such a share.
_LEAST_GAIN = 1e-10
# Sums of squares that are as near as this are equal.
_EQUAL = 1e-9
# As in scikit-learn: growth of the mean log likelihood at which EM ends, and what is added to each
# variance, here as a share of the column's.
_GROWTH, _RIDGE = 1e-3, 1e-6


class Groups(NamedTuple):
    """Groups of the rows of B tables.

    labels (B, n): From 0.
    davies_bouldin (B,): Infinite where there are fewer groups than wanted.
    within (B,): Squared distances of the rows from the centres of their groups, summed.
    longest_link (B,): The longest distance that must be crossed inside a group; NaN except for
        single link.
    """

    labels: Indices
    davies_bouldin: Array
    within: Array
    longest_link: Array


def cluster_tables(tables: Array, clusterer: Clusterer, starts: Array) -> Groups:
    """Return groups of the rows of each table.

    Shapes: tables (B, s, n), columns with mean 0; starts (n_init, k) uniform random numbers, which
    tell how many groups are wanted even where nothing is random.
    """
    n_init, k = starts.shape
    step = max(1, _AT_ONCE // (n_init * k * tables.shape[2]))
    parts = []
    for begin in range(0, len(tables), step):
        part = np.ascontiguousarray(tables[begin : begin + step])
        labels, longest = CLUSTERERS[clusterer](part, starts)
        parts.append((labels, *judge_groups(part, labels, k), longest))
    return Groups(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def judge_groups(tables: Array, labels: AnyArray, k: int) -> tuple[Array, Array]:
    """Return index of Davies and Bouldin and sum of squares within groups, (B,) each.

    Shapes: tables (B, s, n), labels (B, n).
    """
    rows = tables.transpose(0, 2, 1)
    member = _membership(labels[:, None], k)
    count = member.sum(axis=2)
    centres = (member @ rows) / np.maximum(count, 1.0)[..., None]
    own = np.take_along_axis(centres, labels.astype(np.intp)[..., None], axis=1)
    squares = ((rows - own) ** 2).sum(axis=2)
    spread = (member @ np.sqrt(squares)[..., None])[..., 0] / np.maximum(count, 1.0)
    gaps = np.sqrt(((centres[:, :, None] - centres[:, None]) ** 2).sum(axis=3))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (spread[:, :, None] + spread[:, None]) / gaps
    ratios[:, np.arange(k), np.arange(k)] = -np.inf
    index = np.where(np.isnan(ratios), np.inf, ratios).max(axis=2).mean(axis=1)
    # A single group has nothing to be confused with.
    index = np.where((count > 0).all(axis=1), index, np.inf) if k > 1 else np.zeros(len(tables))
    return index, squares.sum(axis=1)


def _membership(labels: AnyArray, k: int) -> Array:
    """Return 1 where a row is in a group: (B, r, n) -> (B, k * r, n), groups first."""
    b, r, n = labels.shape
    member = np.empty((b, k, r, n))
    for group in range(k):
        np.equal(labels, group, out=member[:, group])
    return member.reshape(b, k * r, n)


def _best_by_squares(tables: Array, starts: Array) -> tuple[Indices, Array]:
    """Return the best k-means clustering of each table, and no links.

    All starts take a few steps of Lloyd's, a quarter of them goes on to the end, and half of
    these is improved further by moves of single rows.
    """
    n_init, k = starts.shape
    rows = np.ascontiguousarray(tables.transpose(0, 2, 1))
    centres = _spread_out(tables, rows, starts)
    for _ in range(_FIRST_STEPS):
        centres = _centres(rows, _nearest(tables, centres)[0], k)
    near = _nearest(tables, centres)[1].sum(axis=2)
    kept = _least(near, -(-n_init // 4))
    centres = np.take_along_axis(centres, kept[:, None, :, None], axis=2)
    labels, near = _lloyd(tables, rows, centres)
    kept = _least(near, -(-n_init // 8))
    labels = np.take_along_axis(labels, kept[..., None], axis=1)
    labels, near = _move_rows(tables, rows, labels, k)
    best = _clearest(tables, _in_order(labels, k), near, k)
    return best, np.full(len(tables), np.nan)


def _in_order(labels: AnyArray, k: int) -> Indices:
    """Return labels such that groups are numbered as they occur: (B, r, n)."""
    b, r, n = labels.shape
    member = _membership(labels, k)
    first = np.where(member.any(axis=2), member.argmax(axis=2), n).reshape(b, k, r)
    number = first.argsort(axis=1, kind="stable").argsort(axis=1)
    return np.take_along_axis(number.transpose(0, 2, 1), labels.astype(np.intp), axis=2)


def _clearest(tables: Array, labels: Indices, sums: Array, k: int) -> Indices:
    """Return the labels of the least sum, (B, n); of equal ones those of the clearest groups.

    Shapes: labels (B, r, n), sums (B, r). On a lattice many clusterings are best.
    """
    least = sums.min(axis=1, keepdims=True)
    equal = sums <= least + _EQUAL * np.abs(least) + np.finfo(float).tiny
    place = equal.argmax(axis=1)
    best = np.take_along_axis(labels, place[:, None, None], axis=1)[:, 0]
    other = equal & (labels != best[:, None]).any(axis=2)
    for row in np.flatnonzero(other.any(axis=1)):
        tied = labels[row, equal[row]]
        index, _ = judge_groups(np.repeat(tables[row][None], len(tied), axis=0), tied, k)
        best[row] = tied[index.round(9).argmin()]
    return best


def _least(values: Array, n: int) -> Indices:
    """Return the places of the n least of each row, equal ones in their order."""
    return np.argsort(values, axis=1, kind="stable")[:, :n]


def _spread_out(tables: Array, rows: Array, starts: Array) -> Array:
    """Return rows that are far apart as first centres, (B, k, r, s): k-means++.

    The same random numbers serve every table.

    Shapes: tables (B, s, n), rows (B, n, s), starts (r, k).
    """
    b, n, s = rows.shape
    r, k = starts.shape
    squares = (tables**2).sum(axis=1)
    which = np.arange(b)[:, None]
    centres = np.empty((b, k, r, s))
    taken = np.broadcast_to((starts[:, 0] * n).astype(np.intp), (b, r))
    near = np.full((b, r, n), np.inf)
    for group in range(k):
        if group:
            total = near.cumsum(axis=2)
            drawn = (starts[:, group] * total[:, :, -1])[..., None]
            taken = np.minimum((total <= drawn).sum(axis=2), n - 1)
        centres[:, group] = chosen = rows[which, taken]
        distance = chosen @ tables
        distance *= -2.0
        distance += squares[:, None]
        distance += squares[which, taken][..., None]
        np.minimum(near, np.maximum(distance, 0.0, out=distance), out=near)
    return centres


def _nearest(tables: Array, centres: Array) -> tuple[AnyArray, Array]:
    """Return labels, (B, r, n), and squared distances but for those of the rows from 0."""
    b, k, r, s = centres.shape
    flat = centres.reshape(b, k * r, s)
    score = flat @ tables
    score *= -2.0
    score += (flat**2).sum(axis=2)[..., None]
    score = score.reshape(b, k, r, -1)
    near = score[:, 0].copy()
    labels = np.zeros(near.shape, dtype=np.min_scalar_type(k))
    for group in range(1, k):
        np.copyto(labels, group, where=score[:, group] < near, casting="unsafe")
        np.minimum(near, score[:, group], out=near)
    return labels, near


def _centres(rows: Array, labels: AnyArray, k: int) -> Array:
    """Return the means of groups, (B, k, r, s); 0 for a group without rows."""
    b, r, _ = labels.shape
    member = _membership(labels, k)
    # By a product as well, which is quicker than a sum.
    count = member @ np.ones(member.shape[2])
    means: Array = (member @ rows) / np.maximum(count, 1.0)[..., None]
    return means.reshape(b, k, r, -1)


def _lloyd(tables: Array, rows: Array, centres: Array) -> tuple[AnyArray, Array]:
    """Return labels (B, r, n) and sums (B, r) when nothing changes any more."""
    k = centres.shape[1]
    labels, near = _nearest(tables, centres)
    found, sums = labels.copy(), near.sum(axis=2)
    going = np.arange(len(tables))
    for _ in range(_MOST_STEPS):
        new, near = _nearest(tables, _centres(rows, labels, k))
        changed: Mask = (new != labels).any(axis=(1, 2))
        found[going], sums[going] = new, near.sum(axis=2)
        labels = new
        if not changed.any():
            break
        if not changed.all():
            going, labels = going[changed], new[changed]
            tables, rows = tables[changed], rows[changed]
    return found, sums


def _move_rows(tables: Array, rows: Array, labels: AnyArray, k: int) -> tuple[AnyArray, Array]:
    """Return labels and sums after moves of single rows, best first, that lower the sum.

    A row that leaves a group of m takes m / (m - 1) of its squared distance with it and brings
    m / (m + 1) of another to the group that it joins (Hartigan 1975): clusterings that Lloyd's
    steps leave as they are can be improved so.
    """
    b, r, _ = labels.shape
    found, sums = labels.copy(), np.empty((b, r))
    squares = (tables**2).sum(axis=1)
    going = np.arange(b)
    for _ in range(_MOST_MOVES):
        part = tables[going], rows[going], squares[going]
        sums[going], gain, target = _best_moves(*part, labels, k)
        place = gain.argmax(axis=2)[..., None]
        gains = np.take_along_axis(gain, place, axis=2)
        worth = gains > _LEAST_GAIN * np.maximum(sums[going], np.finfo(float).tiny)[..., None]
        to = np.take_along_axis(target, place, axis=2)
        old = np.take_along_axis(labels, place, axis=2)
        np.put_along_axis(labels, place, np.where(worth, to, old), axis=2)
        found[going] = labels
        moving = np.asarray(worth.any(axis=(1, 2)))
        going, labels = going[moving], labels[moving]
        if not len(going):
            break
    return found, sums


def _best_moves(
    tables: Array, rows: Array, squares: Array, labels: AnyArray, k: int
) -> tuple[Array, Array, AnyArray]:
    """Return the sums (B, r), and by how much each row's best move lowers them, and whither."""
    b, r, n = labels.shape
    member = _membership(labels, k)
    count = member.sum(axis=2)
    centres = (member @ rows) / np.maximum(count, 1.0)[..., None]
    distance = centres @ tables
    distance *= -2.0
    distance += (centres**2).sum(axis=2)[..., None]
    distance += squares[:, None]
    own = member * distance
    leaving = np.where(count > 1, count / np.maximum(count - 1.0, 1.0), 0.0)
    lost = (own * leaving[..., None]).reshape(b, k, r, n).sum(axis=1)
    distance *= (count / (count + 1.0))[..., None]
    np.copyto(distance, np.inf, where=member > 0)
    joining = distance.reshape(b, k, r, n)
    sums = own.reshape(b, k, r, n).sum(axis=(1, 3))
    return sums, lost - joining.min(axis=1), joining.argmin(axis=1).astype(labels.dtype)


def _by_density(tables: Array, starts: Array) -> tuple[Indices, Array]:
    """Return the groups of Gaussian mixtures with full covariances, by EM from k-means."""
    k = starts.shape[1]
    rows = np.ascontiguousarray(tables.transpose(0, 2, 1))
    labels, no_links = _best_by_squares(tables, starts)
    share = _membership(labels[:, None], k)
    ridge = _RIDGE * tables.var(axis=2)
    level = np.full(len(tables), -np.inf)
    going = np.arange(len(tables))
    for _ in range(_MOST_EXPECTATIONS):
        density = _log_densities(rows[going], share, ridge[going])
        top = density.max(axis=1)
        total = top + np.log(np.exp(density - top[:, None]).sum(axis=1))
        labels[going] = density.argmax(axis=1)
        mean = total.mean(axis=1)
        growing: Mask = np.abs(mean - level[going]) >= _GROWTH
        level[going] = mean
        share = np.exp(density - total[:, None])[growing]
        going = going[growing]
        if not len(going):
            break
    return labels, no_links


def _log_densities(rows: Array, share: Array, ridge: Array) -> Array:
    """Return the log of each component's part in the density of each row, (B, k, n).

    Shapes: rows (B, n, s), share (B, k, n) of each row that is a component's, ridge (B, s).
    """
    b, k, n = share.shape
    s = rows.shape[2]
    weight = share.sum(axis=2) + 10 * np.finfo(float).eps
    means = (share @ rows) / weight[..., None]
    density = np.empty((b, k, n))
    for group in range(k):
        off = rows - means[:, group, None]
        part = off * share[:, group, :, None]
        spread = part.transpose(0, 2, 1) @ off / weight[:, group, None, None]
        spread[:, np.arange(s), np.arange(s)] += ridge
        root = np.linalg.cholesky(spread)
        scaled = np.linalg.solve(root, off.transpose(0, 2, 1))
        half_log = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        density[:, group] = -0.5 * (scaled**2).sum(axis=1) - half_log[:, None]
    constant: Array = np.log(weight / n) - 0.5 * s * np.log(2 * np.pi)
    return density + constant[..., None]


def _by_links(tables: Array, starts: Array) -> tuple[Indices, Array]:
    """Return the groups of single link, what paths of short links connect, and the longest link.

    The longest link is the shortest distance for which there are at most k groups, which is the
    k-th longest link of the shortest tree over the rows.
    """
    k = starts.shape[1]
    order, links = _shortest_tree(tables)
    b, n = order.shape
    longest = -np.sort(-links[:, 1:], axis=1)[:, k - 1] if k < n else np.zeros(b)
    # The tree is built from within each group before it leaves it.
    labels = np.empty((b, n), dtype=np.intp)
    np.put_along_axis(labels, order, (links > longest[:, None]).cumsum(axis=1), axis=1)
    return labels, longest


def _shortest_tree(tables: Array) -> tuple[Indices, Array]:
    """Return rows in the order of Prim's tree, and the link by which each came; (B, n) each."""
    b, _, n = tables.shape
    order, links = np.zeros((b, n), dtype=np.intp), np.zeros((b, n))
    which = np.arange(b)
    near = np.full((b, n), np.inf)
    outside = np.ones((b, n), dtype=np.bool_)
    for place in range(n):
        if place:
            order[:, place] = near.argmin(axis=1)
        last = order[:, place]
        links[:, place] = 0.0 if place == 0 else np.sqrt(near[which, last])
        outside[which, last] = False
        squares = ((tables - tables[which, :, last][..., None]) ** 2).sum(axis=1)
        np.minimum(near, squares, out=near, where=outside)
        near[which, last] = np.inf
    return order, links


CLUSTERERS: dict[Clusterer, Callable[[Array, Array], tuple[Indices, Array]]] = {
    "k-means": _best_by_squares,
    "gaussian mixture": _by_density,
    "single link": _by_links,
}
