"""How children come from parents: crossovers, mutations and step sizes, all of them values.

A crossover is called with the first and the second parents, both of shape (k, n_variables), the
space, and the generator from which all chance comes; row i of the first parents meets row i of the
second, and with probability ``1 - rate`` a pair is only copied. A mutation is called with parents,
space and generator; a search repairs the children, so it may step over the bounds. A step size that
learns from success (Rechenberg's 1/5 rule) is kept in the state of a search; no operator changes.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np

from parsimon._checks import check_choice, check_count, check_positive, check_probability
from parsimon._typing import AnyArray, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.pareto.space import Bits, Box, Integers, Space


class Crossover(Protocol):
    """Two sets of parents in, two sets of children out."""

    def __call__(
        self, first: AnyArray, second: AnyArray, space: Space, rng: np.random.Generator
    ) -> tuple[AnyArray, AnyArray]: ...


@dataclass(frozen=True)
class UniformCrossover:
    """Swap each variable of a pair with probability `swap`.

    Examples
    --------
    >>> a, b = np.zeros((1, 4)), np.ones((1, 4))
    >>> first, second = UniformCrossover(rate=1)(a, b, Box(0, 1, n_variables=4),
    ...                                          np.random.default_rng(0))
    >>> first + second
    array([[1., 1., 1., 1.]])
    """

    rate: float = 0.9
    swap: float = 0.5

    def __post_init__(self) -> None:
        check_probability("rate", self.rate)
        check_probability("swap", self.swap)

    def __call__(
        self,
        first: AnyArray,
        second: AnyArray,
        space: Space,  # noqa: ARG002
        rng: np.random.Generator,
    ) -> tuple[AnyArray, AnyArray]:
        swapped = (rng.random(first.shape) < self.swap) & _crossed(self.rate, len(first), rng)
        return _swap(first, second, swapped)


@dataclass(frozen=True)
class SimulatedBinaryCrossover:
    """Deb and Agrawal's crossover of real vectors, which never leaves the bounds.

    Each variable of a crossed pair takes part with probability one half, and the two children
    then change places in it with probability one half. The spread of the children is
    proportional to the distance of their parents.

    Parameters
    ----------
    eta : float
        Larger means closer to the parents.
    rate : float
        Probability of each pair.

    References
    ----------
    Deb and Agrawal (1995), Complex Systems 9:115-148; the bounded form is that of Deb and
    Agrawal (1999).

    Examples
    --------
    >>> a, b = np.full((1, 1), 0.4), np.full((1, 1), 0.6)
    >>> space, rng = Box(0, 1, n_variables=1), np.random.default_rng(3)
    >>> first, second = SimulatedBinaryCrossover()(a, b, space, rng)
    >>> ((first + second) / 2).round(6)
    array([[0.5]])
    """

    eta: float = 15.0
    rate: float = 0.9

    def __post_init__(self) -> None:
        check_positive("eta", self.eta, or_zero=True)
        check_probability("rate", self.rate)

    def __call__(
        self, first: AnyArray, second: AnyArray, space: Space, rng: np.random.Generator
    ) -> tuple[AnyArray, AnyArray]:
        if not isinstance(space, Box):
            raise InvalidInputError(f"SimulatedBinaryCrossover needs a Box, got {space!r}.")
        n, n_variables = first.shape
        taking_part = rng.random((n, n_variables), dtype=np.float32) < 0.5
        taking_part &= _crossed(self.rate, n, rng)
        taking_part &= np.abs(first - second) > 1e-14
        entries = taking_part.ravel().nonzero()[0]
        columns = entries % n_variables
        a, b = first.ravel()[entries], second.ravel()[entries]
        low, high = np.minimum(a, b), np.maximum(a, b)
        chance = rng.random((2, len(entries)), dtype=np.float32)
        width, middle = high - low, 0.5 * (low + high)
        room = np.empty(chance.shape)
        room[0], room[1] = low - space.lower[columns], space.upper[columns] - high
        room /= width
        reach = 0.5 * width * self._spread(np.minimum(room, 1e30), chance[0])
        down, up = middle - reach[0], middle + reach[1]
        exchanged = chance[1] < 0.5
        children = first.copy(), second.copy()
        children[0].ravel()[entries] = np.where(exchanged, up, down)
        children[1].ravel()[entries] = np.where(exchanged, down, up)
        return children

    def _spread(self, room: AnyArray, share: AnyArray) -> AnyArray:
        """Return the spread factor whose distribution is cut where a child meets its bound."""
        # Single precision is ample for a random factor, and five times quicker.
        power = np.float32(self.eta + 1.0)
        tail = np.exp(-power * np.log(1.0 + 2.0 * room.astype(np.float32)))
        # With s = share (2 - tail) the factor is s^(1/power) up to s = 1, else (2 - s)^(-1/power).
        beyond = share * (2.0 - tail) - 1.0
        logs = np.log(np.maximum(1.0 - np.abs(beyond), np.float32(1e-12))) / power
        return np.exp(np.copysign(logs, beyond))


def default_crossover(space: Space) -> Crossover:
    """Return the crossover that suits a space."""
    return SimulatedBinaryCrossover() if isinstance(space, Box) else UniformCrossover()


def cross(
    parents: AnyArray, crossover: Crossover | None, space: Space, rng: np.random.Generator
) -> AnyArray:
    """Return as many children as parents; row i of the first half meets row i of the second.

    The last of an odd number of parents has no partner and is copied.
    """
    half = len(parents) // 2
    if crossover is None or half == 0:
        return parents
    first, second = crossover(parents[:half], parents[half : 2 * half], space, rng)
    if first.shape != second.shape or first.shape != parents[:half].shape:
        raise InvalidInputError(
            f"A crossover must return two children for two parents: shape {parents[:half].shape} "
            f"became {first.shape} and {second.shape}."
        )
    return np.concatenate((first, second, parents[2 * half :]))


def _crossed(rate: float, n: int, rng: np.random.Generator) -> Mask:
    return rng.random((n, 1)) < rate


def _swap(first: AnyArray, second: AnyArray, swapped: Mask) -> tuple[AnyArray, AnyArray]:
    return np.where(swapped, second, first), np.where(swapped, first, second)


# Beyond these a step can neither be told from none nor come back in a run of sensible length.
SMALLEST_FACTOR, LARGEST_FACTOR = 1e-15, 1e15


class StepSize(NamedTuple):
    """What a mutation's scale is multiplied by, and the successes counted since it changed."""

    factor: float = 1.0
    n_successes: int = 0
    n_trials: int = 0


