"""A kernel in the clothes of scikit-learn's kernels.

Imported by `parsimon.kernels.adapters` only when it is needed: a subclass has to import its base.
"""

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter
from sklearn.gaussian_process.kernels import Kernel as ScikitKernel

from parsimon._typing import Array
from parsimon.kernels.base import Kernel


class KernelAdapter(ScikitKernel):
    """Calls a parsimon kernel where scikit-learn wants one of its own.

    kernel: What computes; it is replaced, not changed, when theta is set.
    theta_bounds (p, 2): Bounds of theta; 1e-5 to 1e5, as scikit-learn's, if not given.
    """

    def __init__(self, kernel: Kernel, theta_bounds: Array | None = None) -> None:
        self.kernel = kernel
        self.theta_bounds = theta_bounds

    @property
    def theta(self) -> Array:
        """Logarithms of the free hyperparameters, shape (p,)."""
        return self.kernel.theta

    @theta.setter
    def theta(self, theta: Array) -> None:
        self.kernel = self.kernel.with_theta(theta)

    @property
    def bounds(self) -> Array:
        """Bounds of theta, shape (p, 2)."""
        if self.theta_bounds is None:
            return np.tile(np.log([1e-5, 1e5]), (self.kernel.n_theta, 1))
        return np.asarray(self.theta_bounds)

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Names and bounds as scikit-learn's warnings print them."""
        return [
            Hyperparameter(name, "numeric", np.exp(bounds))
            for name, bounds in zip(self.kernel.theta_names, self.bounds, strict=True)
        ]

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return k(X, Y), and with `eval_gradient` its derivatives, shape (n, n, p)."""
        if not eval_gradient:
            return self.kernel.gram(X, Y)
        if Y is not None:
            raise ValueError("Gradient can only be evaluated when Y is None.")
        gram, derivatives = self.kernel.gradients(X)
        return gram, np.moveaxis(derivatives, 0, -1)

    def diag(self, X: Any) -> Array:
        """Return k(x_i, x_i), shape (n,)."""
        return self.kernel.diagonal(X)

    def is_stationary(self) -> bool:
        """Return False: not known of an expression, and nothing depends on it."""
        return False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kernel})"
