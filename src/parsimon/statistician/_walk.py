"""The one analysis: what happens to every kind of data on the way from a table to findings.

A `Kind` of data reads a table, looks at it as a whole, and describes what came out;
`analyse_kind` does what is the same for all kinds: time, seeds, folds, what is kept for a later
run, and what is needed to get the same page again. A new kind is a value of a class of its own, and
nothing here changes.
"""

import datetime
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from parsimon import __version__
from parsimon._checks import check_count, check_seconds
from parsimon._parallel import n_workers
from parsimon._random import seed_sequence
from parsimon.evaluation.folds import OuterPart
from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import RunFindings, Treatment
from parsimon.statistician.comparison import Compared, compare_on_folds
from parsimon.statistician.families.family import Family
from parsimon.statistician.finished_work import FinishedWork
from parsimon.statistician.folds import FAST_FOLDS, plan_folds
from parsimon.statistician.prepare.frames import as_frame, fingerprint
from parsimon.statistician.time_budget import TimeBudget

if TYPE_CHECKING:
    import pandas as pd

# Of the time for models: what searches of the table and of its folds may take.
_SEARCHING = 0.7


@dataclass(frozen=True, kw_only=True)
class Kind(ABC):
    """A kind of data: its options, and what is its own in an analysis.

    A subclass adds options; results depend on all of them but those that `FinishedWork` knows as
    indifferent.

    positive, task: The class to ask for, and what the target is; kinds that ask for neither leave
        them.
    name: What the table is called.
    outer: Outer folds; 0 for none, None for the usual number.
    n_jobs: Processes, as in joblib; the result does not depend on it.
    time_limit: Seconds for everything.
    fast: A first look: less is searched, and on fewer folds.
    command: Said on the page.
    checkpoint: A folder for what is finished.
    last_steps: Of a time limit, the seconds and the share that are kept for findings and files.
    seeds: What chance is needed for, in the order in which seeds are dealt.
    """

    target: str
    positive: str | None = None
    task: Literal["auto", "classification", "regression"] = "auto"
    name: str = "table"
    outer: int | None = None
    seed: int = 0
    n_jobs: int | None = -1
    time_limit: float | None = None
    fast: bool = False
    verbose: bool = False
    command: str = ""
    checkpoint: str | os.PathLike[str] | None = None

    last_steps: ClassVar[tuple[float, float]]
    seeds: ClassVar[tuple[str, ...]] = ("folding", "comparing", "fitting")

    def __post_init__(self) -> None:
        if self.outer is not None:
            check_count("outer", self.outer, least=0)
        if self.outer == 1:
            raise InvalidInputError("outer must be 0 or at least 2 folds, got 1.")
        check_count("seed", self.seed, least=0)
        check_seconds("time_limit", self.time_limit)
        n_workers(self.n_jobs)  # refuses none

    @property
    def n_outer(self) -> int | None:
        """Outer folds that everyone answers on; None for the usual number of these rows."""
        return (FAST_FOLDS if self.fast else 5) if self.outer is None else self.outer

    @abstractmethod
    def read(self, frame: "pd.DataFrame") -> Any:
        """Return the table as it was read, with the questions that are asked of it."""

    def workers(self, asked: Any) -> int | None:
        """Return the processes that are worth starting."""
        del asked
        return self.n_jobs

    def plan(self, asked: Any, seed: np.random.SeedSequence) -> list[OuterPart]:
        """Return the outer folds."""
        n_outer = self.n_outer
        return [] if n_outer == 0 else plan_folds(asked.questions[0], n_outer, seed)

    def identify(self, frame: "pd.DataFrame") -> str:
        """Return the digest of everything that was given beside the options."""
        return fingerprint(frame)

    @abstractmethod
    def search(self, work: "Work") -> Any:
        """Return what is found in the table itself, before models are compared."""

    def compare(self, work: "Work", found: Any) -> Any:
        """Return what the outer folds say; None for kinds that have none."""
        del work, found

    @abstractmethod
    def describe(self, work: "Work", found: Any, compared: Any) -> Any:
        """Return the analysis: findings with `work.run()`, models, files."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Work:
    """An analysis under way.

    asked: What the kind read.
    parts: The outer folds.
    seeds: By what they are for.
    """

    kind: Kind
    asked: Any
    parts: Sequence[OuterPart]
    seeds: Mapping[str, np.random.SeedSequence]
    n_jobs: int | None
    kept: FinishedWork
    budget: TimeBudget
    date: str
    fingerprint: str
    reading: tuple[Treatment, ...]

    def search_limit(self) -> float | None:
        """Return the seconds of a search of the table itself and of each fold, some at once."""
        rounds = 1 + ceil(len(self.parts) / max(1, n_workers(self.n_jobs)))
        return self.budget.left(_SEARCHING / rounds)

    def compare(
        self, families: Sequence[Family], parts: Sequence[OuterPart] | None = None, **options: Any
    ) -> Compared:
        """Ask all families on the outer folds; `options` are those of `compare_on_folds`."""
        return compare_on_folds(
            families,
            self.asked,
            self.parts if parts is None else parts,
            self.seeds["comparing"],
            n_jobs=self.n_jobs,
            time_limit=self.budget.left(),
            verbose=self.kind.verbose,
            kept=self.kept,
            **options,
        )

    def run(
        self,
        options: Mapping[str, object],
        skipped: Sequence[str],
        reading: Sequence[Treatment] = (),
    ) -> RunFindings:
        """Return what is needed to get the same page again.

        options: As the command line spells them.
        skipped: What was left out to save time.
        reading: What was done to the table when it was read.
        """
        libraries = ("numpy", "scipy", "scikit-learn")
        return RunFindings(
            version=__version__,
            seed=int(self.kind.seed),
            seconds=0.0,
            date=self.date,
            command=self.kind.command,
            options=tuple((name, str(value)) for name, value in options.items()),
            skipped=tuple(skipped),
            fingerprint=self.fingerprint,
            libraries=tuple((library, version(library)) for library in libraries),
            too_few_rows=self.kind.n_outer != 0 and not self.parts,
            reading=(*self.reading, *reading),
        )


def begin(kind: Kind, table: Any, reading: tuple[Treatment, ...] = ()) -> Work:
    """Read a table, and deal out its rows, seeds and time."""
    budget = TimeBudget.keeping(kind.time_limit, *kind.last_steps)
    frame = as_frame(table)
    asked = kind.read(frame)
    digest = kind.identify(frame)
    kept = FinishedWork.of(kind.checkpoint, frame, (digest,), kind)
    children = seed_sequence(kind.seed).spawn(len(kind.seeds))
    seeds = dict(zip(kind.seeds, children, strict=True))
    return Work(
        kind=kind,
        asked=asked,
        parts=kind.plan(asked, seeds["folding"]),
        seeds=seeds,
        n_jobs=kind.workers(asked),
        kept=kept,
        budget=budget,
        date=kept.once("date", today),
        fingerprint=digest,
        reading=reading,
    )


def analyse_kind(kind: Kind, table: Any, reading: tuple[Treatment, ...] = ()) -> Any:
    """Analyse a table as data of its kind; `reading` says what was done to it before."""
    started = time.perf_counter()
    work = begin(kind, table, reading)
    found = kind.search(work)
    analysis = kind.describe(work, found, kind.compare(work, found))
    run = replace(analysis.findings.run, seconds=time.perf_counter() - started)
    return replace(analysis, findings=replace(analysis.findings, run=run))


def today() -> str:
    """Return the date, or that of SOURCE_DATE_EPOCH, which makes builds repeatable."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        return datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    return datetime.datetime.fromtimestamp(int(epoch), tz=datetime.UTC).date().isoformat()
