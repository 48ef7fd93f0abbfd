"""Many calls of one function, here or in workers, with the same bits either way.

Nothing else calls joblib or threadpoolctl.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import lru_cache
from types import TracebackType
from typing import Any, Self, TypeVar

from parsimon.exceptions import InvalidInputError

T = TypeVar("T")


class Workers:
    """Runs calls in order; a context that keeps its workers. BLAS has one thread in all.

    n_jobs: As in joblib; where that means one worker, calls are made in this process.
    ahead: Calls handed out in advance for each worker; with 1 a call begins only when a worker
        is free for it, so that a deadline is seen soon.
    threads: Whether threads will do: for calls that share large arrays and release the lock.
    ordered: Whether results come in the order of the calls; otherwise as they are ready.
    """

    def __init__(
        self,
        n_jobs: int | None = 1,
        *,
        ahead: int = 2,
        threads: bool = False,
        ordered: bool = True,
    ) -> None:
        self._n_workers = n_workers(n_jobs)
        self._options: dict[str, Any] = {
            "n_jobs": n_jobs,
            "pre_dispatch": f"{ahead}*n_jobs",
            "batch_size": 1 if ahead == 1 else "auto",
            "prefer": "threads" if threads else None,
            "return_as": "generator" if ordered else "generator_unordered",
        }
        self._stack = ExitStack()
        self._parallel: Any = None

    def __enter__(self) -> Self:
        self._stack.enter_context(one_thread())
        if self._n_workers != 1:
            self._parallel = self._stack.enter_context(_runner(self._options))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def map(
        self,
        function: Callable[..., T],
        calls: Iterable[tuple[Any, ...]],
        *,
        deadline: float | None = None,
    ) -> Iterator[T]:
        """Yield the results; calls that would begin after the deadline are not made."""
        timely = (call for call in calls if deadline is None or time.monotonic() < deadline)
        if self._parallel is None:
            yield from (function(*call) for call in timely)
            return
        from joblib import delayed

        yield from self._parallel(delayed(_on_one_thread)(function, call) for call in timely)


def n_workers(n_jobs: int | None) -> int:
    """Return how many workers joblib makes of `n_jobs`."""
    if n_jobs == 1:
        return 1
    if n_jobs == 0:
        raise InvalidInputError("n_jobs must not be 0; use 1 for no workers, -1 for all cores.")
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


def _runner(options: dict[str, Any]) -> Any:
    from joblib import Parallel

    try:
        return Parallel(**options)
    except ValueError:
        # Some backends (multiprocessing, Ray) hand back results only when all are there.
        return Parallel(**options | {"return_as": "list"})


def _on_one_thread(function: Callable[..., T], call: tuple[Any, ...]) -> T:
    with one_thread():
        return function(*call)


def one_thread() -> Any:
    """Return a context in which linear algebra runs on one thread."""
    return _thread_pools(len(sys.modules)).limit(limits=1)


@lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> Any:  # noqa: ARG001 - looks again after new imports
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
