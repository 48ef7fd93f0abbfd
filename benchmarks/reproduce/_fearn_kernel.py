"""Tables 4.2 to 4.5 of Fearn (2021): kernel gamma-EP, EP and support vector machines.

Settings are chosen in both ways of `_fearn_choice`; the source could use no evidence, since it was
not a number. Literal: predictions of gamma-EP by ``sum(y alpha K)``, which is the posterior's mean
at gamma = -1 only. Corrected: the posterior's mean. Probabilities have the noise in them in both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import log_ndtr, ndtr
from scipy.stats import mannwhitneyu, wilcoxon
from sklearn.svm import SVC

from benchmarks.reproduce._fearn_4_tables import EP, GAMMA, KERNEL, P_ERROR, P_LOG, SVM
from benchmarks.reproduce._fearn_choice import CORRECTED, LITERAL, Tried, figures
from benchmarks.reproduce._fearn_splits import (
    N_SPLITS,
    QUICK_SPLITS,
    Split,
    error_row,
    split,
)
from benchmarks.rows import Row
from parsimon._typing import Array
from parsimon.bpm import GammaPosterior, kernel_gamma_ep, kernel_weights
from parsimon.kernels import SquaredExponential

WIDTHS, QUICK_WIDTHS = (1.0, 2.0, 3.0, 4.0, 5.0), (3.0,)
VARIANCES = (10.0, 100.0)
GAMMAS = (-0.5, 0.0, 0.5)
COSTS = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)
QUICK_TABLES = ("Heart",)
# Splits that a test needs.
FEWEST_TESTED = 6
FORMS = (LITERAL, CORRECTED)
ERROR, LOG_SUM, MEAN_LOG = range(3)


@dataclass(frozen=True)
class KernelJob:
    """One split of one table."""

    table: str
    seed: int
    widths: tuple[float, ...]


def jobs(*, quick: bool) -> list[KernelJob]:
    """Return a job for each split of the four tables, of one of them for a quick look."""
    names = QUICK_TABLES if quick else tuple(KERNEL)
    widths = QUICK_WIDTHS if quick else WIDTHS
    n_splits = QUICK_SPLITS if quick else N_SPLITS
    return [KernelJob(name, seed, widths) for seed in range(n_splits) for name in names]


def work(job: KernelJob) -> dict[str, Any]:
    """Return every setting of each model, in both forms."""
    parts = split(job.table, job.seed)
    X, y = parts.train
    tried: dict[str, list[Tried]] = {
        f"{model}, {form}": [] for model in (GAMMA, EP) for form in FORMS
    }
    for width in job.widths:
        kernel = SquaredExponential(lengthscale=width)
        gram = kernel.gram(X)
        for variance in VARIANCES:
            for gamma in (-1.0, *GAMMAS):
                found = kernel_gamma_ep(gram, y, gamma=gamma, noise_sd=variance**0.5)
                both = _tried(kernel, parts, found, variance)
                for form, one in zip(FORMS, both, strict=True):
                    tried[f"{EP if gamma == -1.0 else GAMMA}, {form}"].append(one)
    return {**tried, SVM: _machines(parts, job.widths)}


def _tried(
    kernel: SquaredExponential, parts: Split, found: GammaPosterior, variance: float
) -> list[Tried]:
    """Return one setting in both forms: the mean by alpha, and the posterior's own."""
    X, y = parts.train
    weights = np.column_stack([y * found.alpha, kernel_weights(found, y)])
    root = np.sqrt(found.precision)
    B = np.eye(len(y)) + (kernel.gram(X) + variance * np.eye(len(y))) * np.outer(root, root)
    lower = np.linalg.cholesky(B)
    signed = []
    for rows, labels in (parts.choose, parts.test):
        cross = kernel.gram(rows, X)
        half = solve_triangular(lower, root[:, None] * cross.T, lower=True)
        spread = kernel.diagonal(rows) - np.einsum("ij,ij->j", half, half) + variance
        signed.append(labels[:, None] * (cross @ weights) / np.sqrt(spread)[:, None])
    return [
        _figures_of(choose, test) for choose, test in zip(*(part.T for part in signed), strict=True)
    ]


