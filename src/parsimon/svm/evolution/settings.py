"""Which evolution to run: a strategy, how many individuals, when to stop."""

from dataclasses import dataclass
from typing import Any

from parsimon._options import check_choice, check_count, check_positive, check_seconds

STRATEGIES = ("memetic", "gaussian", "switching", "hybrid", "swarm")
PRESETS = (None, "printed")
# (population_size, max_iter, stall); the printed ones are those of Mierswa (2009), section 3.1.
_MEMETIC = (8, 200, 10)
_PLAIN = (10, 1000, 50)
_PRINTED = (10, 1000, 5)


@dataclass(frozen=True)
class Settings:
    """How to evolve a dual.

    printed: Without the equality, and with the source's parameters.
    population_size, max_iter, stall: Individuals; generations at most; generations without a
        better one at which to stop.
    tolerance: Gap at which an exact climb ends.
    time_limit: Seconds.
    """

    strategy: str = "memetic"
    printed: bool = False
    population_size: int = _MEMETIC[0]
    max_iter: int = _MEMETIC[1]
    stall: int = _MEMETIC[2]
    tolerance: float = 1e-3
    time_limit: float | None = None

    @classmethod
    def of(
        cls,
        strategy: str = "memetic",
        *,
        preset: str | None = None,
        population_size: int | None = None,
        max_iter: int | None = None,
        stall: int | None = None,
        tolerance: float = 1e-3,
        time_limit: float | None = None,
    ) -> "Settings":
        """Return checked settings; what is None has the value that suits the strategy."""
        check_choice("strategy", strategy, STRATEGIES)
        check_choice("preset", preset, PRESETS)
        if preset == "printed":
            check_choice('strategy with preset="printed"', strategy, STRATEGIES[1:])
            defaults = _PRINTED
        else:
            defaults = _MEMETIC if strategy == "memetic" else _PLAIN
        return cls(
            strategy,
            preset == "printed",
            _count("population_size", population_size, defaults[0], least=2),
            _count("max_iter", max_iter, defaults[1]),
            _count("stall", stall, defaults[2]),
            check_positive("tolerance", tolerance),
            check_seconds("time_limit", time_limit),
        )


def _count(name: str, value: Any, default: int, *, least: int = 1) -> int:
    return default if value is None else check_count(name, value, least=least)
