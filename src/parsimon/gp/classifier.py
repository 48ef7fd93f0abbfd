"""Gaussian-process classification with scikit-learn's interface.

`OneVsRestLatent` keeps one binary posterior for each class (a single one for two classes),
`SoftmaxLatent` one posterior of all classes together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice
from parsimon._data import (
    Rows,
    check_classes,
    class_weights,
    merged_rows,
    row_weights,
    validate_data,
)
from parsimon._parallel import Workers
from parsimon._random import Seed, seed_sequence
from parsimon._typing import Array
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
from parsimon.gp._process_fit import FittedProcess, fit_classifier, fit_softmax
from parsimon.inference import LatentPosterior
from parsimon.inference.likelihoods import positive_probability
from parsimon.inference.posterior import Latent
from parsimon.inference.softmax_laplace import SoftmaxPosterior, softmax_probability
from parsimon.kernels import Kernel, plain
from parsimon.kernels.form import sum_of_products


@dataclass(frozen=True, eq=False)
class OneVsRestLatent:
    """Binary posteriors: one for each class, or a single one for two classes."""

    fits: tuple[FittedProcess[LatentPosterior], ...]

    def latent(self, X: Array) -> Latent:
        """Return the k latent functions: means and variances of shape (m, k)."""
        return _columns([fit.posterior.latent(X) for fit in self.fits])

    def leave_one_out(self, rows: Rows) -> Latent:
        """Return the latent functions at each given row without that row."""
        plain = self.latent(rows.unused)
        return _columns(
            [
                join_rows(rows, left_out(fit.posterior, rows), Latent(mean, variance))
                for fit, mean, variance in zip(
                    self.fits, plain.mean.T, plain.variance.T, strict=True
                )
            ]
        )

    def probability(self, latent: Latent, *, plug_in: bool) -> Array:
        """Return class probabilities, shape (m, n_classes)."""
        positive = positive_probability(latent, plug_in=plug_in)
        if len(self.fits) == 1:
            # The other class is computed from the other side, not as 1 - p, which loses digits.
            other = positive_probability(Latent(-latent.mean, latent.variance), plug_in=plug_in)
            return np.column_stack([other, positive])
        positive = np.maximum(positive, np.finfo(np.float64).tiny)
        return positive / positive.sum(axis=1, keepdims=True)

    def decision(self, latent: Latent, *, plug_in: bool) -> Array:
        """Return what is greatest for the most probable class, shape (m, k)."""
        if plug_in:
            return latent.mean
        return latent.mean / np.sqrt(1.0 + latent.variance)

    def summands(self, X: Array) -> list[list[tuple[Kernel, Latent]]]:
        """Return the terms of each kernel's sum, with their parts of the latent function."""
        return [
            [
                (part, _columns([fit.posterior.component(part, X)]))
                for part in sum_of_products(fit.kernel)
            ]
            for fit in self.fits
        ]


@dataclass(frozen=True, eq=False)
class SoftmaxLatent:
    """One posterior of the latent functions of all classes, which share a kernel."""

    fit: FittedProcess[SoftmaxPosterior]

    @property
    def fits(self) -> tuple[FittedProcess[SoftmaxPosterior], ...]:
        return (self.fit,)

    def latent(self, X: Array) -> Latent:
        return self.fit.posterior.latent(X)

    def leave_one_out(self, rows: Rows) -> Latent:
        """Return the mode's Gaussian divided by each row's quadratic expansion.

        With Sigma the covariance of a row's latent values, W and g minus the Hessian and the
        gradient of its log likelihood, the cavity has covariance inv(inv(Sigma) - W) and mean
        f - inv(inv(Sigma) - W) g.
        """
        posterior, place = self.fit.posterior, rows.which[rows.which >= 0]
        share = rows.share[rows.which >= 0]
        Sigma = posterior.latent(posterior.X).variance[place]
        p = softmax(posterior.mode, axis=0).T[place]
        weight = share * posterior.row_weights[place]
        W = weight[:, None, None] * (
            p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * p[:, None]
        )
        covariance = np.linalg.solve(np.eye(p.shape[1]) - Sigma @ W, Sigma)
        covariance = 0.5 * (covariance + covariance.transpose(0, 2, 1))
        gradient = share[:, None] * posterior.weights.T[place]
        mean = posterior.mode.T[place] - np.einsum("nab,nb->na", covariance, gradient)
        plain = self.latent(rows.unused)
        return join_rows(rows, Latent(mean, covariance), plain)

    def probability(self, latent: Latent, *, plug_in: bool) -> Array:
        return softmax_probability(latent, plug_in=plug_in)

    def decision(self, latent: Latent, *, plug_in: bool) -> Array:
        return np.log(np.maximum(self.probability(latent, plug_in=plug_in), 1e-300))

    def summands(self, X: Array) -> list[list[tuple[Kernel, Latent]]]:
        found = []
        for part in sum_of_products(self.fit.kernel):
            mean, covariance = self.fit.posterior.component(part, X)
            found.append((part, Latent(mean, np.diagonal(covariance, axis1=1, axis2=2))))
        return [found]


