"""What chance alone would select: counts, bounds on false selections, and a stability index.

All speak of selections as a table of zeros and ones, one row for each fit and one column for each
column of the data; the fits come in pairs, one for each half of a split.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from parsimon._checks import check_probability, finite_matrix
from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError


@dataclass(frozen=True)
class ChanceLevels:
    """How often columns are selected that tell nothing.

    Fits to halves of the same rows are not independent: a column that tells the target in these
    rows by luck is selected again and again. So the yardstick is the whole procedure with a
    permuted target, and in each such run the column that is selected most often.

    total_p_value, coincident_p_value (d,): Share of runs, this one counted, in which any column
    reaches the count; so the least of all columns is at most 0.05 in 5 of 100 tables of noise. NaN
    without permutations.
    total_level, coincident_level: The count that any column exceeds with the chance `level_rate`
    at most, if none tells anything; NaN without permutations.
    level_rate: 0.05, or 1 / (n_permutations + 1) where those are fewer than 19.
    expected_coincidences: Columns common to both halves of a split if each took its columns at
    random, mean over the splits.
    observed_coincidences: The same, as counted.
    permuted_coincidences: The same with permuted targets, where columns of larger scatter or
    heavier tails are selected more often than others; NaN without permutations.
    permuted_p_value (d,): Share of columns that reach the total with a permuted target; None
    without permutations.
    """

    total_p_value: Array
    coincident_p_value: Array
    total_level: float
    coincident_level: float
    level_rate: float
    expected_coincidences: float
    observed_coincidences: float
    permuted_coincidences: float
    permuted_p_value: Array | None


def chance_levels(selected: Mask, runs: Sequence[Mask], permuted: Mask) -> ChanceLevels:
    """Return what selections in pairs of halves amount to beside those of permuted targets.

    Shapes: selected and each run (2B, d), rows 2b and 2b + 1 of one split; permuted (2C, d), of
    splits each with a permutation of its own.
    """
    shares = selected.mean(axis=1)
    totals = [run.sum(axis=0) for run in (selected, *runs)]
    both = [_coincident(run).sum(axis=0) for run in (selected, *runs)]
    rank = max(1, int(_RARE * (len(runs) + 1) + 1e-9))
    by_chance = _coincident(permuted).sum(axis=1).mean() if len(permuted) else np.nan
    return ChanceLevels(
        total_p_value=_any_reaches(totals),
        coincident_p_value=_any_reaches(both),
        total_level=_exceed_level(totals[1:], rank),
        coincident_level=_exceed_level(both[1:], rank),
        level_rate=rank / (len(runs) + 1),
        expected_coincidences=float(np.mean(shares[0::2] * shares[1::2]) * selected.shape[1]),
        observed_coincidences=float(_coincident(selected).sum(axis=1).mean()),
        permuted_coincidences=float(by_chance),
        permuted_p_value=_share_reached(totals[0], np.concatenate(totals[1:])) if runs else None,
    )


# Of tables of noise, so many have a column above the level.
_RARE = 0.05


def _coincident(selected: Mask) -> Mask:
    return selected[0::2] & selected[1::2]


def _any_reaches(counts: Sequence[Indices]) -> Array:
    """Return in what share of runs any column reaches each count of the first; (d,)."""
    own, *others = counts
    if not others:
        return np.full(len(own), np.nan)
    return _share_reached(own, np.array([counts.max() for counts in others]))


def _share_reached(counts: Indices, others: Indices) -> Array:
    """Return in what share of other counts, with its own, each is reached; (d,)."""
    reached = len(others) - np.searchsorted(np.sort(others), counts, side="left")
    return (1 + reached) / (1 + len(others))


def _exceed_level(counts: Sequence[Indices], rank: int) -> float:
    """Return the greatest count but for that of `rank` - 1 runs."""
    return float(np.sort([run.max() for run in counts])[-rank]) if counts else float("nan")


def false_selection_bound(
    n_columns: int,
    n_selected: float,
    threshold: float,
    n_splits: int,
    *,
    unimodal: bool = False,
) -> float:
    """Return a bound on the expected number of columns that are selected wrongly.

    A column is noise here if a fit to a random half selects it no more often than a random column.
    Where fits prefer some columns whatever the target, such as those of large scatter, more of
    them come back by chance: `StableSelector` measures that with permuted targets.

    Parameters
    ----------
    n_columns : int
        Columns to select from.
    n_selected : float
        Columns that a fit to one half selects on average.
    threshold : float
        Share of all fits in which a column must be selected, above 0.5.
    n_splits : int
        Pairs of halves.
    unimodal : bool
        Use the sharper bound for counts of noise columns whose distribution has one peak.

    Returns
    -------
    float

    References
    ----------
    Meinshausen and Buhlmann (2010), J. R. Stat. Soc. B 72:417-473, theorem 1; Shah and Samworth
    (2013), 75:55-80, theorems 1 and 2.

    Examples
    --------
    >>> round(false_selection_bound(20_000, 20, 0.6, 100), 3)
    0.1
    >>> round(false_selection_bound(20_000, 20, 0.6, 100, unimodal=True), 3)
    0.051
    """
    if not 0.5 < threshold <= 1:
        raise InvalidInputError(f"threshold must be above 0.5 and at most 1, got {threshold!r}.")
    share = n_selected / n_columns
    factor = _bound_factor(np.array([share]), threshold, n_splits, unimodal=unimodal)[0]
    return min(float(factor * share * n_selected), float(n_columns))


def measured_bound(
    counts: Indices, n_fits: int, threshold: float, n_splits: int, *, unimodal: bool
) -> float:
    """Return the bound where some columns are selected by chance more often than others.

    The chance that both halves select a column is at most the square of the chance that one does,
    and these squares add up to more where the columns differ. They are estimated without bias from
    pairs of fits.

    Shapes: counts (d,), how many of `n_fits` fits with permuted targets selected each column.
    """
    squares = counts * (counts - 1.0) / (n_fits * (n_fits - 1.0))
    factor = _bound_factor(counts / n_fits, threshold, n_splits, unimodal=unimodal)
    return min(float(factor @ squares), float(len(counts)))


def _bound_factor(share: Array, threshold: float, n_splits: int, *, unimodal: bool) -> Array:
    """Return by what to multiply the square of a column's chance to be selected.

    Shapes: share (k,), these chances -> (k,).
    """
    worst = 1 / (2 * threshold - 1)
    grain = 1 / (2 * n_splits)
    if not unimodal or threshold <= 0.5 + grain:
        return np.full(len(share), worst)
    if threshold > 0.75:
        factor = 4 * (1 - threshold + grain) / (1 + 2 * grain)
        holds = share <= 1 / np.sqrt(3)
    else:
        factor = 1 / (2 * (2 * threshold - 1 - grain))
        least = np.minimum(0.5 + share**2, 0.5 + grain + 0.75 * share**2)
        holds = (share <= 1 / np.sqrt(3)) & (threshold > least)
    return np.where(holds, min(factor, worst), worst)


@dataclass(frozen=True)
class Stability:
    """A stability index with its interval: 1 for equal selections, 0 for random ones."""

    value: float
    lower: float
    upper: float


def stability_index(selected: Any, *, confidence: float = 0.95) -> Stability:
    """Return how alike selections are, corrected for chance.

    Parameters
    ----------
    selected : array-like of shape (m, d)
        True where a fit selected a column.
    confidence : float
        Of the interval.

    Returns
    -------
    Stability
        The index is 0 where every selection is empty or complete. The interval takes the fits as
        independent; fits to overlapping halves are not quite.

    References
    ----------
    Nogueira, Sechidis and Brown (2018), J. Mach. Learn. Res. 18(174), theorems 2 and 9.

    Examples
    --------
    >>> stability_index([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]]).value.round(3)
    np.float64(0.333)
    """
    table = finite_matrix(np.asarray(selected, dtype=float), "selected")
    m, d = table.shape
    if m < 2:
        raise InvalidInputError(f"Stability needs two selections or more, got {m}.")
    check_probability("confidence", confidence)
    share = table.mean(axis=0)
    sizes = table.sum(axis=1)
    mean_share = sizes.mean() / d
    spread = mean_share * (1 - mean_share)
    if spread <= 0:
        return Stability(0.0, 0.0, 0.0)
    value = 1 - np.mean(m / (m - 1) * share * (1 - share)) / spread
    each = (
        table @ share / d
        - sizes * mean_share / d
        + value / 2 * (2 * mean_share * sizes / d - sizes / d - mean_share + 1)
    ) / spread
    error = 2 / m * np.sqrt(np.sum((each - each.mean()) ** 2))
    margin = ndtri((1 + confidence) / 2) * error
    return Stability(value, value - margin, value + margin)
