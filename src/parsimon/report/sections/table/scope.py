"""One question of the report, as its sections see it: what things are called, where figures are."""

import math
from dataclasses import dataclass

from parsimon.report.document import Figure
from parsimon.report.figures.search_figures import words_by_column
from parsimon.report.findings import (
    Findings,
    Honest,
    ModelFinding,
    Study,
)
from parsimon.report.findings.shared_findings import RARE
from parsimon.report.sections._blocks import figures, target_of
from parsimon.report.sections._phrases import clean, percent, quoted
from parsimon.structures import Claim
from parsimon.structures.claims import SUGGESTED

_GUIDES = {
    "cv_error": "cross-validated error",
    "cv_logloss": "cross-validated log loss",
    "loo_logloss": "leave-one-out log loss",
    "nlml": "negative log marginal likelihood",
    "bic": "Bayesian information criterion",
}


@dataclass(frozen=True, kw_only=True)
class Scope:
    """One question of the report.

    place: Of the study, from 0.
    """

    findings: Findings
    place: int = 0

    @property
    def study(self) -> Study:
        """The question's study."""
        return self.findings.studies[self.place]

    @property
    def uses_guessing(self) -> bool:
        """Whether guessing itself is the model to use, and the figures are its own."""
        found = self.findings.comparison
        return found is not None and found.recommended.family == "guessing"

    @property
    def guesses(self) -> bool:
        """Whether the model to use predicts the same for every row."""
        nothing = not any(study.structure_found for study in self.findings.studies)
        return self.uses_guessing or (self.findings.recommended is None and nothing)

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that the model to use takes."""
        if self.findings.recommended is not None:
            return self.findings.recommended.columns
        return tuple(dict.fromkeys(map(self.column, self.study.model.variables)))

    @property
    def several(self) -> bool:
        """Whether the report has more questions than one."""
        return len(self.findings.studies) > 1

    @property
    def numeric(self) -> bool:
        """Whether a number is predicted."""
        return self.study.task == "regression"

    @property
    def target(self) -> str:
        """Name of the column that is predicted."""
        return target_of(self.findings)

    @property
    def positive(self) -> str:
        """The class that is asked for."""
        return quoted(self.study.positive)

    @property
    def negative(self) -> str:
        """What stands against it: the other class, or all others."""
        if len(self.findings.table.classes) > 2:
            return "the other classes"
        return quoted(self.study.negative)

    @property
    def outcome(self) -> str:
        """What rises or falls with a variable."""
        if self.numeric:
            return f"the expected {self.target}"
        return f"the probability of {self.positive}"

    @property
    def unit(self) -> str:
        """What the sizes of models count, in the singular."""
        return "term" if self.study.search is None else self.study.search.unit

    @property
    def n_rows(self) -> int:
        """Rows that the search used."""
        search = self.study.search
        return (0 if search is None else search.n_rows) or self.findings.table.n_rows_used

    @property
    def searched(self) -> str:
        """The rows that the search used, in words."""
        n_all = self.findings.table.n_rows_used
        return f"all {n_all:,} rows" if self.n_rows == n_all else f"{self.n_rows:,} searched rows"

    @property
    def rows_seen(self) -> str:
        """The rows that claims rest on, in words; how many of how many where it is a sample."""
        n_all, n = self.findings.table.n_rows_used, self.study.n_claim_rows
        if n in (0, n_all):
            return "these rows"
        return f"the {n:,} of {n_all:,} rows that were looked at"

    @property
    def share(self) -> float:
        """Share of the rows that are of the class asked for."""
        study = self.study
        return study.n_positive / max(1, study.n_positive + study.n_negative)

    @property
    def rare(self) -> bool:
        """Whether one of the two sides has so few rows that few answers can be wrong."""
        return not self.numeric and min(self.share, 1 - self.share) < RARE

    @property
    def positive_is_rare(self) -> bool:
        """Whether it is the class asked for that has the fewer rows."""
        return self.share <= 0.5

    @property
    def rare_class(self) -> str:
        """The class that has the fewer rows, in quotation marks."""
        return self.positive if self.positive_is_rare else self.negative

    def does(self, error: float) -> str:
        """Return what a model with an error does: "is wrong in 20 %", "explains 48 % of ..."."""
        if not self.numeric:
            return f"is wrong in {percent(error)}"
        if round(error, 3) >= 1:
            return "explains nothing"
        return f"explains {percent(1 - error)} of the variance"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that may be used."""
        return tuple(dict.fromkeys(one.column for one in self.findings.table.variables))

    @property
    def choice(self) -> str:
        """The rule that chose the structure: "supported", "one_se" or "least_error"."""
        search = self.study.search
        return "" if search is None else search.choose.replace("-", "_")

    @property
    def guide(self) -> str:
        """What the search minimised."""
        guide = "" if self.study.search is None else self.study.search.guide
        return _GUIDES.get(guide, clean(guide))

    @property
    def claimed(self) -> tuple[Claim, ...]:
        """What is said of this question: what is certain, and suggestions."""
        return tuple(
            one for one in self.study.claims if one.certain or one.probability >= SUGGESTED
        )

    def column(self, name: str) -> str:
        """Return the column that a variable comes from, by the variable's name.

        A part of the table may have levels that the whole has put together, so that a name which
        is not known is taken apart.
        """
        known = {one.name: one.column for one in self.findings.table.variables}
        if name in known:
            return known[name]
        inside = [one for one in self.columns if name.startswith((f"{one} = ", f"{one} is "))]
        return max(inside, key=len, default=name)

    def anchor(self, name: str) -> str:
        """Return an anchor that no other question has."""
        return f"study-{self.place + 1}-{name}" if self.several else name

    def figures(self, *names: str) -> tuple[Figure, ...]:
        """Return figures of those pictures that exist."""
        return figures(self.findings, *names)


def misses(honest: Honest, share: float) -> float:
    """Return a share of the variance as a root mean squared error in the unit of the target."""
    if not honest.error.estimate > 0:
        return math.nan
    return honest.root_mean_square * math.sqrt(max(0.0, share) / honest.error.estimate)


def words_of(scope: Scope, model: ModelFinding) -> str:
    """Return a structure in words, on one line, with columns for their levels."""
    columns = {name: scope.column(name) for name in model.variables}
    return clean(words_by_column(model.words, columns))


def why_no_outer_folds(scope: Scope) -> str:
    """Return the reason, to be put after "because"."""
    run = scope.findings.run
    if run.too_few_rows:
        return "the table has too few rows for outer folds"
    if "outer folds" in run.skipped:
        return "the outer folds were skipped"
    return "fewer than two outer folds were finished"


def guess_miss(findings: Findings) -> float:
    """Return the root mean squared error of guessing, in the unit of the target."""
    honest = findings.studies[0].honest
    return math.nan if honest is None else misses(honest, 1.0)
