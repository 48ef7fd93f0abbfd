"""The search over kernels as a family among others: its options, and what it is asked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import Task
from parsimon.statistician.families.family import Family, Question

if TYPE_CHECKING:
    from parsimon.statistician.families.gp._kernel_fit import KernelFit
    from parsimon.statistician.seen_tables import PreparedTable

# What a search over kernels may minimise, as `KernelSearch` has it.
Guide: TypeAlias = Literal["cv_error", "cv_logloss", "loo_logloss", "nlml", "bic"]
Choice: TypeAlias = Literal["supported", "one_se", "least_error"]
# Cells from which larger kernels than those of two parts cost more than all else together.
_LARGE = 10_000


@dataclass(frozen=True, kw_only=True)
class KernelSearchFamily(Family):
    """Searches over kernels; the options are those of `KernelSearch`.

    depth: Most base kernels; None for `usual_depth`, or the number of variables if less; for two
        where many rows of many variables are searched. What is supported may be larger.
    n_folds: On which kernels are judged; fewer where a class or the table is small, and three where
        many rows of many variables are searched.
    refits: Whether each fold has hyperparameters of its own.
    chosen_only: Whether nothing but what is supported is looked for.
    """

    name: str = "kernel search"
    key: str = "gp"
    kind: str = "gp"
    words: str = "a Gaussian process of the parts that the report describes"
    depth: int | None = None
    usual_depth: int = 4
    beam: int = 2
    base: tuple[str, ...] = ("se",)
    guide: Guide = "cv_logloss"
    choose: Choice = "supported"
    n_folds: int = 5
    refits: bool = True
    chosen_only: bool = False

    @property
    def searches(self) -> bool:
        """Whether it keeps a time limit of its own: it does."""
        return True

    def briefly(self) -> "KernelSearchFamily":
        """Return the family that finds the same kernel and nothing beside it.

        Other rules than `supported` compare all kernels, so that all have to be there. What is
        supported needs no folds to be chosen, unless each column has several base kernels.
        """
        if self.choose != "supported":
            return self
        return replace(self, chosen_only=True, n_folds=2 if len(self.base) == 1 else self.n_folds)

    def fit(
        self,
        seen: "PreparedTable",  # type: ignore[override]
        seed: np.random.SeedSequence,
        *,
        time_limit: float | None = None,
    ) -> "KernelFit":
        """Look for the kernels that predict best, of several classes for each against the rest."""
        from parsimon.statistician.families.gp._kernel_fit import fit_kernels

        return fit_kernels(self, seen, seed, time_limit)

    def search(
        self, question: Question, *, seed: np.random.SeedSequence, time_limit: float | None = None
    ) -> Any:
        """Return a fitted `KernelSearch` for one question."""
        from parsimon.gp import KernelSearch

        search = KernelSearch(
            base=self.base,
            depth=self._depth_of(question),
            beam=self.beam,
            guide=self.guide,
            choose=self.choose,
            grow=self._growth,
            cv=_splitter(question.y, question.task, self._folds_of(question)),
            refit=self.refits,
            task=question.task,
            time_limit=time_limit,
            random_state=seed,
        )
        return search.fit(question.X, question.y, structures=question.structures)

    def _depth_of(self, question: Question) -> int:
        """Return the depth of a search; several classes share what one question may cost."""
        if question.n_questions > 1 and self.depth is None and self.choose == "supported":
            return 1
        depth = self.depth_for(question.X.shape[1])
        return min(2, depth) if self.depth is None and self._hurries(question) else depth

    def _folds_of(self, question: Question) -> int:
        """Return the number of folds; those of large tables are large enough."""
        return min(3, self.n_folds) if self._hurries(question) else self.n_folds

    def _hurries(self, question: Question) -> bool:
        return self.choose == "supported" and question.X.size > _LARGE

    @property
    def _growth(self) -> Literal["all", "likely", "supported"]:
        if self.choose != "supported":
            return "all"
        return "supported" if self.chosen_only else "likely"

    def depth_for(self, n_variables: int) -> int:
        """Return the depth of a search over so many variables."""
        return min(self.usual_depth, n_variables) if self.depth is None else self.depth


KERNEL_SEARCH = KernelSearchFamily()


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


def _splitter(y: Array, task: Task, n_folds: int) -> Any:
    """Return the folds of a search: fewer where a class or the table is small."""
    from sklearn.model_selection import KFold, StratifiedKFold

    if task == "regression":
        return KFold(min(n_folds, len(y) // 2), shuffle=True)
    rarest = int(min(y.sum(), len(y) - y.sum()))
    return StratifiedKFold(max(2, min(n_folds, rarest)), shuffle=True)
