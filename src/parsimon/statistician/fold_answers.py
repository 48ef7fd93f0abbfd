"""What every model says of the rows outside each training part.

`run_contenders` fits every contender to the training part of every fold, with the table prepared
anew inside it.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from parsimon._parallel import Workers, n_workers
from parsimon._typing import AnyArray, Array, Indices
from parsimon.evaluation.folds import OuterPart
from parsimon.evaluation.tempering import temper, tempered_slope
from parsimon.report.findings import Task
from parsimon.statistician.families import (
    ModelSize,
    Question,
    columns_of,
    model_size,
    together,
)
from parsimon.statistician.families.contender import Contender, Setting, class_shares, sampled
from parsimon.statistician.families.contenders import GUESSING, MOST_COLUMNS
from parsimon.statistician.finished_work import NOTHING_KEPT, FinishedWork
from parsimon.statistician.outer_folds import FoldResult, joint_shares

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.statistician.prepare import Preparer, Screener

_NO_TIME = "there was no time left"
# What a fit is taken to cost of the time for a fold before the first of its kind; from so many rows
# on, two fits to these parts of the rows tell more.
_UNKNOWN_COST = 0.2
_MANY_ROWS, _PROBED_PARTS = 20_000, (1 / 64, 1 / 16)
# Cells from which a fold is prepared once, for all models in one process.
_PREPARED_ONCE = 200_000
# Families whose fits take long.
_SLOW = ("rvm", "gp", "svm", "features")

_Pairs: TypeAlias = Sequence[tuple[Contender, np.random.SeedSequence]]
_Prepare: TypeAlias = "Callable[[Question], SeenTable]"
_Call: TypeAlias = tuple[_Pairs, Question, OuterPart, _Prepare]


class Told(NamedTuple):
    """What a model says of rows outside its training part.

    value (m, c) or (m,): Probabilities of all classes, or numbers.
    columns: Columns of the table that it uses.
    seconds: For the fit and the prediction.
    sure: Whether it only calls classes, without a probability.
    slope: By which the log odds of a model of all rows are multiplied; below 1 if they would be
        too sure, and then these probabilities are tempered.
    """

    value: Array
    size: ModelSize
    columns: int
    seconds: float
    sure: bool = False
    slope: float = 1.0


@dataclass(frozen=True, eq=False)
class FoldAnswers:
    """What all models say of the rows outside one training part, and why some say nothing."""

    test: Indices
    told: Mapping[str, Told] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)

    def without(self, name: str, reason: str) -> "FoldAnswers":
        """Return what the others say."""
        told = {one: said for one, said in self.told.items() if one != name}
        return replace(self, told=told, failures={**self.failures, name: reason})


class SeenTable(Protocol):
    """A part of a table as contenders see it; other rows are seen in the same way."""

    @property
    def X(self) -> "pd.DataFrame":
        """What they are fitted to, (n, d)."""

    @property
    def values(self) -> AnyArray:
        """Codes of classes, or numbers, (n,)."""

    @property
    def columns(self) -> list[str]:
        """The column of the table that each variable comes from."""

    def numbers(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """Return other rows as they are seen."""


@dataclass(frozen=True, eq=False)
class UnchangedTable:
    """A table whose cells contenders take as they are, such as series."""

    X: "pd.DataFrame"
    values: AnyArray

    @classmethod
    def of(cls, question: Question) -> "UnchangedTable":
        """Take the rows of a question."""
        return cls(question.table, np.asarray(question.values, dtype=np.float64))

    def numbers(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """Return other rows as they are."""
        return table

    @property
    def columns(self) -> list[str]:
        """The columns of the table."""
        return [str(name) for name in self.X.columns]


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """A part of a table as contenders see it: prepared as numbers."""

    preparer: "Preparer"
    screener: "Screener"
    X: "pd.DataFrame"
    values: AnyArray

    @classmethod
    def of(cls, question: Question) -> "PreparedTable":
        """Prepare the rows of a question; nothing else is looked at."""
        from parsimon.statistician.prepare import Preparer, Screener

        preparer = Preparer().fit(question.table)
        numbers = preparer.transform(question.table)
        values = np.asarray(question.values, dtype=np.float64)
        screener = Screener(most=MOST_COLUMNS, task=question.task).fit(numbers, values)
        return cls(preparer, screener, screener.transform(numbers), values)

    def numbers(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """Return other rows as the models see them."""
        numbers: pd.DataFrame = self.screener.transform(self.preparer.transform(table))
        return numbers

    @property
    def columns(self) -> list[str]:
        """The column of the table that each variable comes from."""
        known = [one.column for one in self.preparer.variables_]
        return [known[place] for place in self.screener.kept_]


# How much longer a fit to all rows takes than one to those of a fold.
WHOLE_TABLE = 1.5


def run_contenders(
    contenders: Sequence[Contender],
    question: Question,
    parts: Sequence[OuterPart],
    seed: np.random.SeedSequence,
    *,
    n_jobs: int | None = 1,
    time_limit: float | None = None,
    done: Callable[[float], object] = lambda _: None,
    kept: FinishedWork = NOTHING_KEPT,
    prepare: _Prepare = PreparedTable.of,
) -> list[FoldAnswers]:
    """Fit all contenders to every training part, and predict the rows outside.

    With a limit those that come too late say nothing in that fold, and are not asked in later
    ones. What an earlier run has `kept` is not fitted again. `prepare` makes of a part's rows what
    contenders see.
    """
    deadline = None if time_limit is None else time.monotonic() + time_limit
    whole = deadline is not None or question.table.size > _PREPARED_ONCE
    calls: dict[tuple[int, ...], _Call] = {}
    for fold, (part, child) in enumerate(zip(parts, seed.spawn(len(parts)), strict=True)):
        pairs = list(zip(contenders, child.spawn(len(contenders)), strict=True))
        for number, group in enumerate([pairs] if whole else _groups(pairs)):
            calls[number, fold] = (group, question, part, prepare)
    found: dict[tuple[int, ...], FoldAnswers] = kept.read("compare", calls)
    left = sorted(place for place in calls if place not in found)
    workers = min(n_workers(n_jobs), max(1, len(left)))
    # With a limit one round of folds after another, since each teaches what the next can afford.
    size = max(1, len(left) if deadline is None else workers)
    rounds = [left[at : at + size] for at in range(0, len(left), size)]
    done(len(found) * len(parts) / max(1, len(calls)))
    with Workers(workers, ahead=1) as pool:
        for number, places in enumerate(rounds):
            late, costs = _learnt(found.values())
            limit = None
            if deadline is not None:
                # One of them, perhaps the slowest, is fitted to all rows afterwards.
                end = deadline - WHOLE_TABLE * max(costs.values(), default=0.0)
                limit = max(0.0, end - time.monotonic()) / (len(rounds) - number)
            asked = ((*calls[place], limit, late, costs) for place in places)
            for place, one in zip(places, pool.map(_ask, asked), strict=True):
                found[place] = one
                kept.write("compare", place, one)
                done(len(found) * len(parts) / len(calls))
    folds = [[one for place, one in found.items() if place[-1] == k] for k in range(len(parts))]
    return [_joined(answers, contenders) for answers in folds]


def _groups(pairs: _Pairs) -> list[_Pairs]:
    """Return contenders to be asked apart, so that no worker waits: each slow one, and the rest."""
    slow = [[pair] for pair in pairs if pair[0].family in _SLOW]
    return [*slow, [pair for pair in pairs if pair[0].family not in _SLOW]]


def _joined(answers: Sequence[FoldAnswers], contenders: Sequence[Contender]) -> FoldAnswers:
    """Return what all said of one fold, in the order in which they were named."""
    told = {name: told for one in answers for name, told in one.told.items()}
    failures = {name: reason for one in answers for name, reason in one.failures.items()}
    names = [one.name for one in contenders]
    return FoldAnswers(
        answers[0].test,
        {name: told[name] for name in (*names, *told) if name in told},
        {name: failures[name] for name in names if name in failures},
    )


def _learnt(answers: Iterable[FoldAnswers]) -> tuple[frozenset[str], dict[str, float]]:
    """Return who came too late in a fold, and how many seconds the others took at most."""
    late: set[str] = set()
    costs: dict[str, float] = {}
    for one in answers:
        late |= {name for name, reason in one.failures.items() if reason == _NO_TIME}
        for name, told in one.told.items():
            costs[name] = max(told.seconds, costs.get(name, 0.0))
    return frozenset(late), costs


def _ask(
    contenders: _Pairs,
    question: Question,
    part: OuterPart,
    prepare: _Prepare,
    limit: float | None,
    late: frozenset[str],
    costs: Mapping[str, float],
) -> FoldAnswers:
    """Fit contenders to one training part, and predict the rows outside it.

    With a limit those that were `late` in another fold are left out, and those that would take
    longer, by their `costs` there.
    """
    started = time.monotonic()
    told: dict[str, Told] = {}
    failures: dict[str, str] = {}
    n_classes = n_codes(question)
    try:
        table = prepare(question.at(part.train))
        outside = table.numbers(question.table.iloc[part.test])
    except Exception as error:  # noqa: BLE001 - whatever it is, the report goes on
        return FoldAnswers(part.test, {}, {one.name: _reason(error) for one, _ in contenders})
    for contender, child in contenders:
        name = contender.name
        try:
            refused = contender.refuses(Setting.of(table.X, table.values, question.task, child))
            # Guessing and one model are always asked: of fewer there is nothing to say.
            if limit is not None and len(told) >= 2 and not refused:
                left = limit - (time.monotonic() - started)
                cost = np.inf if name in late else costs.get(name, _UNKNOWN_COST * limit)
                if name not in costs and cost <= left:
                    cost = _expected_seconds(contender, table, question.task, left)
                refused = _NO_TIME * (cost > limit - (time.monotonic() - started))
            if refused:
                failures[name] = _reason(refused)
                continue
            told |= _all_told(contender, table, outside, question.task, n_classes, child)
        except Exception as error:  # noqa: BLE001 - a user's estimator may raise anything
            failures[name] = _reason(error)
    return FoldAnswers(part.test, told, failures)


def _expected_seconds(contender: Contender, table: SeenTable, task: Task, left: float) -> float:
    """Return how long a fit will take, judged by fits to few of many rows; 0 if nobody knows."""
    n, seconds = min(len(table.values), contender.most_rows or len(table.values)), []
    if n < _MANY_ROWS:
        return 0.0
    sizes = [int(part * n) for part in _PROBED_PARTS]
    for size in sizes:
        rows = sampled(table.values, task, size, np.random.SeedSequence(0))
        started = time.process_time()
        try:
            contender.fit(table.X.iloc[rows], table.values[rows], task, np.random.SeedSequence(0))
        except Exception:  # noqa: BLE001 - what few rows lack, all of them may have
            return 0.0
        seconds.append(time.process_time() - started)
        if sum(seconds) > left / 2:
            return np.inf
    growth = max(0.0, seconds[1] - seconds[0]) / (sizes[1] - sizes[0])
    return seconds[1] + growth * (n - sizes[1])


def _all_told(
    contender: Contender,
    table: SeenTable,
    outside: "pd.DataFrame",
    task: Task,
    n_classes: int,
    seed: np.random.SeedSequence,
) -> dict[str, Told]:
    """Return what a contender says, and what the further models say that come with it."""
    started = time.process_time()
    model = contender.fit(table.X, table.values, task, seed)
    told = {contender.name: _told(model, table, outside, n_classes, started)}
    for name, other in contender.others(model).items():
        told[name] = _told(other, table, outside, n_classes, time.process_time())
    return told


def _told(
    model: Any, table: SeenTable, outside: "pd.DataFrame", n_classes: int, started: float
) -> Told:
    sure = False
    if n_classes:
        value, gives = class_shares(model, outside, n_classes)
        sure = not gives
    else:
        value = np.asarray(model.predict(outside), dtype=np.float64).reshape(len(outside))
    if not np.isfinite(value).all():
        raise _RefusedError("it predicted what is no finite number")
    size = model_size(model, n_rows=len(table.values), n_columns=table.X.shape[1], X=table.X)
    columns = columns_of(size.used, table.columns)
    return Told(value, size, columns, time.process_time() - started, sure)


class _RefusedError(Exception):
    """A contender says why it does not answer."""


def _reason(error: Exception | str) -> str:
    first = next(iter(str(error).splitlines()), "") or type(error).__name__
    return first.strip().rstrip(".")


def n_codes(question: Question) -> int:
    """Return the number of classes; 0 for a number."""
    return 0 if question.is_number else int(np.max(question.values)) + 1


def with_lead(
    answers: Sequence[FoldAnswers],
    folds: Sequence[FoldResult],
    name: str,
    *,
    n_questions: int,
    is_number: bool,
) -> list[FoldAnswers]:
    """Return the answers with those of the family that leads, from its own outer folds."""
    found = []
    for place, one in enumerate(answers):
        own = sorted((each for each in folds if each.fold == place), key=lambda e: e.question)
        broken = next((each.failure for each in own if each.failure), "")
        if broken or len(own) != n_questions:
            reason = broken.partition(": ")[2].rstrip(".") or "it was not asked"
            found.append(replace(one, failures={name: reason, **one.failures}))
            continue
        value = own[0].prediction if is_number else joint_shares(own)
        size = together(each.size for each in own if each.size is not None)
        columns = {column for each in own for column in each.columns}
        told = Told(value, size, len(columns), sum(each.seconds for each in own))
        found.append(replace(one, told={name: told, **one.told}))
    return found


def tempered_answers(answers: Sequence[FoldAnswers], question: Question) -> list[FoldAnswers]:
    """Return answers in which no model is too sure.

    The rows of a fold are tempered by what the other folds ask for, a model of all rows by all.
    """
    found, codes = list(answers), np.asarray(question.values).astype(np.intp)
    names = () if question.is_number or len(answers) < 2 else answers[0].told
    for name in names:
        folds = [one.told[name] for one in found if name in one.told]
        if name == GUESSING.name or len(folds) < len(found) or any(one.sure for one in folds):
            continue
        rows = [(told.value, codes[one.test]) for told, one in zip(folds, found, strict=True)]
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
