"""One way to turn what a user gives as a seed into NumPy generators."""

from numbers import Integral
from typing import Any, TypeAlias, get_args

import numpy as np

from parsimon.exceptions import InvalidInputError

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
    check_seed(random_state)
    if isinstance(random_state, np.random.SeedSequence):
        return np.random.SeedSequence(
            random_state.entropy,
            spawn_key=random_state.spawn_key,
            pool_size=random_state.pool_size,
        )
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(2**31 - 1)))
    return np.random.SeedSequence(int(random_state))


def check_seed(random_state: Any) -> None:
    """Refuse what is no seed, whether or not anything is drawn from it."""
    if isinstance(random_state, Integral) and random_state < 0:
        raise InvalidInputError(
            f"A seed (random_state) must be zero or a positive integer, got {random_state}."
        )
    if not isinstance(random_state, (*get_args(Seed), Integral)):
        raise InvalidInputError(
            "A seed (random_state) must be None, an integer, a Generator, a SeedSequence or a "
            f"RandomState; got {type(random_state).__name__}."
        )


def generator(random_state: Seed) -> np.random.Generator:
    """Return a generator; one that is given is used as it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_sequence(random_state))
