"""The loops of `passes`, one join after the other: `passes_compiled` compiles these functions.

They are also used as they are where there is no numba and levels are narrow: a caterpillar has one
join a level.
"""

import math

from parsimon._typing import Array, Indices


def join_upwards(
    left: Indices,
    right: Indices,
    out: Indices,
    row: Indices,
    decay: Array,
    variance: Array,
    mean: Array,
    gain: Array,
    below: Array,
    above: Array,
    contrasts: Array,
    spread: Array,
) -> None:
    """Fill messages, contrasts and their variances, one join after the other."""
    k = mean.shape[1]
    for join in range(len(left)):
        one, two, up = left[join], right[join], out[join]
        g1, v1 = gain[one] * decay[one], above[one]
        if two < 0:
            for j in range(k):
                mean[up, j] = mean[one, j]
            gain[up], below[up] = g1, v1
        else:
            g2, v2 = gain[two] * decay[two], above[two]
            total = g2 * g2 * v1 + g1 * g1 * v2
            nothing = g1 == 0 and g2 == 0
            safe = total if total > 0 else 1.0
            w1, w2 = g1 * v2 / safe, g2 * v1 / safe
            root = math.sqrt(safe)
            c1, c2 = g2 / root, g1 / root
            here = row[join]
            for j in range(k):
                contrasts[here, j] = c1 * mean[one, j] - c2 * mean[two, j]
                mean[up, j] = w1 * mean[one, j] + w2 * mean[two, j]
            spread[here] = 1.0 if nothing else total
            gain[up] = 0.0 if nothing else 1.0
            below[up] = 1.0 if nothing else v1 * v2 / safe
        above[up] = below[up] + gain[up] * gain[up] * variance[up]


def spread_downwards(
    left: Indices, right: Indices, out: Indices, past: Array, mean: Array, spread: Array
) -> None:
    """Add to means and variances what comes from above, parents first."""
    k = mean.shape[1]
    for join in range(len(left) - 1, -1, -1):
        up = out[join]
        for slot in (left[join], right[join]):
            if slot >= 0:
                share = past[slot]
                for j in range(k):
                    mean[slot, j] += share * mean[up, j]
                spread[slot] += share * share * spread[up]
