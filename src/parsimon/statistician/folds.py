"""The one fold runner: what every family says of the rows outside each training part.

`plan_folds` deals the rows, `run_folds` fits every family to the training part of every fold, with
the table prepared anew inside it, and those that search to the table itself as well.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from parsimon._parallel import Workers, n_workers
from parsimon._typing import Array, Indices
from parsimon.evaluation.folds import OuterPart, outer_parts
from parsimon.evaluation.recommending import temper, tempered_slope
from parsimon.exceptions import InvalidInputError
from parsimon.statistician.families._size import ModelSize
from parsimon.statistician.families.family import (
    Family,
    Fitted,
    Question,
    QuestionFit,
    SeenTable,
    Setting,
    sampled,
)
from parsimon.statistician.families.plain import GUESSING
from parsimon.statistician.finished_work import NOTHING_KEPT, FinishedWork
from parsimon.statistician.looking import TABLE, Looked, with_structures
from parsimon.statistician.seen_tables import PreparedTable

if TYPE_CHECKING:
    import pandas as pd

_NO_TIME = "there was no time left"
# What a fit is taken to cost of the time for a fold before the first of its kind; from so many rows
# on, two fits to these parts of the rows tell more.
_UNKNOWN_COST = 0.2
_MANY_ROWS, _PROBED_PARTS = 20_000, (1 / 64, 1 / 16)
# Cells from which a fold is prepared once, for all models in one process.
_PREPARED_ONCE = 200_000
# Kinds of families whose fits take long.
_SLOW = ("rvm", "gp", "svm", "features")
# Of the time for a fold: what a search may take. One of the table itself has that of so many folds.
_SEARCHING, _WHOLE = 0.5, 2
# How much longer a fit to all rows takes than one to those of a fold.
WHOLE_TABLE = 1.5
# Outer folds that are run if nobody says otherwise. Of many rows two thirds teach as much as four
# fifths, and a third of them tests more sharply than a fifth.
_USUAL_FOLDS, _FOLDS_OF_MANY, _FOLDED_IN_THREE = 5, 3, 20_000
# Outer folds of what is to be fast.
FAST_FOLDS = 3

Prepare: TypeAlias = Callable[[Sequence[Question]], SeenTable]
_Pairs: TypeAlias = Sequence[tuple[Family, np.random.SeedSequence]]


def plan_folds(
    question: Question, n_folds: int | None, seed: np.random.SeedSequence
) -> list[OuterPart]:
    """Return the outer folds: as many as asked for, fewer or none where rows are too few."""
    values, classes = question.values, not question.is_number
    if n_folds is None:
        n_folds = _USUAL_FOLDS if len(values) < _FOLDED_IN_THREE else _FOLDS_OF_MANY
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


class Told(NamedTuple):
    """What a model says of rows outside its training part.

    value (m, c) or (m,): Probabilities of all classes, or numbers.
    columns: Columns of the table that it uses.
    seconds: For the fit and the prediction.
    sure: Whether it only calls classes, without a probability.
    slope: By which the log odds of a model of all rows are multiplied; below 1 if they would be
        too sure, and then these probabilities are tempered.
    reach (m,): Half the width of a 95 % interval of a number; None where the model knows none.
    questions: What a search says of each question beside.
    """

    value: Array
    size: ModelSize
    columns: int
    seconds: float
    sure: bool = False
    slope: float = 1.0
    reach: Array | None = None
    questions: tuple[QuestionFit, ...] = ()


@dataclass(frozen=True, eq=False)
class FoldAnswers:
    """What all models say of the rows outside one training part, and why some say nothing."""

    test: Indices
    told: Mapping[str, Told] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)

    def without(self, name: str, reason: str) -> "FoldAnswers":
        """Return what the others say."""
        told = {other: said for other, said in self.told.items() if other != name}
        return replace(self, told=told, failures={**self.failures, name: reason})


class FoldRun(NamedTuple):
    """What came of all fits: answers on each fold, and by name what was fitted to the table."""

    answers: list[FoldAnswers]
    whole: dict[str, Fitted]


class _Limit(NamedTuple):
    """The seconds of a job, who came too late in another fold, and what the others took there."""

    seconds: float | None = None
    late: frozenset[str] = frozenset()
    costs: Mapping[str, float] = {}


def run_folds(
    families: Sequence[Family],
    questions: Sequence[Question],
    parts: Sequence[OuterPart],
    seed: np.random.SeedSequence,
    *,
    whole: _Pairs = (),
    looked: Looked | None = None,
    n_jobs: int | None = 1,
    time_limit: float | None = None,
    done: Callable[[float], object] = lambda _: None,
    kept: FinishedWork = NOTHING_KEPT,
    stage: str = "compare",
    prepare: Prepare = PreparedTable.of,
) -> FoldRun:
    """Fit all families to every training part and predict the rows outside, and some to the table.

    With a limit those that come too late say nothing in that fold, and are not asked in later
    ones. What an earlier run has `kept` of a `stage` is not fitted again. `looked` has what matters
    in each part, for families that search. `prepare` makes of a part's rows what families see.
    """
    deadline = None if time_limit is None else time.monotonic() + time_limit
    at = {fold: with_structures(questions, looked or {}, fold) for fold in range(TABLE, len(parts))}
    jobs: dict[tuple[int, ...], tuple[_Pairs, Sequence[Question], OuterPart | None]] = {
        (number, TABLE): ([pair], at[TABLE], None) for number, pair in enumerate(whole)
    }
    once = deadline is not None or questions[0].table.size > _PREPARED_ONCE
    for fold, (part, child) in enumerate(zip(parts, seed.spawn(len(parts)), strict=True)):
        for number, group in enumerate(_groups(_deal_seeds(families, child), once=once)):
            jobs[number, fold] = group, at[fold], part
    found: dict[tuple[int, ...], Any] = kept.read(stage, jobs)
    # The table itself takes longest.
    left = sorted(set(jobs) - set(found), key=lambda place: (place[1] != TABLE, place))
    workers = min(n_workers(n_jobs), max(1, len(left)))
    # With a limit one round of folds after another, since each teaches what the next can afford.
    size = max(1, len(left) if deadline is None else workers)
    rounds = [left[begin : begin + size] for begin in range(0, len(left), size)]
    done(len(found) / max(1, len(jobs)))
    with Workers(workers, ahead=1) as pool:
        for number, places in enumerate(rounds):
            limit = _limit_of(
                rounds[number:], found, deadline, [family.name for family, _ in whole]
            )
            asked = ((*jobs[place], prepare, limit) for place in places)
            for place, result in zip(places, pool.map(_run, asked), strict=True):
                found[place] = result
                kept.write(stage, place, result)
                done(len(found) / len(jobs))
    folds = [
        [result for place, result in found.items() if place[1] == k] for k in range(len(parts))
    ]
    answers = [_join(fold, families) for fold in folds]
    fitted: dict[str, Fitted] = {}
    for number, (family, _) in enumerate(whole):
        name, model = family.name, found[number, TABLE]
        starts = [fold.told[name].questions for fold in answers if name in fold.told]
        fitted[name] = model.begun_again(starts) if starts else model
    return FoldRun(answers, fitted)


def _limit_of(
    rounds: Sequence[Sequence[tuple[int, ...]]],
    found: Mapping[tuple[int, ...], Any],
    deadline: float | None,
    whole: Sequence[str],
) -> _Limit:
    """Return the limit of the first of some rounds; no limit without a deadline."""
    if deadline is None:
        return _Limit()
    late: set[str] = set()
    costs: dict[str, float] = {}
    for answers in (answers for place, answers in found.items() if place[1] != TABLE):
        late |= {name for name, reason in answers.failures.items() if reason == _NO_TIME}
        for name, told in answers.told.items():
            costs[name] = max(told.seconds, costs.get(name, 0.0))
    # One of them, perhaps the slowest, is fitted to all rows afterwards.
    last = max((cost for name, cost in costs.items() if name not in whole), default=0.0)
    shares = [_WHOLE if places[0][1] == TABLE else 1 for places in rounds]
    left = max(0.0, deadline - WHOLE_TABLE * last - time.monotonic())
    return _Limit(left * shares[0] / sum(shares), frozenset(late), costs)


def _deal_seeds(families: Sequence[Family], seed: np.random.SeedSequence) -> _Pairs:
    """Return families with their seeds; a search that joins changes nobody else's."""
    order = sorted(range(len(families)), key=lambda place: families[place].searches)
    seeds = dict(zip(order, seed.spawn(len(families)), strict=True))
    return [(family.briefly(), seeds[place]) for place, family in enumerate(families)]


