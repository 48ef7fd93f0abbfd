"""Mutations: values that turn parents into as many changed children.

Each is called with the parents, shape (n, n_variables), the space, and the generator from which
all chance comes. A search repairs the children, so a mutation may step over the bounds.
"""

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from parsimon._options import check_choice, check_positive, check_probability
from parsimon._typing import AnyArray, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.pareto.space import Bits, Box, Integers, Space
from parsimon.pareto.step_size import OneFifthRule, StepSize


class Mutation(Protocol):
    """Parents in, as many children out; the parents stay as they are."""

    def __call__(self, parents: AnyArray, space: Space, rng: np.random.Generator) -> AnyArray: ...


@dataclass(frozen=True)
class GaussianMutation:
    """Add a normal number to each variable with probability `rate`.

    Its standard deviation is `scale` times the width of the variable's bounds, at first; with
    `adapt` it follows the 1/5 rule (EvoSVM-G of Mierswa 2009, section 3.1).

    Parameters
    ----------
    scale : float
        As a share of upper - lower; as it is where a bound is infinite.
    rate : float
        Probability of each variable.
    adapt : OneFifthRule or None
        How the scale learns from success.

    Examples
    --------
    >>> mutation = GaussianMutation(scale=0.1)
    >>> space, rng = Box(-5, 5, n_variables=2), np.random.default_rng(0)
    >>> float(mutation(np.zeros((1000, 2)), space, rng).std().round(1))
    1.0
    """

    scale: float = 0.1
    rate: float = 1.0
    adapt: OneFifthRule | None = None

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)
        check_probability("rate", self.rate)

    def scaled(self, factor: float) -> Self:
        """Return a copy whose scale is multiplied by `factor`."""
        return replace(self, scale=self.scale * factor)

    def __call__(self, parents: AnyArray, space: Space, rng: np.random.Generator) -> AnyArray:
        span = _box(space, self).span
        steps = rng.standard_normal(parents.shape) * (
            self.scale * np.where(np.isfinite(span), span, 1.0)
        )
        if self.rate < 1:
            steps *= rng.random(parents.shape) < self.rate
        return parents + steps


@dataclass(frozen=True)
class PolynomialMutation:
    """Deb's polynomial mutation, which never leaves the bounds.

    Parameters
    ----------
    eta : float
        Larger means closer to the parent.
    rate : float, optional
        Probability of each variable, 1 / n_variables if left out.

    References
    ----------
    Deb and Goyal (1996), Computer Science and Informatics 26:30-45; the bounded form is
    that of Deb and Agrawal (1999).

    Examples
    --------
    >>> mutation = PolynomialMutation(rate=1)
    >>> mutation(np.full((1, 2), 0.5), Box(0, 1, n_variables=2), np.random.default_rng(0)).round(2)
    array([[0.39, 0.35]])
    """

    eta: float = 20.0
    rate: float | None = None

    def __post_init__(self) -> None:
        check_positive("eta", self.eta, or_zero=True)
        _check_rate(self.rate)

    def __call__(self, parents: AnyArray, space: Space, rng: np.random.Generator) -> AnyArray:
        box = _box(space, self)
        if not box.is_bounded:
            raise InvalidInputError(
                "PolynomialMutation needs finite bounds. Use GaussianMutation without them."
            )
        children = parents.copy()
        # Few entries change, so the powers are taken of those alone.
        entries = _chosen_entries(self.rate, parents, rng)
        columns = entries % parents.shape[1]
        value = children.ravel()[entries]
        place = (value - box.lower[columns]) / box.divisor[columns]
        # Uniform on [-1, 1): the sign is the side of the move, the rest decides its length.
        chance = 2.0 * rng.random(len(entries)) - 1.0
        weight, power = np.abs(chance), self.eta + 1.0
        other_side = 0.5 + np.copysign(place - 0.5, chance * (place - 0.5))
        length = 1.0 - (1.0 - weight + weight * other_side**power) ** (1.0 / power)
        children.ravel()[entries] = value + np.copysign(length, chance) * box.span[columns]
        return children


@dataclass(frozen=True)
class BitFlip:
    """Flip each bit with probability `rate`, 1 / n_variables if left out.

    Examples
    --------
    >>> BitFlip(rate=1)(np.array([[True, False]]), Bits(2), np.random.default_rng(0))
    array([[False,  True]])
    """

    rate: float | None = None

    def __post_init__(self) -> None:
        _check_rate(self.rate)

    def __call__(self, parents: AnyArray, space: Space, rng: np.random.Generator) -> AnyArray:
        if not isinstance(space, Bits):
            raise InvalidInputError(f"BitFlip needs a space of Bits, got {space!r}.")
        return parents ^ _chosen(self.rate, parents, rng)


