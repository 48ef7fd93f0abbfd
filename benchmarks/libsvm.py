"""The dual of a support vector machine by routes of others: libsvm, and a bounded minimiser.

Our solvers are judged by these figures, so nothing here comes from `parsimon.svm`.
"""

import warnings

import numpy as np

from parsimon._compiled import numba_is_installed
from parsimon._typing import Array, Indices

TIGHT = 1e-6


def signs_of(y: Indices) -> Array:
    """Return labels -1 and 1 for 0 and 1."""
    return np.where(y == 1, 1.0, -1.0)


def coefficients(K: Array, signs: Array, C: float, *, tol: float = TIGHT) -> Array:
    """Return libsvm's alpha_i y_i for a matrix of similarities; y is -1 or 1."""
    from sklearn.svm import SVC

    with warnings.catch_warnings():
        # On an indefinite matrix libsvm may go round in circles; this many steps are enough.
        warnings.simplefilter("ignore")
        machine = SVC(kernel="precomputed", C=C, tol=tol, cache_size=500, max_iter=2_000_000).fit(
            K, signs
        )
    signed = np.zeros(len(signs))
    signed[machine.support_] = machine.dual_coef_[0]
    return signed


def dual_value(K: Array, signed: Array) -> float:
    """Return sum alpha - alpha' Q alpha / 2 from alpha_i y_i."""
    return float(np.abs(signed).sum() - 0.5 * signed @ K @ signed)


def optimum(K: Array, signs: Array, C: float) -> float:
    """Return the largest dual value, for a positive semi-definite matrix."""
    return dual_value(K, coefficients(K, signs, C))


def box_optimum(K: Array, signs: Array, C: float) -> float:
    """Return the largest dual value without the equality, by L-BFGS-B; for a PSD matrix."""
    from scipy.optimize import minimize

    Q = K * np.outer(signs, signs)

    def negative(alpha: Array) -> tuple[float, Array]:
        slope = Q @ alpha
        return float(0.5 * alpha @ slope - alpha.sum()), slope - 1.0

    found = minimize(
        negative,
        np.zeros(len(signs)),
        jac=True,
        bounds=[(0.0, C)] * len(signs),
        method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 20000, "ftol": 1e-12, "gtol": 1e-8},
    )
    return -float(found.fun)


def begins_from_zero() -> bool:
    """Return whether our default climbs by itself.

    Without numba it begins from libsvm's point, and to be as good as that is no promise.
    """
    return numba_is_installed()


def plain_values(K: Array, signs: Array, C: float, *, equality: bool = True) -> dict[str, float]:
    """Return dual values of those who solve nothing: of zero, of a random point, of equal weights.

    Equal weights within a class, of the best size, are the machine of the two class means.
    """
    from benchmarks.rivals import CONSTANT, GUESS

    alpha = np.random.default_rng(0).uniform(0.0, C, len(signs))
    sizes = np.where(signs > 0, np.sum(signs > 0), np.sum(signs < 0)).astype(np.float64)
    if equality:
        sums = {sign: alpha[signs == sign].sum() for sign in (-1.0, 1.0)}
        alpha *= np.where(
            signs > 0, min(sums.values()) / sums[1.0], min(sums.values()) / sums[-1.0]
        )
    even = signs / sizes if equality else signs / len(signs)
    curvature, slope = float(even @ K @ even), float(np.abs(even).sum())
    most = C * float(sizes.min() if equality else len(signs))
    size = min(slope / curvature, most) if curvature > 0 else most
    return {
        CONSTANT: 0.0,
        GUESS: dual_value(K, alpha * signs),
        "equal weights": dual_value(K, size * even),
    }