def _groups(pairs: _Pairs, *, once: bool) -> list[_Pairs]:
    """Return families to be asked apart, so that no worker waits: each slow one, and the rest."""
    if once:
        return [pairs]
    slow = [[pair] for pair in pairs if pair[0].kind in _SLOW]
    rest = [pair for pair in pairs if pair[0].kind not in _SLOW]
    return [*slow, rest] if rest else [*slow]


def _join(answers: Sequence[FoldAnswers], families: Sequence[Family]) -> FoldAnswers:
    """Return what all said of one fold, in the order in which they were named."""
    told = {name: told for group in answers for name, told in group.told.items()}
    failures = {name: reason for group in answers for name, reason in group.failures.items()}
    names = [family.name for family in families]
    return FoldAnswers(
        answers[0].test,
        {name: told[name] for name in (*names, *told) if name in told},
        {name: failures[name] for name in names if name in failures},
    )


def _run(
    pairs: _Pairs,
    questions: Sequence[Question],
    part: OuterPart | None,
    prepare: Prepare,
    limit: _Limit,
) -> FoldAnswers | Fitted:
    """Fit families to one training part, and predict the rows outside it; or one to the table.

    With a limit those that were late in another fold are left out, and those that would take
    longer, by their costs there.
    """
    if part is None:
        (family, seed), *_ = pairs
        return family.fit(prepare(questions), seed, time_limit=limit.seconds)
    started = time.monotonic()
    told: dict[str, Told] = {}
    failures: dict[str, str] = {}
    try:
        seen = prepare([question.at(part.train) for question in questions])
        rows = [question.at(part.test) for question in questions]
        X = seen.numbers(rows[0].table)
    except Exception as error:  # noqa: BLE001 - whatever it is, the report goes on
        return FoldAnswers(part.test, {}, {family.name: _reason(error) for family, _ in pairs})
    for family, seed in pairs:
        try:
            left = None
            if limit.seconds is not None:
                left = limit.seconds - (time.monotonic() - started)
            refused = _find_refusal(family, seen, seed, limit, left, first=len(told) < 2)
            if refused:
                failures[family.name] = _reason(refused)
                continue
            told |= _answer(family, seen, X, rows, seed, questions[0].n_classes, left)
        except Exception as error:  # noqa: BLE001 - a user's estimator may raise anything
            failures[family.name] = _reason(error)
    return FoldAnswers(part.test, told, failures)


