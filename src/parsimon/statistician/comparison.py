"""All models on the same outer folds: who is best, who is level with it, and which to use.

`compare_on_folds` asks everyone, `compared` measures them by their answers on the rows outside.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsimon._progress import Progress
from parsimon._typing import Array, Indices
from parsimon.evaluation.folds import OuterPart
from parsimon.evaluation.recommending import (
    KEPT,
    LIKELY,
    PROVED,
    SURE,
    TOLERANCE,
    beats_chance,
    probably_worse,
)
from parsimon.evaluation.row_intervals import (
    Bounds,
    difference_bounds,
    ratio_bounds,
    share_bounds,
    unit_sums,
)
from parsimon.report.figures import error_against_size
from parsimon.report.findings import ComparedModel, ModelComparison, Picture
from parsimon.statistician.asked_table import ReadTable
from parsimon.statistician.families._size import ModelSize, model_size, total_size
from parsimon.statistician.families.family import Family, Fitted, Question, SeenTable
from parsimon.statistician.families.plain import GUESSING
from parsimon.statistician.folds import FoldAnswers, Prepare, Told, run_folds, tempered_answers
from parsimon.statistician.gallery import picture_of
from parsimon.statistician.measure import as_interval
from parsimon.statistician.seen_tables import PreparedTable
from parsimon.statistician.table_model import TableModel
from parsimon.structures.shuffled_targets import shuffled_p_value

if TYPE_CHECKING:
    import pandas as pd

# A share of the commonest class from which errors are too rare to tell models apart.
_COMMON = 0.8
# A part of what guessing loses below which a loss is none.
_EXACT = 1e-9
# A tempered slope below which a model says nothing.
_CONSTANT = 0.05
# One standard error to each side of a normal deviate.
_ONE_ERROR = 0.6827
# A probability under chance below which some column predicts, and orders that tell it.
_CHANCE, _ORDERS = 0.01, 1000


@dataclass(frozen=True, eq=False)
class _Losses:
    """What each row outside costs one model, over all folds, and what the model is.

    wrong (n,): 1 for a wrong class, or the squared miss.
    surprise (n,): Minus the log probability of the class, or the squared miss.
    """

    name: str
    wrong: Array
    surprise: Array
    told: tuple[Told, ...]

    @property
    def log_loss(self) -> float:
        """Mean log loss of classes; NaN for numbers, and for what gives no probabilities."""
        known = self.told[0].value.ndim > 1 and not any(told.sure for told in self.told)
        return float(np.mean(self.surprise)) if known else math.nan

    @property
    def size(self) -> ModelSize:
        """That of the middle fold."""
        return sorted((told.size for told in self.told), key=lambda size: size.bits)[
            (len(self.told) - 1) // 2
        ]

    @property
    def columns(self) -> int:
        """Columns of the table that it uses in the middle fold."""
        return sorted(told.columns for told in self.told)[(len(self.told) - 1) // 2]

    @property
    def is_constant(self) -> bool:
        """Whether it says the same of all rows, or is tempered until it does."""
        return not self.columns or self.told[0].slope < _CONSTANT

    @property
    def seconds(self) -> float:
        """Mean time of a fit."""
        return float(np.mean([told.seconds for told in self.told]))


def compared(
    answers: Sequence[FoldAnswers],
    families: Sequence[Family],
    question: Question,
    *,
    whole_folds: bool = False,
    least: int = 2,
    certain: bool = False,
    by_errors: bool = False,
) -> ModelComparison | None:
    """Measure all models that answered in every fold; None with fewer than `least` of them.

    With `whole_folds` the rows of a fold stand or fall together, as relatives do. `certain` says
    that a claim is beyond doubt, so that guessing cannot be right. `by_errors` takes wrong answers
    for the yardstick of classes, unless they are rare.

    The best has the least log loss, or squared error. Level with it is what these rows cannot tell
    from it: the 95 % interval of the paired difference holds zero. `evaluation.recommending` says
    which is recommended; never guessing where a claim is certain, or a model better beyond chance.
    """
    known = {family.name: family for family in families}
    names = [name for name in known if all(name in fold.told for fold in answers)]
    if len(answers) < 2 or len(names) < least:
        return None
    measured = [_losses(name, answers, question) for name in names]
    units = None
    if whole_folds:
        units = np.repeat(np.arange(len(answers)), [len(fold.test) for fold in answers])
    yard = _Yardstick.of(measured, question, units, by_errors=by_errors)
    # A constant of another name is no choice: if that is to be used, it is called guessing.
    fit = [model for model in measured if model is yard.guess or not model.is_constant] or measured
    surely = certain or yard.beaten
    if surely:
        fit = [model for model in fit if model is not yard.guess] or fit
    best = min(measured, key=lambda model: (yard.loss(model), model.size.bits))
    first = top = min(fit, key=lambda model: (yard.loss(model), model.size.bits))
    linear = [model for model in fit if known[model.name].key == "linear" and not by_errors]
    first = next((model for model in linear if yard.worse(model, first) < PROVED), first)
    # Who stands in for the best must not let in what is probably much worse than the best itself.
    near = [
        model
        for model in fit
        if model is first
        or (
            (yard.worse(model, first) < LIKELY or yard.beats(model, first))
            and yard.worse(model, top) < PROVED
            and not (surely and yard.gives_up(model, first))
        )
    ]
    smallest = min(near, key=lambda model: (model.size.bits, yard.loss(model)))
    models = [
        _describe(model, known[model.name], yard, best=best, recommended=model is smallest)
        for model in sorted(measured, key=lambda model: (yard.loss(model), model.size.bits))
    ]
    return ModelComparison(
        models=tuple(models),
        metric=yard.metric,
        left_out=tuple(_list_left_out(answers, known, names)),
    )


def _losses(name: str, answers: Sequence[FoldAnswers], question: Question) -> _Losses:
    every = tuple(fold.told[name] for fold in answers)
    truth = np.concatenate([np.asarray(question.values)[fold.test] for fold in answers])
    value = np.concatenate([told.value for told in every])
    if question.is_number:
        missed = (truth - value) ** 2
        return _Losses(name, missed, missed, every)
    codes = truth.astype(np.intp)
    wrong = (called_codes(value) != codes).astype(np.float64)
    own = value[np.arange(len(codes)), codes]
    if any(told.sure for told in every):
        # What only calls classes is believed as often as it was right.
        rate = (wrong.sum() + 1.0) / (len(wrong) + 2.0)
        own = np.where(wrong == 1, rate / (value.shape[1] - 1), 1.0 - rate)
    return _Losses(name, wrong, -np.log(np.maximum(own, SURE)), every)


def row_surprise(shares: Array, codes: Indices) -> Array:
    """Return minus the log probability of each row's own class, (n, c), (n,) -> (n,)."""
    return -np.log(np.maximum(shares[np.arange(len(codes)), codes], SURE))


