"""The search for several classes: the rate of each is an objective, and complexity the last.

A solution is a choice of columns with precisions that all classes share; its weights are the mode
of a multinomial logistic regression, and its operating points are the offsets of `class_sweep`.
Moves, loop and checkpoints are those of the search for two classes; what differs is the judge.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from scipy.special import softmax

from parsimon._checks import check_choice, check_count, check_seconds
from parsimon._partition import homogeneous_partition
from parsimon._random import Seed
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes._softmax_mode import contrast_hessian, softmax_mode
from parsimon.inference.sparse_bayes._spread import inverse_precision
from parsimon.pareto._checkpoint import Checkpoint, as_checkpoint
from parsimon.pareto.archive import Archive
from parsimon.rvm._entry import EntryTest
from parsimon.rvm._evaluate import Elite, Outcome, Point, Points, elite_arrays, genomes_from
from parsimon.rvm._genome import (
    LARGEST_SCORE,
    SEARCH_TOLERANCE,
    Genome,
    Moves,
    active_count,
    alpha_of,
    check_complexity,
    degrees_of_freedom,
    levels_of,
)
from parsimon.rvm._search import Ascent, Limits, Run, Start, opened
from parsimon.rvm._sweep import ClassSweep, rate_gains

MAX_ITER = 5_000


@dataclass(frozen=True, eq=False)
class ClassProblem:
    """Several classes to be told apart by a few columns of a design.

    design (n, n_columns): All basis functions at all training rows; column 0 is the bias if
        there is one.
    codes (n,): Class of each row, 0 to n_classes - 1, all of them present.
    weights (n,): How many times each row counts, in the fit and in the rates.
    inputs (n, d): What the design was computed from: homogeneous folds walk through them.
    """

    design: Array
    codes: Indices
    n_classes: int
    has_bias: bool
    weights: Array
    inputs: Array


def class_search(
    problem: ClassProblem,
    *,
    scheme: int | Indices | None = None,
    complexity: str = "active",
    mutations: int = 3,
    start: str | Start = "random",
    thresholds: str | float = "exact",
    fixed_bias: bool = False,
    max_iter: int | None = None,
    stall: int | None = 100,
    time_limit: float | None = None,
    entry: EntryTest | None = None,
    checkpoint: Checkpoint | str | Path | None = None,
    verbose: bool = False,
    random_state: Seed = None,
) -> Outcome:
    """Search for models that no other beats in the rates of all classes and in complexity.

    Shapes: scheme (n,).
    """
    check_complexity(complexity)
    sweep = ClassSweep(problem.n_classes, thresholds)
    moves = Moves(
        problem.design.shape[1],
        most=check_count("mutations", mutations),
        fixed_bias=fixed_bias and problem.has_bias,
    )
    limits = Limits(
        check_count("max_iter", MAX_ITER if max_iter is None else max_iter, least=0),
        None,
        stall if stall is None else check_count("stall", stall),
        check_seconds("time_limit", time_limit),
    )
    file = as_checkpoint(checkpoint)
    settings = {
        "search": f"ParetoRVC of {problem.n_classes} classes",
        "scheme": "None" if scheme is None else str(np.asarray(scheme).tolist()),
        "evaluator": f"{complexity}, {sweep}",
        "moves": repr(moves),
        "entry": repr(None if entry is None else type(entry).__qualname__),
        "problem": _fingerprint(problem),
    }
    resumable = opened(file, settings, random_state)
    folds = _folds(scheme, problem, resumable.generator(0))
    judge = ClassJudge(problem, sweep, complexity, folds=folds, entry=entry)
    first = _first(start, moves, resumable.generator(2))
    outcome = Run(
        ClassAscent(judge, moves, first),
        limits,
        resumable,
        settings=settings,
        checkpoint=file,
        verbose=verbose,
    ).result()
    return replace(outcome, cutoffs=-sweep.offsets(outcome.cutoffs))


def class_complexity(
    name: str,
    active: list[int],
    alpha: Array,
    *,
    has_bias: bool,
    design: Array,
    scores: Array,
    weights: Array,
) -> float:
    """Return the complexity of a model whose classes share their precisions.

    Shapes: alpha (m,), design (n, m), scores (n, n_classes), weights (n,).
    """
    if name == "active":
        return float(active_count(active, has_bias=has_bias))
    if name == "degrees_of_freedom":
        return degrees_of_freedom(alpha)
    hessian = contrast_hessian(design, softmax(scores, axis=1), alpha, weights)
    precision = np.tile(alpha, scores.shape[1] - 1)
    covariance = inverse_precision(hessian)[0]
    if name == "gammas":
        return float(np.sum(1.0 - precision * np.diagonal(covariance)))
    return float(np.sum(covariance * (hessian - np.diag(precision))))


class ClassElite(Elite):
    """An archive whose objectives are the rates of all classes, then the complexity."""

    def __init__(self, n_classes: int) -> None:
        super().__init__()
        names = [*(f"rate {k}" for k in range(n_classes)), "complexity"]
        self._archive = Archive(names, maximise=names[:-1])

    def admitted(self, test: EntryTest, rates: Array, complexity: Array) -> Mask:
        values, points = self.members()
        known = np.array([point.rates for point in points])
        return test.admits(rates, complexity, known, values[:, -1])


class ClassJudge:
    """Fits genomes with the softmax likelihood and offers all their operating points."""

    def __init__(
        self,
        problem: ClassProblem,
        sweep: ClassSweep,
        complexity: str,
        *,
        folds: Indices | None = None,
        entry: EntryTest | None = None,
    ) -> None:
        self._problem, self._sweep, self._complexity = problem, sweep, complexity
        self._entry = entry
        self._gains = rate_gains(problem.codes, problem.weights, folds, problem.n_classes)
        if folds is None:
            self._held = np.ones((1, len(problem.codes)), dtype=np.bool_)
            self._training = problem.weights[None]
        else:
            self._held = folds == np.arange(folds.max() + 1)[:, None]
            self._training = problem.weights * ~self._held
        self.elite = ClassElite(problem.n_classes)
        self.n_evaluations = 0

    @property
    def parents(self) -> Elite:
        return self.elite

    @property
    def elites(self) -> tuple[Elite, ...]:
        return (self.elite,)

    def begin(self, rng: np.random.Generator) -> None:
        """Do nothing: the folds are given."""

    def consider(
        self,
        levels: dict[int, float],
        parent: Genome | None,
        rng: np.random.Generator,  # noqa: ARG002 - other judges split the rows again
    ) -> bool:
        self.n_evaluations += 1
        genome, scores, complexity = self.fit(levels, parent)
        numbers, rates = self._sweep(scores, self._problem.codes, self._gains)
        values = np.column_stack([rates, np.full(len(rates), complexity)])
        if self._entry is None:
            return self.elite.offer(self.n_evaluations, lambda: genome, values, numbers) is not None
        fresh = self.elite.undominated(values)
        values, numbers = values[fresh], numbers[fresh]
        if not len(values):
            return False
        predicted = self._sweep.predicted(scores, numbers)
        resampled = self._entry.rates(predicted == self._problem.codes)
        if len(self.elite):
            allowed = self.elite.admitted(self._entry, resampled, values[:, -1])
            values, numbers, resampled = values[allowed], numbers[allowed], resampled[allowed]
        return (
            self.elite.offer(self.n_evaluations, lambda: genome, values, numbers, resampled)
            is not None
        )

    def fit(self, levels: dict[int, float], parent: Genome | None) -> tuple[Genome, Array, float]:
        """Return a fitted genome, the held-out score of each row and class, and complexity."""
        problem, n_classes = self._problem, self._problem.n_classes
        active = sorted(levels)
        ordered = [levels[column] for column in active]
        alpha, design = alpha_of(ordered), problem.design[:, active]
        scores, complexities = np.empty((len(design), n_classes)), []
        # A block of n_classes rows for each fold; the last column is a zero for new columns.
        weights = np.zeros((len(self._held) * n_classes, len(active) + 1))
        begin = _start(active, parent)
        for fold, (held, training) in enumerate(zip(self._held, self._training, strict=True)):
            block = slice(fold * n_classes, (fold + 1) * n_classes)
            mode = softmax_mode(
                design,
                problem.codes,
                n_classes,
                alpha,
                row_weights=training,
                start=None if begin is None else begin[block],
                tolerance=SEARCH_TOLERANCE,
                largest_score=LARGEST_SCORE,
            )
            weights[block, :-1], scores[held] = mode.weights, mode.scores[held]
            complexities.append(
                class_complexity(
                    self._complexity,
                    active,
                    alpha,
                    has_bias=problem.has_bias,
                    design=design,
                    scores=mode.scores,
                    weights=training,
                )
            )
        return Genome(active, ordered, weights), scores, float(np.mean(complexities))

    def to_arrays(self) -> dict[str, AnyArray]:
        return {"n_evaluations": np.array(self.n_evaluations), **elite_arrays(self.elite, "elite")}

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        self.n_evaluations = int(arrays["n_evaluations"])
        own = {name.removeprefix("elite_"): array for name, array in arrays.items()}
        rates = own.get("rates", [None] * len(own["values"]))
        points = [
            Point(int(owner), float(number), row)
            for owner, number, row in zip(own["owners"], own["cutoffs"], rates, strict=True)
        ]
        genomes = dict(zip(own["order"].tolist(), genomes_from(own), strict=True))
        self.elite.restore(own["values"], points, genomes)


class ClassAscent(Ascent):
    """The loop of one archive, whose points have one value for each class."""

    def points(self) -> Points:
        elite = self.judge.parents
        values, points = elite.members()
        place = {number: i for i, number in enumerate(elite.order)}
        return Points(
            values,
            np.array([point.cutoff for point in points], dtype=np.float64),
            np.array([place[point.genome] for point in points], dtype=np.intp),
            [elite.genomes[number] for number in elite.order],
        )


def _start(active: list[int], parent: Genome | None) -> Array | None:
    if parent is None:
        return None
    place = {column: i for i, column in enumerate(parent.active)}
    return parent.weights.take([place.get(column, -1) for column in active], axis=1)


def _first(start: Any, moves: Moves, rng: np.random.Generator) -> list[dict[int, float]]:
    singles = moves.singles(1, rng)
    if isinstance(start, str):
        check_choice("start", start, ("random",))
        return singles
    if not len(start.active):
        return singles
    return [dict(zip(start.active.tolist(), levels_of(start.alpha), strict=True))]


def _folds(scheme: Any, problem: ClassProblem, rng: np.random.Generator) -> Indices | None:
    if scheme is None:
        return None
    if np.ndim(scheme) == 0:
        n_folds = check_count("The number of folds", scheme, least=2)
        return homogeneous_partition(problem.inputs, n_folds, random_state=rng)
    folds = np.asarray(scheme)
    if folds.shape != problem.codes.shape:
        raise InvalidInputError(
            f"There are {len(problem.codes)} rows but the folds have shape {folds.shape}; give "
            "the fold of each row."
        )
    return np.unique(folds, return_inverse=True)[1].astype(np.intp)


def _fingerprint(problem: ClassProblem) -> str:
    arrays = (problem.design, problem.codes, problem.weights)
    return " ".join(str(crc32(np.ascontiguousarray(array).tobytes())) for array in arrays)
