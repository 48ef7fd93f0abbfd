"""Tables 3.1 to 3.3 of Fearn (2021): the mean of rows amid clutter, by every form of inference.

Two problems: "weighted_sum", each row a weighted sum of signal and clutter of deviation 10, which
is no mixture but agrees with the printed rows of ADF and EP; and "mixture", the problem as it is
stated. To the first the source's forms are fitted: factors of negative variance restricted,
nothing damped, at most 100 passes, the printed evidence. To the second ours.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.reproduce._fearn_clutter_forms import ClutterForms
from parsimon._typing import Array
from parsimon.bpm import ClutterMean, exact_clutter
from parsimon.datasets import make_clutter

Design = Literal["weighted_sum", "mixture"]
DESIGNS: tuple[Design, ...] = ("weighted_sum", "mixture")
THETA = 2.0
N_SAMPLES, QUICK_SAMPLES, MANY_SAMPLES, BLOCK = 50, 10, 200, 10
ADF, EP, GAMMA, MULTIPLIED = "ADF", "EP", "gamma-EP", "lambda-gamma-EP"
AT_ONE, BY_LOO = "gamma-EP at 1", "gamma-EP by leave-one-out"
UNDAMPED, PRINTED, RESTRICTED = "EP, nothing damped", "EP, printed evidence", "EP, restricted"
EXACT = "exact"
# Variance of clutter in the density that is fitted.
DENSITY = {"weighted_sum": 100.0, "mixture": 10.0}
LITERAL: Mapping[str, Any] = {"restrict": "negative", "damping": 0.0, "tol": 1e-4}


class Figure(NamedTuple):
    """A mean and its standard deviation."""

    mean: float
    deviation: float


class Table(NamedTuple):
    """A printed table: rows drawn, shares of clutter, figures by method, mean chosen gammas."""

    n: int
    weights: tuple[float, ...]
    figures: Mapping[str, tuple[Figure, ...]]
    gammas: tuple[float, ...]


def _figures(*pairs: tuple[float, float]) -> tuple[Figure, ...]:
    return tuple(Figure(*pair) for pair in pairs)


HIGH, LOW = (0.2, 0.4, 0.6, 0.8), (0.1, 0.15, 0.2, 0.25)
TABLES = {
    "3.1": Table(
        20,
        HIGH,
        {
            ADF: _figures((1.511, 0.822), (1.318, 2.164), (0.195, 3.329), (-0.601, 5.166)),
            EP: _figures((1.555, 0.880), (1.141, 2.234), (0.448, 3.235), (-0.377, 5.495)),
            GAMMA: _figures((1.784, 1.106), (1.246, 2.100), (0.494, 3.725), (-0.534, 7.070)),
        },
        (0.164, 0.357, 0.147, -0.180),
    ),
    "3.2": Table(
        200,
        HIGH,
        {
            ADF: _figures((1.60, 0.281), (0.877, 1.17), (0.634, 2.05), (0.524, 3.29)),
            EP: _figures((1.62, 0.229), (1.18, 1.12), (0.519, 2.23), (0.680, 3.69)),
            GAMMA: _figures((1.97, 1.14), (1.75, 1.64), (1.47, 2.41), (1.29, 3.64)),
        },
        (1.0, 1.0, 1.0, 1.0),
    ),
    "3.3": Table(
        200,
        LOW,
        {
            ADF: _figures((1.80, 0.095), (1.70, 0.153), (1.60, 0.281), (1.48, 0.386)),
            EP: _figures((1.80, 0.094), (1.70, 0.144), (1.62, 0.229), (1.54, 0.322)),
            MULTIPLIED: _figures((2.12, 0.389), (2.08, 0.450), (1.92, 0.454), (1.63, 0.396)),
        },
        (0.734, 0.669, 0.575, 0.525),
    ),
}


@dataclass(frozen=True)
class Samples:
    """A block of samples of n rows with a share of clutter."""

    design: Design
    n: int
    weight: float
    first: int

    def __str__(self) -> str:
        return f"{self.design}, n {self.n}, w {self.weight}, samples from {self.first + 1}"


def jobs(*, quick: bool) -> list[Samples]:
    """Return all blocks of samples; `quick` has the first block, and the outer weights."""
    cells = {(table.n, w) for table in TABLES.values() for w in table.weights}
    if quick:
        cells = {(20, 0.2), (20, 0.8), (200, 0.1), (200, 0.2), (200, 0.25)}
    last = QUICK_SAMPLES if quick else N_SAMPLES
    return [
        Samples(design, n, w, first)
        for design in DESIGNS
        for n, w in sorted(cells)
        for first in range(0, last, BLOCK)
    ]


def rows_of(
    design: Design, n: int, weight: float, number: int, clutter_variance: float | None = None
) -> Array:
    """Return one sample."""
    X, _ = make_clutter(
        n,
        kind=design,
        theta=THETA,
        weight=weight,
        clutter_variance=clutter_variance,
        random_state=np.random.SeedSequence((3, n, round(100 * weight), number)),
    )
    return X


def work(job: Samples) -> dict[str, Any]:
    """Fit every form to each sample of a block; return a list of figures for each."""
    numbers = range(job.first, job.first + BLOCK)
    samples = [rows_of(job.design, job.n, job.weight, number) for number in numbers]
    fitted = _literal if job.design == "weighted_sum" else _corrected
    found: dict[str, list[dict[str, float]]] = {}
    for X in samples:
        for name, figures in fitted(X, job.weight).items():
            found.setdefault(name, []).append(figures)
    return found


def fit(X: Array, weight: float, **options: Any) -> ClutterMean:
    """Fit without a warning: whether passes settled is counted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ClutterMean(weight, **options).fit(X)


