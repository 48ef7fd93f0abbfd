"""Loops that numba turns into machine code where it is installed, with the extra `fast`.

Mark a function of plain loops over arrays, and call it like any other:

    @compiled
    def add_up(values: Array) -> float: ...

    @compiled(plain=numpy_form)
    def another(values: Array) -> float: ...

Without numba the function runs as it is written, or `plain` does what it does with NumPy. numba is
imported at the first call, and what it makes is kept on disk. Marked functions may call each other.
"""

from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from importlib.util import find_spec
from types import FunctionType
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

from parsimon._interrupts import undisturbed

P = ParamSpec("P")
R = TypeVar("R")


@cache
def numba_is_installed() -> bool:
    """Return whether loops are fast here. Call it through this module: the only look-up."""
    return find_spec("numba") is not None


class Compiled(Generic[P, R]):
    """A function of loops: machine code with numba, `plain` without it."""

    def __init__(
        self, loops: Callable[P, R], plain: Callable[P, R] | None, fastmath: Any = False
    ) -> None:
        update_wrapper(self, loops)
        self.loops, self.plain = loops, loops if plain is None else plain
        self._fastmath = fastmath

    def __call__(self, *arguments: P.args, **keywords: P.kwargs) -> R:
        if numba_is_installed():
            return self.machine_code(*arguments, **keywords)
        return self.plain(*arguments, **keywords)

    @cached_property
    def machine_code(self) -> Callable[P, R]:
        """What numba makes of the loops; compiled at its first call, or read from disk."""
        from numba import njit

        own: Any = self.loops
        known = own.__globals__
        # numba must meet the machine code of functions that are called in the loops.
        called = {
            name: known[name].machine_code
            for name in own.__code__.co_names
            if isinstance(known.get(name), Compiled)
        }
        bound = FunctionType(own.__code__, known | called, own.__name__, own.__defaults__)
        made: Any = njit(cache=True, fastmath=self._fastmath)(bound)
        made.compile = _not_cut(made.compile)
        return made


def _not_cut(compile_for: Callable[P, R]) -> Callable[P, R]:
    """Let Ctrl-C wait for numba, which cannot call again what was compiled by halves."""

    def compile_whole(*arguments: P.args, **keywords: P.kwargs) -> R:
        with undisturbed():
            return compile_for(*arguments, **keywords)

    return compile_whole


class _Mark(Protocol):
    def __call__(self, loops: Callable[P, R], /) -> Compiled[P, R]: ...


@overload
def compiled(loops: Callable[P, R]) -> Compiled[P, R]: ...
@overload
def compiled(*, plain: Callable[..., Any] | None = None, fastmath: Any = False) -> _Mark: ...
def compiled(loops: Any = None, *, plain: Any = None, fastmath: Any = False) -> Any:
    """Mark a function of plain loops; `fastmath` is numba's."""
    if loops is not None:
        return Compiled(loops, None)
    return lambda function: Compiled(function, plain, fastmath)
