"""Functions drawn from a kernel's prior."""

from typing import Any

import numpy as np

from parsimon._random import Seed, generator
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.kernels.base import Kernel


def sample_prior(kernel: Kernel, X: Any, n_samples: int = 1, *, random_state: Seed = None) -> Array:
    """Draw functions with this kernel as covariance and mean zero, at the rows of X.

    Parameters
    ----------
    kernel : Kernel
        Positive semi-definite.
    X : array-like of shape (n, d)
        Where to evaluate; the cost grows with the cube of n.
    n_samples : int, default 1
        Number of functions.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    ndarray of shape (n_samples, n)

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> sample_prior(SquaredExponential(0), [[0.0], [0.1], [5.0]], 2, random_state=0).shape
    (2, 3)
    """
    if not kernel.is_psd:
        raise InvalidInputError(
            f"{kernel} is not positive semi-definite: no function has it as its covariance."
        )
    if n_samples < 1:
        raise InvalidInputError(f"n_samples must be 1 or more, got {n_samples}.")
    values, vectors = np.linalg.eigh(kernel.gram(X))
    # The symmetric root does not depend on the signs of eigenvectors, which differ between
    # machines; rounding may leave eigenvalues just below zero.
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    draws: Array = generator(random_state).standard_normal((n_samples, len(values))) @ root
    return draws
