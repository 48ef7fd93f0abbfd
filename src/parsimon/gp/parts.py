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

    name: The term of the kernel, with the table's column names if there are any.
    kernel: The term with its hyperparameters.
    mean, sd (m,): Of the part's posterior: mean plus and minus two standard deviations is a
        band.
    """

    name: str
    kernel: Kernel
    mean: Array
    sd: Array


def form_of(posterior: Any) -> str:
    """Return how the kernel matrix of a posterior is kept."""
    if isinstance(posterior, LatentPosterior) and isinstance(posterior.prior, LowRankPrior):
        return f"low rank {posterior.prior.factor.shape[1]}"
    return "dense"


def warn_unless_converged(fit: Fitted[Any]) -> None:
    """Warn the caller of an estimator's `fit` that it stopped early."""
    if not fit.converged:
        warnings.warn(
            f"The fit did not converge: {fit.message} Raise max_iter or time_limit.",
            ConvergenceWarning,
            stacklevel=3,
        )


def written_names(estimator: Any) -> list[str] | None:
    """Return the column names that an estimator saw, None if there were none."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]
