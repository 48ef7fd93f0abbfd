"""What each variable says alone: its best kernel, its band, and which way it goes.

`variable_findings` is the whole; `direction_of` gives the probabilities that a function rises, or
falls, on average over the rows, and that it turns, from its exact posterior.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from parsimon._typing import Array, Indices
from parsimon.gp import Candidate, KernelSearch, fit_classifier, fit_regressor
from parsimon.inference import LatentPosterior
from parsimon.inference.gaussian import RegressionPosterior
from parsimon.inference.posterior import Latent
from parsimon.kernels import Constant, Kernel, Linear, Periodic, SquaredExponential
from parsimon.kernels.form import sum_of_products
from parsimon.report.findings import Band, Shape, Variable, VariableFinding
from parsimon.statistician.families.gp._kernel_result import KernelResult, model_of, posterior_of
from parsimon.statistician.time_budget import OutOfTimeError, TimedSteps
from parsimon.structures.claims import SUGGESTED

# The latent mean turns back to zero beyond the rows, so that a turn must lie among them.
_OUTER_ROWS = 0.05
# Quantiles that stand for the rows.
_N_PLACES = 100
_N_DRAWS = 1000
# Share of its range by which a function must both rise and fall to turn.
_RELEVANT = 0.2
# What a direction, and a turn, need.
_SURE = 0.95
# Fewer repetitions than this within the range are no evidence of a period.
_LEAST_PERIODS = 1.5
# Keeps these draws apart from whatever else is spawned from the seed of a question.
_DRAWS = int.from_bytes(b"draw", "big")


class Direction(NamedTuple):
    """Probabilities that a function rises, that it falls, on average over the rows; that it turns.

    rising, falling: Of the average slope; together 1, or 0 if the function is level.
    turning: That it rises somewhere among the rows and falls elsewhere, by a relevant amount.
    """

    rising: float
    falling: float
    turning: float = 0.0

    @property
    def shape(self) -> Shape:
        """What has a probability of 0.95 or more, a turn before a direction; else "unclear"."""
        if self.turning >= _SURE:
            return "turning"
        if self.rising >= _SURE:
            return "rising"
        return "falling" if self.falling >= _SURE else "unclear"


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

    The average slope is that of the straight line of least squares through the function over the
    ranks of the rows: it says what the function does where the rows are, and no outlying value
    decides. It is linear in the function, so that its posterior is normal and its sign has an
    exact probability.

    Whether the function turns is counted among joint draws at rows between the quantiles of 5 and
    95 %, as probabilities of the positive class or as the numbers of a regression: where nearly all
    rows have one class, the latent function may wander without a difference to anyone. Two values
    and lines do not turn.

    Shapes: values (n,).
    """
    places, counts = _quantiles(values)
    latent = posterior.component(part, _rows(posterior, column, places), covariance=True)
    slope = slope_direction(latent, counts)
    low, high = judged_part(values)
    inner = (places >= low) & (places <= high)
    if line_of(part) is not None or inner.sum() <= 2:
        return slope
    among = Latent(latent.mean[inner], latent.variance[np.ix_(inner, inner)])
    rng = np.random.default_rng(_own_seed(seed, column))
    if isinstance(posterior, RegressionPosterior):
        return slope._replace(turning=turning_share(among, rng))
    moved = Latent(among.mean + level, among.variance)
    return slope._replace(turning=turning_share(moved, rng, response=ndtr))


def judged_part(values: Array) -> tuple[float, float]:
    """Return the ends of the part of a column's rows in which turns are looked for."""
    low, high = np.quantile(values, [_OUTER_ROWS, 1 - _OUTER_ROWS], method="nearest")
    return float(low), float(high)


