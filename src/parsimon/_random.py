"""One way to turn what a user gives as a seed into NumPy generators."""

from numbers import Integral
from typing import TypeAlias

import numpy as np

Seed: TypeAlias = (
    int | np.integer | np.random.SeedSequence | np.random.Generator | np.random.RandomState | None
)


def seed_sequence(random_state: Seed) -> np.random.SeedSequence:
    """Return the seed sequence behind `random_state`.

    A sequence that is given is copied: children of it would depend on how many it had before, and
    a second fit would not be the first. A generator or a `RandomState` gives a fresh sequence
    drawn from it, so that calling twice with the same object gives different streams, as
    scikit-learn's users expect.
    """
    if isinstance(random_state, np.random.SeedSequence):
        return np.random.SeedSequence(
            random_state.entropy,
            spawn_key=random_state.spawn_key,
            pool_size=random_state.pool_size,
        )
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, Integral):
        return np.random.SeedSequence(int(random_state))
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(2**31 - 1)))
    raise TypeError(
        f"random_state must be None, an integer, a Generator, a SeedSequence or a RandomState; "
        f"got {type(random_state).__name__}."
    )


def generator(random_state: Seed) -> np.random.Generator:
    """Return a generator; one that is given is used as it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_sequence(random_state))
