"""Simulated tables whose truth is known: which columns the target follows, and how.

Every table is drawn from its settings alone (`TableSettings`, seed `SEED`), so that each method
sees the same rows whenever it runs. The generators were fixed before any method was run on them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

SEED = 20_261_117
TARGET = "y"
ROWS = (100, 400, 1500)
COLUMNS = (5, 12, 40)
# Standard deviation of the latent function: in logits, and in units of a regression's noise.
LOGITS = (0.7, 3.0)
SIGNAL_TO_NOISE = (0.4, 1.6)
RARE_SHARE = 1 / 21
ALIKE = (0.95, 0.98)  # correlation of a noisy copy with its cause
LEVELS = 50  # text of more levels is left out for the peers
SMALLEST_CLASS = 3  # labels are drawn again until each class has this many rows

Pair = frozenset[str]  # or three columns that interact


@dataclass(frozen=True)
class TableSettings:
    """What a simulated table is drawn from."""

    kind: str
    n_rows: int
    n_columns: int
    replicate: int


@dataclass(frozen=True)
class SimulatedTable:
    """A table and its truth.

    `open_pairs` are pairs of which nothing can be said: whether they interact depends on the link.
    `shapes` holds how the target follows a variable ("linear", "smooth", "periodic") where that
    has an answer; a shape claimed of another true variable is neither right nor wrong.
    """

    settings: TableSettings
    frame: pd.DataFrame
    variables: frozenset[str]
    interactions: frozenset[Pair]
    open_pairs: frozenset[Pair]
    shapes: Mapping[str, str]

    @property
    def is_regression(self) -> bool:
        """Whether the target is a number."""
        return self.settings.kind in REGRESSIONS

    @property
    def coded_target(self) -> np.ndarray:
        """The target as floats, or as the places of its classes, (n_rows,)."""
        target = self.frame[TARGET].to_numpy()
        return target if self.is_regression else np.unique(target, return_inverse=True)[1]

    @property
    def peer_inputs(self) -> pd.DataFrame:
        """The columns as anybody would give them to a peer: without names and identifiers."""
        inputs = self.frame.drop(columns=TARGET)
        inputs = inputs.fillna(inputs.median(numeric_only=True))
        short = [name for name in inputs if inputs[name].nunique() <= LEVELS]
        return inputs[[name for name in inputs if name in short or not is_text(inputs[name])]]


def is_text(column: pd.Series) -> bool:
    """Whether a column holds text."""
    return not pd.api.types.is_numeric_dtype(column)


class _Draft:
    """Columns of a table that is being drawn, with what is true of them."""

    def __init__(self, n_rows: int, random: np.random.Generator) -> None:
        self.n_rows = n_rows
        self.random = random
        self.columns: list[Any] = []
        self.latent: list[np.ndarray] = []  # standardised values of the numeric columns
        self.true: list[int] = []
        self.pairs: list[tuple[int, ...]] = []
        self.open_pairs: list[tuple[int, int]] = []
        self.shapes: dict[int, str] = {}
        self.effects: list[np.ndarray] = []  # (n_rows,) each; one for each class for three classes

    def number(self, *distributions: str) -> int:
        """Add a column of numbers in units of its own and return its place."""
        values = _DISTRIBUTIONS[str(self.random.choice(distributions))](self.random, self.n_rows)
        return self.add(values)

    def add(self, values: np.ndarray, *, integer: bool = False) -> int:
        """Add a column of standardised values, in units of its own unless they are integers."""
        spread = values.std()
        self.latent.append((values - values.mean()) / (spread if spread > 0 else 1.0))
        if not integer:
            unit = 10 ** self.random.uniform(-1.5, 2.5)
            values = np.round(unit * (values + self.random.uniform(-3.0, 8.0)), 4)
        self.columns.append(values)
        return len(self.columns) - 1

    def text(self, values: np.ndarray) -> int:
        """Add a column of text and return its place."""
        self.columns.append(values.astype(object))
        self.latent.append(np.zeros(self.n_rows))
        return len(self.columns) - 1

    def effect(self, values: np.ndarray) -> None:
        """Add a part of the target's latent function, of spread about one and either sign."""
        spread = values.std()
        weight = self.random.uniform(0.8, 1.2) * self.random.choice([-1.0, 1.0])
        self.effects.append(weight * (values - values.mean()) / (spread if spread > 0 else 1.0))

    def curve(self, form: str, *distributions: str) -> int:
        """Add a true column that the target follows alone, in a line or a curve."""
        place = self.number(*distributions)
        self.true.append(place)
        self.shapes[place] = "linear" if form == "line" else "smooth"
        self.effect(_FORMS[form](self.latent[place]))
        return place

    def some_curve(self) -> int:
        """Add a true column whose effect is one of the curves."""
        form = str(self.random.choice(["square", "bump", "kink"]))
        return self.curve(form, "normal", "uniform")

    def pair(self, form: str) -> tuple[int, int]:
        """Add two true columns that act by their product or its sign."""
        first, second = self.number("normal", "uniform"), self.number("normal", "uniform")
        product = self.latent[first] * self.latent[second]
        self.effect(np.sign(product) if form == "sign" else product)
        self.true += [first, second]
        self.pairs.append((first, second))
        return first, second

    def empty(self, place: int, share: float) -> None:
        """Empty a share of the cells of a column, whatever they hold."""
        values = np.array(self.columns[place], dtype=float)
        values[self.random.random(self.n_rows) < share] = np.nan
        self.columns[place] = values

    def lean(self, place: int, correlation: float) -> int:
        """Add a column that goes along with another and is no cause, and return its place."""
        own = self.random.standard_normal(self.n_rows)
        return self.add(correlation * self.latent[place] + (1 - correlation**2) ** 0.5 * own)

    def noise(self) -> None:
        """Add a column that the target does not follow; one in six leans on another column."""
        sort = str(self.random.choice(list(_NOISE), p=list(_NOISE.values())))
        if sort == "integer":
            self.add(self.random.poisson(3.0, self.n_rows).astype(float), integer=True)
        elif sort == "binary":
            self.add(self.random.integers(0, 2, self.n_rows).astype(float), integer=True)
        elif sort == "text":
            self.text(self.random.choice(["oak", "birch", "pine"], self.n_rows))
        elif sort == "leaning" and self.columns:
            other = self.latent[self.random.integers(len(self.columns))]
            self.add(0.6 * other + 0.8 * self.random.standard_normal(self.n_rows))
        else:
            self.number(sort if sort in _DISTRIBUTIONS else "normal")


_DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda random, n: random.standard_normal(n),
    "uniform": lambda random, n: random.uniform(-(3**0.5), 3**0.5, n),
    "skewed": lambda random, n: random.gamma(2.0, 0.5**0.5, n),
    "long tail": lambda random, n: np.exp(0.9 * random.standard_normal(n)),
}

_FORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "line": lambda z: z,
    "square": lambda z: z**2,
    "bump": lambda z: np.exp(-2.0 * z**2),
    "kink": lambda z: np.maximum(z, 0.0),
    "absolute": np.abs,
    "exponential": np.exp,
}

_NOISE = {
    "normal": 0.3,
    "skewed": 0.1,
    "long tail": 0.1,
    "uniform": 0.12,
    "integer": 0.1,
    "binary": 0.06,
    "text": 0.06,
    "leaning": 0.16,
}


def _nothing(draft: _Draft) -> None:
    """Leave the target without a cause."""


def _one_linear(draft: _Draft) -> None:
    draft.curve("line", "normal", "uniform", "skewed")


def _one_u_shaped(draft: _Draft) -> None:
    draft.curve("square", "normal", "uniform")


def _additive_2(draft: _Draft) -> None:
    draft.curve("line", "normal", "uniform", "skewed")
    draft.some_curve()


def _additive_4(draft: _Draft) -> None:
    for _ in range(2):
        _additive_2(draft)


def _product(draft: _Draft) -> None:
    draft.pair("product")


def _exclusive_or(draft: _Draft) -> None:
    draft.pair("sign")


def _product_and_main(draft: _Draft) -> None:
    for place in draft.pair("product"):
        draft.effect(draft.latent[place])


