"""What a column is worth in company: how much worse held-out rows are predicted without it.

A column's cells are shuffled among the rows that a model was not fitted to, so that they have
nothing to do with the target any more, and the model, which still relies on them, is asked again
[1]_. What the loss of each row rises by is paired with the row, so that the interval is that of a
difference. A column whose part another can play is worth little in company, however much it says
alone.

References
----------
.. [1] Breiman (2001), Random forests, Mach. Learn. 45:5-32, section 10.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from parsimon._checks import check_count, check_probability
from parsimon._random import Seed, seed_sequence
from parsimon._typing import Array
from parsimon.evaluation.folds import outer_parts
from parsimon.evaluation.row_intervals import Bounds, difference_bounds

Losses = Callable[[Any], Array]
REPEATS = 5


@dataclass(frozen=True)
class ColumnGain:
    """A column, and by how much held-out rows are predicted better with it.

    Attributes
    ----------
    name : str
    gain : Bounds
        Estimate, low and high: of the share of rows that are wrong, or of the share of the
        variance that is left.
    """

    name: str
    gain: Bounds


def shuffled_rises(
    losses: Losses,
    X: Any,
    groups: Mapping[str, Sequence[int]],
    rng: np.random.Generator,
    n_repeats: int = REPEATS,
) -> dict[str, Array]:
    """Return by how much the loss of each row rises, on average, if a group is shuffled.

    Shapes: X (n, d), losses (n, d) -> (n,); groups are places of columns; each rise (n,).
    """
    before = losses(X)
    rises = {}
    for name, places in groups.items():
        total = np.zeros(len(before))
        for _ in range(n_repeats):
            total += losses(_shuffle(X, places, rng.permutation(len(before))))
        rises[name] = total / n_repeats - before
    return rises


def _shuffle(X: Any, places: Sequence[int], order: Any) -> Any:
    if not hasattr(X, "iloc"):
        mixed = np.array(X)
        mixed[:, places] = mixed[order][:, places]
        return mixed
    mixed = X.copy(deep=False)
    for place in places:
        mixed.isetitem(place, X.iloc[order, place].array)
    return mixed


def permutation_gain(
    model: Any,
    X: Any,
    y: Any,
    *,
    outer: int = 5,
    n_repeats: int = REPEATS,
    confidence: float = 0.95,
    random_state: Seed = None,
) -> tuple[ColumnGain, ...]:
    """Return what each column is worth in company, by shuffling it in held-out rows.

    The model is fitted once in each outer fold; nothing is fitted again for a column.

    Parameters
    ----------
    model : classifier or regressor
    X : array-like or DataFrame of shape (n, d)
        A data frame's columns keep their names.
    y : array-like of shape (n,)
    outer : int or splitter
        Folds, as in `honest_score`.
    n_repeats : int
        How often each column is shuffled; rises are averaged.
    confidence : float
    random_state : int, Generator, SeedSequence, RandomState or None

    Returns
    -------
    tuple of ColumnGain
        The most valuable first. An interval that lies above zero says that the model needs the
        column.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = permutation_gain(LogisticRegression(), X, X[:, 1] > 0, random_state=0)
    >>> found[0].name, found[0].gain.low > 0.2, abs(found[1].gain.estimate) < 0.05
    ('x1', True, True)
    """
    check_count("n_repeats", n_repeats, least=1)
    check_probability("confidence", confidence)
    target = np.asarray(y)
    folding, shuffling = seed_sequence(random_state).spawn(2)
    classes = is_classifier(model)
    parts = outer_parts(outer, X, target, groups=None, classes=classes, repeats=1, seed=folding)
    rng = np.random.default_rng(shuffling)
    names = [str(name) for name in getattr(X, "columns", [f"x{k}" for k in range(np.shape(X)[1])])]
    table = X if hasattr(X, "iloc") else np.asarray(X)
    groups = {name: [place] for place, name in enumerate(names)}
    found: dict[str, list[Array]] = {name: [] for name in names}
    spread = 0.0
    for part in parts:
        fitted = clone(model).fit(_safe_indexing(table, part.train), target[part.train])
        truth = target[part.test]

        def losses(rows: Any, fitted: Any = fitted, truth: Any = truth) -> Array:
            called = fitted.predict(rows)
            return np.asarray(called != truth if classes else (called - truth) ** 2, float)

        for name, rise in shuffled_rises(
            losses, _safe_indexing(table, part.test), groups, rng, n_repeats
        ).items():
            found[name].append(rise)
        if not classes:
            spread += float(np.sum((truth - np.mean(target[part.train])) ** 2))
    unit = None if classes else spread / sum(len(part.test) for part in parts)
    gains = [
        ColumnGain(name, paired_gain(np.concatenate(rises), unit, confidence))
        for name, rises in found.items()
    ]
    return tuple(sorted(gains, key=lambda column: -column.gain.estimate))


def paired_gain(rises: Array, unit: float | None, confidence: float = 0.95) -> Bounds:
    """Return the mean rise of losses and its interval; of squared errors in units of `unit`.

    Shapes: rises (n,).
    """
    if unit is None:
        return difference_bounds(rises, confidence=confidence)
    return difference_bounds(rises / (unit or 1.0), scale=1.0, confidence=confidence)
