"""Gaussian-process regression with scikit-learn's interface."""

from numbers import Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice
from parsimon._data import merged_rows, row_weights, validate_data
from parsimon._random import Seed
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.gp._default_kernel import fit_or_choose
from parsimon.gp._estimator import (
    LatentComponent,
    ProcessEstimator,
    form_of,
    join_rows,
    left_out,
    warn_if_cut,
    written_names,
)
from parsimon.gp._process_fit import fit_regressor
from parsimon.inference.posterior import Latent
from parsimon.kernels import plain
from parsimon.kernels.form import sum_of_products


class LeftOutTargets(NamedTuple):
    """Predictions of the training targets, each made without its row.

    mean, sd (n,): Of the target, noise included.
    log_density: Mean log density of the targets under these predictions, weighted by
        `sample_weight`.
    error: Root of the mean squared error, weighted alike.
    """

    mean: Array
    sd: Array
    log_density: float
    error: float


class GPRegressor(RegressorMixin, ProcessEstimator):
    """Gaussian-process regression, kernel and noise fitted by maximum evidence [1]_.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel, name, "precomputed" or None
        The prior covariance; its hyperparameters are where the fit begins. Names and "precomputed"
        are those of `GPClassifier`. With None five
        kernels are fitted and one is kept, as in `GPClassifier`. None and a name leave out
        constant columns; a kernel that names one is refused.
    noise : "estimate", float or None
        Variance of an observation around the function: estimated along with the kernel ("estimate"
        and None), or held at this value, in squared units of y.
    normalise_y : bool
        Subtract the mean of y and divide by its standard deviation before the fit; the kernel's
        variances are then in units of the variance of y. False takes y as it is, with a prior
        mean of zero.
    optimise : bool
        False keeps the kernel's hyperparameters, and the noise at a tenth of the mean square of
        y if no number was given.
    n_restarts : int
        Further starts of the optimiser: the first where the data suggest, the others at random.
    form : {"auto", "dense", "low_rank"}
        Of the kernel matrix. The forms agree to 1e-6 in log evidence for each row.
    random_state : int, Generator, SeedSequence, RandomState or None
        Draws the restarts.
    max_iter : int
        Iterations of the optimiser for each start.
    time_limit : float, optional
        Seconds for the fit; the best hyperparameters so far are kept.

    Attributes
    ----------
    kernel_ : Kernel
        With fitted hyperparameters.
    noise_variance_ : float
        In squared units of y.
    log_evidence_ : float
        Log marginal likelihood of y, in its own units.
    form_ : str
        "dense", or "low rank" and the rank.
    n_iter_ : int
        Evaluations of the evidence.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    References
    ----------
    .. [1] Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, chapter 2.

    Examples
    --------
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=40)
    >>> model = GPRegressor(random_state=0).fit(X, y)
    >>> mean, sd = model.predict([[1.5], [20.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.5)) < 0.1), bool(sd[1] > 5 * sd[0])
    (True, True)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        noise: float | Literal["estimate"] | None = None,
        normalise_y: bool = True,
        optimise: bool = True,
        n_restarts: int = 2,
        form: Literal["auto", "dense", "low_rank"] = "auto",
        random_state: Seed = None,
        max_iter: int = 200,
        time_limit: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.noise = noise
        self.normalise_y = normalise_y
        self.optimise = optimise
        self.n_restarts = n_restarts
        self.form = form
        self.random_state = random_state
        self.max_iter = max_iter
        self.time_limit = time_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit hyperparameters, noise and the posterior.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Square, of similarities, for ``kernel="precomputed"``.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            How many observations each row stands for: integers equal repeated rows, zero leaves
            one out.

        Returns
        -------
        GPRegressor
            Itself.
        """
        noise = self._checked_noise()
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=np.float64)
        weights = row_weights(sample_weight, len(X))
        self._centre, self._unit = _scale(y, weights) if self.normalise_y else (0.0, 1.0)
        rows = merged_rows(self._as_points(X), (y - self._centre) / self._unit, weights)
        self._rows, self._targets, self._sample_weight = rows, y, weights
        options: dict[str, Any] = {
            "noise_variance": None if noise is None else noise / self._unit**2,
            "estimate_noise": noise is None,
            "weights": rows.weights,
            "optimise": self.optimise,
            "n_restarts": self.n_restarts,
            "random_state": self.random_state,
            "form": self.form,
            "max_iterations": self.max_iter,
            "time_limit": self.time_limit,
        }
        kernel, alike = self._first_kernel(rows.X), np.zeros(len(rows))
        fit = fit_or_choose(fit_regressor, kernel, rows.X, rows.y, alike, options)
        self._posterior = fit.posterior
        self.kernel_ = fit.kernel
        self.noise_variance_ = fit.posterior.noise_variance * self._unit**2
        # A density of y itself: each observation was divided by the unit.
        self.log_evidence_ = fit.log_evidence - float(weights.sum() * np.log(self._unit))
        self.form_ = form_of(fit.posterior)
        self.n_iter_ = fit.n_evaluations
        warn_if_cut(fit)
        return self

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        include_noise: bool = False,
    ) -> Any:
        """Predict the function at new rows.

        Parameters
        ----------
        X : array-like of shape (m, d)
        return_std : bool
            Return the standard deviations as well.
        return_cov : bool
            Return the covariance matrix as well, shape (m, m).
        include_noise : bool
            Of a new observation instead of the function: adds the noise variance.

        Returns
        -------
        mean : ndarray of shape (m,)
        sd or covariance : ndarray of shape (m,) or (m, m)
            If asked for.
        """
        if return_std and return_cov:
            raise InvalidInputError(
                "return_std and return_cov were both asked for; the roots of the covariance's "
                "diagonal are the standard deviations."
            )
        X = self._checked(X)
        mean, variance = self._posterior.latent(X, covariance=return_cov)
        if self._similarities is not None:
            latent = Latent(mean[:, None], np.zeros((len(mean), 1)))
            outside = self._similarities.widened(latent, X, [self.kernel_]).variance[:, 0]
            variance = variance + (np.diag(outside) if return_cov else outside)
        mean = self._centre + self._unit * mean
        if not (return_std or return_cov):
            return mean
        variance = self._unit**2 * variance
        noise = self.noise_variance_ if include_noise else 0.0
        if return_cov:
            return mean, variance + noise * np.eye(len(mean))
        return mean, np.sqrt(variance + noise)

    def leave_one_out(self) -> LeftOutTargets:
        """Predict each training target from the other rows; exact, without refitting.

        Rasmussen and Williams (2006), equation 5.12. Hyperparameters and scaling are kept. A row
        is left out with all its weight; of equal rows one is left out at a time.

        Returns
        -------
        LeftOutTargets
        """
        check_is_fitted(self)
        latent = join_rows(
            self._rows,
            left_out(self._posterior, self._rows),
            self._posterior.latent(self._rows.unused),
        )
        mean = self._centre + self._unit * latent.mean
        variance = self._unit**2 * latent.variance + self.noise_variance_
        miss = self._targets - mean
        log_density = -0.5 * (miss**2 / variance + np.log(2 * np.pi * variance))
        weights = self._sample_weight
        return LeftOutTargets(
            mean,
            np.sqrt(variance),
            float(np.average(log_density, weights=weights)),
            float(np.sqrt(np.average(miss**2, weights=weights))),
        )

    def components(self, X: Any) -> list[LatentComponent]:
        """Return the posterior of each additive part of the function at new rows.

        A kernel is multiplied out into a sum, and the function is then a sum of independent
        parts, whose posteriors follow exactly from the fit of the whole. Their means add up to
        `predict` less the mean of y; their variances do not add up, since the data couple them.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        list of LatentComponent
            In units of y.
        """
        X = self._checked(X)
        names = written_names(self)
        found = []
        for part in sum_of_products(self.kernel_):
            mean, variance = self._posterior.component(part, X)
            name, sd = plain(part, names), self._unit * np.sqrt(variance)
            found.append(LatentComponent(name, part, self._unit * mean, sd))
        return found

    def _checked_noise(self) -> float | None:
        """Check all options; return the noise variance that is held, None if it is estimated."""
        self._check_fit_options()
        check_choice("normalise_y", self.normalise_y, [True, False])
        if self.noise is None or self.noise == "estimate":
            return None
        if not isinstance(self.noise, Real) or not 0 < float(self.noise) < np.inf:
            raise InvalidInputError(
                f"noise must be a positive variance, 'estimate' or None; got {self.noise!r}."
            )
        return float(self.noise)


def _scale(y: Array, weights: Array) -> tuple[float, float]:
    """Return the weighted mean and standard deviation; a constant y has unit one."""
    centre = float(np.average(y, weights=weights))
    unit = float(np.sqrt(np.average((y - centre) ** 2, weights=weights)))
    return centre, unit if unit > 1e-12 * abs(centre) else 1.0
