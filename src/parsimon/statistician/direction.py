"""Which way a function of one variable goes, as probabilities from its exact posterior."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from parsimon._typing import Array
from parsimon.inference import LatentPosterior, RegressionPosterior
from parsimon.inference.posterior import Latent
from parsimon.kernels import Constant, Kernel, Linear
from parsimon.kernels.form import sum_of_products
from parsimon.report.figures import monotone_share
from parsimon.report.findings import Shape

# The source leaves the outer parts of the range out, since the mean turns back to zero there.
_IGNORED = 0.15
_N_PLACES = 40
_N_DRAWS = 1000
# Fewer repetitions than this within the range are no evidence of a period.
_LEAST_PERIODS = 1.5
# Share of its range by which a function may turn back and still be called monotone.
_TOLERANCE = 0.01
# Keeps these draws apart from whatever else is spawned from the seed of a subject.
_DRAWS = int.from_bytes(b"draw", "big")


class Direction(NamedTuple):
    """Probabilities that a function rises, and that it falls, throughout.

    rising, falling: Between 0 and 1; with what remains the function turns.
    """

    rising: float
    falling: float

    @property
    def shape(self) -> Shape:
        """The direction that has a probability of 0.9 or more, or "turning", or "unclear"."""
        if self.rising >= 0.9:
            return "rising"
        if self.falling >= 0.9:
            return "falling"
        return "turning" if max(self) < 0.1 else "unclear"


def direction_of(
    posterior: LatentPosterior,
    part: Kernel,
    column: int,
    values: Array,
    *,
    seed: np.random.SeedSequence,
    level: float = 0.0,
) -> Direction:
    """Return which way an additive part of the latent function goes along its one variable.

    For two distinct values, and for a line, the probability that the function is greater at the
    upper end has a closed form. Otherwise joint draws over the middle 70 % of the range are
    counted (He 2016, section 5.3, names this probability and leaves it out). They are counted as
    probabilities of the positive class, or as the numbers of a regression: where nearly all rows
    have one class, the latent function may wander without a difference to anyone.

    Shapes: values (n,).
    """
    if is_indicator(values) or line_of(part) is not None:
        ends = _rows(posterior, column, np.array([values.min(), values.max()]))
        return step_direction(posterior.component(part, ends, covariance=True))
    places = _rows(posterior, column, np.linspace(*judged_part(values), _N_PLACES))
    latent = posterior.component(part, places, covariance=True)
    rng = np.random.default_rng(_own_seed(seed, column))
    if isinstance(posterior, RegressionPosterior):
        return drawn_direction(latent, rng)
    return drawn_direction(Latent(latent.mean + level, latent.variance), rng, response=ndtr)


def judged_part(values: Array) -> tuple[float, float]:
    """Return the ends of the part of a column's range in which draws are looked at."""
    low, high = float(values.min()), float(values.max())
    reach = _IGNORED * (high - low)
    return low + reach, high - reach


def step_direction(latent: Latent) -> Direction:
    """Return the probability that the second of two values is the greater, and the smaller."""
    mean, covariance = latent
    step = float(mean[1] - mean[0])
    variance = float(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    if variance <= 0:
        return Direction(float(step > 0), float(step < 0))
    score = step / np.sqrt(variance)
    return Direction(float(ndtr(score)), float(ndtr(-score)))


def drawn_direction(
    latent: Latent,
    rng: np.random.Generator,
    *,
    response: Callable[[Array], Array] | None = None,
    n_draws: int = _N_DRAWS,
) -> Direction:
    """Return the shares of joint draws that rise, and that fall, from end to end.

    A draw rises if it never lies below an earlier value of its own by more than 1 % of its range.
    """
    variances, directions = np.linalg.eigh(latent.variance)
    # A covariance of differences has rounding of this size, which would draw a rough function.
    real = variances > 1e-7 * max(variances[-1], 0.0)
    factor = directions[:, real] * np.sqrt(variances[real])
    paths = latent.mean + rng.standard_normal((n_draws, int(real.sum()))) @ factor.T
    seen = paths if response is None else response(paths)
    return Direction(*monotone_share(seen, tolerance=_TOLERANCE))


def repeats(period: float, values: Array) -> bool:
    """Say whether the range of the data holds enough of a period to see it repeat."""
    return bool(np.ptp(values) >= _LEAST_PERIODS * period)


def is_indicator(values: Array) -> bool:
    """Say whether a column has two distinct values."""
    return len(np.unique(values)) == 2


def line_of(kernel: Kernel) -> Linear | None:
    """Return the line of a kernel that is a line, perhaps with a constant for its height."""
    varying = [part for part in sum_of_products(kernel) if not isinstance(part, Constant)]
    if len(varying) == 1 and isinstance(varying[0], Linear):
        return varying[0]
    return None


def _rows(posterior: LatentPosterior, column: int, places: Array) -> Array:
    """Return rows that differ in one column; the kernel does not see the others."""
    rows = np.tile(posterior.prior.X[:1], (len(places), 1))
    rows[:, column] = places
    return rows


def _own_seed(seed: np.random.SeedSequence, column: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, _DRAWS, column))
