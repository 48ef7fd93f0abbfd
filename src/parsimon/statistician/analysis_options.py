"""What a user may choose about an analysis of a table, checked once."""

from dataclasses import dataclass
from functools import cached_property
from typing import get_args

from parsimon._checks import check_choice, check_count, check_seconds
from parsimon._parallel import n_workers
from parsimon.exceptions import InvalidInputError
from parsimon.statistician.families import Family
from parsimon.statistician.families.kernel_search import (
    KERNEL_SEARCH,
    Choice,
    Guide,
    KernelSearchFamily,
)
from parsimon.statistician.families.registered import FAMILIES, Rivals, chosen_families
from parsimon.statistician.folds import FAST_FOLDS

USUAL_DEPTH, FAST_DEPTH = 4, 2


@dataclass(frozen=True, kw_only=True)
class AnalysisOptions:
    """What a user may choose about an analysis.

    depth: Most base kernels; None for 4, or 2 with `fast`, or the number of variables if less.
    beam, base, guide, choose: As in `KernelSearch`.
    outer: Outer folds; 0 for none, None for the usual number.
    n_jobs: Processes, as in joblib; the result does not depend on it.
    time_limit: Seconds for everything.
    fast: A shallow search that no outer folds repeat; plain models alone are compared.
    families, rivals: Who is asked, on the same outer folds.
    """

    depth: int | None = None
    beam: int = 2
    base: tuple[str, ...] = ("se",)
    guide: Guide = "cv_logloss"
    choose: Choice = "supported"
    outer: int | None = None
    seed: int = 0
    n_jobs: int | None = -1
    time_limit: float | None = None
    fast: bool = False
    verbose: bool = False
    families: tuple[str, ...] = FAMILIES
    rivals: Rivals = "all"

    def __post_init__(self) -> None:
        self.everyone  # noqa: B018 - says what is not known before anything is searched
        if self.depth is not None:
            check_count("depth", self.depth)
        check_count("beam", self.beam)
        if self.outer is not None:
            check_count("outer", self.outer, least=0)
        check_count("seed", self.seed, least=0)
        if self.outer == 1:
            raise InvalidInputError("outer must be 0 or at least 2 folds, got 1.")
        check_choice("guide", self.guide, get_args(Guide))
        check_choice("choose", self.choose, get_args(Choice))
        check_seconds("time_limit", self.time_limit)
        n_workers(self.n_jobs)  # refuses none

    @property
    def n_outer(self) -> int | None:
        """Outer folds that everyone answers on; None for the usual number."""
        return 0 if self.fast else self.outer

    @cached_property
    def everyone(self) -> tuple[Family, ...]:
        """All that are asked; the search over kernels has these options."""
        found = chosen_families(self.families, self.rivals)
        return tuple(self.kernels if one is KERNEL_SEARCH else one for one in found)

    @property
    def on_table(self) -> tuple[Family, ...]:
        """Those that search the table itself, and have a section of their own."""
        return tuple(one for one in self.everyone if one.searches)

    @property
    def on_folds(self) -> tuple[Family, ...]:
        """Those that answer on outer folds; of a fast report the plain ones."""
        return chosen_families((), self.rivals) if self.fast else self.everyone

    @property
    def kernels(self) -> KernelSearchFamily:
        """The search over kernels."""
        return KernelSearchFamily(
            depth=self.depth,
            usual_depth=FAST_DEPTH if self.fast else USUAL_DEPTH,
            beam=self.beam,
            base=self.base,
            guide=self.guide,
            choose=self.choose,
            n_folds=FAST_FOLDS if self.fast else 5,
            refits=not self.fast,
        )
