"""The search for structures: best first, with a last look at what predicts new rows.

`find_structures` begins with the empty structure, always expands the most probable one that has
not been expanded, and ends when what is left has no weight. Every neighbour that was looked at
stays in the posterior, so that a variable has the probability of all structures that hold it.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from parsimon._typing import Array
from parsimon.structures._evidence import (
    StructureFit,
    Task,
    design_of,
    fit_structure,
    gains,
    predicted_densities,
)
from parsimon.structures._terms import BlockRows
from parsimon.structures.blocks import (
    LevelRows,
    Triple,
    VariableBlocks,
    level_blocks,
    pairs_of,
    rough_surfaces,
    rough_triples,
    surface,
    triple_product,
    variable_blocks,
)
from parsimon.structures.claims import CERTAIN, find_stand_ins
from parsimon.structures.effects import learn_effects
from parsimon.structures.posterior import (
    SHAPES,
    Pair,
    Shape,
    Structure,
    StructurePosterior,
    log_prior,
)

# Surfaces of so many pairs are looked at closely; of more, those that a rough look likes best.
_MOST_PAIRS = 1000
_MOST_EXPANSIONS = 40
# Structures that are kept by themselves; all count in the probabilities of their parts.
_MOST_KEPT = 100
# Structures that are this much less probable than the best one (in logs) are not fitted closely.
_FAR = 7.0
_FITTED_NEIGHBOURS = 6
# Structures within this of the best one (in logs) have their neighbours looked at.
_NEAR = 4.0
# Of so many variables at most products of three are looked at, closely at so many that a rough look
# likes best.
_MOST_OF_TRIPLES, _MOST_TRIPLES = 100, 8
# An interaction is beyond doubt only if new rows are so much more probable with it than with
# anything that its variables can say alone, in logs; otherwise it has at most this probability.
_LEAST_GAIN = 5.0
_HELD_BACK = 0.9


def find_structures(
    X: Array,
    y: Array,
    task: Task,
    *,
    groups: Sequence[Sequence[int]] | None = None,
    names: Sequence[str] | None = None,
    n_questions: int = 1,
    waves: bool = True,
    doubts: Mapping[int, Array] | None = None,
    levels: Mapping[int, LevelRows] | None = None,
) -> StructurePosterior:
    """Return the posterior over structures of variables, shapes and interactions.

    A best-first search from the empty structure; the evidence is that of blocks of columns with
    unknown variances, the prior pays for every part and for the number of its alternatives.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        0 and 1 for classes, any numbers otherwise.
    task : {"classification", "regression"}
    groups : sequence of sequences of int, optional
        Columns that make one variable, such as the levels of a category; by default each column is
        one.
    names : sequence of str, optional
        Of the variables.
    n_questions : int, default 1
        How many targets are asked about at once, which a claim has to pay for.
    waves : bool, default True
        Look for periods too.
    doubts : mapping of int to ndarray of shape (n, m), optional
        For variables with cells that were filled in: by what these may be off, in standard
        deviations of the variable, zero in other rows.
    levels : mapping of int to LevelRows, optional
        For categories: the level of each row, of which `X` may have the commonest only, and its
        place in an order.

    Returns
    -------
    StructurePosterior

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = (X[:, 0] + rng.logistic(size=200) / 2 > 0).astype(float)
    >>> for claim in find_structures(X, y, "classification", names=["a", "b", "c"]).claims():
    ...     print(claim.words, claim.certain)
    a matters True
    the target follows a along a line ...
    """
    groups = [[column] for column in range(X.shape[1])] if groups is None else groups
    names = [f"variable {place + 1}" for place in range(len(groups))] if names is None else names
    centre, unit = 0.0, 1.0
    if task == "regression":
        centre, unit = float(y.mean()), float(y.std()) or 1.0
        y = (y - centre) / unit
    rows = BlockRows(X=X, y=y, task=task, groups=groups, doubts=doubts or {}, levels=levels or {})
    variables = [
        level_blocks(rows.columns(place), rows.levels[place])
        if place in rows.levels
        else variable_blocks(rows.columns(place), y, waves=waves, doubts=rows.doubts.get(place))
        for place in range(len(groups))
    ]
    search = _BestFirst(variables, y, task, n_questions)
    found = search.posterior(tuple(map(str, names)), tuple(tuple(group) for group in groups))
    effects = learn_effects(
        found.structures, found.probabilities, rows, variables, search.blocks, search.fit_of
    )
    return replace(found, effects=replace(effects, centre=centre, unit=unit))


@dataclass(eq=False)
class _Visited:
    """A structure that was looked at: what is known of its log posterior, and whether closely.

    near: The fit of the structure from which it was judged.
    """

    value: float
    fit: StructureFit | None = None
    expanded: bool = False
    near: StructureFit | None = None


@dataclass(eq=False)
class _BestFirst:
    """Expands the most probable structure that has not been, until the rest has no weight."""

    variables: list[VariableBlocks]
    y: Array
    task: Task
    n_questions: int
    seen: dict[Structure, _Visited] = field(default_factory=dict)
    work: float = 0.0

    def __post_init__(self) -> None:
        self.n_periods = [variable.n_periods for variable in self.variables]
        self.all_pairs = pairs_of(len(self.variables))
        self.close_pairs = self._close_pairs()
        self.surfaces: list[tuple[list[Pair | Triple], Array]] = []
        self.place: dict[Pair | Triple, tuple[int, int]] = {}
        self._stack_surfaces(
            {(j, k): surface(self.variables[j], self.variables[k]) for j, k in self.close_pairs}
        )
        self.singles = self._stack_singles()

    def posterior(
        self, names: tuple[str, ...], groups: tuple[tuple[int, ...], ...]
    ) -> StructurePosterior:
        self._fit(Structure())
        self._search()
        if self._look_at_triples():
            self._search()
        order, chances = self._weigh()
        held = [structure.variables for structure in order]
        inclusion = _inclusion(order, chances, len(self.variables))
        joins = _join_chances(dict(zip(order, chances.tolist(), strict=True)))
        return StructurePosterior(
            names,
            groups,
            tuple(order[:_MOST_KEPT]),
            chances[:_MOST_KEPT],
            *inclusion,
            len(self.all_pairs),
            len(self.close_pairs),
            frozenset(place for place, own in enumerate(self.variables) if not own.has_shape),
            triple_chances=tuple(
                (join, chance) for join, chance in joins.items() if len(join) == 3
            ),
            sets=find_stand_ins(held, chances, inclusion[0]),
            nothing=float(chances[[not variables for variables in held]].sum()),
            n_rows=len(self.y),
            work=self.work,
        )

    def fit_of(self, structure: Structure) -> StructureFit:
        """Return the fit of a structure, which may have been judged from afar."""
        visited = self.seen.get(structure)
        if visited is not None and visited.fit is not None:
            return visited.fit
        near = None if visited is None else visited.near
        return fit_structure(self.blocks(structure), self.y, self.task, near)

    def _search(self) -> None:
        for _ in range(_MOST_EXPANSIONS):
            best = self._next()
            if best is None:
                break
            self._expand(best)

    def _look_at_triples(self) -> bool:
        """Look at products of three beyond the best structure; return whether one may matter.

        Those that may become its neighbours, and it and its like are looked at again.
        """
        top = self._top()
        best = max(self.seen, key=lambda structure: self.seen[structure].value)
        fit = self.seen[best].fit
        if not 3 <= len(self.variables) <= _MOST_OF_TRIPLES or fit is None:
            return False
        design = design_of(self.blocks(best), len(self.y))
        found: dict[Pair | Triple, Array] = {}
        for triple in rough_triples(self.variables, fit.slack, fit.curvature, _MOST_TRIPLES):
            block = triple_product(*(self.variables[variable] for variable in triple))
            gain = float(gains(fit, design, block[None], self.task)[0])
            if fit.log_evidence + gain + self._prior(best.with_join(triple)) > top - _NEAR:
                found[triple] = block
        self._stack_surfaces(found)
        for visited in self.seen.values():
            visited.expanded &= not (found and visited.value > top - _NEAR)
        return bool(found)

    def _weigh(self) -> tuple[list[Structure], Array]:
        """Return the structures, the most probable first, with their probabilities."""
        top = self._top()
        weights = {
            structure: math.exp(visited.value - top) for structure, visited in self.seen.items()
        }
        total = sum(weights.values())
        chances = {structure: weight / total for structure, weight in weights.items()}
        for join, chance in sorted(_join_chances(chances).items()):
            if chance >= CERTAIN:
                best = max(
                    (structure for structure in chances if join in structure.joins),
                    key=chances.__getitem__,
                )
                if self._gain_for_new_rows(best, join) < _LEAST_GAIN:
                    chances = _hold_back(chances, join, self._best_without(best, join))
        order = sorted(chances, key=lambda structure: -chances[structure])
        return order, np.array([chances[structure] for structure in order])

    def _gain_for_new_rows(self, structure: Structure, join: Pair | Triple) -> float:
        """Return by how much rows that were left out are more probable with an interaction.

        In logs; both sides have all bends of the variables. The evidence compares a surface with
        the curves that were thought of, so that what they lack speaks for the surface.
        """
        curved = self._curve_all(structure, join)
        bends = {(variable, "bends"): self.variables[variable].bends for variable in join}
        more = {key: block for key, block in bends.items() if block is not None}
        densities = []
        for candidate in (curved, curved.with_join(join)):
            blocks = self.blocks(candidate) | more
            fit = fit_structure(blocks, self.y, self.task)
            densities.append(predicted_densities(fit, blocks, self.y, self.task).sum())
        return float(densities[0] - densities[1])

    def _curve_all(self, structure: Structure, variables: Sequence[int]) -> Structure:
        """Return the structure in which variables enter with all that they can say alone."""
        for variable in variables:
            shape = dict(structure.shapes).get(variable, "linear")
            if shape == "linear" and self.variables[variable].curve is not None:
                shape = "smooth"
            structure = structure.with_shape(variable, shape)
        return structure

    def _best_without(self, structure: Structure, join: Pair | Triple) -> Structure:
        """Return the most probable sum of effects that may stand in for an interaction."""
        rest = structure.with_join(join)
        parts = [part for size in range(len(join) + 1) for part in combinations(join, size)]
        return max((self._curve_all(rest, part) for part in parts), key=self._value)

    def _value(self, structure: Structure) -> float:
        if structure not in self.seen:
            self._fit(structure)
        return self.seen[structure].value

    def _next(self) -> Structure | None:
        """Return the most probable structure that was not expanded, or None if it is far off.

        A structure that was judged from afar is fitted before it is taken at its word.
        """
        while True:
            open_ones = [structure for structure in self.seen if not self.seen[structure].expanded]
            if not open_ones:
                return None
            best = max(open_ones, key=lambda structure: self.seen[structure].value)
            if self.seen[best].value < self._top() - _NEAR:
                return None
            if self.seen[best].fit is not None:
                return best
            self._fit(best, self.seen[best].near)

    def _top(self) -> float:
        return max(visited.value for visited in self.seen.values())

    def blocks(self, structure: Structure) -> dict[Any, Array]:
        """Return the blocks of a structure by name: a variable and its shape, or an interaction."""
        found: dict[Any, Array] = {}
        for variable, shape in structure.shapes:
            own = self.variables[variable]
            found[variable, "linear"] = own.line
            more = {"linear": None, "smooth": own.curve, "periodic": own.wave}[shape]
            if more is not None:
                found[variable, shape] = more
        for join in sorted(structure.joins):
            stack, row = self.place[join]
            found[join] = self.surfaces[stack][1][row]
        return found

    def _prior(self, structure: Structure) -> float:
        return log_prior(structure, len(self.variables), self.n_periods, self.n_questions)

    def _fit(self, structure: Structure, near: StructureFit | None = None) -> None:
        fit = fit_structure(self.blocks(structure), self.y, self.task, near)
        self.seen[structure] = _Visited(fit.log_evidence + self._prior(structure), fit)
        self.work += float(len(self.y)) * len(fit.covariance) ** 2

    def _expand(self, structure: Structure) -> None:
        """Look at all neighbours of a structure, closely at those that may matter."""
        visited = self.seen[structure]
        visited.expanded = True
        assert visited.fit is not None
        for smaller in self._smaller(structure):
            if smaller not in self.seen or self.seen[smaller].fit is None:
                self._fit(smaller, visited.fit)
        evidence = visited.fit.log_evidence
        larger = [
            (evidence + gain + self._prior(neighbour), neighbour)
            for neighbour, gain in self._larger(structure, visited.fit)
        ]
        larger.sort(key=lambda two: -two[0])
        best = self._top()
        for place, (value, neighbour) in enumerate(larger):
            if neighbour in self.seen:
                continue
            self.seen[neighbour] = _Visited(value, near=visited.fit)
            if place < _FITTED_NEIGHBOURS and value > best - _FAR:
                self._fit(neighbour, visited.fit)
                best = max(best, self.seen[neighbour].value)

    def _smaller(self, structure: Structure) -> Iterator[Structure]:
        for variable, shape in structure.shapes:
            yield structure.with_shape(variable, None)
            if shape != "linear":
                yield structure.with_shape(variable, "linear")
        for join in structure.joins:
            yield structure.with_join(join)

    def _larger(self, structure: Structure, fit: StructureFit) -> Iterator[tuple[Structure, float]]:
        """Yield the structures with a term more, with what the term seems to gain."""
        mains = dict(structure.shapes)
        design = design_of(self.blocks(structure), len(self.y))
        alone = {
            key: gain
            for keys, blocks in self.singles
            for key, gain in zip(keys, gains(fit, design, blocks, self.task).tolist(), strict=True)
        }
        for variable in range(len(self.variables)):
            shape = mains.get(variable)
            if shape in ("smooth", "periodic"):
                continue
            line = 0.0
            if shape is None:
                line = alone[variable, "linear"]
                yield structure.with_shape(variable, "linear"), line
            for more in SHAPES[1:]:
                if (variable, more) in alone:
                    yield structure.with_shape(variable, more), line + alone[variable, more]
        known = structure.joins
        for joins, blocks in self.surfaces:
            gained = gains(fit, design, blocks, self.task).tolist()
            for join, gain in zip(joins, gained, strict=True):
                if join not in known:
                    yield structure.with_join(join), gain

    def _close_pairs(self) -> list[Pair]:
        pairs = self.all_pairs
        if len(pairs) > _MOST_PAIRS:
            rough = rough_surfaces(self.variables, self.y - self.y.mean())
            order = np.argsort(-rough[pairs[:, 0], pairs[:, 1]], kind="stable")
            pairs = pairs[np.sort(order[:_MOST_PAIRS])]
        return [(int(first), int(second)) for first, second in pairs]

    def _stack_surfaces(self, blocks: Mapping[Pair | Triple, Array]) -> None:
        """Put surfaces beside those that are known, each size in one stack."""
        by_size: dict[int, list[Pair | Triple]] = defaultdict(list)
        for join, block in blocks.items():
            by_size[block.shape[1]].append(join)
        for joins in by_size.values():
            stack = np.stack([blocks[join] for join in joins])
            self.place |= {join: (len(self.surfaces), row) for row, join in enumerate(joins)}
            self.surfaces.append((joins, stack))

    def _stack_singles(self) -> list[tuple[list[tuple[int, Shape]], Array]]:
        """Return lines, curves and waves of all variables, those of equal size stacked."""
        by_size: dict[int, tuple[list[tuple[int, Shape]], list[Array]]] = {}
        for variable, own in enumerate(self.variables):
            for shape, block in zip(SHAPES, (own.line, own.curve, own.wave), strict=True):
                if block is not None:
                    keys, blocks = by_size.setdefault(block.shape[1], ([], []))
                    keys.append((variable, shape))
                    blocks.append(block)
        return [(keys, np.stack(blocks)) for keys, blocks in by_size.values()]


def _join_chances(chances: Mapping[Structure, float]) -> dict[Pair | Triple, float]:
    found: dict[Pair | Triple, float] = defaultdict(float)
    for structure, chance in chances.items():
        for join in structure.joins:
            found[join] += chance
    return found


def _hold_back(
    chances: Mapping[Structure, float], join: Pair | Triple, without: Structure
) -> dict[Structure, float]:
    """Return the probabilities with so much of an interaction's moved to a sum of effects."""
    kept = _HELD_BACK / _join_chances(chances)[join]
    shapes = dict(without.shapes)
    found: dict[Structure, float] = defaultdict(float)
    for structure, chance in chances.items():
        if join not in structure.joins:
            found[structure] += chance
            continue
        rest = structure.with_join(join)
        for variable in join:
            rest = rest.with_shape(variable, shapes.get(variable))
        found[structure] += kept * chance
        found[rest] += (1 - kept) * chance
    return dict(found)


def _inclusion(
    structures: Sequence[Structure], chances: Array, n_variables: int
) -> tuple[Array, Array, Array]:
    """Return the probabilities of variables, of their shapes and of pairs: sums over structures.

    Shapes: (d,), (d, 3) and (d, d).
    """
    variables = np.zeros(n_variables)
    shapes = np.zeros((n_variables, len(SHAPES)))
    pairs = np.zeros((n_variables, n_variables))
    for structure, chance in zip(structures, chances.tolist(), strict=True):
        variables[list(structure.variables)] += chance
        for variable, shape in structure.shapes:
            shapes[variable, SHAPES.index(shape)] += chance
        for pair in structure.pairs:
            pairs[pair] += chance
    return np.minimum(variables, 1.0), np.minimum(shapes, 1.0), np.minimum(pairs, 1.0)
