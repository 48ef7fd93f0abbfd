"""The evidence of sparse models on given rows, and its slopes."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal, TypeAlias

import numpy as np

from parsimon._typing import Array
from parsimon.inference.irls import newton_step
from parsimon.inference.sparse_bayes import (
    laplace_design_gradient,
    regression_design_gradient,
    sparse_classification,
    sparse_regression,
)
from parsimon.inference.sparse_bayes.result import SparseBayes
from parsimon.rvm.widths.families import Family

Task: TypeAlias = Literal["regression", "classification"]
Fits: TypeAlias = tuple[SparseBayes, ...]

# Tolerance of fits that only compare widths, as a share of a column's price: what gains less
# changes no choice, and takes most of the time.
_ROUGH = 0.1
_ROUGH_STEPS = 200


@dataclass(frozen=True, eq=False)
class Problems:
    """One regression, or one or more two-class problems, on the same rows and columns.

    Shapes: X (n, d), row_weights (n,).

    targets (k, n): Of each problem; 0 and 1 in classification.
    options: Keyword arguments of `sparse_regression` or `sparse_classification`.
    price: What each column in a model takes off its log evidence.
    deadline: Of `time.monotonic`.
    """

    task: Task
    X: Array
    targets: Array
    row_weights: Array | None
    options: Mapping[str, Any]
    price: float = 0.0
    deadline: float | None = None

    @property
    def time_left(self) -> float | None:
        """Seconds until the deadline, None without one."""
        return None if self.deadline is None else max(self.deadline - monotonic(), 0.0)

    @property
    def moves_precisions(self) -> bool:
        """Whether a climb may move the prior precisions: only where they have no prior."""
        return bool(self.options.get("prior", "ard") == "ard")

    @property
    def moves_noise(self) -> bool:
        """Whether a climb may move the noise variance."""
        estimated = self.options.get("noise_variance") is None
        return self.task == "regression" and estimated and self.moves_precisions

    def fit(self, family: Family, starts: Fits | None = None, *, roughly: bool = False) -> Fits:
        """Fit each problem to all columns of the family; roughly, to compare widths."""
        design = family.design(self.X)
        known: tuple[SparseBayes | None, ...] = starts or (None,) * len(self.targets)
        fit = sparse_regression if self.task == "regression" else sparse_classification
        options = dict(self.options)
        if roughly:
            options["tolerance"] = max(_ROUGH * self.price, options.get("tolerance", 1e-3))
            options["max_iter"] = min(_ROUGH_STEPS, options.get("max_iter", _ROUGH_STEPS))
        if self.deadline is not None:
            options["time_limit"] = max(self.time_left or 0.0, 1e-3)
        return tuple(
            fit(design, target, row_weights=self.row_weights, start=start, **options)
            for target, start in zip(self.targets, known, strict=True)
        )

    def evidence(
        self, design: Array, which: int, alpha: Array, noise_variance: float | None
    ) -> tuple[float, Array, float]:
        """Return the log evidence of one problem and its slopes.

        Shapes: design (n, m), alpha (m,) -> (n, m).
        """
        target = self.targets[which]
        if not design.shape[1]:
            return 0.0, design, 0.0
        if noise_variance is None:
            return *laplace_design_gradient(design, target, alpha, self.row_weights), 0.0
        value, slope = regression_design_gradient(
            design, target, alpha, noise_variance, self.row_weights
        )
        return value, slope, self._noise_slope(design, target, alpha, noise_variance, slope)

    def _noise_slope(
        self, design: Array, target: Array, alpha: Array, noise_variance: float, slope: Array
    ) -> float:
        r"""Return the derivative for the logarithm of the noise variance.

        Multiplying C by a constant multiplies the noise and the squared design alike, so that
        :math:`2 dL/d\log\sigma^2 = t^T C^{-1} t - n - tr(\Phi^T dL/d\Phi)`.
        """
        weights = np.ones(len(target)) if self.row_weights is None else self.row_weights
        scaled = design * (weights / noise_variance)[:, None]
        mean = newton_step(scaled.T @ design + np.diag(alpha), scaled.T @ target)
        misfit = weights @ (target - design @ mean) ** 2 / noise_variance
        quadratic = misfit + alpha @ mean**2
        return 0.5 * float(quadratic - weights.sum() - np.sum(design * slope))
