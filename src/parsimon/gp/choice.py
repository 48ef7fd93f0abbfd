"""From what a user gives as a kernel to a kernel with a start."""

from dataclasses import replace
from typing import Any

import numpy as np

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.kernels import Kernel, SquaredExponential, as_kernel, from_sklearn


def chosen_kernel(spec: Any, X: Array) -> Kernel:
    """Return the kernel meant by a kernel, a scikit-learn kernel, a name, or None.

    None is a squared exponential of the distance over all columns. A name, and None, are given
    hyperparameters from the data and leave out constant columns, which say nothing; a kernel
    keeps its own hyperparameters and columns.

    Shapes: X (n, d).
    """
    if isinstance(spec, Kernel):
        return spec
    if spec is None or isinstance(spec, str):
        leaf: Any = SquaredExponential() if spec is None else as_kernel(spec)
        chosen: Kernel = replace(leaf, columns=_varying(X)).start(X)
        return chosen
    from sklearn.gaussian_process.kernels import Kernel as ScikitKernel

    if isinstance(spec, ScikitKernel):
        return from_sklearn(spec)
    raise InvalidInputError(
        "kernel must be a kernel of parsimon or of scikit-learn, the name of one, or None; "
        f"got {type(spec).__name__}."
    )


def _varying(X: Array) -> tuple[int, ...] | None:
    """Return the columns that are not constant; None if all of them vary."""
    varies = np.ptp(X, axis=0) > 8 * np.finfo(np.float64).eps * np.abs(X).max(axis=0)
    if not varies.any():
        raise InvalidInputError(
            f"Each of the {X.shape[1]} columns of X is constant, so there is nothing to learn "
            "from. Add a column that varies."
        )
    return None if varies.all() else tuple(np.flatnonzero(varies).tolist())
