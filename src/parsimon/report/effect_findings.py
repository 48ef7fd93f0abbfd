"""How a target goes with the columns that are claimed to matter."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from parsimon.report.row_findings import LevelFinding

Way: TypeAlias = Literal["rising", "falling", "linear", "periodic", "turning", "joined", "unclear"]


@dataclass(frozen=True, kw_only=True)
class EffectFinding:
    """How the target goes with a column, or with columns that interact.

    It comes from the structures that the claims come from, averaged by their probability; all other
    columns have the effect that they have on average over the rows.

    columns: Of the table: one, or those of an interaction, of which only the picture is known.
    rising, falling: Posterior probabilities that the average slope is positive, or negative, if the
        column has an effect by itself; the average is over the rows, along their ranks. Of two
        values, that the second has more, or less. Zero for a category of more levels.
    turning: Posterior probability that the curve rises somewhere among the rows and falls
        elsewhere, both by a fifth of its range or more.
    way: "linear" or "periodic", where that shape is claimed; else "turning", "rising" or "falling",
        which have a probability of at least 0.95; "joined" of a column that interacts, and has no
        direction on average over the others; "unclear".
    slope: Of a line, the change of a number for each unit.
    period: Of waves.
    judged_between: The part of the range in which a turn was looked for: from the quantile of
        5 % of the rows to that of 95 %.
    levels: Of a category, what was observed at those of its levels that are drawn.
    """

    columns: tuple[str, ...]
    rising: float = 0.0
    falling: float = 0.0
    turning: float = 0.0
    way: Way = "unclear"
    slope: float | None = None
    period: float | None = None
    judged_between: tuple[float, float] | None = None
    levels: tuple[LevelFinding, ...] = ()
    picture: str = ""
