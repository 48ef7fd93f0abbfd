"""When a search has come to rest: its best no longer gets better."""

import moocore
import numpy as np

from parsimon._typing import Array


def has_improved(before: Array, after: Array, tolerance: float) -> bool:
    """Tell whether the second set of best solutions is better than the first.

    While nothing keeps its constraints, the least violation must fall. Then, for one objective,
    the best value must fall; for several, the hypervolume must grow. Hypervolumes are measured
    from a point a tenth of their common width beyond both sets.

    Parameters
    ----------
    before, after : ndarray of shape (n, m + 1) and (k, m + 1)
        Minimised values and, in the last column, violations.
    tolerance : float
        By which share the measure must change to count.

    Examples
    --------
    >>> front = np.array([[0.0, 1, 0], [1, 0, 0]])
    >>> has_improved(front, np.array([[0.0, 1, 0], [0.5, 0.4, 0], [1, 0, 0]]), 0.01)
    True
    >>> has_improved(front, front, 0.0)
    False
    """
    worst, now = before[:, -1].min(), after[:, -1].min()
    if worst > 0 or now > 0:
        return bool(now < worst * (1 - tolerance))
    old, new = before[before[:, -1] <= 0, :-1], after[after[:, -1] <= 0, :-1]
    if old.shape[1] == 1:
        return bool(new.min() < old.min() - tolerance * abs(old.min()))
    both = np.concatenate((old, new))
    width = np.ptp(both, axis=0)
    width[width == 0] = 1.0
    reference = (both.max(axis=0) + 0.1 * width) / width
    volumes = [moocore.hypervolume(values / width, ref=reference) for values in (old, new)]
    return bool(volumes[1] > volumes[0] * (1 + tolerance))
