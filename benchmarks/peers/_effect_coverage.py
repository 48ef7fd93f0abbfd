"""How often bands of effects hold the truth: curves and surfaces of what is claimed.

Tables of six columns: one or two have an effect of the kind that is asked about, another one a
line, the others none. Bands are those of `StructurePosterior.effects`; the truth is the function
that the table was drawn from, less its mean over the rows. A curve is judged at equal steps from
the smallest value to the greatest, as a page draws it, a surface where the rows are; each column
and each pair counts once, if it is claimed at all (with a probability of a half or more), with the
share of places at which its band holds the truth. Columns without an effect that are claimed
wrongly count too.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from benchmarks.rivals import GUESS
from benchmarks.rows import Row
from parsimon._typing import Array
from parsimon.structures import Effect, StructurePosterior, find_structures
from parsimon.structures.claims import SUGGESTED
from parsimon.structures.posterior import stated_chance

SIZES = (100, 400)
TABLES, QUICK_TABLES = 24, 2
N_COLUMNS = 6
LEAST, MOST, LEAST_OF_A_KIND = 90.0, 98.0, 80.0
NOTHING, EVERYTHING = "constant: no width", "constant: everything"
# Standard deviation of one effect, in units of the noise or in logits.
SIZE = {"numbers": 0.8, "classes": 1.4}
N_PLACES = 41
SEED = 20_261_118

Function = Callable[[Array], Array]


@dataclass(frozen=True)
class DrawnTable:
    """A table and the effects it was drawn from, by column; of a product by both columns."""

    X: Array
    y: Array
    task: Literal["classification", "regression"]
    curves: dict[int, Function] = field(default_factory=dict)
    product: Function | None = None


class Held(NamedTuple):
    """One effect: what it is of, and the percentage of places at which its band holds the truth."""

    target: str
    kind: str
    is_surface: bool
    share: float


def effect_rows(*, quick: bool) -> list[Row]:
    """Return the coverage of curves and of surfaces, of numbers and of classes."""
    cases: dict[tuple[str, bool], list[Held]] = defaultdict(list)
    for one in _cases(QUICK_TABLES if quick else TABLES):
        cases[one.target, one.is_surface].append(one)
    return [
        row
        for (target, is_surface), held in sorted(cases.items())
        for row in _judged(target, is_surface, held, barred=not quick)
    ]


def _cases(n_tables: int) -> Iterator[Held]:
    rng = np.random.default_rng(SEED)
    for target in SIZE:
        for kind in (*_CURVES, "product"):
            for n in SIZES:
                for _ in range(n_tables):
                    yield from _held(target, kind, draw_table(target, kind, n, rng))


def draw_table(target: str, kind: str, n: int, rng: np.random.Generator) -> DrawnTable:
    """Draw a table: columns 0 and 1 have the effect of the kind, column 2 a line."""
    X = (
        rng.uniform(-1.7, 1.7, (n, N_COLUMNS))
        if kind == "wave"
        else rng.normal(size=(n, N_COLUMNS))
    )
    X = X * 10 ** rng.uniform(-1, 2, N_COLUMNS) + rng.uniform(-5, 5, N_COLUMNS)
    centre, unit = X.mean(axis=0), X.std(axis=0)
    size = SIZE[target]

    def scaled(shape: Function, column: int) -> Function:
        values = shape((X[:, column] - centre[column]) / unit[column])
        weight = size * rng.uniform(0.8, 1.2) * rng.choice([-1.0, 1.0]) / values.std()
        middle = values.mean()
        return lambda x: weight * (shape((x - centre[column]) / unit[column]) - middle)

    curves = {2: scaled(lambda z: z, 2)}
    product = None
    if kind == "product":
        weight = size * rng.choice([-1.0, 1.0])

        def product(pair: Array) -> Array:
            found: Array = weight * ((pair - centre[:2]) / unit[:2]).prod(axis=1)
            return found

    else:
        curves[0] = scaled(_CURVES[kind](rng), 0)
    latent = sum(curve(X[:, column]) for column, curve in curves.items())
    if product is not None:
        latent = latent + product(X[:, :2])
    if target == "classes":
        y = (rng.random(n) < 1 / (1 + np.exp(-latent))).astype(float)
        return DrawnTable(X, y, "classification", curves, product)
    # Half of the tables have rows that lie far off.
    noise = rng.normal(size=n) if rng.random() < 0.5 else rng.standard_t(4, n) / np.sqrt(2)
    return DrawnTable(X, 10 + 3 * (latent + noise), "regression", curves, product)


def _bends(rng: np.random.Generator) -> Function:
    shapes: tuple[Function, ...] = (
        np.square,
        np.abs,
        lambda z: np.exp(z / 1.5),
        lambda z: np.tanh(2 * z),
    )
    return shapes[rng.integers(len(shapes))]


def _waves(rng: np.random.Generator) -> Function:
    n_waves, phase = rng.uniform(3.5, 8), rng.uniform(0, 2 * np.pi)
    return lambda z: np.sin(2 * np.pi * n_waves * z / 3.4 + phase)


def _steps(rng: np.random.Generator) -> Function:
    at = rng.uniform(-0.5, 0.5)
    return lambda z: (z > at).astype(float)


def _lines(rng: np.random.Generator) -> Function:
    del rng
    return lambda z: z


_CURVES: dict[str, Callable[[np.random.Generator], Function]] = {
    "line": _lines,
    "curve": _bends,
    "wave": _waves,
    "step": _steps,
}


def _held(target: str, kind: str, table: DrawnTable) -> Iterator[Held]:
    found = find_structures(table.X, table.y, table.task)
    unit = 3.0 if table.task == "regression" else 1.0
    for column in range(N_COLUMNS):
        in_product = table.product is not None and column in (0, 1)
        if in_product or not _is_claimed(found.variables[column]):
            continue
        own = table.X[:, column]
        places = np.linspace(own.min(), own.max(), N_PLACES)
        truth = unit * table.curves.get(column, np.zeros_like)(places)
        yield Held(target, kind, False, _share(found.effects.effect({column: places}), truth))
    if table.product is not None and _is_claimed(found.pair_chances[0, 1]):
        yield Held(target, kind, True, _surface_share(found, table, unit))


def _surface_share(found: StructurePosterior, table: DrawnTable, unit: float) -> float:
    assert table.product is not None
    truth = unit * table.product(table.X[:, :2])
    effect = found.effects.effect({0: table.X[:, 0], 1: table.X[:, 1]})
    return _share(effect, truth - truth.mean())


def _is_claimed(chance: float) -> bool:
    return stated_chance(chance) >= SUGGESTED


def _share(effect: Effect, truth: Array) -> float:
    return 100 * float(np.mean((effect.low <= truth) & (truth <= effect.high)))


def _judged(target: str, is_surface: bool, held: list[Held], *, barred: bool) -> Iterator[Row]:
    name = f"{'surface' if is_surface else 'curve'} of what is claimed, {target}"
    middle, allowed = (LEAST + MOST) / 2, (MOST - LEAST) / 2
    share = float(np.mean([one.share for one in held]))
    right = Row(
        name,
        f"coverage, points from {middle:g} %; allowed: {LEAST:g} to {MOST:g}",
        abs(share - middle),
        allowed,
        bar=1.0 if barred else None,
        note=f"{share:.1f} % of the places of {len(held)} effects",
        rivals={
            NOTHING: middle,
            EVERYTHING: 100.0 - middle,
            GUESS: middle - 50.0,
        },
    )
    yield right
    kinds: dict[str, list[float]] = defaultdict(list)
    for one in held:
        kinds[one.kind].append(one.share)
    worst = min(kinds, key=lambda kind: np.mean(kinds[kind]))
    least = float(np.mean(kinds[worst]))
    yield Row(
        name,
        f"coverage of the worst kind, at least {LEAST_OF_A_KIND:g} %, none if that of all is not "
        "right",
        least if right.met else 0.0,
        LEAST_OF_A_KIND,
        True,
        bar=1.0 if barred else None,
        note=", ".join(f"{kind} {np.mean(own):.1f} %" for kind, own in kinds.items()),
        rivals={NOTHING: 0.0, EVERYTHING: 0.0, GUESS: 0.0},
    )
