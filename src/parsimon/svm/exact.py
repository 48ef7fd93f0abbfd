"""The reference: the dual solved exactly, once or for a path of C."""

import numpy as np

from parsimon._options import check_positive
from parsimon._typing import Array
from parsimon.svm.dual import Dual, Solution
from parsimon.svm.smo import climb

_LEAST_MOST_STEPS = 1_000_000
_LIBSVM_TOLERANCE, _LIBSVM_STEPS = 1e-4, 100_000


def solve(
    dual: Dual,
    *,
    start: Array | None = None,
    tolerance: float = 1e-3,
    max_steps: int | None = None,
) -> Solution:
    """Return the maximum of a dual; on an indefinite kernel a stationary point.

    From nothing and with the equality scikit-learn's libsvm solves it, and exact steps of `smo`
    make good what its single precision leaves; otherwise the exact steps do it all.

    Shapes: start (n,).
    """
    check_positive("tolerance", tolerance)
    most = max(_LEAST_MOST_STEPS, 100 * len(dual)) if max_steps is None else max_steps
    if start is None and _suits_libsvm(dual):
        return _libsvm(dual, tolerance, most)
    begin = np.zeros(len(dual)) if start is None else feasible(dual, start)
    end = climb(dual, begin, tolerance=tolerance, max_steps=most)
    return Solution.of(dual, end.alpha, n_steps=end.n_steps, converged=end.converged)


def feasible(dual: Dual, alpha: Array) -> Array:
    """Return points in the box, on the plane if the dual asks for it; shape (n,) or (k, n).

    The side whose sum is greater is shrunk by a factor, so that zeros stay zeros.
    """
    inside: Array = np.clip(alpha, 0.0, dual.upper)
    if not dual.equality:
        return inside
    positive = dual.signs > 0
    up = inside @ positive.astype(np.float64)
    down = inside @ (~positive).astype(np.float64)
    least = np.minimum(up, down)
    factors = [
        np.divide(least, side, out=np.zeros_like(side), where=side > 0) for side in (up, down)
    ]
    shrunk: Array = inside * np.where(positive, factors[0][..., None], factors[1][..., None])
    return shrunk


def _suits_libsvm(dual: Dual) -> bool:
    both = np.unique(dual.signs[dual.upper > 0]).size == 2
    return dual.equality and dual.linear is None and both


def _libsvm(dual: Dual, tolerance: float, max_steps: int) -> Solution:
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    # Rows without room are left out here: scikit-learn's libsvm leaves out rows of weight zero
    # without their columns of a precomputed matrix.
    used = np.flatnonzero(dual.upper > 0)
    kernel = dual.kernel if len(used) == len(dual) else dual.kernel[np.ix_(used, used)]
    # It keeps the matrix in single precision and would look for smaller gaps for ever.
    machine = SVC(
        kernel="precomputed",
        C=1.0,
        tol=max(tolerance, _LIBSVM_TOLERANCE),
        max_iter=min(max_steps, max(_LIBSVM_STEPS, 100 * len(used))),
        cache_size=1.0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(kernel, dual.signs[used], sample_weight=dual.upper[used])
    alpha = np.zeros(len(dual))
    support = used[machine.support_]
    alpha[support] = machine.dual_coef_[0] * dual.signs[support]
    alpha = np.clip(alpha, 0.0, dual.upper)
    n_steps = int(np.max(machine.n_iter_))
    # Exact steps finish its work, none if the gap is as asked for.
    left = max(max_steps - n_steps, 1)
    end = climb(dual, feasible(dual, alpha), tolerance=tolerance, max_steps=left)
    return Solution.of(dual, end.alpha, n_steps=n_steps + end.n_steps, converged=end.converged)
