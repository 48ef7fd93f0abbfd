"""From questions to answers: prepare, screen, ask a family; on the table and on each outer fold.

`search_for` answers for the whole table and for each outer training part, so that the outer folds
measure everything that was done. All searches of an analysis go into one pool, and each has a seed
of its own, so that the number of processes changes nothing.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsimon._parallel import Workers, n_workers
from parsimon._typing import Array, Indices
from parsimon.evaluation.folds import OuterPart, outer_parts
from parsimon.evaluation.importance import shuffled_rises
from parsimon.exceptions import InvalidInputError, ParsimonError
from parsimon.report.findings import Study, Task
from parsimon.statistician.families import (
    FamilyResult,
    ModelCandidate,
    ModelFamily,
    ModelSize,
    Question,
    model_size,
    predicted,
)
from parsimon.statistician.finished_work import NOTHING_KEPT, FinishedWork
from parsimon.statistician.outer_folds import FoldResult, claims_on_folds
from parsimon.structures import Claim, StructurePosterior, find_structures

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.statistician.prepare import Preparer, Screener

# A fit to this many rows still takes less than a second, and a search needs hundreds of them.
SEARCHED_ROWS = 1500
SEARCHED_VARIABLES = 20
# Claims use all rows where they can: after a first look at as many as a search has, so many times
# more while that takes no more than this work (see `StructurePosterior.work`; some seconds), and
# no more memory than the first look at a table with as many pairs as are ever looked at.
_MORE_ROWS = 4
_MOST_WORK = 4e9
_MOST_CELLS = 14e6
_CELLS_OF_PAIR = 9
# With a time limit: share of it that looks may take, and rows of the first.
_LOOK, _FIRST_LOOK = 0.25, 250
# What a search for nothing but the chosen model takes of a whole one, about.
_BRIEF = 0.2
# Rows outside a fold in which columns are shuffled; each column is predicted several times.
_SHUFFLED_ROWS = 2000
_BROKEN = (ParsimonError, np.linalg.LinAlgError)


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """What came of one question on one part of the table.

    question: All rows of the part, as numbers.
    result: What the family found on the rows that were searched.
    searched: Places of these rows.
    preparer, screener: From cells to numbers; None for a family that takes tables as they are.
    model: What was chosen, fitted to all rows of the part.
    """

    question: Question
    result: FamilyResult
    searched: Indices
    preparer: "Preparer | None" = None
    screener: "Screener | None" = None
    model: Any = None

    def numbers(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """Return rows of a table as the family sees them."""
        if self.preparer is None or self.screener is None:
            return table
        numbers: pd.DataFrame = self.screener.transform(self.preparer.transform(table))
        return numbers

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What the rows of the part support."""
        structures = self.question.structures
        return () if structures is None else structures.claims(self.question.target)

    def fit(self, candidate: ModelCandidate, seed: np.random.SeedSequence) -> Any:
        """Return a candidate fitted to all rows of the part."""
        return candidate.fit(self.question.X, self.question.y, seed)

    def predict(self, table: "pd.DataFrame") -> Array:
        """Return the probability of class 1, or the number, for rows of a table."""
        return predicted(self.model, self.numbers(table))


def with_claims(study: Study, answer: Answer, folds: Sequence[FoldResult]) -> Study:
    """Return a study with what is claimed, certain only where the outer folds bear it out."""
    structures = answer.question.structures
    n_rows = 0 if structures is None else structures.n_rows
    return replace(study, claims=claims_on_folds(answer.claims, folds), n_claim_rows=n_rows)


def search_for(
    family: ModelFamily,
    question: Question,
    *,
    sampling: np.random.SeedSequence,
    searching: np.random.SeedSequence,
    time_limit: float | None = None,
) -> Answer:
    """Ask a family about one part of a table; what it chooses is not fitted to all rows yet."""
    started = time.monotonic()
    if not family.suits(question):
        raise InvalidInputError(
            f"The family {family.name!r} cannot say what predicts {question.target!r}; ask another."
        )
    preparer, screener, rows = None, None, np.arange(len(question.y))
    if family.prepares:
        from parsimon.statistician.prepare import Preparer, Screener

        preparer = Preparer().fit(question.table)
        numbers = preparer.transform(question.table)
        rows = sampled_rows(question.y, question.task, SEARCHED_ROWS, sampling)
        structures = look_closely(question, preparer, numbers, sampling, time_limit)
        screener = Screener(most=SEARCHED_VARIABLES, task=question.task)
        screener.fit(numbers, question.values, always=structures.supported_columns)
        question = replace(
            question,
            X=screener.transform(numbers),
            structures=structures.at_columns(screener.kept_),
        )
    searched = question.at(rows)
    if time_limit is not None:
        # Of more rows than are searched half of the time is for the fit to all of them.
        share = 1.0 if len(rows) == len(question.y) else 0.5
        time_limit = share * max(0.0, time_limit - (time.monotonic() - started))
    return Answer(
        question=question,
        result=family.search(searched, seed=searching, time_limit=time_limit),
        searched=rows,
        preparer=preparer,
        screener=screener,
    )