@dataclass(frozen=True)
class OneFifthRule:
    """Make steps longer when more than a fifth of the mutations succeed, else shorter.

    Every `interval` generations the step is multiplied by `change` if the share of successful
    mutations since the last time exceeds `target`, and divided by it if the share is below.
    A mutant succeeds if it is better than its parent (`evolution_strategy`) or survives into the
    next population (`nsga2`, after [2]_). The defaults are those of Mierswa (2009); with them the
    rule acts only in runs of more than 100 generations.

    References
    ----------
    Rechenberg (1973), Evolutionsstrategie, Frommann-Holzboog.

    .. [2] Voss, Hansen and Igel (2010), GECCO, 487-494.

    Examples
    --------
    >>> rule = OneFifthRule(interval=1)
    >>> rule.update(StepSize(), n_successes=3, n_trials=10, n_iter=1).factor
    2.0
    >>> rule.update(StepSize(), n_successes=1, n_trials=10, n_iter=1).factor
    0.5
    """

    interval: int = 100
    change: float = 2.0
    target: float = 0.2

    def __post_init__(self) -> None:
        check_count("interval", self.interval)
        check_positive("target", self.target)
        if not 1 < self.change < float("inf"):
            raise InvalidInputError(f"change must be above 1, got {self.change!r}.")

    def update(self, step: StepSize, *, n_successes: int, n_trials: int, n_iter: int) -> StepSize:
        """Return the step after generation `n_iter` with these counts."""
        successes, trials = step.n_successes + n_successes, step.n_trials + n_trials
        if n_iter % self.interval != 0 or trials == 0:
            return StepSize(step.factor, successes, trials)
        share = successes / trials
        factor = step.factor
        if share > self.target:
            factor = min(factor * self.change, LARGEST_FACTOR)
        elif share < self.target:
            factor = max(factor / self.change, SMALLEST_FACTOR)
        return StepSize(factor)


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


T = TypeVar("T")


def or_default(name: str, operator: T | str | None, default: T) -> T | None:
    """Return the operator, or the default for "auto", refusing other words."""
    if not isinstance(operator, str):
        return operator
    if operator != "auto":
        raise InvalidInputError(f'{name} must be an operator, "auto" or None, got {operator!r}.')
    return default
