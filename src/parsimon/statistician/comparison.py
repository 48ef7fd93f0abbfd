"""All models on the same outer folds: who is best, who is level with it, and which is simplest.

`compared` measures all models, and the family that leads, by their answers on the rows outside.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._progress import Progress
from parsimon._typing import Array, Indices
from parsimon.evaluation.folds import OuterPart
from parsimon.evaluation.row_intervals import (
    Bounds,
    difference_bounds,
    ratio_bounds,
    share_bounds,
)
from parsimon.report.figures import error_against_size
from parsimon.report.findings import ComparedModel, Interval, ModelComparison, Picture
from parsimon.statistician.asked_table import ReadTable
from parsimon.statistician.families import ModelSize, Question, model_size, together
from parsimon.statistician.families.contender import Contender
from parsimon.statistician.families.contenders import GUESSING
from parsimon.statistician.finished_work import NOTHING_KEPT, FinishedWork
from parsimon.statistician.fold_answers import (
    FoldAnswers,
    PreparedTable,
    SeenTable,
    Told,
    run_contenders,
    with_lead,
)
from parsimon.statistician.gallery import picture_of
from parsimon.statistician.outer_folds import SURE, FoldResult
from parsimon.statistician.table_model import TableModel

if TYPE_CHECKING:
    pass

# A share of the commonest class from which errors are too rare to tell models apart.
_COMMON = 0.8
# One standard error to each side of a normal deviate.
_ONE_ERROR = 0.6827


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
    least: int = 2,
) -> ModelComparison | None:
    """Measure all models that answered in every fold; None with fewer than `least` of them.

    With `whole_folds` the rows of a fold stand or fall together, as relatives do.

    The best has the least error, or the least log loss where one class is so common that hardly
    any answer is wrong. Level with it is what these rows cannot tell from it: the 95 % interval
    of the paired difference holds zero. The smallest of those within one paired standard error is
    recommended, except for guessing where a model has surely learnt something, and for what is
    surer than its errors allow.
    """
    known = {one.name: one for one in (*((lead,) if lead else ()), *contenders)}
    names = [name for name in known if all(name in one.told for one in answers)]
    if len(answers) < 2 or len(names) < least:
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
        own = row_surprise(told.value, codes)
        surprise.append(np.full(len(codes), np.nan) if told.sure else own)
    every = tuple(one.told[name] for one in answers)
    return _Losses(name, np.concatenate(wrong), np.concatenate(surprise), every)


def row_surprise(shares: Array, codes: Indices) -> Array:
    """Return minus the log probability of each row's own class, (n, c), (n,) -> (n,)."""
    surprise: Array = -np.log(np.maximum(shares[np.arange(len(codes)), codes], SURE))
    return surprise


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
        return np.where(np.isnan(one.surprise), -math.log(SURE) * one.wrong, one.surprise)

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
    return ComparedModel(
        name=one.name,
        family=contender.family,
        words=contender.words,
        error=_interval(yard.error(one)),
        log_loss=float(np.mean(one.surprise)),
        difference=_interval(difference),
        variables=one.columns,
        size=one.size.bits,
        size_words=_made_of(one.columns, one.size),
        seconds=one.seconds,
        is_best=one is best,
        # To the three decimals that are shown: of equal intervals none is called worse.
        is_level=round(difference.low, 3) <= 0,
        is_near=yard.is_near(one, best),
        recommended=recommended,
        key=contender.key,
    )


def _made_of(n_columns: int, size: ModelSize) -> str:
    return f"{n_columns:,} {'variable' if n_columns == 1 else 'variables'}, {size.words}"


def as_fitted(
    found: ModelComparison, models: Mapping[str, TableModel], n_rows: int
) -> ModelComparison:
    """Say of models that were fitted to all rows what those fits are made of.

    Of the others it is what the middle fold has; bits stay those of the folds, which decided.
    """
    rows = []
    for one in found.models:
        if one.name in models:
            n, size = len(models[one.name].columns), _fitted_size(models[one.name], n_rows)
            one = replace(one, variables=n, size_words=_made_of(n, size))
        rows.append(one)
    return replace(found, models=tuple(rows))


def _fitted_size(model: TableModel, n_rows: int) -> ModelSize:
    n, columns = len(model.variables), model.columns
    used = [place for place, one in enumerate(model.variables) if one.column in columns]
    return together(model_size(one, n_rows=n_rows, n_columns=n, used=used) for one in model.models)


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
    prepare: Callable[[Question], SeenTable] = PreparedTable.of,
) -> tuple[ModelComparison | None, tuple[Picture, ...], Sequence[FoldAnswers]]:
    """Ask everyone on the outer folds, and compare; nothing without folds.

    Those that were `searched` have answered before, by searches of their own. `prepare` makes of
    rows what contenders see.
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
            prepare=prepare,
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