def _twin(draft: _Draft) -> None:
    own = draft.latent[draft.curve("line", "normal", "uniform")]
    draft.add(0.9 * own + 0.19**0.5 * draft.random.standard_normal(draft.n_rows))


def _copies(draft: _Draft) -> None:
    """Add a cause and one to three columns that say nearly the same, in half of the tables more."""
    own = draft.latent[draft.curve("line", "normal", "uniform")]
    for _ in range(draft.random.integers(1, 4)):
        alike = draft.random.uniform(*ALIKE)
        noise = draft.random.standard_normal(draft.n_rows)
        draft.add(alike * own + (1 - alike**2) ** 0.5 * noise)
    if draft.random.random() < 0.5:
        _one_of_either(draft)


def _rare_binary(draft: _Draft) -> None:
    _one_of_either(draft)
    ones = draft.random.permutation(draft.n_rows) < round(0.02 * draft.n_rows)
    draft.add(ones.astype(float), integer=True)


def _many_levels(draft: _Draft) -> None:
    _one_of_either(draft)
    levels = draft.random.integers(0, 40, draft.n_rows)
    draft.text(np.array([f"town {level + 1}" for level in levels]))
    names = draft.random.permutation(draft.n_rows)
    draft.text(np.array([f"{_GIVEN[name % len(_GIVEN)]}, no. {name}" for name in names]))


def _one_of_either(draft: _Draft) -> None:
    if draft.random.random() < 0.5:
        _one_linear(draft)
    else:
        draft.some_curve()


def _categorical(draft: _Draft) -> None:
    levels = draft.random.integers(0, 4, draft.n_rows)
    draft.true.append(draft.text(np.array(["north", "east", "south", "west"])[levels]))
    draft.effect(draft.random.permutation([-1.2, -0.4, 0.4, 1.2])[levels])
    _one_linear(draft)


def _three_classes(draft: _Draft) -> None:
    """Give two classes a score of their own, each of one column.

    Whether the two interact is open, as are their shapes: the logit of one class against the rest
    is no sum of effects even where every score is.
    """
    first = draft.curve("line", "normal", "uniform")
    second = draft.some_curve()
    draft.open_pairs.append((first, second))
    draft.shapes.clear()


def _periodic(draft: _Draft) -> None:
    place = draft.add(draft.random.uniform(0.0, 1.0, draft.n_rows))
    n_periods, phase = draft.random.uniform(3.0, 5.0), draft.random.uniform(0.0, 2 * np.pi)
    z = draft.latent[place] / 12**0.5  # of length one
    draft.true.append(place)
    draft.shapes[place] = "periodic"
    draft.effect(np.sin(2 * np.pi * n_periods * z + phase))


def _curve_and_twin(draft: _Draft) -> None:
    """Add a curve that goes on in its tails, and a column that goes along with its own."""
    form = str(draft.random.choice(["square", "absolute", "exponential"]))
    draft.lean(draft.curve(form, "normal"), 0.8)


def _filled(draft: _Draft) -> None:
    """Add a cause with a third of its cells empty, and a column that goes along with it."""
    place = draft.curve("line", "normal")
    draft.lean(place, 0.7)
    draft.empty(place, 0.35)


def _towns(draft: _Draft) -> None:
    """Add a category of forty levels, each with an effect of its own."""
    levels = draft.random.integers(0, 40, draft.n_rows)
    draft.true.append(draft.text(np.array([f"town {level + 1}" for level in levels])))
    draft.effect(draft.random.standard_normal(40)[levels])


def _ordered(draft: _Draft) -> None:
    """Add a category whose levels have an order, along which the target moves."""
    names = _SCALES[draft.random.integers(len(_SCALES))]
    levels = draft.random.integers(0, len(names), draft.n_rows)
    draft.true.append(draft.text(np.array(names)[levels]))
    draft.effect(levels.astype(float))
    _lone_noise(draft)


def _lone_noise(draft: _Draft) -> None:
    """Add an effect of nothing that the table holds, so that the true one is weak."""
    draft.effects.append(2.5 * draft.random.standard_normal(draft.n_rows))


