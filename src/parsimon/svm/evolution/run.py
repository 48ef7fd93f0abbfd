"""One call for every strategy."""

import numpy as np

from parsimon._random import Seed, seed_sequence
from parsimon.svm.dual import Dual
from parsimon.svm.evolution.evolved import Evolved
from parsimon.svm.evolution.memetic import memetic
from parsimon.svm.evolution.plain import plain
from parsimon.svm.evolution.settings import Settings


def evolve(
    dual: Dual, settings: Settings, *, concave: bool = False, random_state: Seed = None
) -> Evolved:
    """Maximise a dual by evolution.

    Parameters
    ----------
    dual : Dual
        With ``settings.printed`` its equality must be False: the source drops it.
    settings : Settings
    concave : bool
        Whether the kernel is known to be positive semi-definite, so that a stationary point is
        the maximum.
    random_state : int, Generator, SeedSequence, RandomState or None

    Returns
    -------
    Evolved

    Examples
    --------
    >>> dual = Dual(np.eye(2), np.array([1.0, -1.0]), np.array([3.0, 3.0]))
    >>> evolve(dual, Settings(), concave=True).alpha
    array([1., 1.])
    """
    if settings.strategy == "memetic":
        return memetic(
            dual, settings, concave=concave, rng=np.random.default_rng(seed_sequence(random_state))
        )
    return plain(dual, settings, random_state=random_state)
