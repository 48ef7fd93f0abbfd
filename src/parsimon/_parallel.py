"""Many calls of one function, here or in processes, with the same bits either way."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import lru_cache
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Workers:
    """Runs calls in order; a context that keeps its processes. BLAS has one thread in all.

    n_jobs: As in joblib; 1 works in this process without it.
    """

    def __init__(self, n_jobs: int | None = 1) -> None:
        self._n_jobs = n_jobs
        self._stack = ExitStack()
        self._parallel: Any = None

    def __enter__(self) -> Self:
        self._stack.enter_context(one_thread())
        if self._n_jobs != 1:
            from joblib import Parallel

            # Two at a time for each worker, so that a deadline is seen soon.
            self._parallel = self._stack.enter_context(
                Parallel(n_jobs=self._n_jobs, return_as="generator", pre_dispatch="2*n_jobs")
            )
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
        """Yield the results in order; calls that would begin after the deadline are not made."""
        timely = (call for call in calls if deadline is None or time.monotonic() < deadline)
        if self._parallel is None:
            yield from (function(*call) for call in timely)
            return
        from joblib import delayed

        yield from self._parallel(delayed(_on_one_thread)(function, call) for call in timely)


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
