"""What the structure says: each variable alone, each part of the sum, each product."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from parsimon.report.findings.models import Model
from parsimon.report.findings.table import Variable

Band: TypeAlias = Literal["strong", "some", "little", "none"]
Shape: TypeAlias = Literal["rising", "falling", "linear", "periodic", "turning", "flat", "unclear"]


@dataclass(frozen=True, kw_only=True)
class VariableFinding:
    """What one variable says alone.

    ratio: Its error divided by the baseline's.
    band: By that ratio: below 0.25, 0.8, 1, and from 1 on (He 2016, table 5.2).
    log_bayes_factor: Log evidence of its model minus that of the baseline.
    rising, falling: Posterior probabilities that the latent function is monotone inside the
        data.
    shape: "rising" or "falling" (either probability is at least 0.9), "periodic" or "linear"
        (that kernel wins), "turning" (both are below 0.1), "flat" (a constant does as well),
        else "unclear".
    period: Of a periodic kernel.
    slope: Of a linear kernel: change of the latent mean for each unit.
    in_model: Whether the best structure uses it.
    judged_between: The part of the range in which `rising` and `falling` were looked at.
    """

    variable: Variable
    model: Model
    ratio: float
    band: Band
    log_bayes_factor: float
    rising: float
    falling: float
    shape: Shape
    period: float | None = None
    slope: float | None = None
    in_model: bool = False
    judged_between: tuple[float, float] | None = None
    picture: str = ""


@dataclass(frozen=True, kw_only=True)
class ComponentFinding:
    """An additive part of the best structure, in the order in which parts help most.

    alone, cumulative: This part by itself; this part with all parts before it. Both
        cross-validated with refit.
    gain: How much the error falls when this part joins (for the first: from the baseline); may
        be negative.
    strength: Standard deviation of the part's exact posterior mean over the rows, in the full
        model.
    direction: Of a one-variable part in the full model.
    """

    alone: Model
    cumulative: Model
    gain: float
    strength: float
    direction: Shape = "unclear"
    picture: str = ""
    cumulative_picture: str = ""


@dataclass(frozen=True, kw_only=True)
class InteractionFinding:
    """A product in the best structure, compared with the same structure without the product.

    `additive` has a sum in its place; `gain` is how much the error falls by the product, and
    `log_bayes_factor` the log evidence of the product minus that of the sum.
    """

    variables: tuple[str, ...]
    additive: Model
    gain: float
    log_bayes_factor: float
    picture: str = ""
