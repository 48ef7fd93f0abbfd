"""The generating algorithm before YAGGA2 (Mierswa 2009, section 6.4): features are switched.

Those that are switched off stay and may come back, and none is compared with another.
"""

from typing import Any

import numpy as np

from parsimon.features import Expression, ParetoConstructor
from parsimon.features.feature_sets import FeatureEvolution, FeatureSet

# As often as YAGGA2 does.
_CONSTRUCTED = 0.25


class Switched(tuple[Expression, ...]):
    """A set of features, with those that were switched off."""

    dormant: FeatureSet

    @classmethod
    def of(cls, features: Any, dormant: Any) -> "Switched":
        """Return a set in the order of its features' names."""
        found = cls(sorted(features, key=lambda each: each.key))
        found.dormant = tuple(sorted(dormant, key=lambda each: each.key))
        return found

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, other) is True and self.dormant == getattr(other, "dormant", ())

    def __hash__(self) -> int:
        return hash((tuple(self), self.dormant))


class OriginalEvolution(FeatureEvolution):
    """Sets whose features are switched on and off, one now and then constructed."""

    def cross(self, first: FeatureSet, second: FeatureSet, rng: np.random.Generator) -> FeatureSet:
        mixed = super().cross(first, second, rng)
        dormant = getattr(first, "dormant", ())
        return Switched.of(mixed, (each for each in dormant if each not in mixed))

    def mutate(self, features: FeatureSet, rng: np.random.Generator) -> FeatureSet:
        dormant = getattr(features, "dormant", ())
        everything = sorted({*features, *dormant}, key=lambda each: each.key)
        chances = rng.random(len(everything)).tolist()
        active = {
            each
            for each, chance in zip(everything, chances, strict=True)
            if (chance < 1.0 / len(everything)) != (each in features)
        }
        active = active or {everything[int(rng.integers(len(everything)))]}
        if rng.random() < _CONSTRUCTED:
            made = self.construct(sorted(active, key=lambda each: each.key), rng)
            active |= {made} if self.problem.is_usable(made) else set()
        return Switched.of(active, (each for each in everything if each not in active))


class SplitConstructor(ParetoConstructor):
    """The search with 30 percent of the rows held out, as in the benchmark since its first run."""

    _held_share = 0.3


class OriginalConstructor(SplitConstructor):
    """The search by the algorithm before YAGGA2."""

    _evolution_type = OriginalEvolution
