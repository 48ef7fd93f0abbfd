"""Tasks of chapter 10 of Mierswa (2009): random formulas of five columns, and what was printed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.rivals import CONSTANT, GUESS
from parsimon._typing import Array
from parsimon.features import Expression, parse

NAMES = tuple(f"x{j}" for j in range(5))
OPERATIONS = ("+", "*", "sin", "exp")
# Affine copies of the first column in TRANSFER-1A. The source says four, and five for each feature;
# with equally many for each, weights of both kinds and distances of both keep their order.
N_COPIES = 4

BASE_ERROR, CONSTRUCTED_ERROR = 4.70, 2.93
TABLE_10_2 = {
    50: {"euclidean": 0.228, "manhattan": 0.213, "two_phase": 0.145},
    100: {"euclidean": 0.201, "manhattan": 0.196, "two_phase": 0.106},
    250: {"random": 8.720, "euclidean": 0.125, "manhattan": 0.125, "two_phase": 0.102},
    500: {"euclidean": 0.126, "manhattan": 0.125, "two_phase": 0.105},
    1000: {"euclidean": 0.120, "manhattan": 0.119, "two_phase": 0.106},
    1500: {"random": 4.010, "euclidean": 0.121, "manhattan": 0.116, "two_phase": 0.106},
}
# Seconds of a search over seconds of a transfer in section 10.8.
SPEED_UP = {"manhattan": 216.9 / 2.18, "two_phase": 216.9 / 3.67, "sampled": 216.9 / 58.73}


@dataclass(frozen=True, eq=False)
class RandomTask:
    """A table (n, 5), its target (n,) and the formula behind it."""

    X: Array
    y: Array
    formula: Expression


def random_task(kind: int, seed: int, n_rows: int | None = None) -> RandomTask:
    """Return a task of TRANSFER-1 (uniform columns) or TRANSFER-2 (normal ones, cut at 2).

    Formulas that a linear regression already predicts to a tenth of the spread are drawn anew, as
    the source wants tasks that need construction; so are those beyond a million.
    """
    rng = np.random.default_rng([10, kind, seed])
    n = n_rows or (300 if kind == 1 else 500)
    while True:
        formula = parse(_drawn(rng, 3))
        drawn = rng.random((n, 5)) if kind == 1 else np.clip(rng.normal(size=(n, 5)), -2, 2)
        y = formula(dict(zip(NAMES, drawn.T, strict=True)))
        if np.abs(y).max() < 1e6 and y.std() > 1e-6 and _needs_construction(drawn, y):
            return RandomTask(drawn, y, formula)


def _drawn(rng: np.random.Generator, depth: int) -> str:
    """Return a formula of sums, products, sines and exponentials; a leaf with probability 0.3."""
    if depth == 0 or rng.random() < 0.3:
        return NAMES[int(rng.integers(5))]
    operation = OPERATIONS[int(rng.integers(4))]
    first = _drawn(rng, depth - 1)
    if operation in "+*":
        return f"({first} {operation} {_drawn(rng, depth - 1)})"
    return f"{operation}({first})"


def _needs_construction(X: Array, y: Array) -> bool:
    design = np.column_stack([np.ones(len(X)), X])
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return bool(left.std() > 0.1 * y.std())


def plain_errors(kind: int, seeds: Sequence[int]) -> dict[str, float]:
    """Return relative errors in per cent of the mean of a target, and of its values by lot."""
    found: dict[str, list[float]] = {CONSTANT: [], GUESS: []}
    for seed in seeds:
        y = random_task(kind, seed).y
        told = {CONSTANT: y.mean(), GUESS: np.random.default_rng(seed).permutation(y)}
        for name, each in told.items():
            found[name].append(float(np.abs(y - each).sum() / np.abs(y).sum()))
    return {name: 100.0 * float(np.mean(each)) for name, each in found.items()}


def with_copies(X: Array, seed: int) -> Array:
    """Return a table with affine copies of its first column beside it, shape (n, 5 + 4)."""
    rng = np.random.default_rng([11, seed])
    slopes, shifts = rng.uniform(0.5, 2.0, size=N_COPIES), rng.normal(size=N_COPIES)
    return np.column_stack([X, X[:, [0]] * slopes + shifts])


def names_with_copies() -> tuple[str, ...]:
    """Return the names of the columns of `with_copies`."""
    return (*NAMES, *(f"{NAMES[0]}_{copy}" for copy in range(N_COPIES)))