def _triple(draft: _Draft) -> None:
    """Add three columns that act by their product alone.

    The effect of each depends on the others, so that pairs of them are open.
    """
    places = tuple(draft.number("normal", "uniform") for _ in range(3))
    draft.effect(np.prod([draft.latent[place] for place in places], axis=0))
    draft.true += places
    draft.pairs.append(places)
    draft.open_pairs += combinations(places, 2)


_SCALES = (
    ("never", "rarely", "sometimes", "often", "always"),
    ("very low", "low", "medium", "high", "very high"),
    ("1-10", "11-20", "21-30", "31-40", "41-50", "over 50"),
    ("stage I", "stage II", "stage III", "stage IV"),
)

_GIVEN = ("Abbot, Mr. John", "Bell, Mrs. Ann", "Cole, Miss Ruth", "Dale, Master Tom")

_KINDS: dict[str, Callable[[_Draft], None]] = {
    "null, classes": _nothing,
    "null, regression": _nothing,
    "one linear": _one_linear,
    "one U-shaped": _one_u_shaped,
    "additive 2": _additive_2,
    "additive 4": _additive_4,
    "pure product": _product,
    "XOR": _exclusive_or,
    "product and main effects": _product_and_main,
    "correlated twin": _twin,
    "rare binary noise": _rare_binary,
    "many-level text noise": _many_levels,
    "categorical truth": _categorical,
    "regression, additive": _additive_2,
    "regression, product": _product,
    "three classes": _three_classes,
    "1:20 classes": _additive_2,
    "periodic": _periodic,
    "noisy copies": _copies,
    "regression, noisy copies": _copies,
    "curve and twin": _curve_and_twin,
    "regression, curve and twin": _curve_and_twin,
    "regression, filled cells": _filled,
    "forty levels": _towns,
    "regression, forty levels": _towns,
    "ordered levels": _ordered,
    "regression, ordered levels": _ordered,
    "regression, triple product": _triple,
}
KINDS = tuple(_KINDS)
# Judged apart, by `_claims_sets`: what is right to say of them is no single name.
COPIED = tuple(kind for kind in KINDS if "copies" in kind)
COMPARED = tuple(kind for kind in KINDS if kind not in COPIED)
NULLS = frozenset(kind for kind in KINDS if kind.startswith("null"))
REGRESSIONS = frozenset(kind for kind in KINDS if "regression" in kind)
PER_BLOCK = (len(COMPARED) + len(NULLS)) * len(ROWS) * len(COLUMNS)


def table_settings(n_tables: int) -> list[TableSettings]:
    """Return the settings of the first tables, in an order of which every part is balanced.

    A round of tables holds every kind once and the null ones twice; nine rounds hold every size of
    every kind.
    """
    found: list[TableSettings] = []
    block = 0
    while len(found) < n_tables:
        found += _block(block)
        block += 1
    return found[:n_tables]


def _block(block: int) -> list[TableSettings]:
    random = np.random.default_rng([SEED, block])
    sizes = [(n_rows, n_columns) for n_rows in ROWS for n_columns in COLUMNS]
    rounds: list[list[TableSettings]] = [[] for _ in sizes]
    for kind in COMPARED:
        replicates = (2 * block, 2 * block + 1) if kind in NULLS else (block,)
        for replicate in replicates:
            for place, size in enumerate(random.permutation(len(sizes))):
                n_rows, n_columns = sizes[size]
                rounds[place].append(TableSettings(kind, n_rows, n_columns, replicate))
    return [part[i] for part in rounds for i in random.permutation(len(part))]