# Both answer the same questions, so that the classifier does not ask which it has.
LatentModel: TypeAlias = OneVsRestLatent | SoftmaxLatent


def _columns(each: list[Latent]) -> Latent:
    return Latent(
        np.column_stack([latent.mean for latent in each]),
        np.column_stack([latent.variance for latent in each]),
    )


class LeaveOneOut(NamedTuple):
    """Predictions of the training rows, each made without that row.

    Shapes: probability (n, n_classes).

    log_loss: Mean of minus the log probability of a row's own class, weighted by
        `sample_weight`.
    error: Share of rows whose most probable class is not their own, weighted alike.
    """

    probability: Array
    log_loss: float
    error: float


class GPClassifier(ClassifierMixin, ProcessEstimator):
    """Gaussian-process classification, its kernel fitted by maximum evidence.

    The latent function has a Gaussian-process prior and the probit likelihood; its posterior is
    approximated by expectation propagation [1]_ or by Laplace's method. Where the kernel matrix
    has a low numerical rank, all work is done on a factor of that rank.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel, name, "precomputed" or None
        The prior covariance; its hyperparameters are where the fit begins. A name is "rbf",
        "linear" (with a constant, so that lines need not go through zero), "poly" or "laplacian".
        "precomputed" takes a square matrix of similarities in `fit` and similarities with the
        training rows, shape (m, n), afterwards; a scale and a constant are fitted with it, or
        neither without `optimise`. With None five
        kernels are fitted, whatever the units of the columns: a constant; straight lines; lines
        and smooth functions; lines and rough functions; and, of 2 to 12 columns, smooth functions
        with a width for each. The one with the greatest log evidence less its number of
        hyperparameters is kept (compared on 600 rows of a larger table). None and a name leave
        out constant columns; a kernel that names one is refused.
    inference : {"ep", "laplace"}
        For two classes, and for one class against the rest.
    multi_class : {"one_vs_rest", "softmax"}
        With three classes or more: a binary classifier for each class, whose probabilities are
        divided by their sum, or one model of all classes with a shared kernel and the softmax
        likelihood, by Laplace's method. Two classes are always one binary classifier.
    optimise : bool
        False keeps the kernel's hyperparameters.
    n_restarts : int
        Further starts of the optimiser: the first where the data suggest, the others at random.
        The kernels of None each have one start, from the data.
    class_weight : dict, "balanced" or None
        Weights of the classes, multiplied with `sample_weight`; "balanced" gives all classes the
        same total weight.
    response : {"averaged", "plug_in"}
        Probabilities average over the latent value, or put its mean into the likelihood, which
        is more extreme.
    form : {"auto", "dense", "low_rank"}
        Of the kernel matrix. The forms agree to 1e-6 in log evidence for each row.
    random_state : int, Generator, SeedSequence, RandomState or None
        Draws the restarts.
    max_iter : int
        Iterations of the optimiser for each start.
    time_limit : float, optional
        Seconds for the whole fit; the best hyperparameters so far are kept.
    n_jobs : int, optional
        Processes for one class against the rest; the result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernel_ : Kernel or tuple of Kernel
        With fitted hyperparameters; one for each class under "one_vs_rest" with three or more.
    log_evidence_ : float
        Log marginal likelihood; the sum over the classes under "one_vs_rest".
    form_ : str or tuple of str
        "dense", or "low rank" and the rank; one for each kernel.
    n_iter_ : int
        Evaluations of the evidence.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    References
    ----------
    .. [1] Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, chapter 3.

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> from parsimon.kernels import SquaredExponential as SE
    >>> data = load("pima_cleaned")
    >>> kernel = (SE(0) + SE(2) * SE(3)).start(data.data)
    >>> model = GPClassifier(kernel, n_restarts=0).fit(data.data, data.target)
    >>> round(model.log_evidence_, 2), model.form_
    (-353.19, 'low rank ...')
    >>> round(model.leave_one_out().error, 3)
    0.232
    >>> [component.name for component in model.components(data.data)]
    ['SE(glucose)', 'SE(pedigree) × SE(age)']
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        inference: Literal["ep", "laplace"] = "ep",
        multi_class: Literal["one_vs_rest", "softmax"] = "one_vs_rest",
        optimise: bool = True,
        n_restarts: int = 2,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        response: Literal["averaged", "plug_in"] = "averaged",
        form: Literal["auto", "dense", "low_rank"] = "auto",
        random_state: Seed = None,
        max_iter: int = 200,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.inference = inference
        self.multi_class = multi_class
        self.optimise = optimise
        self.n_restarts = n_restarts
        self.class_weight = class_weight
        self.response = response
        self.form = form
        self.random_state = random_state
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the kernel's hyperparameters and the posterior.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Square, of similarities, for ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Labels of any kind.
        sample_weight : array-like of shape (n,), optional
            How many times each row counts: integers equal repeated rows, zero leaves one out.

        Returns
        -------
        GPClassifier
            Itself.
        """
        self._check_options()
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weights = row_weights(sample_weight, len(X))
        both = weights * class_weights(self.class_weight, self.classes_, codes, weights)
        check_classes(self.classes_, codes, both)
        self._rows = merged_rows(self._as_points(X), codes, both)
        self._codes, self._sample_weight = codes, weights
        self._model = self._fit_model(self._first_kernel(self._rows.X), self._rows)
        fits = self._model.fits
        self.kernel_ = _one_or_all([fit.kernel for fit in fits])
        self.form_ = _one_or_all([form_of(fit.posterior) for fit in fits])
        self.log_evidence_ = float(sum(fit.log_evidence for fit in fits))
        self.n_iter_ = sum(fit.n_evaluations for fit in fits)
        for fit in fits:
            warn_if_cut(fit)
        return self

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row, shape (m,)."""
        probability = self.predict_proba(X)
        return self.classes_[np.argmax(probability, axis=1)]

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities in the order of `classes_`, shape (m, n_classes)."""
        latent = self._latent_at(X)
        return self._model.probability(latent, plug_in=self.response == "plug_in")

    def decision_function(self, X: Any) -> Array:
        """Return what grows with the probability of a class.

        For two classes, shape (m,), positive for ``classes_[1]``; for more, shape
        (m, n_classes). It is the latent mean, divided by sqrt(1 + variance) if the response is
        "averaged", so that rows and classes are in the order of their probabilities; under
        "softmax" it is the log probability. `latent` has the mean itself.
        """
        latent = self._latent_at(X)
        return _flat(self._model.decision(latent, plug_in=self.response == "plug_in"))

    def latent(self, X: Any, *, return_std: bool = False) -> Any:
        """Return the latent function at new rows.

        Parameters
        ----------
        X : array-like of shape (m, d)
        return_std : bool
            Return the standard deviations as well.

        Returns
        -------
        mean, sd : ndarray of shape (m,) or (m, n_classes)
            Two classes share one latent function.
        """
        mean, variance = self._latent_at(X)
        if not return_std:
            return _flat(mean)
        if variance.ndim == 3:
            variance = np.diagonal(variance, axis1=1, axis2=2)
        return _flat(mean), _flat(np.sqrt(np.maximum(variance, 0.0)))

    def leave_one_out(self) -> LeaveOneOut:
        """Predict each training row from the others, without refitting.

        From the posterior each row's own site is taken out: expectation propagation's cavity,
        which keeps the other sites and the hyperparameters as they are. A row is left out with
        all its weight; of equal rows one is left out at a time.

        Returns
        -------
        LeaveOneOut
        """
        check_is_fitted(self)
        latent = self._model.leave_one_out(self._rows)
        probability = self._model.probability(latent, plug_in=self.response == "plug_in")
        own = probability[np.arange(len(probability)), self._codes]
        losses = -np.log(np.maximum(own, np.finfo(np.float64).tiny))
        wrong = np.argmax(probability, axis=1) != self._codes
        weights = self._sample_weight
        return LeaveOneOut(
            probability,
            float(np.average(losses, weights=weights)),
            float(np.average(wrong, weights=weights)),
        )

    def components(self, X: Any) -> Any:
        """Return the posterior of each additive part of the latent function at new rows.

        A kernel is multiplied out into a sum, and the latent function is then a sum of
        independent parts, whose posteriors follow exactly from the fit of the whole. Their means
        add up to `latent`; their variances do not, since the data couple them.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        list of LatentComponent, or tuple of such lists
            One list for each class under "one_vs_rest" with three or more, since each class has
            its own kernel.
        """
        rows, names = self._checked(X), written_names(self)
        lists = [
            [
                LatentComponent(plain(kernel, names), kernel, _flat(mean), _flat(np.sqrt(variance)))
                for kernel, (mean, variance) in parts
            ]
            for parts in self._model.summands(rows)
        ]
        return lists[0] if len(lists) == 1 else tuple(lists)

    def _check_options(self) -> None:
        check_choice("inference", self.inference, ["ep", "laplace"])
        check_choice("multi_class", self.multi_class, ["one_vs_rest", "softmax"])
        check_choice("response", self.response, ["averaged", "plug_in"])
        self._check_fit_options()

    def _fit_model(self, kernel: Kernel | None, rows: Rows) -> LatentModel:
        n_classes = len(self.classes_)
        n_fits = 1 if n_classes == 2 or self.multi_class == "softmax" else n_classes
        options: dict[str, Any] = {
            "weights": rows.weights,
            "optimise": self.optimise,
            "n_restarts": self.n_restarts,
            "max_iterations": self.max_iter,
            "time_limit": None if self.time_limit is None else self.time_limit / n_fits,
        }
        seeds = seed_sequence(self.random_state).spawn(n_fits)
        codes = rows.y
        if n_classes > 2 and self.multi_class == "softmax":
            options |= {"n_classes": n_classes, "random_state": seeds[0]}
            return SoftmaxLatent(fit_or_choose(fit_softmax, kernel, rows.X, codes, codes, options))
        options |= {"inference": self.inference, "form": self.form}
        positives = [1] if n_classes == 2 else range(n_classes)
        calls = (
            (kernel, rows.X, np.where(codes == c, 1.0, -1.0), options | {"random_state": seed})
            for c, seed in zip(positives, seeds, strict=True)
        )
        if n_fits == 1:
            return OneVsRestLatent(tuple(_fit_copied(*call) for call in calls))
        # Workers have one thread each; so has this process then, for the same bits.
        with Workers(self.n_jobs) as workers:
            return OneVsRestLatent(tuple(workers.map(_fit_copied, calls)))

    def _latent_at(self, X: Any) -> Latent:
        rows = self._checked(X)
        latent = self._model.latent(rows)
        if self._similarities is None:
            return latent
        return self._similarities.widened(latent, rows, [fit.kernel for fit in self._model.fits])


def _fit_copied(
    kernel: Kernel | None, X: Array, y_signs: Array, options: dict[str, Any]
) -> FittedProcess[LatentPosterior]:
    """Fit on fresh arrays: what a worker receives may be aligned otherwise, and then sums round."""
    y_signs = np.array(y_signs)
    return fit_or_choose(fit_classifier, kernel, np.array(X), y_signs, y_signs, options)


def _one_or_all(items: list[Any]) -> Any:
    return items[0] if len(items) == 1 else tuple(items)


def _flat(values: Array) -> Array:
    """Return a single column as a vector."""
    return values[:, 0] if values.shape[1] == 1 else values
