"""Who answers Ctrl-C: what a user called, and nothing inside it.

A fit or a search that is `stoppable` ends with the best so far, and says so, if a user called it.
Done for something else (a fold, an analysis, a command, a worker, scikit-learn's cross-validation)
it lets Ctrl-C pass, so that nothing that was cut is taken for finished. Whatever measures others is
done `as_one_piece`: nothing inside answers for it.
"""

import inspect
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from parsimon.exceptions import InterruptWarning

P = ParamSpec("P")
R = TypeVar("R")

# Those who fit for a purpose of their own, and what of them only hands a call on.
_OTHERS = ("parsimon", "joblib", "sklearn", "distributed")
_HANDING_ON = ("sklearn.base", "sklearn.pipeline", "sklearn.utils")


class Interrupt:
    """The right to answer Ctrl-C, which only what a user called has.

    came: Whether Ctrl-C came, here or earlier in the same call.
    """

    def __init__(self, *, is_users: bool) -> None:
        self._is_users = is_users
        self.came = False

    def answer(self, error: KeyboardInterrupt) -> None:
        """Take note of Ctrl-C, so that its loop ends with what it has; or raise it on."""
        if not self._is_users:
            raise error
        self.came = True


_NOBODYS = Interrupt(is_users=False)
_call: ContextVar[Interrupt] = ContextVar("call", default=_NOBODYS)


def stoppable(function: Callable[P, R]) -> Callable[P, R]:
    """Let a call that a user makes end with the best so far on Ctrl-C.

    The first loop that is cut ends; those that follow in the same call stop after their first step.
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        if not _is_users(inspect.currentframe()):
            return function(*args, **kwargs)
        call = Interrupt(is_users=True)
        token = _call.set(call)
        try:
            found = function(*args, **kwargs)
        finally:
            _call.reset(token)
        if call.came:
            warnings.warn(
                "Stopped by Ctrl-C: this is the best so far.", InterruptWarning, stacklevel=2
            )
        return found

    return called


def _is_users(frame: FrameType | None) -> bool:
    """Return whether nobody but a user's own code is behind the call of a frame."""
    while frame is not None and (frame := frame.f_back) is not None:
        module = str(frame.f_globals.get("__name__"))
        if _is_one_of(module, _OTHERS) and not _is_one_of(module, _HANDING_ON):
            return False
    return True


def _is_one_of(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


@contextmanager
def as_one_piece() -> Iterator[Interrupt]:
    """Let nothing inside answer Ctrl-C but who holds what this gives."""
    call = _call.get()
    token = _call.set(_NOBODYS)
    try:
        yield call
    finally:
        _call.reset(token)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let Ctrl-C wait until something short is done that must not be cut, and all around it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[Any] = []
    usual = signal.signal(signal.SIGINT, lambda *given: came.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if came:
        signal.raise_signal(signal.SIGINT)