def called_codes(shares: Array) -> Indices:
    """Return the class that is called: of two the second from one half on, else the likeliest."""
    if shares.shape[1] == 2:
        return (shares[:, 1] >= 0.5).astype(np.intp)
    return np.argmax(shares, axis=1)


@dataclass(frozen=True, eq=False)
class _Yardstick:
    """By what models are compared.

    metric: "log loss", "variance left", or "error".
    guess: What guessing costs; None if it could not be measured.
    beaten: Whether a model is better than guessing, by the proper loss.
    units (n,): Rows of one unit stand or fall together; None if each is one of its own.
    """

    metric: str
    guess: _Losses | None
    beaten: bool = False
    units: Indices | None = None

    @classmethod
    def of(
        cls,
        measured: Sequence[_Losses],
        question: Question,
        units: Indices | None = None,
        *,
        by_errors: bool = False,
    ) -> "_Yardstick":
        """Choose the metric, and ask whether anything beats guessing."""
        guess = next((model for model in measured if model.name == GUESSING.name), None)
        metric = "variance left" if question.is_number else "log loss"
        if by_errors and not question.is_number:
            counts = np.bincount(np.asarray(question.values, dtype=np.intp))
            metric = "log loss" if counts.max() > _COMMON * counts.sum() else "error"
        if guess is None:
            return cls(metric, None, units=units)
        gains = (guess.surprise - model.surprise for model in measured if model is not guess)
        beaten = any(beats_chance(unit_sums(gain, units)) for gain in gains)
        return cls(metric, guess, beaten, units)

    def rows(self, model: _Losses) -> Array:
        """Return the loss of each row, (n,)."""
        return model.wrong if self.metric == "error" else model.surprise

    def loss(self, model: _Losses) -> float:
        """Return the mean loss of a model."""
        return float(np.mean(self.rows(model)))

    def difference(self, model: _Losses, other: _Losses, confidence: float = 0.95) -> Bounds:
        """Return by how much a model is worse than another on the same rows."""
        if model is other:
            return Bounds(0.0, 0.0, 0.0)
        more = self.rows(model) - self.rows(other)
        if self.metric == "error":
            return difference_bounds(more, self.units, confidence=confidence)
        unit = self._guessed if self.metric == "variance left" else 1.0
        scale = float(np.mean(self.rows(other))) / unit
        if self.units is None:
            return difference_bounds(more / unit, scale=scale, confidence=confidence)
        # Of a few units of very different losses the ratio is far steadier than the difference.
        ratio = ratio_bounds(self.rows(model), self.rows(other), self.units, confidence=confidence)
        return Bounds(*(scale * (end - 1.0) for end in ratio))

    def worse(self, model: _Losses, best: _Losses) -> float:
        """Return how probable it is that a model is much worse than the best."""
        if model is best:
            return 0.0
        gap = self.difference(model, best, _ONE_ERROR)
        unit = max(self.loss(best), _EXACT * self._guessed)
        if self.metric == "variance left":
            unit /= self._guessed
        found = probably_worse(gap.estimate / unit, (gap.high - gap.low) / (2.0 * unit))
        # Beside an all but exact model another may be worse by more than is thought beforehand.
        surely = self.difference(model, best).low > TOLERANCE * unit
        return max(found, 0.975) if surely else found

    def beats(self, model: _Losses, other: _Losses) -> bool:
        """Return whether a model loses less than another; guessing never does."""
        return model is not self.guess and self.loss(model) < self.loss(other)

    def gives_up(self, model: _Losses, best: _Losses) -> bool:
        """Return whether a model loses most of what another gains over guessing."""
        gain = self._guessed - self.loss(best)
        return gain > 0 and self._guessed - self.loss(model) < KEPT * gain

    @property
    def _guessed(self) -> float:
        """The mean loss of guessing; 1 if it is not known or none."""
        return 1.0 if self.guess is None else self.loss(self.guess) or 1.0

    def error(self, model: _Losses) -> Bounds:
        """Return the error of a model: a share of rows, or of what guessing leaves."""
        if self.metric != "variance left":
            return share_bounds(model.wrong, self.units)
        guess = None if self.guess is None else self.guess.wrong
        return ratio_bounds(model.wrong, guess, self.units)


