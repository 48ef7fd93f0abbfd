"""One kernel more, judged after a search as the search judged its own."""

import hashlib
from collections.abc import Hashable

import numpy as np

from parsimon._workers import one_thread
from parsimon.exceptions import InvalidInputError
from parsimon.gp.beam import measure_folds, measure_whole
from parsimon.gp.candidates import Candidate, candidate_of, count_base
from parsimon.gp.grammar import active_columns
from parsimon.gp.history import SearchHistory
from parsimon.gp.judging import Problem, Start
from parsimon.gp.search_memory import Failed
from parsimon.kernels import Kernel, structure


class Judge:
    """Fits a kernel to all rows and to each fold, from its own hyperparameters.

    What the search has cross-validated, or what was judged before, is not fitted again.

    problem: Of the search.
    history: What the search has measured.
    base: Base kernels of the search, for kernels that act on all columns.
    seed: Of the search; restarts depend on it and on the kernel's structure, not on the order
        in which kernels are judged.
    """

    def __init__(
        self,
        problem: Problem,
        history: SearchHistory,
        base: tuple[Kernel, ...],
        seed: np.random.SeedSequence,
    ) -> None:
        self._problem = problem
        self._guide = history.guide
        self._noise = history.best.noise_variance
        self._base = base
        self._seed = seed
        self._known: dict[Hashable, Candidate] = {
            structure(one.kernel): one for one in history.cross_validated
        }

    def __call__(self, kernel: Kernel) -> Candidate:
        """Return what was measured of the kernel; a fit that breaks down is said in it."""
        if not isinstance(kernel, Kernel):
            raise InvalidInputError(f"Only a kernel can be judged, got {type(kernel).__name__}.")
        if not kernel.is_psd:
            raise InvalidInputError(
                f"{kernel} is not positive semi-definite, so that no Gaussian process has it as "
                "its covariance. Judge another kernel."
            )
        key = structure(kernel)
        if key not in self._known:
            # Several threads round otherwise, and are slower on matrices of this size.
            with one_thread():
                self._known[key] = self._measured(kernel)
        return self._known[key]

    def _measured(self, kernel: Kernel) -> Candidate:
        start = Start(noise_variance=self._noise)
        whole = measure_whole(self._problem, kernel, start, self._seed_of(kernel))
        if isinstance(whole, Failed):
            return self._failed(kernel, whole)
        folded = measure_folds(self._problem, whole)
        if isinstance(folded, Failed):
            return self._failed(kernel, folded)
        return candidate_of(
            whole,
            folded,
            guide=self._guide,
            depth=count_base(kernel),
            parent=None,
            columns=active_columns(kernel, self._base),
            n_rows=len(self._problem.y),
        )

    def _failed(self, kernel: Kernel, failed: Failed) -> Candidate:
        return Candidate(
            kernel=kernel,
            depth=count_base(kernel),
            parent=None,
            columns=active_columns(kernel, self._base),
            message=failed.message,
        )

    def _seed_of(self, kernel: Kernel) -> np.random.SeedSequence:
        digest = hashlib.sha256(repr(structure(kernel)).encode()).digest()
        words = np.frombuffer(digest[:16], dtype=np.uint32).tolist()
        return np.random.SeedSequence(self._seed.entropy, spawn_key=(*self._seed.spawn_key, *words))
