r"""Gradient steps on widths, with the columns in the model held fixed.

`climb` moves the widths of a sparse model. `common_climb` moves those of a model without sparsity,
in which all functions share one precision: with so few numbers to choose, its evidence can hardly
be overfitted, and it shows where a sparse model should begin.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.optimise import minimise
from parsimon.rvm.widths.families import Family
from parsimon.rvm.widths.problems import Fits, Problems

# How far the logarithm of a prior precision or of the noise variance moves in one climb.
_REACH = 10.0
_STEPS = 40
# Functions in the model in which all share one precision; each step costs their square.
MOST_COMMON = 150
# Prior variance of a latent function of log odds; share of the targets' variance that is noise.
_LATENT_VARIANCE = 4.0
_NOISE_SHARE = 0.1


class Part(NamedTuple):
    """The columns and hyperparameters of one problem.

    Shapes: active (m,), log_alpha (g,), log_noise (1,).

    group (m,): Which entry of `log_alpha` is a column's precision.
    """

    active: Indices
    group: Indices
    log_alpha: Array
    log_noise: Array

    @property
    def noise_variance(self) -> float | None:
        """The noise variance, None in classification."""
        return float(np.exp(self.log_noise[0])) if len(self.log_noise) else None

    def moved(self, values: Array) -> "Part":
        """Return the part at other values of its hyperparameters, all in one vector."""
        log_alpha, log_noise = np.split(values, [len(self.log_alpha)])
        return self._replace(log_alpha=log_alpha, log_noise=log_noise)


def climb(fits: Fits, family: Family, problems: Problems, bounds: Array) -> tuple[Family, Fits]:
    """Move the widths of a sparse model up its evidence, the columns in it as they are.

    Prior precisions and the noise variance move along, since the best widths depend on them.

    Shapes: bounds (p, 2).
    """
    parts = [
        Part(
            fit.active,
            np.arange(len(fit.active)),
            np.log(fit.alpha),
            np.log([] if fit.noise_variance is None else [fit.noise_variance]),
        )
        for fit in fits
    ]
    moved, found = _maximised(family, problems, parts, family.theta, bounds)
    starts = [
        replace(fit, alpha=np.exp(part.log_alpha), noise_variance=part.noise_variance)
        for fit, part in zip(fits, found, strict=True)
    ]
    return moved, tuple(starts)


def common_climb(
    family: Family,
    problems: Problems,
    starts: Array,
    bounds: Array,
    rng: np.random.Generator,
) -> tuple[Family, list[Part]]:
    """Move the widths of a model in which all functions share one precision up its evidence.

    Shapes: starts (s, p), bounds (p, 2).
    """
    first = int(family.bias)
    n_functions = family.n_columns - first
    chosen = rng.choice(n_functions, min(n_functions, MOST_COMMON), replace=False)
    active = np.concatenate([np.arange(first), first + np.sort(chosen)])
    group = np.minimum(np.arange(len(active)), first)
    squares = np.mean(family.moved(starts[0]).design(problems.X, active[first:]) ** 2)
    parts = []
    for target in problems.targets:
        size, noise = _LATENT_VARIANCE, np.empty(0)
        if problems.task == "regression":
            size = float(np.var(target)) or 1.0
            given = problems.options.get("noise_variance")
            noise = np.log([_NOISE_SHARE * size if given is None else given])
        functions = np.log(max(len(chosen) * float(squares), 1e-12) / size)
        bias = -np.log(size + np.mean(target) ** 2)
        parts.append(Part(active, group, np.array([bias] * first + [functions]), noise))
    free = replace(problems, options={**problems.options, "prior": "ard"})
    return _maximised(family, free, parts, starts, bounds)


def _maximised(
    family: Family, problems: Problems, parts: list[Part], starts: Array, bounds: Array
) -> tuple[Family, list[Part]]:
    """Move theta, precisions and noise variances to a maximum of the evidence."""
    values = np.concatenate([np.concatenate([part.log_alpha, part.log_noise]) for part in parts])
    reach = np.concatenate([_reach(part, problems) for part in parts])
    thetas = np.atleast_2d(starts)
    n_theta = thetas.shape[1]
    ends = np.cumsum([len(part.log_alpha) + len(part.log_noise) for part in parts])[:-1]

    def unpacked(x: Array) -> tuple[Family, list[Part]]:
        pieces = np.split(x[n_theta:], ends)
        own = [part.moved(piece) for part, piece in zip(parts, pieces, strict=True)]
        return family.moved(x[:n_theta]), own

    def objective(x: Array) -> tuple[float, Array]:
        value, slope = evidence_slope(*unpacked(x), problems)
        return -value, -slope

    begin = np.hstack([thetas, np.tile(values, (len(thetas), 1))])
    try:
        lowest = minimise(
            objective,
            begin,
            np.vstack([bounds, np.stack([values - reach, values + reach], axis=1)]),
            max_iterations=_STEPS,
            value_tolerance=1e-7,
            gradient_tolerance=1e-4,
            time_limit=problems.time_left,
        )
    except np.linalg.LinAlgError:
        # Not one evaluation succeeded: stay.
        return unpacked(begin[0])
    return unpacked(lowest.x)


def evidence_slope(family: Family, parts: list[Part], problems: Problems) -> tuple[float, Array]:
    r"""Return the log evidence of all problems and its slope.

    Multiplying column m by c is the same as dividing :math:`\alpha_m` by :math:`c^2`, hence
    :math:`dL/d\log\alpha_m = -\frac12 \sum_i \Phi_{im} dL/d\Phi_{im}`.
    """
    total, theta_slope = 0.0, np.zeros(len(family.theta))
    slopes: list[Any] = [theta_slope]
    for which, part in enumerate(parts):
        design = family.design(problems.X, part.active)
        alpha = np.exp(part.log_alpha)[part.group]
        value, slope, noise_slope = problems.evidence(design, which, alpha, part.noise_variance)
        total += value
        theta_slope += family.slope(problems.X, part.active, slope)
        own = -0.5 * np.einsum("nm,nm->m", design, slope)
        slopes.append(np.bincount(part.group, own, minlength=len(part.log_alpha)))
        slopes.append([noise_slope] * len(part.log_noise))
    return total, np.concatenate(slopes)


def _reach(part: Part, problems: Problems) -> Array:
    """Return how far each hyperparameter of a part may move."""
    alpha = np.full(len(part.log_alpha), _REACH if problems.moves_precisions else 0.0)
    noise = np.full(len(part.log_noise), _REACH if problems.moves_noise else 0.0)
    return np.concatenate([alpha, noise])
