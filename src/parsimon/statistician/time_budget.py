"""How many seconds of a time limit are left for each part of an analysis."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")

# Of what is left when the models are compared: for findings and figures. The rest is for files.
_DESCRIBING = 0.6


def _now() -> float:
    return time.monotonic()


@dataclass(frozen=True)
class TimeBudget:
    """Seconds that a whole analysis may take, counted from the moment it is made.

    limit: None for no limit.
    last_steps: What is kept for that which follows the models: findings, figures, files.
    """

    limit: float | None
    last_steps: float = 0.0
    started: float = field(default_factory=_now)

    @classmethod
    def keeping(cls, limit: float | None, seconds: float, share: float) -> "TimeBudget":
        """Keep so many seconds and that share of the limit for the last steps; half at most."""
        if limit is None:
            return cls(None)
        return cls(limit, min(0.5 * limit, seconds + share * limit))

    def left(self, share: float = 1.0) -> float | None:
        """Return a share of the seconds that models may still take; None without a limit."""
        if self.limit is None:
            return None
        end = self.started + self.limit - self.last_steps
        return max(0.0, share * (end - time.monotonic()))

    def left_to_describe(self, rounds: int = 1) -> float | None:
        """Return the seconds of each of some rounds of describing; None without a limit."""
        if self.limit is None:
            return None
        end = self.started + self.limit
        return max(0.0, _DESCRIBING * (end - time.monotonic()) / max(1, rounds))


class OutOfTimeError(Exception):
    """Raised in place of a step that would end too late."""


class TimedSteps:
    """Makes steps one after another, but none that would end after a limit.

    A step is taken to last as long as the longest so far. It gets what is left as its
    `time_limit`, and what took longer does not count.
    """

    def __init__(self, limit: float | None) -> None:
        self._deadline = None if limit is None else time.monotonic() + limit
        self._longest = 0.0

    def __call__(self, step: Callable[..., T], *given: Any) -> T:
        """Make a step, or raise `OutOfTimeError`."""
        if self._deadline is None:
            return step(*given)
        began = time.monotonic()
        if began + self._longest >= self._deadline:
            raise OutOfTimeError
        made = step(*given, time_limit=self._deadline - began)
        if time.monotonic() >= self._deadline:
            raise OutOfTimeError
        self._longest = max(self._longest, time.monotonic() - began)
        return made
