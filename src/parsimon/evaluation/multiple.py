"""Many comparisons at once: every pair of methods, with p-values adjusted for their number."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from parsimon._typing import Array
from parsimon._validation import finite_vector
from parsimon.evaluation.comparison import Comparison
from parsimon.evaluation.rank_tests import wilcoxon_signed_rank
from parsimon.exceptions import InvalidInputError


def pairwise(
    groups: Mapping[str, Any],
    test: Callable[..., Comparison] = wilcoxon_signed_rank,
    **options: Any,
) -> dict[tuple[str, str], Comparison]:
    """Compare every two of several methods, with p-values adjusted by Holm's rule.

    Parameters
    ----------
    groups : mapping of str to array-like
        Scores by the name of the method.
    test : callable, default=wilcoxon_signed_rank
        Takes two samples and `options`, returns a `Comparison`.

    Returns
    -------
    dict
        For each pair of names a `Comparison` whose `p_value` is adjusted.

    Examples
    --------
    >>> from parsimon.evaluation import mann_whitney
    >>> scores = {"svm": [1, 2, 3, 4], "rvm": [2, 3, 4, 5], "tree": [9, 8, 7, 6]}
    >>> found = pairwise(scores, mann_whitney)
    >>> round(found["svm", "tree"].raw_p_value, 4), round(found["svm", "tree"].p_value, 4)
    (0.0286, 0.0857)
    """
    found = {(a, b): test(groups[a], groups[b], **options) for a, b in combinations(groups, 2)}
    if not found:
        raise InvalidInputError(f"pairwise needs at least two groups; got {len(groups)}.")
    adjusted = holm([outcome.p_value for outcome in found.values()])
    return {
        names: replace(
            outcome,
            method=f"{outcome.method}, Holm-adjusted over {len(found)}",
            p_value=float(p_value),
            raw_p_value=outcome.p_value,
            smallest_p=min(1.0, outcome.smallest_p * len(found)),
        )
        for (names, outcome), p_value in zip(found.items(), adjusted, strict=True)
    }


def holm(p_values: Sequence[float]) -> Array:
    """Return p-values adjusted for their number by Holm's step-down rule.

    Valid whatever the dependence between the tests [1].

    [1] Holm (1979), Scand. J. Statist. 6:65-70.
    """
    raw = finite_vector(p_values, "p_values")
    if len(raw) == 0 or raw.min() < 0 or raw.max() > 1:
        raise InvalidInputError("p_values must be one or more numbers from 0 to 1.")
    order = np.argsort(raw, kind="stable")
    stepped = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