def _find_refusal(
    family: Family,
    seen: SeenTable,
    seed: np.random.SeedSequence,
    limit: _Limit,
    left: float | None,
    *,
    first: bool,
) -> str:
    """Return why a family is not asked: what it says itself, or that there is too little time."""
    question = seen.questions[0]
    refused = family.refuses(Setting.of(seen.X, seen.values, question.task, seed))
    # Guessing and one model are always asked: of fewer there is nothing to say.
    if limit.seconds is None or left is None or first or refused:
        return refused
    if family.searches:
        cost = limit.costs.get(family.name, 0.0) if question.structures is not None else np.inf
    else:
        cost = limit.costs.get(family.name, _UNKNOWN_COST * limit.seconds)
    if family.name in limit.late:
        cost = np.inf
    started = time.monotonic()
    if family.name not in limit.costs and cost <= left and not family.searches:
        cost = _expected_seconds(family, seen, left)
    return _NO_TIME * (cost > left - (time.monotonic() - started))


def _expected_seconds(family: Family, seen: SeenTable, left: float) -> float:
    """Return how long a fit will take, judged by fits to few of many rows; 0 if nobody knows."""
    n, seconds = min(len(seen.values), family.most_rows or len(seen.values)), []
    if n < _MANY_ROWS:
        return 0.0
    task, sizes = seen.questions[0].task, [int(part * n) for part in _PROBED_PARTS]
    for size in sizes:
        rows = sampled(seen.values, task, size, np.random.SeedSequence(0))
        started = time.process_time()
        try:
            family.learn(seen.X.iloc[rows], seen.values[rows], task, np.random.SeedSequence(0))
        except Exception:  # noqa: BLE001 - what few rows lack, all of them may have
            return 0.0
        seconds.append(time.process_time() - started)
        if sum(seconds) > left / 2:
            return np.inf
    growth = max(0.0, seconds[1] - seconds[0]) / (sizes[1] - sizes[0])
    return seconds[1] + growth * (n - sizes[1])


