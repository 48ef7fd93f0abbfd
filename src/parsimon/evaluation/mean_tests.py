"""Tests of means: the t test that allows for overlapping folds, and analysis of variance."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import f as f_distribution
from scipy.stats import t as t_distribution

from parsimon._typing import Array
from parsimon.evaluation.comparison import FOLDS, Comparison, merge_ties, paired_scores, scores_of
from parsimon.exceptions import InvalidInputError


def corrected_t(a: Any, b: Any, *, n_train: float, n_test: float) -> Comparison:
    """Compare two methods over the same resampled folds, allowing for shared training rows.

    The variance of the mean difference over k folds is taken as (1/k + n_test/n_train) s^2
    instead of s^2/k [1]_; for repeated cross-validation k counts all folds [2]_.

    Parameters
    ----------
    a, b : array-like of shape (k,)
        Scores of two methods on the same k folds, in the same order.
    n_train, n_test : float
        Rows in a training and in a test part (their means, if folds differ).

    Returns
    -------
    Comparison
        `statistic` is t with k - 1 degrees of freedom, `effect` the mean of a - b.

    References
    ----------
    .. [1] Nadeau and Bengio (2003), Inference for the generalization error,
       Machine Learning 52:239-281.
    .. [2] Bouckaert and Frank (2004), PAKDD, LNCS 3056:3-12.

    Examples
    --------
    >>> a, b = [0.90, 0.85, 0.80, 0.95, 0.90], [0.80, 0.80, 0.78, 0.85, 0.88]
    >>> round(corrected_t(a, b, n_train=80, n_test=20).p_value, 3)
    0.098
    """
    a, b = paired_scores(a, b)
    if n_train <= 0 or n_test <= 0:
        raise InvalidInputError(
            f"n_train and n_test must be positive; got {n_train!r} and {n_test!r}."
        )
    k = len(a)
    if k < 2:
        raise InvalidInputError("corrected_t needs at least two folds; got 1.")
    differences = merge_ties(a, b)
    blank = Comparison(
        method="Corrected resampled t test",
        statistic=0.0,
        p_value=1.0,
        effect=float(np.mean(a - b)),
        effect_name="mean difference",
        n=(k,),
        assumes="Assumes roughly normal differences, and that training sets overlap as much as "
        f"the factor 1/{k} + {n_test / n_train:.3g} allows for: a good rule, not a theorem.",
    )
    if np.ptp(differences) == 0:
        return replace(blank, note=_no_spread(differences[0] == 0, "difference"))
    variance = (1 / k + n_test / n_train) * np.var(a - b, ddof=1)
    t = blank.effect / float(np.sqrt(variance))
    return replace(blank, statistic=t, p_value=float(2 * t_distribution.sf(abs(t), k - 1)))


def anova(*groups: Any, paired: bool = False) -> Comparison:
    """Compare the means of several methods at once with an F test.

    Parameters
    ----------
    *groups : array-like of shape (n_i,)
        Scores of each method.
    paired : bool, default=False
        Scores stand in the same order of folds or data sets in every group: what a fold does to
        all methods alike is then taken out (one-way repeated measures).

    Returns
    -------
    Comparison
        `effect` is eta squared, the share of the variance that the methods explain (with
        `paired`, of what the folds leave: partial eta squared).

    Examples
    --------
    >>> test = anova([6.0, 8, 4, 5, 3, 4], [8, 12, 9, 11, 6, 8], [13, 9, 11, 8, 7, 12])
    >>> round(test.statistic, 4), round(test.p_value, 4), round(test.effect, 3)
    (9.2647, 0.0024, 0.553)
    """
    samples = [scores_of(group, f"group {number}") for number, group in enumerate(groups, 1)]
    sizes = tuple(map(len, samples))
    if len(samples) < 2 or sum(sizes) <= len(samples):
        raise InvalidInputError(
            "anova needs at least two groups, and more values than groups; "
            f"got group sizes {list(sizes)}."
        )
    if paired and len(set(sizes)) > 1:
        raise InvalidInputError(f"paired=True needs groups of one size; got {list(sizes)}.")
    between, within, degrees = _sums_of_squares(samples, paired=paired)
    blank = Comparison(
        method=("Repeated-measures" if paired else "One-way") + " analysis of variance",
        statistic=0.0,
        p_value=1.0,
        effect=between / (between + within) if between > 0 else 0.0,
        effect_name="eta squared",
        n=sizes,
        assumes="Assumes independent, roughly normal scores with one variance"
        + (", and equal correlations between methods. " if paired else " in all groups. ")
        + FOLDS,
    )
    if within == 0:
        return replace(blank, note=_no_spread(between == 0, "score within a group"))
    ratio = (between / degrees[0]) / (within / degrees[1])
    return replace(blank, statistic=ratio, p_value=float(f_distribution.sf(ratio, *degrees)))


def _sums_of_squares(samples: list[Array], *, paired: bool) -> tuple[float, float, tuple[int, int]]:
    """Return the sums of squares between and within, without rounding noise, and their degrees."""
    values = np.concatenate(samples)
    grand = values.mean()
    between = sum(len(sample) * (sample.mean() - grand) ** 2 for sample in samples)
    residuals = [sample - sample.mean() for sample in samples]
    degrees = (len(samples) - 1, len(values) - len(samples))
    if paired:
        folds = np.mean(residuals, axis=0)
        residuals = [residual - folds for residual in residuals]
        degrees = (degrees[0], degrees[0] * (len(folds) - 1))
    within = sum(float(residual @ residual) for residual in residuals)
    noise = len(values) * (1e-12 * float(np.abs(values).max())) ** 2
    return (
        float(between) if between > noise else 0.0,
        within if within > noise else 0.0,
        degrees,
    )


def _no_spread(equal: bool, what: str) -> str:
    if equal:
        return "The scores are all equal: there is nothing to test."
    return f"No {what} varies, so there is no spread to judge by; look at the effect itself."
