"""How a search or a learner asks a case base: which earlier features help here.

`helpful_sets` chooses from features that other tasks had; `CaseRecall` says when
`ParetoConstructor` asks, which makes it YAGGA3 (Mierswa 2009, section 10.8).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from parsimon._checks import check_count, check_positive
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.features.case_base import CaseBase, Matching, Neighbour, as_case_base
from parsimon.features.expressions import Expression, coefficient_of, terms_of
from parsimon.features.feature_sets import FeatureProblem, FeatureSet
from parsimon.features.learning_tasks import Case, Task, describe_task
from parsimon.features.operations import FUNCTIONS, OwnFunction

# Most features of a set that is chosen from those of other tasks.
_MOST = 12


# Of a feature that the others explain so little is left.
_EXPLAINED = 1e-9


@dataclass(frozen=True)
class CaseRecall:
    """When and how a search asks a case base.

    Parameters
    ----------
    cases : CaseBase, str or Path
        A folder is enough.
    n_cases : int
        Cases whose features are tried at each look.
    n_candidates : int
        Cases that are nearest by weights, of which these are chosen by their formulas.
    sampling_weight : float
        Of the distance of formulas beside that of weights.
    first, every : int
        The first generation that asks, and the generations from one look to the next. With
        ``first=0`` the search begins with what the case base has.
    mapping : {"names", "assignment"}
        As in `CaseBase.retrieve`.

    Examples
    --------
    >>> recall = CaseRecall(CaseBase(), first=0)
    >>> [generation for generation in range(30) if recall.is_due(generation)]
    [0, 10, 20]
    """

    cases: CaseBase | str | Path
    n_cases: int = 5
    n_candidates: int = 20
    sampling_weight: float = 50.0
    first: int = 5
    every: int = 10
    mapping: Matching = "names"

    def __post_init__(self) -> None:
        for name in ("n_cases", "n_candidates", "every"):
            check_count(name, getattr(self, name))
        check_count("first", self.first, least=0)
        check_positive("sampling_weight", self.sampling_weight, or_zero=True)

    def is_due(self, generation: int) -> bool:
        """Tell whether a generation asks."""
        return generation >= self.first and (generation - self.first) % self.every == 0

    def neighbours(self, task: Case) -> list[Neighbour]:
        """Return the cases nearest to a task by weights and then by formulas."""
        return as_case_base(self.cases).retrieve(
            task,
            self.n_cases,
            method="two_phase",
            n_candidates=self.n_candidates,
            sampling_weight=self.sampling_weight,
            mapping=self.mapping,
        )


GivenCases: TypeAlias = CaseBase | CaseRecall | str | Path | None


class RecalledSets:
    """Proposes sets of features to the search for one problem.

    given: None proposes nothing.
    operations: What formulas may be made of.
    """

    def __init__(
        self,
        given: GivenCases,
        problem: FeatureProblem,
        operations: Sequence[str | OwnFunction],
    ) -> None:
        self.problem, self.operations = problem, tuple(operations)
        self.recall = as_recall(given)
        self._task: Case | None = None

    def __call__(self, generation: int, archive: Sequence[FeatureSet]) -> list[FeatureSet]:
        """Return sets to try beside the children of a generation."""
        if self.recall is None or not self.recall.is_due(generation):
            return []
        best = min(archive, key=self.problem.error, default=self.problem.originals)
        near = self.recall.neighbours(self.task(best))
        offered = [self.usable(found.case) for found in near]
        sets = [*offered, *((*best, *each) for each in offered)]
        everything = [feature for features in sets for feature in features]
        sets += helpful_sets(self.problem, (*self.problem.originals, *everything))
        reduced = (self.problem.reduce(features) for features in sets)
        return [features for features in dict.fromkeys(reduced) if features]

    def task(self, features: Iterable[Expression]) -> Case:
        """Return the problem as a case with these features."""
        if self._task is None:
            self._task = describe_problem(self.problem)
        return replace(self._task, formulas=[str(each) for each in features if each.arguments])

    def usable(self, case: Case) -> tuple[Expression, ...]:
        """Return the features of a case that this problem has the columns and operations for."""
        own = tuple(each for each in self.operations if isinstance(each, OwnFunction))
        functions = () if self.recall is None else as_case_base(self.recall.cases).functions
        allowed = {each for each in self.operations if isinstance(each, str)}
        return tuple(
            each
            for each in case.expressions((*functions, *own))
            if each.columns <= set(self.problem.names) and uses_only(each, allowed, own)
        )


def as_recall(given: GivenCases) -> CaseRecall | None:
    """Return how to ask what a user gave as a case base."""
    if given is None or isinstance(given, CaseRecall):
        return given
    if isinstance(given, CaseBase | str | Path):
        return CaseRecall(as_case_base(given))
    raise InvalidInputError(
        f"case_base must be a CaseBase, a CaseRecall or a folder, got {given!r}."
    )


def describe_problem(problem: FeatureProblem, C: float = 10.0) -> Case:
    """Return the case of a problem, without formulas."""
    task: Task = "classification" if problem.n_classes else "regression"
    return describe_task(problem.X, problem.target, names=problem.names, task=task, C=C)


def uses_only(feature: Expression, allowed: set[str], own: Sequence[OwnFunction]) -> bool:
    """Tell whether a feature is made of these operations alone."""
    for part in feature.parts():
        if part.operation == "own" and part.value not in own:
            return False
        if part.operation in FUNCTIONS and part.operation not in allowed:
            return False
        if part.operation == "power" and int(part.value) < 0 and "/" not in allowed:  # type: ignore[arg-type]
            return False
    return True


def split_sums(features: Iterable[Expression]) -> Iterator[Expression]:
    """Yield features, and terms for sums, whose numbers belong to the task they were found in."""
    for feature in features:
        for term in terms_of(feature):
            if term.columns:
                yield coefficient_of(term)[1]


def helpful_sets(problem: FeatureProblem, pool: Iterable[Expression]) -> list[FeatureSet]:
    """Return sets of one, two, ... features of a pool, each adding what helps most.

    Judged by least squares and the error of rows left out, also for classes.
    """
    features = [
        each
        for each in sorted(dict.fromkeys(pool), key=lambda each: (each.size, each.key))
        if problem.is_usable(each)
    ]
    if not features:
        return []
    n_most = min(_MOST, max(len(problem.target) // 5, 1))
    wanted = np.asarray(problem.target, dtype=np.float64)[:, None]
    if problem.n_classes:
        wanted = np.eye(problem.n_classes)[problem.target]
    order = forward_order(problem.columns.matrix(features), wanted, n_most)
    sets = (
        problem.reduce(features[place] for place in order[: size + 1]) for size in range(len(order))
    )
    return [chosen for chosen in dict.fromkeys(sets) if chosen]


def forward_order(columns: Array, wanted: Array, n_most: int) -> list[int]:
    """Return columns in the order in which each helps least squares most with rows left out.

    The residual of a row left out is that of the fit over one minus its leverage, and a further
    column takes its own part from both. Shapes: columns (n, p), wanted (n, q).
    """
    n = len(columns)
    left = columns - columns.mean(axis=0)
    size = np.linalg.norm(left, axis=0)
    left = left / np.where(size > 0, size, 1.0)
    residual = wanted - wanted.mean(axis=0)
    leverage = np.full(n, 1.0 / n)
    order: list[int] = []
    error = np.inf
    for _ in range(min(n_most, columns.shape[1], n - 2)):
        free = np.linalg.norm(left, axis=0)
        usable = free > _EXPLAINED
        basis = left / np.where(usable, free, 1.0)
        kept = np.maximum(1.0 - leverage[:, None] - basis**2, 1e-12)
        risk = sum(
            (((left_of[:, None] - basis * (left_of @ basis)) / kept) ** 2).sum(axis=0)
            for left_of in residual.T
        )
        risk = np.where(usable, risk, np.inf)
        best = int(np.argmin(risk))
        if not risk[best] < error:
            break
        error = float(risk[best])
        chosen = basis[:, best]
        order.append(best)
        residual = residual - np.outer(chosen, chosen @ residual)
        leverage = leverage + chosen**2
        left = left - np.outer(chosen, chosen @ left)
        left[:, best] = 0.0
    return order