def _answer(
    family: Family,
    seen: SeenTable,
    X: "pd.DataFrame",
    rows: Sequence[Question],
    seed: np.random.SeedSequence,
    n_classes: int,
    left: float | None,
) -> dict[str, Told]:
    """Return what a family says, and what the further models say that come with it."""
    started = time.process_time()
    limit = None if left is None else max(0.0, _SEARCHING * left)
    fitted = family.fit(seen, seed, time_limit=limit)
    if fitted.seen is not seen:
        X = fitted.seen.numbers(rows[0].table)
    own = _predict(fitted, X, n_classes, started)
    told = {family.name: own._replace(questions=fitted.tell(X, rows))}
    for name, other in fitted.others.items():
        told[name] = _predict(other, X, n_classes, time.process_time())
    return told


def _predict(fitted: Fitted, X: "pd.DataFrame", n_classes: int, started: float) -> Told:
    value, reach = fitted.predict(X, n_classes)
    if not np.isfinite(value).all():
        raise InvalidInputError("it predicted what is no finite number")
    size, columns = fitted.size, len(fitted.columns)
    seconds = time.process_time() - started
    known = None if np.isnan(reach).all() else reach
    return Told(value, size, columns, seconds, fitted.only_calls, reach=known)


def _reason(error: Exception | str) -> str:
    first = next(iter(str(error).splitlines()), "") or type(error).__name__
    return first.strip().rstrip(".")


def tempered_answers(answers: Sequence[FoldAnswers], question: Question) -> list[FoldAnswers]:
    """Return answers in which no model is too sure.

    The rows of a fold are tempered by what the other folds ask for, a model of all rows by all.
    """
    found, codes = list(answers), np.asarray(question.values).astype(np.intp)
    names = () if question.is_number or len(answers) < 2 else answers[0].told
    for name in names:
        folds = [fold.told[name] for fold in found if name in fold.told]
        if name == GUESSING.name or len(folds) < len(found) or any(told.sure for told in folds):
            continue
        rows = [(told.value, codes[fold.test]) for told, fold in zip(folds, found, strict=True)]
        whole = _slope(rows)
        if whole == 1.0:
            continue
        for place, told in enumerate(folds):
            value = temper(told.value, _slope(rows[:place] + rows[place + 1 :]))
            own = {name: told._replace(value=value, slope=whole)}
            found[place] = replace(found[place], told={**found[place].told, **own})
    return found


def _slope(rows: Sequence[tuple[Array, Indices]]) -> float:
    values, codes = zip(*rows, strict=True)
    return tempered_slope(np.concatenate(values), np.concatenate(codes))
