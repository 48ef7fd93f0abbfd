"""`analyse`: give it a table, get everything that a report says."""

import datetime
import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from joblib import Parallel, delayed

import parsimon
from parsimon._progress import Progress
from parsimon._typing import Array
from parsimon.gp._kernel_evaluation import Guide
from parsimon.report.findings import (
    Findings,
    Joint,
    Picture,
    Run,
    Study,
    TableFindings,
    Treatment,
    Variable,
)
from parsimon.statistician.analysis import Analysis
from parsimon.statistician.answer import Answer
from parsimon.statistician.options import Options, as_base
from parsimon.statistician.outer import (
    Measured,
    honest_findings,
    joint_findings,
    outside_predictions,
)
from parsimon.statistician.prepare.cells import count_missing
from parsimon.statistician.prepare.outcome import Outcome, read_outcome
from parsimon.statistician.prepare.recipes import describe_variables
from parsimon.statistician.prepare.tables import as_frame, find_column, named_frame
from parsimon.statistician.study import Evidence, study_of
from parsimon.statistician.subject import Subject
from parsimon.statistician.work import Questions, plan_folds, run_searches

if TYPE_CHECKING:
    import pandas as pd


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
    guide: Guide = "cv_error",
    outer: int = 5,
    seed: int = 0,
    n_jobs: int | None = -1,
    time_limit: float | None = None,
    fast: bool = False,
    verbose: bool = False,
    command: str = "",
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
        Most base kernels in a structure: 4 by default.
    beam : int, default 2
        Structures of each size that are grown further.
    base : str or sequence of str, default ("se",)
        Base kernels: "se" (smooth), "lin" (linear), "per" (periodic), "matern", "rq".
    guide : {"cv_error", "cv_logloss", "loo_logloss", "nlml", "bic"}
        What the search minimises.
    outer : int, default 5
        Outer folds; 0 for none, and then there is no honest error.
    seed : int, default 0
        The same seed gives the same findings, whatever `n_jobs`.
    n_jobs : int, default -1
        Processes, as in joblib; -1 for all processors.
    time_limit : float, optional
        Seconds for the searches; what was found by then is reported.
    fast : bool, default False
        No outer folds, at most two base kernels, no test of interactions; the report says so.
    verbose : bool, default False
        Show progress.
    command : str, default ""
        The command that makes this report, to be printed in it.

    Returns
    -------
    Analysis

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> table = load("ripley").frame
    >>> analysis = analyse(table, "class", depth=2, fast=True, n_jobs=1)
    >>> analysis.findings.studies[0].model.words
    'an interaction of ...'
    """
    started = time.perf_counter()
    options = Options(
        depth=depth,
        beam=beam,
        base=as_base(base),
        guide=guide,
        outer=outer,
        seed=seed,
        n_jobs=n_jobs,
        time_limit=time_limit,
        fast=fast,
        verbose=verbose,
    )
    asked = _asked(table, target, positive=positive, task=task)
    folding, searching, describing = np.random.SeedSequence(seed).spawn(3)
    parts = plan_folds(asked.questions, options, folding)
    answers, measured = run_searches(asked.questions, parts, options, searching)
    evidence = [
        _evidence(asked, place, found, measured, options, child)
        for place, (found, child) in enumerate(
            zip(answers, describing.spawn(len(answers)), strict=True)
        )
    ]
    studies, pictures = _studies(evidence, options)
    picture = _data_picture(asked.outcome, answers[0])
    findings = Findings(
        table=_table_findings(asked, name, answers[0], picture.name),
        studies=studies,
        run=_run(asked.frame, options, parts, command, time.perf_counter() - started),
        joint=_joint(asked, measured),
        pictures=(picture, *pictures),
    )
    return Analysis(
        findings=findings,
        answers=tuple(answers),
        targets=asked.questions.targets,
        classes=asked.class_names,
        target=asked.target,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Asked:
    """A table as it was read, its target, and what is asked of it.

    `frame` has all columns, `columns` all but the target, with cleaned names.
    """

    frame: "pd.DataFrame"
    columns: "pd.DataFrame"
    target: str
    outcome: Outcome
    questions: Questions

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes in the order of a model's probabilities; none for a number."""
        if len(self.outcome.questions) == 1:
            positive, negative = self.names(0)
            return (negative, positive)
        return self.outcome.classes

    def names(self, place: int) -> tuple[str, str]:
        """Return the class that a question asks for, and what stands against it."""
        if self.outcome.task == "regression":
            return "", ""
        code, classes = self.outcome.questions[place], self.outcome.classes
        against = classes[1 - code] if len(classes) == 2 else f"not {classes[code]}"
        return classes[code], against


def _asked(table: Any, target: str, *, positive: str | None, task: Any) -> _Asked:
    outcome = read_outcome(table, target, positive=positive, task=task)
    frame = as_frame(table).reset_index(drop=True)
    column, target = find_column(frame, target)
    columns = named_frame(frame.drop(columns=column.name))
    return _Asked(
        frame=frame,
        columns=columns,
        target=target,
        outcome=outcome,
        questions=_questions(columns, outcome),
    )


