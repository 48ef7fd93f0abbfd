"""Labels that may be wrong: what flipping some would do to a table, and which rows look wrong."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._checks import check_count, finite_matrix
from parsimon._partition import class_rows, complete_vector
from parsimon._random import Seed, generator, seed_sequence
from parsimon._style import CYCLE, figure_style, new_axes
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.features._halves import halve_rows
from parsimon.features.plot import draw_null_circle
from parsimon.features.screen import FewColumnsClassifier
from parsimon.roc import AucNull, auc

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class LabelNoise:
    """What flipped labels do to models of halves, and which rows look mislabelled.

    flips (k,): Labels flipped in each class.
    train, test (k, 2B): AUC on own and other half after so many flips.
    correlation (k,): Of the two over the fits; below 0 where flips fall on one side or the other.
    hit_rate (k,): Of the flipped rows, the share among as many rows that look most wrong; NaN
        without flips.
    chance_rate (k,): The same for rows taken at random.
    suspicion (n,): How far each row, held out, lies on the side of the other class; in standard
        deviations of the scores of all rows.
    null_sd: Standard deviation of a random classifier's AUC on a half.
    """

    flips: Indices
    train: Array
    test: Array
    correlation: Array
    hit_rate: Array
    chance_rate: Array
    suspicion: Array
    null_sd: float

    def suspects(self, n: int = 10) -> Indices:
        """Return the rows on the wrong side, most suspicious first, at most n."""
        order = np.argsort(-self.suspicion, kind="stable")
        return order[self.suspicion[order] > 0][:n]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw training against test AUC for each number of flips."""
        with figure_style():
            axes = new_axes(ax, figsize=(4.8, 4.4))
            for place, (k, train, test) in enumerate(
                zip(self.flips, self.train, self.test, strict=True)
            ):
                colour = CYCLE[place % len(CYCLE)]
                axes.plot(
                    train, test, "o", markersize=3, alpha=0.6, color=colour, label=f"{k} flips"
                )
            draw_null_circle(self.null_sd, axes)
            axes.set_xlabel("AUC on own half")
            axes.set_ylabel("AUC on the other half")
            axes.legend(loc="upper left")
        return axes


def label_noise(
    X: Any,
    y: Any,
    *,
    flips: Any = (0, 1, 3, 5),
    n_splits: int = 50,
    n_features: int = 5,
    random_state: Seed = None,
) -> LabelNoise:
    """Flip labels of each class on purpose, and see what halves of the rows make of it.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The table.
    y : array-like of shape (n,)
        Two classes.
    flips : sequence of int
        Labels to flip in each class.
    n_splits : int
        Splits into halves; each flips other labels.
    n_features : int
        Columns of each model, a `FewColumnsClassifier`.
    random_state : int, Generator, RandomState or None
        For splits and flips.

    Returns
    -------
    LabelNoise
        The hit rate is measured on this very table: among its rows, those flipped on purpose are
        looked for as mislabelled rows would be.

    References
    ----------
    Clark (2011), section 4.9.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], [40, 20])
    >>> X = rng.normal(size=(60, 30)) + 2 * y[:, None]
    >>> y[3] = 1
    >>> study = label_noise(X, y, flips=(0, 1), n_splits=10, random_state=0)
    >>> study.suspects(1).tolist()
    [3]
    """
    values = finite_matrix(X, "X")
    labels = complete_vector(y, len(values))
    rows = class_rows(labels, n_rows=len(values), at_least=4)
    if len(rows) != 2:
        raise InvalidInputError(f"Two classes are needed, got {len(rows)}.")
    counts = np.asarray(flips, dtype=np.intp)
    smallest = min(map(len, rows))
    for k in counts:
        if check_count("flips", int(k), least=0) > smallest // 2 - 1:
            raise InvalidInputError(
                f"flips asks for {k} in each class, but the smaller class has {smallest} rows; "
                f"ask for at most {smallest // 2 - 1}."
            )
    positive = np.zeros(len(values), dtype=np.intp)
    positive[rows[1]] = 1
    model = FewColumnsClassifier(min(n_features, values.shape[1]))
    seeds = seed_sequence(random_state).spawn(len(counts) + 1)
    studies = [
        _flip_labels(model, values, positive, int(k), n_splits, seed)
        for k, seed in zip(counts, seeds[1:], strict=True)
    ]
    train, test, hit_rate = zip(*studies, strict=True)
    margin = _margins(model, values, positive, n_splits, seeds[0])
    return LabelNoise(
        flips=counts,
        train=np.array(train),
        test=np.array(test),
        correlation=np.array(list(map(_correlation, train, test))),
        hit_rate=np.array(hit_rate),
        chance_rate=np.where(counts > 0, 2 * counts / len(values), np.nan),
        suspicion=-margin,
        null_sd=AucNull(len(rows[1]) // 2, len(rows[0]) // 2).sd,
    )


# Runs with one set of flipped rows, which are then looked for.
_SPLITS_A_FLIP = 10


def _flip_labels(
    model: FewColumnsClassifier, X: Array, y: Indices, k: int, n_splits: int, seed: Any
) -> tuple[Array, Array, float]:
    """Return AUCs on own and other rows with k flips in each class, and the share found."""
    train, test, hits = [], [], []
    for flip_seed in seed.spawn(max(1, n_splits // _SPLITS_A_FLIP)):
        draw, *splits = flip_seed.spawn(1 + min(_SPLITS_A_FLIP, n_splits))
        rng = generator(draw)
        chosen = np.concatenate([rng.permutation(np.flatnonzero(y == code))[:k] for code in (0, 1)])
        noisy = y.copy()
        noisy[chosen] = 1 - noisy[chosen]
        margins = np.zeros(len(y))
        counts = np.zeros(len(y))
        for split in splits:
            for own, other in _both_ways(noisy, split):
                scores = _scores(model, X, noisy, own)
                train.append(auc(noisy[own], scores[own]))
                test.append(auc(noisy[other], scores[other]))
                margins[other] += scores[other] * (2 * noisy[other] - 1)
                counts[other] += 1
        if k:
            wrong = np.argsort(margins / np.maximum(counts, 1), kind="stable")[: 2 * k]
            hits.append(len(np.intersect1d(wrong, chosen)) / (2 * k))
    return np.array(train), np.array(test), float(np.mean(hits)) if hits else float("nan")


def _margins(model: FewColumnsClassifier, X: Array, y: Indices, n_splits: int, seed: Any) -> Array:
    """Return how far each held-out row lies on the side of its label, shape (n,)."""
    total, counts = np.zeros(len(y)), np.zeros(len(y))
    for split in seed.spawn(n_splits):
        for own, other in _both_ways(y, split):
            scores = _scores(model, X, y, own)[other]
            total[other] += scores / max(float(scores.std()), 1e-12) * (2 * y[other] - 1)
            counts[other] += 1
    return total / np.maximum(counts, 1)


def _both_ways(y: Indices, seed: Any) -> list[tuple[Indices, Indices]]:
    first, second = halve_rows(y, np.array([0, 1]), seed)
    return [(first, second), (second, first)]


def _scores(model: FewColumnsClassifier, X: Array, y: AnyArray, rows: Indices) -> Array:
    return model.fit(X[rows], y[rows]).decision_function(X)


def _correlation(first: Array, second: Array) -> float:
    if first.std() == 0 or second.std() == 0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])
