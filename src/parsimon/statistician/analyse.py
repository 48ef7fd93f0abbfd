"""`analyse`: give it a table, get everything that a report says.

`AnalysisOptions` holds what a user may choose, checked once.
"""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from parsimon._checks import check_choice, check_count, check_seconds
from parsimon._parallel import Workers, is_done_alone, n_workers
from parsimon._progress import Progress
from parsimon._random import seed_sequence
from parsimon.evaluation.folds import OuterPart
from parsimon.exceptions import InvalidInputError
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
from parsimon.statistician.asked_table import ReadTable, read_question
from parsimon.statistician.comparison import as_fitted, compare_on_folds
from parsimon.statistician.explained_rows import joint_rows
from parsimon.statistician.families import ModelFamily
from parsimon.statistician.families.contender import Contender
from parsimon.statistician.families.contenders import (
    FAMILIES,
    GUESSING,
    KERNEL_SEARCH,
    SEARCH,
    ContenderFamily,
    Rivals,
    as_families,
    chosen_contenders,
    contender_called,
)
from parsimon.statistician.families.gp import Choice, GaussianProcesses, Guide, as_base
from parsimon.statistician.feature_front import report_formulas
from parsimon.statistician.final_fits import FinalFits, Settled, final_seed, settle
from parsimon.statistician.finished_work import NOTHING_KEPT, FinishedWork, work_key
from parsimon.statistician.fold_answers import FoldAnswers
from parsimon.statistician.outer_folds import (
    FoldResult,
    has_certain_claims,
    honest_findings,
    importance_findings,
    joint_findings,
    outside_predictions,
)
from parsimon.statistician.prepare import TargetColumn
from parsimon.statistician.prepare.frames import fingerprint
from parsimon.statistician.prepare.recipes import describe_variables
from parsimon.statistician.question import Answer, plan_folds, run_searches, with_claims
from parsimon.statistician.study import (
    data_picture,
    folds_as_tempered,
    folds_as_told,
    recommended_findings,
    study_of,
)
from parsimon.statistician.table_model import TableModel
from parsimon.statistician.time_budget import TimeBudget
from parsimon.structures import merged

if TYPE_CHECKING:
    import pandas as pd

USUAL_DEPTH, FAST_DEPTH = 4, 2
# Folds on which a fast report judges kernels and compares plain models, and cells of a table up to
# which it compares.
FAST_FOLDS, _FAST_CELLS = 3, 200_000
# Of a time limit: for findings, figures and files, and for searches where models are compared too.
_LAST_SECONDS, _LAST_SHARE, _SEARCHING = 2.5, 0.3, 0.5


