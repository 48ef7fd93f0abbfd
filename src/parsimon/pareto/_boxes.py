"""The compiled index behind `Archive`: members kept in boxes, so that most are never looked at.

Neighbouring members share a box of at most `BOX_SIZE` points whose corners are known. A candidate
compares itself with the corners first: if the box's worst corner dominates it, it is out; if
neither side can win, the box is skipped; only the few boxes in between are read. The idea is that
of the ND-tree (Jaszkiewicz and Lust 2018, IEEE Trans. Evol. Comput. 22:778-791) with one level,
which suits the front sizes of model selection.

Before any box, a candidate meets the guards: points that rejected others most recently, because
the next one is likely to fail at them too. A guard stays valid even after it has left the archive:
whatever pushed it out dominates it, hence dominates all that it dominates.

The index is two arrays, because every further argument costs more than a rejection:

- ``points[b]``: best corner, worst corner, then the members of box b; shape (BOX_SIZE + 2, m)
- ``numbers[b]``: how many members box b has, then their running numbers; shape (BOX_SIZE + 1,)

Box 0 is the head: its points are the guards (infinite where unused), its numbers the state of the
index (see the places below). The members are in the boxes 1 to numbers[0, N_BOXES] - 1.
"""

import numpy as np

from parsimon._compiled import compiled
from parsimon._typing import AnyArray, Array, Mask

BOX_SIZE = 64
N_GUARDS = 8

# Places in the head; constants of the module, so that numba folds them.
N_BOXES, N_OFFERED, SIZE, KEEP_TIES, N_BATCHES = 0, 1, 2, 3, 4

# What `insert_batch` returns instead of a count.
NOT_FINITE, NO_ROOM = -1, -2

# Places inside a box.
_BEST, _WORST, _MEMBERS = 0, 1, 2

_INCOMPARABLE, _BETTER, _WORSE, _EQUAL = 0, 1, 2, 3
_UNDECIDED = _EQUAL


@compiled
def insert_batch(
    points: Array, numbers: AnyArray, batch: Array, entered: Mask, left: AnyArray
) -> int:
    """Offer every row of a batch; fill `entered` and `left`; return how many members left.

    Nothing changes if a value is not finite (NOT_FINITE is returned), or if the arrays lack room
    for one more box per row and for all members to leave (NO_ROOM).
    """
    n_boxes, first, size = numbers[0, N_BOXES], numbers[0, N_OFFERED], numbers[0, SIZE]
    if not _all_finite(batch):
        return NOT_FINITE
    if n_boxes + batch.shape[0] > points.shape[0] or size > left.shape[0]:
        return NO_ROOM
    turn = numbers[0, N_BATCHES]
    if turn % 64 == 0 or turn & (turn - 1) == 0:  # often at first, when better guards are found
        _promote(points, batch, entered)
    _screen(points, _MEMBERS, batch, batch.shape[0], entered)
    n_left = 0
    for row in range(batch.shape[0]):
        if not entered[row]:
            continue
        if _guarded(points, batch, row):
            entered[row] = False
            continue
        entered[row], n_boxes, n_left, n_removed = _compete(
            points, numbers, n_boxes, batch, row, entered, left, n_left
        )
        size -= n_removed
        if entered[row]:
            size += 1
            n_boxes = _place(points, numbers, n_boxes, batch, row, first + row)
    numbers[0, N_BOXES], numbers[0, SIZE] = n_boxes, size
    numbers[0, N_OFFERED] = first + batch.shape[0]
    numbers[0, N_BATCHES] = turn + 1
    return n_left


@compiled
def _compete(
    points: Array,
    numbers: AnyArray,
    n_boxes: int,
    batch: Array,
    row: int,
    entered: Mask,
    left: AnyArray,
    n_left: int,
) -> tuple[bool, int, int, int]:
    """Compare one candidate with all boxes; return whether it is accepted, and counts."""
    accepted, n_removed, box = True, 0, 1
    while accepted and box < n_boxes:
        relation = _box_relation(points, box, batch, row)
        if relation == _WORSE:
            accepted = False
            _post_guard(points, box, _WORST)
        elif relation == _UNDECIDED:
            count = numbers[box, 0]
            accepted, n_left = _meet_members(
                points, numbers, box, batch, row, entered, left, n_left
            )
            n_removed += count - numbers[box, 0]
            if numbers[box, 0] == 0:
                n_boxes -= 1
                _copy_box(points, numbers, n_boxes, box)
                continue
            if numbers[box, 0] < count:
                _tighten(points, numbers, box)
        box += 1
    return accepted, n_boxes, n_left, n_removed


