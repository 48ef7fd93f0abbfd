"""What a user may choose about an analysis, checked once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from parsimon.exceptions import InvalidInputError
from parsimon.gp._kernel_evaluation import Guide

# A fit to this many rows still takes less than a second, and a search needs hundreds of them.
SEARCHED_ROWS = 1500
SEARCHED_VARIABLES = 20
FAST_DEPTH = 2


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a user may choose about an analysis.

    depth: Most base kernels; None for 4, or 2 with `fast`, or the number of variables if less.
    beam, base, guide: As in `KernelSearch`.
    outer: Outer folds that run the whole search again; 0 for none.
    n_jobs: Processes, as in joblib; the result does not depend on it.
    time_limit: Seconds for the searches, divided among them.
    fast: No outer folds, a shallow search, no comparison of interactions.
    """

    depth: int | None = None
    beam: int = 2
    base: tuple[str, ...] = ("se",)
    guide: Guide = "cv_error"
    outer: int = 5
    seed: int = 0
    n_jobs: int | None = -1
    time_limit: float | None = None
    fast: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        _check_whole("depth", self.depth, least=1, none=True)
        _check_whole("beam", self.beam, least=1)
        _check_whole("outer", self.outer, least=0)
        _check_whole("seed", self.seed, least=0)
        if self.outer == 1:
            raise InvalidInputError("outer must be 0 or at least 2 folds, got 1.")
        if self.guide not in get_args(Guide):
            raise InvalidInputError(
                f"guide must be one of {', '.join(get_args(Guide))}; got {self.guide!r}."
            )
        if self.time_limit is not None and not self.time_limit > 0:
            raise InvalidInputError(f"time_limit must be positive seconds, got {self.time_limit}.")

    @property
    def n_outer(self) -> int:
        """Outer folds that will be run."""
        return 0 if self.fast else self.outer

    def depth_for(self, n_variables: int) -> int:
        """Return the depth of a search over so many variables."""
        usual = FAST_DEPTH if self.fast else 4
        return min(usual, n_variables) if self.depth is None else self.depth


def as_base(base: str | Sequence[str]) -> tuple[str, ...]:
    """Return names of base kernels from a sequence, or from one text with commas."""
    names = base.split(",") if isinstance(base, str) else list(base)
    found = tuple(dict.fromkeys(name.strip().lower() for name in names if name.strip()))
    known = ("se", "per", "lin", "matern", "rq")
    unknown = [name for name in found if name not in known]
    if unknown or not found:
        seen = repr(unknown[0]) if unknown else "nothing"
        raise InvalidInputError(f"base must name kernels among {', '.join(known)}; got {seen}.")
    return found


def _check_whole(name: str, value: Any, *, least: int, none: bool = False) -> None:
    if none and value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInputError(
            f"{name} must be a whole number of at least {least}, got {value!r}."
        )
