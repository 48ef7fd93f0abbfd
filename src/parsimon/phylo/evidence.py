r"""Sparse Bayesian regression with noise that evolved along a tree, and the evidence of lambda.

For a given lambda the tree whitens columns and targets in linear time, and what is left is sparse
regression with independent noise; its log evidence plus that of the change of variables,
:math:`-\frac12 \log|V_\lambda|`, is the log evidence of the targets (Fearn 2021, eq 5.36).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes import SparseBayes, sparse_regression
from parsimon.inference.sparse_bayes.checks import Prior, Smoothness
from parsimon.phylo.evolution import Model
from parsimon.phylo.gaussian import TreeGaussian
from parsimon.phylo.likelihood import Estimate, check_bounded

_SCAN = 13
# Hills of the scan this far below the highest, in nats, may still be the highest.
_HILLS = 2.0
# Maxima over precisions must be exact for a maximum over lambda to be: the profile has to be
# smooth where it is polished.
_TIGHT = 1e-6
# A gain in nats that is another maximum, and not the same one more exactly.
_BETTER = 1e-3
# Targets that differ from their mean by less than this share of it are constant.
_CONSTANT = 1e-13


class Whitened(NamedTuple):
    """Columns and targets with independent noise, and the log determinant that was taken out."""

    design: Array
    targets: Array
    log_determinant: float


@dataclass(frozen=True, eq=False)
class TreeRegression:
    """Columns to choose from and targets, whose noise has the covariance of a tree.

    Shapes: design (n, p), targets (n,).

    gaussian: None for independent noise of equal variance, whatever lambda.
    smoothness: Of the sparse regression.
    """

    gaussian: TreeGaussian | None
    design: Array
    targets: Array
    max_iter: int = 1000
    tolerance: float = 1e-3
    prior: Prior = "ard"
    smoothness: Smoothness = "bic"

    def whiten(self, share: float) -> Whitened:
        """Return columns and targets with independent noise at this lambda."""
        if self.gaussian is None:
            return Whitened(self.design, self.targets, 0.0)
        gaussian = self.gaussian.with_model(Model(pagel_lambda=float(share)))
        both = np.column_stack([self.design, self.targets])
        white, log_determinant = gaussian.whitened_columns(both)
        return Whitened(white[:, :-1], white[:, -1], log_determinant)

    def fit(
        self, share: float, start: SparseBayes | None = None, tolerance: float | None = None
    ) -> SparseBayes:
        """Return the sparse regression at this lambda, its evidence being that of the targets."""
        white = self.whiten(share)
        found = sparse_regression(
            white.design,
            white.targets,
            prior=self.prior,
            smoothness=self.smoothness,
            max_iter=self.max_iter,
            tolerance=self.tolerance if tolerance is None else tolerance,
            start=start,
        )
        shift = -0.5 * white.log_determinant
        return replace(
            found,
            log_evidence=found.log_evidence + shift,
            objective=found.objective + shift,
            history=found.history + shift,
        )


class EvidenceCurve:
    """The evidence of lambda, precisions and noise at their best; remembers what it has seen.

    Each fit begins where the fit at the nearest lambda ended.

    found: What is known already.
    """

    def __init__(
        self, problem: TreeRegression, found: Mapping[float, SparseBayes] | None = None
    ) -> None:
        self.problem = problem
        self.found = dict(found or {})

    @property
    def best(self) -> tuple[float, SparseBayes]:
        """The lambda of greatest evidence among those seen, and its fit."""
        return max(self.found.items(), key=lambda item: item[1].objective)

    def height(self, share: float) -> float:
        """Return the log evidence of a lambda, minus infinity where the covariance is singular."""
        share = float(share)
        if share not in self.found:
            near = min(self.found, key=lambda other: abs(other - share), default=None)
            self.improve(share, None if near is None else self.found[near])
        return self.found[share].objective if share in self.found else -np.inf

    def of_parameters(self, values: Mapping[str, float]) -> float:
        """Return `height` of the lambda among named parameters."""
        return self.height(values["lambda"])

    def improve(self, share: float, start: SparseBayes | None) -> bool:
        """Fit from a start, or from nothing; return whether that is better than what was known."""
        try:
            fit = self.problem.fit(share, start, _TIGHT if start is not None else None)
        except InvalidInputError:
            return False
        known = self.found.get(float(share))
        if known is not None and not fit.objective > known.objective:
            return False
        self.found[float(share)] = fit
        return True


def without_rounding(centred: Array, y: Array) -> Array:
    """Return centred targets, zeros if what is left of them is rounding."""
    constant = np.abs(centred).max(initial=0.0) <= _CONSTANT * np.abs(y).max(initial=0.0)
    return np.zeros_like(centred) if constant else centred


def maximise_evidence(problem: TreeRegression, bounds: tuple[float, float]) -> EvidenceCurve:
    """Return the evidence of lambda where it was computed, its greatest among them.

    Fits from nothing at three values find the columns; a walk up and down a scan carries each to
    the others; the hills are then climbed, and a last fit from nothing may find a better one.
    """
    curve = EvidenceCurve(problem)
    points = np.linspace(*bounds, _SCAN).tolist()
    for place in (0, _SCAN // 2, _SCAN - 1):
        curve.improve(points[place], None)
    if not curve.found:
        problem.fit(points[0])  # says itself what is wrong with the tree
    for share in points:
        curve.height(share)
    _carry(curve, points)
    _carry(curve, points[::-1])
    _climb_hills(curve, points)
    top, known = curve.best
    if curve.improve(top, None) and curve.height(top) > known.objective + _BETTER:
        step = points[1] - points[0]
        _climb(curve, max(top - step, bounds[0]), min(top + step, bounds[1]))
    top, known = curve.best
    check_bounded(
        lambda values: problem.fit(values["lambda"], known).objective,
        {"lambda": bounds},
        Estimate({"lambda": top}, known.objective),
    )
    return curve


def _carry(curve: EvidenceCurve, points: Iterable[float]) -> None:
    """Try the columns of each point at the next one."""
    last: SparseBayes | None = None
    for share in points:
        own = curve.found.get(share)
        if own is None:
            continue
        if last is not None and not np.array_equal(last.active, own.active):
            curve.improve(share, last)
        last = curve.found[share]


def _climb_hills(curve: EvidenceCurve, points: list[float]) -> None:
    heights = np.array([curve.height(share) for share in points])
    padded = np.concatenate([[-np.inf], heights, [-np.inf]])
    hills = (heights >= padded[:-2]) & (heights >= padded[2:])
    for place in np.flatnonzero(hills & (heights >= heights.max() - _HILLS)).tolist():
        _climb(curve, points[max(place - 1, 0)], points[min(place + 1, len(points) - 1)])


def _climb(curve: EvidenceCurve, low: float, high: float) -> None:
    minimize_scalar(
        lambda share: -curve.height(float(share)),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-6 * (high - low), "maxiter": 40},
    )
