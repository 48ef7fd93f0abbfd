"""One question with all that was found about it, and the whole of a report."""

from dataclasses import dataclass, field

from parsimon.report.findings.models import Model
from parsimon.report.findings.structure import (
    ComponentFinding,
    InteractionFinding,
    VariableFinding,
)
from parsimon.report.findings.table import TableFindings, Task
from parsimon.report.findings.trust import Checks, Honest, Joint


@dataclass(frozen=True, kw_only=True)
class SearchFindings:
    """How the search went."""

    n_kernels: int
    n_cross_validated: int
    depth: int
    beam: int
    base: tuple[str, ...]
    guide: str
    n_folds: int
    stopped_by: str
    inference: str
    n_rows: int
    picture: str = ""


@dataclass(frozen=True, kw_only=True)
class Study:
    """One question and everything found about it.

    positive, negative: The class that is asked for and what stands against it; empty for a
        number.
    structure_found: False if nothing beat the baseline.
    model: The best structure; the baseline if there is none.
    front: What each further base kernel buys, from the baseline on; `knee` and `chosen` are
        places in it, `front_variables` is the same for variables.
    """

    task: Task
    positive: str
    negative: str
    n_positive: int
    n_negative: int
    structure_found: bool
    model: Model
    baseline: Model
    front: tuple[Model, ...]
    knee: int
    chosen: int
    front_variables: tuple[Model, ...]
    variables: tuple[VariableFinding, ...]
    components: tuple[ComponentFinding, ...]
    interactions: tuple[InteractionFinding, ...]
    honest: Honest | None
    checks: Checks
    search: SearchFindings
    front_picture: str = ""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A drawing as SVG, with the sentences that belong below and what a screen reader says."""

    name: str
    svg: str
    caption: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """What is needed to get the same report again.

    options: Those that were given or decided, as the command line spells them.
    skipped: What was left out to save time: "outer folds", "restarts", "interactions", ...
    too_few_rows: Whether outer folds were asked for but the table is too small for them.
    fingerprint: SHA-256 of the table's cells.
    libraries: Names and versions.
    """

    version: str
    seed: int
    seconds: float
    date: str
    command: str
    options: tuple[tuple[str, str], ...]
    skipped: tuple[str, ...]
    fingerprint: str
    libraries: tuple[tuple[str, str], ...]
    too_few_rows: bool = False


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Everything that a report says."""

    table: TableFindings
    studies: tuple[Study, ...]
    run: Run
    joint: Joint | None = None
    pictures: tuple[Picture, ...] = field(default=(), repr=False)

    def picture(self, name: str) -> Picture | None:
        """Return the picture of that name; None if there is none."""
        return next((one for one in self.pictures if one.name == name), None)