def _quantiles(values: Array) -> tuple[Array, Indices]:
    """Return distinct values of rows that stand for all of them, and how many they stand for."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= _N_PLACES:
        return distinct, counts
    shares = (np.arange(_N_PLACES) + 0.5) / _N_PLACES
    return np.unique(np.quantile(values, shares, method="nearest"), return_counts=True)


def slope_direction(latent: Latent, counts: Indices) -> Direction:
    """Return the probabilities that the slope over ranks is positive, and negative.

    The slope is a positive multiple of w @ f with w the ranks of the rows, those at one place
    sharing their mean, less the mean rank.

    Shapes: counts (m,), rows at each of the increasing places.
    """
    ranks = np.cumsum(counts) - counts / 2
    weights = counts * (ranks - counts.sum() / 2)
    slope = float(weights @ latent.mean)
    variance = float(weights @ latent.variance @ weights)
    if variance <= 0:
        return Direction(float(slope > 0), float(slope < 0))
    score = slope / np.sqrt(variance)
    return Direction(float(ndtr(score)), float(ndtr(-score)))


def turning_share(
    latent: Latent,
    rng: np.random.Generator,
    *,
    response: Callable[[Array], Array] | None = None,
    n_draws: int = _N_DRAWS,
) -> float:
    """Return the share of joint draws that turn as their mean does.

    Where the mean rises most from one place to a later one, and where it falls most, a draw must
    rise, and fall, by a fifth of its range. The places are the same for all draws: each draw of a
    rough function turns somewhere, and that is no turn that the rows show.
    """
    variances, directions = np.linalg.eigh(latent.variance)
    # A covariance of differences has rounding of this size, which would draw a rough function.
    real = variances > 1e-7 * max(variances[-1], 0.0)
    factor = directions[:, real] * np.sqrt(variances[real])
    paths = latent.mean + rng.standard_normal((n_draws, int(real.sum()))) @ factor.T
    seen = paths if response is None else response(paths)
    differences = np.triu(seen.mean(axis=0) - seen.mean(axis=0)[:, None])
    before, after = np.unravel_index(differences.argmax(), differences.shape)
    above, below = np.unravel_index(differences.argmin(), differences.shape)
    rise, fall = seen[:, after] - seen[:, before], seen[:, above] - seen[:, below]
    least = _RELEVANT * np.ptp(seen, axis=1)
    return float(np.mean((np.minimum(rise, fall) >= least) & (least > 0)))


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


# A period is said only if the log evidence beats that of a smooth function by more than this.
_PERIODIC_MARGIN = 3.0
# A log Bayes factor below one is "not worth more than a bare mention" (Kass and Raftery 1995).
_BARE_MENTION = 1.0


def variable_findings(
    result: KernelResult, variables: Sequence[Variable] = (), steps: TimedSteps | None = None
) -> tuple[VariableFinding, ...]:
    """Return a finding for each variable, those with the least error first.

    A variable's model is the best of its one-kernel models by the guide of the search. Constant
    columns, and those whose fits all failed or were not reached in time, have none.
    """
    known = {variable.name: variable for variable in variables}
    search, steps = result.search, steps or TimedSteps(None)
    found = []
    for column, best in search.history_.best_by_column.items():
        if best.judged_by == "leave-one-out":
            try:
                best = steps(search.judge, best.kernel)
            except OutOfTimeError:
                continue
        if best.judged_by == "cross-validation":
            variable = known.get(result.question.names[column]) or described(result, column)
            found.append(_finding(result, column, best, variable))
    return tuple(sorted(found, key=lambda one: (one.model.error, one.model.negative_log_evidence)))


def band_of(ratio: float) -> Band:
    """Return how much evidence a ratio of errors is, lower edges included.

    He (2016), table 5.2, with half-open bands.
    """
    # A quotient such as 0.08 / 0.1 falls short of the edge by rounding alone.
    edge = round(ratio, 9)
    if edge < 0.25:
        return "strong"
    if edge < 0.8:
        return "some"
    return "little" if edge < 1 else "none"


def described(result: KernelResult, column: int) -> Variable:
    """Return a variable as its numbers have it; the deviation is that of the rows themselves."""
    name, values = result.question.names[column], _column(result, column)
    return Variable(
        name=name,
        column=name,
        kind="indicator" if is_indicator(values) else "number",
        minimum=float(values.min()),
        maximum=float(values.max()),
        mean=float(values.mean()),
        deviation=float(values.std()),
    )


def _finding(
    result: KernelResult, column: int, best: Candidate, variable: Variable
) -> VariableFinding:
    search, values = result.search, _column(result, column)
    posterior = posterior_of(search, best)
    direction = direction_of(posterior, best.kernel, column, values, seed=result.question.seed)
    baseline = search.baseline_
    ratio = best.error / baseline.error if baseline.error > 0 else math.inf
    return VariableFinding(
        variable=variable,
        model=model_of(best, result.question.names),
        ratio=ratio,
        band=band_of(ratio),
        log_bayes_factor=best.log_evidence - baseline.log_evidence,
        rising=direction.rising,
        falling=direction.falling,
        turning=direction.turning,
        shape=_shape(result, column, best, values, direction),
        period=best.kernel.period if isinstance(best.kernel, Periodic) else None,
        slope=_slope(result, posterior, best.kernel, column, values),
        in_model=search.structure_found_ and column in search.best_candidate_.columns,
        judged_between=_judged_between(best.kernel, values),
    )


def _judged_between(kernel: Kernel, values: Array) -> tuple[float, float] | None:
    """Return between which values turns were looked for; two values and lines have none."""
    exact = is_indicator(values) or line_of(kernel) is not None
    return None if exact else judged_part(values)


def supports_period(result: KernelResult, column: int) -> bool:
    """Return whether waves along a column are more probable than not, where that was looked at.

    A kernel with a period fits noise well enough to be the best of those that were tried.
    """
    structures = result.question.structures
    if structures is None:
        return True
    return any(
        shape == "periodic" and chance >= SUGGESTED and column in structures.groups[variable]
        for (variable, shape), chance in structures.shapes.items()
    )


def _shape(
    result: KernelResult, column: int, best: Candidate, values: Array, direction: Direction
) -> Shape:
    """Return the word for a variable's function; what says least needs no further proof."""
    search = result.search
    if best.log_evidence - search.baseline_.log_evidence < _BARE_MENTION:
        return "flat"
    if isinstance(best.kernel, Periodic):
        margin = best.log_evidence - _smooth_evidence(search, column, best.kernel.period / 4)
        wins = margin > _PERIODIC_MARGIN and repeats(best.kernel.period, values)
        return "periodic" if wins and supports_period(result, column) else direction.shape
    if line_of(best.kernel) is None or is_indicator(values):
        return direction.shape
    margin = best.log_evidence - _smooth_evidence(search, column, float(values.std()))
    return "linear" if margin >= 0 else direction.shape