@compiled
def _all_finite(batch: Array) -> bool:
    n_bad = 0
    for value in batch.ravel():
        n_bad += not abs(value) < np.inf  # no early exit, so that it runs on vectors
    return n_bad == 0


@compiled
def _screen(points: Array, guard: int, batch: Array, n_rows: int, entered: Mask) -> int:
    """Reject at one go which of the first rows one guard dominates; return how many these are."""
    rejected = 0
    if batch.shape[1] == 3:  # written out, because this loop sees every candidate
        x, y, z = points[0, guard, 0], points[0, guard, 1], points[0, guard, 2]
        for row in range(n_rows):
            a, b, c = batch[row, 0], batch[row, 1], batch[row, 2]
            lost = (a >= x) & (b >= y) & (c >= z) & ((a > x) | (b > y) | (c > z))
            entered[row] = not lost
            rejected += lost
        return rejected
    for row in range(n_rows):
        no_better, worse = True, False
        for k in range(batch.shape[1]):
            no_better &= batch[row, k] >= points[0, guard, k]
            worse |= batch[row, k] > points[0, guard, k]
        entered[row] = not (no_better & worse)
        rejected += no_better & worse
    return rejected


@compiled
def _promote(points: Array, batch: Array, entered: Mask) -> None:
    """Let the guard that rejects most of a sample be the first; it screens the next batches."""
    best, most, n_rows = _MEMBERS, 0, min(32, batch.shape[0])
    for guard in range(_MEMBERS, _MEMBERS + N_GUARDS):
        rejected = _screen(points, guard, batch, n_rows, entered)
        if rejected > most:
            best, most = guard, rejected
    _swap_guards(points, best, _MEMBERS)


@compiled
def _guarded(points: Array, batch: Array, row: int) -> bool:
    """Tell whether a guard after the first dominates the row; it then moves one place ahead."""
    for guard in range(_MEMBERS + 1, _MEMBERS + N_GUARDS):
        if _relation(points, 0, guard, batch, row) == _WORSE:
            _swap_guards(points, guard, max(guard - 1, _MEMBERS + 1))
            return True
    return False


@compiled
def _swap_guards(points: Array, a: int, b: int) -> None:
    for k in range(points.shape[2]):
        points[0, a, k], points[0, b, k] = points[0, b, k], points[0, a, k]


@compiled
def _post_guard(points: Array, box: int, place: int) -> None:
    """Let a point take the place of the least successful guard."""
    for k in range(points.shape[2]):
        points[0, _MEMBERS + N_GUARDS - 1, k] = points[box, place, k]


@compiled
def _relation(points: Array, box: int, place: int, batch: Array, row: int) -> int:
    """Return how the candidate stands to one stored point."""
    # No early exit: which objective decides is unpredictable, and a wrong guess of the processor
    # costs more than comparing all of a few objectives.
    no_better, no_worse = True, True
    for k in range(batch.shape[1]):
        no_better &= batch[row, k] >= points[box, place, k]
        no_worse &= batch[row, k] <= points[box, place, k]
    return _WORSE * no_better + _BETTER * no_worse


@compiled
def _box_relation(points: Array, box: int, batch: Array, row: int) -> int:
    """Return _WORSE if all of the box dominates the candidate, _INCOMPARABLE if none can."""
    may_lose, may_win, lost = True, True, True
    for k in range(batch.shape[1]):
        may_lose &= points[box, _BEST, k] <= batch[row, k]
        may_win &= points[box, _WORST, k] >= batch[row, k]
        lost &= points[box, _WORST, k] < batch[row, k]
    if lost:
        return _WORSE
    return _UNDECIDED if may_lose or may_win else _INCOMPARABLE


@compiled
def _meet_members(
    points: Array,
    numbers: AnyArray,
    box: int,
    batch: Array,
    row: int,
    entered: Mask,
    left: AnyArray,
    n_left: int,
) -> tuple[bool, int]:
    """Compare the candidate with the members of one box, removing those that it dominates."""
    first, keep_ties = numbers[0, N_OFFERED], numbers[0, KEEP_TIES] == 1
    i = 0
    while i < numbers[box, 0]:
        relation = _relation(points, box, _MEMBERS + i, batch, row)
        if relation == _WORSE or (relation == _EQUAL and not keep_ties):
            _post_guard(points, box, _MEMBERS + i)
            return False, n_left
        if relation == _BETTER:
            number = numbers[box, 1 + i]
            if number >= first:  # it came with this very batch, so it never really entered
                entered[number - first] = False
            else:
                left[n_left] = number
                n_left += 1
            numbers[box, 0] -= 1
            _copy_member(points, numbers, box, numbers[box, 0], box, i)
        else:
            i += 1
    return True, n_left


