"""A kernel that a search has judged, and the order among several of them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from parsimon.exceptions import InvalidInputError
from parsimon.gp.guides import Guide, bic, deviation, guide_value, rounded, standard_error
from parsimon.gp.judging import Folded, Whole
from parsimon.kernels import Constant, Kernel, plain
from parsimon.kernels.combination import Combination

Choice: TypeAlias = Literal["best", "one_se"]
JudgedBy: TypeAlias = Literal["cross-validation", "leave-one-out", "failed"]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A kernel fitted to all rows, with all that was measured of it.

    Attributes
    ----------
    kernel : Kernel
        With the hyperparameters of greatest evidence on all rows.
    depth : int
        Level of the search; 0 for the baseline.
    parent : Kernel or None
        The kernel that it grew from.
    guide : float
        What the search minimised; NaN if it was not measured.
    guide_deviation : float
        Its standard error; NaN where there is none.
    error, standard_error : float
        Mean over folds, and its standard error; NaN if it was not cross-validated.
    log_loss : float
        Mean over folds.
    log_evidence : float
        On all rows.
    fold_errors, fold_losses, fold_log_evidences : tuple of float
        One for each fold; empty if it was not cross-validated.
    loo_error, loo_loss : float
        Leave-one-out.
    bic : float
        Minus twice the log evidence plus a price for hyperparameters.
    noise_variance : float or None
        Of a regression, in units of the target's variance.
    n_base : int
        Number of base kernels; constants do not count.
    columns : tuple of int
        Those that it acts on.
    judged_by : {"cross-validation", "leave-one-out", "failed"}
        How far it came.
    message : str
        Why it failed.
    """

    kernel: Kernel
    depth: int
    parent: Kernel | None
    columns: tuple[int, ...]
    guide: float = math.nan
    guide_deviation: float = math.nan
    error: float = math.nan
    standard_error: float = math.nan
    log_loss: float = math.nan
    log_evidence: float = math.nan
    fold_errors: tuple[float, ...] = ()
    fold_losses: tuple[float, ...] = ()
    fold_log_evidences: tuple[float, ...] = ()
    loo_error: float = math.nan
    loo_loss: float = math.nan
    bic: float = math.inf
    noise_variance: float | None = None
    judged_by: JudgedBy = "failed"
    message: str = ""

    @property
    def n_base(self) -> int:
        """Number of base kernels; constants do not count."""
        return count_base(self.kernel)

    def __str__(self) -> str:
        return f"{plain(self.kernel)}: guide {self.guide:.4g}, error {self.error:.4g}"


def candidate_of(
    whole: Whole,
    folded: Folded | None,
    *,
    guide: Guide,
    depth: int,
    parent: Kernel | None,
    columns: tuple[int, ...],
    n_rows: int,
) -> Candidate:
    """Return the candidate that the measurements of a kernel make."""
    measured = folded or Folded((), (), ())
    return Candidate(
        kernel=whole.kernel,
        depth=depth,
        parent=parent,
        columns=columns,
        guide=guide_value(guide, whole, folded, n_rows),
        guide_deviation=deviation(guide, whole, folded),
        error=float(np.mean(measured.errors)) if folded else math.nan,
        standard_error=standard_error(measured.errors),
        log_loss=float(np.mean(measured.losses)) if folded else math.nan,
        log_evidence=whole.log_evidence,
        fold_errors=measured.errors,
        fold_losses=measured.losses,
        fold_log_evidences=measured.log_evidences,
        loo_error=whole.error,
        loo_loss=whole.loss,
        bic=bic(whole, n_rows),
        noise_variance=whole.noise_variance,
        judged_by="cross-validation" if folded else "leave-one-out",
    )


def count_base(kernel: Kernel) -> int:
    """Return the number of leaves that are no constants."""
    if isinstance(kernel, Combination):
        return sum(count_base(term) for term in kernel.terms)
    return int(not isinstance(kernel, Constant))


@dataclass(frozen=True)
class Order:
    """Ranks candidates: those that beat the constant kernel first, then by guide and evidence.

    Guides are rounded, an error to 0.01 %, and ties go to the greater evidence, rounded to 0.01
    (He 2016, section 5.2.1). A kernel is *credible* if its BIC beats the baseline's by twice the
    log of the number of kernels tried: the best of many guides always looks better than it is,
    and on pure noise nothing should be found.

    guide: What is minimised.
    baseline: The constant kernel.
    n_tried: Kernels that had a chance of being best so far.
    """

    guide: Guide
    baseline: Candidate
    n_tried: int

    def is_credible(self, candidate: Candidate) -> bool:
        """Say whether the evidence speaks for it rather than for the constant kernel."""
        return candidate.bic + 2 * math.log(max(1, self.n_tried)) < self.baseline.bic

    def ranked(self, candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
        """Return the candidates, the best first; those without a guide last."""
        return tuple(sorted(candidates, key=self._key))

    def improves(self, candidate: Candidate, on: Candidate) -> bool:
        """Say whether a candidate is credible and its guide is strictly less than another's."""
        if math.isnan(candidate.guide) or not self.is_credible(candidate):
            return False
        return rounded(self.guide, candidate.guide) < rounded(self.guide, on.guide)

    def _key(self, candidate: Candidate) -> tuple[bool, bool, float, float, float]:
        unknown = math.isnan(candidate.guide)
        if candidate.judged_by == "failed":
            return True, True, math.inf, math.inf, math.inf
        value = candidate.loo_error if unknown else rounded(self.guide, candidate.guide)
        evidence = -candidate.log_evidence
        return unknown, not self.is_credible(candidate), value, round(evidence, 2), evidence


def choose(rule: Choice, best: Candidate, candidates: Iterable[Candidate]) -> Candidate:
    """Return the best candidate, or the simplest that is within a standard error of it.

    "Simplest" has fewest base kernels, then fewest columns, then the least guide (the
    one-standard-error rule of Breiman et al. 1984, section 3.4.3).
    """
    if rule == "best":
        return best
    if math.isnan(best.guide_deviation):
        raise InvalidInputError(
            'choose="one_se" needs a guide with a standard error: cv_error, cv_logloss with two '
            "folds or more, or loo_logloss."
        )
    limit = best.guide + best.guide_deviation
    near = [candidate for candidate in candidates if candidate.guide <= limit]
    return min([best, *near], key=lambda one: (one.n_base, len(one.columns), one.guide))
