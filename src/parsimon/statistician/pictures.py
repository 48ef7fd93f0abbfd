"""All pictures of a report: drawn, captioned, and named in the findings that they belong to."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from parsimon.kernels import Kernel, plain
from parsimon.report.figures import DrawnPart, label, predicted_observed
from parsimon.report.findings import (
    Checks,
    ComponentFinding,
    InteractionFinding,
    Picture,
    Study,
    VariableFinding,
)
from parsimon.statistician.components import joined, split
from parsimon.statistician.drawing import (
    data_picture,
    draw_bins,
    draw_roc,
    listed,
    picture_of,
)
from parsimon.statistician.left_out import own_predictions
from parsimon.statistician.models import posterior_of
from parsimon.statistician.search_pictures import draw_front, draw_search
from parsimon.statistician.subject import Subject
from parsimon.statistician.views import MOST_COLUMNS, View

__all__ = ["data_picture", "study_pictures"]

MOST_VARIABLES = 12


def study_pictures(subject: Subject, study: Study) -> tuple[Study, tuple[Picture, ...]]:
    """Draw everything that a study shows."""
    gallery = _Gallery(subject, _view(subject, study))
    variables = tuple(
        gallery.variable(found, place) if place < MOST_VARIABLES else found
        for place, found in enumerate(study.variables)
    )
    study = replace(study, variables=variables)
    study = replace(study, components=gallery.components(study))
    interactions = tuple(
        gallery.interaction(found, place) for place, found in enumerate(study.interactions)
    )
    study = replace(study, interactions=interactions, checks=gallery.checks(study.checks))
    if study.front:
        front = gallery.hang("front", draw_front(study), "What each further kernel buys")
        study = replace(study, front_picture=front)
    search = subject.search
    tree = draw_search(search.history_, search.best_candidate_, subject.names)
    shown = gallery.hang("search", tree, "The way of the search")
    study = replace(study, search=replace(study.search, picture=shown))
    return study, tuple(gallery.pictures)


def _view(subject: Subject, study: Study) -> View:
    """Return a view of the subject in which dates say their unit."""
    dates = [found.variable.name for found in study.variables if found.variable.kind == "date"]
    return View(subject, {name: f"{label(name, 18)} (days since the first)" for name in dates})


@dataclass(frozen=True, eq=False)
class _Gallery:
    """Draws the pictures of a subject and keeps them."""

    subject: Subject
    view: View
    pictures: list[Picture] = field(default_factory=list)

    def hang(self, part: str, axes: Any, title: str) -> str:
        """Keep a drawing under the name of a part of the study; return its name."""
        name = f"{self.subject.key}-{part}"
        more = self._searched_words() if part.startswith(_FITTED) else ""
        self.pictures.append(picture_of(name, axes, title, more=more))
        return name

    def variable(self, found: VariableFinding, place: int) -> VariableFinding:
        column = self.subject.names.index(found.variable.name)
        best = self.subject.search.history_.best_by_column[column]
        axes = self.view.draw(self.view.function(best, [column]), [column])
        title = f"{self._answer()} along {found.variable.name}"
        return replace(found, picture=self.hang(f"variable-{place + 1}", axes, title))

    def components(self, study: Study) -> tuple[ComponentFinding, ...]:
        """Draw each part in the full model, and what the parts make together."""
        found = study.components
        if not found:
            return ()
        search = self.subject.search
        posterior = posterior_of(search, search.best_candidate_)
        parts, constants = split(search.best_candidate_.kernel)
        parts = _in_order(found, parts, self.subject.names)
        drawn = [
            DrawnPart(
                one.alone.words,
                range(len(part.columns or ())),
                self.view.part(posterior, part, part.columns or ()),
            )
            for one, part in zip(found, parts, strict=True)
        ]
        columns = [list(part.columns or ()) for part in parts]
        reach = max(map(self.view.reach, drawn, columns))
        named = []
        for place, one in enumerate(found):
            axes = self.view.draw_part(drawn[place], columns[place], reach)
            title = f"Part {place + 1}: {one.alone.words}"
            name = self.hang(f"component-{place + 1}", axes, title)
            kernel = joined(parts[: place + 1], constants)
            together = self._cumulative(study, kernel, place)
            named.append(replace(one, picture=name, cumulative_picture=together))
        return tuple(named)

    def _cumulative(self, study: Study, kernel: Kernel, place: int) -> str:
        found = study.components[place]
        n_variables = len(found.cumulative.variables)
        alone = [one.model.symbols for one in study.variables if one.picture]
        if not 1 <= n_variables <= MOST_COLUMNS or found.cumulative.symbols in alone:
            return ""
        search = self.subject.search
        whole = place + 1 == len(study.components)
        candidate = search.best_candidate_ if whole else search.judge(kernel)
        columns = list(candidate.columns)
        function = self.view.function(candidate, columns)
        axes = self.view.draw(function, columns, confidence=True)
        title = f"{self._answer()} by {found.cumulative.words}"
        return self.hang(f"cumulative-{place + 1}", axes, title)

    def interaction(self, found: InteractionFinding, place: int) -> InteractionFinding:
        best = self.subject.search.best_candidate_
        columns = list(best.columns)
        pair = [self.subject.names.index(name) for name in found.variables[:2]]
        axes = self.view.draw(self.view.function(best, columns), columns, shown=pair)
        title = f"{self._answer()} by {listed(found.variables[:2])} together"
        return replace(found, picture=self.hang(f"interaction-{place + 1}", axes, title))

    def checks(self, checks: Checks) -> Checks:
        subject = self.subject
        if subject.task == "regression":
            own = own_predictions(subject)
            axes = predicted_observed(
                subject.y,
                own.value,
                deviation=own.deviation,
                target=subject.target,
                left_out=own.source == "leave-one-out",
            )
            name = self.hang("calibration", axes, f"Observed and predicted {subject.target}")
            return replace(checks, calibration_picture=name)
        if checks.calibration:
            axes = draw_bins(checks, subject.positive)
            name = self.hang("calibration", axes, "Observed shares against predictions")
            checks = replace(checks, calibration_picture=name)
        if checks.roc is not None:
            axes = draw_roc(checks.roc, subject.positive)
            checks = replace(checks, roc_picture=self.hang("roc", axes, "ROC curve"))
        return checks

    def _answer(self) -> str:
        subject = self.subject
        number = subject.task == "regression"
        return f"Predicted {subject.target}" if number else f"Probability of {subject.positive}"

    def _searched_words(self) -> str:
        searched, n_rows = len(self.subject.search.problem_.y), len(self.subject.y)
        return f" Fitted to the {searched:,} rows of the search." if searched < n_rows else ""


# Pictures of functions that were fitted to the rows of the search.
_FITTED = ("variable", "component", "cumulative", "interaction")


def _in_order(
    found: Sequence[ComponentFinding], parts: Sequence[Kernel], names: Sequence[str]
) -> list[Kernel]:
    """Return the parts of the kernel in the order of their findings."""
    rest = list(parts)
    ordered: list[Kernel] = []
    for one in found:
        own = set(one.alone.variables)
        same = [part for part in rest if one.alone.symbols.removeprefix("C + ") == plain(part)]
        alike = [part for part in rest if {names[k] for k in part.columns or ()} == own]
        ordered.append((same or alike or rest)[0])
        rest.remove(ordered[-1])
    return ordered
