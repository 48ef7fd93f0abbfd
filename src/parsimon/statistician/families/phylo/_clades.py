"""Errors on species that a model was not fitted to: whole clades, and beside it random folds."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from parsimon._parallel import n_workers
from parsimon._typing import Array, Indices
from parsimon.evaluation import corrected_t_interval
from parsimon.evaluation.folds import OuterPart
from parsimon.exceptions import InvalidInputError
from parsimon.phylo import CladeKFold
from parsimon.report.findings import Interval, ModelComparison
from parsimon.report.findings.trait_findings import (
    CALLED,
    CladeError,
    Judged,
    ModelName,
    SpeciesFinding,
)
from parsimon.statistician.comparison import compared
from parsimon.statistician.families.family import Family, Prediction, Question
from parsimon.statistician.families.phylo._regressions import (
    fit_regression,
    interval,
    regression_size,
    regressions,
)
from parsimon.statistician.families.phylo._species import Traits
from parsimon.statistician.families.plain import GUESSING
from parsimon.statistician.finished_work import NOTHING_KEPT, FinishedWork
from parsimon.statistician.folds import FoldAnswers, run_folds
from parsimon.statistician.seen_tables import UnchangedTable

_SPECIES_A_FOLD, _FEWEST, _MOST = 8, 3, 10
# Cells of the table from which on processes pay.
_WORTH_PROCESSES = 20_000
# Of a time limit: for the folds of regressions on the tree; rivals have the rest.
_JUDGING, _FEWEST_JUDGED = 0.65, 2
# How much longer a fit of another fold may take than the first.
_SLOWER = 1.3
_NO_TIME = "The time limit left no time for it."
Fold = tuple[Indices, Indices]


@dataclass(frozen=True, eq=False)
class Judgement:
    """Errors, or why there are none; and in how many clade folds each feature was kept.

    models: Those that were judged; `answers` is what they say of species without their clades, and
        `clades` are these folds.
    """

    error: CladeError | None
    failure: str
    kept: dict[str, int]
    models: Sequence[ModelName] = ()
    answers: Sequence[FoldAnswers] = ()
    clades: Sequence[Fold] = ()


def usual_folds(n: int) -> int:
    """Return the number of folds: one for each eight species, from 3 to 10."""
    return min(_MOST, max(_FEWEST, n // _SPECIES_A_FOLD))


def check_folds(folds: int, n: int) -> None:
    """Refuse a number of folds that cannot be."""
    if folds != 0 and not 2 <= folds <= n:
        raise InvalidInputError(
            f"folds must be 0, for none, or between 2 and the {n} species that are fitted; got "
            f"{folds}."
        )


def judge(
    traits: Traits,
    leading: ModelName,
    folds: int,
    seed: np.random.SeedSequence,
    step: Callable[[str], None],
    *,
    n_jobs: int | None = 1,
    finished: FinishedWork = NOTHING_KEPT,
    time_limit: float | None = None,
) -> Judgement:
    """Judge all models that these species allow, on the same folds.

    With a limit there are as many folds as there is time for.
    """
    from sklearn.model_selection import KFold

    X, n_jobs = traits.X, _worth(traits, n_jobs)
    families = regressions(traits.tree, features=bool(X.shape[1]))
    names = [cast(ModelName, family.key) for family in families]
    if time_limit is not None:
        folds = _affordable_folds(traits, families, folds, time_limit, n_workers(n_jobs))
    if folds < _FEWEST_JUDGED:
        return Judgement(None, _NO_TIME, {})
    clades = list(CladeKFold(traits.tree, folds).split(X))
    shuffle = KFold(folds, shuffle=True, random_state=int(seed.generate_state(1)[0]))
    shuffled = list(shuffle.split(X))
    results, _ = run_folds(
        families,
        [trait_question(traits)],
        [OuterPart(0, number, *fold) for number, fold in enumerate((*clades, *shuffled))],
        seed,
        n_jobs=n_jobs,
        done=lambda share: step("folds") if share else None,
        kept=finished.under("folds", folds),
        stage="regressions",
        prepare=UnchangedTable.of,
    )
    outside, failed, kept = _outside(traits, names, results[:folds])
    beside, also, _ = _outside(traits, names, results[folds:])
    # Only models that can be judged in both ways are: else the columns could not be compared.
    failed = {**also, **failed}
    if leading in failed:
        return Judgement(None, failed[leading], {})
    good = [name for name in names if name not in failed]
    y: Array = np.asarray(traits.y, dtype=np.float64)
    error = CladeError(
        n_folds=folds,
        clades=_judged(y, clades, {name: outside[name] for name in good}, leading),
        random=_judged(y, shuffled, {name: beside[name] for name in good}, leading),
        species=_species(traits, outside[leading], clades),
        leak=_leak(y, outside[leading], beside[leading], clades),
        failures=tuple(failed.items()),
    )
    return Judgement(error, "", dict(kept), models=good, answers=results[:folds], clades=clades)


def _affordable_folds(
    traits: Traits, families: Sequence[Family], folds: int, time_limit: float, workers: int
) -> int:
    """Return on how many folds the models can be judged, by how long one fit of all of them takes.

    Those of a fold are fitted twice: without its clades, and without random species.
    """
    started = time.monotonic()
    first = next(CladeKFold(traits.tree, folds).split(traits.X))
    question, seed, part = (
        trait_question(traits),
        np.random.SeedSequence(0),
        OuterPart(0, 0, *first),
    )
    run_folds(families, [question], [part], seed, prepare=UnchangedTable.of)
    seconds = max(1e-3, time.monotonic() - started)
    fits = (_JUDGING * time_limit - seconds) / (_SLOWER * seconds)
    return min(folds, int(workers * fits / 2))


def compare_regressions(
    traits: Traits,
    judged: Judgement,
    rivals: Sequence[Family],
    seed: np.random.SeedSequence,
    *,
    n_jobs: int | None = 1,
    done: Callable[[float], object] = lambda _: None,
    finished: FinishedWork = NOTHING_KEPT,
    time_limit: float | None = None,
) -> ModelComparison | None:
    """Compare regressions on the tree with guessing and plain rivals on the same unseen clades.

    Rivals get the same features and no tree. Species of a fold stand or fall together.
    """
    names = [name for name in judged.models if name != "mean"]
    if len(judged.clades) < 2:
        return None
    answers, _ = run_folds(
        (GUESSING, *rivals),
        [trait_question(traits)],
        [OuterPart(0, number, *fold) for number, fold in enumerate(judged.clades)],
        seed,
        n_jobs=_worth(traits, n_jobs),
        time_limit=time_limit,
        done=done,
        kept=finished.under("folds", len(judged.clades)),
    )
    sizes = {name: _measure_size(name, traits) for name in names}
    answers = [
        replace(
            fold,
            told={
                **{CALLED[name]: own.told[CALLED[name]]._replace(**sizes[name]) for name in names},
                **fold.told,
            },
        )
        for own, fold in zip(judged.answers, answers, strict=True)
    ]
    own = [family for family in regressions(traits.tree) if family.key in names]
    known = (*own, GUESSING, *rivals)
    return compared(answers, known, trait_question(traits), whole_folds=True)


def _measure_size(name: ModelName, traits: Traits) -> dict[str, Any]:
    """Return size, number of columns and seconds of a regression of all species, as in `Told`."""
    started = time.process_time()
    fitted = fit_regression(name, traits.tree, traits.X, traits.y)
    seconds = time.process_time() - started
    size = regression_size(fitted, [str(name) for name in traits.X.columns], len(traits.y))
    columns = [traits.columns[place] for place in size.used]
    return {"size": size, "columns": len(set(columns)), "seconds": seconds}


def trait_question(traits: Traits) -> Question:
    """Return what is asked about a trait: its value for species with all features."""
    return Question(
        table=traits.X,
        X=traits.X,
        y=traits.y,
        values=traits.y,
        task="regression",
        target=traits.table.target,
        rows=np.arange(1, len(traits.y) + 1),
        seed=np.random.SeedSequence(0),
    )


def _outside(
    traits: Traits, names: Sequence[ModelName], results: Sequence[FoldAnswers]
) -> tuple[dict[ModelName, Prediction], dict[ModelName, str], Counter[str]]:
    """Return predictions outside the training parts, models that failed, features that stayed."""
    n = len(traits.y)
    found = {name: Prediction(np.full(n, np.nan), np.full(n, np.nan)) for name in names}
    failed: dict[ModelName, str] = {}
    kept: Counter[str] = Counter()
    for fold in results:
        for name in names:
            if CALLED[name] in fold.failures:
                failed.setdefault(name, f"{fold.failures[CALLED[name]]}.")
                continue
            told = fold.told[CALLED[name]]
            kept.update(told.questions[0].variables if name == "phyrvm" else ())
            found[name].value[fold.test] = told.value
            found[name].reach[fold.test] = np.nan if told.reach is None else told.reach
    return found, failed, kept


def _worth(traits: Traits, n_jobs: int | None) -> int | None:
    """Return the number of processes: one where starting more takes longer than the fits."""
    return n_jobs if traits.X.size >= _WORTH_PROCESSES else 1


def _judged(
    y: Array, folds: Sequence[Fold], found: dict[ModelName, Prediction], leading: ModelName
) -> tuple[Judged, ...]:
    squares = {name: (y - outside.value) ** 2 for name, outside in found.items()}
    total, leader = float(squares["mean"].sum()), squares[leading]
    # The gain over the mean is one planned question; of the other models the best is picked out,
    # so that their differences must hold together (Bonferroni).
    together = 1.0 - 0.05 / max(1, len(squares) - 2)
    return tuple(
        Judged(
            model=name,
            rmse=_over_folds(partial(_root, own), folds, least=0.0),
            difference=None
            if name == leading
            else _over_folds(
                partial(_gap, own, leader), folds, confidence=0.95 if name == "mean" else together
            ),
            explained=float(1.0 - own.sum() / total),
            coverage=_coverage(y, found[name]),
        )
        for name, own in squares.items()
    )


def _leak(y: Array, clades: Prediction, random: Prediction, folds: Sequence[Fold]) -> Interval:
    """Return how much larger the error of unseen clades is than that of random folds."""
    squares, others = ((y - outside.value) ** 2 for outside in (clades, random))
    return _over_folds(partial(_gap, squares, others), folds)


def _root(squares: Array, rows: Indices) -> float:
    return float(np.sqrt(np.mean(squares[rows])))


def _gap(squares: Array, others: Array, rows: Indices) -> float:
    return _root(squares, rows) - _root(others, rows)


def _coverage(y: Array, found: Prediction) -> float:
    if np.isnan(found.reach).any():
        return float("nan")
    return float(np.mean(np.abs(y - found.value) <= found.reach))


def _over_folds(
    statistic: Callable[[Indices], float],
    folds: Sequence[Fold],
    *,
    least: float = -np.inf,
    confidence: float = 0.95,
) -> Interval:
    """Return a statistic of all species, and an interval by leaving one fold out at a time.

    Folds have different sizes, and a root mean square is no mean: the jackknife makes one number
    of each fold, and their corrected t interval is centred on the statistic.
    """
    tests = [test for _, test in folds]
    everything = np.concatenate(tests)
    whole, k = statistic(everything), len(folds)
    parts = [statistic(np.setdiff1d(everything, test)) for test in tests]
    pseudo = k * whole - (k - 1) * np.array(parts)
    n_test = len(everything) / k
    n_train = len(everything) - n_test
    low, high = corrected_t_interval(pseudo, n_train=n_train, n_test=n_test, confidence=confidence)
    half = 0.5 * (high - low)
    return interval(whole, max(whole - half, least), whole + half)


def _species(
    traits: Traits, found: Prediction, folds: Sequence[Fold]
) -> tuple[SpeciesFinding, ...]:
    number = np.zeros(len(traits.y), dtype=np.intp)
    for place, (_, test) in enumerate(folds, start=1):
        number[test] = place
    rows = zip(traits.y.index, traits.y, found.value, found.reach, number, strict=True)
    return tuple(
        SpeciesFinding(
            tip=str(tip),
            observed=float(observed),
            predicted=interval(mean, mean - half, mean + half),
            fold=int(fold),
        )
        for tip, observed, mean, half, fold in rows
    )
