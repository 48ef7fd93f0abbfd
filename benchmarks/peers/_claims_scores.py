"""How good statements about tables are: precision, recall, calibration, claims about nothing."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb

import numpy as np

from benchmarks.peers._claims_statements import Statement
from benchmarks.peers._claims_truths import NULLS, SimulatedTable, TableSettings

EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0)
KINDS = ("variable", "interaction", "shape")


@dataclass(frozen=True)
class Judged:
    """A statement, the table that it is about, and whether it is true."""

    settings: TableSettings
    statement: Statement
    true: bool


@dataclass(frozen=True)
class Counts:
    """Claims, those of them that are true, and truths that there were to find."""

    claimed: int
    right: int
    truths: int

    @property
    def precision(self) -> float:
        """Share of the claims that are true; nan without claims."""
        return self.right / self.claimed if self.claimed else float("nan")

    @property
    def recall(self) -> float:
        """Share of the truths that were claimed; nan without truths."""
        return self.right / self.truths if self.truths else float("nan")


@dataclass(frozen=True)
class Bin:
    """Claims of about one probability."""

    low: float
    high: float
    n_claims: int
    stated: float
    true: float


def is_true(statement: Statement, table: SimulatedTable) -> bool | None:
    """Return whether a statement is true, None where the table gives no answer."""
    variables = statement.variables
    if statement.kind == "variable":
        return variables <= table.variables
    if statement.kind == "set":
        return bool(variables & table.variables)
    if statement.kind == "any":
        return bool(table.variables)
    if statement.kind == "interaction":
        return None if variables in table.open_pairs else variables in table.interactions
    (name,) = variables
    if name in table.variables and name not in table.shapes:
        return None
    return table.shapes.get(name) == statement.shape


class Scores:
    """What one method stated about some tables, judged."""

    def __init__(
        self, tables: Sequence[SimulatedTable], statements: Sequence[Sequence[Statement]]
    ) -> None:
        self.tables = list(tables)
        self.judged = [
            Judged(table.settings, statement, verdict)
            for table, part in zip(tables, statements, strict=True)
            for statement in part
            if (verdict := is_true(statement, table)) is not None
        ]

    def of(self, keep: Callable[[TableSettings], bool]) -> "Scores":
        """Return the scores of some of the tables."""
        part = Scores([], [])
        part.tables = [table for table in self.tables if keep(table.settings)]
        part.judged = [one for one in self.judged if keep(one.settings)]
        return part

    def counts(self, kind: str, *, above: float | None = None) -> Counts:
        """Return what was claimed of a kind, or would have been with a threshold on the score."""
        chosen = [
            one.true
            for one in self.of_kind(kind)
            if (one.statement.claimed if above is None else one.statement.score >= above)
        ]
        return Counts(len(chosen), sum(chosen), self._n_truths(kind))

    def of_all(self, kind: str) -> Counts:
        """Return the counts of one who claims every column, or every pair of them."""
        widths = [len(table.frame.columns) - 1 for table in self.tables]
        claimed = sum(width if kind == "variable" else comb(width, 2) for width in widths)
        return Counts(claimed, self._n_truths(kind), self._n_truths(kind))

    def threshold(self, kind: str, precision: float) -> float:
        """Return the score above which most is found at this precision or a better one.

        It is chosen with the truth of all tables in hand; infinite if there is none.
        """
        judged = sorted(self.of_kind(kind), key=lambda one: -one.statement.score)
        scores = np.array([one.statement.score for one in judged])
        right = np.cumsum([one.true for one in judged])
        last = np.append(scores[1:] < scores[:-1], True)[: len(scores)]
        good = last & (right >= precision * np.arange(1, len(scores) + 1)) & (right > 0)
        return float(scores[np.flatnonzero(good)[-1]]) if good.any() else float("inf")

    def share_of_nulls(self, *, claimed: bool) -> float:
        """Return the share of tables without structure about which anything was said.

        With `claimed` only claims count, without it all statements.
        """
        nulls = {table.settings for table in self.tables if table.settings.kind in NULLS}
        accused = {one.settings for one in self.judged if one.statement.claimed or not claimed}
        return len(nulls & accused) / len(nulls) if nulls else float("nan")

    def share_with_false(self, kind: str) -> float:
        """Return the share of tables about which something false of a kind was claimed."""
        tables = {table.settings for table in self.tables}
        wrong = {
            one.settings for one in self.of_kind(kind) if one.statement.claimed and not one.true
        }
        return len(tables & wrong) / len(tables) if tables else float("nan")

    def bins(self, kinds: Iterable[str]) -> list[Bin]:
        """Return stated probabilities beside the share that is true."""
        chosen = [one for kind in kinds for one in self.of_kind(kind)]
        stated = np.array([one.statement.score for one in chosen])
        true = np.array([one.true for one in chosen])
        places = np.searchsorted(EDGES[1:-1], stated, side="right")
        found = []
        for place, (low, high) in enumerate(pairwise(EDGES)):
            here = places == place
            if here.any():
                mean, share = float(stated[here].mean()), float(true[here].mean())
                found.append(Bin(low, high, int(here.sum()), mean, share))
        return found

    def of_kind(self, kind: str) -> list[Judged]:
        """Return what was stated of a kind."""
        return [one for one in self.judged if one.statement.kind == kind]

    def _n_truths(self, kind: str) -> int:
        if kind == "variable":
            return sum(len(table.variables) for table in self.tables)
        if kind == "interaction":
            return sum(len(table.interactions) for table in self.tables)
        return sum(len(table.shapes) for table in self.tables)
