"""Those who must miss a bar: a constant, a guess, and the plainest rival that learns."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from parsimon._typing import AnyArray, Array

CONSTANT, GUESS, LOGISTIC = "constant", "guess", "logistic regression"
LINE = "linear regression"
# Columns and labels to learn from, then those to be tested on.
Part = tuple[Array, AnyArray, Array, AnyArray]


def classify_plainly(parts: Iterable[Part], *, per_cent: bool = True) -> dict[str, float]:
    """Return mean errors of those who must miss a bar, over the parts that ours was tested on.

    The constant says the larger class of what it learns from, the guess draws by the shares there,
    and logistic regression has standardised columns and nothing set.
    """
    found = [[_constant(part), _guess(part), _logistic(part)] for part in parts]
    means = (100.0 if per_cent else 1.0) * np.mean(found, axis=0)
    return dict(zip((CONSTANT, GUESS, LOGISTIC), map(float, means), strict=True))


def predict_plainly(parts: Iterable[Part]) -> dict[str, float]:
    """Return root mean squared errors of a number's constant, guess and line, mean over parts."""
    found = []
    for X_train, y_train, X_test, y_test in parts:
        drawn = np.random.default_rng(0).choice(y_train, len(y_test))
        told = (np.full(len(y_test), y_train.mean()), drawn, _line(X_train, y_train, X_test))
        found.append([float(np.sqrt(np.mean((each - y_test) ** 2))) for each in told])
    return dict(zip((CONSTANT, GUESS, LINE), map(float, np.mean(found, axis=0)), strict=True))


def turned(rivals: Mapping[str, float], change: Callable[[float], float]) -> dict[str, float]:
    """Return the rivals of another figure, which is a function of the one that is known."""
    return {name: change(value) for name, value in rivals.items()}


def _constant(part: Part) -> float:
    _, y_train, _, y_test = part
    labels, counts = np.unique(y_train, return_counts=True)
    return float(np.mean(y_test != labels[counts.argmax()]))


def _guess(part: Part) -> float:
    """Return what is expected of a guess by shares."""
    _, y_train, _, y_test = part
    return 1.0 - float(
        sum(np.mean(y_train == c) * np.mean(y_test == c) for c in np.unique(y_train))
    )


def _logistic(part: Part) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X_train, y_train, X_test, y_test = part
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return 1.0 - float(model.fit(X_train, y_train).score(X_test, y_test))


def _line(X_train: Array, y_train: AnyArray, X_test: Array) -> Array:
    from sklearn.linear_model import LinearRegression

    told: Array = LinearRegression().fit(X_train, y_train).predict(X_test)
    return told


def allowed_above(peer: float, error: float) -> float:
    """Return the bar of a figure that may lie two standard errors above its peer's."""
    return peer / (peer + 2.0 * error) if peer > 0 else 1.0


def clearly_below(peer: float, error: float) -> float:
    """Return the bar of a figure that must lie two standard errors below its peer's."""
    return peer / (peer - 2.0 * error) if peer > 2.0 * error else np.inf


def beyond_chance(n: int) -> int:
    """Return the least number of n tasks that a coin reaches in less than 5 % of throws."""
    from scipy.stats import binom

    return next(count for count in range(n + 2) if binom.sf(count - 1, n, 0.5) < 0.05)


def standard_error(differences: Array) -> float:
    """Return the standard error of the mean of paired differences."""
    return float(np.std(differences, ddof=1) / np.sqrt(len(differences)))


def error_between(ours: Array, deviation: float, n: int | None = None) -> float:
    """Return the standard error of our mean less a printed one with its deviation over n splits."""
    own = float(np.std(ours, ddof=1)) if len(ours) > 1 else deviation
    return float(np.hypot(own / len(ours) ** 0.5, deviation / (n or len(ours)) ** 0.5))
