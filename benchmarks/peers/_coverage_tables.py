"""Simulated tables for `coverage`: rows whose truth is known, outer folds, and true performance.

The chance of class 1 and the noise around a number are known at every point, so that the true
error of a fitted model is a mean over `N_NEW` new points without any drawn labels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from parsimon._typing import Array, Indices, Mask
from parsimon.inference.logistic import fit_logistic

N_NEW = 6000
# A slope needs fewer: its labels are not drawn.
N_FOR_SLOPES = 1000
MOST_COLUMNS = 20
Signal = Callable[[Array], Array]
Noise = Literal["normal", "t5", "t3", "lognormal"]
# Draws of variance one.
NOISE: dict[Noise, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "t5": lambda rng, n: rng.standard_t(5, size=n) / np.sqrt(5 / 3),
    "t3": lambda rng, n: rng.standard_t(3, size=n) / np.sqrt(3),
    "lognormal": lambda rng, n: (
        (rng.lognormal(size=n) - np.exp(0.5)) / np.sqrt(np.exp(2.0) - np.exp(1.0))
    ),
}


class BestColumns:
    """An unstable learner: the two columns of `n` that correlate most, then a linear model."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Array, y: Array) -> "BestColumns":
        strength = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())) / X.std(axis=0)
        self.columns = np.argsort(-strength)[:2]
        self.model.fit(X[:, self.columns], y)
        return self

    def predict(self, X: Array) -> Array:
        return np.asarray(self.model.predict(X[:, self.columns]))

    def predict_proba(self, X: Array) -> Array:
        return np.asarray(self.model.predict_proba(X[:, self.columns]))


LEARNERS: dict[str, Callable[[bool], Any]] = {
    "linear": lambda classes: LogisticRegression() if classes else Ridge(),
    "tree": lambda classes: (DecisionTreeClassifier if classes else DecisionTreeRegressor)(
        max_leaf_nodes=6, min_samples_leaf=5, random_state=0
    ),
    "neighbours": lambda classes: (KNeighborsClassifier if classes else KNeighborsRegressor)(9),
    "best columns": lambda classes: BestColumns(LEARNERS["linear"](classes)),
}


def linear(X: Array) -> Array:
    return X[:, 0] - X[:, 1] + 0.5 * X[:, 2]


def product(X: Array) -> Array:
    return X[:, 0] * X[:, 1]


