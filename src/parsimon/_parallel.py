"""Many calls of one function, here or in workers, with the same bits either way.

Workers are processes of this machine, or those of a cluster: `on_cluster`, or any backend of joblib
that is set around a call. Nothing else calls joblib, threadpoolctl or Dask.
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Self, TypeVar

from parsimon._deadline import Deadline, is_late
from parsimon.exceptions import InvalidInputError, MissingDependencyError

T = TypeVar("T")

# Seconds in which a scheduler must answer.
_PATIENCE = 10


class Workers:
    """Runs calls in order; a context that keeps its workers. BLAS has one thread in all.

    n_jobs: As in joblib; where that means one worker, calls are made in this process.
    ahead: Calls handed out in advance for each worker; with 1 a call begins only when a worker
        is free for it, so that a deadline is seen soon.
    threads: Whether threads will do: for calls that share large arrays and release the lock.
    """

    def __init__(
        self,
        n_jobs: int | None = 1,
        *,
        ahead: int = 2,
        threads: bool = False,
    ) -> None:
        self._n_workers = n_workers(n_jobs)
        self._options: dict[str, Any] = {
            "n_jobs": n_jobs,
            "pre_dispatch": f"{ahead}*n_jobs",
            "batch_size": 1 if ahead == 1 else "auto",
            "prefer": "threads" if threads else None,
            "return_as": "generator",
        }
        self._stack = ExitStack()
        self._parallel: Any = None

    def __enter__(self) -> Self:
        self._stack.enter_context(one_thread())
        if self._n_workers != 1:
            self._parallel = self._stack.enter_context(_runner(self._options))
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def map(
        self,
        function: Callable[..., T],
        calls: Iterable[tuple[Any, ...]],
        *,
        deadline: Deadline = None,
    ) -> Iterator[T]:
        """Yield the results; calls that would begin after the deadline are not made."""
        timely = (call for call in calls if not is_late(deadline))
        if self._parallel is None:
            yield from (_in_worker(function, call) for call in timely)
            return
        from joblib import delayed

        # A call is one tuple, which Dask sends whole: what it spreads by itself is lost with the
        # worker that holds it.
        yield from self._parallel(delayed(_in_worker)(function, call) for call in timely)


# Cells, counted for each question, of which a fast report is done before workers have started.
_FEW_CELLS = 10_000


def is_done_alone(n_questions: int, n_cells: int) -> bool:
    """Return whether a fast report is quicker without workers."""
    return n_questions == 1 or n_questions * n_cells <= _FEW_CELLS


@contextmanager
def early_workers(n_jobs: int | None, module: str) -> Iterator[None]:
    """Let the workers of this machine start and import a module while this process goes on."""
    count = n_workers(n_jobs)
    if count == 1:
        yield
        return
    from joblib import delayed

    begun = _runner({"n_jobs": count, "return_as": "generator"})(
        delayed(_import)(module) for _ in range(count)
    )
    try:
        yield
    finally:
        list(begun)


def _import(module: str) -> None:
    import_module(module)


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

    # Workers that have grown large are replaced by new ones, which is no reader's concern.
    warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given")
    try:
        return Parallel(**options)
    except ValueError:
        # Some backends (multiprocessing, Ray) hand back results only when all are there.
        return Parallel(**options | {"return_as": "list"})


def _in_worker(function: Callable[..., T], call: tuple[Any, ...]) -> T:
    """Make a call; what it would share out in its turn (Dask would) stays in this process.

    Threads that add up a forest's trees as they come would change the last digits.
    """
    from joblib import parallel_config

    with one_thread(), parallel_config(backend="sequential"):
        return function(*call)


def one_thread() -> Any:
    """Return a context in which linear algebra runs on one thread."""
    return _thread_pools(len(sys.modules)).limit(limits=1)


@lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> Any:  # noqa: ARG001 - looks again after new imports
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Let all workers inside be those of a Dask cluster; without an address change nothing.

    address: Of the scheduler, such as "tcp://10.0.0.5:8786", or the file that it wrote.
    """
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingDependencyError(
            "A cluster needs Dask; install it with: pip install 'parsimon[dask]'."
        ) from error
    from joblib import parallel_config

    with _connected(Client, address) as client:
        _check_workers(client)
        with parallel_config(backend="dask"):
            yield


def _connected(client: Any, address: str) -> Any:
    is_file = Path(address).is_file()
    try:
        return client(**{"scheduler_file" if is_file else "address": address}, timeout=_PATIENCE)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InvalidInputError(
            f"No Dask scheduler answers at {address}; start one with: dask scheduler."
        ) from error


def _check_workers(client: Any) -> None:
    """Refuse a cluster whose workers would give other results, or none."""
    threads = client.nthreads()
    if not threads:
        raise InvalidInputError(
            "The cluster has no workers; start some with: dask worker ADDRESS --nthreads 1."
        )
    for worker, n_threads in threads.items():
        if n_threads > 1:
            raise InvalidInputError(
                f"The worker {worker} makes {n_threads} calls at a time in one process; start it "
                f"with: dask worker ADDRESS --nworkers {n_threads} --nthreads 1."
            )
    for worker, found in client.run(_versions, on_error="return").items():
        if found != _versions():
            seen = "no parsimon" if isinstance(found, Exception) else f"parsimon {found}"
            raise InvalidInputError(
                f"The worker {worker} has {seen} and this process {_versions()}; install the same "
                "versions on both."
            )


def _versions() -> str:
    """Return what results depend on, as a text."""
    from importlib.metadata import version

    from parsimon import __version__

    found = (f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    return ", ".join([__version__, *found])
