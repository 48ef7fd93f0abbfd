"""Tables 4.2 to 4.5 of Fearn (2021): kernel gamma-EP, EP and support vector machines.

Settings are chosen by validation error; the source could use no evidence, since it was not a
number. Literal: predictions of gamma-EP by ``sum(y alpha K)``, which is the posterior's mean at
gamma = -1 only, and the first of tied settings. Corrected: the posterior's mean, and ties by the
mean log probability of the validation rows. Probabilities have the noise in them in both forms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr
from scipy.stats import mannwhitneyu, wilcoxon
from sklearn.svm import SVC

from benchmarks.reproduce._fearn_4_tables import EP, GAMMA, KERNEL, P_ERROR, P_LOG, SVM
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
LITERAL, CORRECTED = "literal", "corrected"
ERROR, LOG_SUM, MEAN_LOG = range(3)


@dataclass(frozen=True)
class KernelJob:
    """One split of one table."""

    table: str
    seed: int
    widths: tuple[float, ...]


class Tried(NamedTuple):
    """One setting: error and mean log probability of validation rows, and figures of the test.

    These are the error, the log of the summed probabilities, and the mean log probability.
    """

    error: float
    log_probability: float
    test: tuple[float, float, float]


def jobs(*, quick: bool) -> list[KernelJob]:
    """Return a job for each split of the four tables, of one of them for a quick look."""
    names = QUICK_TABLES if quick else tuple(KERNEL)
    widths = QUICK_WIDTHS if quick else WIDTHS
    n_splits = QUICK_SPLITS if quick else N_SPLITS
    return [KernelJob(name, seed, widths) for seed in range(n_splits) for name in names]


def work(job: KernelJob) -> dict[str, Any]:
    """Return the test figures of each model, in both forms."""
    parts = split(job.table, job.seed)
    X, y = parts.train
    tried: dict[str, list[Tried]] = {
        f"{model}, {form}": [] for model in (GAMMA, EP) for form in (LITERAL, CORRECTED)
    }
    for width in job.widths:
        kernel = SquaredExponential(lengthscale=width)
        gram = kernel.gram(X)
        for variance in VARIANCES:
            for gamma in (-1.0, *GAMMAS):
                found = kernel_gamma_ep(gram, y, gamma=gamma, noise_sd=variance**0.5)
                for form in (LITERAL, CORRECTED):
                    name = f"{EP if gamma == -1.0 else GAMMA}, {form}"
                    tried[name].append(_tried(kernel, parts, found, variance, form))
    chosen = {name: _chosen(one, name.endswith(CORRECTED)).test for name, one in tried.items()}
    return {**chosen, SVM: _machine_error(parts, job.widths)}


def _tried(
    kernel: SquaredExponential, parts: Split, found: GammaPosterior, variance: float, form: str
) -> Tried:
    X, y = parts.train
    weights = y * found.alpha if form == LITERAL else kernel_weights(found, y)
    gram = kernel.gram(X)
    root = np.sqrt(found.precision)
    B = np.eye(len(y)) + (gram + variance * np.eye(len(y))) * np.outer(root, root)
    lower = np.linalg.cholesky(B)
    signed = []
    for rows, labels in (parts.choose, parts.test):
        cross = kernel.gram(rows, X)
        half = np.linalg.solve(lower, root[:, None] * cross.T)
        spread = kernel.diagonal(rows) - np.einsum("ij,ij->j", half, half) + variance
        signed.append(labels * (cross @ weights) / np.sqrt(spread))
    test = (
        float(np.mean(signed[1] <= 0)),
        float(np.log(np.sum(ndtr(signed[1])))),
        float(np.mean(log_ndtr(signed[1]))),
    )
    return Tried(float(np.mean(signed[0] <= 0)), float(np.mean(log_ndtr(signed[0]))), test)


def _chosen(tried: Sequence[Tried], by_probability: bool) -> Tried:
    least = min(one.error for one in tried)
    ties = [one for one in tried if one.error <= least + 1e-3]
    return max(ties, key=lambda one: one.log_probability) if by_probability else ties[0]


def _machine_error(parts: Split, widths: Sequence[float]) -> float:
    machines = [
        SVC(C=cost, gamma=0.5 / width**2).fit(*parts.train) for width in widths for cost in COSTS
    ]
    best = max(machines, key=lambda machine: machine.score(*parts.choose))
    return 1.0 - float(best.score(*parts.test))


def rows(results: Mapping[KernelJob, Mapping[str, Any]]) -> list[Row]:
    """Return the cells of tables 4.2 to 4.5."""
    made = []
    for name, printed in KERNEL.items():
        cells = [result for job, result in results.items() if job.table == name]
        if not cells:
            continue
        for model, (error, log_sum) in printed.items():
            if model == SVM:
                ours = np.array([cell[SVM] for cell in cells])
                made.append(error_row(f"Table 4.2, {name}, {SVM}", ours, error, is_described=False))
                continue
            for form in (LITERAL, CORRECTED):
                figures = np.array([cell[f"{model}, {form}"] for cell in cells])
                case = f"{name}, {model}, {form}"
                made.append(
                    error_row(
                        f"Table 4.2, {case}", figures[:, ERROR], error, is_described=model == EP
                    )
                )
                made.append(_log_row(f"Table 4.4, {case}", figures, log_sum))
        made += _test_rows(name, cells)
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


def _test_rows(name: str, cells: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return p-values of tables 4.3 and 4.5: unpaired, as they seem to be printed, and paired."""
    if len(cells) < 6:
        return []
    made = []
    for form in (LITERAL, CORRECTED):
        gamma = np.array([cell[f"{GAMMA}, {form}"] for cell in cells])
        plain = np.array([cell[f"{EP}, {form}"] for cell in cells])
        machine = np.array([cell[SVM] for cell in cells])
        compared = [
            (f"Table 4.3, {name}, {GAMMA} : {EP}", gamma[:, ERROR], plain[:, ERROR]),
            (f"Table 4.3, {name}, {GAMMA} : {SVM}", gamma[:, ERROR], machine),
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
