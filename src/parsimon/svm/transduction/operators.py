"""How machines of a three-sided front are crossed and mutated."""

from dataclasses import dataclass

import numpy as np

from parsimon._options import check_positive, check_probability
from parsimon._typing import AnyArray
from parsimon.pareto.space import Space


@dataclass(frozen=True)
class BlendCrossover:
    """Mix two machines by a random share: margin term and training loss are convex in it."""

    rate: float = 0.9

    def __post_init__(self) -> None:
        check_probability("rate", self.rate)

    def __call__(
        self,
        first: AnyArray,
        second: AnyArray,
        space: Space,  # noqa: ARG002 - an operator takes what all operators take
        rng: np.random.Generator,
    ) -> tuple[AnyArray, AnyArray]:
        share = rng.random((len(first), 1))
        share[rng.random(len(first)) >= self.rate] = 0.0
        step = share * (second - first)
        return first + step, second - step


@dataclass(frozen=True)
class ScaleMutation:
    """Stretch or shrink a machine, and move its bias.

    Stretching trades margin for both losses along the ray of one boundary; the bias moves the
    boundary.

    spread: Standard deviation of the logarithm of the factor.
    shift: Standard deviation of the change of the bias, the last variable, in one child of two.
    """

    spread: float = 0.3
    shift: float = 0.1

    def __post_init__(self) -> None:
        check_positive("spread", self.spread, or_zero=True)
        check_positive("shift", self.shift, or_zero=True)

    def __call__(
        self,
        parents: AnyArray,
        space: Space,  # noqa: ARG002 - an operator takes what all operators take
        rng: np.random.Generator,
    ) -> AnyArray:
        children = parents * np.exp(self.spread * rng.standard_normal((len(parents), 1)))
        moved = rng.random(len(parents)) < 0.5
        children[:, -1] += np.where(moved, self.shift * rng.standard_normal(len(parents)), 0.0)
        return children


@dataclass(frozen=True)
class SignedSparsityMutation:
    """Switch each variable off, on to a uniform value, or to the other sign where it has two.

    The printed operator on multipliers (Mierswa 2009, figure 3.1), and a flip of labels with the
    same probability of 1 / n.
    """

    def __call__(self, parents: AnyArray, space: Space, rng: np.random.Generator) -> AnyArray:
        rate = 1.0 / parents.shape[1]
        switched, flipped = rng.random((2, *parents.shape)) < rate
        drawn = space.sample(len(parents), rng)
        children = np.where(switched, np.where(parents != 0.0, 0.0, drawn), parents)
        return np.where(flipped & (space.lower < 0), 0.0 - children, children)
