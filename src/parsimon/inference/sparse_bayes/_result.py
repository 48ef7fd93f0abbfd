"""What every algorithm of sparse Bayesian learning returns."""

from dataclasses import dataclass, field

import numpy as np

from parsimon._typing import Array, Indices


@dataclass(frozen=True)
class SparseBayes:
    r"""A Gaussian posterior over the weights of the few columns that are in the model.

    Attributes
    ----------
    active : ndarray of shape (m,)
        Columns of the design that are in the model, ascending.
    alpha : ndarray of shape (m,)
        Prior precisions of their weights; those of all other columns are infinite.
    mean : ndarray of shape (m,)
        Posterior mean in regression, mode in classification.
    covariance : ndarray of shape (m, m)
    noise_variance : float or None
        None in classification.
    log_evidence : float
        Log marginal likelihood: exact in regression, by Laplace's method in classification, a
        lower bound for the variational algorithm.
    objective : float
        What was maximised: the log evidence plus the log prior of alpha, which is zero for "ard".
    n_iter : int
    converged : bool
    reason : str
        Why the algorithm stopped, one sentence.
    history : ndarray of shape (n_steps,)
        The objective after each accepted step; it never decreases.
    """

    active: Indices
    alpha: Array
    mean: Array
    covariance: Array
    noise_variance: float | None
    log_evidence: float
    objective: float
    n_iter: int
    converged: bool
    reason: str
    history: Array = field(default_factory=lambda: np.empty(0), repr=False)

    @property
    def well_determined(self) -> Array:
        r""":math:`\gamma_m = 1 - \alpha_m \Sigma_{mm}`, shape (m,): how far the data set a weight.

        Their sum is the number of degrees of freedom, the trace of the smoothing matrix
        (Tipping 2001, eq 17).
        """
        share: Array = 1.0 - self.alpha * np.diagonal(self.covariance)
        return np.clip(share, 0.0, 1.0)
