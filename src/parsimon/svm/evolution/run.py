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
    """Maximise a dual by evolution."""
    if settings.strategy == "memetic":
        return memetic(
            dual, settings, concave=concave, rng=np.random.default_rng(seed_sequence(random_state))
        )
    return plain(dual, settings, random_state=random_state)
