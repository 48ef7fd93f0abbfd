"""What in Mierswa (2009), chapters 3 to 5, is an artefact: the numbers of the page of errata.

Seven claims, computed with scikit-learn's libsvm and NumPy, so that no figure depends on a solver
of ours; only the rows of "the printed search" run one, `ParetoSVC("dual")`. No
row has a bar: the page explains what they mean.
"""

import math
import sys
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.libsvm import box_optimum, coefficients, dual_value, signs_of
from benchmarks.reproduce._mierswa_data import (
    EPANECHNIKOV,
    GAMMA,
    data_set,
    folds,
    plain_errors,
)
from benchmarks.reproduce._mierswa_tables import ERROR, INDEFINITE, OBJECTIVE
from benchmarks.rows import Row
from parsimon._typing import Array, Indices
from parsimon.datasets import make_four_clusters
from parsimon.exceptions import DatasetNotFoundError
from parsimon.kernels import Epanechnikov

REAL_SETS = ("Liver", "Sonar", "Diabetes", "Lawsuit", "Lupus", "Crabs")
QUICK_SETS = ("Sonar", "Crabs")


def rows(*, quick: bool) -> list[Row]:
    """Return the rows of all seven claims."""
    from threadpoolctl import threadpool_limits

    sets = QUICK_SETS if quick else REAL_SETS
    parts: tuple[Callable[[], Iterator[Row]], ...] = (
        lambda: width_rows(sets),
        lambda: fold_rows(("Sonar",) if quick else ("Sonar", "Diabetes", "Ionosphere")),
        lawsuit_rows,
        lambda: objective_rows(sets),
        lambda: ray_rows(("Crabs",) if quick else ("Crabs", "Sonar")),
        lambda: search_rows(("Crabs",) if quick else ("Crabs", "Sonar"), 100 if quick else 1000),
        labelling_rows,
        lambda: spectrum_rows(sets),
    )
    made: list[Row] = []
    with threadpool_limits(1):
        for number, part in enumerate(parts, start=1):
            print(f"part {number} of {len(parts)}", file=sys.stderr, flush=True)
            try:
                made += part()
            except DatasetNotFoundError as error:
                print(f"part {number} is left out: {error}")
    return made


def width_rows(sets: tuple[str, ...]) -> Iterator[Row]:
    """Yield libsvm's error if sigma is the gamma, and if it is what the definition says."""
    for name in sets:
        X, y = data_set(name)
        sigma, printed = GAMMA[name], ERROR[name]["LibSVM"]
        for label, gamma in (("gamma = sigma", sigma), ("gamma = 1/(2 sigma^2)", 0.5 / sigma**2)):
            error, deviation = _rbf_error(X, y, gamma)
            note = f"sd {deviation:.2f}, printed {printed.deviation:.2f}"
            metric, figures = f"error %, {label}; printed", (error, printed.mean)
            yield Row(f"1. {name}", metric, *figures, note=note, rivals=plain_errors(name))


def _rbf_error(X: Array, y: Indices, gamma: float) -> tuple[float, float]:
    from sklearn.svm import SVC

    errors = [
        100.0 * np.mean(SVC(gamma=gamma).fit(X[train], y[train]).predict(X[test]) != y[test])
        for train, test in folds(X, y)
    ]
    return float(np.mean(errors)), float(np.std(errors))


def fold_rows(sets: tuple[str, ...]) -> Iterator[Row]:
    """Yield the deviation of the default classifier's error for ten and for twenty folds."""
    printed = {"Sonar": 1.62, "Diabetes": 0.34, "Ionosphere": 1.35}
    for name in sets:
        X, y = data_set(name)
        for n_folds in (10, 20):
            shares = [100.0 * y[test].mean() for _, test in folds(X, y, n_folds)]
            metric = f"sd of the default error, {n_folds} folds; printed"
            yield Row(f"2. {name}", metric, float(np.std(shares)), printed[name])


def lawsuit_rows() -> Iterator[Row]:
    """Yield the share of the rarer class of both tasks."""
    for name, table, printed in (("Lawsuit", "3.3", 36.72), ("Lawsuit, laid off", "3.4", 7.17)):
        _, y = data_set(name)
        yield Row(f"3. {name}", f"default error %; table {table}", 100.0 * float(y.mean()), printed)


def objective_rows(sets: tuple[str, ...]) -> Iterator[Row]:
    """Yield the true optimum, and what comes out if alpha_i y_i is taken for alpha_i."""
    for name in sets:
        X, y = data_set(name)
        values, boxes, mistaken = np.array(list(_objectives(X, y, GAMMA[name]))).T
        printed = OBJECTIVE[name]
        case = f"4. {name}"
        yield Row(
            case,
            "largest dual value, C = 1; printed EvoSVM",
            float(values.mean()),
            printed["EvoSVM"].mean,
            higher_is_better=True,
            note=f"without the equality {boxes.mean():.1f}",
        )
        yield Row(
            case,
            "value if alpha y is taken for alpha; printed mySVM",
            float(mistaken.mean()),
            printed["mySVM"].mean,
            note=f"sd {mistaken.std():.2f}, printed {printed['mySVM'].deviation:.2f}",
        )


def _objectives(X: Array, y: Indices, gamma: float) -> Iterator[tuple[float, float, float]]:
    from sklearn.metrics.pairwise import rbf_kernel

    for train, _ in folds(X, y):
        K, signs = rbf_kernel(X[train], gamma=gamma), signs_of(y[train])
        signed = coefficients(K, signs, 1.0)
        # The dual reads alpha; with signed values its linear term is their sum, which is zero, and
        # the signs in Q cancel those of the values.
        alpha = signed * signs
        mistaken = signed.sum() - 0.5 * alpha @ K @ alpha
        yield dual_value(K, signed), box_optimum(K, signs, 1.0), float(mistaken)