def table_structures(
    question: Question, preparer: "Preparer", numbers: "pd.DataFrame", rows: Indices
) -> StructurePosterior:
    """Return which columns of the table, alone and in pairs, some rows support.

    All variables that come from one column of the table are one: a category is not its levels.
    """
    columns = [variable.column for variable in preparer.variables_]
    names = list(dict.fromkeys(columns))
    groups = [[k for k, column in enumerate(columns) if column == name] for name in names]
    table = question.table.iloc[rows]
    return find_structures(
        numbers.to_numpy(dtype=np.float64)[rows],
        np.asarray(question.y, dtype=np.float64)[rows],
        question.task,
        groups=groups,
        names=names,
        n_questions=question.n_questions,
        doubts={names.index(one): off for one, off in preparer.doubts(table).items()},
        levels={names.index(one): own for one, own in preparer.level_rows(table).items()},
    )


def look_closely(
    question: Question,
    preparer: "Preparer",
    numbers: "pd.DataFrame",
    sampling: np.random.SeedSequence,
    time_limit: float | None = None,
) -> StructurePosterior:
    """Return which columns matter by as many rows as can be looked at: all, if that is cheap.

    With a limit a look begins with few rows, and goes on to more while there is time for them.
    """
    started = began = time.monotonic()
    more = SEARCHED_ROWS if time_limit is None else _FIRST_LOOK
    while True:
        rows = sampled_rows(question.y, question.task, more, sampling)
        found = table_structures(question, preparer, numbers, rows)
        more, now = _more_rows(found, len(question.y)), time.monotonic()
        if time_limit is not None and more:
            left = _LOOK * time_limit - (now - started)
            more *= (now - began) * more / found.n_rows <= left
        began = now
        if not more:
            return found


def _more_rows(found: StructurePosterior, n_rows: int) -> int:
    """Return how many rows to look at after those that were; none if that is all or too much."""
    seen = found.n_rows
    room = int(_MOST_CELLS / (_CELLS_OF_PAIR * max(1, found.n_pairs_seen)))
    more = min(n_rows, room, _MORE_ROWS * seen)
    return more if more > seen and found.work * more / seen <= _MOST_WORK else 0


def sampled_rows(y: Array, task: Task, most: int, seed: np.random.SeedSequence) -> Indices:
    """Return the places of at most `most` rows, in order; classes keep their shares."""
    if len(y) <= most:
        return np.arange(len(y))
    rng = np.random.default_rng(seed)
    if task == "regression":
        return np.sort(rng.choice(len(y), most, replace=False))
    chosen = []
    for label in (0, 1):
        places = np.flatnonzero(y == label)
        share = min(len(places), max(2, round(most * len(places) / len(y))))
        chosen.append(rng.choice(places, share, replace=False))
    return np.sort(np.concatenate(chosen))


# Outer folds that are run if nobody says otherwise. Of many rows two thirds teach as much as four
# fifths, and a third of them tests more sharply than a fifth.
_USUAL_FOLDS, _FOLDS_OF_MANY, _MANY_ROWS = 5, 3, 20_000


