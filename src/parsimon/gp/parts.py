"""What the estimators share: components, how a matrix is kept, a warning."""

import warnings
from typing import Any, NamedTuple

from sklearn.exceptions import ConvergenceWarning

from parsimon._typing import Array
from parsimon.gp.fit import Fitted
from parsimon.inference import LatentPosterior, LowRankPrior
from parsimon.kernels import Kernel


class Component(NamedTuple):
    """One additive part of the latent function.

    Attributes
    ----------
    name : str
        The term of the kernel, with the table's column names if there are any.
    kernel : Kernel
        The term with its hyperparameters.
    mean, sd : ndarray of shape (m,) or (m, n_classes)
        Of the part's posterior: mean plus and minus two standard deviations is a band.
    """

    name: str
    kernel: Kernel
    mean: Array
    sd: Array


def form_of(posterior: Any) -> str:
    """Return how the kernel matrix of a posterior is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from parsimon.gp.fit import fit_classifier
    >>> from parsimon.kernels import SquaredExponential
    >>> X, y = np.linspace(0, 1, 100)[:, None], np.repeat([-1.0, 1.0], 50)
    >>> form_of(fit_classifier(SquaredExponential(0), X, y, optimise=False).posterior)
    'low rank 5'
    """
    if isinstance(posterior, LatentPosterior) and isinstance(posterior.prior, LowRankPrior):
        return f"low rank {posterior.prior.factor.shape[1]}"
    return "dense"


def warn_unless_converged(fit: Fitted[Any]) -> None:
    """Warn the caller of an estimator's `fit` that it stopped early.

    Examples
    --------
    >>> import numpy as np
    >>> from parsimon.gp.fit import fit_classifier
    >>> from parsimon.kernels import SquaredExponential
    >>> X, y = np.array([[0.0], [1.0]]), np.array([-1.0, 1.0])
    >>> warn_unless_converged(fit_classifier(SquaredExponential(0), X, y))
    """
    if not fit.converged:
        warnings.warn(
            f"The fit did not converge: {fit.message} Raise max_iter or time_limit.",
            ConvergenceWarning,
            stacklevel=3,
        )


def written_names(estimator: Any) -> list[str] | None:
    """Return the column names that an estimator saw, None if there were none.

    Examples
    --------
    >>> written_names(object()) is None
    True
    """
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]
