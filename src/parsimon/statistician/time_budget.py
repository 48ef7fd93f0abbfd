"""How many seconds of a time limit are left for each part of an analysis."""

import time
from dataclasses import dataclass, field


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
