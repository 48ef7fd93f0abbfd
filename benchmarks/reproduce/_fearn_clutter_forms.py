"""Forms of gamma-EP that Fearn (2021, chapter 3) has and no user wants: for his tables alone.

gamma is chosen by evidence or by rows left out, per column if asked for; it is multiplied in each
row by a lambda that moves by -gamma log Z in each pass (lambda-gamma-EP); the evidence is that of
equation (3.45) as printed.
"""

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from parsimon._compiled import compiled
from parsimon._typing import Array, Indices
from parsimon.bpm import ClutterMean
from parsimon.bpm._clutter_passes import (
    FALL,
    PATIENCE,
    RESTRICTED,
    SHORTEST,
    Passes,
    Passing,
    Problem,
    corrected_evidence,
    pass_over,
)

# Depth of a gamma that does not compete; finite, as Brent's method takes differences.
NEVER = 1e15
BOUNDS = {"clipped": (0.0, 1.0), "free": (-np.inf, np.inf)}


class ClutterForms(ClutterMean):
    """`ClutterMean` with a gamma that is chosen, multipliers, and the printed evidence.

    Parameters
    ----------
    gamma : float, array-like, "evidence" or "loo"
        "evidence" takes the value from -1 to 1 of greatest `log_evidence_`, "loo" that of greatest
        mean `loo_log_density_`, by Brent's method. What it finds must beat -1, and only values at
        which passes settle compete; with the printed evidence it is taken as it comes.
    gamma_per_column : bool
        Whether the chosen gamma may differ between columns.
    multipliers : {"none", "clipped", "free"}
        Whether gamma is multiplied in each row by a lambda, which begins at 1. "clipped" keeps it
        from 0 to 1, "free" is the printed form. Where all Z are below 1, as in one column, free
        multipliers of a positive gamma grow for ever, and clipped ones stay at 1.
    evidence : {"corrected", "printed"}
        Equation (3.45) as printed is wrong: with restricted factors it is far above 1, and without
        the restriction NaN where a factor has a negative precision.
    """

    def __init__(
        self,
        weight: float = 0.5,
        *,
        clutter_variance: float = 10.0,
        inference: Literal["ep", "adf"] = "ep",
        gamma: Any = -1.0,
        gamma_per_column: bool = False,
        multipliers: Literal["none", "clipped", "free"] = "none",
        restrict: Literal["none", "negative"] = "none",
        evidence: Literal["corrected", "printed"] = "corrected",
        damping: float | Literal["auto"] = "auto",
        tol: float = 1e-6,
        max_iter: int = 100,
    ) -> None:
        super().__init__(
            weight,
            clutter_variance=clutter_variance,
            inference=inference,
            gamma=gamma,
            restrict=restrict,
            damping=damping,
            tol=tol,
            max_iter=max_iter,
        )
        self.gamma_per_column = gamma_per_column
        self.multipliers = multipliers
        self.evidence = evidence

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Approximate the posterior of the mean; shapes: X (n, d)."""
        X = np.asarray(X, dtype=np.float64)
        d = self.n_features_in_ = X.shape[1]
        problem, how = self._problem(d), self._passing(len(X))

        def passes(gamma: Array) -> tuple[Passes, Array]:
            if self.multipliers == "none" or self.inference == "adf":
                return pass_over(X, problem, gamma, how), np.ones(len(X))
            return multiplied(X, problem, gamma, how, BOUNDS[self.multipliers])

        def log_evidence(passed: Passes, gamma: Array, multipliers: Array) -> float:
            if self.evidence == "printed":
                return printed_evidence(passed, gamma, multipliers)
            return corrected_evidence(passed, problem)

        def height(gamma: Array) -> float:
            passed, multipliers = passes(gamma)
            if self.gamma == "loo":
                return float(passed.seen[:, 0].sum()) if passed.converged else -np.inf
            counts = passed.converged or self.evidence == "printed"
            return log_evidence(passed, gamma, multipliers) if counts else -np.inf

        if isinstance(self.gamma, str) and self.inference == "ep":
            gamma = best_gamma(
                height,
                d,
                only_brent=self.gamma == "evidence" and self.evidence == "printed",
                each=self.gamma_per_column and self.multipliers == "none",
            )
        else:
            gamma = self._gamma(d)
        passed, self.multipliers_ = passes(gamma)
        self._store(passed, gamma, how)
        self.log_evidence_ = log_evidence(passed, gamma, self.multipliers_)
        return self


def best_gamma(height: Callable[[Array], float], d: int, *, only_brent: bool, each: bool) -> Array:
    """Return the gamma (d,) in [-1, 1] of greatest height.

    Brent's method for one gamma of all columns, which must beat -1 unless nothing else is asked
    for; then Powell's for one of each.
    """

    def depth(gamma: Any) -> float:
        value = height(np.broadcast_to(np.asarray(gamma, dtype=np.float64), d).copy())
        return -value if np.isfinite(value) else NEVER

    found = minimize_scalar(depth, bounds=(-1.0, 1.0), method="bounded", options={"xatol": 1e-4})
    brent = np.full(d, float(found.x))
    best = brent if only_brent else min(np.full(d, -1.0), brent, key=depth)
    if each and d > 1:
        powell = minimize(depth, best, method="Powell", bounds=[(-1.0, 1.0)] * d).x
        best = min(best, powell, key=depth)
    return best


def multiplied(
    X: Array, problem: Problem, gamma: Array, how: Passing, bounds: tuple[float, float]
) -> tuple[Passes, Array]:
    """Make passes in which gamma has a multiplier in each row; return these as well, shape (n,)."""
    run = Passes(X, problem, gamma, how)
    sites = np.column_stack([np.ones(len(X)), run.sites])
    model = problem.log_shares[0], problem.signal_variance
    best, waited = np.inf, 0
    while run.n_iter < how.max_iter and run.change > how.tol:
        with np.errstate(all="ignore"):
            run.change = _visit_all(
                X, run.clutter_logs, how.order, run.posterior, sites, run.seen, gamma, model,
                int(how.restrict), run.share, (1.0, *bounds),
            )  # fmt: skip
        run.n_iter += 1
        if not run.is_finite():
            run.change = np.inf
            break
        if run.change < FALL * best:
            best, waited = run.change, 0
        elif how.share is None:
            waited += 1
        if waited == PATIENCE:
            best, waited, run.share = run.change, 0, max(run.share / 2, SHORTEST)
    run.sites = sites[:, 1:]
    return run, sites[:, 0]


@compiled
def _visit_all(
    X: Array,
    clutter_logs: Array,
    order: Indices,
    posterior: Array,
    sites: Array,
    seen: Array,
    gamma: Array,
    model: tuple[float, float],
    restrict: int,
    share: float,
    multipliers: tuple[float, float, float],
) -> float:
    """Visit every row once and return the largest change of a factor, as it would be undamped.

    `sites` (n, 2 + d) has the multiplier first; `gamma` (d,); `model`
    is the log share of signal and its variance, `multipliers` their step and bounds. Rows without
    which the posterior has no variance are passed over, and count as an infinite change.
    """
    d = X.shape[1]
    log_share, signal_variance = model
    step, least, most = multipliers
    change = 0.0
    for i in order:
        hole = posterior[0] - sites[i, 1]
        if not hole > 0.0:
            change = np.inf
            continue
        spread = 1.0 / hole + signal_variance
        distance = 0.0
        for k in range(d):
            seen[i, 3 + k] = (posterior[1 + k] - sites[i, 2 + k]) / hole
            distance += (X[i, k] - seen[i, 3 + k]) ** 2
        log_signal = log_share - 0.5 * (d * np.log(2.0 * np.pi * spread) + distance / spread)
        top = max(log_signal, clutter_logs[i])
        log_z = top + np.log(np.exp(log_signal - top) + np.exp(clutter_logs[i] - top))
        signal, clutter = np.exp(log_signal - log_z), np.exp(clutter_logs[i] - log_z)
        # 1 / v - 1 / v' in a form that no rounding cancels, however wide the prior is.
        excess = clutter * distance / (d * spread)
        rest = clutter * spread + signal * (excess / hole + signal_variance)
        precision = signal * (1.0 - excess) / rest
        if restrict == 2 or (restrict == 1 and precision < 0.0):
            precision = RESTRICTED
        sites[i, 0] = min(max(sites[i, 0] - step * gamma[0] * log_z, least), most)
        seen[i, 0], seen[i, 1], seen[i, 2] = log_z, signal, hole
        unit = posterior[0]
        change = max(change, abs(precision - sites[i, 1]) / unit)
        sites[i, 1] += share * (precision - sites[i, 1])
        posterior[0] += share * (hole + precision - posterior[0])
        for k in range(d):
            slope = signal * (X[i, k] - seen[i, 3 + k]) / spread
            mean = seen[i, 3 + k] + slope / hole
            shift = precision * mean - sites[i, 0] * gamma[k] * slope
            change = max(change, abs(shift - sites[i, 2 + k]) / np.sqrt(unit))
            sites[i, 2 + k] += share * (shift - sites[i, 2 + k])
            posterior[1 + k] += share * ((hole + precision) * mean - posterior[1 + k])
            seen[i, 3 + d + k] = slope
            seen[i, 3 + 2 * d + k] = mean
    return change


def printed_evidence(passed: Passes, gamma: Array, multipliers: Array) -> float:
    """Return equation (3.45) of Fearn (2021) as it is printed; NaN with a negative factor.

    The exponent B has the means of the 'reuse' update and not those of the factors, the powers of
    2 pi v_i that are in the scales are counted again, and the prior's are missing.
    """
    d = len(gamma)
    hole_means, slopes, means = np.split(passed.seen[:, 3:], 3, axis=1)
    with np.errstate(all="ignore"):
        variances, hole = 1.0 / passed.sites[:, 0], 1.0 / passed.seen[:, 2]
        shifted = hole_means + multipliers[:, None] * gamma * variances[:, None] * slopes
        powers = 0.5 * d * np.log(2.0 * np.pi * variances)
        beside = 0.5 * np.sum((means - shifted) ** 2, axis=1) / (variances + hole)
        scales = passed.seen[:, 0] + 0.5 * d * np.log((variances + hole) / variances) + beside
        exponents = np.sum(means**2, axis=1) / variances
    variance, mean = 1.0 / passed.posterior[0], passed.mean
    front = 0.5 * (d * np.log(2.0 * np.pi * variance) + mean @ mean / variance)
    return float(front + np.sum(scales - powers - 0.5 * exponents))
