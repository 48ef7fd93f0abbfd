"""What a search over kernels saw: levels, path, baseline, fronts, and a few sentences."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from parsimon.gp.candidates import Candidate, Choice, choose
from parsimon.gp.guides import Guide
from parsimon.gp.judging import Task
from parsimon.kernels import plain, spoken
from parsimon.pareto import Front

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

    baseline: The constant kernel.
    levels: All kernels of each depth, the best first.
    path: The best of each level that improved on the one before; empty if nothing beat the
        baseline.
    stopped_by: "depth", "no_improvement", "exhausted", "time_limit" or "interrupt".
    guide: What was minimised.
    """

    baseline: Candidate
    levels: tuple[tuple[Candidate, ...], ...]
    path: tuple[Candidate, ...]
    stopped_by: StoppedBy
    guide: Guide = "cv_error"
    task: Task = "classification"

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
        judged = (one for one in self if one.judged_by == "cross-validation")
        return (self.baseline, *judged)

    def __iter__(self) -> Iterator[Candidate]:
        return (candidate for level in self.levels for candidate in level)

    def __len__(self) -> int:
        return sum(map(len, self.levels))

    def chosen(self, rule: Choice = "best") -> Candidate:
        """Return the best candidate, or the simplest within a standard error of it."""
        if not self.path:
            return self.baseline
        return choose(rule, self.best, (one for one in self if not math.isnan(one.guide)))

    def front(
        self,
        price: Literal["kernels", "variables"] = "kernels",
        model: Callable[[Candidate], Any] | None = None,
    ) -> Front:
        """Return the cross-validated error against the number of base kernels or of variables.

        The error is that of the folds that may have guided the search, so it is optimistic.
        """
        judged = self.cross_validated
        sizes = [one.n_base if price == "kernels" else len(one.columns) for one in judged]
        values = [[one.error, size] for one, size in zip(judged, sizes, strict=True)]
        solutions = judged if model is None else _Models(judged, model)
        return Front(values, ["error", price], solutions=solutions, ties="first")

    def to_frame(self) -> Any:
        """Return a data frame with one row for each candidate, the baseline first."""
        import pandas as pd

        names = ("depth", "guide", "error", "standard_error", "log_loss", "log_evidence", "bic")
        more = ("loo_error", "loo_loss", "n_base", "columns", "judged_by")
        rows = [
            {"kernel": plain(one.kernel), **{name: getattr(one, name) for name in names + more}}
            for one in (self.baseline, *self)
        ]
        return pd.DataFrame(rows)

    def describe(self, names: Sequence[str] | None = None, *, rule: Choice = "best") -> str:
        """Return a few sentences: what was found, what it gains, and why the search ended."""
        ending = f"The search judged {len(self)} kernels and ended because "
        ending += f"{_REASONS[self.stopped_by]}."
        if not self.path:
            return f"{self._nothing_found()} {ending}"
        found = self.chosen(rule)
        sentence = f"The best kernel is {spoken(found.kernel, names)} ({plain(found.kernel)})"
        if not math.isnan(found.error):
            sentence += (
                f", with a cross-validated error of {self._share(found.error)} "
                f"against {self._share(self.baseline.error)} for a constant"
            )
        return f"{sentence}. {self._first(names)}{ending}"

    def _nothing_found(self) -> str:
        if not any(not math.isnan(one.guide) for one in self):
            return "No structure found: no kernel was judged."
        sentence = "No structure found: no kernel beats a constant"
        if not math.isnan(self.baseline.error):
            sentence += f", whose cross-validated error is {self._share(self.baseline.error)}"
        if len(self.levels) == 1:
            sentence += "; interactions of variables that say nothing alone were not tried"
        return sentence + "."

    def _first(self, names: Sequence[str] | None) -> str:
        first = next((one for one in self.first_layer if not math.isnan(one.error)), None)
        if first is None or len(first.columns) != 1:
            return ""
        column = first.columns[0]
        name = f"variable {column + 1}" if names is None else names[column]
        return f"Alone, {name} does best, with {self._share(first.error)}. "

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