def simulate(settings: TableSettings) -> SimulatedTable:
    """Draw a table from its settings."""
    random = np.random.default_rng(
        [SEED, KINDS.index(settings.kind), settings.n_rows, settings.n_columns, settings.replicate]
    )
    draft = _Draft(settings.n_rows, random)
    _KINDS[settings.kind](draft)
    effects = list(draft.effects)
    while len(draft.columns) < settings.n_columns:
        draft.noise()
    target = _target(settings.kind, effects, draft)
    order = random.permutation(settings.n_columns)
    names = _names(random, settings.n_columns)
    frame = pd.DataFrame({names[place]: draft.columns[place] for place in order})
    frame[TARGET] = target
    return SimulatedTable(
        settings=settings,
        frame=frame,
        variables=frozenset(names[place] for place in draft.true),
        interactions=_pairs(draft.pairs, names),
        open_pairs=_pairs(draft.open_pairs, names),
        shapes={names[place]: shape for place, shape in draft.shapes.items()},
    )


def _pairs(places: Sequence[tuple[int, ...]], names: list[str]) -> frozenset[Pair]:
    return frozenset(frozenset(names[place] for place in some) for some in places)


def _names(random: np.random.Generator, n_columns: int) -> list[str]:
    """Return different names of two words each."""
    words = [f"{first} {second}" for first in _FIRST for second in _SECOND]
    return [words[place] for place in random.permutation(len(words))[:n_columns]]


_FIRST = ("mean", "left", "right", "total", "early", "late", "upper", "lower")
_SECOND = ("width", "depth", "weight", "age", "pressure", "count", "level", "index", "dose")


def _target(kind: str, effects: list[np.ndarray], draft: _Draft) -> np.ndarray:
    """Draw the target, (n_rows,), from the parts of its latent function."""
    if kind in REGRESSIONS:
        return _number_target(effects, draft)
    if kind == "three classes":
        return _three_class_target(effects, draft)
    latent = _latent(effects, draft, LOGITS)
    share = RARE_SHARE if kind == "1:20 classes" else draft.random.uniform(0.35, 0.65)
    chance = 1 / (1 + np.exp(-latent - _intercept(latent, share)))
    return _labels(np.column_stack([1 - chance, chance]), np.array(["no", "yes"]), draft)


def _latent(effects: list[np.ndarray], draft: _Draft, strengths: tuple[float, float]) -> np.ndarray:
    """Return the sum of the parts, (n_rows,), with a spread drawn from the range of strengths."""
    strength = draft.random.uniform(*strengths)
    if not effects:
        return np.zeros(draft.n_rows)
    total = np.sum(effects, axis=0)
    return np.asarray(strength * total / total.std())


def _number_target(effects: list[np.ndarray], draft: _Draft) -> np.ndarray:
    """Return latent function and noise, (n_rows,); without effects the noise may be skewed."""
    random, n_rows = draft.random, draft.n_rows
    sort = str(random.choice(["normal", "t", "skewed"])) if not effects else "normal"
    noise = {
        "normal": random.standard_normal(n_rows),
        "t": random.standard_t(5, n_rows),
        "skewed": random.gamma(2.0, 0.5**0.5, n_rows),
    }[sort]
    values = _latent(effects, draft, SIGNAL_TO_NOISE) + noise
    return np.asarray(np.round(random.uniform(-20, 80) + 10 ** random.uniform(-1, 2) * values, 5))


def _three_class_target(effects: list[np.ndarray], draft: _Draft) -> np.ndarray:
    strength = draft.random.uniform(*LOGITS)
    scores = np.column_stack(
        [np.zeros(draft.n_rows), *(strength * part / part.std() for part in effects)]
    )
    odds = np.exp(scores)
    return _labels(odds / odds.sum(axis=1, keepdims=True), np.array(["a", "b", "c"]), draft)


def _intercept(latent: np.ndarray, share: float) -> float:
    """Return what to add to the latent function for a mean chance of `share`."""
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        if (1 / (1 + np.exp(-latent - middle))).mean() < share:
            low = middle
        else:
            high = middle
    return low


def _labels(chances: np.ndarray, names: np.ndarray, draft: _Draft) -> np.ndarray:
    """Draw a class for each row, (n_rows,), until every class has a few rows."""
    edges = chances.cumsum(axis=1)[:, :-1]
    while True:
        classes = (draft.random.random((draft.n_rows, 1)) > edges).sum(axis=1)
        if np.bincount(classes, minlength=len(names)).min() >= SMALLEST_CLASS:
            return np.asarray(names[classes], dtype=object)
