"""What each variable says alone: its best one-kernel model, its band, and which way it goes."""

import math
from collections.abc import Sequence

import numpy as np

from parsimon._typing import Array
from parsimon.gp import Candidate, KernelSearch, fit_classifier, fit_regressor
from parsimon.inference import LatentPosterior
from parsimon.kernels import Kernel, Periodic, SquaredExponential
from parsimon.report.findings import Band, Shape, Variable, VariableFinding
from parsimon.statistician.direction import (
    Direction,
    direction_of,
    is_indicator,
    judged_part,
    line_of,
    repeats,
)
from parsimon.statistician.models import model_of, posterior_of
from parsimon.statistician.subject import Subject

# A period is said only if the log evidence beats that of a smooth function by more than this.
_PERIODIC_MARGIN = 3.0
# A log Bayes factor below one is "not worth more than a bare mention" (Kass and Raftery 1995).
_BARE_MENTION = 1.0


def variable_findings(
    subject: Subject, variables: Sequence[Variable] = ()
) -> tuple[VariableFinding, ...]:
    """Return a finding for each variable, those with the least error first.

    A variable's model is the best of its one-kernel models by the guide of the search. Constant
    columns, and those whose fits all failed or were not reached, have none.
    """
    known = {variable.name: variable for variable in variables}
    search = subject.search
    found = []
    for column, first in search.history_.best_by_column.items():
        best = first if first.judged_by != "leave-one-out" else search.judge(first.kernel)
        if best.judged_by == "cross-validation":
            variable = known.get(subject.names[column]) or described(subject, column)
            found.append(_finding(subject, column, best, variable))
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


def described(subject: Subject, column: int) -> Variable:
    """Return a variable as its numbers have it; the deviation is that of the rows themselves."""
    name, values = subject.names[column], _column(subject, column)
    return Variable(
        name=name,
        column=name,
        kind="indicator" if is_indicator(values) else "number",
        minimum=float(values.min()),
        maximum=float(values.max()),
        mean=float(values.mean()),
        deviation=float(values.std()),
    )


def _finding(subject: Subject, column: int, best: Candidate, variable: Variable) -> VariableFinding:
    search, values = subject.search, _column(subject, column)
    posterior = posterior_of(search, best)
    direction = direction_of(posterior, best.kernel, column, values, seed=subject.seed)
    baseline = search.baseline_
    ratio = best.error / baseline.error if baseline.error > 0 else math.inf
    return VariableFinding(
        variable=variable,
        model=model_of(best, subject.names),
        ratio=ratio,
        band=band_of(ratio),
        log_bayes_factor=best.log_evidence - baseline.log_evidence,
        rising=direction.rising,
        falling=direction.falling,
        shape=_shape(search, column, best, values, direction),
        period=best.kernel.period if isinstance(best.kernel, Periodic) else None,
        slope=_slope(subject, posterior, best.kernel, column, values),
        in_model=search.structure_found_ and column in search.best_candidate_.columns,
        judged_between=_judged_between(best.kernel, values),
    )


def _judged_between(kernel: Kernel, values: Array) -> tuple[float, float] | None:
    """Return where draws were looked at; two values and lines need none."""
    exact = is_indicator(values) or line_of(kernel) is not None
    return None if exact else judged_part(values)


def _shape(
    search: KernelSearch, column: int, best: Candidate, values: Array, direction: Direction
) -> Shape:
    """Return the word for a variable's function; what says least needs no further proof."""
    if best.log_evidence - search.baseline_.log_evidence < _BARE_MENTION:
        return "flat"
    if isinstance(best.kernel, Periodic):
        margin = best.log_evidence - _smooth_evidence(search, column, best.kernel.period / 4)
        wins = margin > _PERIODIC_MARGIN and repeats(best.kernel.period, values)
        return "periodic" if wins else direction.shape
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
    subject: Subject, posterior: LatentPosterior, kernel: Kernel, column: int, values: Array
) -> float | None:
    """Return the change of a line's posterior mean for each unit, in units of the target."""
    if line_of(kernel) is None:
        return None
    ends = np.tile(posterior.prior.X[:1], (2, 1))
    ends[:, column] = values.min(), values.max()
    low, high = posterior.latent(ends).mean
    unit = float(np.std(subject.y)) if subject.task == "regression" else 1.0
    return unit * float(high - low) / float(np.ptp(values))


def _column(subject: Subject, column: int) -> Array:
    values: Array = subject.X.iloc[:, column].to_numpy(dtype=np.float64)
    return values