@dataclass(frozen=True)
class Scenario:
    """How a table comes about, and who learns from it.

    strength, shift: The signal is shift + strength * signal(X): log odds, or the mean of a number
        with noise of variance one.
    noise: None for classes.
    """

    name: str
    learner: str
    signal: Signal
    strength: float
    n_columns: int = 5
    shift: float = 0.0
    noise: Noise | None = None

    @property
    def classes(self) -> bool:
        """Whether the target is a class."""
        return self.noise is None

    def mean(self, X: Array) -> Array:
        """Return the chance of class 1, or the mean of the number, (n,)."""
        level = self.shift + self.strength * self.signal(X)
        chance: Array = expit(level) if self.classes else level
        return chance

    @property
    def variance(self) -> float:
        """Of the number; the columns are standard normal."""
        return 1.0 + self.strength**2 * (2.25 if self.signal is linear else 1.0)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return n rows and their targets."""
        X = rng.normal(size=(n, self.n_columns))
        if self.noise is None:
            return X, (rng.random(n) < self.mean(X)).astype(np.float64)
        return X, self.mean(X) + NOISE[self.noise](rng, n)


CLASSES = (
    Scenario("strong", "linear", linear, 2.0),
    Scenario("weak", "linear", linear, 0.5),
    Scenario("nothing", "linear", linear, 0.0),
    Scenario("near certain", "linear", linear, 8.0),
    Scenario("20 columns", "linear", linear, 1.0, n_columns=20),
    Scenario("1 in 9", "linear", linear, 1.0, shift=-2.8),
    Scenario("1 in 30", "linear", linear, 1.0, shift=-4.2),
    Scenario("additive", "tree", linear, 1.0),
    Scenario("product", "tree", product, 2.0, n_columns=4),
    Scenario("nothing", "tree", linear, 0.0),
    Scenario("product", "neighbours", product, 2.0, n_columns=3),
    Scenario("20 columns", "best columns", linear, 0.7, n_columns=20),
)
# More tables without signal, for what is said of an AUC there.
CHANCE = (
    Scenario("nothing, 3 columns", "linear", linear, 0.0, n_columns=3),
    Scenario("nothing, 20 columns", "linear", linear, 0.0, n_columns=20),
    Scenario("nothing, 20 columns", "best columns", linear, 0.0, n_columns=20),
)
# Rows are called from these probabilities on: a miss costs as much as 1 or 5 false alarms.
THRESHOLDS = (1 / 2, 1 / 6)
NUMBERS = (
    Scenario("strong", "linear", linear, 2.0, noise="normal"),
    Scenario("weak", "linear", linear, 0.4, noise="normal"),
    Scenario("nothing", "linear", linear, 0.0, noise="normal"),
    Scenario("20 columns", "linear", linear, 1.0, n_columns=20, noise="normal"),
    Scenario("t, 5 degrees", "linear", linear, 0.8, noise="t5"),
    Scenario("t, 3 degrees", "linear", linear, 0.6, noise="t3"),
    Scenario("lognormal", "linear", linear, 0.7, noise="lognormal"),
    Scenario("additive", "tree", linear, 1.4, noise="normal"),
    Scenario("product", "tree", product, 2.0, n_columns=4, noise="normal"),
    Scenario("product", "neighbours", product, 2.0, n_columns=3, noise="normal"),
    Scenario("20 columns", "best columns", linear, 0.5, n_columns=20, noise="normal"),
)


@dataclass(frozen=True, eq=False)
class Told:
    """What one learner says of the rows outside, and how good it truly is.

    prediction (n,): By the fold that did not see the row.
    loss, squares: True error (or mean squared error) and log loss (or the same), means over the
        models of the folds; `area` their true AUC.
    found, alarms (2,): True shares of either class that are called positive, at `THRESHOLDS`.
    slope: The calibration slope of the models of the folds together.
    whole: True error (or mean squared error) of the same learner fitted to all rows.
    """

    prediction: Array
    loss: float
    log_loss: float
    area: float
    whole: float
    found: Array
    alarms: Array
    slope: float


@dataclass(frozen=True, eq=False)
class Table:
    """The targets y (n,), the fold of each row (n,), and who says what of it."""

    scenario: Scenario
    y: Array
    fold: Indices
    ours: Told
    rival: Told
    baseline: Told


def simulate(
    scenario: Scenario, n: int, n_folds: int, new: Array, rng: np.random.Generator
) -> Table:
    """Draw one table, run the outer folds and measure the truth on new points (N_NEW, 20)."""
    X, y = scenario.draw(n, rng)
    while scenario.classes and min(y.sum(), n - y.sum()) < n_folds:
        X, y = scenario.draw(n, rng)
    splitter = StratifiedKFold if scenario.classes else KFold
    folds = list(splitter(n_folds, shuffle=True, random_state=int(rng.integers(2**31))).split(X, y))
    place = np.zeros(n, dtype=np.intp)
    for number, (_, test) in enumerate(folds):
        place[test] = number
    points = np.ascontiguousarray(new[:, : scenario.n_columns])
    true = _Truth(scenario, points, scenario.mean(points))
    rival = "tree" if scenario.learner == "linear" else "linear"
    return Table(
        scenario,
        y,
        place,
        _told(LEARNERS[scenario.learner], X, y, folds, true),
        _told(LEARNERS[rival], X, y, folds, true),
        _told(lambda _: _Constant(), X, y, folds, true),
    )


class _Constant:
    """Ignores the columns."""

    def fit(self, X: Array, y: Array) -> "_Constant":  # noqa: ARG002 - a learner's signature
        self.level = float(np.mean(y))
        return self

    def predict(self, X: Array) -> Array:
        return np.full(len(X), self.level)

    def predict_proba(self, X: Array) -> Array:
        return np.tile([1 - self.level, self.level], (len(X), 1))


@dataclass(frozen=True, eq=False)
class _Truth:
    """New points (N_NEW, d) and the chance of class 1, or the mean, at each (N_NEW,)."""

    scenario: Scenario
    points: Array
    mean: Array

    def said(self, model: Any) -> Array:
        """Return what a fitted model says of the new points, (N_NEW,)."""
        return predicted(model, self.points, self.scenario.classes)

    def __call__(self, said: Array) -> tuple[float, float, float]:
        """Return true error, log loss and area of what a model says."""
        if not self.scenario.classes:
            error = 1.0 + float(np.mean((said - self.mean) ** 2))
            return error, error, np.nan
        kept = np.clip(said, 1e-9, 1 - 1e-9)
        called: Mask = said >= 0.5
        return (
            float(np.mean(np.where(called, 1 - self.mean, self.mean))),
            -float(np.mean(self.mean * np.log(kept) + (1 - self.mean) * np.log(1 - kept))),
            self._area(said),
        )

    def _area(self, said: Array) -> float:
        _, places = np.unique(said, return_inverse=True)
        positive = np.bincount(places, weights=self.mean)
        negative = np.bincount(places, weights=1 - self.mean)
        below = np.cumsum(negative) - negative / 2
        return float(positive @ below / (positive.sum() * negative.sum()))

    def called(self, said: Array) -> Array:
        """Return the true shares of the positive and the negative class from thresholds on."""
        classes = self.mean, 1 - self.mean
        return np.array([[one[said >= t].sum() / one.sum() for t in THRESHOLDS] for one in classes])

    def slope(self, said: list[Array]) -> float:
        """Return the slope of the line that all models together have on some of the points."""
        few = slice(None, None, max(1, len(self.mean) // N_FOR_SLOPES))
        odds = logit(np.clip([one[few] for one in said], 1e-6, 1 - 1e-6)).ravel()
        if np.ptp(odds) < 1e-9:
            return np.nan
        design = np.column_stack([odds, np.ones(len(odds))])
        line = fit_logistic(design, np.tile(self.mean[few], len(said)))
        return np.nan if line is None else float(line[0])


def predicted(model: Any, X: Array, classes: bool) -> Array:
    """Return the probability of class 1, or the number, (n,)."""
    return np.asarray(model.predict_proba(X)[:, 1] if classes else model.predict(X))


def _told(
    learner: Callable[[bool], Any],
    X: Array,
    y: Array,
    folds: list[tuple[Indices, Indices]],
    true: _Truth,
) -> Told:
    classes = true.scenario.classes
    prediction = np.empty(len(y))
    said = []
    for train, test in folds:
        model = learner(classes).fit(X[train], y[train])
        prediction[test] = predicted(model, X[test], classes)
        said.append(true.said(model))
    loss, log_loss, area = np.mean([true(one) for one in said], axis=0)
    whole = true(true.said(learner(classes).fit(X, y)))[0]
    found = alarms = np.full(len(THRESHOLDS), np.nan)
    slope = np.nan
    if classes:
        found, alarms = np.mean([true.called(one) for one in said], axis=0)
        slope = true.slope(said)
    return Told(prediction, loss, log_loss, area, whole, found, alarms, slope)