def _questions(columns: "pd.DataFrame", outcome: Outcome) -> Questions:
    kept = columns.loc[outcome.kept].reset_index(drop=True)
    if outcome.task == "regression":
        return Questions(
            table=kept, values=outcome.values, targets=(outcome.values,), task="regression"
        )
    targets = tuple((outcome.values == code).astype(float) for code in outcome.questions)
    values = outcome.values if len(targets) > 1 else targets[0]
    return Questions(table=kept, values=values, targets=targets, task="classification")


def _joint(asked: _Asked, measured: Sequence[Measured]) -> Joint | None:
    if len(asked.questions.targets) == 1:
        return None
    return joint_findings(asked.outcome.values.astype(int), asked.outcome.classes, measured)


def _evidence(
    asked: _Asked,
    place: int,
    found: Answer,
    measured: Sequence[Measured],
    options: Options,
    seed: np.random.SeedSequence,
) -> Evidence:
    questions, searched = asked.questions, found.searched
    own = [one for one in measured if one.question == place]
    y = questions.targets[place]
    positive, negative = asked.names(place)
    subject = Subject(
        X=found.X.iloc[searched].reset_index(drop=True),
        y=y[searched],
        task=questions.task,
        target=asked.target,
        positive=positive,
        negative=negative,
        search=found.search,
        model=found.search.best_estimator_,
        table=questions.table.iloc[searched].reset_index(drop=True),
        rows=np.flatnonzero(asked.outcome.kept)[searched] + 1,
        key=f"study-{place + 1}",
        seed=seed,
    )
    outside: Array | None = None
    if own:
        outside = outside_predictions(len(y), own)[searched]
    return Evidence(
        subject=subject,
        honest=honest_findings(y, own, questions.task),
        outside=outside,
        variables=_variables(found),
        options=options,
    )


def _studies(
    evidence: Sequence[Evidence], options: Options
) -> tuple[tuple[Study, ...], list[Picture]]:
    studies: list[Study] = []
    pictures: list[Picture] = []
    n_jobs = options.n_jobs if len(evidence) > 1 else 1
    pool = Parallel(n_jobs=n_jobs, return_as="generator")
    with Progress("Describing", total=len(evidence), verbose=options.verbose) as progress:
        for study, drawn in pool(delayed(study_of)(one) for one in evidence):
            studies.append(study)
            pictures += drawn
            progress.update(len(studies))
    return tuple(studies), pictures


def _variables(found: Answer) -> tuple[Variable, ...]:
    known = {source.name: source for source in found.preparer.variables_}
    return describe_variables(found.X, [known[str(name)] for name in found.X.columns])


def _data_picture(outcome: Outcome, found: Answer) -> Picture:
    from parsimon.statistician.pictures import data_picture

    return data_picture(
        found.X.iloc[found.searched],
        outcome.values[found.searched],
        names=tuple(str(column) for column in found.X.columns),
        class_names=outcome.classes,
        task=outcome.task,
    )


def _table_findings(asked: _Asked, name: str, found: Answer, picture: str) -> TableFindings:
    columns, outcome = asked.columns, asked.outcome
    treatments = [
        *outcome.treatments,
        *found.preparer.treatments_,
        *found.screener.treatments_,
    ]
    if len(found.searched) < len(found.X):
        treatments.append(Treatment(kind="rows_sampled", count=len(found.searched)))
    classes: tuple[tuple[str, int], ...] = ()
    if outcome.task == "classification":
        counts = np.bincount(outcome.values.astype(int), minlength=len(outcome.classes))
        classes = tuple(zip(outcome.classes, counts.tolist(), strict=True))
    return TableFindings(
        name=name,
        n_rows=len(columns),
        n_rows_used=int(outcome.kept.sum()),
        n_columns=columns.shape[1] + 1,
        n_missing=count_missing(columns),
        target=asked.target,
        task=outcome.task,
        classes=classes,
        variables=_variables(found),
        treatments=tuple(treatments),
        picture=picture,
    )


def _run(
    frame: "pd.DataFrame", options: Options, parts: Sequence[Any], command: str, seconds: float
) -> Run:
    skipped = []
    if not parts and not options.n_outer:
        skipped.append("outer folds")
    if options.fast:
        skipped.append("interactions")
    return Run(
        version=parsimon.__version__,
        seed=options.seed,
        seconds=seconds,
        date=today(),
        command=command,
        options=(
            ("depth", str(options.depth_for(10**9))),
            ("beam", str(options.beam)),
            ("base", ",".join(options.base)),
            ("guide", options.guide),
            ("outer", str(len(parts))),
            ("seed", str(options.seed)),
        ),
        skipped=tuple(skipped),
        fingerprint=hashlib.sha256(frame.to_csv(index=False).encode()).hexdigest(),
        libraries=tuple(
            (library, version(library)) for library in ("numpy", "scipy", "scikit-learn")
        ),
        too_few_rows=bool(options.n_outer) and not parts,
    )


def today() -> str:
    """Return the date, or that of SOURCE_DATE_EPOCH, which makes builds repeatable."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        return datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    return datetime.datetime.fromtimestamp(int(epoch), tz=datetime.UTC).date().isoformat()
