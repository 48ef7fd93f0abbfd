"""What a test found and what it assumes, as one value; and what all tests ask of scores."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from parsimon._typing import Array
from parsimon._validation import finite_vector
from parsimon.exceptions import InvalidInputError

FOLDS = (
    "Scores from folds of one cross-validation share training rows and are not independent: "
    "p then comes out too small, and corrected_t is the better choice."
)


@dataclass(frozen=True)
class Comparison:
    """The outcome of a test, with what it assumes.

    Attributes
    ----------
    method : str
        The test, and whether its p-value is exact.
    statistic, p_value : float
        The p-value is two-sided. After `pairwise` it is adjusted, and `raw_p_value` is not.
    effect : float
        How large the difference is, on the scale that `effect_name` says.
    n : tuple of int
        Sample sizes; for paired tests the number of pairs.
    assumes : str
        What must hold for the p-value to mean what it says.
    smallest_p : float
        No outcome with these sample sizes and ties can give a smaller p-value.
    note : str
        Why the test could not tell anything, if so; then `p_value` is 1.
    """

    method: str
    statistic: float
    p_value: float
    effect: float
    effect_name: str
    n: tuple[int, ...]
    assumes: str
    smallest_p: float = 0.0
    note: str = ""
    raw_p_value: float | None = None

    def significant(self, alpha: float = 0.05) -> bool:
        """Whether the p-value is at most `alpha`."""
        return self.p_value <= _level(alpha)

    def describe(self, alpha: float = 0.05) -> str:
        """Return the outcome at level `alpha` and the assumption, in plain words."""
        if self.note:
            finding = self.note
        elif self.smallest_p > _level(alpha):
            finding = (
                f"No outcome could be significant at {alpha:g}: with n = "
                f"{' and '.join(map(str, self.n))} the smallest possible p is "
                f"{self.smallest_p:.3g}. More data are needed."
            )
        elif self.significant(alpha):
            finding = f"The difference is significant at {alpha:g}."
        else:
            finding = f"No significant difference at {alpha:g}; that is not proof of equality."
        return (
            f"{self.method}: p = {self.p_value:.3g}, {self.effect_name} {self.effect:.3g}. "
            f"{finding} {self.assumes}"
        )


def paired_scores(a: Any, b: Any) -> tuple[Array, Array]:
    """Return two samples of one length."""
    a, b = scores_of(a, "a"), scores_of(b, "b")
    if len(a) != len(b):
        raise InvalidInputError(f"Paired scores need equal lengths; got {len(a)} and {len(b)}.")
    return a, b


def scores_of(values: Any, name: str) -> Array:
    """Return the scores as a vector of finite numbers, at least one."""
    sample = finite_vector(values, name)
    if len(sample) == 0:
        raise InvalidInputError(f"{name} is empty: give at least one score.")
    return sample


def merge_ties(a: Array, b: Array | float = 0.0) -> Array:
    """Return a - b with rounding noise removed: 0.8 - 0.7 and 0.9 - 0.8 are one difference.

    The result is in units of the largest value.
    """
    scale = max(float(np.abs(a).max()), float(np.abs(b).max()))
    return np.round((a - b) / scale, 12) if scale > 0 else a - b


def _level(alpha: float) -> float:
    if not 0 < alpha < 1:
        raise InvalidInputError(f"alpha must lie between 0 and 1; got {alpha!r}.")
    return alpha
