"""The columns that a sparse regression chooses from: features, or similarities with rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from parsimon._typing import Array, Indices
from parsimon._validation import finite_matrix
from parsimon.exceptions import InvalidInputError
from parsimon.kernels import as_kernel

FEATURES = "features"


@dataclass(frozen=True, eq=False)
class Functions:
    """Functions of a row: its features, or its similarities with training rows.

    kernel: ``kernel(X, Z)`` returns similarities, shape (n, m); None takes the features
        themselves.
    centres (m, d): Training rows whose similarities are the columns.
    chosen (k,): Which features, or which centres.
    """

    kernel: Callable[[Any, Any], Any] | None
    centres: Array | None
    chosen: Indices

    def __call__(self, X: Array) -> Array:
        """Return the chosen functions at rows, shape (n, k)."""
        if self.kernel is None or self.centres is None:
            return X[:, self.chosen]
        if not len(self.chosen):
            return np.empty((len(X), 0))
        values = finite_matrix(self.kernel(X, self.centres[self.chosen]), "Kernel values")
        if values.shape != (len(X), len(self.chosen)):
            raise InvalidInputError(
                f"The kernel returned shape {values.shape} for {len(X)} rows and "
                f"{len(self.chosen)} centres; it must return ({len(X)}, {len(self.chosen)})."
            )
        return values

    def take(self, chosen: Indices) -> "Functions":
        """Return some of the functions, which then cost those alone."""
        return Functions(self.kernel, self.centres, self.chosen[chosen])


def make_functions(
    kernel: Any, X: Array, *, gamma: float | str = "scale", degree: int = 3, coef0: float = 0.0
) -> Functions:
    """Return the functions that a kernel, its name in SVC, or "features" stands for."""
    if isinstance(kernel, str) and kernel == FEATURES:
        return Functions(None, None, np.arange(X.shape[1]))
    if isinstance(kernel, str):
        kernel = as_kernel(kernel, gamma=gamma, degree=degree, coef0=coef0, X=X)
    if not callable(kernel):
        raise InvalidInputError(
            f'kernel must be "{FEATURES}", a name as in SVC, a parsimon kernel or a callable; got '
            f"{kernel!r}."
        )
    return Functions(kernel, X, np.arange(len(X)))