def _describe(
    model: _Losses, family: Family, yard: _Yardstick, *, best: _Losses, recommended: bool
) -> ComparedModel:
    difference = yard.difference(model, best)
    return ComparedModel(
        name=model.name,
        family=family.kind,
        words=family.words,
        error=as_interval(yard.error(model)),
        log_loss=model.log_loss,
        difference=as_interval(difference),
        variables=model.columns,
        size=model.size.bits,
        size_words=_made_of(model.columns, model.size),
        seconds=model.seconds,
        is_best=model is best,
        # To the three decimals that are shown: of equal intervals none is called worse.
        is_level=round(difference.low, 3) <= 0,
        worse=yard.worse(model, best),
        recommended=recommended,
        key=family.key,
        slope=model.told[0].slope,
    )


def _made_of(n_columns: int, size: ModelSize) -> str:
    return f"{n_columns:,} {'variable' if n_columns == 1 else 'variables'}, {size.words}"


def as_fitted(
    found: ModelComparison, models: Mapping[str, TableModel], table: "pd.DataFrame"
) -> ModelComparison:
    """Say of models that were fitted to all rows what those fits are made of.

    Of the others it is what the middle fold has; bits stay those of the folds, which decided.
    """
    rows = []
    for model in found.models:
        if model.name in models:
            n, size = len(models[model.name].columns), _fitted_size(models[model.name], table)
            model = replace(model, variables=n, size_words=_made_of(n, size))
        rows.append(model)
    return replace(found, models=tuple(rows))


