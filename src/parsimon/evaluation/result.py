"""What `honest_score` returns: the outer folds, their summary, and the summary in words."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parsimon._typing import AnyArray, Array, Indices

if TYPE_CHECKING:
    import pandas as pd

_RESTS_ON = {
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
        None if fewer than two folds were finished; cut to the range of scores from 0 to 1.
    interval_method : str
    confidence : float
    stopped : str
        Why the run ended early, or empty.
    comparable : bool
        Whether the search's own score is of the same kind, so that their difference is optimism.
    """

    folds: tuple[Fold, ...]
    failures: tuple[str, ...]
    n_planned: int
    scoring: str
    interval: tuple[float, float] | None
    interval_method: str = "corrected_t"
    confidence: float = 0.95
    stopped: str = ""
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
        text += f" ({self.stopped})." if self.stopped else "."
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