def _smooth_evidence(search: KernelSearch, column: int, lengthscale: float) -> float:
    """Return the greatest log evidence of what is neither a line nor periodic.

    Beside what the search has fitted, a smooth function is fitted from a lengthscale that suits
    its rival: a fit that was stuck in a flat function would be too easy to beat.
    """
    evidences = [
        one.log_evidence
        for one in search.first_layer_
        if one.columns == (column,)
        and one.judged_by != "failed"
        and not isinstance(one.kernel, Periodic)
        and line_of(one.kernel) is None
    ]
    problem = search.problem_
    smooth = SquaredExponential(column, lengthscale=lengthscale)
    if problem.task == "regression":
        fresh = fit_regressor(smooth, problem.X, problem.y).log_evidence
    else:
        fresh = fit_classifier(
            smooth, problem.X, problem.y, inference=problem.inference
        ).log_evidence
    return max([*evidences, fresh])


def _slope(
    result: KernelResult, posterior: LatentPosterior, kernel: Kernel, column: int, values: Array
) -> float | None:
    """Return the change of a line's posterior mean for each unit, in units of the target."""
    if line_of(kernel) is None:
        return None
    ends = np.tile(posterior.prior.X[:1], (2, 1))
    ends[:, column] = values.min(), values.max()
    low, high = posterior.latent(ends).mean
    unit = float(np.std(result.question.y)) if result.question.task == "regression" else 1.0
    return unit * float(high - low) / float(np.ptp(values))


def _column(result: KernelResult, column: int) -> Array:
    values: Array = result.question.X.iloc[:, column].to_numpy(dtype=np.float64)
    return values
