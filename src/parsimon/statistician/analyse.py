"""`analyse`: give it a table, get everything that a report says."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from parsimon._parallel import Workers, is_done_alone, n_workers
from parsimon._progress import Progress
from parsimon._random import seed_sequence
from parsimon.evaluation.folds import OuterPart
from parsimon.report.findings import (
    Findings,
    Joint,
    Picture,
    RecommendedModel,
    RunFindings,
    Study,
    TableFindings,
    Treatment,
    Variable,
)
from parsimon.statistician.analysis import Analysis, list_left_out, run_findings, today
from parsimon.statistician.analysis_options import AnalysisOptions
from parsimon.statistician.asked_table import ReadTable, read_question
from parsimon.statistician.claimed_effects import effect_findings
from parsimon.statistician.comparison import as_fitted, compare_on_folds
from parsimon.statistician.explained_rows import joint_rows
from parsimon.statistician.families.kernel_search import KERNEL_SEARCH, Choice, Guide, as_base
from parsimon.statistician.families.plain import GUESSING
from parsimon.statistician.families.registered import Rivals, as_families
from parsimon.statistician.feature_front import report_formulas
from parsimon.statistician.final_fits import FinalFits, Settled, final_seed, settle_on_model
from parsimon.statistician.finished_work import FinishedWork
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
from parsimon.statistician.prepare.frames import fingerprint
from parsimon.statistician.prepare.recipes import describe_variables
from parsimon.statistician.seen_tables import PreparedTable
from parsimon.statistician.study import (
    bare_study,
    data_picture,
    fitted_model,
    searched_model,
    study_of,
)
from parsimon.statistician.table_model import TableModel
from parsimon.statistician.time_budget import TimeBudget
from parsimon.structures import merged

if TYPE_CHECKING:
    from parsimon.statistician.families.gp import KernelAnswer, KernelFit

# Cells of a table up to which a fast report compares plain models.
_FAST_CELLS = 200_000
# Of a time limit: for findings, figures and files, and for a look at what matters.
_LAST_SECONDS, _LAST_SHARE, _LOOKING = 2.5, 0.3, 0.125


def analyse(
    table: Any,
    target: str,
    *,
    name: str = "table",
    positive: str | None = None,
    task: Literal["auto", "classification", "regression"] = "auto",
    depth: int | None = None,
    beam: int = 2,
    base: str | Sequence[str] = ("se",),
    guide: Guide = "cv_logloss",
    choose: Choice = "supported",
    outer: int | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    time_limit: float | None = None,
    fast: bool = False,
    verbose: bool = False,
    command: str = "",
    families: str | Sequence[str] = "all",
    rivals: Rivals = "all",
    checkpoint: str | os.PathLike[str] | None = None,
) -> Analysis:
    """Search a table for what predicts a column, and collect everything worth saying.

    Cells become numbers (what was done is among the findings). Structures say which variables
    matter, alone and together; all models answer on the same outer folds, each of which begins
    from the cells again, and the simplest that is probably not much worse than the best is
    recommended. With more than two classes each is asked for against the rest.

    Parameters
    ----------
    table : DataFrame of pandas or polars
        One row for each case. Empty cells, text, truth values and dates are welcome.
    target : str
        Column to predict: classes or numbers.
    name : str, default "table"
        What the report calls the table.
    positive : str, optional
        The class to ask for. By default each of several; of two, one that is called like "yes",
        the greater number, or the rarer one.
    task : {"auto", "classification", "regression"}
        What the target is; "auto" takes text, truth values and up to ten whole numbers for
        classes.
    depth : int, optional
        Most base kernels in a structure that the search over kernels grows: 4 by default, 2 where
        it sees more than 10,000 cells, 1 for several classes. What the rows support may have more.
    beam : int, default 2
        Structures of each size that are grown further.
    base : str or sequence of str, default ("se",)
        Base kernels: "se" (smooth), "lin" (linear), "per" (periodic), "matern", "rq".
    guide : {"cv_error", "cv_logloss", "loo_logloss", "nlml", "bic"}
        What the search minimises.
    choose : {"supported", "one_se", "least_error"}
        Which structure becomes the model: that of all that is more probable than not, the simplest
        within one standard error of the least guide, or the one with the least guide. The claims
        are the same.
    outer : int, optional
        Outer folds, by default 5, or 3 of 20,000 rows or more; 0 for none, and then there is no
        honest error.
    seed : int, default 0
        The same seed gives the same findings, whatever `n_jobs`.
    n_jobs : int, default -1
        Processes, as in joblib; -1 for all processors.
    time_limit : float, optional
        Seconds for everything; what was found by then is reported.
    fast : bool, default False
        A search for at most two base kernels that no outer folds repeat, no test of interactions,
        and a comparison of plain models alone; the report says so.
    verbose : bool, default False
        Show progress.
    command : str, default ""
        The command that makes this report, to be printed in it.
    families : "all", "none" or sequence of {"gp", "rvm", "bpm", "plain-gp", "svm", "formula"}
        Our models; "gp" is the search over kernels, which has a section of its own.
    rivals : "all", "none", or sequence of estimators, (name, estimator) and names
        Models of others that join: "linear", "tree", "forest", "boosting", or your own. They get
        numbers and class codes from 0 on.
    checkpoint : str or Path, optional
        A folder of your own that keeps what is finished: if the run is killed, the same call goes
        on from there to the same findings. One of its files that is damaged, is not
        signed with your key or belongs to another table or other options is ignored with a
        `CheckpointWarning`.

    Returns
    -------
    Analysis

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> table = load("ripley").frame
    >>> analysis = analyse(table, "class", depth=2, fast=True, n_jobs=1)
    >>> for claim in analysis.claims:
    ...     print(claim.words, claim.certain)
    x1 matters True
    x2 matters True
    class follows x1 in a curve True
    class follows x2 along a line True
    """
    started = time.perf_counter()
    options = AnalysisOptions(
        depth=depth,
        beam=beam,
        base=as_base(base),
        guide=guide,
        choose=choose,
        outer=outer,
        seed=seed,
        n_jobs=n_jobs,
        time_limit=time_limit,
        fast=fast,
        verbose=verbose,
        families=as_families(families),
        rivals=rivals,
    )
    asked = read_question(table, target, positive=positive, task=task)
    kept = FinishedWork.of(checkpoint, asked.frame, (target, positive, task), options)
    return _analysed(asked, options, kept, name=name, command=command, started=started)


def _analysed(
    asked: ReadTable,
    options: AnalysisOptions,
    kept: FinishedWork,
    *,
    name: str,
    command: str,
    started: float,
) -> Analysis:
    """Look at what matters, compare all models, describe, and put together what was found."""
    date = kept.once("date", today)
    if options.fast and is_done_alone(len(asked.questions), asked.columns.size):
        options = replace(options, n_jobs=1)
    budget = TimeBudget.keeping(options.time_limit, _LAST_SECONDS, _LAST_SHARE)
    folding, searching, describing, comparing = seed_sequence(options.seed).spawn(4)
    parts = plan_folds(asked.questions[0], options.n_outer, folding)
    looked = look_at_folds(
        asked.questions,
        parts,
        seed_sequence(searching),
        n_jobs=options.n_jobs,
        time_limit=budget.left(_LOOKING),
        verbose=options.verbose,
        kept=kept,
    )
    fits, settled = _compared(
        asked, parts, looked, (folding, searching, comparing), options, kept, budget
    )
    front, drawings, drawn_models = report_formulas(
        asked,
        settled.comparison,
        kept,
        final_seed(options.seed),
        settled.model,
        budget.left_to_describe(),
    )
    chosen = _ModelToUse.of(asked, settled, fits, drawn_models, looked)
    described = _described(asked, fits, chosen, looked, options, describing, kept, budget)
    findings = Findings(
        table=described.table_findings(asked, name),
        studies=described.studies,
        run=replace(
            _run(asked, options, len(parts), command, time.perf_counter() - started),
            skipped=list_left_out(options, settled.comparison, described.studies, front),
            date=date,
        ),
        claims=merged(claim for study in described.studies for claim in study.claims),
        comparison=settled.comparison,
        importance=_importance(asked, described.studies, settled, looked),
        formulas=front,
        pictures=(*described.pictures, *settled.pictures, *drawings),
    )
    analysis = Analysis(findings=findings, fits=fits, fitted_model=chosen.model)
    return _with_model(analysis, asked, chosen, drawn_models)


def _compared(
    asked: ReadTable,
    parts: Sequence[OuterPart],
    looked: Looked,
    seeds: tuple[np.random.SeedSequence, ...],
    options: AnalysisOptions,
    kept: FinishedWork,
    budget: TimeBudget,
) -> tuple[FinalFits, Settled]:
    """Compare all models; in a fast report the plain ones alone, on folds of their own."""
    folding, searching, comparing = seeds
    if options.fast and options.outer != 0 and asked.columns.size <= _FAST_CELLS:
        parts = plan_folds(asked.questions[0], FAST_FOLDS, folding.spawn(1)[0])
    certain = has_certain_claims(asked.questions, looked)
    found = compare_on_folds(
        options.on_folds,
        asked,
        parts,
        comparing,
        verbose=options.verbose,
        certain=certain,
        whole=[(one, seed_sequence(searching)) for one in options.on_table],
        looked=looked,
        n_jobs=options.n_jobs,
        time_limit=budget.left(),
        kept=kept,
    )
    fits = FinalFits.of(asked, options.on_folds, options.seed, found.whole)
    settled = settle_on_model(found, fits, certain=certain)
    if settled.comparison is None or not options.fast or not options.on_table:
        return fits, settled
    if settled.comparison.recommended.family == GUESSING.kind:
        # That no plain model gains anything says nothing about the search.
        return fits, Settled(None, (), ())
    reason = "a fast report does not measure it on new rows"
    left_out = [(one.name, reason) for one in options.on_table]
    comparison = settled.comparison
    comparison = replace(comparison, left_out=(*left_out, *comparison.left_out))
    return fits, settled._replace(comparison=comparison)


@dataclass(frozen=True, eq=False)
class _ModelToUse:
    """The model to use, fitted to all rows, and what it said of every question on every fold."""

    name: str
    model: TableModel
    measured: list[FoldResult]

    @classmethod
    def of(
        cls,
        asked: ReadTable,
        settled: Settled,
        fits: FinalFits,
        fitted: "dict[str, TableModel]",
        looked: Looked,
    ) -> "_ModelToUse":
        """Return the recommended model; what was searched, or is asked first, if none is."""
        row = None if settled.comparison is None else settled.comparison.recommended
        name = fits.first if row is None else row.name
        model = settled.model or fitted.get(name) or fits.demanded(name, row)
        asked_it = any(name in one.told for one in settled.answers)
        answers = settled.answers if asked_it else ()
        return cls(name, model, folds_of(name, asked.questions, answers, looked))

    def folds(self, place: int) -> list[FoldResult]:
        """Return what it said of one question."""
        return [one for one in self.measured if one.question == place]


def _with_model(
    analysis: Analysis, asked: ReadTable, chosen: _ModelToUse, fitted: "dict[str, TableModel]"
) -> Analysis:
    """Add what is known of the model to use beyond each question."""
    comparison, question = analysis.comparison, asked.questions[0]
    found: dict[str, Any] = {}
    if comparison is not None:
        own = analysis.fits.searched_models()
        known = {**fitted, **own, chosen.name: chosen.model}
        found["comparison"] = as_fitted(comparison, known, question.table)
    if chosen.name != KERNEL_SEARCH.name:
        found["recommended"] = RecommendedModel(name=chosen.name, columns=chosen.model.columns)
    pictures: tuple[Picture, ...] = ()
    joint = _joint(asked, chosen.measured)
    if joint is not None and chosen.name != GUESSING.name:
        joint, pictures = joint_rows(joint, chosen.model, question, chosen.measured)
    known_pictures = analysis.findings.pictures
    findings = replace(
        analysis.findings, joint=joint, pictures=(*known_pictures, *pictures), **found
    )
    return replace(analysis, findings=findings)


def _joint(asked: ReadTable, folds: Sequence[FoldResult]) -> Joint | None:
    if len(asked.questions) == 1:
        return None
    return joint_findings(asked.outcome.values.astype(int), asked.outcome.classes, folds)


def _importance(
    asked: ReadTable, studies: Sequence[Study], settled: Settled, looked: Looked
) -> Any:
    """Return what columns are worth to the search over kernels."""
    questions = asked.questions
    folds = folds_of(KERNEL_SEARCH.name, questions, settled.answers, looked)
    return importance_findings([one.y for one in questions], studies, folds, asked.outcome.task)


class _Described(NamedTuple):
    """The studies of all questions with their pictures, and the table as they have it."""

    studies: tuple[Study, ...]
    pictures: tuple[Picture, ...]
    seen: PreparedTable
    n_searched: int

    def table_findings(self, asked: ReadTable, name: str) -> TableFindings:
        """Return what a report says of the table."""
        treatments = [*self.seen.preparer.treatments_, *self.seen.screener.treatments_]
        if self.n_searched < len(self.seen.values):
            treatments.append(Treatment(kind="rows_sampled", count=self.n_searched))
        first = self.pictures[0].name if self.pictures else ""
        picture = first if first == "data" else ""
        return asked.findings(name, _variables(self.seen), treatments, picture)


def _described(
    asked: ReadTable,
    fits: FinalFits,
    chosen: _ModelToUse,
    looked: Looked,
    options: AnalysisOptions,
    seed: np.random.SeedSequence,
    kept: FinishedWork,
    budget: TimeBudget,
) -> _Described:
    """Describe every question: what a search found, and how far the model to use goes."""
    search = cast("KernelFit | None", fits.whole.get(KERNEL_SEARCH.name))
    seen = PreparedTable.of(asked.questions) if search is None else search.seen
    studies = [bare_study(one) for one in asked.questions]
    drawn: list[Picture] = []
    rows = np.arange(len(seen.values))
    if search is not None:
        studies, drawn = _searched(search, options, seed, kept, budget)
        rows = search.answers[0].searched
    claims = steady_claims(asked.questions, looked)
    for place, question in enumerate(asked.questions):
        honest = honest_findings(question.y, chosen.folds(place), question.task)
        structures = looked[TABLE][place]
        whole = replace(question, X=seen.every, structures=structures)
        effects, more = effect_findings(whole, seen.preparer)
        drawn += more
        studies[place] = replace(
            studies[place],
            honest=honest,
            claims=claims[place],
            n_claim_rows=structures.n_rows,
            effects=effects,
        )
    if len(studies) == 1 and chosen.name != GUESSING.name:
        outside = outside_predictions(len(seen.values), chosen.measured)
        if search is not None and chosen.name == KERNEL_SEARCH.name:
            own = outside[rows] if chosen.measured else None
            found = searched_model(search.answers[0].result, _variables(seen), own)
        else:
            found = fitted_model(chosen.model, asked.questions[0], outside)
        checks, explained, more = found
        studies[0] = replace(studies[0], checks=checks, explained=explained)
        drawn += more
    outcome = asked.outcome
    data = data_picture(
        seen.X.iloc[rows],
        outcome.values[rows],
        names=[str(one) for one in seen.X.columns],
        class_names=outcome.classes,
        task=outcome.task,
    )
    pictures = (*(() if data is None else (data,)), *drawn)
    return _Described(tuple(studies), pictures, seen, len(rows))


def _searched(
    search: "KernelFit",
    options: AnalysisOptions,
    seed: np.random.SeedSequence,
    kept: FinishedWork,
    budget: TimeBudget,
) -> tuple[list[Study], list[Picture]]:
    """Describe what was found of every question by a search over kernels."""
    answers = search.answers
    places = [(place,) for place in range(len(answers))]
    found: dict[tuple[int, ...], tuple[Study, tuple[Picture, ...]]] = kept.read("study", places)
    limit = budget.left_to_describe(-(-len(answers) // n_workers(options.n_jobs)))
    calls = {
        place: (answer, _variables(search.seen), options.fast, child, limit)
        for place, answer, child in zip(places, answers, seed.spawn(len(answers)), strict=True)
        if place not in found
    }
    n_jobs = options.n_jobs if len(calls) > 1 else 1
    with (
        Progress("Describing", total=len(answers), verbose=options.verbose) as progress,
        Workers(n_jobs) as workers,
    ):
        for place, one in zip(calls, workers.map(_study, calls.values()), strict=True):
            found[place] = one
            kept.write("study", place, one)
            progress.update(len(found))
    studies, drawn = zip(*(found[place] for place in places), strict=True)
    return list(studies), [picture for pictures in drawn for picture in pictures]


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


def _variables(seen: PreparedTable) -> tuple[Variable, ...]:
    known = {source.name: source for source in seen.preparer.variables_}
    return describe_variables(seen.X, [known[str(name)] for name in seen.X.columns])


def _run(
    asked: ReadTable, options: AnalysisOptions, n_folds: int, command: str, seconds: float
) -> RunFindings:
    return run_findings(
        seed=int(options.seed),
        seconds=seconds,
        command=command,
        options=(
            ("depth", str(options.kernels.depth_for(10**9))),
            ("beam", str(options.beam)),
            ("base", ",".join(options.base)),
            ("guide", options.guide),
            ("choose", options.choose),
            ("outer", str(n_folds)),
            ("seed", str(options.seed)),
        ),
        skipped=(),
        fingerprint=fingerprint(asked.frame),
        too_few_rows=options.n_outer != 0 and not n_folds,
    )
