"""A fit to some of the rows first, so that few evaluations on all rows remain.

An evaluation of a dense kernel matrix costs the cube of the rows. The optimum of some of them is
near the optimum of all, and the evidence is there curved alike, nearly in proportion to the rows:
from that start and with that curvature, a handful of Newton's steps on all rows meets the
tolerance.
"""

from typing import Any, NamedTuple

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.gp.subset import predicted_sites, stratified_rows
from parsimon.inference import (
    EvidenceFit,
    LatentPosterior,
    Sites,
    classification_evidence,
    evidence_curvature,
    latent_prior,
    maximise_evidence,
)
from parsimon.inference.prior import Form, LowRankPrior
from parsimon.kernels import Kernel

# Rows from which it pays; rows of the first fit, at least and as a share of all. Measured on
# 1000 rows: 150 to 250 are too few for a good curvature, and 500 save no evaluation over 300.
FEWEST_ROWS = 600
FIRST_ROWS = 300
FIRST_SHARE = 0.25
# The curvature grows with this power of the rows, less than in proportion, since a new row tells
# what its neighbours told already: measured on five tables, where it saves a tenth of the steps.
GROWTH = 0.85
# The evidence of some rows is no nearer to that of all rows than this: more digits are wasted.
TOLERANCES: dict[str, Any] = {"value_tolerance": 1e-3, "gradient_tolerance": 0.1}
# Optima nearer than this in all log hyperparameters are the same one.
SAME = 0.2
# Share of the first rows that a low-rank form may need to be worth trying on all rows.
MOST_RANK = 0.75


class Coarse(NamedTuple):
    """Where the fit to all rows begins.

    starts (n_starts, p): Different optima of the first rows, the best first.
    curvatures (n_starts, p, p): Second derivatives of minus the log evidence of all rows,
        about.
    sites: Predicted from the first rows.
    form: Of the kernel matrix of all rows.
    n_evaluations: On the first rows.
    """

    starts: Array
    curvatures: Array
    sites: Sites
    form: Form
    n_evaluations: int


def is_worthwhile(kernel: Kernel, X: Array, y_signs: Array, form: Form) -> bool:
    """Say whether evaluations on all rows are so dear that some rows should go first."""
    if len(X) < FEWEST_ROWS or form == "low_rank":
        return False
    if form == "dense":
        return True
    some = X[stratified_rows(y_signs, FIRST_ROWS)]
    return not isinstance(latent_prior(kernel, some), LowRankPrior)


def coarse_fit(
    kernel: Kernel,
    X: Array,
    y_signs: Array,
    starts: Array,
    bounds: Array,
    *,
    how: dict[str, Any],
    search: dict[str, Any],
) -> Coarse:
    """Fit to some rows from each start.

    Shapes: X (n, d), y_signs (n,), starts (n_starts, p), bounds (p, 2).
    """
    n_first = max(FIRST_ROWS, round(FIRST_SHARE * len(X)))
    curvatures: list[Array] = []
    n_evaluations = 0
    for n_rows in (n_first // 2, n_first):
        part = _Part.of(kernel, X, y_signs, n_rows, how)
        known = [each * part.share**GROWTH for each in curvatures] or [None] * len(starts)
        fits = _different(
            [
                maximise_evidence(
                    part.evaluate, start, bounds, curvature=curvature, **TOLERANCES, **search
                )
                for start, curvature in zip(starts, known, strict=True)
            ]
        )
        curvatures = [part.curvature(fit, bounds) for fit in fits]
        starts = np.stack([fit.theta for fit in fits])
        n_evaluations += sum(fit.optimisation.n_evaluations for fit in fits)
    return Coarse(
        starts,
        np.stack(curvatures),
        predicted_sites(fits[0].posterior, X, y_signs, how["weights"]),
        _form(kernel.with_theta(starts[0]), X[part.rows], how["form"]),
        n_evaluations,
    )


class _Part(NamedTuple):
    """Some of the rows, their share of all, and the evidence on them."""

    rows: Indices
    share: float
    evaluate: Any

    @classmethod
    def of(
        cls, kernel: Kernel, X: Array, y_signs: Array, n_rows: int, how: dict[str, Any]
    ) -> "_Part":
        weights = np.ones(len(X)) if how["weights"] is None else how["weights"]
        used = np.flatnonzero(weights > 0)
        rows = used[stratified_rows(y_signs[used], n_rows)]
        own = how | {"weights": weights[rows], "form": "dense"}
        evaluate = classification_evidence(kernel, X[rows], y_signs[rows], **own)
        return cls(rows, float(weights[rows].sum() / weights.sum()), evaluate)

    def curvature(self, fit: EvidenceFit[LatentPosterior], bounds: Array) -> Array:
        """Return the curvature of the evidence of all rows, about."""
        own = evidence_curvature(self.evaluate, fit.posterior, fit.theta, bounds)
        whole: Array = own / self.share**GROWTH
        return whole


def _different(fits: list[EvidenceFit[LatentPosterior]]) -> list[EvidenceFit[LatentPosterior]]:
    """Return fits with different hyperparameters, the greatest evidence first."""
    kept: list[EvidenceFit[LatentPosterior]] = []
    for fit in sorted(fits, key=lambda fit: fit.optimisation.value):
        if all(np.max(np.abs(fit.theta - other.theta)) > SAME for other in kept):
            kept.append(fit)
    return kept


def _form(kernel: Kernel, X: Array, form: Form) -> Form:
    """Return "dense" if low rank has no prospect on more rows."""
    if form != "auto":
        return form
    prior = latent_prior(kernel, X, form="low_rank")
    rank = prior.factor.shape[1] if isinstance(prior, LowRankPrior) else len(X)
    return "dense" if rank > MOST_RANK * len(X) else "auto"