def ray_rows(sets: tuple[str, ...]) -> Iterator[Row]:
    """Yield training errors along the exact front of corollary 3.1, and how alike its start is."""
    from sklearn.metrics.pairwise import rbf_kernel

    for name in sets:
        X, y = data_set(name)
        signs = signs_of(y)
        K = rbf_kernel(X, gamma=GAMMA[name])
        path = {nu: simplex_minimum(K, signs, nu) for nu in (0.02, 0.05, 0.5, 1.0)}
        first, second = path[0.02], path[0.05]
        cosine = float(first @ second / np.sqrt((first @ first) * (second @ second)))
        case = f"5. {name}"
        yield Row(case, "cosine of alpha at sums of 0.02 n and 0.05 n; one ray", cosine, 1.0)
        for nu, alpha in path.items():
            wrong = 100.0 * float(np.mean(signs * (K @ (signs * alpha)) <= 0.0))
            bound = int(np.sum(alpha > 1.0 - 1e-9))
            note = f"{int(np.sum(alpha > 0))} vectors, {bound} at the bound"
            metric = f"training error % at a sum of {nu:g} n; at n"
            yield Row(case, metric, wrong, _parzen(K, signs), note=note)


def search_rows(sets: tuple[str, ...], generations: int) -> Iterator[Row]:
    """Yield what the printed search finds at a small sum, beside the exact front at that sum."""
    from sklearn.metrics.pairwise import rbf_kernel

    from parsimon.svm import ParetoSVC

    for name in sets:
        X, y = data_set(name)
        signs, K = signs_of(y), rbf_kernel(X, gamma=GAMMA[name])
        search = ParetoSVC(
            "dual",
            gamma=GAMMA[name],
            max_iter=generations,
            validation_fraction=0.0,
            random_state=0,
        ).fit(X, y)
        table = search.to_frame()
        table = table[table["linear"] > 0.0]
        found = table.iloc[(table["linear"] - 0.05 * len(y)).abs().argmin()]
        exact = simplex_minimum(K, signs, float(found["linear"]) / len(y))
        scores = K @ (signs * exact)
        case, note = f"5. {name}, the printed search", f"{generations} generations"
        where = f"at a sum of {found['linear']:.1f}"
        yield Row(
            case,
            f"alpha' Q alpha {where}; exact",
            -float(found["quadratic"]),
            float(exact @ (signs * scores)),
            note=f"{note}, {int(found['n_support'])} vectors, exact {int(np.sum(exact > 0))}",
        )
        wrong = 100.0 * float(np.mean(signs * scores <= 0.0))
        error = 100.0 * float(found["training_error"])
        yield Row(case, f"training error % {where}; exact", error, wrong, note=note)


def simplex_minimum(K: Array, signs: Array, share: float) -> Array:
    """Return the alpha in [0, 1]^n with the least alpha' Q alpha among those of this mean.

    It is the dual of a one-class machine whose similarities are Q (Schoelkopf and others 2001).
    """
    from sklearn.svm import OneClassSVM

    if share == 1.0:
        return np.ones(len(signs))
    Q = K * np.outer(signs, signs)
    machine = OneClassSVM(kernel="precomputed", nu=share, tol=1e-8).fit(Q)
    alpha = np.zeros(len(signs))
    alpha[machine.support_] = machine.dual_coef_[0]
    return alpha


def _parzen(K: Array, signs: Array) -> float:
    return 100.0 * float(np.mean(signs * (K @ signs) <= 0.0))


def labelling_rows() -> Iterator[Row]:
    """Yield the dual optimum of each labelling of 4-Clusters: the right one has the least."""
    X, right = make_four_clusters(all_labels=True)
    K = X @ X.T
    best = math.nan
    for name, flips in (
        ("lower against upper", []),
        ("left against right", [2, 3]),
        ("one corner against three", [2]),
        ("three corners against one", [3]),
    ):
        signs = signs_of(right)
        signs[flips] *= -1.0
        value = dual_value(K, coefficients(K, signs, 1.0))
        best = best if flips else value
        yield Row(f"6. 4-Clusters, {name}", "max over alpha of D; the right labelling", value, best)


def spectrum_rows(sets: tuple[str, ...]) -> Iterator[Row]:
    """Yield the spectra of the Epanechnikov matrices of table 4.1, and libsvm's error on them."""
    for name in sets:
        X, y = data_set(name)
        width, degree = EPANECHNIKOV[name]
        K = Epanechnikov(width=width, degree=degree).gram(X)
        eigenvalues = np.linalg.eigvalsh(K)
        negative = eigenvalues[eigenvalues < -1e-9]
        mass = float(np.abs(negative).sum() / np.abs(eigenvalues).sum())
        errors = [_precomputed_error(K, y, train, test) for train, test in folds(X, y)]
        printed = INDEFINITE[name]
        note = (
            f"smallest eigenvalue {eigenvalues[0]:.2g}, {len(negative)} below -1e-9, "
            f"{100 * mass:.2g} % of the mass; EvoSVM printed {printed['EvoSVM'].mean:.2f}"
        )
        metric = "error % of libsvm, Epanechnikov; printed LibSVM"
        figures = float(np.mean(errors)), printed["LibSVM"].mean
        yield Row(f"7. {name}", metric, *figures, note=note, rivals=plain_errors(name))


def _precomputed_error(K: Array, y: Indices, train: Indices, test: Indices) -> float:
    from sklearn.svm import SVC

    machine = SVC(kernel="precomputed").fit(K[np.ix_(train, train)], y[train])
    return 100.0 * float(np.mean(machine.predict(K[np.ix_(test, train)]) != y[test]))
