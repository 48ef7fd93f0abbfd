"""When a search has come to rest: its best no longer gets better."""

import moocore
import numpy as np

from parsimon._typing import Array


def has_improved(before: Array, after: Array, tolerance: float) -> bool:
    """Tell whether the second set of best solutions is better than the first.

    While nothing keeps its constraints, the least violation must fall. Then, for one objective,
    the best value must fall; for several, the hypervolume must grow. Hypervolumes are measured
    from a point a tenth of their common width beyond both sets.

    Shapes: before, after (n, m + 1).
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