def _figures_of(choose: Array, test: Array) -> Tried:
    """Return errors and probabilities from standard latent values times labels."""
    return Tried(
        float(np.mean(choose <= 0)),
        float(np.mean(log_ndtr(choose))),
        0.0,
        (
            float(np.mean(test <= 0)),
            float(np.log(np.sum(ndtr(test)))),
            float(np.mean(log_ndtr(test))),
        ),
    )


def _machines(parts: Split, widths: Sequence[float]) -> list[Tried]:
    machines = [
        SVC(C=cost, gamma=0.5 / width**2).fit(*parts.train) for width in widths for cost in COSTS
    ]
    return [
        Tried(1.0 - one.score(*parts.choose), 0.0, 0.0, (1.0 - one.score(*parts.test),))
        for one in machines
    ]


def rows(results: Mapping[KernelJob, Mapping[str, Any]]) -> list[Row]:
    """Return the cells of tables 4.2 to 4.5."""
    made = []
    for name in KERNEL:
        cells = [result for job, result in results.items() if job.table == name]
        if not cells:
            continue
        found = {
            (model, form): figures(
                [cell[model if model == SVM else f"{model}, {form}"] for cell in cells], form
            )
            for model in KERNEL[name]
            for form in FORMS
        }
        made += _cell_rows(name, found)
        made += _test_rows(name, found)
    return made


def _cell_rows(name: str, found: Mapping[tuple[str, str], Array]) -> list[Row]:
    """Return errors and log probabilities beside the printed ones."""
    made = []
    for (model, form), ours in found.items():
        error, log_sum = KERNEL[name][model]
        case = f"{name}, {model}, {form}"
        made.append(
            error_row(name, f"Table 4.2, {case}", ours[:, ERROR], error, is_described=model == EP)
        )
        if log_sum is not None:
            made.append(_log_row(f"Table 4.4, {case}", ours, log_sum))
    return made


def _log_row(case: str, figures: Array, printed: Any) -> Row:
    sums, means = figures[:, LOG_SUM], figures[:, MEAN_LOG]
    return Row(
        case,
        "log of summed probabilities; printed as average log likelihood",
        float(sums.mean()),
        printed.mean,
        higher_is_better=True,
        note=f"sd {sums.std():.3f}, printed {printed.deviation}; mean log probability "
        f"{means.mean():.3f}",
    )


def _test_rows(name: str, found: Mapping[tuple[str, str], Array]) -> list[Row]:
    """Return p-values of tables 4.3 and 4.5: unpaired, as they seem to be printed, and paired."""
    made = []
    for form in FORMS:
        gamma, plain, machine = (found[model, form] for model in (GAMMA, EP, SVM))
        if len(gamma) < FEWEST_TESTED:
            continue
        compared = [
            (f"Table 4.3, {name}, {GAMMA} : {EP}", gamma[:, ERROR], plain[:, ERROR]),
            (f"Table 4.3, {name}, {GAMMA} : {SVM}", gamma[:, ERROR], machine[:, ERROR]),
            (f"Table 4.5, {name}, {GAMMA} : {EP}", gamma[:, LOG_SUM], plain[:, LOG_SUM]),
        ]
        published = (P_ERROR[name][EP], P_ERROR[name][SVM], P_LOG[name])
        for (case, ours, other), p in zip(compared, published, strict=True):
            made.append(p_row(f"{case}, {form}", ours, other, p))
    return made


def p_row(case: str, ours: Array, other: Array, printed: float) -> Row:
    """Return an unpaired p-value beside the printed one, and the paired one."""
    paired = 1.0 if np.array_equal(ours, other) else float(wilcoxon(ours, other).pvalue)
    return Row(
        case,
        "p-value, unpaired; printed",
        float(mannwhitneyu(ours, other).pvalue),
        printed,
        note=f"paired {paired:.2g}; difference of means {np.mean(ours) - np.mean(other):+.4f}",
    )
