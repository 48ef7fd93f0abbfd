"""Tables with a row for each case: all models are asked, and the best of them is described."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast, get_args

import numpy as np

from parsimon._checks import check_choice, check_count
from parsimon._parallel import Workers, is_done_alone, n_workers
from parsimon._progress import Progress
from parsimon._random import seed_sequence
from parsimon.evaluation.folds import OuterPart
from parsimon.report.findings import (
    Findings,
    Joint,
    ModelComparison,
    Picture,
    RecommendedModel,
    RunFindings,
    Study,
    Variable,
)
from parsimon.statistician._walk import Kind, Work
from parsimon.statistician.analysis import Analysis
from parsimon.statistician.asked_table import ReadTable, read_question
from parsimon.statistician.claimed_effects import effect_findings
from parsimon.statistician.comparison import Compared, as_fitted
from parsimon.statistician.explained_rows import joint_rows
from parsimon.statistician.families.family import Family
from parsimon.statistician.families.feature_fronts import FORMULA
from parsimon.statistician.families.kernel_search import (
    KERNEL_SEARCH,
    Choice,
    Guide,
    KernelSearchFamily,
)
from parsimon.statistician.families.plain import GUESSING
from parsimon.statistician.families.registered import FAMILIES, Rivals, chosen_families
from parsimon.statistician.feature_front import report_formulas
from parsimon.statistician.final_fits import FinalFits, Settled, final_seed, settle_on_model
from parsimon.statistician.folds import FAST_FOLDS, plan_folds
from parsimon.statistician.looking import (
    TABLE,
    Looked,
    has_certain_claims,
    look_at_folds,
    steady_claims,
)
from parsimon.statistician.outer_folds import (
    FoldResult,
    folds_of,
    honest_findings,
    importance_findings,
    joint_findings,
    outside_predictions,
)
from parsimon.statistician.seen_tables import PreparedTable
from parsimon.statistician.study import (
    bare_study,
    data_picture,
    fitted_model,
    searched_model,
    study_of,
)
from parsimon.statistician.table_model import TableModel
from parsimon.structures import merged

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.statistician.families.gp._kernel_fit import KernelAnswer, KernelFit

# Cells of a table up to which a fast report compares plain models.
_FAST_CELLS = 200_000
# Of a time limit: for a look at what matters.
_LOOKING = 0.125
_USUAL_DEPTH, _FAST_DEPTH = 4, 2


class _ModelToUse(NamedTuple):
    """The model to use, fitted to all rows, and what it said of every question on every fold."""

    name: str
    model: TableModel
    measured: Sequence[FoldResult]


class _Described(NamedTuple):
    """The studies of all questions with their pictures, of which rows, and the table."""

    studies: list[Study]
    pictures: list[Picture]
    n_searched: int
    seen: PreparedTable


@dataclass(frozen=True, kw_only=True)
class TableKind(Kind):
    """A table with a row for each case, of which all models are asked.

    First is seen what matters, in the table and in each fold; the recommended model is then
    described, and beside it what a search over kernels found.

    depth: Most base kernels; None for 4, or 2 with `fast`, or the number of variables if less.
    beam, base, guide, choose: As in `KernelSearch`.
    fast: A shallow search that no outer folds repeat; plain models alone are compared.
    families, rivals: Who is asked, on the same outer folds.
    """

    depth: int | None = None
    beam: int = 2
    base: tuple[str, ...] = ("se",)
    guide: Guide = "cv_logloss"
    choose: Choice = "supported"
    families: tuple[str, ...] = FAMILIES
    rivals: Rivals = "all"

    last_steps = (2.5, 0.3)
    seeds = ("folding", "searching", "describing", "comparing")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.everyone  # noqa: B018 - says what is not known before anything is searched
        if self.depth is not None:
            check_count("depth", self.depth)
        check_count("beam", self.beam)
        check_choice("guide", self.guide, get_args(Guide))
        check_choice("choose", self.choose, get_args(Choice))

    @property
    def n_outer(self) -> int | None:
        return 0 if self.fast else self.outer

    @cached_property
    def everyone(self) -> tuple[Family, ...]:
        """All that are asked; the search over kernels has these options."""
        found = chosen_families(self.families, self.rivals)
        return tuple(self.kernels if one is KERNEL_SEARCH else one for one in found)

    @property
    def on_table(self) -> tuple[Family, ...]:
        """Those that search the table itself, and have a section of their own."""
        return tuple(one for one in self.everyone if one.searches)

    @property
    def on_folds(self) -> tuple[Family, ...]:
        """Those that answer on outer folds; of a fast report the plain ones."""
        return chosen_families((), self.rivals) if self.fast else self.everyone

    @property
    def kernels(self) -> KernelSearchFamily:
        """The search over kernels."""
        return KernelSearchFamily(
            depth=self.depth,
            usual_depth=_FAST_DEPTH if self.fast else _USUAL_DEPTH,
            beam=self.beam,
            base=self.base,
            guide=self.guide,
            choose=self.choose,
            n_folds=FAST_FOLDS if self.fast else 5,
            refits=not self.fast,
        )

    def read(self, frame: "pd.DataFrame") -> ReadTable:
        return read_question(frame, self.target, positive=self.positive, task=self.task)

    def workers(self, asked: ReadTable) -> int | None:
        alone = self.fast and is_done_alone(len(asked.questions), asked.columns.size)
        return 1 if alone else self.n_jobs

    def search(self, work: Work, *, whole: bool = True) -> Looked:
        """Look at what matters in the table, if asked for, and in each fold."""
        return look_at_folds(
            work.asked.questions,
            work.parts,
            seed_sequence(work.seeds["searching"]),
            whole=whole,
            n_jobs=work.n_jobs,
            time_limit=work.budget.left(_LOOKING),
            verbose=self.verbose,
            kept=work.kept,
        )

    def ask(
        self,
        work: Work,
        looked: Looked,
        parts: Sequence[OuterPart] | None = None,
        *,
        whole: bool = True,
    ) -> tuple[Compared, bool]:
        """Ask everyone on the folds, and say whether some claim is certain.

        whole: Whether those that search are fitted to the table too.
        """
        certain = has_certain_claims(work.asked.questions, looked)
        seed = work.seeds["searching"]
        on_table = [(family, seed_sequence(seed)) for family in self.on_table if whole]
        compared = work.compare(
            self.on_folds, parts, certain=certain, whole=on_table, looked=looked
        )
        return compared, certain

    def compare(self, work: Work, found: Looked) -> tuple[FinalFits, Settled]:
        """Compare all models; in a fast report the plain ones alone, on folds of their own."""
        asked, parts = work.asked, work.parts
        if self.fast and self.outer != 0 and asked.columns.size <= _FAST_CELLS:
            parts = plan_folds(asked.questions[0], FAST_FOLDS, work.seeds["folding"].spawn(1)[0])
        compared, certain = self.ask(work, found, parts)
        fits = FinalFits.of(asked, self.on_folds, self.seed, compared.whole)
        settled = settle_on_model(compared, fits, certain=certain)
        comparison = settled.comparison
        if comparison is None or not self.fast or not self.on_table:
            return fits, settled
        if comparison.recommended.family == GUESSING.kind:
            # That no plain model gains anything says nothing about the search.
            return fits, Settled(None, (), ())
        reason = "a fast report does not measure it on new rows"
        left_out = [(family.name, reason) for family in self.on_table]
        comparison = replace(comparison, left_out=(*left_out, *comparison.left_out))
        return fits, settled._replace(comparison=comparison)

    def describe(self, work: Work, found: Looked, compared: tuple[FinalFits, Settled]) -> Analysis:
        asked, (fits, settled) = work.asked, compared
        question, comparison = asked.questions[0], settled.comparison
        front, drawings, drawn_models = report_formulas(
            asked,
            comparison,
            work.kept,
            final_seed(self.seed),
            settled.model,
            work.budget.left_to_describe(),
        )
        chosen = _choose_model(asked, settled, fits, drawn_models, found)
        described = self._describe_questions(work, fits, chosen, found)
        studies = tuple(described.studies)
        joint, explained = _joint_rows(asked, chosen)
        if comparison is not None:
            models = {**drawn_models, **fits.searched_models(), chosen.name: chosen.model}
            comparison = as_fitted(comparison, models, question.table)
        recommended = None
        if chosen.name != KERNEL_SEARCH.name:
            recommended = RecommendedModel(name=chosen.name, columns=chosen.model.columns)
        searched = folds_of(KERNEL_SEARCH.name, asked.questions, settled.answers, found)
        targets, task = [one.y for one in asked.questions], asked.outcome.task
        drawn = described.pictures
        findings = Findings(
            table=asked.table_findings(
                self.name,
                described.seen,
                n_searched=described.n_searched,
                picture="data" if drawn and drawn[0].name == "data" else "",
            ),
            studies=studies,
            run=self._run(work, comparison, studies, has_front=front is not None),
            claims=merged(claim for study in studies for claim in study.claims),
            comparison=comparison,
            importance=importance_findings(targets, studies, searched, task),
            formulas=front,
            joint=joint,
            recommended=recommended,
            pictures=(*drawn, *settled.pictures, *drawings, *explained),
        )
        return Analysis(findings=findings, fits=fits, fitted_model=chosen.model)

    def _describe_questions(
        self, work: Work, fits: FinalFits, chosen: _ModelToUse, looked: Looked
    ) -> _Described:
        """Describe every question: what a search found, and how far the model to use goes."""
        asked = work.asked
        search = cast("KernelFit | None", fits.whole.get(KERNEL_SEARCH.name))
        seen = PreparedTable.of(asked.questions) if search is None else search.seen
        studies = [bare_study(question) for question in asked.questions]
        drawn: list[Picture] = []
        rows = np.arange(len(seen.values))
        if search is not None:
            studies, drawn = self._describe_search(work, search)
            rows = search.answers[0].searched
        claims = steady_claims(asked.questions, looked)
        for place, question in enumerate(asked.questions):
            own = [fold for fold in chosen.measured if fold.question == place]
            structures = looked[TABLE][place]
            whole = replace(question, X=seen.every, structures=structures)
            effects, more = effect_findings(whole, seen.preparer)
            drawn += more
            studies[place] = replace(
                studies[place],
                honest=honest_findings(question.y, own, question.task),
                claims=claims[place],
                n_claim_rows=structures.n_rows,
                effects=effects,
            )
        if len(studies) == 1 and chosen.name != GUESSING.name:
            outside = outside_predictions(len(seen.values), chosen.measured)
            if search is not None and chosen.name == KERNEL_SEARCH.name:
                known = outside[rows] if chosen.measured else None
                found = searched_model(search.answers[0].result, seen.variables, known)
            else:
                found = fitted_model(chosen.model, asked.questions[0], outside)
            checks, explained, more = found
            studies[0] = replace(studies[0], checks=checks, explained=explained)
            drawn += more
        outcome = asked.outcome
        data = data_picture(
            seen.X.iloc[rows],
            outcome.values[rows],
            names=[str(name) for name in seen.X.columns],
            class_names=outcome.classes,
            task=outcome.task,
        )
        pictures = drawn if data is None else [data, *drawn]
        return _Described(studies, pictures, len(rows), seen)

    def _describe_search(
        self, work: Work, search: "KernelFit"
    ) -> tuple[list[Study], list[Picture]]:
        """Describe what was found of every question by a search over kernels."""
        answers, kept = search.answers, work.kept
        places = [(place,) for place in range(len(answers))]
        found: dict[tuple[int, ...], tuple[Study, tuple[Picture, ...]]] = kept.read("study", places)
        limit = work.budget.left_to_describe(-(-len(answers) // n_workers(work.n_jobs)))
        children = work.seeds["describing"].spawn(len(answers))
        calls = {
            place: (answer, search.seen.variables, self.fast, child, limit)
            for place, answer, child in zip(places, answers, children, strict=True)
            if place not in found
        }
        with (
            Progress("Describing", total=len(answers), verbose=self.verbose) as progress,
            Workers(work.n_jobs if len(calls) > 1 else 1) as workers,
        ):
            for place, described in zip(calls, workers.map(_study, calls.values()), strict=True):
                found[place] = described
                kept.write("study", place, described)
                progress.update(len(found))
        studies, drawn = zip(*(found[place] for place in places), strict=True)
        return list(studies), [picture for pictures in drawn for picture in pictures]

    def _run(
        self,
        work: Work,
        comparison: ModelComparison | None,
        studies: Sequence[Study],
        *,
        has_front: bool,
    ) -> RunFindings:
        """Say what was asked for, and what was left out to save time."""
        skipped = []
        rows = () if comparison is None else comparison.models
        if not has_front and any(row.name == FORMULA.name for row in rows):
            skipped.append("the drawing of formulas")
        if self.n_outer == 0:
            # A fast report asks the plain models on outer folds all the same.
            skipped.append("outer folds" if comparison is None else "outer folds of the search")
        if self.fast and any("×" in study.model.expression for study in studies):
            skipped.append("interactions beside sums")
        skipped += [said for study in studies for said in study.left_out]
        options = {
            "depth": self.kernels.depth_for(10**9),
            "beam": self.beam,
            "base": ",".join(self.base),
            "guide": self.guide,
            "choose": self.choose,
            "outer": len(work.parts),
            "seed": self.seed,
        }
        return work.run(options, list(dict.fromkeys(skipped)))


def _choose_model(
    asked: ReadTable,
    settled: Settled,
    fits: FinalFits,
    fitted: "dict[str, TableModel]",
    looked: Looked,
) -> _ModelToUse:
    """Return the recommended model; what was searched, or is asked first, if none is."""
    row = None if settled.comparison is None else settled.comparison.recommended
    name = fits.first if row is None else row.name
    model = settled.model or fitted.get(name) or fits.demanded(name, row)
    asked_it = any(name in answer.told for answer in settled.answers)
    answers = settled.answers if asked_it else ()
    return _ModelToUse(name, model, folds_of(name, asked.questions, answers, looked))


def _joint_rows(asked: ReadTable, chosen: _ModelToUse) -> tuple[Joint | None, tuple[Picture, ...]]:
    """Return how well all classes are predicted together, and a few rows as the model sees them."""
    if len(asked.questions) == 1:
        return None, ()
    outcome = asked.outcome
    joint = joint_findings(outcome.values.astype(int), outcome.classes, chosen.measured)
    if joint is None or chosen.name == GUESSING.name:
        return joint, ()
    return joint_rows(joint, chosen.model, asked.questions[0], chosen.measured)


def _study(
    answer: "KernelAnswer",
    variables: Sequence[Variable],
    fast: bool,
    seed: np.random.SeedSequence,
    limit: float | None,
) -> tuple[Study, tuple[Picture, ...]]:
    result = answer.result
    result = replace(result, question=replace(result.question, seed=seed))
    return study_of(result, variables, fast=fast, y=answer.question.y, time_limit=limit)
