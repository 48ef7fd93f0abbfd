"""What `honest_score` returns: the outer folds, their summary in words, and intervals for it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import t as t_distribution

from parsimon._random import Seed, generator
from parsimon._typing import AnyArray, Array, Indices
from parsimon.evaluation.row_intervals import (
    Bounds,
    area_bounds,
    area_difference_bounds,
    difference_bounds,
    ratio_bounds,
    share_bounds,
)
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

_RESTS_ON = {
    "rows": "The interval is over the tested rows (whole groups, if given) and allows for folds "
    "that share training rows: on simulated tables it held the performance of the models of the "
    "folds on new rows as often as it says.",
    "corrected_t": "The interval is the corrected resampled t of Nadeau and Bengio (2003): it "
    "assumes roughly normal fold scores and allows for overlapping training sets by a good rule, "
    "not a theorem.",
    "bootstrap": "The interval resamples the tested rows (whole groups, if given): it assumes "
    "that these are independent and takes the fitted models as given, so that chance in the "
    "training sets is left out.",
}


@dataclass(frozen=True, eq=False)
class Fold:
    """One outer fold: a search fitted to the training part, scored on the test part.

    Shapes: truth, predictions (n_test,).

    repeat, number: Which repeat, and which fold of it, both from 1.
    test (n_test,): Rows of the test part.
    score, baseline: Of the search and of a model that ignores the columns, on the same test
        rows.
    guide: What the search believed.
    points (n_test,): What each row adds to the score, as `RowScores` has it; None if the score is
        not made of rows.
    units (n_test,): What was drawn independently: rows, or groups.
    """

    repeat: int
    number: int
    n_train: int
    test: Indices
    truth: AnyArray
    predictions: AnyArray
    score: float
    baseline: float
    guide: float | None
    seconds: float
    points: AnyArray | None = None
    units: AnyArray | None = None


@dataclass(frozen=True, eq=False)
class RowScores:
    """What the rows of all folds add to a score, and intervals for it.

    kind: "share": the mean of the points; "loss": minus the mean of points from 0 on; "r2": the
        points are squared errors, and `reference` those of the mean of the test part; "area": the
        points are placements, for the AUC.
    shortfall: What is left of a variance if it is taken around the mean of each test part, which
        lies among its rows: a score of small test parts is too low by as much.

    Shapes: points, units, reference, positive (n_tested,).
    """

    kind: str
    points: Array
    units: AnyArray
    reference: Array
    positive: AnyArray
    shortfall: float = 1.0

    @classmethod
    def of(cls, folds: "tuple[Fold, ...]", scoring: str) -> "RowScores | None":
        """Return the rows of all folds; None if the score is not made of rows."""
        points = [fold.points for fold in folds if fold.points is not None]
        if len(points) < len(folds) or scoring not in KINDS:
            return None
        kind = KINDS[scoring]
        truths = [fold.truth for fold in folds]
        units = [fold.test if fold.units is None else fold.units for fold in folds]
        if kind == "r2":
            reference = [(truth - np.mean(truth)) ** 2 for truth in truths]
        else:
            reference = [np.ones(len(truth)) for truth in truths]
        together = np.concatenate(truths)
        left = max(1, len(together) - len(folds)) / len(together)
        return cls(
            kind,
            np.concatenate(points).astype(np.float64),
            np.concatenate(units),
            np.concatenate(reference),
            together == np.unique(together)[-1],
            left if kind == "r2" else 1.0,
        )

    @property
    def score(self) -> float:
        """The score of all rows together, as scikit-learn has it."""
        if self.kind == "r2":
            spread = float(self.reference.sum())
            # Of equal truths scikit-learn says 0, unless they are met.
            return 1 - float(self.points.sum()) / spread if spread > 0 else 0.0
        mean = float(np.mean(self.points[self.positive] if self.kind == "area" else self.points))
        return -mean if self.kind == "loss" else mean

    def bounds(self, confidence: float) -> Bounds:
        """Return the score on new rows and its interval."""
        if self.kind == "share":
            return share_bounds(self.points, self.units, confidence=confidence)
        if self.kind == "area":
            return area_bounds(self.points, self.positive, self.units, confidence=confidence)
        known = self.reference / self.shortfall if self.kind == "r2" else None
        loss = ratio_bounds(self.points, known, self.units, confidence=confidence)
        best = 1.0 if self.kind == "r2" else 0.0
        return Bounds(best - loss.estimate, best - loss.high, best - loss.low)

    def gain_over(self, other: "RowScores", confidence: float) -> Bounds:
        """Return by how much this score exceeds another on the same rows, with its interval."""
        more = self.points - other.points
        if self.kind == "share":
            return difference_bounds(more, self.units, confidence=confidence)
        if self.kind == "area":
            return area_difference_bounds(more, self.positive, self.units, confidence=confidence)
        size = float(np.mean(self.reference)) / self.shortfall
        scale = float(np.mean(other.points)) / size
        return difference_bounds(-more / size, self.units, scale=scale, confidence=confidence)


# Scores that are made of rows, as `RowScores` tells them apart.
KINDS = {
    "accuracy": "share",
    "neg_mean_squared_error": "loss",
    "neg_mean_absolute_error": "loss",
    "neg_log_loss": "loss",
    "neg_brier_score": "loss",
    "r2": "r2",
    "roc_auc": "area",
}


@dataclass(frozen=True, eq=False)
class HonestScore:
    """A performance that no search has seen, beside what the search believed and a baseline.

    Attributes
    ----------
    folds : tuple of Fold
        The folds that were finished.
    failures : tuple of str
        One sentence for each fold that failed: which, and why.
    n_planned : int
        Number of folds that were asked for.
    scoring : str
        Name of the score; greater is better.
    interval : (float, float) or None
        For the mean score on new rows of the models that the outer folds fitted; None if fewer
        than two folds were finished.
    interval_method : {"rows", "corrected_t", "bootstrap"}
    confidence : float
    stopped_by : {"", "time_limit", "interrupt"}
        What ended the run early, if anything.
    comparable : bool
        Whether the search's own score is of the same kind, so that their difference is optimism.
    """

    folds: tuple[Fold, ...]
    failures: tuple[str, ...]
    n_planned: int
    scoring: str
    interval: tuple[float, float] | None
    interval_method: str = "rows"
    confidence: float = 0.95
    stopped_by: str = ""
    comparable: bool = True

    @property
    def scores(self) -> Array:
        """Score of each fold, shape (n_folds,)."""
        return np.array([fold.score for fold in self.folds])

    @property
    def mean(self) -> float:
        """Mean of the fold scores: the honest estimate."""
        return float(np.mean(self.scores))

    @property
    def baseline(self) -> float:
        """Mean score of the baseline on the same folds."""
        return float(np.mean([fold.baseline for fold in self.folds]))

    @property
    def guide(self) -> float | None:
        """Mean of what the search believed in each fold, or None if it does not say."""
        guides = [fold.guide for fold in self.folds if fold.guide is not None]
        return float(np.mean(guides)) if len(guides) == len(self.folds) else None

    @property
    def optimism(self) -> float | None:
        """By how much the search's own score exceeds the honest one."""
        return None if self.guide is None or not self.comparable else self.guide - self.mean

    @property
    def complete(self) -> bool:
        """Whether every fold that was asked for is in."""
        return len(self.folds) == self.n_planned

    @property
    def n_train(self) -> float:
        """Mean number of training rows."""
        return float(np.mean([fold.n_train for fold in self.folds]))

    @property
    def n_test(self) -> float:
        """Mean number of test rows."""
        return float(np.mean([len(fold.test) for fold in self.folds]))

    @property
    def seconds(self) -> float:
        """Time spent in all folds together."""
        return sum(fold.seconds for fold in self.folds)

    def gain_over(self, other: "HonestScore") -> Bounds:
        """Return by how much the score exceeds another's, row by row on the same folds.

        Parameters
        ----------
        other : HonestScore
            Of another model, with the same `scoring` and the same outer folds: give both calls of
            `honest_score` the same `random_state`.

        Returns
        -------
        Bounds
            A tuple (estimate, low, high): the difference over all rows and its interval of the
            same confidence. If it does not hold zero, the models differ.
        """
        own, against = (RowScores.of(score.folds, score.scoring) for score in (self, other))
        if self.scoring != other.scoring or own is None or against is None:
            raise InvalidInputError(
                "gain_over needs two results of one score that is made of rows "
                f"({', '.join(KINDS)}); got {self.scoring} and {other.scoring}. Use corrected_t."
            )
        rows, others = (
            np.concatenate([fold.test for fold in score.folds]) for score in (self, other)
        )
        if not np.array_equal(rows, others):
            raise InvalidInputError(
                "gain_over needs the same outer folds in both results: give both calls of "
                "honest_score the same outer, repeats and random_state."
            )
        return own.gain_over(against, self.confidence)

    def __repr__(self) -> str:
        if not self.folds:
            return f"HonestScore({self.scoring}, no folds)"
        text = f"HonestScore({self.scoring} {self.mean:.3g}"
        if self.interval is not None:
            text += f", {100 * self.confidence:g}% from {self.interval[0]:.3g} to "
            text += f"{self.interval[1]:.3g}"
        return f"{text}, {len(self.folds)} folds, baseline {self.baseline:.3g})"

    def describe(self) -> str:
        """Return the result in plain words."""
        return " ".join(
            sentence
            for sentence in (
                self._estimate(),
                self._shortfall(),
                self._belief(),
                self._against_baseline(),
                self._interval_basis(),
            )
            if sentence
        )

    def _estimate(self) -> str:
        name = self.scoring.replace("neg_", "negative ").replace("_", " ")
        text = f"Honest {name}: {self.mean:.3g}"
        if self.interval is not None:
            low, high = self.interval
            text += f" ({100 * self.confidence:g}% interval {low:.3g} to {high:.3g})"
        folds = "fold" if len(self.folds) == 1 else "folds"
        return (
            f"{text}, from {len(self.folds)} outer {folds} with {self.n_train:.4g} training and "
            f"{self.n_test:.4g} test rows on average."
        )

    def _shortfall(self) -> str:
        if self.complete:
            return ""
        text = f"Only {len(self.folds)} of {self.n_planned} folds are in"
        text += f" ({self.stopped_by.replace('_', ' ')})." if self.stopped_by else "."
        return " ".join([text, *self.failures])

    def _belief(self) -> str:
        if self.guide is None:
            return ""
        if self.optimism is None:
            return f"The search was guided by another score ({self.guide:.3g} on average)."
        words = "too high" if self.optimism >= 0 else "too low"
        return f"The search itself believed {self.guide:.3g}: {words} by {abs(self.optimism):.3g}."

    def _against_baseline(self) -> str:
        text = f"A baseline that ignores the columns scores {self.baseline:.3g}"
        if self.interval is None:
            return text + "."
        low, high = self.interval
        if self.baseline < low:
            return text + ", below the interval."
        if self.baseline > high:
            return text + ", above the interval: the search does worse than no model."
        return text + ", inside the interval: the search is not shown to do better."

    def _interval_basis(self) -> str:
        if self.interval is None:
            return "One fold gives no interval."
        if self.interval[0] == self.interval[1]:
            return "All scores are equal, so the interval has no width and says nothing of chance."
        return _RESTS_ON[self.interval_method]

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each fold: sizes, score, baseline, guide, seconds."""
        import pandas as pd

        return pd.DataFrame(
            {
                "repeat": [fold.repeat for fold in self.folds],
                "fold": [fold.number for fold in self.folds],
                "n_train": [fold.n_train for fold in self.folds],
                "n_test": [len(fold.test) for fold in self.folds],
                "score": self.scores,
                "baseline": [fold.baseline for fold in self.folds],
                "guide": np.array([fold.guide for fold in self.folds], dtype=np.float64),
                "seconds": [fold.seconds for fold in self.folds],
            }
        )

    def predictions(self) -> "pd.DataFrame":
        """Return one row for each out-of-fold prediction: repeat, fold, row, truth, prediction."""
        import pandas as pd

        sizes = [len(fold.test) for fold in self.folds]
        return pd.DataFrame(
            {
                "repeat": np.repeat([fold.repeat for fold in self.folds], sizes),
                "fold": np.repeat([fold.number for fold in self.folds], sizes),
                "row": np.concatenate([fold.test for fold in self.folds]),
                "truth": np.concatenate([fold.truth for fold in self.folds]),
                "prediction": np.concatenate([fold.predictions for fold in self.folds]),
            }
        )


N_BOOTSTRAP = 2000


def corrected_t_interval(
    scores: Array, *, n_train: float, n_test: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Return an interval for the mean of fold scores whose training sets overlap.

    The variance of the mean over k folds is taken as (1/k + n_test/n_train) s^2, Student's t has
    k - 1 degrees of freedom [1]_.

    Parameters
    ----------
    scores : ndarray of shape (k,)
    n_train, n_test : float
        Rows in a training and in a test part (their means, if folds differ).
    confidence : float

    References
    ----------
    .. [1] Nadeau and Bengio (2003), Machine Learning 52:239-281.

    Examples
    --------
    >>> low, high = corrected_t_interval(np.array([0.7, 0.8, 0.9]), n_train=20, n_test=10)
    >>> round(low, 3), round(high, 3)
    (0.407, 1.193)
    """
    k = len(scores)
    if k < 2:
        raise InvalidInputError(f"An interval needs the scores of two folds or more; got {k}.")
    spread = np.sqrt((1 / k + n_test / n_train) * np.var(scores, ddof=1))
    half = float(t_distribution.isf((1 - confidence) / 2, k - 1) * spread)
    mean = float(np.mean(scores))
    return mean - half, mean + half


def bootstrap_interval(
    points: Array,
    units: AnyArray,
    *,
    confidence: float = 0.95,
    random_state: Seed = None,
) -> tuple[float, float]:
    """Return a percentile interval for the mean of points, resampling whole units.

    Shapes: points (n,), units (n,).
    """
    _, codes = np.unique(units, return_inverse=True)
    totals, sizes = np.bincount(codes, weights=points), np.bincount(codes)
    rng = generator(random_state)
    draws = rng.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=N_BOOTSTRAP)
    means = draws @ totals / (draws @ sizes)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)
