"""The search for RVMs that no other beats in true positives, false positives and complexity.

`search` runs Clark's algorithms 2 (no cross-validation), 3 (two archives) and 4 (K folds), or
NSGA-II, on a `Problem`; `Outcome` is what it returns. Read `genome` for the moves, `sweep` for
the thresholds, `schemes` for the ways to judge a candidate, `run` for the loop.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol
from zlib import crc32

import numpy as np

from parsimon._options import check_choice, check_count, check_seconds
from parsimon._random import Seed
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.pareto.checkpoint import Checkpoint, as_checkpoint
from parsimon.rvm.search.ascent import Ascent
from parsimon.rvm.search.candidates import EntryTest
from parsimon.rvm.search.complexity import check_complexity
from parsimon.rvm.search.fitting import Fitter
from parsimon.rvm.search.genome import LOWEST_LEVEL, Moves, levels_of
from parsimon.rvm.search.nsga import Population
from parsimon.rvm.search.outcome import Outcome
from parsimon.rvm.search.partitions import TWO_ARCHIVES, folds_for, halves_for
from parsimon.rvm.search.problem import Problem
from parsimon.rvm.search.run import Limits, Resumable, Run, Stepper, opened
from parsimon.rvm.search.schemes import Evaluator, Judge, OneArchive, TwoArchives
from parsimon.rvm.search.sweep import sweep_of

ALGORITHMS = ("archive", "nsga2", "nsga2_crossover")
# Clark gives 2000 generations for NSGA-II and nothing for the other algorithms.
MAX_ITER = {"archive": 20_000, "nsga2": 2_000, "nsga2_crossover": 2_000}


class Start(Protocol):
    """Where a search may begin: active columns and their precisions, such as a fitted RVM."""

    @property
    def active(self) -> Indices:
        """Columns that are on, shape (m,)."""

    @property
    def alpha(self) -> Array:
        """Their precisions, shape (m,)."""


def search(
    problem: Problem,
    *,
    scheme: str | int | Indices | None = None,
    complexity: str = "active",
    mutations: int = 3,
    start: str | Start | tuple[Indices, Array] = "random",
    thresholds: str | float = "exact",
    fixed_bias: bool = False,
    algorithm: str = "archive",
    population_size: int = 300,
    max_iter: int | None = None,
    max_evaluations: int | None = None,
    stall: int | None = 100,
    time_limit: float | None = None,
    entry: EntryTest | None = None,
    callback: Callable[[Outcome], Any] | None = None,
    checkpoint: Checkpoint | str | Path | None = None,
    verbose: bool = False,
    random_state: Seed = None,
) -> Outcome:
    """Search for models that no other beats in true positives, false positives and complexity.

    Shapes: scheme (n,).

    [1] Clark (2011), Multi-Objective ROC learning for classification, chapter 3.
    """
    check_choice("algorithm", algorithm, ALGORITHMS)
    check_complexity(complexity)
    moves = Moves(
        problem.n_columns,
        most=check_count("mutations", mutations),
        fixed_bias=_checked_bias(fixed_bias, problem),
    )
    size = check_count("population_size", population_size, least=2)
    limits = Limits(
        check_count("max_iter", MAX_ITER[algorithm] if max_iter is None else max_iter, least=0),
        _optional_count("max_evaluations", max_evaluations),
        _optional_count("stall", stall),
        check_seconds("time_limit", time_limit),
    )
    evaluator = Evaluator(Fitter(problem.rows, complexity, problem.has_bias), sweep_of(thresholds))
    file = as_checkpoint(checkpoint)
    settings = {
        "search": f"ParetoRVC {algorithm}",
        "scheme": _scheme_words(scheme),
        "evaluator": f"{complexity}, {evaluator.sweep}",
        "moves": repr(moves),
        "population_size": repr(size) if algorithm != "archive" else "",
        "entry": "" if entry is None else type(entry).__qualname__,
        "problem": _fingerprint(problem),
    }
    resumable = opened(file, settings, random_state)
    judge = _judge(problem, evaluator, scheme, entry, resumable)
    first = _starts(start, moves, 1 if algorithm == "archive" else size, resumable.generator(2))
    run = Run(
        _stepper(algorithm, judge, moves, first, size),
        limits,
        resumable,
        settings=settings,
        checkpoint=file,
        callback=callback,
        verbose=verbose,
    )
    return run.result()


def _optional_count(name: str, value: int | None) -> int | None:
    return None if value is None else check_count(name, value)


def _checked_bias(fixed_bias: bool, problem: Problem) -> bool:
    if fixed_bias and not problem.has_bias:
        raise InvalidInputError("fixed_bias=True needs a design whose column 0 is the bias.")
    return bool(fixed_bias)


def _judge(
    problem: Problem,
    evaluator: Evaluator,
    scheme: Any,
    entry: EntryTest | None,
    resumable: Resumable,
) -> Judge:
    if isinstance(scheme, str):
        check_choice("scheme", scheme, TWO_ARCHIVES)
        if entry is not None:
            raise InvalidInputError(
                f'An entry test needs one archive, but scheme="{scheme}" has two. Use folds.'
            )
        return TwoArchives(problem, evaluator, halves_for(scheme, problem), swap=scheme == "swap")
    folds = None if scheme is None else folds_for(scheme, problem, resumable.generator(0))
    return OneArchive(problem, evaluator, folds=folds, entry=entry)


def _stepper(
    algorithm: str, judge: Judge, moves: Moves, first: list[dict[int, float]], size: int
) -> Stepper:
    if algorithm == "archive":
        return Ascent(judge, moves, first)
    if not isinstance(judge, OneArchive) or judge.has_entry_test:
        raise InvalidInputError(
            "NSGA-II has one population: give it scheme=None or folds, and no entry test."
        )
    return Population(judge, moves, first, size=size, crossover=algorithm == "nsga2_crossover")


def _starts(
    start: Any, moves: Moves, count: int, rng: np.random.Generator
) -> list[dict[int, float]]:
    """Return the genomes to begin with; an RVM without columns is as good as none."""
    singles = moves.singles(count, rng)
    if isinstance(start, str):
        check_choice("start", start, ("random",))
        return singles
    given = start if isinstance(start, tuple) else (start.active, start.alpha)
    active, alpha = np.asarray(given[0]), np.asarray(given[1], dtype=np.float64)
    if active.shape != alpha.shape or (active >= moves.n_columns).any() or (active < 0).any():
        raise InvalidInputError(
            f"start must name columns below {moves.n_columns} and one precision for each of them."
        )
    if not len(active):
        return singles
    genes = dict(zip(active.tolist(), levels_of(alpha), strict=True))
    if moves.fixed_bias:
        genes[0] = LOWEST_LEVEL
    return [genes, *singles[1:]]


def _scheme_words(scheme: Any) -> str:
    return repr(scheme) if np.ndim(scheme) == 0 else f"folds {crc32(np.asarray(scheme).tobytes())}"


def _fingerprint(problem: Problem) -> str:
    arrays = (problem.design, problem.labels, problem.weights)
    return " ".join(str(crc32(np.ascontiguousarray(array).tobytes())) for array in arrays)
