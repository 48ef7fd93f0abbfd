"""`Effects`: what variables do, averaged over structures, with bands: curves, levels, surfaces.

Given a structure s, of probability p_s, the latent function is b + sum_t B_t(x) w_t, and its
weights have a normal posterior with mean m_s and covariance S_s (Laplace's method). Every block B_t
is about one, two or three variables and has mean zero over the rows that were looked at. The effect
of a set V of variables is the sum of the blocks that are about no others,

    g_s(x) = sum over t within V of B_t(x) w_t,

so that the effect of one variable is its curve, that of two is their curves and their surface, and
that of all, with b, is the latent function itself. With the mean g and the variance v of g_s(x),

    mean = sum_s p_s g,    variance = sum_s p_s (v + (g - mean)^2)    (law of total variance).

A variable that a structure does without has no effect there: what may not matter is drawn nearer to
zero, and its band holds zero.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtr

from parsimon._typing import Array, Indices
from parsimon.structures._evidence import StructureFit, fit_structure
from parsimon.structures._terms import BlockRows, NumberTerms, Parts, VariableTerms, product_of
from parsimon.structures.blocks import VariableBlocks

if TYPE_CHECKING:
    from parsimon.structures.posterior import Structure

# A variable and its shape, or the variables of an interaction.
BlockName: TypeAlias = Hashable

_REACH = 1.959963984540054
# Structures of which effects are kept: so many at most, or those of so much of the probability.
_MOST_HELD, _HELD_SHARE = 30, 0.98
# Steps to the period of a wave, from a grid of six places for each wave more.
_MOST_TURNS, _CLOSE = 4, 0.02


class Effect(NamedTuple):
    """What is known of a function at m places.

    mean, deviation (m,): On the latent scale: logits of a class, units of a number.
    """

    mean: Array
    deviation: Array

    @property
    def low(self) -> Array:
        """The lower end of the band of 95 % at each place."""
        return self.mean - _REACH * self.deviation

    @property
    def high(self) -> Array:
        """The upper end of the band of 95 % at each place."""
        return self.mean + _REACH * self.deviation


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedFit:
    """A structure's probability, and the posterior of its weights.

    names, sizes: Of its blocks, and their columns; the intercept comes before them.
    weights (m,), covariance (m, m).
    noise: Squared scale of Student's distribution of the residuals; 1 for classes.
    """

    chance: float
    names: tuple[BlockName, ...]
    sizes: tuple[int, ...]
    weights: Array
    covariance: Array
    noise: float

    @classmethod
    def of(cls, fit: StructureFit, chance: float) -> "WeightedFit":
        """Return what evaluating needs of a fit."""
        own = fit.end.weights
        return cls(
            chance=chance,
            names=tuple(own),
            sizes=tuple(len(weights) for weights in own.values()),
            weights=np.concatenate([[fit.end.intercept], *own.values()]),
            covariance=fit.covariance,
            noise=fit.end.noise,
        )

    def places(self, names: Iterable[BlockName]) -> Indices:
        """Return where the weights of some blocks are."""
        wanted = set(names)
        ends = 1 + np.cumsum(self.sizes, dtype=np.intp)
        own = [
            np.arange(end - size, end)
            for name, size, end in zip(self.names, self.sizes, ends, strict=True)
            if name in wanted
        ]
        return np.concatenate([np.empty(0, dtype=np.intp), *own])


@dataclass(frozen=True, eq=False, kw_only=True)
class Effects:
    """The effects of variables under the most probable structures.

    Values of variables are given by the variable's place: numbers (m,), the columns of a variable
    that has several (m, k), `LevelRows` for a category that was given as such.

    Attributes
    ----------
    variables : mapping of int to terms
        Those of the structures that are kept.
    joins : mapping of tuples of int to ndarray
        Means of the products of variables that interact.
    fits : tuple of WeightedFit
        The most probable structures; their probabilities sum to one.
    centre, unit : float
        Mean and deviation of a number, 0 and 1 for classes.

    Examples
    --------
    >>> from parsimon.structures import find_structures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = 3 + 2 * X[:, 0] + rng.normal(size=300)
    >>> effects = find_structures(X, y, "regression").effects
    >>> curve = effects.effect({0: np.array([-1.0, 1.0])})
    >>> curve.mean.round().tolist()
    [-2.0, 2.0]
    >>> bool((curve.low < curve.mean).all())
    True
    """

    variables: Mapping[int, VariableTerms] = field(default_factory=dict)
    joins: Mapping[tuple[int, ...], Array] = field(default_factory=dict)
    fits: tuple[WeightedFit, ...] = ()
    centre: float = 0.0
    unit: float = 1.0

    def __getstate__(self) -> dict[str, Any]:
        # skops stores no mapping whose keys are tuples; `save_model` has taken its own measures.
        plain = {"joins": list(self.joins.items())} if isinstance(self.joins, dict) else {}
        return vars(self) | plain

    def __setstate__(self, state: dict[str, Any]) -> None:
        joins = state["joins"]
        vars(self).update(state | {"joins": dict(joins) if isinstance(joins, list) else joins})

    def effect(
        self, values: Mapping[int, Any], *, doubts: Mapping[int, Array] | None = None
    ) -> Effect:
        """Return the effect of some variables together at m places, zero on average over the rows.

        doubts: For filled cells, by what they may be off, as `find_structures` takes them; without
            them a cell is as sure as one that was observed.
        """
        return self._average(values, doubts, whole=False)

    def outcome(
        self, values: Mapping[int, Any], *, doubts: Mapping[int, Array] | None = None
    ) -> Effect:
        """Return the latent function where all other effects are zero, as on average over the rows.

        It is b plus the effect. Of a class, 1 / (1 + exp(-outcome)) is the probability for a row
        that is typical in all else; of a number, the outcome is the number. With values of all
        variables it is the prediction of rows.
        """
        return self._average(values, doubts, whole=True)

    def draws(
        self, values: Mapping[int, Any], rng: np.random.Generator, n_draws: int = 1000
    ) -> Array:
        """Return draws of `outcome` at all m places together, shape (n_draws, m)."""
        designs = self._designs(values, None, whole=True)
        chances = np.array([fit.chance for fit in self.fits])
        counts = rng.multinomial(n_draws, chances / chances.sum())
        drawn = []
        for (design, weights, covariance), count in zip(designs, counts.tolist(), strict=True):
            if count:
                own = rng.multivariate_normal(weights, covariance, count, method="eigh")
                drawn.append(own @ design.T)
        return self.centre + self.unit * np.vstack(drawn)

    def signs(self, values: Mapping[int, Any], weights: Array) -> tuple[float, float]:
        """Return the probabilities that a weighted sum of an effect over m places is > 0, and < 0.

        Where there is an effect at all: structures without one do not count.

        Shapes: weights (m,).
        """
        above = below = total = 0.0
        for fit, (design, own, spread) in zip(
            self.fits, self._designs(values, None, whole=False), strict=True
        ):
            combined = weights @ design
            variance = float(combined @ spread @ combined)
            if variance > 0:
                score = float(combined @ own) / np.sqrt(variance)
                above += fit.chance * float(ndtr(score))
                below += fit.chance * float(ndtr(-score))
                total += fit.chance
        return (above / total, below / total) if total else (0.0, 0.0)

    @property
    def noise(self) -> float:
        """Scale of a number's residuals, which have Student's distribution with 5 degrees."""
        total = sum(fit.chance * fit.noise for fit in self.fits)
        return self.unit * float(np.sqrt(total))

    def n_columns(self, variable: int) -> int | None:
        """Return of how many columns a variable is made; None of a category with `LevelRows`."""
        centres = getattr(self.variables[variable], "centres", None)
        return None if centres is None else len(centres)

    def _average(
        self, values: Mapping[int, Any], doubts: Mapping[int, Array] | None, *, whole: bool
    ) -> Effect:
        designs = self._designs(values, doubts, whole=whole)
        chances = np.array([fit.chance for fit in self.fits])
        means = np.array([design @ weights for design, weights, _ in designs])
        variances = np.array(
            [np.einsum("nk,nk->n", design @ spread, design) for design, _, spread in designs]
        )
        mean = chances @ means
        variance = chances @ (np.maximum(variances, 0.0) + (means - mean) ** 2)
        centre = self.centre if whole else 0.0
        return Effect(centre + self.unit * mean, self.unit * np.sqrt(variance))

    def _designs(
        self, values: Mapping[int, Any], doubts: Mapping[int, Array] | None, *, whole: bool
    ) -> list[tuple[Array, Array, Array]]:
        """Return for each structure its columns at m places, their weights and covariance."""
        n = max((len(getattr(own, "codes", own)) for own in values.values()), default=1)
        blocks = self._blocks(values, doubts or {})
        found = []
        for fit in self.fits:
            names = [name for name in fit.names if name in blocks]
            places = fit.places(names)
            columns = [np.empty((n, 0)), *(blocks[name] for name in names)]
            if whole:
                places, columns = np.append(0, places), [np.ones((n, 1)), *columns]
            spread = fit.covariance[np.ix_(places, places)]
            found.append((np.hstack(columns), fit.weights[places], spread))
        return found

    def _blocks(
        self, values: Mapping[int, Any], doubts: Mapping[int, Array]
    ) -> dict[BlockName, Array]:
        """Return all blocks that are about these variables alone."""
        parts: dict[int, Parts] = {
            place: self.variables[place](own, doubts.get(place))
            for place, own in values.items()
            if place in self.variables
        }
        found: dict[BlockName, Array] = {
            (place, name): block
            for place, own in parts.items()
            for name, block in own.items()
            if name in ("linear", "smooth", "periodic", "shift")
        }
        for join, mean in self.joins.items():
            if all(variable in parts for variable in join):
                found[join] = product_of([parts[variable] for variable in join]) - mean
        return found


def learn_effects(
    structures: Sequence["Structure"],
    chances: Array,
    rows: BlockRows,
    variables: Sequence[VariableBlocks],
    blocks_of: Callable[["Structure"], dict[Any, Array]],
    fit_of: Callable[["Structure"], StructureFit],
) -> Effects:
    """Return the effects under the structures that hold nearly all of the probability.

    structures, chances: The most probable first. Those with interactions or waves are fitted once
        more: to whole products, and to waves of the period that fits best, with how sure it is.
    """
    reached = int(np.searchsorted(np.cumsum(chances), _HELD_SHARE)) + 1
    kept = structures[: min(reached, _MOST_HELD)]
    chances = chances[: len(kept)]
    blocks, fits = list(map(blocks_of, kept)), list(map(fit_of, kept))
    terms = {
        place: rows.learn(place, variables[place])
        for place in sorted({place for structure in kept for place in structure.variables})
    }
    parts = {place: rows.parts(place, own) for place, own in terms.items()}
    products: dict[tuple[int, ...], Array] = {
        join: product_of([parts[variable] for variable in join])
        for join in sorted({join for structure in kept for join in structure.joins})
    }
    means = {join: product.mean(axis=0) for join, product in products.items()}
    changed: dict[Any, dict[Any, Array]] = {
        join: {join: product - means[join]} for join, product in products.items()
    }
    shapes = {main for structure in kept for main in structure.shapes}
    for place in sorted(place for place, shape in shapes if shape == "periodic"):
        name = (place, "periodic")
        best = next(k for k, own in enumerate(blocks) if name in own)
        terms[place] = _with_sure_period(rows, place, terms[place], blocks[best], fits[best])
        own = rows.parts(place, terms[place])
        changed[name] = {(place, shape): own[shape] for shape in ("periodic", "shift")}
    fits = [
        _fit_again(rows, own, fit, {k: new for k, new in changed.items() if k in own})
        for own, fit in zip(blocks, fits, strict=True)
    ]
    weighted = map(WeightedFit.of, fits, (chances / chances.sum()).tolist())
    return Effects(variables=terms, joins=means, fits=tuple(weighted))


def _fit_again(
    rows: BlockRows, blocks: Mapping[Any, Array], fit: StructureFit, changed: Mapping[Any, Any]
) -> StructureFit:
    """Return the fit of a structure of which some blocks are changed."""
    if not changed:
        return fit
    merged = dict(blocks)
    for new in changed.values():
        merged |= new
    # From where the fit ended, but for the blocks whose columns are others now.
    weights = {name: own for name, own in fit.end.weights.items() if name not in changed}
    near = replace(fit, end=fit.end._replace(weights=weights))
    return fit_structure(merged, rows.y, rows.task, near)


def _with_sure_period(
    rows: BlockRows,
    place: int,
    terms: VariableTerms,
    blocks: Mapping[Any, Array],
    fit: StructureFit,
) -> VariableTerms:
    """Return the terms of a variable with the period that fits best, and how sure it is."""
    assert isinstance(terms, NumberTerms)
    columns, doubts, name = rows.columns(place), rows.doubts.get(place), (place, "periodic")
    # The wave was turned into columns that suit the rows; here it is in those of its angles.
    terms = terms.with_wave(columns, doubts, np.zeros(4))
    for _ in range(_MOST_TURNS):
        wave = {name: {name: rows.parts(place, terms)["periodic"]}}
        fit = _fit_again(rows, blocks, fit, wave)
        terms = terms.with_wave(columns, doubts, fit.end.weights[name])
        shift = {(place, "shift"): rows.parts(place, terms)["shift"]}
        tilted = fit_structure({**blocks, **wave[name], **shift}, rows.y, rows.task, fit)
        change = float(np.clip(tilted.end.weights[place, "shift"][0], -0.5, 0.5)) / 2
        terms = terms.with_wave(columns, doubts, terms.tilted, change)
        if abs(change) < _CLOSE:
            break
    return terms