@dataclass(frozen=True, kw_only=True)
class AnalysisOptions:
    """What a user may choose about an analysis.

    depth: Most base kernels; None for 4, or 2 with `fast`, or the number of variables if less.
    beam, base, guide, choose: As in `KernelSearch`.
    outer: Outer folds that run the whole search again; 0 for none, None for the usual number.
    n_jobs: Processes, as in joblib; the result does not depend on it.
    time_limit: Seconds for everything.
    fast: A shallow search that no outer folds repeat; plain models alone are compared.
    lead: The family that the report is about.
    families, rivals: Who answers beside it, on the same outer folds.
    """

    depth: int | None = None
    beam: int = 2
    base: tuple[str, ...] = ("se",)
    guide: Guide = "cv_logloss"
    choose: Choice = "supported"
    outer: int | None = None
    seed: int = 0
    n_jobs: int | None = -1
    time_limit: float | None = None
    fast: bool = False
    verbose: bool = False
    lead: str = SEARCH
    families: tuple[str, ...] = FAMILIES
    rivals: Rivals = "all"

    def __post_init__(self) -> None:
        self.contenders  # noqa: B018 - says what is not known before anything is searched
        if self.depth is not None:
            check_count("depth", self.depth)
        check_count("beam", self.beam)
        if self.outer is not None:
            check_count("outer", self.outer, least=0)
        check_count("seed", self.seed, least=0)
        if self.outer == 1:
            raise InvalidInputError("outer must be 0 or at least 2 folds, got 1.")
        check_choice("guide", self.guide, get_args(Guide))
        check_choice("choose", self.choose, get_args(Choice))
        check_seconds("time_limit", self.time_limit)
        n_workers(self.n_jobs)  # refuses none

    @property
    def n_outer(self) -> int | None:
        """Outer folds that will be run; None for the usual number."""
        return 0 if self.fast else self.outer

    @cached_property
    def contenders(self) -> tuple[Contender, ...]:
        """Who answers beside the family that leads, by a plain fit."""
        families = () if self.fast else self.families
        return chosen_contenders(families, self.rivals, lead=self.leader.key)

    @property
    def kernels_join(self) -> bool:
        """Whether kernels are searched beside another family that leads."""
        return self.lead != SEARCH and SEARCH in self.families and not self.fast

    @property
    def leader(self) -> Contender:
        """The family that leads, as the comparison has it."""
        return KERNEL_SEARCH if self.lead == SEARCH else contender_called(self.lead)

    @property
    def family(self) -> ModelFamily:
        """The family that leads."""
        return self.kernels if self.lead == SEARCH else ContenderFamily(self.leader)

    @property
    def kernels(self) -> GaussianProcesses:
        """The search over kernels."""
        return GaussianProcesses(
            depth=self.depth,
            usual_depth=FAST_DEPTH if self.fast else USUAL_DEPTH,
            beam=self.beam,
            base=self.base,
            guide=self.guide,
            choose=self.choose,
            n_folds=FAST_FOLDS if self.fast else 5,
            refit=not self.fast,
        )


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
    family: str = "gp",
    families: str | Sequence[str] = "all",
    rivals: Rivals = "all",
    checkpoint: str | os.PathLike[str] | None = None,
) -> Analysis:
    """Search a table for what predicts a column, and collect everything worth saying.

    Cells become numbers (what was done is among the findings), a kernel search looks for the
    variables that matter, alone and together, and outer folds run all of that again on parts of
    the table to measure honestly how good it is. With more than two classes each is asked for
    against the rest.

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
        Most base kernels in a structure that the search grows: 4 by default, 2 where it sees more
        than 10,000 cells, 1 for several classes. What the rows support may have more.
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
    family : str, default "gp"
        Who leads: "gp" for the search over kernels; "rvm", "bpm", "svm", "plain-gp", "formula",
        "linear", "tree", "forest" or "boosting" for one of the others, about which there is less to
        say.
    families : "all" or sequence of {"gp", "rvm", "bpm", "plain-gp", "svm", "formula"}
        Our models that answer on the same outer folds.
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
        lead=family.strip().lower(),
        families=as_families(families),
        rivals=rivals,
    )
    asked = read_question(table, target, positive=positive, task=task)
    kept = NOTHING_KEPT
    if checkpoint is not None:
        key = work_key(asked.frame, (target, positive, task), options)
        kept = FinishedWork(checkpoint, key)
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
    """Search, compare, describe, and put together what was found."""
    date = kept.first("date", today())
    if options.fast and is_done_alone(len(asked.questions), asked.columns.size):
        options = replace(options, n_jobs=1)
    budget = TimeBudget.keeping(options.time_limit, _LAST_SECONDS, _LAST_SHARE)
    seeds = seed_sequence(options.seed).spawn(5)
    folding, searching, describing, comparing, kernels = seeds
    parts = plan_folds(asked.questions[0], options.n_outer, folding)
    family, share = options.family, _SEARCHING if parts else 1.0
    answers, folds = _search(asked, parts, family, options, searching, kept, budget.left(share))
    searched = {options.leader: folds} if parts else {}
    if options.kernels_join and parts:
        left = budget.left(_SEARCHING)
        _, of_kernels = _search(
            asked, parts, options.kernels, options, kernels, kept, left, leads=False
        )
        searched[KERNEL_SEARCH] = of_kernels
    certain = has_certain_claims([answer.claims for answer in answers], folds)
    joined = options.kernels if KERNEL_SEARCH in searched else None
    fits = FinalFits.of(asked, answers, options.contenders, options.seed, joined)
    comparison, drawing, told, model = _compared(
        asked, parts, folding, searched, options, comparing, kept, budget, fits, certain=certain
    )
    folds = folds_as_tempered(asked.questions, folds, told, comparison, options.leader.name)
    studies, pictures = _studies(answers, folds, options, describing, kept, budget)
    formulas, drawings, fitted = report_formulas(
        asked, comparison, kept, final_seed(int(options.seed)), model, budget.left_to_describe()
    )
    picture = _data_figure(asked.outcome, answers[0])
    findings = Findings(
        table=_table_findings(asked, name, answers[0], "" if picture is None else picture.name),
        studies=studies,
        run=replace(
            _run(asked.frame, options, len(parts), command, time.perf_counter() - started),
            skipped=list_left_out(options, comparison, studies, formulas),
            date=date,
        ),
        joint=_joint(asked, folds),
        claims=merged(claim for study in studies for claim in study.claims),
        comparison=comparison,
        importance=importance_findings(
            [answer.question.y for answer in answers], studies, folds, asked.outcome.task
        ),
        formulas=formulas,
        pictures=(*(() if picture is None else (picture,)), *pictures, *drawing, *drawings),
    )
    analysis = Analysis(findings=findings, fits=fits, fitted_model=model)
    return _with_recommended(analysis, asked, folds, told, options.leader.name, fitted)


def _with_recommended(
    analysis: Analysis,
    asked: ReadTable,
    folds: Sequence[FoldResult],
    told: Sequence[FoldAnswers],
    leader: str,
    fitted: Mapping[str, TableModel],
) -> Analysis:
    """Add what is known of the model to use; `fitted` are models that were fitted to all rows."""
    comparison, questions = analysis.comparison, [one.question for one in analysis.answers]
    name = leader if comparison is None else comparison.recommended.name
    analysis = replace(analysis, fitted_model=analysis.fitted_model or fitted.get(name))
    if comparison is not None:
        fitted = {**fitted, leader: analysis.model("best"), name: analysis.recommended}
        shown = as_fitted(comparison, fitted, questions[0].table)
        analysis = _showing(analysis, (), comparison=shown)
    if name == leader:
        known = analysis.findings.joint
        if known is None:
            return analysis
        joint, pictures = joint_rows(known, analysis.recommended, questions[0], folds)
        return _showing(analysis, pictures, joint=joint)
    model = fitted[name]
    measured = folds_as_told(asked.questions, folds, told, name)
    found = RecommendedModel(
        name=name,
        columns=model.columns,
        honest=tuple(
            honest_findings(
                np.asarray(one.y), [each for each in measured if each.question == place], one.task
            )
            for place, one in enumerate(questions)
        ),
        joint=_joint(asked, measured),
    )
    analysis = replace(analysis, fitted_model=model)
    if name == GUESSING.name:
        return _showing(analysis, (), recommended=found)
    joint, pictures = joint_rows(found.joint, model, questions[0], measured)
    found = replace(found, joint=joint)
    outside = outside_predictions(len(questions[0].y), measured)
    found, more = recommended_findings(found, model, questions[0], outside)
    return _showing(analysis, (*pictures, *more), recommended=found)


def _showing(analysis: Analysis, pictures: Sequence[Picture], **found: Any) -> Analysis:
    """Return an analysis with further findings and their pictures."""
    known = analysis.findings
    findings = replace(known, pictures=(*known.pictures, *pictures), **found)
    return replace(analysis, findings=findings)


def _compared(
    asked: ReadTable,
    parts: Sequence[OuterPart],
    folding: np.random.SeedSequence,
    searched: Mapping[Contender, Sequence[FoldResult]],
    options: AnalysisOptions,
    seed: np.random.SeedSequence,
    kept: FinishedWork,
    budget: TimeBudget,
    fits: FinalFits,
    *,
    certain: bool,
) -> Settled:
    """Compare all models; in a fast report the plain ones alone, on folds of their own."""
    if options.fast and options.outer != 0 and asked.columns.size <= _FAST_CELLS:
        parts = plan_folds(asked.questions[0], FAST_FOLDS, folding.spawn(1)[0])
    every = compare_on_folds(
        options.contenders,
        searched,
        asked,
        parts,
        seed,
        n_jobs=options.n_jobs,
        time_limit=budget.left(),
        verbose=options.verbose,
        kept=kept,
        certain=certain,
    )
    settled = settle(Settled(*every), fits, (*searched, *options.contenders), certain=certain)
    found = settled.comparison
    if found is None or not options.fast:
        return settled
    if found.recommended.family == GUESSING.family:
        # That no plain model gains anything says nothing about the search.
        return Settled(None, (), ())
    reason = "a fast report does not measure it on new rows"
    left_out = ((options.leader.name, reason), *found.left_out)
    return settled._replace(comparison=replace(found, left_out=left_out))


def _search(
    asked: ReadTable,
    parts: Sequence[OuterPart],
    family: ModelFamily,
    options: AnalysisOptions,
    seed: np.random.SeedSequence,
    kept: FinishedWork,
    limit: float | None,
    *,
    leads: bool = True,
) -> tuple[list[Answer], list[FoldResult]]:
    """Search on the outer folds, and of the family that leads on the whole table too."""
    total = len(asked.questions) * (leads + len(parts))
    title, stage = ("Searching", "search") if leads else ("Searching kernels", "kernels")
    with Progress(title, total=total, verbose=options.verbose) as progress:
        return run_searches(
            family,
            asked.questions,
            parts,
            seed,
            whole=leads,
            n_jobs=options.n_jobs,
            time_limit=limit,
            done=lambda n_done, left: progress.update(n_done, note=left),
            kept=kept,
            stage=stage,
        )


def _joint(asked: ReadTable, folds: Sequence[FoldResult]) -> Joint | None:
    if len(asked.questions) == 1:
        return None
    return joint_findings(asked.outcome.values.astype(int), asked.outcome.classes, folds)


def _studies(
    answers: Sequence[Answer],
    folds: Sequence[FoldResult],
    options: AnalysisOptions,
    seed: np.random.SeedSequence,
    kept: FinishedWork,
    budget: TimeBudget,
) -> tuple[tuple[Study, ...], list[Picture]]:
    """Describe every answer, with what the outer folds say of it."""
    places = [(place,) for place in range(len(answers))]
    found: dict[tuple[int, ...], tuple[Study, tuple[Picture, ...]]] = kept.read("study", places)
    calls = {}
    limit = budget.left_to_describe(-(-len(answers) // n_workers(options.n_jobs)))
    for place, answer, child in zip(places, answers, seed.spawn(len(answers)), strict=True):
        own = [one for one in folds if (one.question,) == place]
        if place not in found:
            calls[place] = (answer, _variables(answer), own, options.fast, child, limit)
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
    return studies, [picture for pictures in drawn for picture in pictures]


def _study(
    answer: Answer,
    variables: Sequence[Variable],
    folds: Sequence[FoldResult],
    fast: bool,
    seed: np.random.SeedSequence,
    limit: float | None,
) -> tuple[Study, tuple[Picture, ...]]:
    result, y = answer.result, answer.question.y
    outside = outside_predictions(len(y), folds)[answer.searched] if folds else None
    study, drawn = study_of(
        replace(result, question=replace(result.question, seed=seed)),
        variables,
        honest=honest_findings(y, folds, answer.question.task),
        outside=outside,
        fast=fast,
        y=y,
        time_limit=limit,
    )
    return with_claims(study, answer, folds), drawn


def _variables(answer: Answer) -> tuple[Variable, ...]:
    if answer.preparer is None:
        return ()
    known = {source.name: source for source in answer.preparer.variables_}
    X = answer.question.X
    return describe_variables(X, [known[str(name)] for name in X.columns])


def _data_figure(outcome: TargetColumn, answer: Answer) -> Picture | None:
    return data_picture(
        answer.result.question.X,
        outcome.values[answer.searched],
        names=answer.question.names,
        class_names=outcome.classes,
        task=outcome.task,
    )


def _table_findings(asked: ReadTable, name: str, answer: Answer, picture: str) -> TableFindings:
    treatments = [
        *getattr(answer.preparer, "treatments_", ()),
        *getattr(answer.screener, "treatments_", ()),
    ]
    if len(answer.searched) < len(answer.question.y):
        treatments.append(Treatment(kind="rows_sampled", count=len(answer.searched)))
    return asked.findings(name, _variables(answer), treatments, picture)


def _run(
    frame: "pd.DataFrame", options: AnalysisOptions, n_folds: int, command: str, seconds: float
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
        fingerprint=fingerprint(frame),
        too_few_rows=options.n_outer != 0 and not n_folds,
    )