def plan_folds(
    question: Question, n_folds: int | None, seed: np.random.SeedSequence
) -> list[OuterPart]:
    """Return the outer folds: as many as asked for, fewer or none where rows are too few."""
    values, classes = question.values, not question.is_number
    if n_folds is None:
        n_folds = _USUAL_FOLDS if len(values) < _MANY_ROWS else _FOLDS_OF_MANY
    n_folds = min(n_folds, len(values) // 4)
    if classes:
        rarest = int(np.unique(values, return_counts=True)[1].min())
        n_folds = min(n_folds, rarest)
        # A search needs two rows of each class in every training part.
        if n_folds >= 2 and rarest - ceil(rarest / n_folds) < 2:
            n_folds = 0
    if n_folds < 2:
        return []
    return outer_parts(
        n_folds, question.table, values, groups=None, classes=classes, repeats=1, seed=seed
    )


class _Job(NamedTuple):
    """One search: of the whole table if `fold` is -1, else of the training part of a fold."""

    family: ModelFamily
    question: Question
    place: int
    fold: int
    part: OuterPart | None
    seed: np.random.SeedSequence
    time_limit: float | None


def run_searches(
    family: ModelFamily,
    questions: Sequence[Question],
    parts: Sequence[OuterPart],
    seed: np.random.SeedSequence,
    *,
    whole: bool = True,
    n_jobs: int | None = 1,
    time_limit: float | None = None,
    done: Callable[[int, str], object] = lambda _, __: None,
    kept: FinishedWork = NOTHING_KEPT,
    stage: str = "search",
) -> tuple[list[Answer], list[FoldResult]]:
    """Answer every question on the whole table, if asked for, and on each outer training part.

    A fold that would end after the time limit, as far as others tell, is left out, and says so.
    `done` is told how many searches are over, and what is left. What an earlier run has `kept` of a
    `stage` is not searched again.
    """
    folds = range(-1 if whole else 0, len(parts))
    places = [(fold, place) for fold in folds for place in range(len(questions))]
    workers = min(n_workers(n_jobs), len(places))
    limit, deadline = _limits(family, len(places), len(questions) * whole, workers, time_limit)
    jobs = [
        _Job(family, questions[place], place, fold, None if fold < 0 else parts[fold], child, limit)
        for (fold, place), child in zip(places, seed.spawn(len(places)), strict=True)
    ]
    found: dict[tuple[int, ...], Answer | FoldResult] = kept.read(stage, places)
    timely = (
        (_in_time(job, deadline),)
        for job in jobs
        # Without the table itself there is no answer.
        if (job.fold, job.place) not in found
        and (job.part is None or time.monotonic() + _longest(found.values()) < deadline)
    )
    done(len(found), _left([one for one in places if one not in found]))
    with Workers(workers, ahead=1, ordered=False) as pool:
        for place, one in pool.map(_run, timely):
            found[place] = one
            kept.write(stage, place, one)
            done(len(found), _left([one for one in places if one not in found]))
    results = [found.get((job.fold, job.place)) or _not_begun(job) for job in jobs]
    answers = [one for one in results if isinstance(one, Answer)]
    measured = [one for one in results if isinstance(one, FoldResult)]
    return [_begun_again(one, k, measured) for k, one in enumerate(answers)], measured


def _begun_again(answer: Answer, place: int, folds: Sequence[FoldResult]) -> Answer:
    """Return the answer to the whole table, from where its folds ended if that is better."""
    starts = [one.start for one in folds if one.question == place and one.start is not None]
    result = answer.result.begun_again(starts) if starts else answer.result
    if result is answer.result:
        return answer
    again = replace(answer, result=result)
    return replace(again, model=again.fit(result.chosen, np.random.SeedSequence(0)))


def _limits(
    family: ModelFamily, n_jobs: int, n_whole: int, workers: int, time_limit: float | None
) -> tuple[float | None, float]:
    """Return the seconds of a search, and the moment after which no further fold begins."""
    if time_limit is None:
        return None, np.inf
    share = 1.0 if family.briefly() is family else _BRIEF
    rounds = ceil((n_whole + share * (n_jobs - n_whole)) / workers)
    return time_limit / rounds, time.monotonic() + time_limit


def _in_time(job: _Job, deadline: float) -> _Job:
    """Return a job whose search ends with the time for all of them."""
    if job.time_limit is None:
        return job
    return job._replace(time_limit=min(job.time_limit, max(0.0, deadline - time.monotonic())))


def _longest(results: Iterable[Answer | FoldResult]) -> float:
    """Return the seconds of the fold that took longest; nothing before one is known."""
    known = (one.seconds for one in results if isinstance(one, FoldResult))
    return max((seconds for seconds in known if seconds > 0), default=0.0)


def _left(places: Sequence[tuple[int, int]]) -> str:
    """Return in words which searches are still to come."""
    tables = sum(fold < 0 for fold, _ in places)
    folds = len(places) - tables
    parts = [
        "the table" if tables == 1 else f"the table for {tables} classes" if tables else "",
        f"{folds} searches of outer folds" if folds > 1 else "an outer fold" if folds else "",
    ]
    return f"still to answer: {' and '.join(filter(None, parts))}" if places else "all answered"


def _not_begun(job: _Job) -> FoldResult:
    assert job.part is not None
    return FoldResult(
        fold=job.fold,
        question=job.place,
        train=job.part.train,
        test=job.part.test,
        prediction=np.empty(0),
        baseline=float(np.mean(job.question.y[job.part.train])),
        failure=f"Outer fold {job.fold + 1} was not begun: the time limit was reached.",
    )


def _run(job: _Job) -> tuple[tuple[int, int], Answer | FoldResult]:
    return (job.fold, job.place), _answered(job)


def _answered(job: _Job) -> Answer | FoldResult:
    if job.part is not None:
        return _measured(job, job.part)
    sampling, searching, fitting = job.seed.spawn(3)
    answer = search_for(
        job.family,
        job.question,
        sampling=sampling,
        searching=searching,
        time_limit=job.time_limit,
    )
    return replace(answer, model=answer.fit(answer.result.chosen, fitting))


def _measured(job: _Job, part: OuterPart) -> FoldResult:
    """Search a training part, fit all contenders to it, and predict the rows outside it."""
    started = time.process_time()
    inside, outside = job.question.at(part.train), job.question.at(part.test)
    sampling, searching, fitting = job.seed.spawn(3)
    measured = FoldResult(
        fold=job.fold,
        question=job.place,
        train=part.train,
        test=part.test,
        prediction=np.empty(0),
        baseline=float(np.mean(inside.y)),
    )
    try:
        answer = search_for(
            job.family.briefly(),
            inside,
            sampling=sampling,
            searching=searching,
            time_limit=job.time_limit,
        )
        X = answer.numbers(outside.table)
    except _BROKEN as error:
        return replace(measured, failure=f"Outer fold {job.fold + 1} failed: {error}")
    measured = _told(measured, answer, X, outside.y, fitting)
    chosen = answer.result.chosen
    first = next(iter(answer.result.contenders))
    if first in measured.failures:
        failure = f"Outer fold {job.fold + 1} failed: {measured.failures[first]}"
        return replace(measured, failure=failure)
    return replace(
        measured,
        prediction=measured.told[first].value,
        guide_error=chosen.error,
        words=chosen.words,
        start=chosen.start,
        variables=chosen.variables,
        claims=answer.claims,
        seconds=time.process_time() - started,
    )


def _told(
    measured: FoldResult,
    answer: Answer,
    X: "pd.DataFrame",
    y: Array,
    seed: np.random.SeedSequence,
) -> FoldResult:
    """Return what each contender says of rows outside, or why it could not be fitted."""
    told, failures, kept = {}, {}, {}
    size: ModelSize | None = None
    columns: tuple[str, ...] = ()
    first = next(iter(answer.result.contenders))
    rises: dict[str, Array] = {}
    for name, candidate in answer.result.contenders.items():
        try:
            model = answer.fit(candidate, seed)
            told[name] = candidate.predict(model, X)
            kept[name] = candidate.used(model)
            if name == first:
                size, columns = _written(answer, model, kept[name])
                rises = _rises(answer, candidate, model, X, y)
        except _BROKEN as error:
            failures[name] = str(error)
    return replace(
        measured, told=told, failures=failures, kept=kept, size=size, columns=columns, rises=rises
    )


def _written(
    answer: Answer, model: Any, used: Sequence[str]
) -> tuple[ModelSize | None, tuple[str, ...]]:
    """Return how large a model of a prepared table is, and the columns that it uses."""
    if answer.preparer is None:
        return None, ()
    variables = answer.preparer.variables_
    places = [place for place, one in enumerate(variables) if one.name in used]
    size = model_size(model, n_rows=len(answer.question.y), n_columns=len(variables), used=places)
    return size, tuple(dict.fromkeys(variables[place].column for place in places))


def _rises(
    answer: Answer, candidate: ModelCandidate, model: Any, X: "pd.DataFrame", y: Array
) -> dict[str, Array]:
    """Return by how much losses of rows outside rise without each column that a model uses.

    Some of many rows say it as well; the others are NaN.

    Shapes: X (m, d), y (m,).
    """
    if answer.preparer is None:
        return {}
    rows = slice(None, None, ceil(len(y) / _SHUFFLED_ROWS))
    n_rows, X, y = len(y), X.iloc[rows], y[rows]
    column_of = {one.name: one.column for one in answer.preparer.variables_}
    used = {column_of[name] for name in candidate.used(model) if name in column_of}
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(X.columns):
        if column_of[str(name)] in used:
            groups.setdefault(column_of[str(name)], []).append(place)

    def losses(rows: "pd.DataFrame") -> Array:
        value = candidate.predict(model, rows).value
        lost = (value - y) ** 2 if answer.question.is_number else (value >= 0.5) != (y == 1)
        return np.asarray(lost, dtype=np.float64)

    # A seed of its own: what is measured here changes nothing else.
    found = shuffled_rises(losses, X, groups, np.random.default_rng(0))
    rises = {name: np.full(n_rows, np.nan) for name in found}
    for name, rise in found.items():
        rises[name][rows] = rise
    return rises