@compiled
def _place(
    points: Array, numbers: AnyArray, n_boxes: int, batch: Array, row: int, number: int
) -> int:
    """Store the candidate in the box nearest to it, splitting a full one; return n_boxes."""
    if n_boxes == 1:
        numbers[1, 0] = 0
        points[1, _BEST, :] = np.inf
        points[1, _WORST, :] = -np.inf
        n_boxes = 2
    box = _nearest(points, n_boxes, batch, row)
    if numbers[box, 0] == BOX_SIZE:
        _split(points, numbers, box, n_boxes)
        if _distance(points, n_boxes, batch, row) < _distance(points, box, batch, row):
            box = n_boxes
        n_boxes += 1
    count = numbers[box, 0]
    for k in range(batch.shape[1]):
        value = batch[row, k]
        points[box, _MEMBERS + count, k] = value
        points[box, _BEST, k] = min(points[box, _BEST, k], value)
        points[box, _WORST, k] = max(points[box, _WORST, k], value)
    numbers[box, 1 + count] = number
    numbers[box, 0] = count + 1
    return n_boxes


@compiled
def _nearest(points: Array, n_boxes: int, batch: Array, row: int) -> int:
    best, least = 1, np.inf
    for box in range(1, n_boxes):
        distance = _distance(points, box, batch, row)
        if distance < least:
            best, least = box, distance
    return best


@compiled
def _distance(points: Array, box: int, batch: Array, row: int) -> float:
    """Return four times the squared distance to the middle of the box."""
    total = 0.0
    for k in range(batch.shape[1]):
        gap = 2.0 * batch[row, k] - points[box, _BEST, k] - points[box, _WORST, k]
        total += gap * gap
    return total


@compiled
def _split(points: Array, numbers: AnyArray, box: int, new: int) -> None:
    """Move the members beyond the middle of the box's widest side into the box `new`."""
    widest, width = 0, 0.0
    for k in range(points.shape[2]):
        if points[box, _WORST, k] - points[box, _BEST, k] > width:
            widest, width = k, points[box, _WORST, k] - points[box, _BEST, k]
    middle = points[box, _BEST, widest] + 0.5 * width
    stay, move = 0, 0
    for i in range(numbers[box, 0]):
        # Equal members (ties that are kept) have no middle: every second one moves.
        beyond = points[box, _MEMBERS + i, widest] > middle if width > 0 else i % 2 == 1
        if beyond:
            _copy_member(points, numbers, box, i, new, move)
            move += 1
        else:
            _copy_member(points, numbers, box, i, box, stay)
            stay += 1
    numbers[box, 0], numbers[new, 0] = stay, move
    _tighten(points, numbers, box)
    _tighten(points, numbers, new)


@compiled
def _tighten(points: Array, numbers: AnyArray, box: int) -> None:
    """Draw the corners of a box close around its members."""
    for k in range(points.shape[2]):
        best = worst = points[box, _MEMBERS, k]
        for i in range(1, numbers[box, 0]):
            best = min(best, points[box, _MEMBERS + i, k])
            worst = max(worst, points[box, _MEMBERS + i, k])
        points[box, _BEST, k], points[box, _WORST, k] = best, worst


@compiled
def _copy_member(
    points: Array, numbers: AnyArray, box: int, i: int, target: int, place: int
) -> None:
    for k in range(points.shape[2]):
        points[target, _MEMBERS + place, k] = points[box, _MEMBERS + i, k]
    numbers[target, 1 + place] = numbers[box, 1 + i]


@compiled
def _copy_box(points: Array, numbers: AnyArray, box: int, target: int) -> None:
    for i in range(numbers[box, 0]):
        _copy_member(points, numbers, box, i, target, i)
    numbers[target, 0] = numbers[box, 0]
    for k in range(points.shape[2]):
        points[target, _BEST, k] = points[box, _BEST, k]
        points[target, _WORST, k] = points[box, _WORST, k]