@dataclass(frozen=True)
class IntegerReset:
    """Replace each variable, with probability `rate`, by a uniform integer.

    rate: Probability of each variable, 1 / n_variables if left out.
    within: Draw between the bounds of the variable, or from its lower bound to one more than
        the largest integer that the parent uses: the mutation of group labels of Mierswa (2009,
        section 9.3), which opens one new group at a time.
    """

    rate: float | None = None
    within: str = "bounds"

    def __post_init__(self) -> None:
        _check_rate(self.rate)
        check_choice("within", self.within, ("bounds", "used"))

    def __call__(self, parents: AnyArray, space: Space, rng: np.random.Generator) -> AnyArray:
        if not isinstance(space, Integers):
            raise InvalidInputError(f"IntegerReset needs a space of Integers, got {space!r}.")
        chosen = _chosen(self.rate, parents, rng)
        upper = space.upper
        if self.within == "used":
            upper = np.minimum(upper, parents.max(axis=1, keepdims=True) + 1)
            upper = np.maximum(upper, space.lower)
        drawn = rng.integers(space.lower, upper, size=parents.shape, endpoint=True)
        return np.where(chosen, drawn, parents)


@dataclass(frozen=True)
class SwitchMutation:
    """Send each variable, with probability `rate`, from above its lower bound down to it, else up.

    A variable above its lower bound goes to the lower, one at the lower bound to the upper: the
    0-C switch of EvoSVM-S (Mierswa 2009, section 3.1).
    """

    rate: float | None = None

    def __post_init__(self) -> None:
        _check_rate(self.rate)

    def __call__(self, parents: AnyArray, space: Space, rng: np.random.Generator) -> AnyArray:
        chosen = _chosen(self.rate, parents, rng)
        return np.where(chosen, np.where(parents > space.lower, space.lower, space.upper), parents)


@dataclass(frozen=True)
class HybridMutation:
    """Switch each variable off, or on to a uniform value, with probability `rate`.

    A variable above its lower bound goes to that bound; one at the bound is drawn uniformly
    between both: the sparsity mutation of EvoSVM-H (Mierswa 2009, figure 3.1).
    """

    rate: float | None = None

    def __post_init__(self) -> None:
        _check_rate(self.rate)

    def __call__(self, parents: AnyArray, space: Space, rng: np.random.Generator) -> AnyArray:
        chosen = _chosen(self.rate, parents, rng)
        drawn = space.sample(len(parents), rng)
        return np.where(chosen, np.where(parents > space.lower, space.lower, drawn), parents)


def default_mutation(space: Space, *, gaussian: bool = False) -> Mutation:
    """Return the mutation that suits a space: polynomial (or Gaussian), bit flip, or reset."""
    if isinstance(space, Box):
        return GaussianMutation(adapt=OneFifthRule()) if gaussian else PolynomialMutation()
    return BitFlip() if isinstance(space, Bits) else IntegerReset()


def step_rule(mutation: Mutation | None) -> OneFifthRule | None:
    """Return the rule by which a mutation's step learns, if it has one."""
    return mutation.adapt if isinstance(mutation, GaussianMutation) else None


def mutate(
    parents: AnyArray,
    mutation: Mutation | None,
    step: StepSize,
    space: Space,
    rng: np.random.Generator,
) -> AnyArray:
    """Return mutated and repaired children, with the mutation's scale at its present step."""
    if isinstance(mutation, GaussianMutation) and step.factor != 1.0:
        mutation = mutation.scaled(step.factor)
    children = parents if mutation is None else mutation(parents, space, rng)
    if children.shape != parents.shape:
        raise InvalidInputError(
            f"A mutation must return as many children as parents: shape {parents.shape} became "
            f"{children.shape}."
        )
    return space.repair(children)


def _chosen(rate: float | None, parents: AnyArray, rng: np.random.Generator) -> Mask:
    probability = 1.0 / parents.shape[1] if rate is None else rate
    return rng.random(parents.shape) < probability


def _chosen_entries(rate: float | None, parents: AnyArray, rng: np.random.Generator) -> Indices:
    """Return the places, in the flattened parents, of the variables that change.

    Where few change, the gaps between them are drawn instead of a number for every variable.
    """
    n, probability = parents.size, 1.0 / parents.shape[1] if rate is None else rate
    if probability > 0.1 or n * probability < 1:
        return (rng.random(n) < probability).nonzero()[0]
    expected = n * probability
    size = int(expected + 6 * expected**0.5) + 10
    places = rng.geometric(probability, size).cumsum() - 1
    while places[-1] < n:
        more = rng.geometric(probability, size).cumsum() + places[-1]
        places = np.concatenate((places, more))
    return places[: places.searchsorted(n)]


def _check_rate(rate: float | None) -> None:
    if rate is not None:
        check_probability("rate", rate)


def _box(space: Space, operator: object) -> Box:
    if not isinstance(space, Box):
        raise InvalidInputError(f"{type(operator).__name__} needs a Box, got {space!r}.")
    return space