def _fitted_size(model: TableModel, table: "pd.DataFrame") -> ModelSize:
    n, columns, X = len(model.variables), model.columns, model.numbers(table)
    used = [place for place, variable in enumerate(model.variables) if variable.column in columns]
    return total_size(
        model_size(part, n_rows=len(X), n_columns=n, used=used, X=X) for part in model.models
    )


def _list_left_out(
    answers: Sequence[FoldAnswers], known: Mapping[str, Family], names: Sequence[str]
) -> list[tuple[str, str]]:
    """Return who did not answer in every fold, and why."""
    found = []
    for name in known:
        if name not in names:
            reasons = [fold.failures[name] for fold in answers if name in fold.failures]
            found.append((name, reasons[0] if reasons else "it did not answer"))
    return found


class Compared(NamedTuple):
    """What came of asking everyone: who answered what, and what was fitted to the table.

    comparison: None with fewer than two folds or models.
    """

    comparison: ModelComparison | None
    pictures: tuple[Picture, ...]
    answers: Sequence[FoldAnswers]
    whole: Mapping[str, Fitted]


def compare_on_folds(
    families: Sequence[Family],
    asked: ReadTable,
    parts: Sequence[OuterPart],
    seed: np.random.SeedSequence,
    *,
    verbose: bool = False,
    certain: bool = False,
    by_errors: bool = False,
    prepare: Prepare = PreparedTable.of,
    **options: Any,
) -> Compared:
    """Ask everyone on the outer folds, and compare; nothing without folds.

    `certain` and `by_errors` are as in `compared`, `options` are those of `run_folds`.
    Probabilities that are too sure are tempered, unless errors alone count.
    """
    with Progress("Comparing", total=100, verbose=verbose) as progress:
        answers, whole = run_folds(
            families,
            asked.questions,
            parts,
            seed,
            done=lambda share: progress.update(round(100 * share), note="percent of all fits"),
            prepare=prepare,
            **options,
        )
    question = asked.questions[0]
    if not by_errors:
        answers = tempered_answers(answers, question)
    found = recommended_of(
        answers, families, question, certain=certain, by_errors=by_errors, prepare=prepare
    )
    if found is None:
        return Compared(None, (), answers, whole)
    picture = comparison_picture(found)
    return Compared(replace(found, picture=picture.name), (picture,), answers, whole)


def recommended_of(
    answers: Sequence[FoldAnswers],
    families: Sequence[Family],
    question: Question,
    *,
    least: int = 2,
    certain: bool = False,
    by_errors: bool = False,
    prepare: Prepare = PreparedTable.of,
) -> ModelComparison | None:
    """Compare, and look once more at the columns before guessing is recommended."""
    asked: dict[str, Any] = {"least": least, "by_errors": by_errors}
    found = compared(answers, families, question, certain=certain, **asked)
    if found is None or found.recommended.family != GUESSING.kind or by_errors:
        return found
    certain = _has_signal(prepare([question]), question)
    return compared(answers, families, question, certain=True, **asked) if certain else found


def _has_signal(table: SeenTable, question: Question) -> bool:
    """Return whether some column alone predicts beyond chance."""
    targets = np.asarray(question.values, dtype=np.float64)[:, None]
    if not question.is_number:
        targets = (targets == np.unique(targets)).astype(np.float64)
    columns = table.X.to_numpy(dtype=np.float64)
    return shuffled_p_value([(columns, targets)], n_orders=_ORDERS) < _CHANCE


def comparison_picture(comparison: ModelComparison) -> Picture:
    """Draw all models: errors against sizes."""
    axes = error_against_size(comparison)
    return picture_of("models", axes, "Errors of all models against their sizes")
