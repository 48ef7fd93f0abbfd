"""Formulas found by `ParetoConstructor`, with its default choice, beside a polynomial lasso.

FUNC6 of Mierswa (2009), Friedman's three functions and ten formulas of physics: 500 rows, as they
are and with noise of 5 percent of the spread, and 1,000 other rows without noise to judge by. Bars
are the wished values themselves: 1 - R2 of 1e-6 and 20 nodes for a formula, an error of 0.03 for
FUNC6. By itself: ``python -m benchmarks.peers._features_construction [--quick]``.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from benchmarks.rows import Row, show
from parsimon._typing import Array

N_ROWS, N_TEST = 500, 1000
UNEXPLAINED, NODES, FUNC6_ERROR = 1e-6, 20, 0.03
Columns = Mapping[str, Array]


class Law(NamedTuple):
    """A formula, and the ranges that its columns are drawn from."""

    compute: Callable[[Columns], Array]
    ranges: Mapping[str, tuple[float, float]]
    noise: float = 0.0


def _same(names: str, low: float, high: float) -> dict[str, tuple[float, float]]:
    return dict.fromkeys(names.split(), (low, high))


PHYSICS = {
    "Coulomb": Law(
        lambda c: c["q1"] * c["q2"] / (4 * np.pi * c["e"] * c["r"] ** 2), _same("q1 q2 e r", 1, 5)
    ),
    "kinetic energy": Law(
        lambda c: 0.5 * c["m"] * (c["u"] ** 2 + c["v"] ** 2 + c["w"] ** 2), _same("m u v w", 1, 5)
    ),
    "lens": Law(lambda c: 1 / (1 / c["d1"] + c["n"] / c["d2"]), _same("d1 d2 n", 1, 5)),
    "distance": Law(
        lambda c: np.sqrt((c["a"] - c["b"]) ** 2 + (c["c"] - c["d"]) ** 2), _same("a b c d", 1, 5)
    ),
    "relativistic mass": Law(
        lambda c: c["m"] / np.sqrt(1 - c["v"] ** 2 / c["c"] ** 2),
        {"m": (1, 5), "v": (1, 2), "c": (3, 10)},
    ),
    "gravitation": Law(
        lambda c: c["g"] * c["m"] * c["k"] / ((c["x"] - c["y"]) ** 2 + c["z"] ** 2),
        {**_same("g m k y z", 1, 2), "x": (3, 4)},
    ),
    "interference": Law(
        lambda c: c["i"] + c["j"] + 2 * np.sqrt(c["i"] * c["j"]) * np.cos(c["t"]),
        _same("i j t", 1, 5),
    ),
    "normal density": Law(lambda c: np.exp(-(c["t"] ** 2) / 2) / np.sqrt(2 * np.pi), {"t": (1, 3)}),
    "oscillator energy": Law(
        lambda c: 0.25 * c["m"] * c["x"] ** 2 * (c["w"] ** 2 + c["o"] ** 2), _same("m w o x", 1, 3)
    ),
    "sum of velocities": Law(
        lambda c: (c["u"] + c["v"]) / (1 + c["u"] * c["v"] / c["c"] ** 2), _same("u v c", 1, 5)
    ),
}
OTHERS = {
    "FUNC6": Law(
        lambda c: 3 * c["x1"] ** 3 - c["x1"] ** 2 + 1000 / abs(c["x1"]) + 2000 * abs(c["x1"]),
        {"x1": (-20, 25), "x2": (-2, 2)},
        noise=0.02,
    ),
    "Friedman 1": Law(
        lambda c: (
            10 * np.sin(np.pi * c["x1"] * c["x2"])
            + 20 * (c["x3"] - 0.5) ** 2
            + 10 * c["x4"]
            + 5 * c["x5"]
        ),
        _same("x1 x2 x3 x4 x5", 0, 1),
    ),
    "Friedman 2": Law(
        lambda c: np.sqrt(c["r"] ** 2 + (c["w"] * c["l"] - 1 / (c["w"] * c["c"])) ** 2),
        {"r": (0, 100), "w": (40 * np.pi, 560 * np.pi), "l": (0, 1), "c": (1, 11)},
    ),
    "Friedman 3": Law(
        lambda c: np.arctan((c["w"] * c["l"] - 1 / (c["w"] * c["c"])) / c["r"]),
        {"r": (1, 100), "w": (40 * np.pi, 560 * np.pi), "l": (0, 1), "c": (1, 11)},
    ),
}


def construction_rows(*, quick: bool) -> list[Row]:
    """Return errors, sizes and seconds for each formula."""
    laws = {**PHYSICS, **OTHERS}
    names = ("Coulomb", "lens", "FUNC6") if quick else tuple(laws)
    return [row for name in names for row in _compared(name, laws[name])]


def _compared(name: str, law: Law) -> Iterator[Row]:
    for noise in (0.0, 0.05):
        X, y, X_test, truth = _drawn(law, noise)
        found, spent = _timed(partial(_constructed, X, y, list(law.ranges)))
        peer, peer_spent = _timed(partial(_polynomial_lasso, X, y))
        ours, theirs = (
            np.sqrt(np.mean((model.predict(X_test) - truth) ** 2)) for model in (found, peer)
        )
        case = f"{name}{', 5 % noise' if noise else ''}"
        formula = found.best_estimator_.expression
        note = str(formula)[:60]
        yield Row(case, "error on other rows; polynomial lasso", ours, theirs, note=note)
        yield Row(case, "seconds; polynomial lasso", spent, peer_spent)
        if name in PHYSICS and not noise:
            left = max(float(ours**2 / truth.var()), 1e-30)
            yield Row(case, "1 - R2; wished", left, UNEXPLAINED, bar=1.0)
            yield Row(case, "nodes; wished", formula.size, NODES, bar=1.0)
        if name == "FUNC6" and not noise:
            yield Row(case, "error on other rows; wished", ours, FUNC6_ERROR, bar=1.0)


def _drawn(law: Law, noise: float) -> tuple[Array, Array, Array, Array]:
    """Return rows with a noisy target, and other rows with the true one."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(*ends, N_ROWS + N_TEST) for ends in law.ranges.values()])
    truth = np.asarray(law.compute(dict(zip(law.ranges, X.T, strict=True))))
    scale = noise * truth.std() if noise else law.noise
    y = truth[:N_ROWS] + rng.normal(0.0, 1.0, N_ROWS) * scale
    return X[:N_ROWS], y, X[N_ROWS:], truth[N_ROWS:]


def _constructed(X: Array, y: Array, names: list[str]) -> Any:
    import pandas as pd

    from parsimon.features import ParetoConstructor

    with warnings.catch_warnings():
        # Other rows come without names.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return ParetoConstructor(random_state=0).fit(pd.DataFrame(X, columns=names), y)


def _polynomial_lasso(X: Array, y: Array) -> Any:
    model = make_pipeline(
        StandardScaler(), PolynomialFeatures(3, include_bias=False), StandardScaler(), LassoCV(cv=5)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def _timed(job: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    found = job()
    return found, time.perf_counter() - start


if __name__ == "__main__":
    show(construction_rows(quick="--quick" in sys.argv), title="construction of features")
