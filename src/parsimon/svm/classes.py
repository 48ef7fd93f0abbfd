"""The machines of all pairs of classes, with probabilities by cross-fitting if asked for."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from parsimon._typing import Array, Indices
from parsimon._workers import Workers
from parsimon.svm.dual import Dual
from parsimon.svm.evolution import Settings
from parsimon.svm.pairs import pairs_of
from parsimon.svm.probability import Slopes, fit_slopes
from parsimon.svm.training import FittedDual, fit_dual

_N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class ClassProblem:
    """Rows of several classes and the kernel matrix among them.

    Shapes: kernel (n, n).

    codes (n,): Classes, counted from 0.
    upper (n,): Bounds of the dual variables.
    concave: Whether the kernel matrix has no negative eigenvalues.
    """

    kernel: Array
    codes: Indices
    upper: Array
    n_classes: int
    concave: bool

    def duals(self, *, equality: bool) -> Iterator[Dual]:
        """Yield the dual of each pair, in the order of `pairs_of`."""
        for pair in pairs_of(self.n_classes):
            own = pair.rows(self.codes)
            whole = len(own) == len(self.codes)
            kernel = self.kernel if whole else self.kernel[np.ix_(own, own)]
            yield Dual(kernel, pair.signs(self.codes[own]), self.upper[own], equality=equality)


class PairFit(NamedTuple):
    """The machine of one pair of classes.

    slopes: Of its probabilities, if they were asked for.
    """

    dual: FittedDual
    slopes: Slopes | None


def fit_pairs(
    problem: ClassProblem,
    settings: Settings,
    seed: np.random.SeedSequence,
    *,
    probability: bool = False,
    n_jobs: int | None = None,
) -> list[PairFit]:
    """Fit every pair of classes, with chance of its own."""
    duals = problem.duals(equality=not settings.printed)
    # A fresh copy: children of the given one would depend on how many it had before.
    fresh = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    children = fresh.spawn(len(pairs_of(problem.n_classes)))
    calls = (
        (dual, settings, problem.concave, child, probability)
        for dual, child in zip(duals, children, strict=True)
    )
    n_workers = 1 if problem.n_classes == 2 else _effective(n_jobs)
    with Workers(n_workers) as workers:
        return list(workers.map(fit_pair, calls))


def fit_pair(
    dual: Dual,
    settings: Settings,
    concave: bool,
    seed: np.random.SeedSequence,
    probability: bool,
) -> PairFit:
    """Fit one pair of classes."""
    own, folds = seed.spawn(2)
    fitted = fit_dual(dual, settings, concave, own)
    if not probability:
        return PairFit(fitted, None)
    decisions = cross_fitted(dual, settings, concave, folds)
    if decisions is None:
        decisions = dual.scores(fitted.solution.alpha, fitted.solution.bias)
    # C is in the bounds of all rows alike, so that they are weights up to a factor.
    weights = dual.upper * (len(dual) / dual.upper.sum())
    return PairFit(fitted, fit_slopes(decisions, dual.signs, weights))


def cross_fitted(
    dual: Dual, settings: Settings, concave: bool, seed: np.random.SeedSequence
) -> Array | None:
    """Return decisions about every row by machines that have not seen it.

    None if a class has a single row, so that none can be left out.
    """
    least = int(min((dual.signs > 0).sum(), (dual.signs < 0).sum()))
    n_folds = min(_N_FOLDS, least)
    if n_folds < 2:
        return None
    shuffle, *seeds = seed.spawn(1 + n_folds)
    rng = np.random.default_rng(shuffle)
    folds = np.empty(len(dual), dtype=np.intp)
    for sign in (-1.0, 1.0):
        members = np.flatnonzero(dual.signs == sign)
        folds[rng.permutation(members)] = np.arange(len(members)) % n_folds
    decisions = np.empty(len(dual))
    for fold, child in enumerate(seeds):
        kept, left = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        part = Dual(
            dual.kernel[np.ix_(kept, kept)], dual.signs[kept], dual.upper[kept], dual.equality
        )
        found = fit_dual(part, settings, concave, child).solution
        signed = found.alpha * part.signs
        decisions[left] = dual.kernel[np.ix_(left, kept)] @ signed + found.bias
    return decisions


def _effective(n_jobs: Any) -> int:
    """Return 1 where joblib would not make processes, which costs nothing then."""
    if n_jobs == 1:
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))
