"""What a search over kernels saw: candidates, their order, and the history of them all.

A `Candidate` is a kernel with all that was measured of it, `Order` ranks them, and
`SearchHistory` keeps levels, path and baseline, with fronts and a few sentences about them;
`CandidateModel` makes a fitted estimator of one.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from parsimon._data import Task
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.gp._kernel_evaluation import (
    FailedFit,
    FoldFits,
    Guide,
    WholeFit,
    bic,
    deviation,
    guide_value,
    round_guide,
    standard_error,
)
from parsimon.kernels import Constant, Kernel, plain, spoken, structure
from parsimon.kernels.combination import Combination
from parsimon.pareto import Front

Choice: TypeAlias = Literal["supported", "one_se", "least_error"]
CHOICES = ("supported", "one_se", "least_error")
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
    kernel: Kernel,
    whole: WholeFit | FailedFit,
    folds: FoldFits | FailedFit | None,
    *,
    guide: Guide,
    depth: int,
    parent: Kernel | None,
    columns: tuple[int, ...],
    n_rows: int,
) -> Candidate:
    """Return the candidate that the measurements of a kernel make."""
    place: dict[str, Any] = {"depth": depth, "parent": parent, "columns": columns}
    if isinstance(whole, FailedFit) or isinstance(folds, FailedFit):
        failed = [fit.message for fit in (whole, folds) if isinstance(fit, FailedFit)]
        return Candidate(kernel=kernel, message=failed[0], **place)
    measured = folds or FoldFits((), (), ())
    return Candidate(
        kernel=whole.kernel,
        guide=guide_value(guide, whole, folds, n_rows),
        guide_deviation=deviation(guide, whole, folds),
        error=float(np.mean(measured.errors)) if folds else math.nan,
        standard_error=standard_error(measured.errors),
        log_loss=float(np.mean(measured.losses)) if folds else math.nan,
        log_evidence=whole.log_evidence,
        fold_errors=measured.errors,
        fold_losses=measured.losses,
        fold_log_evidences=measured.log_evidences,
        loo_error=whole.error,
        loo_loss=whole.loss,
        bic=bic(whole, n_rows),
        noise_variance=whole.noise_variance,
        judged_by="cross-validation" if folds else "leave-one-out",
        **place,
    )


@dataclass(frozen=True, eq=False)
class CandidateModel:
    """Turns a candidate into a fitted estimator; a value, so that searches can be pickled.

    Shapes: X (n, d).

    y (n,): Labels of any kind, or numbers in their own units.
    names: Of the columns.
    """

    task: Task
    X: Array
    y: AnyArray
    names: Any

    def __call__(self, candidate: Candidate) -> Any:
        X = framed(self.X, self.names)
        if self.task == "classification":
            from parsimon.gp import GPClassifier

            kept = GPClassifier(candidate.kernel, optimise=False, n_restarts=0)
            return kept.fit(X, self.y)
        from parsimon.gp import GPRegressor

        # The search standardised the target; a constant target has no unit.
        unit = float(np.var(self.y)) or 1.0
        noise = unit * (candidate.noise_variance or 1.0)
        held = GPRegressor(candidate.kernel, noise=noise, optimise=False, n_restarts=0)
        return held.fit(X, self.y)


def framed(X: Array, names: Any) -> Any:
    """Return a table with its names, if it had any, for estimators that remember them."""
    if names is None:
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=list(names))


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
        return round_guide(self.guide, candidate.guide) < round_guide(self.guide, on.guide)

    def _key(self, candidate: Candidate) -> tuple[bool, bool, float, float, float]:
        unknown = math.isnan(candidate.guide)
        if candidate.judged_by == "failed":
            return True, True, math.inf, math.inf, math.inf
        value = candidate.loo_error if unknown else round_guide(self.guide, candidate.guide)
        evidence = -candidate.log_evidence
        return unknown, not self.is_credible(candidate), value, round(evidence, 2), evidence


StoppedBy: TypeAlias = Literal["depth", "no_improvement", "exhausted", "time_limit", "interrupt"]

_REASONS: dict[StoppedBy, str] = {
    "depth": "the greatest depth was reached",
    "no_improvement": "no larger kernel was better",
    "exhausted": "there was nothing left to try",
    "time_limit": "the time was up",
    "interrupt": "it was interrupted",
}


@dataclass(frozen=True)
class SearchHistory:
    """Everything that a search over kernels measured.

    Parameters
    ----------
    baseline : Candidate
        The constant kernel.
    levels : tuple of tuples of Candidate
        All kernels of each depth, the best first.
    path : tuple of Candidate
        The best of each level that improved on the one before; empty if nothing beat the
        baseline.
    stopped_by : {"depth", "no_improvement", "exhausted", "time_limit", "interrupt"}
    guide : str
        What was minimised.
    task : {"classification", "regression"}
    supported : Candidate or None
        The kernel of what is more probable than not; None if that is nothing.
    """

    baseline: Candidate
    levels: tuple[tuple[Candidate, ...], ...]
    path: tuple[Candidate, ...]
    stopped_by: StoppedBy
    guide: Guide = "cv_logloss"
    task: Task = "classification"
    supported: Candidate | None = None

    @property
    def best(self) -> Candidate:
        """The candidate with the least guide, or the baseline."""
        return self.path[-1] if self.path else self.baseline

    @property
    def first_layer(self) -> tuple[Candidate, ...]:
        """The one-kernel models, the best first."""
        return self.levels[0] if self.levels else ()

    @property
    def best_by_column(self) -> dict[int, Candidate]:
        """The best one-kernel model of each column, in the order of their quality."""
        found: dict[int, Candidate] = {}
        for candidate in self.first_layer:
            if len(candidate.columns) == 1:
                found.setdefault(candidate.columns[0], candidate)
        return found

    @property
    def cross_validated(self) -> tuple[Candidate, ...]:
        """The baseline and all candidates that went through the folds."""
        judged = (candidate for candidate in self if candidate.judged_by == "cross-validation")
        return (self.baseline, *judged)

    def __iter__(self) -> Iterator[Candidate]:
        return (candidate for level in self.levels for candidate in level)

    def __len__(self) -> int:
        return sum(map(len, self.levels))

    def with_supported(
        self, supported: Candidate | None, others: Iterable[Candidate] = ()
    ) -> "SearchHistory":
        """Return the history with a kernel that the rows support, and others beside it."""
        known = {id(candidate) for candidate in self}
        new = [
            candidate
            for candidate in (supported, *others)
            if candidate is not None and id(candidate) not in known
        ]
        keys = {structure(candidate.kernel) for candidate in new}
        # What the search found of the same structure had less evidence.
        levels = [
            [candidate for candidate in level if structure(candidate.kernel) not in keys]
            for level in self.levels
        ]
        for candidate in new:
            levels += [[] for _ in range(candidate.n_base - len(levels))]
            levels[candidate.n_base - 1].append(candidate)
        return replace(self, levels=tuple(map(tuple, levels)), supported=supported)

    def replaced(self, old: Candidate, new: Candidate) -> "SearchHistory":
        """Return the history with another fit of a candidate in its place."""

        def own(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
            return tuple(new if candidate is old else candidate for candidate in candidates)

        return replace(
            self,
            levels=tuple(map(own, self.levels)),
            path=own(self.path),
            supported=new if self.supported is old else self.supported,
        )

    def chosen(self, rule: Choice = "supported") -> Candidate:
        """Return what the rows support, the best candidate, or the simplest that is near it.

        "Simplest" has fewest base kernels, then fewest columns, then the least guide, of those
        within a standard error of the best (Breiman et al. 1984, section 3.4.3).
        """
        if rule == "supported":
            return self.supported or self.baseline
        if not self.path or rule == "least_error":
            return self.best
        if math.isnan(self.best.guide_deviation):
            raise InvalidInputError(
                'choose="one_se" needs a guide with a standard error: cv_error, cv_logloss with '
                "two folds or more, or loo_logloss."
            )
        limit = self.best.guide + self.best.guide_deviation
        near = [self.best, *(candidate for candidate in self if candidate.guide <= limit)]
        return min(
            near, key=lambda candidate: (candidate.n_base, len(candidate.columns), candidate.guide)
        )

    def front(
        self,
        price: Literal["kernels", "variables"] = "kernels",
        model: Callable[[Candidate], Any] | None = None,
    ) -> Front:
        """Return the cross-validated error against the number of base kernels or of variables.

        The error is that of the folds that may have guided the search, so it is optimistic.
        """
        judged = self.cross_validated
        values = [
            [candidate.error, candidate.n_base if price == "kernels" else len(candidate.columns)]
            for candidate in judged
        ]
        solutions = judged if model is None else _Models(judged, model)
        return Front(values, ["error", price], solutions=solutions, ties="first")

    def on(self, front: Front) -> tuple[Candidate, ...]:
        """Return the candidates of a front that `front` made, in its order."""
        judged = self.cross_validated
        return tuple(judged[row] for row in front.rows)

    def to_frame(self) -> Any:
        """Return a data frame with one row for each candidate, the baseline first."""
        import pandas as pd

        names = ("depth", "guide", "error", "standard_error", "log_loss", "log_evidence", "bic")
        more = ("loo_error", "loo_loss", "n_base", "columns", "judged_by")
        rows = [
            {
                "kernel": plain(candidate.kernel),
                **{name: getattr(candidate, name) for name in names + more},
            }
            for candidate in (self.baseline, *self)
        ]
        return pd.DataFrame(rows)

    def describe(self, names: Sequence[str] | None = None, *, rule: Choice = "supported") -> str:
        """Return a few sentences: what was found, what it gains, and why the search ended."""
        ending = f"The search judged {len(self)} kernels and ended because "
        ending += f"{_REASONS[self.stopped_by]}."
        found = self.chosen(rule)
        if found is self.baseline:
            return f"{self._nothing_found()} {ending}"
        best = "supported" if rule == "supported" else "best"
        sentence = f"The {best} kernel is {spoken(found.kernel, names)} ({plain(found.kernel)})"
        if not math.isnan(found.error):
            sentence += (
                f", with a cross-validated error of {self._share(found.error)} "
                f"against {self._share(self.baseline.error)} for a constant"
            )
        return f"{sentence}. {self._first(names)}{ending}"

    def _nothing_found(self) -> str:
        if all(math.isnan(candidate.guide) for candidate in self):
            return "No structure found: no kernel was judged."
        sentence = "No structure found: no kernel beats a constant"
        if not math.isnan(self.baseline.error):
            sentence += f", whose cross-validated error is {self._share(self.baseline.error)}"
        return sentence + "."

    def _first(self, names: Sequence[str] | None) -> str:
        judged = [candidate for candidate in self.first_layer if not math.isnan(candidate.error)]
        if not judged or len(judged[0].columns) != 1:
            return ""
        column = judged[0].columns[0]
        name = f"variable {column + 1}" if names is None else names[column]
        return f"Alone, {name} does best, with {self._share(judged[0].error)}. "

    def _share(self, error: float) -> str:
        unit = " of the variance" if self.task == "regression" else ""
        return f"{100 * error:.2f} %{unit}"


@dataclass(frozen=True)
class _Models:
    """Makes a front's solution from its row; a value, so that fronts can be pickled."""

    candidates: tuple[Candidate, ...]
    model: Callable[[Candidate], Any]

    def __call__(self, row: int) -> Any:
        return self.model(self.candidates[row])