def fit_form(X: Array, weight: float, **options: Any) -> ClutterForms:
    """Fit a form of the source, which says nothing of whether passes settled."""
    return ClutterForms(weight, **options).fit(X)


def _figure(model: ClutterMean) -> dict[str, float]:
    return {
        "mean": float(model.mean_[0]),
        "variance": model.variance_,
        "gamma": float(model.gamma_[0]),
        "converged": float(model.converged_),
        "evidence": model.log_evidence_,
        "passes": float(model.n_iter_),
        "newton": float(model.n_newton_steps_),
    }


def _literal(X: Array, weight: float) -> dict[str, dict[str, float]]:
    """Return the source's forms; lambda-gamma-EP only where the source has it."""
    options = {**LITERAL, "clutter_variance": DENSITY["weighted_sum"], "evidence": "printed"}
    models = {
        ADF: fit_form(X, weight, inference="adf", **options),
        EP: fit_form(X, weight, **options),
        GAMMA: fit_form(X, weight, gamma="evidence", **options),
        AT_ONE: fit_form(X, weight, gamma=1.0, **options),
    }
    if weight in LOW and len(X) == 200:
        models[MULTIPLIED] = fit_form(X, weight, gamma="evidence", multipliers="free", **options)
    return {name: _figure(model) for name, model in models.items()}


def _corrected(X: Array, weight: float) -> dict[str, dict[str, float]]:
    """Return our forms, the exact posterior, and the evidence as it is printed."""
    exact = exact_clutter(X, weight)
    models = {
        ADF: fit(X, weight, inference="adf"),
        EP: fit(X, weight),
        GAMMA: fit_form(X, weight, gamma="evidence"),
        BY_LOO: fit_form(X, weight, gamma="loo"),
        AT_ONE: fit(X, weight, gamma=1.0),
        MULTIPLIED: fit_form(X, weight, gamma="evidence", multipliers="clipped"),
        UNDAMPED: fit(X, weight, damping=0.0),
        PRINTED: fit_form(X, weight, evidence="printed"),
        RESTRICTED: fit_form(X, weight, evidence="printed", **LITERAL),
    }
    found = {name: _figure(model) for name, model in models.items()}
    found[EXACT] = {
        "mean": float(exact.mean[0]),
        "variance": float(exact.covariance[0, 0]),
        "evidence": exact.log_evidence,
    }
    return found


@dataclass(frozen=True)
class Generator:
    """One reading of how the printed tables were made, and how many samples to draw by it."""

    design: Design
    generated: float
    fitted: float
    n_samples: int

    def __str__(self) -> str:
        return f"{self.design}, clutter variance {self.generated:g}, density {self.fitted:g}"


def generators(*, quick: bool) -> list[Generator]:
    """Return the eight readings: mixture or sum, clutter variance 10 or 100, density likewise."""
    n_samples = N_SAMPLES if quick else MANY_SAMPLES
    return [
        Generator(design, generated, fitted, n_samples)
        for design in DESIGNS
        for generated in (10.0, 100.0)
        for fitted in (10.0, 100.0)
    ]


def generated(job: Generator) -> dict[str, Any]:
    """Fit ADF and EP in the source's form to samples of table 3.3; means by method and weight."""
    found: dict[str, list[list[float]]] = {ADF: [], EP: []}
    for weight in LOW:
        for name in found:
            options = {"inference": "adf" if name == ADF else "ep", **LITERAL}
            found[name].append(
                [
                    float(
                        fit(
                            rows_of(job.design, 200, weight, number, job.generated),
                            weight,
                            clutter_variance=job.fitted,
                            **options,
                        ).mean_[0]
                    )
                    for number in range(job.n_samples)
                ]
            )
    return found
