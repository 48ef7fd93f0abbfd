"""All models on the same outer folds: who is best, who is level with it, and which is simplest.

`run_contenders` fits every contender to the training part of every fold, with the table prepared
anew inside it; `compared` measures all of them, and the family that leads, on the rows outside.
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsimon._parallel import Workers, n_workers
from parsimon._progress import Progress
from parsimon._typing import AnyArray, Array, Indices
from parsimon.evaluation.folds import OuterPart
from parsimon.evaluation.row_intervals import (
    Bounds,
    difference_bounds,
    ratio_bounds,
    share_bounds,
)
from parsimon.report.figures import error_against_size
from parsimon.report.findings import ComparedModel, Interval, ModelComparison, Picture, Task
from parsimon.statistician.asked_table import ReadTable
from parsimon.statistician.families import (
    ModelSize,
    Question,
    columns_of,
    model_size,
    together,
)
from parsimon.statistician.families.contenders import (
    GUESSING,
    MOST_COLUMNS,
    Contender,
    Setting,
    class_shares,
)
from parsimon.statistician.finished_work import NOTHING_KEPT, FinishedWork
from parsimon.statistician.outer_folds import FoldResult, joint_shares
from parsimon.statistician.table_model import TableModel

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.statistician.prepare import Preparer, Screener

# A share of the commonest class from which errors are too rare to tell models apart.
_COMMON = 0.8
# No model is taken to be surer than this.
_SURE = 1e-6
# One standard error to each side of a normal deviate.
_ONE_ERROR = 0.6827
_NO_TIME = "there was no time left for it"
# What a fit is taken to cost of the time for a fold before the first of its kind.
_UNKNOWN_COST = 0.2


class Told(NamedTuple):
    """What a model says of rows outside its training part.

    value (m, c) or (m,): Probabilities of all classes, or numbers.
    columns: Columns of the table that it uses.
    seconds: For the fit and the prediction.
    sure: Whether it only calls classes, without a probability.
    """

    value: Array
    size: ModelSize
    columns: int
    seconds: float
    sure: bool = False


@dataclass(frozen=True, eq=False)
class FoldAnswers:
    """What all models say of the rows outside one training part, and why some say nothing."""

    test: Indices
    told: Mapping[str, Told] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """A part of a table as contenders see it."""

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


def run_contenders(
    contenders: Sequence[Contender],
    question: Question,
    parts: Sequence[OuterPart],
    seed: np.random.SeedSequence,
    *,
    n_jobs: int | None = 1,
    time_limit: float | None = None,
    done: Callable[[int], object] = lambda _: None,
    kept: FinishedWork = NOTHING_KEPT,
) -> list[FoldAnswers]:
    """Fit all contenders to every training part, and predict the rows outside.

    With a limit those that come too late say nothing in that fold, and are not asked in later
    ones. What an earlier run has `kept` is not fitted again.
    """
    workers = min(n_workers(n_jobs), max(1, len(parts)))
    deadline = None if time_limit is None else time.monotonic() + time_limit
    calls = {
        (place,): (question, part, child)
        for place, (part, child) in enumerate(zip(parts, seed.spawn(len(parts)), strict=True))
    }
    found: dict[tuple[int, ...], FoldAnswers] = kept.read("compare", calls)
    left = [place for place in calls if place not in found]
    # With a limit one round of folds after another, since each teaches what the next can afford.
    size = max(1, len(left) if deadline is None else workers)
    rounds = [left[at : at + size] for at in range(0, len(left), size)]
    done(len(found))
    with Workers(workers) as pool:
        for number, places in enumerate(rounds):
            limit = None
            if deadline is not None:
                limit = max(0.0, deadline - time.monotonic()) / (len(rounds) - number)
            late, costs = _learnt(found.values())
            asked = ((tuple(contenders), *calls[place], limit, late, costs) for place in places)
            for place, one in zip(places, pool.map(_ask, asked), strict=True):
                found[place] = one
                kept.write("compare", place, one)
                done(len(found))
    return [found[place] for place in calls]


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
    contenders: Sequence[Contender],
    question: Question,
    part: OuterPart,
    seed: np.random.SeedSequence,
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
        table = PreparedTable.of(question.at(part.train))
        outside = table.numbers(question.table.iloc[part.test])
    except Exception as error:  # noqa: BLE001 - whatever it is, the report goes on
        return FoldAnswers(part.test, {}, {one.name: _reason(error) for one in contenders})
    for contender, child in zip(contenders, seed.spawn(len(contenders)), strict=True):
        name = contender.name
        # Guessing and one model are always asked: of fewer there is nothing to say.
        if limit is not None and len(told) >= 2:
            ready = time.monotonic() - started + costs.get(name, _UNKNOWN_COST * limit)
            if ready > limit or name in late:
                failures[name] = _NO_TIME
                continue
        try:
            told[name] = _told(contender, table, outside, question.task, n_classes, child)
        except Exception as error:  # noqa: BLE001 - a user's estimator may raise anything
            failures[name] = _reason(error)
    return FoldAnswers(part.test, told, failures)


def _told(
    contender: Contender,
    table: PreparedTable,
    outside: "pd.DataFrame",
    task: Task,
    n_classes: int,
    seed: np.random.SeedSequence,
) -> Told:
    started = time.process_time()
    refused = contender.refuses(Setting.of(table.X, table.values, task, seed))
    if refused:
        raise _RefusedError(refused)
    model = contender.fit(table.X, table.values, task, seed)
    sure = False
    if n_classes:
        value, gives = class_shares(model, outside, n_classes)
        sure = not gives
    else:
        value = np.asarray(model.predict(outside), dtype=np.float64).reshape(len(outside))
    if not np.isfinite(value).all():
        raise _RefusedError("it predicted what is no finite number")
    size = model_size(model, n_rows=len(table.values), n_columns=table.X.shape[1])
    columns = columns_of(size.used, table.columns)
    return Told(value, size, columns, time.process_time() - started, sure)


class _RefusedError(Exception):
    """A contender says why it does not answer."""


def _reason(error: Exception) -> str:
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


@dataclass(frozen=True, eq=False)
class _Losses:
    """What each row outside costs one model, over all folds, and what the model is.

    wrong (n,): 1 for a wrong class, or the squared miss.
    surprise (n,): Minus the log probability of the class; NaN for a number, and for what gives no
        probabilities.
    """

    name: str
    wrong: Array
    surprise: Array
    told: tuple[Told, ...]

    @property
    def size(self) -> ModelSize:
        """That of the middle fold."""
        return sorted((one.size for one in self.told), key=lambda one: one.bits)[
            (len(self.told) - 1) // 2
        ]

    @property
    def columns(self) -> int:
        """Columns of the table that it uses in the middle fold."""
        return sorted(one.columns for one in self.told)[(len(self.told) - 1) // 2]

    @property
    def seconds(self) -> float:
        """Mean time of a fit."""
        return float(np.mean([one.seconds for one in self.told]))


def compared(
    answers: Sequence[FoldAnswers],
    contenders: Sequence[Contender],
    question: Question,
    *,
    lead: Contender | None = None,
    whole_folds: bool = False,
) -> ModelComparison | None:
    """Measure all models that answered in every fold; None with fewer than two of them.

    With `whole_folds` the rows of a fold stand or fall together, as relatives do.

    The best has the least error, or the least log loss where one class is so common that hardly
    any answer is wrong. Level with it is what these rows cannot tell from it: the 95 % interval
    of the paired difference holds zero. The smallest of those within one paired standard error is
    recommended, except for guessing where a model has surely learnt something, and for what is
    surer than its errors allow.
    """
    known = {one.name: one for one in (*((lead,) if lead else ()), *contenders)}
    names = [name for name in known if all(name in one.told for one in answers)]
    if len(answers) < 2 or len(names) < 2:
        return None
    measured = [_losses(name, answers, question) for name in names]
    units = None
    if whole_folds:
        units = np.repeat(np.arange(len(answers)), [len(one.test) for one in answers])
    yard = _Yardstick.of(measured, question, units)
    best = min(measured, key=lambda one: (yard.loss(one), one.size.bits))
    near = [one for one in measured if yard.is_near(one, best)]
    fit = [one for one in near if yard.is_fit(one)] or [best]
    smallest = min(fit, key=lambda one: (one.size.bits, yard.loss(one)))
    models = [
        _compared_model(one, known[one.name], yard, best=best, recommended=one is smallest)
        for one in sorted(measured, key=lambda one: (yard.loss(one), one.size.bits))
    ]
    return ModelComparison(
        models=tuple(models), metric=yard.metric, left_out=tuple(_left_out(answers, known, names))
    )


def _losses(name: str, answers: Sequence[FoldAnswers], question: Question) -> _Losses:
    wrong, surprise = [], []
    for one in answers:
        told, truth = one.told[name], np.asarray(question.values)[one.test]
        if question.is_number:
            wrong.append((truth - told.value) ** 2)
            surprise.append(np.full(len(truth), np.nan))
            continue
        codes = truth.astype(np.intp)
        wrong.append((called_codes(told.value) != codes).astype(np.float64))
        own = np.maximum(told.value[np.arange(len(codes)), codes], _SURE)
        surprise.append(np.full(len(codes), np.nan) if told.sure else -np.log(own))
    every = tuple(one.told[name] for one in answers)
    return _Losses(name, np.concatenate(wrong), np.concatenate(surprise), every)


def called_codes(shares: Array) -> Indices:
    """Return the class that is called: of two the second from one half on, else the likeliest."""
    if shares.shape[1] == 2:
        second: Indices = (shares[:, 1] >= 0.5).astype(np.intp)
        return second
    likeliest: Indices = np.argmax(shares, axis=1)
    return likeliest


@dataclass(frozen=True, eq=False)
class _Yardstick:
    """By what models are compared.

    metric: "error", "log loss" or "variance left".
    guess: What guessing costs; None if it could not be measured.
    beaten: Whether a model is surely better than guessing.
    units (n,): Rows of one unit stand or fall together; None if each is one of its own.
    """

    metric: str
    guess: _Losses | None
    beaten: bool = False
    units: Indices | None = None

    @classmethod
    def of(
        cls, measured: Sequence[_Losses], question: Question, units: Indices | None = None
    ) -> "_Yardstick":
        """Choose the metric, and ask whether anything beats guessing."""
        guess = next((one for one in measured if one.name == GUESSING.name), None)
        metric = "variance left" if question.is_number else "error"
        if not question.is_number:
            counts = np.bincount(np.asarray(question.values, dtype=np.intp))
            metric = "log loss" if counts.max() > _COMMON * counts.sum() else "error"
        if guess is None:
            return cls(metric, None, units=units)
        by = cls("variance left" if question.is_number else "log loss", guess, units=units)
        known = [one for one in measured if one is not guess and math.isfinite(by.loss(one))]
        beaten = any(by.difference(guess, one).low > 0 for one in known)
        return cls(metric, guess, beaten, units)

    def rows(self, one: _Losses) -> Array:
        """Return the loss of each row, (n,); what gives no probabilities has no log loss."""
        if self.metric != "log loss":
            return one.wrong
        return np.where(np.isnan(one.surprise), -math.log(_SURE) * one.wrong, one.surprise)

    def loss(self, one: _Losses) -> float:
        """Return the mean loss of a model."""
        return float(np.mean(self.rows(one)))

    def difference(self, one: _Losses, other: _Losses, confidence: float = 0.95) -> Bounds:
        """Return by how much one is worse than another on the same rows."""
        if one is other:
            return Bounds(0.0, 0.0, 0.0)
        more = self.rows(one) - self.rows(other)
        if self.metric == "error":
            return difference_bounds(more, self.units, confidence=confidence)
        unit = self._unit
        scale = float(np.mean(self.rows(other))) / unit
        if self.units is None:
            return difference_bounds(more / unit, scale=scale, confidence=confidence)
        # Of a few units of very different losses the ratio is far steadier than the difference.
        ratio = ratio_bounds(self.rows(one), self.rows(other), self.units, confidence=confidence)
        return Bounds(*(scale * (end - 1.0) for end in ratio))

    def is_near(self, one: _Losses, best: _Losses) -> bool:
        """Return whether a model is within one paired standard error of the best."""
        return self.difference(one, best, _ONE_ERROR).low <= 0

    @property
    def _unit(self) -> float:
        """The mean squared miss of guessing for a number, so that losses are shares of it."""
        if self.metric != "variance left" or self.guess is None:
            return 1.0
        return float(np.mean(self.guess.wrong)) or 1.0

    def error(self, one: _Losses) -> Bounds:
        """Return the error of a model: a share of rows, or of what guessing leaves."""
        if self.metric != "variance left":
            return share_bounds(one.wrong, self.units)
        guess = None if self.guess is None else self.guess.wrong
        return ratio_bounds(one.wrong, guess, self.units)

    def is_fit(self, one: _Losses) -> bool:
        """Return whether a model may be recommended, whatever its size."""
        if one is self.guess:
            return not self.beaten
        if self.metric == "variance left" or self.guess is None or np.isnan(one.surprise).any():
            return True
        return float(np.mean(one.surprise)) <= float(np.mean(self.guess.surprise))


def _compared_model(
    one: _Losses, contender: Contender, yard: _Yardstick, *, best: _Losses, recommended: bool
) -> ComparedModel:
    difference = yard.difference(one, best)
    n = one.columns
    return ComparedModel(
        name=one.name,
        family=contender.family,
        words=contender.words,
        error=_interval(yard.error(one)),
        log_loss=float(np.mean(one.surprise)),
        difference=_interval(difference),
        variables=n,
        size=one.size.bits,
        size_words=f"{n:,} {'variable' if n == 1 else 'variables'}, {one.size.words}",
        seconds=one.seconds,
        is_best=one is best,
        is_level=difference.low <= 0,
        is_near=yard.is_near(one, best),
        recommended=recommended,
        key=contender.key,
    )


def _left_out(
    answers: Sequence[FoldAnswers], known: Mapping[str, Contender], names: Sequence[str]
) -> list[tuple[str, str]]:
    """Return who did not answer in every fold, and why."""
    found = []
    for name in known:
        if name not in names:
            reasons = [one.failures[name] for one in answers if name in one.failures]
            found.append((name, reasons[0] if reasons else "it did not answer"))
    return found


def _interval(bounds: Bounds) -> Interval:
    return Interval(estimate=bounds.estimate, low=bounds.low, high=bounds.high)


def compare_on_folds(
    contenders: Sequence[Contender],
    searched: Mapping[Contender, Sequence[FoldResult]],
    asked: ReadTable,
    parts: Sequence[OuterPart],
    seed: np.random.SeedSequence,
    *,
    n_jobs: int | None = 1,
    time_limit: float | None = None,
    verbose: bool = False,
    kept: FinishedWork = NOTHING_KEPT,
) -> tuple[ModelComparison | None, tuple[Picture, ...], Sequence[FoldAnswers]]:
    """Ask everyone on the outer folds, and compare; nothing without folds.

    Those that were `searched` have answered before, by searches of their own.
    """
    if len(parts) < 2 or not contenders:
        return None, (), ()
    question = asked.questions[0]
    with Progress("Comparing", total=len(parts), verbose=verbose) as progress:
        answers = run_contenders(
            contenders,
            question,
            parts,
            seed,
            n_jobs=n_jobs,
            time_limit=time_limit,
            done=lambda done: progress.update(done, note="all models on the outer folds"),
            kept=kept,
        )
    for one, folds in searched.items():
        answers = with_lead(
            answers,
            folds,
            one.name,
            n_questions=len(asked.questions),
            is_number=question.is_number,
        )
    found = compared(answers, (*searched, *contenders), question)
    if found is None:
        return None, (), answers
    picture = comparison_picture(found)
    return replace(found, picture=picture.name), (picture,), answers


def comparison_picture(comparison: ModelComparison) -> Picture:
    """Draw all models: errors against sizes."""
    from parsimon.statistician.study import picture_of

    axes = error_against_size(comparison)
    return picture_of("models", axes, "Errors of all models against their sizes")


def fitted_contender(
    contender: Contender,
    question: Question,
    seed: np.random.SeedSequence,
    *,
    classes: Sequence[str],
    row: ComparedModel | None = None,
) -> TableModel:
    """Return a contender fitted to all rows, as a model that takes tables as they are.

    Its honest error, if known from the comparison, gives numbers their standard deviation.
    """
    table = PreparedTable.of(question)
    deviation = None
    if question.is_number:
        share = 1.0 if row is None else row.error.estimate
        deviation = math.sqrt(share * float(np.var(table.values)))
    model: Any = contender.fit(table.X, table.values, question.task, seed)
    made = TableModel(
        table.preparer,
        table.screener,
        [getattr(model, "best_estimator_", model) if _is_search(model) else model],
        tuple(classes),
        question.target,
        deviation=deviation,
    )
    return made.having_seen(table.X)


def _is_search(model: Any) -> bool:
    """Return whether a model is a search over options, whose result is all that is kept."""
    return hasattr(model, "best_estimator_") and hasattr(model, "cv_results_")
