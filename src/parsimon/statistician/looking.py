"""What matters, looked at once for the table and for the training part of each outer fold.

`look_at_folds` finds the structures that rows support, which claims are read from: certain only
where the folds bear them out. Families that search begin with the same structures.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from parsimon._parallel import Workers, n_workers
from parsimon._progress import Progress
from parsimon._typing import Indices
from parsimon.evaluation.folds import OuterPart
from parsimon.exceptions import ParsimonError
from parsimon.statistician.families.family import Question, sampled
from parsimon.statistician.finished_work import NOTHING_KEPT, FinishedWork
from parsimon.structures import Claim, StructurePosterior, find_structures, steady

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.statistician.prepare import Preparer

# By fold the structures of each question; `TABLE` is the place of the table itself.
Looked: TypeAlias = Mapping[int, Sequence[StructurePosterior]]
TABLE = -1
# A first look at this many rows still takes a second or two.
FIRST_ROWS = 1500
# Claims use all rows where they can: after a first look so many times more while that takes no more
# than this work (see `StructurePosterior.work`; some seconds), and no more memory than the first
# look at a table with as many pairs as are ever looked at.
_MORE_ROWS = 4
_MOST_WORK = 4e9
_MOST_CELLS = 14e6
_CELLS_OF_PAIR = 9
# Rows of the first look where there is a time limit.
_FIRST_LOOK = 250


def look_at_folds(
    questions: Sequence[Question],
    parts: Sequence[OuterPart],
    seed: np.random.SeedSequence,
    *,
    whole: bool = True,
    n_jobs: int | None = 1,
    time_limit: float | None = None,
    verbose: bool = False,
    kept: FinishedWork = NOTHING_KEPT,
) -> Looked:
    """Look at the table, if asked for, and at the training part of each fold.

    With a limit folds are left out that would begin after it.
    """
    folds = range(TABLE if whole else 0, len(parts))
    found = {place[0]: one for place, one in kept.read("look", [(k,) for k in folds]).items()}
    left = [fold for fold in folds if fold not in found]
    workers = min(n_workers(n_jobs), max(1, len(left)))
    rounds, deadline = ceil(len(left) / workers), np.inf
    if time_limit is not None:
        deadline = time.monotonic() + time_limit
        time_limit = time_limit / max(1, rounds)
    children = seed.spawn((len(parts) + 1) * len(questions))
    with (
        Progress("Looking", total=len(folds), verbose=verbose) as progress,
        Workers(workers, ahead=1) as pool,
    ):
        calls = (
            (
                fold,
                [one if fold == TABLE else one.at(parts[fold].train) for one in questions],
                children[(fold + 1) * len(questions) : (fold + 2) * len(questions)],
                time_limit,
            )
            for fold in left
            if fold == TABLE or time.monotonic() < deadline
        )
        for fold, one in pool.map(_look, calls):
            found[fold] = one
            kept.write("look", (fold,), one)
            progress.update(len(found), note="at what matters")
    return found


def _look(
    fold: int,
    questions: Sequence[Question],
    seeds: Sequence[np.random.SeedSequence],
    time_limit: float | None,
) -> tuple[int, Sequence[StructurePosterior]]:
    from parsimon.statistician.prepare import Preparer

    table = questions[0].table
    share = None if time_limit is None else time_limit / len(questions)
    try:
        preparer = Preparer().fit(table)
        numbers = preparer.transform(table)
        looked = [
            look_closely(one, preparer, numbers, seed.spawn(1)[0], share)
            for one, seed in zip(questions, seeds, strict=True)
        ]
    except (ParsimonError, np.linalg.LinAlgError):
        if fold == TABLE:
            raise
        return fold, []
    return fold, looked


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
    more = FIRST_ROWS if time_limit is None else _FIRST_LOOK
    while True:
        rows = sampled(question.y, question.task, more, sampling)
        found = table_structures(question, preparer, numbers, rows)
        more, now = _more_rows(found, len(question.y)), time.monotonic()
        if time_limit is not None and more:
            more *= (now - began) * more / found.n_rows <= time_limit - (now - started)
        began = now
        if not more:
            return found


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


def _more_rows(found: StructurePosterior, n_rows: int) -> int:
    """Return how many rows to look at after those that were; none if that is all or too much."""
    seen = found.n_rows
    room = int(_MOST_CELLS / (_CELLS_OF_PAIR * max(1, found.n_pairs_seen)))
    more = min(n_rows, room, _MORE_ROWS * seen)
    return more if more > seen and found.work * more / seen <= _MOST_WORK else 0


def with_structures(questions: Sequence[Question], looked: Looked, fold: int) -> list[Question]:
    """Return questions of a part with what was seen there; as they are where none looked."""
    if not looked.get(fold):
        return list(questions)
    pairs = zip(questions, looked[fold], strict=True)
    return [replace(one, structures=found) for one, found in pairs]


def claims_of(target: str, looked: Looked, place: int, fold: int) -> tuple[Claim, ...] | None:
    """Return what the rows of a fold support of a question; None if nobody looked."""
    return looked[fold][place].claims(target) if looked.get(fold) else None


def steady_claims(questions: Sequence[Question], looked: Looked) -> list[tuple[Claim, ...]]:
    """Return what the table supports of each question, certain where its parts bear it out."""
    folds = [fold for fold in sorted(looked) if fold != TABLE and looked[fold]]
    return [
        steady(
            claims_of(one.target, looked, place, TABLE) or (),
            [claims_of(one.target, looked, place, fold) or () for fold in folds],
        )
        for place, one in enumerate(questions)
    ]


def has_certain_claims(questions: Sequence[Question], looked: Looked) -> bool:
    """Return whether something is beyond doubt."""
    return any(one.certain for own in steady_claims(questions, looked) for one in own)
