"""When work must end: a time limit becomes a moment once, and every loop asks for that moment.

A deadline is a moment of the monotonic clock, which all processes of a machine share, or None
where there is no limit.
"""

import time
from typing import TypeAlias

Deadline: TypeAlias = float | None


def end_after(seconds: float | None) -> Deadline:
    """Return the moment at which so many seconds will be over; None for no limit."""
    return None if seconds is None else time.monotonic() + seconds


def is_late(deadline: Deadline) -> bool:
    """Return whether the deadline has come."""
    return deadline is not None and time.monotonic() >= deadline


def time_left(deadline: Deadline, share: float = 1.0, *, least: float = 0.0) -> float | None:
    """Return a share of the seconds that are left, `least` at least; None without a limit."""
    return None if deadline is None else max(least, share * (deadline - time.monotonic()))
