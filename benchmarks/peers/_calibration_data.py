"""Tables of the calibration bench, and how each is cut into training and held-out rows.

Sets and splits were fixed before any result was looked at. A real table is "raw" (columns in their
own units) or "scaled" (standardised by its training rows, for every model alike); rows with missing
cells are left out. A simulated table is drawn anew for each split.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from parsimon._typing import Array, Indices

N_TRAIN, N_TEST = 600, 1000
N_SIMULATED_TEST = 1500
TRAIN_SHARE = 2 / 3

RAW = ("pima_uci", "heart_cleveland", "wdbc", "wbc", "bupa", "crabs", "iris", "wine")
SCALED = (
    "ionosphere",
    "sonar",
    "raetsch_german",
    "raetsch_titanic",
    "raetsch_flare_solar",
    "raetsch_breast_cancer",
)
REAL = (*RAW, *SCALED)
# Those that need no data folder, for a quick run.
ALWAYS_HERE = ("wdbc", "iris")


class Split(NamedTuple):
    """Training and held-out rows, their classes counted from 0."""

    X: Array
    y: Indices
    X_test: Array
    y_test: Indices


def splits(name: str, n_splits: int, *, most: int = N_TRAIN) -> Iterator[Split]:
    """Yield the first splits of a set, with at most so many training rows."""
    for seed in range(n_splits):
        if name in SIMULATED:
            yield _drawn(SIMULATED[name], seed, most)
        else:
            yield _cut(name, seed, most)


def _cut(name: str, seed: int, most: int) -> Split:
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    X, y = _real(name)
    n_train = min(most, round(TRAIN_SHARE * len(y)))
    X, X_test, y, y_test = train_test_split(X, y, train_size=n_train, stratify=y, random_state=seed)
    if name in SCALED:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return Split(X, y, X_test[:N_TEST], y_test[:N_TEST])


def _real(name: str) -> tuple[Array, Indices]:
    if name in ALWAYS_HERE:
        from sklearn.datasets import load_breast_cancer, load_iris

        X, y = (load_iris if name == "iris" else load_breast_cancer)(return_X_y=True)
        return X, y
    import pandas as pd

    from parsimon.datasets import load

    data = load(name)
    table = pd.get_dummies(pd.DataFrame(data.data), drop_first=True, dtype=float)
    complete = table.notna().all(axis=1).to_numpy()
    _, codes = np.unique(np.asarray(data.target)[complete], return_inverse=True)
    return table.to_numpy(np.float64)[complete], codes


def _drawn(draw: "Draw", seed: int, most: int) -> Split:
    n_train = min(most, draw.n_train)
    rng = np.random.default_rng([seed, draw.n_train])
    X = rng.normal(size=(n_train + N_SIMULATED_TEST, draw.n_columns))
    X, y = draw.classes(X, rng)
    return Split(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


class Draw(NamedTuple):
    """A simulated table: rows to train on, columns, and what makes classes of normal numbers."""

    n_train: int
    n_columns: int
    classes: Callable[[Array, np.random.Generator], tuple[Array, Indices]]


def _by_log_odds(log_odds: Callable[[Array], Array]) -> Any:
    def classes(X: Array, rng: np.random.Generator) -> tuple[Array, Indices]:
        p = 1.0 / (1.0 + np.exp(-log_odds(X)))
        return X, (rng.random(len(X)) < p).astype(np.intp)

    return classes


def _own_units(X: Array, rng: np.random.Generator) -> tuple[Array, Indices]:
    """Return an additive truth whose columns are in units from 1e-4 to 1e4, far from zero."""
    _, y = _by_log_odds(lambda X: 2 * X[:, 0] ** 2 - 2 + 1.5 * X[:, 1])(X, rng)
    return (X + 3.0) * np.geomspace(1e-4, 1e4, X.shape[1]), y


def _three(X: Array, rng: np.random.Generator) -> tuple[Array, Indices]:
    """Return three classes around a ring, one of them in the middle too."""
    angle, radius = np.arctan2(X[:, 1], X[:, 0]), np.hypot(X[:, 0], X[:, 1])
    y = np.where(radius < 0.8, 0, np.digitize(angle, [-1.0, 1.2]))
    flipped = rng.random(len(X)) < 0.1
    return X, np.where(flipped, rng.integers(3, size=len(X)), y)


SIMULATED: dict[str, Draw] = {
    "noise": Draw(200, 20, _by_log_odds(lambda X: np.zeros(len(X)))),
    "rare 1:50": Draw(600, 6, _by_log_odds(lambda X: 1.5 * X[:, 0] + X[:, 1] - 5.2)),
    "linear": Draw(300, 12, _by_log_odds(lambda X: X[:, :4] @ [2.0, -1.5, 1.0, 1.0])),
    "product": Draw(400, 8, _by_log_odds(lambda X: 3 * X[:, 0] * X[:, 1])),
    "ring": Draw(300, 2, _by_log_odds(lambda X: 4 * (np.hypot(X[:, 0], X[:, 1]) - 1.2))),
    "own units": Draw(400, 6, _own_units),
    "three classes": Draw(300, 4, _three),
}
